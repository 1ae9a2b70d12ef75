"""The one thread that all requests share never waits for a database: each form and page asks in another."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.server import Settings, create_app
from discreet.server.open_datasets import OpenDatasets
from discreet.store.sqlite.database import Database

from ..patience import PATIENCE
from .serving import PASSWORD, add_accounts, every_route, serving_app

pytestmark = pytest.mark.slow
FILLED = {"dataset": "deaths", "name": "discreet.css", "user": "ana", "variable": "sex"}
_FIELD = re.compile(r"\{(\w+)\}")


def test_no_request_waits_for_a_database_where_all_others_wait_too(
    fresh_demo: Path, monkeypatch: pytest.MonkeyPatch
):
    """Every route, asked by a custodian's browser, with accounts that hosts share."""
    waited: dict[str, str] = {}
    now = ""

    def watched(own: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **more: Any) -> Any:
            if asyncio._get_running_loop() is not None:
                ours = [one for one in traceback.extract_stack() if "/discreet/" in one.filename]
                names = [Path(one.filename).name for one in ours if one.filename != __file__]
                waited[now] = " < ".join(dict.fromkeys(reversed(names)))
            return own(*args, **more)

        return called

    add_accounts(fresh_demo, passwords=("cas",))
    app = create_app(fresh_demo, Settings(calls_per_minute=10**6, logins_per_minute=10**6))
    app.state.service.shared = True  # then who asks is found out in another thread as well
    with serving_app(app) as url, httpx.Client(base_url=url, timeout=PATIENCE) as browser:
        for kind, name in ((Database, "reading"), (Database, "writing"), (OpenDatasets, "_take")):
            monkeypatch.setattr(kind, name, watched(getattr(kind, name)))
        for route in [*every_route(), "GET /nowhere"]:
            method, path = route.split(" ", 1)
            now = route
            csrf = browser.get("/api/v1/session").json()["csrf"]
            if not csrf:  # the last one signed out
                browser.post("/login", data={"name": "cas", "password": PASSWORD})
                csrf = browser.get("/api/v1/session").json()["csrf"]
            address = _FIELD.sub(lambda found: FILLED.get(found[1], "0123456789abcdef"), path)
            form = not address.startswith(("/api/", "/pxweb/")) and method == "POST"
            with browser.stream(
                method,
                address,
                headers={"X-CSRF-Token": csrf, "Accept": "text/html, application/json"},
                **({"data": {"csrf": csrf, "reason": "x"}} if form else {}),
            ) as answer:
                if "event-stream" not in answer.headers.get("content-type", ""):
                    answer.read()
    assert waited == {}
