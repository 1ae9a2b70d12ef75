"""Work in a process of its own, so that this one goes on answering; it ends with its time.

Writing millions of cells as JSON or XLSX, or drawing tables for a test, holds an interpreter for many
seconds. Such work gets one of a few processes, and ends when it is cancelled. It is given
protected tables, never a data set.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from ..core.control import Control
from ..errors import Bug, DiscreetError, StoreError

T = TypeVar("T")
_at_once = threading.BoundedSemaphore(2)
_processes = multiprocessing.get_context("spawn")


def done(work: Callable[..., T], *given: Any, control: Control, doing: str, lost: str) -> T:
    """What `work` of what it is given returned; `lost` is said where its process ended before."""
    control.step(0.9, doing)
    while not _at_once.acquire(timeout=0.2):
        control.step(0.9, f"waiting for {doing}")
    try:
        ours, theirs = _processes.Pipe(duplex=False)
        process = _processes.Process(target=_do, args=(theirs, work, given), daemon=True)
        process.start()
        theirs.close()
        try:
            while not ours.poll(0.1):
                control.step(0.9, doing)
            value, error = _outcome(ours, lost)
        finally:
            process.kill()
            process.join()
            ours.close()
    finally:
        _at_once.release()
    if error is not None:
        raise error
    found: T = value
    return found


def _outcome(connection: Connection, lost: str) -> tuple[Any, DiscreetError | None]:
    try:
        said: tuple[Any, DiscreetError | None] = connection.recv()
    except EOFError:  # killed, or out of memory
        return None, StoreError(lost)
    return said


def _do(
    connection: Connection, work: Callable[..., Any], given: tuple[Any, ...]
) -> None:  # pragma: no cover - in a process of its own
    os.umask(0o077)
    try:
        value = work(*given)
    except DiscreetError as error:
        connection.send((None, error))
    except Exception:  # our mistake: a trace would go to the server's log as it is
        connection.send((None, Bug("Something failed that should not.")))
    else:
        connection.send((value, None))
