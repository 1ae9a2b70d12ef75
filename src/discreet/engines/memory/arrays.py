"""The file of arrays: every column of a version's records, one after another, then what they are.

Columns begin at multiples of 64 bytes. After them a JSON text says how the records were coded and,
for each column, its type, place and checksum; the last 20 bytes are its length, its checksum and a
mark. A column's checksum is compared when it is first used, and again after somebody wrote to the
file: a disk that changed a byte is found out, and a copy that is put back under a running server too.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import struct
import threading
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...durable import sync_file
from ...errors import EngineError

Column = npt.NDArray[Any]

MARK = b"discrarr"
MOST_BYTES = 4 << 30
"""Larger records are left to the engine that reads from disk."""
_ALIGNED = 64
_END = struct.Struct("<QI8s")


def room_for(types: Mapping[str, np.dtype[Any]], records: int) -> int:
    """The bytes that columns of these types take."""
    return sum(_padded(kind.itemsize * records) for kind in types.values())


def write(
    path: Path,
    about: Mapping[str, Any],
    types: Mapping[str, np.dtype[Any]],
    batches: Iterable[Mapping[str, Column]],
) -> None:
    """Write a new file from batches of rows, durably; there must be as many as `about` says."""
    records, start = int(about["records"]), 0
    columns: dict[str, dict[str, Any]] = {}
    for name, kind in types.items():
        columns[name] = {"type": kind.name, "start": start, "sum": 0}
        start += _padded(kind.itemsize * records)
    with path.open("xb") as file:
        done = 0
        for batch in batches:
            size = 0
            for name, kind in types.items():
                part = np.ascontiguousarray(batch[name], dtype=kind)
                size, said = len(part), columns[name]
                file.seek(said["start"] + done * kind.itemsize)
                file.write(part.data)
                said["sum"] = zlib.crc32(part.data, said["sum"])
            done += size
        if done != records:
            raise EngineError("The records changed while they were written. Load again.")
        file.seek(start)
        text = json.dumps({"about": about, "columns": columns}, ensure_ascii=False).encode()
        file.write(text + _END.pack(len(text), zlib.crc32(text), MARK))
    sync_file(path)


class Arrays:
    """The columns of a file, mapped read-only; shown to nobody by a repr."""

    def __init__(self, path: Path) -> None:
        self._words = (
            f"{path.name} of version {path.parent.name} is not as it was written. Restore it from "
            "a backup, or load again."
        )
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                self._file = os.dup(file.fileno())
            weakref.finalize(self, os.close, self._file)
            self._written = self._last_written()
            size, crc, mark = _END.unpack(self._map[-_END.size :])
            end = len(self._map) - _END.size
            text = self._map[max(0, end - size) : end]
            if mark != MARK or zlib.crc32(text) != crc:
                raise self._damaged()
            said = json.loads(text)
            self.about: dict[str, Any] = said["about"]
            self._columns: dict[str, dict[str, Any]] = said["columns"]
            self.records = int(self.about["records"])
        except (OSError, ValueError, TypeError, KeyError, struct.error):
            raise self._damaged() from None
        self._checked: dict[str, Column] = {}
        self._checking = threading.Lock()

    def __repr__(self) -> str:
        return "<arrays of records; values sealed>"

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    @contextlib.contextmanager
    def at_rest(self) -> Iterator[None]:
        """For what is read in this block: refused where somebody writes to the file meanwhile.

        A file that became shorter is never read: the system ends processes that do.
        """
        before = self._last_written()
        with self._checking:
            if before != self._written:
                self._checked, self._written = {}, before
        yield
        if self._last_written() != before:
            raise self._damaged()

    def column(self, name: str) -> Column:
        """A column, whose bytes were held against their checksum since the file was written to."""
        found = self._checked.get(name)
        if found is not None:
            return found
        with self._checking:
            try:
                said = self._columns[name]
                kind = np.dtype(said["type"])
                array = np.frombuffer(self._map, kind, self.records, said["start"])
                right = kind.kind in "iu" and zlib.crc32(array.data) == said["sum"]
            except (ValueError, TypeError, KeyError):
                right = False
            if not right:
                raise self._damaged()
            return self._checked.setdefault(name, array)

    def _last_written(self) -> int:
        """When the file was written to last, which must be as long as it was."""
        facts = os.fstat(self._file)
        if facts.st_size != len(self._map):
            raise self._damaged()
        return facts.st_mtime_ns

    def _damaged(self) -> EngineError:
        return EngineError(self._words)


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
