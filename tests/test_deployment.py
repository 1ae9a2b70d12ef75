"""The guide to several hosts is run, command by command."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs" / "how-to" / "deploy.md"


def test_the_guide_names_commands_that_there_are():
    """Each `discreet` command of the guide's blocks is one of the command line's."""
    from typer.main import get_command

    from discreet.cli.main import app

    known = get_command(app).commands
    blocks = re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    used = set(re.findall(r"(?:^|; |if )discreet ([a-z]+)", "\n".join(blocks), re.MULTILINE))
    assert {"store", "ledger", "upgrade", "demo"} <= used
    assert used <= known.keys()


@pytest.mark.proof
def test_every_command_of_the_guide_runs():
    """Every command of the deployment guide runs, and a restored database is found to be older."""
    for program in ("nginx", "curl", "openssl"):
        if shutil.which(program, path="/usr/sbin:/usr/bin:/bin") is None:
            pytest.skip(f"{program} is not installed")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "deployment_drill.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Every command of the guide ran." in done.stdout
