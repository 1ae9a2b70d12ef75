"""A file on its way into a draft: in pieces, each appended where the last one ended.

Bytes go to the disk as they come and nowhere else. A piece that breaks off leaves what came of it,
and the sender asks how much that was. When all bytes are there it is looked at what they are: a
file that is not what its name says is removed and gets one sentence.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from ..durable import OWN, make_folder, plain_errors, sync_folder
from ..engines.coding import Source
from ..engines.other_files import refuse_other_files
from ..errors import DataError, InputError
from ..file_names import SOURCES
from .draft_folder import DraftFolder, no_draft

KINDS = {"csv": "CSV", "parquet": "Parquet", "xlsx": "XLSX"}
"""What can be uploaded."""

_ENDINGS = {"csv": (".csv", ".tsv", ".txt"), "parquet": (".parquet", ".pq"), "xlsx": (".xlsx", ".xlsm")}  # fmt: skip
_MOST_UNPACKED = 16 << 30
"""Bytes that a workbook may hold when it is unpacked."""
_MOST_RATIO = 200
"""… and how many times its size, once that is much: a sheet of one repeated word packs to less."""
_MUCH = 256 << 20


class UploadConflict(InputError):
    """A piece that does not begin where the last one ended, or somebody else is sending."""


def _there_already() -> UploadConflict:
    return UploadConflict("The file of this draft is there already. Begin another draft.")


def safe_name(name: str) -> str:
    """The name a file is kept under: its own, as far as it is harmless; refused where it says no kind.

    >>> safe_name("C:\\\\data\\\\stays 2024.csv"), safe_name("<b>x</b>.parquet")
    ('stays 2024.csv', 'b.parquet')
    """
    base = re.split(r"[/\\]", name)[-1].strip()
    stem, dot, ending = base.rpartition(".")
    stem = re.sub(r"[^\w() -]+", "_", stem).strip(" _-")[:80] or "data"
    safe = f"{stem}{dot}{ending.lower()}"
    if not any(safe.endswith(end) for ends in _ENDINGS.values() for end in ends):
        refuse_other_files(Path(safe), b"")
        raise InputError(
            f"A file to upload is CSV, Parquet or XLSX by its name, got {base[-60:]!r}. Give it an "
            "ending that says what it is: .csv, .parquet or .xlsx."
        )
    return safe


def check_room(folder: Path, needed: int) -> None:
    """Raise where the disk has no room for a file and for loading it."""
    free = shutil.disk_usage(folder).free
    if 2 * needed > free:
        raise InputError(
            f"The file has {needed:,} bytes, and the server's disk has room for {free // 2:,}. Free "
            "some space there, or upload less."
        )


class Piece:
    """Bytes being appended; what is too much is refused before it is written."""

    def __init__(self, handle: int, at: int, most: int) -> None:
        self._handle, self.received, self._most = handle, at, most

    def write(self, data: bytes) -> None:
        """Append; a full disk is one sentence, and what came before stays."""
        if self.received + len(data) > self._most:
            raise too_large(self._most)
        with plain_errors("Keeping the upload"):
            view = memoryview(data)
            while view:
                view = view[os.write(self._handle, view) :]
        self.received += len(data)


def too_large(most: int) -> InputError:
    """More bytes than were announced, or than a server takes."""
    return TooLarge(f"The file has more than {most:,} bytes, which is the most here. Upload less.")


class TooLarge(InputError):
    """More bytes than are taken."""


@contextlib.contextmanager
def receiving(draft: DraftFolder, offset: int, most: int) -> Iterator[Piece]:
    """Append to a draft's file from `offset` on, alone; what was written is on disk afterwards."""
    state = draft.state
    if state.state != "uploading":
        raise _there_already()
    with plain_errors("Keeping the upload"):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            handle = os.open(draft.part, flags, OWN)
        except FileNotFoundError:
            raise no_draft() from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UploadConflict(
                "Another piece of this file is arriving at this moment. Ask how far it is, then go on."
            ) from None
        if not _is_at(handle, draft.part):
            raise _there_already()  # completed between opening and locking
        there = os.fstat(handle).st_size
        if offset != there:
            raise UploadConflict(
                f"The next piece begins at byte {there:,}, got {offset:,}. Send it from there."
            )
        piece = Piece(handle, there, most if state.bytes is None else min(most, state.bytes))
        try:
            yield piece
        finally:
            with plain_errors("Keeping the upload"):
                os.fsync(handle)
    finally:
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def complete(draft: DraftFolder) -> Path:
    """Give a file that is whole its name, if it is what that says; else it is removed."""
    with draft.locked() as state:  # of two senders of the last piece one completes it
        if state.state != "uploading" or not draft.part.exists():
            raise _there_already()
        path = draft.made / SOURCES / state.file
        try:
            check_content(draft.part, path.name)
        except DataError:
            draft.part.unlink(missing_ok=True)
            raise
        make_folder(path.parent)
        with plain_errors("Keeping the upload"):
            os.replace(draft.part, path)
            sync_folder(path.parent)
    return path


def check_content(path: Path, name: str) -> None:
    """Raise where a file is not what its name says, or would not end when it is unpacked."""
    kind = Source.guess(name).kind
    with path.open("rb") as file:
        start = file.read(8)
        file.seek(max(path.stat().st_size - 4, 0))
        end = file.read(4)
    if not start:
        raise DataError(f"{name} is empty. Choose the file that holds the records.")
    if kind == "parquet" and (start[:4], end) != (b"PAR1", b"PAR1"):
        raise DataError(
            f"{name} is no Parquet file, or only a part of one. Write it again, then upload it."
        )
    if kind == "xlsx":
        _check_workbook(path, name)
    if kind == "csv":
        _check_text(start, name)


def _check_text(start: bytes, name: str) -> None:
    other = {b"PAR1": "a Parquet file", b"SQLite f": "a database", b"%PDF": "a PDF"}
    for mark, words in other.items():
        if start.startswith(mark):
            raise DataError(
                f"{name} is {words}, whatever its name says. Upload CSV, Parquet or XLSX."
            )
    refuse_other_files(Path(name), start)


def _check_workbook(path: Path, name: str) -> None:
    try:
        with ZipFile(path) as book:
            parts = book.infolist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        raise DataError(
            f"{name} is no workbook, or only a part of one. Save it again as .xlsx, then upload it."
        ) from None
    if not any(part.filename == "xl/workbook.xml" for part in parts):
        raise DataError(f"{name} is a packed file, but no workbook. Save it as .xlsx, or as CSV.")
    unpacked = sum(part.file_size for part in parts)
    size = max(path.stat().st_size, 1)
    if unpacked > _MOST_UNPACKED or (unpacked > _MUCH and unpacked > _MOST_RATIO * size):
        raise DataError(
            f"{name} would unpack to {unpacked:,} bytes, {unpacked // size:,} times its size, which no "
            "sheet of records does. Save the sheet as CSV and upload that."
        )
