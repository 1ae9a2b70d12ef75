"""What hostile labels, lost sessions, restarts, two tabs and long lists do to the page: nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet import workspace
from discreet.server import Settings
from discreet.store.workspace_database import WorkspaceDatabase

from ..patience import PATIENCE
from ..server.serving import PASSWORD, Processes, Served, add_accounts, serving
from ..workspace.people import YAML, make_people
from .test_browser import watched

pytestmark = pytest.mark.slow

EVIL = "<img src=x onerror=alert(1)>\"'&{{7*7}}"
TURNED = "\u202eקבוצה\u202c \u0627\u0644\u0639\u0631\u0628\u064a\u0629"
LONG = "Underground " * 60
MANY = 5_000
SETTINGS = Settings(
    public=("*",), calls_per_minute=10**6, logins_per_minute=10**6, body_seconds=PATIENCE
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """People whose labels hold markup, other directions and far too much; 5,000 places."""
    folder = tmp_path_factory.mktemp("hostile") / "work"
    yaml = YAML.replace("f: Female, m: Male", f"f: {json.dumps(EVIL)}, m: {json.dumps(TURNED)}")
    yaml = yaml.replace("label: Alder", f"label: {json.dumps(LONG)}")
    yaml = yaml.replace("dataset: people", f"dataset: people\ntitle: {json.dumps(EVIL)}")
    yaml = yaml.replace("  sex:\n", f"  sex:\n    label: {json.dumps(TURNED + EVIL)}\n")
    places = {f"p{n:04d}": f"Place {n}" for n in range(MANY)}
    yaml += f"  place:\n    column: place\n    categories: {json.dumps(places)}\n"
    data = make_people(folder / "people", yaml=yaml)
    lines = (data / "people.csv").read_text().splitlines()
    rows = [f"{line},p{n:04d}" for n, line in enumerate(lines[1:])]
    (data / "people.csv").write_text("\n".join([lines[0] + ",place", *rows]) + "\n")
    workspace.load(data)
    tokens = add_accounts(folder)
    with serving(folder, SETTINGS) as url:
        yield Served(url, folder, tokens)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
def test_labels_are_text_and_nothing_else(chromium: Any, hostile: Served, scripts: bool):
    """Markup in titles, variables and categories is shown as it was written; nothing of it runs."""
    with watched(chromium, hostile, java_script_enabled=scripts, width=360) as seen:
        seen.page.on("dialog", lambda dialog: seen.wrong.append(f"dialog: {dialog.message}"))
        for path in (
            "/",
            "/data",
            "/data/people",
            "/build/people?rows=ward&columns=sex",
            "/build/people?rows=ward&columns=sex&view=chart",
            "/build/people?rows=ward&columns=sex&view=notes",
            "/build/people?rows=ward&columns=sex&view=code",
            "/build/people?rows=ward&columns=sex&a=a,f&b=b,f",
            "/build/people?rows=ward&where=sex:f",
            "/build/people/pick/sex?rows=ward",
            f"/search?query={EVIL[:20]}",
        ):
            seen.open(path)
            assert seen.page.locator("img").count() == 0, path
            wide = "document.documentElement.scrollWidth - innerWidth"
            if scripts:
                assert seen.page.evaluate(wide) <= 0, path
        seen.open("/build/people?rows=ward&columns=sex")
        heads = seen.page.locator("table.grid thead th").all_inner_texts()
        assert any(EVIL in head for head in heads)
        if scripts:
            seen.page.locator("tbody td").first.hover()
            assert seen.page.locator("#tip img").count() == 0


def test_five_thousand_categories_are_chosen_from(chromium: Any, hostile: Served):
    """The dialog holds a page of them, keeps its ticks over searches, and leads to a table."""
    with watched(chromium, hostile) as seen:
        page = seen.page
        seen.open("/build/people?rows=sex")
        page.click("[data-variable=place] summary")
        page.click("[data-variable=place] .send [data-pick]")
        page.wait_for_selector("dialog[open]")
        assert page.locator("dialog .choices input").count() == 200
        page.check("dialog input[value=p0007]")
        page.fill("dialog input[type=search]", "place 4999")
        page.wait_for_selector("dialog input[value=p4999]")
        assert page.locator("dialog .choices input").count() == 1
        page.check("dialog input[value=p4999]")
        page.fill("dialog input[type=search]", "")
        page.wait_for_selector("dialog input[value=p0007]")
        assert page.is_checked("dialog input[value=p0007]")
        assert page.locator("dialog .pinned button").count() == 2
        page.click("dialog .pinned button >> nth=0")
        assert not page.is_checked("dialog input[value=p0007]")
        page.check("dialog input[value=p0011]")
        page.focus("dialog input[value=p0011]")
        page.keyboard.press("Enter")
        page.wait_for_url("**where=place:p0011,p4999")
        assert page.locator("dialog").count() == 0
        page.go_back()
        page.wait_for_selector(".axis[data-axis=only] .nothing")


def test_an_ended_session_keeps_the_table_and_spends_nothing(chromium: Any, served: Served):
    """The page says that one was signed out; the button leads to signing in and back; one charge."""
    at = "/build/deaths-dp?rows=marital&columns=sex&epsilon=0.07"
    with watched(chromium, served) as seen:
        seen.sign_in()
        seen.open(at)
        assert "Allowed, for ε 0.07" in seen.verdict
        database = WorkspaceDatabase(served.workspace)
        database.execute("UPDATE sessions SET seen = 0, expires = 1")
        database.close()
        seen.page.click("#verdict button")
        seen.page.wait_for_selector("text=You were signed out")
        assert "Sign in to spend" in seen.verdict
        seen.page.click("text=Sign in and go on")
        seen.page.fill("input[name=name]", "ana")
        seen.page.fill("input[name=password]", PASSWORD)
        seen.page.click("main button")
        assert seen.page.url.endswith(at)
        seen.page.click("#verdict button")
        seen.page.wait_for_selector("#verdict.ok")
    with served.client("cas") as custodian:
        entries = custodian.get("/datasets/deaths-dp/ledger").json()["entries"]
    assert [one["loss"] for one in entries].count(entries[-1]["loss"]) >= 1
    assert sum("0.07" in str(one["loss"]) for one in entries) == 1


def test_two_tabs_double_presses_and_going_back_are_one_charge(chromium: Any, served: Served):
    """The button of an old tab, pressed twice, and again after going back, answers what was paid."""
    at = "/build/deaths-dp?rows=month&columns=sex&epsilon=0.03"
    with watched(chromium, served) as seen:
        seen.sign_in()
        seen.open(at)
        other = seen.page.context.new_page()
        other.set_default_timeout(1000 * PATIENCE)
        other.goto(served.url + at)
        seen.page.dblclick("#verdict button")
        seen.page.wait_for_selector("#verdict.ok")
        numbers = seen.page.locator("tbody td").all_inner_texts()
        other.click("#verdict button")
        other.wait_for_selector("#verdict.ok")
        assert other.locator("tbody td").all_inner_texts() == numbers
        other.go_back()
        if other.locator("#verdict button").count():
            other.click("#verdict .act button")
        other.goto(served.url + at)
        assert other.locator("tbody td").all_inner_texts() == numbers
    with served.client("cas") as custodian:
        entries = custodian.get("/datasets/deaths-dp/ledger").json()["entries"]
    assert sum("0.03" in str(one["loss"]) for one in entries) == 1


def test_a_lost_connection_is_said_and_mended(chromium: Any, served: Served):
    """Offline the last table stays and the bar says so; back online the change is there."""
    with watched(chromium, served) as seen:
        page = seen.page
        seen.open("/build/deaths?rows=sex")
        page.context.set_offline(True)
        page.click("[data-variable=month] summary")
        page.click("[data-variable=month] .levels a")
        page.wait_for_selector("text=No connection")
        assert page.locator("table.grid").count() == 1
        page.context.set_offline(False)
        # being online again is noticed too: the button may be gone before it is pressed
        page.evaluate("document.querySelector('.verdict button.act')?.click()")
        page.wait_for_url("**rows=sex&columns=month")
        assert "Allowed, and free" in seen.verdict
        seen.wrong = [words for words in seen.wrong if "ERR_INTERNET_DISCONNECTED" not in words]


def test_a_restart_in_the_middle_loses_nothing(chromium: Any, demo: Path, tmp_path: Path):
    """The server is killed and started again: session, table and price are as they were."""
    folder = tmp_path / "demo"
    shutil.copytree(demo, folder)
    tokens = add_accounts(folder, passwords=("ana",))
    at = "/build/deaths-dp?rows=marital&columns=age&epsilon=0.2"
    server = _started(folder)
    try:
        with watched(chromium, Served(server.url, folder, tokens)) as seen:
            seen.sign_in()
            seen.open(at)
            server.close()
            server = _started(folder, server.port)
            seen.page.click("#verdict button")
            seen.page.wait_for_selector("#verdict.ok")
            numbers = seen.page.locator("tbody td").all_inner_texts()
            server.close()
            server = _started(folder, server.port)
            seen.open(at)
            assert "paid once" in seen.verdict
            assert seen.page.locator("tbody td").all_inner_texts() == numbers
            # what the page asked for while no server was there, and says so
            seen.wrong[:] = [one for one in seen.wrong if "ERR_CONNECTION_REFUSED" not in one]
    finally:
        server.close()


def _started(folder: Path, port: int | None = None) -> Processes:
    """`discreet serve` as a process of its own, on a port that was its own before."""
    options = () if port is None else ("--port", str(port))
    server = Processes(folder, 1, "--public", "all", *options)
    server.port = port or server.port
    server.url = f"http://127.0.0.1:{server.port}"
    server.wait()
    return server


@pytest.mark.parametrize(
    "path",
    [
        "/build/deaths?rows=sex&colour=red",
        "/build/deaths?rows=sex&rows=age&view=tabel",
        "/data?page=2",
        "/releases?x=1",
        "/build/deaths/ask?words=now",
        "/jobs?all=1",
        "/build/deaths?rows=sex&from=minus",
        "/build/deaths?rows=sex&show=everything",
        "/build/deaths/pick/ccg?rows=sex&offset=-1",
    ],
)
def test_unknown_words_of_an_address_are_refused_by_name(served: Served, path: str):
    """Never ignored: the page names the word or the value, and nothing is spent."""
    headers = {"Authorization": f"Bearer {served.tokens['ana']}"}
    page = httpx.get(served.url + path, headers=headers, timeout=300)
    assert page.status_code == 400
    name = path.partition("?")[2].rpartition("&")[2].partition("=")[0]
    assert name in page.text
