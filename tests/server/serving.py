"""A real server on loopback for tests: in a thread of this process, or as processes of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import uvicorn
from fastapi import FastAPI

from discreet.server import Settings, create_app
from discreet.server.slow_clients import HeadTimeout
from discreet.store.accounts import Accounts
from discreet.store.workspace_database import WorkspaceDatabase

from ..patience import PATIENCE, wait_until

PASSWORD = "a long enough phrase"
ROLES = {
    "ana": "analyst",
    "ben": "analyst",
    "cas": "custodian",
    "dora": "custodian",
    "odo": "auditor",
}


def add_accounts(workspace: Path, passwords: tuple[str, ...] = ("ana", "cas")) -> dict[str, str]:
    """Five accounts and a token for each; some have a password."""
    database = WorkspaceDatabase(workspace)
    accounts = Accounts(database)
    tokens = {}
    for name, role in ROLES.items():
        accounts.add_user(name, role, password=PASSWORD if name in passwords else None)
        tokens[name], _ = accounts.add_token(name)
    database.close()
    return tokens


@dataclass
class Served:
    """A running server: where it is, its folder, and a token for each account."""

    url: str
    workspace: Path
    tokens: dict[str, str] = field(default_factory=dict)

    def client(self, who: str | None = None, **more: object) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=300, **more)  # type: ignore[arg-type]


@contextlib.contextmanager
def serving(workspace: Path, settings: Settings | None = None) -> Iterator[str]:
    """Serve a workspace in a thread."""
    with serving_app(create_app(workspace, settings or Settings(calls_per_minute=10**6))) as url:
        yield url


@contextlib.contextmanager
def serving_app(app: FastAPI) -> Iterator[str]:
    """Serve an app in a thread."""
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        log_config=None,
        access_log=False,
        ws="none",
        http=HeadTimeout,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the server did not start")
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def every_route() -> list[str]:
    """Method and path of every route of the application, those outside its document too."""
    from discreet.server.app import guarded_routers
    from discreet.server.documentation import router

    routers = [*guarded_routers(), (router("/api/v1"), "")]
    return sorted(
        f"{method} {prefix}{route.path}"  # type: ignore[attr-defined]
        for mounted, prefix in routers
        for route in mounted.routes
        for method in route.methods  # type: ignore[attr-defined]
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Processes:
    """`discreet serve` in processes of its own, so that they can be killed."""

    def __init__(
        self, workspace: Path, workers: int, *options: str, log: Path | None = None
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "discreet", "serve", str(workspace)]
        command += ["--port", str(self.port), "--workers", str(workers)]
        command += ["--calls-per-minute", "100000000", *options]
        self._log = (log or Path(os.devnull)).open("wb")
        self.process = subprocess.Popen(
            command, stdout=self._log, stderr=self._log, start_new_session=True
        )

    def wait(self) -> None:
        wait_until(self._answers, "the server to start")

    def _answers(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError("the server ended")
        with contextlib.suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/health", timeout=PATIENCE).status_code == 200
        return False

    def children(self) -> list[int]:
        import psutil

        return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._log.close()
