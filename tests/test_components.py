"""What a test lacks: a skip where one works, a failure with CI=true; what is not allowed is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

LACKING = """
import pytest

@pytest.mark.skipif(True, reason="no such program")
def test_by_mark():
    raise AssertionError

def test_by_call():
    pytest.skip("no such package")

@pytest.fixture
def component():
    pytest.skip("no such device")

def test_by_fixture(component):
    raise AssertionError

@pytest.mark.xfail(reason="known", strict=True)
def test_known_to_fail():
    raise AssertionError

def test_whole():
    pass
"""

MOUNTING = """
from tests import conftest
conftest.mounted = lambda folder, options: False

def test_needs_a_disk(mount):
    mount("size=1m")

def test_needs_none():
    pass
"""


def run(folder: Path, text: str, **environment: str) -> tuple[int, str]:
    """The exit code and last words of a run of these tests under our conftest."""
    (folder / "test_it.py").write_text(text)
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-c", os.devnull, "--rootdir", str(folder), str(folder)],
        cwd=ROOT,
        env=kept | environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
def test_a_missing_component_fails_with_ci_only(tmp_path: Path) -> None:
    code, told = run(tmp_path, LACKING)
    assert (code, "1 passed, 3 skipped, 1 xfailed" in told) == (0, True), told
    code, told = run(tmp_path, LACKING, CI="true")
    assert (code, "1 failed, 1 passed, 1 xfailed, 2 errors" in told) == (1, True), told
    for why in ("no such program", "no such package", "no such device"):
        assert f"With CI=true nothing may be missing. Skipped: {why}" in told


@pytest.mark.slow
def test_where_mounting_is_not_allowed_its_tests_are_left_out_aloud(tmp_path: Path) -> None:
    """And with CI=true they fail: nobody else would run them."""
    code, told = run(tmp_path, MOUNTING)
    assert (code, "1 passed, 1 deselected" in told) == (0, True), told
    assert "Left out: tests on a full or read-only disk." in told
    code, told = run(tmp_path, MOUNTING, CI="true")
    assert (code, "1 failed, 1 passed" in told) == (1, True), told
    assert "cannot be mounted here" in told


def test_no_example_in_the_code_is_skipped() -> None:
    """The rule above reaches tests; an example in a docstring runs, or is no example."""
    skipping = [path.name for path in (ROOT / "src").rglob("*.py") if "+SKIP" in path.read_text()]
    assert not skipping
