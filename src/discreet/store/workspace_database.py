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
from .database import Database, in_words

NAME = "The list of accounts"
FORM = 2
"""Marked in the file; version 0.1 marked nothing."""

_TABLES = """
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
    holds TEXT NOT NULL DEFAULT '', ready REAL DEFAULT 0) STRICT;
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
_LATER = (
    "ALTER TABLE releases ADD COLUMN holds TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE releases ADD COLUMN ready REAL DEFAULT 0",
    "ALTER TABLE users ADD COLUMN made_by TEXT NOT NULL DEFAULT ''",
)


class WorkspaceDatabase(Database):
    """The file of a workspace's server, and the key beside it."""

    def __init__(self, folder: str | Path, clock: Callable[[], float] = time.time) -> None:
        self.folder = Path(folder)
        self.clock = clock
        super().__init__(self.folder / ACCOUNTS, NAME, _TABLES, later=_LATER)
        with in_words(NAME):
            self._key = _key(self.folder / ACCOUNTS_KEY)

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
