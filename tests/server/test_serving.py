"""`discreet serve` as a command: where it says it listens."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from discreet import workspace

from ..workspace.people import make_people


@pytest.mark.slow
def test_any_free_port_is_named(tmp_path: Path):
    """With --port 0 the address printed is one that answers."""
    workspace.load(make_people(tmp_path / "work" / "people"))
    command = [sys.executable, "-m", "discreet", "serve", str(tmp_path / "work"), "--port", "0"]
    wide = {**os.environ, "COLUMNS": "1000"}
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=wide, text=True, **pipes) as server:
        assert server.stderr is not None
        said = server.stderr.readline()
        try:
            at = re.findall(r"http://127\.0\.0\.1:\d+", said)[0]
            transport = httpx.HTTPTransport(retries=8)  # the first lines come before it listens
            with httpx.Client(transport=transport, timeout=300) as client:
                assert client.get(f"{at}/health").status_code == 200
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=300)
