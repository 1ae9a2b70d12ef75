"""The way to a first page: what is installed, what is said meanwhile, and the wheel alone."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import types
from pathlib import Path

import httpx
import pytest

from discreet.demo import NAMES

from .patience import PATIENCE

ROOT = Path(__file__).parent.parent
TOOLS = {"ruff", "mypy", "pytest", "hypothesis", "import-linter", "schemathesis", "bandit"}


def install_tool() -> types.ModuleType:
    """tools/install.py, which is no package."""
    spec = importlib.util.spec_from_file_location("install", ROOT / "tools/install.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_pip_does_is_told_in_numbers(tmp_path: Path) -> None:
    """Before its first line, while it fetches, and while it unpacks without a word."""
    site = tmp_path / "lib/python3.11/site-packages"
    (site / "pip-23.dist-info").mkdir(parents=True)
    doing = install_tool().progress(tmp_path, before=1)
    assert doing([]) == "starting pip"
    lines = ["Collecting numpy>=2\n", "  Using cached numpy.whl\n", "Collecting duckdb\n"]
    assert doing(lines) == "fetching packages, 2 so far"
    lines.append("Installing collected packages: numpy, duckdb, discreet\n")
    assert doing(lines) == "installing packages, 0 of 3"
    (site / "numpy-2.dist-info").mkdir()
    assert doing(lines) == "installing packages, 1 of 3"


def test_a_command_that_fails_shows_what_it_said(capfd: pytest.CaptureFixture[str]) -> None:
    """And installing ends there, with its exit code."""
    tool = install_tool()
    script = "import sys; print('no such package'); sys.exit(3)"
    with pytest.raises(SystemExit, match="ended with 3"):
        tool.Ticker().run([sys.executable, "-c", script], lambda lines: "trying")
    assert "no such package" in capfd.readouterr().out


def done(*command: str | Path) -> str:
    """Run a command away from the source; what it wrote."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran = subprocess.run([*map(str, command)], capture_output=True, text=True, env=kept)
    if ran.returncode and "No matching distribution" in ran.stderr + ran.stdout:
        pytest.skip("packages cannot be installed here")
    assert not ran.returncode, ran.stderr
    return ran.stdout


@pytest.mark.slow
def test_the_wheel_alone_serves_the_demo(tmp_path: Path) -> None:
    """Installed in an empty environment, with nothing cloned and no development tool."""
    done(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("discreet-*.whl")
    done(sys.executable, "-m", "venv", tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    constraints = ("--constraint", ROOT / "constraints.txt")
    done(python, "-m", "pip", "install", "--no-compile", *constraints, wheel)
    listed = {
        line.partition("==")[0] for line in done(python, "-m", "pip", "freeze").lower().split()
    }
    assert "duckdb" in listed
    assert not listed & TOOLS
    command = [tmp_path / "env" / "bin" / "discreet", "demo", "--into", "demo", "--port", "0"]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=kept,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stderr is not None
        told = ""
        while not (where := re.search(r"http://127\.0\.0\.1:\d+", told)):
            line = server.stderr.readline()
            assert line, told
            told += line
        try:
            ask_everything(where[0])
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=PATIENCE)


def ask_everything(address: str) -> None:
    """A page, and a table of each demo data set."""
    transport = httpx.HTTPTransport(retries=20)  # it says its address before it listens
    with httpx.Client(base_url=address, timeout=PATIENCE, transport=transport) as client:
        page = client.get("/")
        assert page.status_code == 200
        for name in NAMES:
            assert name in page.text
            asked = {"rows": ["region"], "columns": ["sex"]}
            price = {"epsilon": "0.5"} if name == "deaths-dp" else {}
            table = client.post(f"/api/v1/datasets/{name}/tables", json={**asked, **price})
            assert table.status_code == 200, table.text
            assert table.json()["value"]
