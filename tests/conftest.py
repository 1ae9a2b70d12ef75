"""What all tests share: one demo workspace, made once a run, and a watch for leaks.

A test whose component is missing skips and says so. Tests that mount a file system are left out
where mounting is not allowed, and the end of the run says so. With CI=true both are failures.
"""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import secrets
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path

import httpx._config
import pytest
from hypothesis import HealthCheck, settings

from .patience import PATIENCE
from .servers import postgres as postgres_server
from .servers import spark as spark_cluster

# no example fails because the machine is busy
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# what `make check` takes: a part of the examples where a test does not say how many
settings.register_profile("quick", settings.get_profile("patient"), max_examples=20)
settings.load_profile("patient")

# no answer is too late because the machine is busy: httpx would give up after five seconds
for _wait in ("connect", "read", "write", "pool"):
    setattr(httpx._config.DEFAULT_TIMEOUT_CONFIG, _wait, PATIENCE)

# no test speaks TLS, and each client that is made would read all authorities anew
ssl.create_default_context = cache(ssl.create_default_context)

CI = os.environ.get("CI") == "true"

collect_ignore = ["fixtures"]
"""Scripts that older versions are to be run with."""


@pytest.fixture(scope="session", autouse=True)
def anchors_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Nothing is noted in the home folder of who runs the tests."""
    folder = tmp_path_factory.mktemp("anchors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_ANCHORS", str(folder / "shared"))
        yield folder


@pytest.fixture(scope="module", autouse=True)
def anchors_of_the_module(anchors_of_the_run: Path) -> Iterator[None]:
    """Modules copy the demo and spend from their copies, with the same ledger where it has one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_ANCHORS", str(anchors_of_the_run / secrets.token_hex(6)))
        yield


@pytest.fixture(autouse=True)
def anchors(anchors_of_the_run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where anchors outside of the workspace lie in a test: tests copy one ledger into many."""
    folder = anchors_of_the_run / secrets.token_hex(6)
    monkeypatch.setenv("DISCREET_ANCHORS", str(folder))
    return folder


@pytest.fixture
def another_machine(
    anchors_of_the_run: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    """From then on no ledger was ever opened here: a copy of one that went on may go on too."""

    def move() -> None:
        monkeypatch.setenv("DISCREET_ANCHORS", str(anchors_of_the_run / secrets.token_hex(6)))

    return move


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


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.PostgresServer]:
    """A Postgres server, one for each process that runs tests; each test makes its own database."""
    if postgres_server.programs() is None:
        pytest.skip("Postgres is not installed: apt-get install postgresql")
    pytest.importorskip(
        "psycopg", reason="psycopg is not installed: pip install 'discreet[postgres]'"
    )
    with postgres_server.running() as server:
        yield server


@pytest.fixture(scope="session")
def spark(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[spark_cluster.SparkCluster]:
    """A Spark cluster with two workers, one for all processes that run tests."""
    given = os.environ.get("DISCREET_TEST_SPARK")
    if given:  # one that runs already: "url folder"
        url, folder = given.split()
        yield spark_cluster.SparkCluster(Path(folder), Path(folder), 0, int(url.rpartition(":")[2]))
        return
    if spark_cluster.home() is None:
        pytest.skip("Spark is not installed: python tools/spark_environment.py")
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'discreet[spark]'")
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base
    with spark_cluster.shared(shared) as cluster:
        yield cluster


def mounted(folder: Path, options: str) -> bool:
    """Whether a small file system of its own now lies on a folder; only root may mount one."""
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return not os.geteuid() and not subprocess.run(command, capture_output=True).returncode


@cache
def may_mount() -> bool:
    """Whether mounting is allowed here: not to everybody, nor to root in every container."""
    with tempfile.TemporaryDirectory() as name:
        done = mounted(Path(name), "size=64k")
        if done:
            subprocess.run(["umount", name], check=True)
    return done


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a small file system of its own, as `size=1m` or `ro`."""
    made: list[Path] = []

    def mount_one(options: str) -> Path:
        folder = tmp_path / f"disk{len(made)}"
        folder.mkdir()
        assert mounted(folder, options), "a disk of its own cannot be mounted here: run as root"
        made.append(folder)
        return folder

    yield mount_one
    for folder in made:
        subprocess.run(["umount", str(folder)], check=True)


def pytest_collection(session: pytest.Session) -> None:
    """Collecting makes many objects and leaves nearly all of them: nothing is looked for there."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what mounts a file system where that is not allowed; with CI=true let it fail."""
    mounting = [item for item in items if "mount" in getattr(item, "fixturenames", ())]
    if mounting and not CI and not may_mount():
        config.hook.pytest_deselected(items=mounting)
        items[:] = [item for item in items if item not in mounting]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not CI and not may_mount():
        terminalreporter.write_line(
            "Left out: tests on a full or read-only disk. Mounting one is not allowed here."
        )
    for reports in terminalreporter.stats.values():  # a proof that is run alone tells its figures
        for report in reports:
            for name, figure in getattr(report, "user_properties", ()):
                if getattr(report, "when", "") == "call":
                    terminalreporter.write_line(f"{name}: {figure}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CI=true a test that skips fails: whatever it lacks should be there."""
    report = yield
    expected = hasattr(report, "wasxfail")
    if report.skipped and not expected and CI:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"With CI=true nothing may be missing. {why}"
    return report


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
