"""A copy of a workspace before it is changed: beside it, whole or absent.

Databases are copied by SQLite itself. Versions of the data never change, so the copy shares their
files where the disk can do that. Caches and locks are left out.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from ..durable import make_folder, own_file, plain_errors, sync_file, sync_folder
from ..file_names import ARRAYS, BUDGET_LOCK, CACHE, LEDGER_LOCK

_LEFT_OUT = (CACHE, LEDGER_LOCK, BUDGET_LOCK)
_BESIDE_DATABASES = ("-wal", "-shm")


def copy_to(target: Path, parts: Iterable[Path], root: Path) -> None:
    """Copy files and folders of `root` into the new folder `target`.

    What a killed copying left is removed by the next one.
    """
    draft = target.with_name(f".{root.name}-copy.part")
    with plain_errors(f"Copying {root} to {target}"):
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        try:
            for part in parts:
                _copy(part, draft / part.relative_to(root))
            sync_folder(draft)
            os.rename(draft, target)
            sync_folder(target.parent)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    if source.name.startswith(_LEFT_OUT):
        return
    if source.is_dir():
        make_folder(target)
        # an anchor before the ledger it must not be ahead of
        for inside in sorted(source.iterdir()):
            _copy(inside, target / inside.name)
        shutil.copymode(source, target)
        sync_folder(target)
    elif (source.suffix == ".duckdb" or source.name == ARRAYS) and _linked(source, target):
        return
    elif source.suffix == ".sqlite3":
        own_file(target)
        with (
            closing(sqlite3.connect(source)) as database,
            closing(sqlite3.connect(target)) as copied,
        ):
            database.backup(copied)
        shutil.copymode(source, target)
        sync_file(target)
    elif source.is_file() and not source.name.endswith(_BESIDE_DATABASES):
        shutil.copy2(source, target)
        sync_file(target)


def _linked(source: Path, target: Path) -> bool:
    try:
        os.link(source, target)
    except OSError:
        return False
    return True
