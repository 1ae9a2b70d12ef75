"""Who else on this machine may read the files of a data set, or of the workspace around it."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ..file_names import (
    ACCOUNTS,
    ACCOUNTS_KEY,
    ANCHOR,
    AUDIT,
    CACHE,
    DRAFTS,
    JOB_RESULTS,
    JOBS,
    MEASUREMENTS,
    PUBLISHED,
    SOURCE_FACTS,
    SOURCES,
    STORE,
    VERSIONS,
)
from .finding import Finding

_SHOWN = 3
_DATABASES = ("", "-wal", "-shm")
_INSIDE = (
    VERSIONS,
    MEASUREMENTS,
    ANCHOR,
    SOURCE_FACTS,
    SOURCES,
    *(f"{n}{end}" for n in (STORE, CACHE) for end in _DATABASES),
)
_AROUND = (
    DRAFTS,
    JOB_RESULTS,
    PUBLISHED,
    ACCOUNTS_KEY,
    *(f"{n}{end}" for n in (ACCOUNTS, AUDIT, JOBS) for end in _DATABASES),
)


def open_to_others(path: Path) -> bool:
    """Whether somebody else may read, write or enter it."""
    with contextlib.suppress(OSError):
        return bool(os.lstat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO))
    return False


def mode_findings(folder: Path) -> Iterator[Finding]:
    """What discreet wrote and others may read: earlier versions left that to the umask.

    What lies in a folder that is closed to them is out of their reach.
    """
    around = folder.resolve().parent
    for base, names in ((folder, _INSIDE), (around, _AROUND)):
        if not open_to_others(base):
            continue
        parts = [base / name for name in names if open_to_others(base / name)]
        files = [str(path.relative_to(base)) for part in parts for path in _readable(part)]
        if files:
            more = f" and {len(files) - _SHOWN:,} more" if len(files) > _SHOWN else ""
            yield Finding(
                "warning",
                f"others on this machine may read {', '.join(files[:_SHOWN])}{more}.",
                base.name,
                f"Run `chmod -R go= {folder if base is folder else ' '.join(map(str, parts))}`.",
            )


def _readable(path: Path) -> Iterator[Path]:
    """The files below an open path that are open too."""
    if not path.is_dir():
        yield path
        return
    with contextlib.suppress(OSError):
        for inside in sorted(path.iterdir()):
            if open_to_others(inside) and not inside.is_symlink():
                yield from _readable(inside)
