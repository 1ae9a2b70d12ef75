"""SQLite files: how they are opened, read and written, the tables of a ledger, errors in words.

Amounts are exact fractions as text, added and compared by two functions given to SQLite, so that
the guard on a budget is one statement (`UPDATE … WHERE loss_fits(…)`) and three times 1/3 is 1.
Whole multiples of a fixed unit would have been smaller and faster, and would have refused that.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from ..core.loss import loss_from_json, loss_to_json
from ..durable import make_folder, own_file
from ..errors import LedgerDamaged, StoreError
from .chain import canonical, damaged

T = TypeVar("T")
FORM = 3
OLDEST_FORM = 1
OLD_FORMS = (OLDEST_FORM, 2)
"""What `ledger_upgrade` reads; the first is that of version 0.1."""
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


def connect(path: Path, *, create: bool = False, synchronous: str = "FULL") -> sqlite3.Connection:
    """A connection in autocommit: transactions are begun and ended by name only.

    A file made here is its owner's; SQLite gives the files beside it the same mode.
    """
    if create:
        own_file(path)
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


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A transaction that writes, durable when the block ends well and gone when it does not."""
    try:
        connection.execute("BEGIN IMMEDIATE")  # may fail and leave a transaction open
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


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


def _loss_plus(first: str, second: str) -> str:
    total = loss_from_json(json.loads(first)) + loss_from_json(json.loads(second))
    return canonical(loss_to_json(total))


def _loss_fits(spent: str, held: str, cost: str, cap: str) -> int:
    first, second, third, limit = (
        loss_from_json(json.loads(text)) for text in (spent, held, cost, cap)
    )
    return int((first + second + third).fits(limit))


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
_TORN = "it is not a whole SQLite file any more"
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@contextmanager
def in_words(what: str) -> Iterator[None]:
    """Turn errors of SQLite and of the system into one sentence; nothing was answered."""
    try:
        yield
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise damaged(_TORN, what) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        code = None if code is None else code & 0xFF
        if code in _DAMAGE or "decode" in str(error):
            raise damaged(_TORN, what) from error
        reason = _WORDS.get(code or -1, "the database refused the work. Run the verification")
        raise StoreError(f"{what} could not be used: {reason}. Nothing was answered.") from error
    except OSError as error:
        reason = error.strerror or "the system refused"
        raise StoreError(
            f"{what} could not be used: {reason.lower()}. Nothing was answered. "
            "Check disk space and rights, then ask again."
        ) from error


class Database:
    """A file of tables with one connection to read and one to write; may be shared by threads.

    Tables are made where they are missing; `later` are columns that earlier files lack.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        tables: str,
        *,
        later: tuple[str, ...] = (),
        synchronous: str = "FULL",
    ) -> None:
        self._name = name
        self._reading_lock, self._writing_lock = threading.Lock(), threading.Lock()
        with in_words(name):
            make_folder(path.parent)
            self._writing = connect(path, create=True, synchronous=synchronous)
            try:
                self._make_tables(tables)
                for column in later:
                    _add_column(self._writing, column)
            except BaseException:
                self._writing.close()
                raise
            self._reading = connect(path)

    def _make_tables(self, tables: str) -> None:
        self._writing.executescript(tables)

    def close(self) -> None:
        """Let go of the file."""
        with self._reading_lock, self._writing_lock:
            self._reading.close()
            self._writing.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection to read with."""
        with self._reading_lock, in_words(self._name):
            yield self._reading

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of one SELECT."""
        with self.reading() as connection:
            return connection.execute(sql, values).fetchall()

    def records(self, kind: type[T], table: str, rest: str, *values: object) -> list[T]:
        """Rows of a table as dataclasses; their fields are columns of it."""
        columns = ", ".join(field.name for field in fields(kind))  # type: ignore[arg-type]
        # names of our own classes and tables, never of a request
        rows = self.rows(f"SELECT {columns} FROM {table} {rest}", *values)  # nosec B608
        return [_record(kind, row) for row in rows]

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, durable when the block ends well."""
        with self._writing_lock, in_words(self._name), transaction(self._writing) as connection:
            yield connection

    def execute(self, sql: str, *values: object) -> int:
        """One statement in a transaction of its own; how many rows it changed."""
        with self.writing() as connection:
            return connection.execute(sql, values).rowcount

    def insert(self, table: str, record: Any) -> None:
        """Add a dataclass whose fields are all columns of a table, in order; mappings become JSON."""
        with self.writing() as connection:
            self.add(connection, table, record)

    @staticmethod
    def add(connection: sqlite3.Connection, table: str, record: Any) -> None:
        """The same, inside a transaction of the caller's."""
        row = [_stored(getattr(record, field.name)) for field in fields(record)]
        marks = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)  # nosec B608

    def change(self, sql: str, *values: object) -> int:
        """One statement whose values may be mappings, which become JSON."""
        return self.execute(sql, *map(_stored, values))


def _stored(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else value


def _record(kind: type[T], row: tuple[Any, ...]) -> T:
    """A row as a dataclass: mappings and tuples are stored as JSON, yes and no as 1 and 0."""
    readers: dict[str, Callable[[Any], Any]] = {
        "Mapping": json.loads,
        "tuple": lambda text: tuple(json.loads(text)),
        "bool": bool,
    }
    values = []
    for field, value in zip(fields(kind), row, strict=True):  # type: ignore[arg-type]
        reader = readers.get(str(field.type).partition("[")[0])
        values.append(reader(value) if reader else value)
    return kind(*values)


def _add_column(connection: sqlite3.Connection, statement: str) -> None:
    """Bring a file of an earlier layout up to date; one that has the column stays as it is."""
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as error:
        if "duplicate column" not in str(error):
            raise
