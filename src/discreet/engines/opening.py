"""The engine of a loaded version: from arrays in memory where it has them, else from disk."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..core.description import Description
from ..file_names import ARRAYS
from .base import Engine
from .coded_file import places


def open_engine(folder: Path, description: Description, *, threads: int | None = None) -> Engine:
    """The engine of a loaded version; the description must be the one it was loaded under."""
    from_disk = partial(_from_disk, folder, description, threads)
    if not (folder / ARRAYS).is_file():
        return from_disk()
    from .memory.arrays import Arrays
    from .memory.engine import MemoryEngine

    arrays = Arrays(folder / ARRAYS)
    found = places(arrays.about, folder.name, description)
    return MemoryEngine(arrays, description, found, from_disk)


def _from_disk(folder: Path, description: Description, threads: int | None) -> Engine:
    from .duckdb.engine import open_engine as open_duckdb

    return open_duckdb(folder, description, threads=threads)
