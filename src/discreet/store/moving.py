"""A workspace of one machine, carried over into a database that hosts share; nothing is lost or new.

Every ledger goes row by row, in one transaction each, with the chain it has: its entries, hashes and
anchors stay what they are. The file it lay in keeps another name and is never charged again. Killed at
any moment, a ledger is in the file or in the database, and moving again completes what is left, of accounts,
jobs and audit log too.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, StoreError
from ..file_names import (
    ACCOUNTS,
    ANCHOR,
    AUDIT,
    DESCRIPTION,
    JOBS,
    LEDGER_LOCK,
    MOVED_STORE,
    STORE,
)
from .anchors import Anchor
from .lock import FairLock
from .measurement_files import MeasurementFiles
from .place import Place, place_of
from .postgres.connection import Connection, NotDurable, about, driver, in_words
from .postgres.dialect import TABLES
from .postgres.ledger_rows import PostgresRows
from .sqlite.database import connect
from .sqlite.ledger import checked_file, reading
from .sqlite.ledger_rows import MOVED, SqliteRows
from .verification import checked

if TYPE_CHECKING:
    import psycopg

_FILES = {ACCOUNTS: tuple(name for name in TABLES if name not in ("jobs", "log")), JOBS: ("jobs",), AUDIT: ("log",)}  # fmt: skip
_MOVED = ".moved"
_NOTE = "INSERT INTO {s}.notes VALUES ('', 'moved', %s) ON CONFLICT (dataset, name) DO UPDATE SET body = EXCLUDED.body"
_COPIES = (
    (
        "SELECT seq, body, hash, question FROM log",
        "INSERT INTO {s}.ledger_log (dataset, seq, body, hash, question) "
        "VALUES (%(d)s, %(v0)s, %(v1)s, %(v2)s, %(v3)s)",
    ),
    (
        "SELECT scope, cap, spent FROM scopes",
        "INSERT INTO {s}.ledger_scopes (dataset, scope, cap, spent) "
        "VALUES (%(d)s, %(v0)s, %(v1)s, %(v2)s)",
    ),
    (
        "SELECT user, key, request, questions FROM requests",
        "INSERT INTO {s}.ledger_requests (dataset, who, key, request, questions) "
        "VALUES (%(d)s, %(v0)s, %(v1)s, %(v2)s, %(v3)s)",
    ),
    (
        "SELECT answer, question, form FROM carried",
        "INSERT INTO {s}.ledger_carried (dataset, answer, question, form) "
        "VALUES (%(d)s, %(v0)s, %(v1)s, %(v2)s)",
    ),
)
"""How rows of a ledger's tables are read here and written there."""


def move(workspace: Path) -> list[str]:
    """Carry everything over; the names of the data sets whose ledgers were moved now."""
    place = place_of(workspace)
    if place is None:
        raise InputError(
            f"{workspace} has no store.yaml, so there is nowhere to move to. Write "
            "`database: postgresql://ROLE@HOST/DATABASE` into it."
        )
    moved = []
    with in_words("The shared database"), closing(Connection(place, "The database")) as opened:
        for folder in sorted(workspace.iterdir()):
            if (folder / DESCRIPTION).is_file() and (folder / STORE).exists():
                moved.append(_move_ledger(opened, place, folder))
        for name, tables in _FILES.items():
            if (workspace / name).exists():
                _move_tables(opened, place.schema, workspace / name, tables)
    return moved


