"""The SQLite file of a ledger: tables, triggers, settings, and errors in words.

Amounts are exact fractions as text, added and compared by two functions given to SQLite, so that
the guard on a budget is one statement (`UPDATE … WHERE loss_fits(…)`) and three times 1/3 is 1.
Whole multiples of a fixed unit would have been smaller and faster, and would have refused that.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..core.loss import fits, loss_from_json, loss_to_json, plus
from ..errors import LedgerDamaged, StoreError
from .chain import canonical

FORM = 2
OLD_FORM = 1
"""Version 0.1: what `ledger_upgrade` reads."""
BUSY_SECONDS = 10.0


def _only_added_to(table: str) -> tuple[str, ...]:
    return tuple(
        f"""CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table}
BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"""
        for verb in ("UPDATE", "DELETE")
    )


_FORM_1 = (
    """CREATE TABLE log (
    seq INTEGER PRIMARY KEY CHECK (seq > 0),
    body TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT""",
    """CREATE TABLE scopes (
    scope TEXT PRIMARY KEY,
    cap TEXT NOT NULL,
    spent TEXT NOT NULL
) STRICT""",
    """CREATE TABLE answers (
    question TEXT PRIMARY KEY,
    seq INTEGER NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    measurements BLOB
) STRICT""",
    """CREATE TABLE requests (
    user TEXT NOT NULL,
    key TEXT NOT NULL,
    request TEXT NOT NULL,
    questions TEXT NOT NULL,
    PRIMARY KEY (user, key)
) STRICT""",
    """CREATE TABLE holds (
    id TEXT PRIMARY KEY,
    user TEXT NOT NULL,
    project TEXT NOT NULL,
    charges TEXT NOT NULL,
    expires REAL NOT NULL
) STRICT""",
    *_only_added_to("log"),
    *_only_added_to("answers"),
    *_only_added_to("requests"),
    """CREATE TRIGGER log_in_order BEFORE INSERT ON log
WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM log)
BEGIN SELECT RAISE(ABORT, 'a ledger is only added to at its end'); END""",
)
CARRIED = (
    """CREATE TABLE carried (
    answer TEXT PRIMARY KEY,
    question TEXT NOT NULL,
    form TEXT NOT NULL
) STRICT""",
    "CREATE INDEX carried_question ON carried (question)",
    *_only_added_to("carried"),
)
"""Answers charged under another name: the name they are asked by now, and the question's form."""
_TABLES = {OLD_FORM: _FORM_1, FORM: (*_FORM_1, *CARRIED)}


def connect(path: Path, *, create: bool = False, synchronous: str = "FULL") -> sqlite3.Connection:
    """A connection in autocommit: transactions are begun and ended by name only."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA recursive_triggers = ON")  # or REPLACE would slip past them
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA fullfsync = ON")  # where plain fsync stops at the drive's cache
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise StoreError(
                f"{path.name} cannot be kept in write-ahead mode (got {mode}), which its "
                "durability needs. Put the workspace on a local disk."
            )
        connection.create_function("loss_plus", 2, _loss_plus, deterministic=True)
        connection.create_function("loss_fits", 4, _loss_fits, deterministic=True)
    except BaseException:
        connection.close()
        raise
    return connection


def add_column(connection: sqlite3.Connection, statement: str) -> None:
    """Bring a file of an earlier layout up to date; one that has the column stays as it is."""
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as error:
        if "duplicate column" not in str(error):
            raise


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables, inside the caller's transaction."""
    for statement in _TABLES[FORM]:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORM}")


def form_of(connection: sqlite3.Connection) -> int:
    """The form a ledger is stored in; 0 for an empty file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_tables(connection: sqlite3.Connection, expected: int = FORM) -> None:
    """Tables and triggers must be those of this form: a dropped trigger is damage."""
    form = form_of(connection)
    if form == OLD_FORM < expected:
        where = Path(connection.execute("PRAGMA database_list").fetchone()[2]).parent
        raise StoreError(
            f"The ledger of {where.name} is of an older version of discreet. Run "
            f"`discreet upgrade {where.parent}`, which keeps a copy."
        )
    if form != expected:
        raise LedgerDamaged(
            f"The ledger is stored in form {form}, this version reads form {FORM}. "
            "Use the version of discreet that wrote it, or a newer one."
        )
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if {row[0] for row in rows} != set(_TABLES[form]):
        raise LedgerDamaged(
            "The ledger is damaged: its tables or the triggers that keep it append-only were "
            "changed. Nothing is answered; restore it from a copy that verifies."
        )


def _loss_plus(first: str, second: str) -> str:
    total = plus(loss_from_json(json.loads(first)), loss_from_json(json.loads(second)))
    return canonical(loss_to_json(total))


def _loss_fits(spent: str, held: str, cost: str, cap: str) -> int:
    first, second, third, limit = (
        loss_from_json(json.loads(text)) for text in (spent, held, cost, cap)
    )
    return int(fits(plus(plus(first, second), third), limit))


_WORDS = {
    sqlite3.SQLITE_FULL: "the disk is full. Free some space and ask again",
    sqlite3.SQLITE_READONLY: "it may only be read. Give this account the right to write there",
    sqlite3.SQLITE_BUSY: "another program keeps it locked. Close that program and ask again",
    sqlite3.SQLITE_LOCKED: "another program keeps it locked. Close that program and ask again",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened. Check that the folder exists and may be written",
    sqlite3.SQLITE_PERM: "it may only be read. Give this account the right to write there",
    sqlite3.SQLITE_IOERR: "the disk reports an error. Check the disk, then ask again",
    sqlite3.SQLITE_NOMEM: "there is not enough memory. Ask again later",
    sqlite3.SQLITE_INTERRUPT: "the work was interrupted. Ask again",
}
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@contextmanager
def in_words(what: str) -> Iterator[None]:
    """Turn errors of SQLite and of the system into one sentence; nothing was answered."""
    try:
        yield
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise _damaged(what) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        code = None if code is None else code & 0xFF
        if code in _DAMAGE or "decode" in str(error):
            raise _damaged(what) from error
        reason = _WORDS.get(code or -1, "the database refused the work. Run the verification")
        raise StoreError(f"{what} could not be used: {reason}. Nothing was answered.") from error
    except OSError as error:
        reason = error.strerror or "the system refused"
        raise StoreError(
            f"{what} could not be used: {reason.lower()}. Nothing was answered. "
            "Check disk space and rights, then ask again."
        ) from error


def _damaged(what: str) -> LedgerDamaged:
    return LedgerDamaged(
        f"{what} is damaged: it is not a whole SQLite file any more. Nothing is "
        "answered; restore it from a copy that verifies."
    )
