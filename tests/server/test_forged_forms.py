"""Forms that another site makes a custodian's browser send: every page that takes one refuses them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from discreet.server import Settings

from ..patience import PATIENCE
from .drafting import tree
from .serving import PASSWORD, add_accounts, every_route, serving

PAGES = [
    route.removeprefix("POST ")
    for route in every_route()
    if route.startswith("POST ") and not route.startswith(("POST /api/", "POST /pxweb/"))
]
FILE = {"file": ("a.csv", b"a,b\n1,2\n")}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A custodian's browser, signed in, on a workspace without data sets."""
    workspace = tmp_path_factory.mktemp("forged")
    add_accounts(workspace, passwords=("cas",))
    with (
        serving(workspace, Settings(calls_per_minute=10**6)) as url,
        httpx.Client(base_url=url, timeout=PATIENCE) as browser,
    ):
        signed = browser.post("/login", data={"name": "cas", "password": PASSWORD})
        assert signed.status_code == 303
        before = tree(workspace)
        yield browser
        assert tree(workspace) == before


@pytest.mark.parametrize("path", [path for path in PAGES if path != "/login"])
@pytest.mark.parametrize(
    "token", [{}, {"csrf": ""}, {"csrf": "0" * 64}, {"csrf": "0" * 128}], ids=str
)
def test_a_form_without_the_session_s_token_changes_nothing(
    office: httpx.Client, path: str, token: dict[str, str]
):
    """Whatever it says, as a form or with a file."""
    address = re.sub(r"\{[^}]+\}", "0123456789abcdef", path)
    plain = office.post(address, data={"reason": "x", "name": "x", **token})
    assert plain.status_code in (403, 415), plain.text
    assert office.post(address, data=token, files=FILE).status_code in (403, 415)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    "head",
    [{"Origin": "https://elsewhere.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}],
    ids=str,
)
def test_a_form_of_another_site_is_refused(office: httpx.Client, path: str, head: dict[str, str]):
    """Signing in too: nobody is signed in as somebody else without knowing."""
    address = re.sub(r"\{[^}]+\}", "0123456789abcdef", path)
    said = {"name": "cas", "password": PASSWORD}
    assert office.post(address, data=said, headers=head).status_code == 403
    assert office.post(address, data=said, files=FILE, headers=head).status_code == 403
