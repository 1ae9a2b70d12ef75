"""Long work on a server, followed to its end: a table's job or a rehearsal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.control import Control
from ..errors import Cancelled
from .connection import Connection, from_problem


def follow(connection: Connection, path: str, job: Mapping[str, Any], control: Control) -> None:
    """Wait for a job at `path` to be done; progress is passed on, a stop is passed back."""
    wait = 0.1
    try:
        while job["state"] in ("waiting", "running"):
            control.step(min(float(job["share"]), 0.99), job["doing"] or job["state"])
            connection.sleep(wait)
            wait = min(wait * 1.5, 2.0)
            job = connection.json("GET", path)
    except (Cancelled, KeyboardInterrupt):
        connection.json("DELETE", path)
        raise
    if job["state"] == "cancelled":
        raise Cancelled("The job was stopped on the server; nothing was lost.")
    if job["state"] == "failed":
        raise from_problem(job["error"] or {"detail": "The job failed."})
