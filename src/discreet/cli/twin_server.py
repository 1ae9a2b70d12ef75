"""A twin served on this machine for as long as it is attacked, by a server process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import EngineError, InputError

if TYPE_CHECKING:
    from ..client import Server
    from ..core.table import ProtectedTable
    from ..quality.attacks.served import Ask

_LONGEST_START = 600.0


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server that serves this workspace on loopback; it ends with the block."""
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "discreet", "serve", str(folder), "--port", str(port)]
    command += ["--calls-per-minute", str(10**8), "--log-level", "error"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait(process, address)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def own_anchors(folder: Path) -> Iterator[None]:
    """Anchors of what is thrown away are kept beside it, not among the custodian's."""
    before = os.environ.get("DISCREET_ANCHORS")
    os.environ["DISCREET_ANCHORS"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["DISCREET_ANCHORS"]
        else:
            os.environ["DISCREET_ANCHORS"] = before


def asking(server: Server, url: str) -> Ask:
    """Asks a twin's server for one table, as an analyst would."""
    known = server.datasets

    def ask(name: str, recipe: Mapping[str, Any]) -> ProtectedTable:
        if name not in known:
            raise InputError(
                f"{url} serves no twin of this data set, its policy and its ε: it has no data set {name}. "
                "Write one with --keep-twin FOLDER, and serve that folder."
            )
        (table,) = server.open(name).recipe(recipe).release().tables
        return table

    return ask


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], address: str) -> None:
    import httpx

    late = time.monotonic() + _LONGEST_START
    while time.monotonic() < late:
        if process.poll() is not None:
            break
        try:
            if httpx.get(f"{address}/health", timeout=10).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise EngineError("The twin's server did not start. Run the attacks without --over-http.")
