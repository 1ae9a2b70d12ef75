"""The file of arrays: every column of a version's records, one after another, then what they are.

Columns begin at multiples of 64 bytes. After them a JSON text says how the records were coded and,
for each column, its type, place and checksum; the last 20 bytes are its length, its checksum and a
mark. A column's checksum is compared when it is first used: a disk that changed a byte is found out.
"""

from __future__ import annotations

import json
import mmap
import struct
import threading
import zlib
from collections.abc import Iterable, Mapping
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
        self._damaged = EngineError(
            f"{path.name} of version {path.parent.name} is not as it was written. Restore it from "
            "a backup, or load again."
        )
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            size, crc, mark = _END.unpack(self._map[-_END.size :])
            end = len(self._map) - _END.size
            text = self._map[max(0, end - size) : end]
            if mark != MARK or zlib.crc32(text) != crc:
                raise self._damaged
            said = json.loads(text)
            self.about: dict[str, Any] = said["about"]
            self._columns: dict[str, dict[str, Any]] = said["columns"]
            self.records = int(self.about["records"])
        except (OSError, ValueError, struct.error):
            raise self._damaged from None
        self._checked: dict[str, Column] = {}
        self._checking = threading.Lock()

    def __repr__(self) -> str:
        return "<arrays of records; values sealed>"

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def column(self, name: str) -> Column:
        """A column, whose bytes were held against their checksum once."""
        found = self._checked.get(name)
        if found is not None:
            return found
        with self._checking:
            said = self._columns[name]
            kind = np.dtype(said["type"])
            array = np.frombuffer(self._map, kind, self.records, said["start"])
            if zlib.crc32(array.data) != said["sum"]:
                raise self._damaged
            return self._checked.setdefault(name, array)


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
