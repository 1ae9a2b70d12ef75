"""SQLite files: how they are opened, read and written; errors in words."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...durable import make_folder, own_file
from ...errors import StoreError
from ..chain import damaged
from ..tables import Tables

BUSY_SECONDS = 10.0


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


class Database(Tables):
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

    def clock(self) -> float:
        """This machine's time."""
        return time.time()

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

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, durable when the block ends well."""
        with self._writing_lock, in_words(self._name), transaction(self._writing) as connection:
            yield connection

    def execute(self, sql: str, *values: object) -> int:
        """One statement in a transaction of its own; how many rows it changed."""
        with self.writing() as connection:
            return connection.execute(sql, values).rowcount


def _add_column(connection: sqlite3.Connection, statement: str) -> None:
    """Bring a file of an earlier layout up to date; one that has the column stays as it is."""
    try:
        connection.execute(statement)
    except sqlite3.OperationalError as error:
        if "duplicate column" not in str(error):
            raise
