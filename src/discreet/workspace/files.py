"""Files that are there whole or not at all, and sentences for what a file system refuses."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from ..errors import StoreError

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
def told(doing: str) -> Iterator[None]:
    """Turn what the operating system refuses into one sentence.

    >>> with told("Writing /x/y"):
    ...     open("/nowhere/at/all")
    Traceback (most recent call last):
    discreet.errors.StoreError: Writing /x/y failed: a part of the path does not exist; nothing was lost.
    """
    try:
        yield
    except OSError as problem:
        why = _REASONS.get(problem.errno or 0, problem.strerror or type(problem).__name__)
        raise StoreError(f"{doing} failed: {why}; nothing was lost.") from None


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make a file's content durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_text(path: Path, text: str) -> None:
    """Put `text` in the place of a file: readers see the old one or the new one, never a part."""
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Put `data` in the place of a file, durably and in one step."""
    with told(f"Writing {path}"):
        spare = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        try:
            handle = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(spare, path)
        except BaseException:
            with contextlib.suppress(OSError):
                spare.unlink()
            raise
        sync_folder(path.parent)


def make_folder(path: Path, *, mode: int = 0o777) -> None:
    """Make a folder and those above it; one that is there is fine."""
    with told(f"Making the folder {path}"):
        path.mkdir(parents=True, exist_ok=True, mode=mode)
