"""The file of a workspace's server: accounts, kept questions, releases, proposals, policies.

One file for all tables, and beside it the key with which tokens and sessions are digested.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from ..errors import StoreError
from ..file_names import ACCOUNTS, ACCOUNTS_KEY
from .place import place_of
from .sqlite.database import Database, in_words
from .tables import Tables

NAME = "The list of accounts"
FORM = 2
"""Marked in the file; version 0.1 marked nothing."""

TABLES = """
CREATE TABLE IF NOT EXISTS users (name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT,
    created REAL NOT NULL, revoked REAL, made_by TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE IF NOT EXISTS tokens (id TEXT PRIMARY KEY, user TEXT NOT NULL, digest BLOB NOT NULL,
    label TEXT NOT NULL, scopes TEXT NOT NULL, created REAL NOT NULL, expires REAL NOT NULL,
    revoked REAL, made_with TEXT) STRICT;
CREATE TABLE IF NOT EXISTS sessions (digest BLOB PRIMARY KEY, user TEXT NOT NULL,
    created REAL NOT NULL, seen REAL NOT NULL, expires REAL NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS requests (user TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL,
    at REAL NOT NULL, PRIMARY KEY (user, key)) STRICT;
CREATE TABLE IF NOT EXISTS saved (id TEXT PRIMARY KEY, owner TEXT NOT NULL, dataset TEXT NOT NULL,
    title TEXT NOT NULL, recipe TEXT NOT NULL, shared INTEGER NOT NULL, created REAL NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS releases (id TEXT PRIMARY KEY, dataset TEXT NOT NULL,
    title TEXT NOT NULL, recipe TEXT NOT NULL, question TEXT NOT NULL, guarantee TEXT NOT NULL,
    files TEXT NOT NULL, by TEXT NOT NULL, created REAL NOT NULL, publish_at REAL NOT NULL,
    supersedes TEXT UNIQUE, withdrawn_at REAL, withdrawn_by TEXT, withdrawn_reason TEXT,
    holds TEXT NOT NULL DEFAULT '', ready REAL DEFAULT 0, approved_at REAL DEFAULT 0,
    approved_by TEXT NOT NULL DEFAULT '', approved_reason TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE IF NOT EXISTS proposals (id TEXT PRIMARY KEY, dataset TEXT NOT NULL,
    change TEXT NOT NULL, reason TEXT NOT NULL, by TEXT NOT NULL, created REAL NOT NULL,
    state TEXT NOT NULL, decided_by TEXT, decided_at REAL, note TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS refused (question TEXT NOT NULL, dataset TEXT NOT NULL,
    rule TEXT NOT NULL, recipe TEXT NOT NULL, times INTEGER NOT NULL, first REAL NOT NULL,
    last REAL NOT NULL, PRIMARY KEY (question, dataset, rule)) STRICT;
CREATE TABLE IF NOT EXISTS custodian_requests (id TEXT PRIMARY KEY, dataset TEXT NOT NULL,
    recipe TEXT NOT NULL, words TEXT NOT NULL, by TEXT NOT NULL, created REAL NOT NULL,
    answer TEXT NOT NULL, answered_by TEXT NOT NULL, answered_at REAL) STRICT;
CREATE TABLE IF NOT EXISTS policy_log (seq INTEGER PRIMARY KEY, dataset TEXT NOT NULL,
    version TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL, note TEXT NOT NULL) STRICT;
"""
INDEXES = (
    "CREATE INDEX IF NOT EXISTS releases_by_question ON releases (dataset, question)",
    "CREATE INDEX IF NOT EXISTS releases_by_time ON releases (dataset, publish_at)",
    "CREATE INDEX IF NOT EXISTS releases_undecided ON releases (dataset) "
    "WHERE withdrawn_at IS NOT NULL OR ready IS NULL OR approved_at IS NULL",
)
_LATER = (
    "ALTER TABLE releases ADD COLUMN holds TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE releases ADD COLUMN ready REAL DEFAULT 0",
    "ALTER TABLE releases ADD COLUMN approved_at REAL DEFAULT 0",
    "ALTER TABLE releases ADD COLUMN approved_by TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE releases ADD COLUMN approved_reason TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE users ADD COLUMN made_by TEXT NOT NULL DEFAULT ''",
    *INDEXES,
)


class WorkspaceFile(Database):
    """The tables of a workspace's server, in a file of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(folder / ACCOUNTS, NAME, TABLES, later=_LATER)

    def _make_tables(self, tables: str) -> None:
        with self.writing() as connection:
            if is_old(connection):
                raise StoreError(
                    "The accounts of this workspace are of an older version of discreet. Stop its "
                    f"server and run `discreet upgrade {self.folder}`, which keeps a copy."
                )
            for statement in tables.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {FORM}")


class WorkspaceDatabase:
    """The tables of a workspace's server, in its file or where hosts share them, and the key beside.

    Hosts that share tables must hold the same key: tokens and addresses are digested with it.
    """

    def __init__(self, folder: str | Path, clock: Callable[[], float] | None = None) -> None:
        self.folder = Path(folder)
        place = place_of(self.folder)
        self.tables: Tables
        if place is None:
            self.tables = WorkspaceFile(self.folder)
        else:
            from .postgres.database import PostgresDatabase

            self.tables = PostgresDatabase(place, NAME, "accounts")
        self.clock = clock or self.tables.clock
        self.close, self.writing = self.tables.close, self.tables.writing
        self.rows, self.records = self.tables.rows, self.tables.records
        self.one_or_all = self.tables.one_or_all
        self.execute, self.change = self.tables.execute, self.tables.change
        self.insert, self.add = self.tables.insert, self.tables.add
        try:
            with in_words(NAME):
                if place is not None:
                    self._same_key_everywhere()
                self._key = _key(self.folder / ACCOUNTS_KEY)
        except BaseException:
            self.close()
            raise

    def _same_key_everywhere(self) -> None:
        """Hosts digest tokens and addresses with one key, which each is given; the first one draws it."""
        from .shared_notes import notes_of

        notes, path = notes_of(self.folder), self.folder / ACCOUNTS_KEY
        assert notes is not None
        known = notes.get("", ACCOUNTS_KEY)
        wrong = f"Copy {ACCOUNTS_KEY} from the host that was set up first, with its mode."
        if known is not None and not path.exists():
            raise StoreError(f"{path} is missing: hosts that share accounts hold one key. {wrong}")
        own = hashlib.blake2b(key=_key(path), digest_size=32, person=b"same everywhere").hexdigest()
        if known is None and notes.put("", ACCOUNTS_KEY, own, None):
            return
        if (known or notes.get("", ACCOUNTS_KEY)) != own:
            raise StoreError(f"{path} is another key than the other hosts hold. {wrong}")

    def keyed(self, purpose: str, *parts: str | bytes) -> bytes:
        """A keyed digest: the same in every process of this workspace, unguessable outside."""
        digest = hashlib.blake2b(key=self._key, digest_size=32, person=purpose.encode()[:16])
        for part in parts:
            data = part.encode() if isinstance(part, str) else part
            digest.update(len(data).to_bytes(8, "little") + data)
        return digest.digest()


def is_old(connection: sqlite3.Connection) -> bool:
    """Whether the file was written by version 0.1, which left no mark."""
    form = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return bool(form == 0 and tables > 0)


def _key(path: Path) -> bytes:
    """The workspace's key for digests of tokens; made once, readable by its owner only."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        for _ in range(100):
            key = path.read_bytes()
            if len(key) == 32:
                return key
            time.sleep(0.02)  # another process is writing it at this moment
        raise StoreError(
            f"{path.name} is damaged: it must hold 32 bytes. Restore it from a copy, or remove it "
            "and give everybody new tokens."
        ) from None
    key = secrets.token_bytes(32)
    with os.fdopen(handle, "wb") as stream:
        stream.write(key)
        stream.flush()
        os.fsync(stream.fileno())
    return key
