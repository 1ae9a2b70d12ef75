"""A served demo, and Debian's Chromium to look at it with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.server import Settings

from ..patience import PATIENCE
from ..server.serving import Served, add_accounts, serving

SETTINGS = Settings(
    public=("*",), calls_per_minute=10**6, logins_per_minute=10**6, body_seconds=PATIENCE
)


@pytest.fixture(scope="module")
def served(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """All data sets are public; ana, cas and odo have passwords."""
    workspace = tmp_path_factory.mktemp("served") / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace, passwords=("ana", "cas", "odo"))
    with serving(workspace, SETTINGS) as url:
        yield Served(url, workspace, tokens)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for all tests of a module."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed: run tools/system_needs.py")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
