"""The pages: without scripts, through the one flow, and they never spend."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from discreet import workspace
from discreet.server import Settings

from ..workspace.people import YAML, make_people
from .serving import PASSWORD, Served, serving

pytestmark = pytest.mark.slow


def get(served: Served, path: str, who: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {served.tokens[who]}"} if who else {}
    return httpx.get(served.url + path, headers=headers, timeout=300)


def test_the_first_page_shows_what_one_may_see(served: Served):
    """Without login only public data sets; with one, all of them."""
    page = get(served, "/").text
    assert "/build/deaths" in page
    assert "deaths-dp" not in page
    assert "deaths-dp" in get(served, "/", "ana").text


def test_a_page_shows_the_numbers_of_the_api(served: Served):
    """The table on the page is the table of the API."""
    page = get(served, "/build/deaths?rows=region&columns=sex").text
    shown = [int(x.replace(",", "")) for x in re.findall(r"<td>(-?[\d,]+)ᵘ?</td>", page)]
    asked = {"rows": ["region"], "columns": ["sex"]}
    said = httpx.post(f"{served.url}/api/v1/datasets/deaths/tables", json=asked, timeout=300).json()
    assert shown == said["value"]


def test_a_page_never_spends(served: Served):
    """A budgeted table is shown by its cost only, until somebody has asked for it elsewhere."""
    address = "/build/deaths-dp?rows=region&columns=sex&epsilon=0.03"
    before = get(served, "/api/v1/datasets/deaths-dp/ledger", "cas").json()
    page = get(served, address, "ana")
    assert page.status_code == 200
    assert "costs epsilon = 0.03" in page.text
    assert "<table>" not in page.text
    assert get(served, "/api/v1/datasets/deaths-dp/ledger", "cas").json() == before


def test_what_follows_from_a_release_is_shown_with_how_to_ask_for_it(served: Served):
    """The address beside a free table, and its downloads, give the same table and charge nothing."""
    asked = {"rows": ["marital"], "columns": ["sex"], "epsilon": "0.04"}
    with served.client("ana") as ana:
        assert ana.post("/datasets/deaths-dp/tables", json=asked).is_success
        page = get(served, "/build/deaths-dp?rows=marital&epsilon=0.07", "ana").text
        api = re.findall(r"over the API: <code>(.*)</code>", page)[0].replace("&amp;", "&")
        links = [link.replace("&amp;", "&") for link in re.findall(r'href="(/api/[^"]*)"', page)]
        assert len([link for link in links if "format=" in link]) == 6
        for address in (api, *(link for link in links if "format=" in link)):
            answer = get(served, address, "ana")
            assert (answer.status_code, answer.headers["discreet-charged"]) == (200, "no")
        before = get(served, "/api/v1/datasets/deaths-dp/ledger", "cas").json()
    charges = [str({**entry, "time": ""}) for entry in before["entries"]]
    assert not [charge for charge in charges if "0.07" in charge]


@pytest.mark.parametrize("accept", ["text/html,application/xml;q=0.9,*/*;q=0.8", "*/*", ""])
def test_an_address_that_is_not_there_is_a_page_to_a_browser(served: Served, accept: str):
    """Whoever asks for HTML gets the site's page with the way on; a program gets a problem."""
    wanted = "text/html" if "html" in accept else "application/problem+json"
    for path in ("/nowhere", "/build", "/datasets/deaths", "/favicon.ico"):
        answer = httpx.get(served.url + path, headers={"Accept": accept}, timeout=300)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith(wanted)
        assert ('<a href="/">All data sets</a>' in answer.text) == ("html" in accept)
    for path in ("/api/v1/nowhere", "/pxweb/v2/nowhere"):
        answer = httpx.get(served.url + path, headers={"Accept": accept}, timeout=300)
        assert answer.headers["content-type"].startswith("application/problem+json")


def test_codes_with_any_sign_can_be_picked(tmp_path: Path):
    """A code that holds the marks of addresses gives its own table, and its address says the same."""
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
            query = urlencode({"rows": "sex", "category": f"time:time:{code}"})
            page = httpx.get(f"{url}/build/folk%201?{query}", timeout=300)
            assert page.status_code == 200, page.text
            shown = [int(x) for x in re.findall(r"<td>(\d+)ᵘ?</td>", page.text)]
            asked = {"rows": ["sex"], "where": {"time": [code]}}
            said = httpx.post(f"{url}/api/v1/datasets/folk%201/tables", json=asked, timeout=300)
            assert shown == said.json()["value"]
            assert 'action="/build/folk%201"' in page.text
            (link,) = re.findall(r'href="(/api/[^"]*format=json-stat)"', page.text)
            same = httpx.get(url + html.unescape(link), timeout=300)
            assert same.json()["value"] == shown


def test_refusals_and_typos_are_said_on_the_page(served: Served):
    """What is wrong, and what would work, escaped."""
    page = get(served, "/build/deaths?rows=ccg&rows=cause&columns=age&columns=sex&layers=month")
    assert page.status_code == 403
    assert "at most 4 variables" in page.text
    page = get(served, "/build/deaths?rows=%3Cscript%3E")
    assert page.status_code == 400
    assert "<script" not in page.text
    assert get(served, "/build/deaths-dp").status_code in {401, 404}


def test_nothing_comes_from_elsewhere(served: Served):
    """No script and no address of another host on any page."""
    for path in ("/", "/build/deaths", "/build/deaths?rows=region", "/style.css"):
        text = get(served, path).text
        assert "<script" not in text
        assert not re.search(r"https?://", text)


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
            assert "<table>" not in page.text
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
        page = browser.get("/build/deaths-dp")
        assert page.status_code == 200
        (csrf,) = re.findall(r'name="csrf" value="([0-9a-f]+)"', page.text)
        assert browser.post("/logout", data={"csrf": "0" * 64}).status_code == 403
        assert browser.get("/build/deaths-dp").status_code == 200
        assert browser.post("/logout", data={"csrf": csrf}).status_code == 303
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
