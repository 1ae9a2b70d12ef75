"""Statements run in the background: progress and cancel in the caller's thread, errors as sentences.

DuckDB's own messages quote SQL, paths and whole lines of the data. None of that is passed on: only
what is listed here is read out of a message (a line number, a column count, a cause by name).
"""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from ...core.control import Control
from ...errors import Cancelled, DataError, DiscreetError, EngineError, StoreError
from .. import background

T = TypeVar("T")
Connection = duckdb.DuckDBPyConnection

_FULL = re.compile(
    r"No space left|Disk quota|File too large|max_temp_directory_size|not enough disk", re.I
)
_LOCKED = re.compile(r"Permission denied|Read-only file system|Operation not permitted", re.I)
_NO_ROOM = (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)
_LINE = re.compile(r"CSV Error on Line: (\d+)")
_COLUMNS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")


def in_background(
    connection: Connection,
    work: Callable[[], T],
    control: Control | None,
    doing: str,
    tell: Callable[[float], None] | None = None,
) -> T:
    """What `work` returns, run in a thread of its own while this one watches for cancel and Ctrl-C.

    `tell` is called with DuckDB's own estimate of the share done (0 … 1) while it runs.
    """

    def progress() -> None:
        if tell is not None:
            tell(max(0.0, min(1.0, connection.query_progress() / 100)))

    try:
        return background.in_background(work, connection.interrupt, control, doing, progress)
    except duckdb.InterruptException:
        raise Cancelled(f"Stopped while {doing}; nothing was lost.") from None


class Runner:
    """Runs the statements of one load or profile on one connection."""

    def __init__(self, connection: Connection, source: str, target: Path, control: Control) -> None:
        self.connection = connection
        self.source = source
        self.target = target
        self.control = control
        self._share = 0.0

    def run(
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        doing: str,
        share: tuple[float, float] | None = None,
        records: int = 0,
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement; `share` is the part of all work it stands for, None for little."""
        started = time.monotonic()
        first, last = share or (self._share, self._share)
        self._share = last
        self.control.step(first, doing)

        furthest = 0.0

        def tell(done: float) -> None:
            # DuckDB's estimate starts again at every step of its own; ours never goes back.
            nonlocal furthest
            done = furthest = max(done, furthest)
            self.control.step(first + (last - first) * done, _so_far(doing, done, records, started))

        def work() -> list[tuple[Any, ...]]:
            return self.connection.execute(sql, dict(parameters or {})).fetchall()

        try:
            return in_background(self.connection, work, self.control, doing, tell)
        except (duckdb.Error, OSError, RuntimeError) as error:
            raise self.sentence(error) from None

    def sentence(self, error: Exception) -> DiscreetError:
        """A failure while reading the source or writing the target, as one safe sentence."""
        return sentence(error, self.source, self.target.name)


def sentence(error: Exception, source: str, target: str) -> DiscreetError:
    """A failure while reading a source or writing a folder, as one safe sentence."""
    text = str(error)
    if _FULL.search(text) or (isinstance(error, OSError) and error.errno in _NO_ROOM):
        return StoreError(
            f"There is no room left to write in {target}. Free some space and load again; nothing "
            "was changed."
        )
    if _LOCKED.search(text):
        return StoreError(
            f"{target} cannot be written to. Give write access to the folder and load again; "
            "nothing was changed."
        )
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return StoreError(
            "There is not enough memory and room on disk to load. Free some and load again; "
            "nothing was changed."
        )
    line = _LINE.search(text)
    if line:
        return _bad_line(int(line.group(1)), text, source)
    if isinstance(error, duckdb.IOException | duckdb.InvalidInputException):
        return DataError(
            f"{source} cannot be read to its end: it is damaged or being written to. Make the file "
            "again."
        )
    return EngineError(
        f"Reading {source} failed ({type(error).__name__}). Check that the file is whole."
    )


def _bad_line(line: int, text: str, source: str) -> DataError:
    columns = _COLUMNS.search(text)
    if columns:
        expected, got = (int(part) for part in columns.groups())
        many = "more" if got > expected else "fewer"
        return DataError(
            f"Line {line:,} of {source} has {many} columns than the header: {got} instead of "
            f"{expected}. Check its delimiters and quotes."
        )
    if "unicode" in text or "utf-8" in text:
        return DataError(
            f"Line {line:,} of {source} is not in the encoding said. Give the right one, for "
            "example `encoding: cp1252`."
        )
    return DataError(
        f"Line {line:,} of {source} cannot be read as CSV. Check its quotes and delimiters."
    )


def _so_far(doing: str, done: float, records: int, started: float) -> str:
    """What is being done, with rows and time left once they can be told."""
    if not records or done <= 0.02:
        return doing
    left = (time.monotonic() - started) * (1 - done) / done
    return f"{doing}: {int(records * done):,} of {records:,} records, {left:.0f} s left"
