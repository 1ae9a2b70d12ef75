"""Run every block of commands of docs/how-to/deploy.md, in order, on this machine.

    python tools/deployment_drill.py

Starts a Postgres of its own, two hosts and nginx in a temporary folder, and removes all of it. Ends with
an error where a command of the guide does, or where the guide's claims do not hold.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
GUIDE = ROOT / "docs" / "how-to" / "deploy.md"


def blocks() -> list[str]:
    """The commands of the guide."""
    return re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def drill(folder: Path, environment: dict[str, str]) -> str:
    """Run all blocks in one shell; what they said."""
    script = "set -euo pipefail\n" + "\n".join(blocks())
    process = subprocess.Popen(
        ["bash", "-c", script],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    said = process.communicate()[0]
    if process.returncode:
        logs = "\n".join(
            f"{path.name}: {path.read_text()[-2000:]}" for path in folder.glob("*.log")
        )
        raise SystemExit(f"the guide's commands ended with {process.returncode}:\n{said}\n{logs}")
    return said


def end(folder: Path) -> None:
    """End what the guide started and what may still run."""
    for name in ("first.pid", "second.pid", "nginx.pid"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((folder / name).read_text()), signal.SIGTERM)


def main() -> None:
    """The drill, from an empty folder to an accepted restore."""
    from tests.servers.postgres import OWNER, running

    with tempfile.TemporaryDirectory(prefix="discreet-drill-") as name, running() as server:
        folder = Path(name)
        ports = {key: str(free_port()) for key in ("PORT1", "PORT2", "TLS_PORT")}
        trust = "local all all trust\nhost all all 127.0.0.1/32 trust\n"
        server._write("pg_hba.conf", trust)
        server.execute("SELECT pg_reload_conf()")
        programs = f"{Path(sys.executable).parent}:{server.programs}:/usr/sbin"
        environment = {
            **os.environ,
            **ports,
            "ROOT": name,
            "PGHOST": "127.0.0.1",
            "PGPORT": str(server.port),
            "PGUSER": OWNER,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "XDG_STATE_HOME": f"{name}/state",
            "DISCREET_ANCHORS": f"{name}/anchors-1",
        }
        try:
            said = drill(folder, environment)
        finally:
            end(folder)
        for words in ("was rolled back or rewritten", "  restore  "):
            if words not in said:
                raise SystemExit(f"the drill did not say {words!r}:\n{said}")
        print(said)
        print("Every command of the guide ran.")


if __name__ == "__main__":
    main()
