"""What all tests share: one demo workspace, made once a run, and a watch for leaks."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
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


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a small file system of its own, as `size=1m` or `ro`; only root may."""
    made: list[Path] = []

    def mounted(options: str) -> Path:
        folder = tmp_path / f"disk{len(made)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if os.geteuid() or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("a file system can only be mounted by root")
        made.append(folder)
        return folder

    yield mounted
    for folder in made:
        subprocess.run(["umount", str(folder)], check=True)


CANARIES = ("424242", "424,242", "canary-person-77", "9182736455463728")
"""A planted true count, a record id and a classical key: no log may ever hold them."""


class _Watch(logging.Handler):
    """Keeps every log record of the run, at debug level, as text."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = logging.Formatter("%(message)s").format(record)
        if any(canary in text for canary in CANARIES):
            self.texts.append(f"{record.name}: {text}")


@pytest.fixture(scope="session", autouse=True)
def no_canary_in_any_log() -> Iterator[None]:
    """Over the whole run, at debug level, no planted value reaches a log."""
    watch = _Watch()
    root = logging.getLogger()
    before = root.level
    root.addHandler(watch)
    root.setLevel(logging.DEBUG)
    yield
    root.removeHandler(watch)
    root.setLevel(before)
    assert not watch.texts, watch.texts[:3]
