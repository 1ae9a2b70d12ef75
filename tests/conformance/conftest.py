"""The tools, where `tools/other_tools.py` has put them, and a served demo."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools import other_tools

from discreet.server import Settings

from ..patience import PATIENCE
from ..server.serving import Served, add_accounts, serving

SETTINGS = Settings(public=("*",), calls_per_minute=10**6, body_seconds=PATIENCE)


@pytest.fixture(scope="session")
def tools() -> type[Tools]:
    """Programs of others; a test that lacks them skips."""
    if not other_tools.PYTHON.exists() or not other_tools.NODE.exists():
        pytest.skip("other people's tools are not there: run tools/other_tools.py")
    if shutil.which("java") is None or shutil.which("node") is None:
        pytest.skip("java or node is not installed: run tools/system_needs.py")
    return Tools


class Tools:
    """How each is run."""

    @staticmethod
    def run(*command: str | Path, folder: Path, **environment: str) -> str:
        """What a program said; fails with that where the program does."""
        import os

        done = subprocess.run(
            list(map(str, command)),
            cwd=folder,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
        return done.stdout

    @classmethod
    def python(cls, *command: str | Path, folder: Path, **environment: str) -> str:
        return cls.run(other_tools.PYTHON, *command, folder=folder, **environment)

    @classmethod
    def node(cls, script: str, *arguments: str | Path, folder: Path) -> str:
        return cls.run(
            "node", "-e", script, *arguments, folder=folder, NODE_PATH=str(other_tools.NODE)
        )


@pytest.fixture(scope="module")
def served(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demo, all of it public."""
    workspace = tmp_path_factory.mktemp("conformance") / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    with serving(workspace, SETTINGS) as url:
        yield Served(url, workspace, tokens)
