"""Where DuckDB may write while a source is read: its owner's alone, and gone afterwards.

DuckDB makes its files by the umask of the process and writes a part of its work to disk when memory
is short. Both lie in a folder that nobody else may enter. What a process that was killed left behind
is removed by the next one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

from ...durable import OWN, OWN_FOLDER, owner_only
from .statements import Connection

SPILL = "spill"
_PREFIX = "discreet-profile-"
_YOUNG_SECONDS = 60.0
"""A folder so young may be about to be locked by who made it."""


def scratch_connection(path: Path | None, folder: Path) -> Connection:
    """A connection that writes: into `path`, or in memory; spills and extensions stay in check."""
    spill = folder / SPILL
    spill.mkdir(mode=OWN_FOLDER, exist_ok=True)
    config: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": str(spill),
        "memory_limit": "2GB",
        "preserve_insertion_order": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    connection = duckdb.connect(str(path) if path else ":memory:", config=config)
    # The progress bar itself is never printed; without it DuckDB keeps no progress to ask for.
    # A moment's text must not depend on where the machine stands.
    connection.execute(
        "SET enable_progress_bar = true; SET enable_progress_bar_print = false; "
        "SET progress_bar_time = 0; SET TimeZone = 'UTC'"
    )
    return connection


@contextlib.contextmanager
def profile_folder() -> Iterator[Path]:
    """A folder for the files of one profile, which hold records; locked while it is in use."""
    sweep()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with owner_only():
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def sweep() -> None:
    """Remove what killed profiles of this account left, and nothing that is in use."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            about = left.lstat()
            old = time.time() - about.st_mtime > _YOUNG_SECONDS
            if not (old and stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()):
                continue
            handle = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(handle)


@contextlib.contextmanager
def nameless_file(folder: Path, name: str) -> Iterator[Path]:
    """A file without a name, by a path that only this process has: a kill leaves nothing of it.

    Where the system has no such paths it is an ordinary file of the owner's.
    """
    path = folder / name
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWN)
    try:
        own = Path(f"/proc/self/fd/{handle}")
        if own.exists():
            path.unlink()
            yield own
        else:
            yield path
    finally:
        os.close(handle)
        path.unlink(missing_ok=True)
