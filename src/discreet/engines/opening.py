"""The engine of a loaded version: from arrays in memory where it has them, else from disk."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..core.description import Description
from ..file_names import ARRAYS, REMOTE, SHARD
from .base import Engine
from .coded_file import places

_WIDEST = 1 << 16
"""Interiors of so many cells are summed again in less time than the records of a small data set."""


def open_engine(
    folder: Path,
    description: Description,
    *,
    threads: int | None = None,
    salt: bytes = b"",
    interior_bytes: int = 0,
) -> Engine:
    """The engine of a loaded version; the description must be the one it was loaded under.

    The salt is for records that stay on a server and are only read: keys are made in each count.
    With `interior_bytes` recent keyed interiors stay in memory, up to so much.
    """
    engine = _open(folder, description, threads, salt)
    if not interior_bytes:
        return engine
    from .interiors import KeptInteriors

    widest = _WIDEST if engine.name == "memory" else 0
    return KeptInteriors(engine, description, interior_bytes, widest)


def _open(folder: Path, description: Description, threads: int | None, salt: bytes) -> Engine:
    if (folder / REMOTE).is_file():
        from .remote_engine import open_remote

        return open_remote(folder, description, salt)
    if (folder / SHARD.replace("NNN", "001")).is_file():
        from .duckdb.sharded_engine import open_engine as open_sharded

        return open_sharded(folder, description, threads=threads)
    from_disk = partial(_from_disk, folder, description, threads)
    if not (folder / ARRAYS).is_file():
        return from_disk()
    from .memory.arrays import Arrays
    from .memory.engine import MemoryEngine

    arrays = Arrays(folder / ARRAYS)
    found = places(arrays.about, folder.name, description)
    return MemoryEngine(arrays, description, found, from_disk, threads)


def _from_disk(folder: Path, description: Description, threads: int | None) -> Engine:
    from .duckdb.engine import open_engine as open_duckdb

    return open_duckdb(folder, description, threads=threads)