def _move_ledger(opened: Connection, place: Place, folder: Path) -> str:
    connection = opened.get()
    with ExitStack() as stack:
        lock = stack.enter_context(closing(FairLock(folder / LEDGER_LOCK)))
        stack.enter_context(lock)
        file = stack.enter_context(closing(connect(folder / STORE)))
        file.execute("DROP TRIGGER IF EXISTS moved")  # of a move that was killed; nobody writes now
        noted, files = Anchor.read(folder / ANCHOR), MeasurementFiles(folder)
        rows = SqliteRows(file, folder.name, files, lambda: 0.0, f"The ledger of {folder.name}")
        with reading(file):
            end, account = checked_file(rows, noted, None)
            opened.warned = False
            with connection.transaction():
                there = PostgresRows(connection, place.schema, account.dataset, None)
                held = there.run("SELECT ledger FROM {s}.ledger_heads WHERE dataset = %(d)s")
                before = held.fetchone()
                if before is not None and before[0] != account.ledger:
                    raise StoreError(
                        f"The database holds another ledger of {account.dataset}, begun elsewhere. "
                        "Nothing was moved; use another schema in store.yaml."
                    )
                if before is None:
                    _copy_ledger(there, rows, (account.ledger, *end))
                    checked(there, noted, account.dataset)
                elif there.row(end[0]) != end[1]:
                    raise StoreError(
                        f"The ledger of {account.dataset} was charged in its file after it was copied: "
                        "neither alone counts all that was spent. Lower the cap of the one in the "
                        f"database by what the file spent since, then rename {STORE} to {MOVED_STORE}."
                    )
                else:  # written again, so that the commit waits for a standby again
                    there.run("UPDATE {s}.ledger_heads SET seq = seq WHERE dataset = %(d)s")
            if opened.warned:
                raise NotDurable(
                    f"The ledger of {account.dataset}: the server did not wait for its standby. Move "
                    "again once replication works."
                )
        file.execute(f"CREATE TRIGGER moved BEFORE INSERT ON log BEGIN SELECT RAISE(ABORT, '{MOVED}'); END")  # fmt: skip
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (folder / STORE).rename(folder / MOVED_STORE)  # still under the lock
    return account.dataset


def _copy_ledger(there: PostgresRows, rows: SqliteRows, head: tuple[str, int, str]) -> None:
    insert = "INSERT INTO {s}.ledger_heads VALUES (%(d)s, %(l)s, %(n)s, %(h)s)"
    there.run(insert, l=head[0], n=head[1], h=head[2])
    read = rows.connection.execute
    for select, copied in _COPIES:
        for row in read(select).fetchall():
            there.run(copied, **{f"v{number}": value for number, value in enumerate(row)})
    answers = "SELECT question, seq, digest, size, measurements FROM answers ORDER BY seq"
    for question, seq, name, size, content in read(answers):
        there.run(
            "INSERT INTO {s}.ledger_answers VALUES (%(d)s, %(q)s, %(n)s, %(g)s, %(z)s, %(m)b)",
            q=question,
            n=seq,
            g=name,
            z=size,
            m=rows.files.read(name) if content is None else content,
        )


def _move_tables(opened: Connection, schema: str, path: Path, tables: tuple[str, ...]) -> None:
    """Copy the tables of a file into empty ones; the file keeps another name."""
    connection, opened.warned = opened.get(), False
    with closing(connect(path)) as file, connection.transaction():
        for table in tables:
            known = file.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,))
            if known.fetchone() is not None:
                _copy_table(connection, (schema, TABLES[table]), file, table)
        # written also where all was copied before, so that the commit waits for a standby again
        connection.execute(about(schema, _NOTE), (path.name,))
    if opened.warned:
        raise NotDurable(
            f"{path} was copied, and the server did not wait for its standby. Move again once "
            "replication works."
        )
    path.rename(path.with_name(path.name + _MOVED))


def _copy_table(
    connection: psycopg.Connection[Any],
    target: tuple[str, str],
    file: sqlite3.Connection,
    table: str,
) -> None:
    sql = driver().sql
    place = sql.Identifier(*target)
    order = " ORDER BY rowid" if table in ("jobs", "refused", "log", "policy_log") else ""
    # the names of our own tables
    rows = file.execute(f"SELECT * FROM {table}{order}")  # nosec B608
    names = ["who" if column[0] == "user" else column[0] for column in rows.description]
    content = rows.fetchall()
    if not content:
        return
    columns = sql.SQL(", ").join(map(sql.Identifier, names))
    there = connection.execute(sql.SQL("SELECT {} FROM {}").format(columns, place)).fetchall()
    if there and sorted(map(repr, there)) == sorted(map(repr, content)):
        return  # a move that was killed before the file got its other name
    if there:
        raise StoreError(
            "The database has accounts, jobs or an audit log already. Nothing of these was moved; use "
            "another schema in store.yaml, or remove the files of this workspace."
        )
    insert = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        place,
        columns,
        sql.SQL(", ").join([sql.Placeholder()] * len(names)),
    )
    with connection.cursor() as cursor:
        cursor.executemany(insert, content)
    if "seq" in names and table == "policy_log":
        largest = max(row[names.index("seq")] for row in content)
        connection.execute(
            "SELECT setval(pg_get_serial_sequence(%s, 'seq'), %s)",
            (f'"{target[0]}".{target[1]}', largest),
        )
