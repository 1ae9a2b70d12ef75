"""A served demo, and Debian's Chromium to look at it with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet import workspace
from discreet.server import Settings

from ..languages.german import write_stays
from ..patience import PATIENCE
from ..server.serving import Served, add_accounts, serving

STARS = """\
family: suppression
method: suppression
methods:
  suppression:
    epsilon: 0.8
    delta: 0.3
    populations: {file: bevölkerung.csv, source: population statistics}
    attributes:
      diagnose: {counts: [c], prior: {value: 0.3, source: a survey of others}}
"""
POLICIES = {
    "keyed": "family: cell-key\n",
    "dp": "family: dp\nmethod: noise\nbudget: {epsilon: 500, delta: 1e-3}\n",
    "classic": "family: classic\nmethod: classic\nmethods: {classic: {threshold: 3}}\n",
    "stars": STARS,
}
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


@pytest.fixture(scope="module")
def offices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same people under every family, and synthetic ones made from a release of them."""
    folder = tmp_path_factory.mktemp("offices") / "work"
    for name, policy in POLICIES.items():
        workspace.load(write_stays(folder / name, policy))
    with dc.open(folder / "dp") as data:
        data.table(
            rows=["kreis"], columns=["geschlecht"], method="marginals", epsilon="1"
        ).release()
    dc.synthetic(folder / "dp", folder / "made")
    tokens = add_accounts(folder)
    with serving(folder, SETTINGS) as url:
        yield Served(url, folder, tokens)
