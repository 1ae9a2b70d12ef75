"""Tables in their format; large ones in a process of their own, so that this one goes on answering.

Writing millions of cells as JSON or XLSX holds an interpreter for many seconds. Such work gets one of
a few processes, ends with its time or when it is cancelled, and leaves its bytes in a file.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from .. import formats
from ..core.control import Control
from ..core.table import ProtectedTable
from ..durable import plain_errors, replace_bytes, sync_folder
from ..errors import DiscreetError, StoreError
from ..formats import views
from ..formats.views import View

LARGE_CELLS = 200_000
_at_once = threading.BoundedSemaphore(2)
_processes = multiprocessing.get_context("spawn")


def to_bytes(
    tables: Sequence[ProtectedTable], name: str, control: Control, view: View | None = None
) -> bytes:
    """Tables as the bytes of a format; of the first one what a view shows."""
    if name in views.VIEWS:
        return views.to_bytes(tables[0], name, view or View())
    if not _large(tables):
        return formats.to_bytes(tables, name)
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        return _elsewhere(Path(folder), tables, name, control).read_bytes()


def to_file(path: Path, tables: Sequence[ProtectedTable], name: str, control: Control) -> int:
    """Tables as a file that only its owner reads; how many bytes it has."""
    if not _large(tables):
        replace_bytes(path, formats.to_bytes(tables, name), mode=0o600)
    else:
        with (
            plain_errors(f"Writing {path.name}"),
            tempfile.TemporaryDirectory(prefix=".making-", dir=path.parent) as folder,
        ):
            _elsewhere(Path(folder), tables, name, control).replace(path)
            sync_folder(path.parent)
    return path.stat().st_size


def _large(tables: Sequence[ProtectedTable]) -> bool:
    return sum(table.cells for table in tables) > LARGE_CELLS


def _elsewhere(folder: Path, tables: Sequence[ProtectedTable], name: str, control: Control) -> Path:
    """The file that another process wrote into a folder of its own."""
    path = folder / "table"
    control.step(0.9, "writing")
    while not _at_once.acquire(timeout=0.2):
        control.step(0.9, "waiting to write")
    try:
        ours, theirs = _processes.Pipe(duplex=False)
        process = _processes.Process(
            target=_write, args=(theirs, path, list(tables), name), daemon=True
        )
        process.start()
        theirs.close()
        try:
            while not ours.poll(0.1):
                control.step(0.9, "writing")
            outcome = _outcome(ours)
        finally:
            process.kill()
            process.join()
            ours.close()
    finally:
        _at_once.release()
    if outcome is not None:
        raise outcome
    return path


def _outcome(connection: Connection) -> DiscreetError | None:
    try:
        said: DiscreetError | None = connection.recv()
    except EOFError:  # killed, or out of memory
        return StoreError(
            "Writing the table ended before it was done. Ask for fewer cells at once."
        )
    return said


def _write(
    connection: Connection, path: Path, tables: list[ProtectedTable], name: str
) -> None:  # pragma: no cover - in a process of its own
    os.umask(0o077)
    try:
        replace_bytes(path, formats.to_bytes(tables, name), mode=0o600)
    except DiscreetError as error:
        connection.send(error)
    else:
        connection.send(None)
