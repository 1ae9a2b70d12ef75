"""A bounded cache of results that keyed methods can recompute at will; safe to delete.

Nothing here is ever charged. A cache that cannot be read or written is a slow cache, not an error.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..durable import OWN_FOLDER, own_file
from ..file_names import CACHE
from .chain import digest


class Results:
    """Results by question hash, the least recently used going first beyond `most_bytes`."""

    def __init__(self, folder: str | Path, *, most_bytes: int = 256_000_000) -> None:
        self.most_bytes = most_bytes
        self._path = Path(folder) / CACHE
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._ticks = time.time_ns
        self._grown = most_bytes  # other processes may have filled it: look at the first put

    def get(self, question: str) -> bytes | None:
        """The stored bytes, or None; bytes that do not match their digest are dropped."""
        with self._lock, self._tried():
            connection = self._open()
            row = connection.execute(
                "SELECT digest, result FROM results WHERE question = ?", (question,)
            ).fetchone()
            if row is not None and digest(row[1]) == row[0]:
                connection.execute(
                    "UPDATE results SET used = ? WHERE question = ?", (self._ticks(), question)
                )
                return bytes(row[1])
            if row is not None:
                connection.execute("DELETE FROM results WHERE question = ?", (question,))
        return None

    def put(self, question: str, result: bytes) -> None:
        """Keep `result` while there is room; one larger than the whole cache is not kept."""
        if len(result) > self.most_bytes:
            return
        with self._lock, self._tried():
            connection = self._open()
            connection.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?)",
                (question, digest(result), len(result), self._ticks(), result),
            )
            self._grown += len(result)
            if self._grown * 20 > self.most_bytes:  # look at the whole cache now and then
                self._shrink(connection)
                self._grown = 0

    def drop(self, questions: Sequence[str]) -> None:
        """Forget these."""
        with self._lock, self._tried():
            self._open().executemany(
                "DELETE FROM results WHERE question = ?", [(one,) for one in questions]
            )

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._close()

    @contextmanager
    def _tried(self) -> Iterator[None]:
        """What the cache cannot do is left undone."""
        try:
            yield
        except (sqlite3.Error, OSError):
            self._forget()

    def _shrink(self, connection: sqlite3.Connection) -> None:
        """Make room for a twentieth of the cache: what may be added before the next look."""
        room = self.most_bytes - self.most_bytes // 20
        connection.execute(
            "DELETE FROM results WHERE question IN (SELECT question FROM (SELECT question, "
            "sum(size) OVER (ORDER BY used DESC, rowid DESC) AS younger FROM results) "
            "WHERE younger > ?)",
            (room,),
        )

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and not self._path.exists():
            self._close()  # somebody deleted the cache, which is allowed
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=OWN_FOLDER)
            own_file(self._path)
            connection = sqlite3.connect(
                self._path, timeout=5.0, isolation_level=None, check_same_thread=False
            )
            self._connection = connection
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS results (question TEXT PRIMARY KEY, "
                "digest TEXT NOT NULL, size INTEGER NOT NULL, used INTEGER NOT NULL, "
                "result BLOB NOT NULL) STRICT"
            )
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _forget(self) -> None:
        """After an error: drop the connection, and the file where it is not a database."""
        broken = False
        if self._connection is not None:
            try:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._connection.execute("SELECT count(*) FROM results").fetchone()
            except sqlite3.DatabaseError as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                broken = code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
            self._close()
        if broken:
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
