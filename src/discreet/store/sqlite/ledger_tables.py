"""The tables of a ledger in SQLite, in every form there was, and how one is told from another."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from ...errors import LedgerDamaged, StoreError
from ..chain import damaged

FORM = 3
OLDEST_FORM = 1
OLD_FORMS = (OLDEST_FORM, 2)
"""What `ledger_upgrade` reads; the first is that of version 0.1."""


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
_CARRIED = (
    """CREATE TABLE carried (
    answer TEXT PRIMARY KEY,
    question TEXT NOT NULL,
    form TEXT NOT NULL
) STRICT""",
    "CREATE INDEX carried_question ON carried (question)",
    *_only_added_to("carried"),
)
"""Answers charged under another name: the name they are asked by now, and the question's form."""
_QUESTIONS = (
    "ALTER TABLE log ADD COLUMN question TEXT",
    "CREATE UNIQUE INDEX log_question ON log (question)",
)
"""What each charge of the log is for. A question is charged once even where the index of `answers` is
damaged; and a process of an older version that had the ledger open while it was upgraded cannot go
on: its rows lack a column."""
_STATEMENTS = (*_FORM_1, *_CARRIED, *_QUESTIONS)
_LOG = _FORM_1[0].replace("\n) STRICT", "\n, question TEXT) STRICT")  # as SQLite writes it then
_TABLES = {
    OLDEST_FORM: _FORM_1,
    2: (*_FORM_1, *_CARRIED),
    FORM: (_LOG, *_FORM_1[1:], *_CARRIED, _QUESTIONS[1]),
}


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables, inside the caller's transaction."""
    _execute(connection, _STATEMENTS)


def upgrade_tables(connection: sqlite3.Connection, questions: Mapping[int, str]) -> None:
    """Make what an older form lacks, inside the caller's transaction; `questions` by their entry."""
    _execute(connection, _STATEMENTS[len(_TABLES[form_of(connection)]) :])
    guard = next(one for one in _FORM_1 if one.startswith("CREATE TRIGGER log_UPDATE"))
    connection.execute("DROP TRIGGER log_UPDATE")
    rows = [(question, seq) for seq, question in questions.items()]
    connection.executemany("UPDATE log SET question = ? WHERE seq = ?", rows)
    connection.execute(guard)


def _execute(connection: sqlite3.Connection, statements: tuple[str, ...]) -> None:
    for statement in statements:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORM}")


def form_of(connection: sqlite3.Connection) -> int:
    """The form a ledger is stored in; 0 for an empty file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_tables(
    connection: sqlite3.Connection, expected: int = FORM, name: str = "The ledger"
) -> None:
    """Tables and triggers must be those of this form: a dropped trigger is damage."""
    form = form_of(connection)
    if form in OLD_FORMS and form < expected:
        where = Path(connection.execute("PRAGMA database_list").fetchone()[2]).parent
        raise StoreError(
            f"The ledger of {where.name} is of an older version of discreet. Run "
            f"`discreet upgrade {where.parent}`, which keeps a copy."
        )
    if form != expected:
        raise LedgerDamaged(
            f"{name} is stored in form {form}, this version reads form {FORM}. "
            "Use the version of discreet that wrote it, or a newer one."
        )
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if {row[0] for row in rows} != set(_TABLES[form]):
        raise damaged("its tables or the triggers that keep it append-only were changed", name)
