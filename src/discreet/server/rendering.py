"""Tables in their format; large ones in a process of their own, so that this one goes on answering.

Such work ends with its time or when it is cancelled, and leaves its bytes in a file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from .. import formats
from ..core.control import Control
from ..core.table import ProtectedTable
from ..durable import plain_errors, replace_bytes, sync_folder
from ..formats import views
from ..formats.views import View
from . import elsewhere

LARGE_CELLS = 200_000


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
    lost = "Writing the table ended before it was done. Ask for fewer cells at once."
    elsewhere.done(_write, path, list(tables), name, control=control, doing="writing", lost=lost)
    return path


def _write(
    path: Path, tables: list[ProtectedTable], name: str
) -> None:  # pragma: no cover - in a process of its own
    replace_bytes(path, formats.to_bytes(tables, name), mode=0o600)
