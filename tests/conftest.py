"""What all tests share: one demo workspace, made once a run, and a watch for leaks."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo workspace, made once for all workers; do not spend from it, use `fresh_demo`."""
    from discreet.core.control import Control
    from discreet.demo import make_demo

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base
    target = shared / "demo"
    with (shared / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / ".complete").exists():
            make_demo(target, Control())
            (target / ".complete").touch()
    return target


@pytest.fixture
def fresh_demo(demo: Path, tmp_path: Path) -> Path:
    """A copy of the demo workspace that a test may spend from and break."""
    copy = tmp_path / "demo"
    shutil.copytree(demo, copy)
    return copy
