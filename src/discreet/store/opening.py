"""Where a data set's ledger lies, and how it is opened: in its folder, or where hosts share it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import InputError
from ..file_names import ANCHOR, STORE
from .anchors import Anchor
from .base import Verified
from .ledger_restore import Restored
from .ledger_store import LedgerStore
from .place import Place, place_of
from .sqlite import ledger as in_files
from .sqlite import ledger_restore as files_restore


def shared_place(folder: str | Path) -> Place | None:
    """The database that holds the ledger of the data set in `folder`; None: it is a file there."""
    return place_of(Path(folder).resolve().parent)


def open_ledger(folder: str | Path, *, dataset: str, **more: Any) -> LedgerStore:
    """The ledger of a data set, opened and verified; made where there was never one."""
    place = shared_place(folder)
    if place is None:
        return in_files.Ledger(folder, dataset=dataset, **more)
    from .postgres.ledger import PostgresLedger

    return PostgresLedger(place, folder, dataset=dataset, **more)


def verify(
    folder: str | Path, *, anchor: str | Path | None = None, copy: str | Path | None = None
) -> Verified:
    """Check chain, sums, anchors and every measurement of the ledger of a data set, or raise.

    `anchor` is where the inner anchor lies; `copy` is an anchor, or many one below the other, that
    was kept elsewhere.
    """
    place = shared_place(folder)
    if place is None:
        return in_files.verify(folder, anchor=anchor, copy=copy)
    from .postgres import ledger as shared

    return shared.verify(place, Path(folder), _name(Path(folder)), copy=copy)


def accept_restore(
    folder: str | Path, *, neighbours: str, who: str, reason: str, copy: str | Path | None = None
) -> Restored:
    """Let a ledger that is behind its anchors go on; durable when this returns.

    `neighbours` are those of the data set; `copy` is an anchor, or many one below the other, that
    was kept elsewhere.
    """
    place, said = shared_place(folder), {"neighbours": neighbours, "who": who, "reason": reason}
    if place is None:
        return files_restore.accept_restore(folder, copy=copy, **said)
    from .postgres import ledger as shared

    return shared.accept_restore(place, Path(folder), _name(Path(folder)), copy=copy, **said)


def has_ledger(folder: Path, dataset: str) -> bool:
    """Whether there is or was a ledger of this data set, as far as this host can see."""
    if any((folder / name).exists() for name in (STORE, ANCHOR)):
        return True
    place = shared_place(folder)
    if place is None:
        return False
    from .postgres.ledger import exists

    return exists(place, dataset)


def prepare(workspace: Path, *, serving: str | None = None) -> bool:
    """Make the tables that `store.yaml` of a workspace names, where they are missing; True if made."""
    from . import audit_log, jobs, workspace_database
    from .postgres.connection import Connection, in_words
    from .postgres.dialect import tables
    from .postgres.tables import prepare

    place = place_of(workspace)
    if place is None:
        raise InputError(
            f"{workspace} has no store.yaml, so there is no shared database to prepare. Write "
            "`database: postgresql://ROLE@HOST/DATABASE` into it."
        )
    made = (workspace_database.TABLES, *workspace_database.INDEXES, jobs.TABLES, audit_log.TABLES)
    every = ";".join(map(tables, made))
    with in_words("The shared database"):
        opened = Connection(place, "The shared database")
        try:
            return prepare(opened.get(), place.schema, every, serving)
        finally:
            opened.close()


def _name(folder: Path) -> str:
    """The data set that a folder's anchor names; else the folder's own name."""
    noted = Anchor.read(folder / ANCHOR)
    return folder.resolve().name if noted is None else noted.dataset
