"""Files that are there whole or not at all, for whom they are, and what a file system refuses.

Content goes into a draft beside the file, onto the disk, and then takes the file's name in one
step: whoever reads, and whoever looks after a power cut, finds the old file or the new one.

What is made here is its owner's alone from its first byte, whatever the umask; only what is meant to
be handed on says so (`mode=SHARED`) and follows the umask.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from .errors import StoreError

OWN = 0o600
"""The mode of a file that nobody else may read."""
SHARED = 0o666
"""The mode of a file to hand on; the umask takes away from it."""
OWN_FOLDER = 0o700
SHARED_FOLDER = 0o777

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
def replacing(path: Path, *, mode: int = OWN, only_writer: bool = False) -> Iterator[BinaryIO]:
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


def replace_bytes(path: Path, data: bytes, *, mode: int = OWN) -> None:
    """Put `data` in the place of a file, durably and in one step."""
    with plain_errors(f"Writing {path}"), replacing(path, mode=mode) as stream:
        stream.write(data)


def replace_text(path: Path, text: str, *, mode: int = OWN) -> None:
    """Put `text` in the place of a file, durably and in one step."""
    replace_bytes(path, text.encode(), mode=mode)


def edit_text(path: Path, text: str) -> None:
    """Put `text` in the place of a file that stays readable for whom it was."""
    replace_text(path, text, mode=stat.S_IMODE(path.stat().st_mode))


def own_file(path: Path) -> None:
    """Make an empty file of the owner's where there is none, before a library does by the umask."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, OWN))


def make_folder(path: Path, *, mode: int = OWN_FOLDER) -> None:
    """Make a folder and those above it; one that is there is fine."""
    with plain_errors(f"Making the folder {path}"):
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing or [path]):
            folder.mkdir(exist_ok=True, mode=mode)


class _OwnerOnly:
    """The umask of this process while anybody needs it tight; umasks belong to processes."""

    def __init__(self) -> None:
        self._lock, self._users, self._before = threading.Lock(), 0, 0

    def enter(self) -> None:
        with self._lock:
            if not self._users:
                self._before = os.umask(0o077)
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                os.umask(self._before)


_owner_only = _OwnerOnly()


@contextlib.contextmanager
def owner_only() -> Iterator[None]:
    """Meanwhile whatever this process makes is its owner's: for libraries that make files."""
    _owner_only.enter()
    try:
        yield
    finally:
        _owner_only.leave()


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
