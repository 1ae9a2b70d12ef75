"""The pages: whole without scripts, through the one flow; reading never spends."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from discreet import workspace
from discreet.server import Settings

from ..workspace.people import YAML, make_people
from .reading import cells, links, numbers, shows_numbers
from .serving import PASSWORD, Served, serving

pytestmark = pytest.mark.slow


def get(served: Served, path: str, who: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {served.tokens[who]}"} if who else {}
    return httpx.get(served.url + path, headers=headers, timeout=300)


def test_the_first_page_shows_what_one_may_see(served: Served):
    """Without login only public data sets; with one, all of them. It begins with a finished table."""
    for path in ("/", "/data"):
        page = get(served, path).text
        assert "/build/deaths" in page
        assert "deaths-dp" not in page
        assert "deaths-dp" in get(served, path, "ana").text
    assert shows_numbers(get(served, "/").text)


def test_a_page_shows_the_numbers_of_the_api(served: Served):
    """The table on the page is the table of the API."""
    page = get(served, "/build/deaths?rows=region&columns=sex").text
    shown = numbers(page)
    asked = {"rows": ["region"], "columns": ["sex"]}
    said = httpx.post(f"{served.url}/api/v1/datasets/deaths/tables", json=asked, timeout=300).json()
    assert shown == said["value"]


def ledger(served: Served) -> list[object]:
    entries: list[object] = get(served, "/api/v1/datasets/deaths-dp/ledger", "cas").json()[
        "entries"
    ]
    return entries


@contextmanager
def browser(served: Served) -> Iterator[httpx.Client]:
    """A browser in which ana is signed in."""
    with httpx.Client(base_url=served.url, timeout=300) as client:
        done = client.post("/login", data={"name": "ana", "password": PASSWORD})
        assert done.status_code == 303
        yield client


def csrf(page: str) -> str:
    return re.findall(r'name="csrf" value="([0-9a-f]+)"', page)[0]


def test_looking_never_spends(served: Served):
    """What has a price is shown as errors to expect; the button names it; no link of it spends."""
    address = "/build/deaths-dp?rows=region&columns=sex&epsilon=0.03"
    before = ledger(served)
    page = get(served, address, "ana")
    assert page.status_code == 200
    assert "Release for ε 0.03" in page.text
    assert 'class="grid ghost"' in page.text
    assert not shows_numbers(page.text)
    with browser(served) as own:
        for link in links(page.text):
            if link.startswith("/"):
                own.get(link.partition("#")[0], headers={"Sec-Fetch-Site": "same-origin"})
        file = own.get("/build/deaths-dp/file?rows=region&columns=sex&epsilon=0.03&format=csv")
        assert file.status_code == 403
    assert ledger(served) == before


def test_the_button_spends_once(served: Served):
    """Pressed twice, or after the back button, it is one charge; then the address has the table."""
    at = "rows=region&columns=marital&epsilon=0.05"
    with browser(served) as own:
        page = own.get(f"/build/deaths-dp?{at}").text
        before = len(ledger(served))
        sent = {"csrf": csrf(page), "at": at}
        for _ in range(2):
            done = own.post("/build/deaths-dp/release", data=sent)
            assert (done.status_code, done.headers["location"]) == (303, f"/build/deaths-dp?{at}")
        assert len(ledger(served)) == before + 1
        shown = own.get(done.headers["location"]).text
        assert "paid once" in shown
    asked = {"rows": ["region"], "columns": ["marital"], "epsilon": "0.05"}
    with served.client("ben") as ben:
        assert numbers(shown) == ben.post("/datasets/deaths-dp/tables", json=asked).json()["value"]
    assert len(ledger(served)) == before + 1


def test_nobody_else_presses_the_button(served: Served):
    """Without the session's own token, from another site, or without an account nothing is spent."""
    at = "rows=region&columns=month&epsilon=0.05"
    before = ledger(served)
    with browser(served) as own:
        page = own.get(f"/build/deaths-dp?{at}").text
        for sent, headers in (
            ({"at": at}, {}),
            ({"at": at, "csrf": "0" * 64}, {}),
            ({"at": at, "csrf": csrf(page)}, {"Origin": "https://evil.example"}),
            ({"at": at, "csrf": csrf(page)}, {"Sec-Fetch-Site": "cross-site"}),
        ):
            done = own.post("/build/deaths-dp/release", data=sent, headers=headers)
            assert done.status_code == 403
        own.post("/logout", data={"csrf": csrf(page)})
        late = own.post("/build/deaths-dp/release", data={"at": at, "csrf": csrf(page)})
        assert late.status_code == 401
    for who, status in (("odo", 403), (None, 401)):
        headers = {"Authorization": f"Bearer {served.tokens[who]}"} if who else {}
        address = f"{served.url}/build/deaths-dp/release"
        answer = httpx.post(address, data={"at": at}, headers=headers, timeout=300)
        assert answer.status_code == status
    assert ledger(served) == before


