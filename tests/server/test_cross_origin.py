"""Pages of other origins: they read what is public where the server allows it, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from discreet.cli.serving import _origin
from discreet.errors import InputError
from discreet.server import Settings

from .serving import PASSWORD, Served, add_accounts, serving

ORIGIN = "https://maps.example"
TABLE = "/api/v1/datasets/deaths/tables?rows=sex"


def settings(*origins: str) -> Settings:
    return Settings(public=("deaths",), calls_per_minute=10**6, readable_from=origins)


@pytest.fixture(scope="module", params=[("*",), (ORIGIN, "https://other.example")])
def served(
    request: pytest.FixtureRequest, demo: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    workspace = tmp_path_factory.mktemp("served") / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    with serving(workspace, settings(*request.param)) as url:
        yield Served(url, workspace, tokens)


def asked(served: Served, method: str, path: str, **headers: str) -> httpx.Response:
    sent = {"Origin": ORIGIN} | {name.replace("_", "-"): text for name, text in headers.items()}
    return httpx.request(method, served.url + path, headers=sent, timeout=300)


def readable(answer: httpx.Response) -> bool:
    """Whether a browser would show the answer to the page that asked without credentials."""
    assert "access-control-allow-credentials" not in answer.headers
    allowed = answer.headers.get("access-control-allow-origin")
    open_to_all = answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert open_to_all == (allowed is not None)
    return allowed in ("*", ORIGIN)


@pytest.mark.slow
def test_what_is_public_is_readable_from_elsewhere(served: Served) -> None:
    for path in (TABLE, "/api/v1/datasets", "/pxweb/v2/config", "/api/v1/openapi.json"):
        answer = asked(served, "GET", path)
        assert (answer.status_code, readable(answer)) == (200, True), path
        assert "origin" in answer.headers["vary"].lower()
        from_here = httpx.get(served.url + path, timeout=300)  # a cache must tell them apart
        assert "Origin" in from_here.headers["vary"].split(", ")
    missing = asked(served, "GET", "/api/v1/datasets/none/tables?rows=sex")
    assert readable(missing)  # the page learns why


def test_nothing_is_readable_with_credentials(served: Served) -> None:
    """A token, a session's cookie, or a cookie that means nothing."""
    token = asked(served, "GET", TABLE, Authorization=f"Bearer {served.tokens['ana']}")
    assert (token.status_code, readable(token)) == (200, False)
    with httpx.Client(base_url=served.url) as client:
        entered = client.post("/api/v1/session", json={"name": "ana", "password": PASSWORD})
        assert entered.status_code < 300
        inside = client.get(TABLE, headers={"Origin": ORIGIN})
        assert not readable(inside)
    assert not readable(asked(served, "GET", TABLE, Cookie="discreet=nothing"))


def test_pages_and_changes_are_not(served: Served) -> None:
    assert not readable(asked(served, "GET", "/"))
    posted = asked(served, "POST", "/api/v1/datasets/deaths/tables")
    assert not readable(posted)


def test_a_preflight_lets_reading_through_and_nothing_else(served: Served) -> None:
    def may(method: str, path: str, names: str = "") -> httpx.Response:
        more = {"Access_Control_Request_Headers": names} if names else {}
        return asked(served, "OPTIONS", path, Access_Control_Request_Method=method, **more)

    assert may("GET", TABLE, "Accept-Language").status_code == 204
    assert may("POST", "/pxweb/v2/tables/x/data", "content-type").status_code == 204
    for method, path, names in (
        ("GET", TABLE, "authorization"),
        ("GET", TABLE, "x-csrf-token, accept"),
        ("POST", "/api/v1/datasets/deaths/tables", "content-type"),
        ("DELETE", "/api/v1/saved/x", ""),
        ("GET", "/", ""),
    ):
        answer = may(method, path, names)
        assert answer.status_code == 403, (method, path)
        assert "only what is public may be read" in answer.json()["detail"]
        assert not readable(answer)


def test_an_origin_that_was_not_named_reads_nothing(served: Served) -> None:
    if "*" in asked(served, "GET", TABLE).headers["access-control-allow-origin"]:
        return  # any was named
    answer = asked(served, "GET", TABLE, Origin="https://evil.example")
    assert "access-control-allow-origin" not in answer.headers


def test_without_the_option_nothing_is_readable(demo: Path, tmp_path: Path) -> None:
    shutil.copytree(demo, tmp_path / "demo")
    with serving(tmp_path / "demo", settings()) as url:
        made = Served(url, tmp_path / "demo")
        assert not readable(asked(made, "GET", TABLE))
        assert asked(made, "OPTIONS", TABLE, Access_Control_Request_Method="GET").status_code == 405


def test_an_origin_that_no_browser_sends_is_refused() -> None:
    """It would match nothing, and nobody would be told."""
    for right in ("*", "https://a.example", "http://localhost:3000", "http://[::1]:8080"):
        assert _origin(right) == right
    for wrong in (
        *("null", "a.example", "https://A.example", "https://a.example/", "https://*.example"),
        *("https://a.example:443", "http://a.example:80", "https://me@a.example", "https://bücher"),
    ):
        with pytest.raises(InputError, match="as browsers write it"):
            _origin(wrong)
