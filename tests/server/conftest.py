"""One served copy of the demo workspace for each test module, with accounts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.server import Settings

from ..patience import PATIENCE
from .serving import Served, add_accounts, serving

SETTINGS = Settings(
    public=("deaths",),
    calls_per_minute=10**6,
    logins_per_minute=10**6,
    lease_seconds=2,
    body_seconds=PATIENCE,
)


@pytest.fixture(scope="module")
def served(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`deaths` is public, the others need an account; ana, ben, cas, dora and odo have one."""
    workspace = tmp_path_factory.mktemp("served") / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    with serving(workspace, SETTINGS) as url:
        yield Served(url, workspace, tokens)