def test_what_follows_from_a_release_is_shown_with_its_files(served: Served):
    """The files beside a free table have the same numbers and charge nothing."""
    asked = {"rows": ["marital"], "columns": ["sex"], "epsilon": "0.04"}
    with served.client("ana") as ana:
        assert ana.post("/datasets/deaths-dp/tables", json=asked).is_success
        page = get(served, "/build/deaths-dp?rows=marital&epsilon=0.07", "ana").text
        files = [link for link in links(page) if "format=" in link]
        assert len(files) == 6
        for address in files:
            answer = get(served, address, "ana")
            assert (answer.status_code, answer.headers["discreet-charged"]) == (200, "no")
            if "json-stat" in address:
                assert answer.json()["value"] == numbers(page)
    charges = [str({**entry, "time": ""}) for entry in ledger(served)]  # type: ignore[dict-item]
    assert not [charge for charge in charges if "0.07" in charge]


def test_what_an_address_says_is_never_left_out_silently(served: Served):
    """An unknown word, one said twice and one with a value that is none are refused by name."""
    for query, named in (
        ("rows=region&colour=red", "colour"),
        ("rows=region&rows=sex", "rows"),
        ("rows=region&view=pie", "pie"),
        ("rows=region&show=everything", "everything"),
        ("rows=region&from=-3", "from"),
        ("rows=region&category=sex:sex:F", "category"),
        ("rows=region&where=sex:nobody", "nobody"),
        ("workload=all+2-way", "workload"),
    ):
        page = get(served, f"/build/deaths?{query}")
        assert page.status_code == 400, query
        assert named in page.text
        assert not shows_numbers(page.text)
    for path in ("/?a=1", "/data?query=x", "/data/deaths?x=1", "/login?x=1"):
        assert get(served, path).status_code == 400
    assert numbers(get(served, "/build/deaths?rows=region&where=sex:F").text) != numbers(
        get(served, "/build/deaths?rows=region").text
    )


def test_every_link_of_the_builder_leads_to_a_page(served: Served):
    """Levels, moves, orders, filters, percentages and views: each is a table or a lawful no."""
    tried: set[str] = set()
    start = "/build/deaths?rows=region,marital&columns=sex&layers=month&where=cause:C00-D48"
    for address in ("/build/deaths", start, "/build/deaths?rows=region&columns=sex&percent=rows"):
        page = get(served, address)
        for link in links(page.text):
            if link.startswith("/build/deaths?") and link not in tried:
                tried.add(link)
                assert get(served, link).status_code in {200, 403}, link
    assert len(tried) > 60


def test_a_large_table_comes_by_pages_of_rows(served: Served):
    """All rows, each once, in the order of the API; links lead on."""
    address, shown = "/build/deaths?rows=ccg,marital&columns=age", []
    pages = 0
    while address:
        page = get(served, address).text
        shown += numbers(page)
        onward = re.findall(r'rel="next" href="([^"]*)"', page)
        address, pages = html.unescape(onward[0]) if onward else "", pages + 1
    asked = {"rows": ["ccg", "marital"], "columns": ["age"]}
    said = httpx.post(f"{served.url}/api/v1/datasets/deaths/tables", json=asked, timeout=300).json()
    assert shown == said["value"]
    assert pages == 18


def test_an_auditor_sees_when_each_request_came(served: Served):
    """Every line of the log has its time; the newest is of now."""
    page = get(served, "/audit", "odo").text
    times = re.findall(r'<time datetime="([^"]+)">(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)</time>', page)
    assert len(times) == page.count('<tr><td class="num">') > 0
    newest = datetime.fromisoformat(times[0][0])
    assert abs(datetime.now(UTC) - newest) < timedelta(days=1)


def test_neighbours_are_told_where_a_promise_compares_them(served: Served):
    """Noise and cell keys do; suppression's promise is about beliefs and names no neighbours."""
    for name, told in (("deaths", True), ("deaths-dp", True), ("genes", False)):
        page = get(served, f"/data/{name}", "cas")
        assert page.status_code == 200
        assert ("Neighbours" in page.text) == told, name


