"""Files that are there whole or not at all, and sentences for what a file system refuses.

Content goes into a draft beside the file, onto the disk, and then takes the file's name in one
step: whoever reads, and whoever looks after a power cut, finds the old file or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .errors import StoreError

_REASONS = {
    errno.ENOSPC: "the disk is full. Free some space and run it again",
    errno.EDQUOT: "the disk quota is used up. Free some space and run it again",
    errno.EFBIG: "the file would be larger than allowed here. Raise the limit and run it again",
    errno.EACCES: "permission is denied. Choose a folder you may write to",
    errno.EPERM: "permission is denied. Choose a folder you may write to",
    errno.EROFS: "the folder is read-only. Choose a folder you may write to",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.ENOENT: "a part of the path does not exist",
}


@contextlib.contextmanager
def plain_errors(doing: str) -> Iterator[None]:
    """Turn what the operating system refuses into one sentence.

    >>> with plain_errors("Writing /x/y"):
    ...     open("/nowhere/at/all")
    Traceback (most recent call last):
    discreet.errors.StoreError: Writing /x/y failed: a part of the path does not exist; nothing was lost.
    """
    try:
        yield
    except OSError as problem:
        why = _REASONS.get(problem.errno or 0, problem.strerror or type(problem).__name__)
        raise StoreError(f"{doing} failed: {why}; nothing was lost.") from None


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o644, only_writer: bool = False) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file when the block ends well, and vanish when it does not.

    `only_writer` is for a file that one writer at a time replaces often: its draft has one name,
    which the next writing reuses after a crash, and a power cut may show the file before the last.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if only_writer:
        draft, fresh = path.with_name(f"{path.name}.new"), os.O_TRUNC
    else:
        draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.part")
        fresh = os.O_EXCL
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | fresh, mode)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    if not only_writer:
        sync_folder(path.parent)


def replace_bytes(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Put `data` in the place of a file, durably and in one step."""
    with plain_errors(f"Writing {path}"), replacing(path, mode=mode) as stream:
        stream.write(data)


def replace_text(path: Path, text: str) -> None:
    """Put `text` in the place of a file, durably and in one step."""
    replace_bytes(path, text.encode())


def make_folder(path: Path, *, mode: int = 0o777) -> None:
    """Make a folder and those above it; one that is there is fine."""
    with plain_errors(f"Making the folder {path}"):
        path.mkdir(parents=True, exist_ok=True, mode=mode)


def sync_file(path: Path) -> None:
    """Make a file's content durable."""
    _sync(path, os.O_RDONLY)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    handle = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
