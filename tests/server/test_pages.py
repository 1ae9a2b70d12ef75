"""The pages: without scripts, through the one flow, and they never spend."""

from __future__ import annotations

import re

import httpx
import pytest

from .serving import Served

pytestmark = pytest.mark.slow


def get(served: Served, path: str, who: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {served.tokens[who]}"} if who else {}
    return httpx.get(served.url + path, headers=headers, timeout=60)


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
    said = httpx.post(f"{served.url}/api/v1/datasets/deaths/tables", json=asked, timeout=60).json()
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


def test_refusals_and_typos_are_said_on_the_page(served: Served):
    """What is wrong, and what would work, escaped."""
    page = get(served, "/build/deaths?rows=ccg&rows=cause&columns=age&columns=sex&layers=month")
    assert page.status_code == 403
    assert "at most 4 variables" in page.text
    page = get(served, "/build/deaths?rows=%3Cscript%3E")
    assert page.status_code == 400
    assert "<script" not in page.text
    assert get(served, "/build/genes").status_code in {401, 404}


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
        made = httpx.post(f"{url}/api/v1/releases", json=body, headers=custodian, timeout=60)
        assert made.status_code == 201, made.text
        asked = httpx.post(f"{url}/api/v1/datasets/deaths-dp/tables", json=recipe, timeout=60)
        assert asked.status_code == 403
        for address in ("rows=region&columns=sex&epsilon=0.5", "rows=sex&epsilon=0.2"):
            page = httpx.get(f"{url}/build/deaths-dp?{address}", timeout=60)
            assert "<table>" not in page.text
        again = httpx.post(
            f"{url}/api/v1/datasets/deaths-dp/tables", json=recipe, headers=custodian, timeout=60
        )
        assert again.status_code == 200
        after = httpx.post(f"{url}/api/v1/datasets/deaths-dp/tables", json=recipe, timeout=60)
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
        assert httpx.get(f"{url}/", timeout=60).status_code == 200
        for name in ("evil.example", "evil.example:80", ""):
            answer = httpx.get(f"{url}/api/v1/config", headers={"Host": name}, timeout=60)
            assert answer.status_code in {400, 421}
        assert httpx.get(f"{url}/", headers={"Host": "LOCALHOST:1"}, timeout=60).status_code == 200