def test_a_star_tells_nothing_and_says_so(served: Served):
    """What is withheld has no number on the page; what is private stands on no axis."""
    at = "rows=eyes&columns=hair&where=town:north"
    with browser(served) as own:
        before = own.get(f"/build/genes?{at}").text
        assert not shows_numbers(before)
        own.post("/build/genes/release", data={"csrf": csrf(before), "at": at})
        page = own.get(f"/build/genes?{at}").text
    assert "shown exactly" in page
    assert "rows=gene" not in page
    asked = {"rows": ["eyes"], "columns": ["hair"], "where": {"town": ["north"]}}
    with served.client("ana") as ana:
        said = ana.post("/datasets/genes/tables", json=asked).json()["value"]
    shown = ["✱" if value is None else f"{value:,}" for value in said]
    assert shown.count("✱") == 4
    assert [re.sub("<[^>]*>", "", cell) for cell in cells(page)] == shown


@pytest.mark.parametrize("accept", ["text/html,application/xml;q=0.9,*/*;q=0.8", "*/*", ""])
def test_an_address_that_is_not_there_is_a_page_to_a_browser(served: Served, accept: str):
    """Whoever asks for HTML gets the site's page with the way on; a program gets a problem."""
    wanted = "text/html" if "html" in accept else "application/problem+json"
    for path in ("/nowhere", "/build", "/datasets/deaths", "/favicon.ico"):
        answer = httpx.get(served.url + path, headers={"Accept": accept}, timeout=300)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith(wanted)
        assert ("All data sets" in answer.text) == ("html" in accept)
    for path in ("/api/v1/nowhere", "/pxweb/v2/nowhere"):
        answer = httpx.get(served.url + path, headers={"Accept": accept}, timeout=300)
        assert answer.headers["content-type"].startswith("application/problem+json")


def test_codes_with_any_sign_can_be_picked(tmp_path: Path):
    """A code that holds the marks of addresses gives its own table, and its link says the same."""
    codes = ["10:30", "a,b", "it's", "a", "=1"]
    yaml = YAML.replace("{f: Female, m: Male}", "{f: Female, m: Male}\n  time:\n    column: time\n")
    yaml += f"    categories: {json.dumps({code: code for code in codes})}\n"
    folder = make_people(tmp_path / "work" / "folk 1", yaml=yaml)  # its description says people
    lines = (folder / "people.csv").read_text().splitlines()
    rows = [f'{line},"{codes[n % 4]}"' for n, line in enumerate(lines[1:])]
    (folder / "people.csv").write_text("\n".join([lines[0] + ",time", *rows]) + "\n")
    workspace.load(folder)
    with serving(tmp_path / "work", Settings(public=("*",), calls_per_minute=10**6)) as url:
        for code in codes:
            quoted = code.replace('"', '""')
            query = urlencode({"rows": "sex", "where": f'time:"{quoted}"'})
            page = httpx.get(f"{url}/build/folk%201?{query}", timeout=300)
            assert page.status_code == 200, page.text
            shown = numbers(page.text)
            asked = {"rows": ["sex"], "where": {"time": [code]}}
            said = httpx.post(f"{url}/api/v1/datasets/folk%201/tables", json=asked, timeout=300)
            assert shown == said.json()["value"]
            (link,) = [one for one in links(page.text) if "format=json-stat" in one]
            assert httpx.get(url + link, timeout=300).json()["value"] == shown


def test_refusals_and_typos_are_said_on_the_page(served: Served):
    """What is wrong, and what would work, escaped."""
    page = get(served, "/build/deaths?rows=ccg,cause&columns=age,sex&layers=month")
    assert page.status_code == 403
    assert "at most 4 variables" in page.text
    assert "Leave out Sex" in page.text
    page = get(served, "/build/deaths?rows=%3Cscript%3E")
    assert page.status_code == 400
    assert "&lt;script&gt;" in page.text
    assert "<script>" not in page.text
    assert get(served, "/build/deaths-dp").status_code in {401, 404}


def test_nothing_comes_from_elsewhere(served: Served):
    """No address of another host, no inline script or style on any page; the policy is strict."""
    for path in ("/", "/data", "/build/deaths", "/build/deaths?rows=region", "/login", "/about"):
        page = get(served, path)
        policy = page.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<script(?![^>]* src=)", page.text)
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", page.text)
        away = re.sub(r"http://127\.0\.0\.1:\d+", "", page.text)
        assert not re.search(r"https?://", away)
        for address in re.findall(r'(?:href|src)="(/assets/[^"]*)"', page.text):
            file = get(served, address)
            assert file.status_code == 200
            assert "immutable" in file.headers["cache-control"]
            assert not re.search(r"https?://(?!www\.w3\.org/)", file.text)


def test_an_embargoed_release_is_not_read_by_asking_its_question(demo, tmp_path):
    """Whoever may not spend gets no number of a release before it is public, page or API."""
    import shutil

    from discreet.server import Settings

    from .serving import add_accounts, serving

    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    settings = Settings(public=("deaths-dp",), calls_per_minute=10**6)
    recipe = {"rows": ["region"], "columns": ["sex"], "epsilon": "0.5"}
    with serving(workspace, settings) as url:
        custodian = {"Authorization": f"Bearer {tokens['cas']}"}
        body = {"dataset": "deaths-dp", "recipe": recipe, "title": "Later"}
        body["publish_at"] = "2999-01-01T00:00:00+00:00"
        made = httpx.post(f"{url}/api/v1/releases", json=body, headers=custodian, timeout=300)
        assert made.status_code == 201, made.text
        asked = httpx.post(f"{url}/api/v1/datasets/deaths-dp/tables", json=recipe, timeout=300)
        assert asked.status_code == 403
        for address in ("rows=region&columns=sex&epsilon=0.5", "rows=sex&epsilon=0.2"):
            page = httpx.get(f"{url}/build/deaths-dp?{address}", timeout=300)
            assert not shows_numbers(page.text)
        again = httpx.post(
            f"{url}/api/v1/datasets/deaths-dp/tables", json=recipe, headers=custodian, timeout=300
        )
        assert again.status_code == 200
        after = httpx.post(f"{url}/api/v1/datasets/deaths-dp/tables", json=recipe, timeout=300)
        assert after.status_code == 403


def test_a_name_that_is_not_ours_gets_no_answer(demo, tmp_path):
    """A page elsewhere that makes its name point to this machine reads nothing."""
    import shutil

    from discreet.server import Settings

    from .serving import serving

    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    settings = Settings(public=("*",), hosts=("127.0.0.1", "localhost"))
    with serving(workspace, settings) as url:
        assert httpx.get(f"{url}/", timeout=300).status_code == 200
        for name in ("evil.example", "evil.example:80", ""):
            answer = httpx.get(f"{url}/api/v1/config", headers={"Host": name}, timeout=300)
            assert answer.status_code in {400, 421}
        assert httpx.get(f"{url}/", headers={"Host": "LOCALHOST:1"}, timeout=300).status_code == 200


def test_what_is_not_public_is_a_page_with_a_way_to_log_in(served: Served):
    """Not public and not there look the same: a page that leads to the login and back."""
    for name in ("deaths-dp", "nowhere"):
        answer = get(served, f"/build/{name}?rows=sex")
        assert answer.status_code == 401
        assert answer.headers["content-type"].startswith("text/html")
        assert f'href="/login?next=/build/{name}%3Frows%3Dsex"' in answer.text
    assert get(served, "/build/nowhere", "ana").status_code == 404
    assert "Nothing here" in get(served, "/build/nowhere", "ana").text
    assert "/login" in get(served, "/").text


def test_logging_in_and_out_by_the_forms(served: Served):
    """Name and password give a session and lead on; the form to log out carries its own token."""
    right = {"name": "ana", "password": PASSWORD, "next": "/build/deaths-dp"}
    with httpx.Client(base_url=served.url, timeout=300) as browser:
        wrong = browser.post("/login", data={**right, "password": "not the right one"})
        assert (wrong.status_code, "do not belong together" in wrong.text) == (401, True)
        assert not browser.cookies
        done = browser.post("/login", data=right, headers={"Origin": served.url})
        assert (done.status_code, done.headers["location"]) == (303, "/build/deaths-dp")
        assert "httponly" in done.headers["set-cookie"].lower()
        assert "samesite=lax" in done.headers["set-cookie"].lower()
        assert browser.get("/build/deaths-dp").status_code == 200
        token = csrf(browser.get("/account").text)
        assert browser.post("/logout", data={"csrf": "0" * 64}).status_code == 403
        assert browser.get("/build/deaths-dp").status_code == 200
        assert browser.post("/logout", data={"csrf": token}).status_code == 303
        assert browser.get("/build/deaths-dp").status_code == 401


@pytest.mark.parametrize(
    "onward", ["//evil.example/", "https://evil.example/", "/\\evil.example", "evil", "/\r\nX: y"]
)
def test_logging_in_leads_nowhere_else(served: Served, onward: str):
    """Whatever an address says, one stays on this server."""
    right = {"name": "ana", "password": PASSWORD, "next": onward}
    assert httpx.post(f"{served.url}/login", data=right).headers["location"] == "/"


def test_another_site_cannot_log_anybody_in_or_out(served: Served):
    """A form of another site, by its Origin or by what the browser says, is refused."""
    right = {"name": "ana", "password": PASSWORD}
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert httpx.post(f"{served.url}/login", data=right, headers=headers).status_code == 403
    assert get(served, "/login").headers["referrer-policy"] == "same-origin"
