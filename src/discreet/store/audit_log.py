"""The audit log: one row for each request, only added to, each chained to the one before.

A row says who asked what in which role, and how it ended; never a number of a table. Rows are
written by one thread in groups, and a caller may wait until its row is in the file: an answer
that left is in the log whatever happens to the process. (After a loss of power the last moments
may be missing here; they are in the ledger where anything was charged.)
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import LedgerDamaged, StoreError
from ..file_names import AUDIT
from .chain import canonical
from .place import place_of
from .sqlite.database import Database
from .tables import Tables

FIELDS = frozenset(
    {"request", "user", "role", "via", "ip", "method", "route", "dataset", "question", "rule"}
    | {"status", "cells", "charged", "reason", "event", "milliseconds"}
)
"""All a row may hold."""

_Row = tuple[str, str, str, str]
"""When, of which data set, of whom, and the whole row as text."""
_Waiting = Future[None] | asyncio.Future[None]
"""Whoever waits for a row: a thread, or a task of an event loop."""
_GATHERING = 0.002
"""Seconds in which rows gather for one transaction, while more than one came with the last."""
_NAME = "The audit log"
TABLES = """
CREATE TABLE IF NOT EXISTS log (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, dataset TEXT NOT NULL,
    user TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE TRIGGER IF NOT EXISTS log_update BEFORE UPDATE ON log
BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
CREATE TRIGGER IF NOT EXISTS log_delete BEFORE DELETE ON log
BEGIN SELECT RAISE(ABORT, 'the audit log is only added to'); END;
CREATE INDEX IF NOT EXISTS log_by_dataset ON log (dataset, seq);
CREATE INDEX IF NOT EXISTS log_by_user ON log (user, seq);
"""


class AuditLog:
    """The log of a workspace; shared by threads and processes."""

    def __init__(self, folder: str | Path, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        place = place_of(Path(folder))
        self._database: Tables
        if place is None:
            path = Path(folder) / AUDIT
            self._database = Database(path, _NAME, TABLES, synchronous="NORMAL")
        else:
            from .postgres.database import PostgresDatabase

            self._database = PostgresDatabase(place, _NAME, "audit log")
        self._queue: queue.SimpleQueue[tuple[_Row, _Waiting] | None] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._thread = self._begun()

    def close(self) -> None:
        """Write what waits and let go of the file."""
        self._queue.put(None)
        self._thread.join(timeout=10)
        self._database.close()

    @property
    def alive(self) -> bool:
        """Whether rows are written: every answer waits for its own."""
        return self._thread.is_alive()

    def add(self, row: Mapping[str, Any]) -> Future[None]:
        """Add a row; the future is done when it is in the file."""
        done: Future[None] = Future()
        self._put(row, done)
        return done

    async def added(self, row: Mapping[str, Any]) -> None:
        """Add a row, and go on once it is in the file; a task that ends before leaves its row there.

        All that wait on one event loop for rows of one transaction are told by one call.
        """
        done = asyncio.get_running_loop().create_future()
        self._put(row, done)
        await done

    def _put(self, row: Mapping[str, Any], done: _Waiting) -> None:
        wrong = set(row) - FIELDS
        if wrong:
            raise StoreError(f"The audit log has no field {sorted(wrong)[0]}.")
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
        fields = {name: value for name, value in row.items() if value not in (None, "")}
        told = (at, str(fields.get("dataset", "")), str(fields.get("user", "")))
        self._queue.put(((*told, canonical({"at": at, **fields})), done))
        if not self.alive:
            with self._starting:
                if not self.alive:
                    self._thread = self._begun()

    def page(
        self,
        *,
        before: int | None = None,
        dataset: str = "",
        user: str = "",
        rule: str = "",
        most: int = 100,
    ) -> list[dict[str, Any]]:
        """Rows, newest first, from below the number `before`; `rule` is one that refused."""
        # only what is asked for stands in the statement, so that its index is used
        asked = [
            (condition, value)
            for condition, value in (
                ("seq < ?", before),
                ("dataset = ?", dataset),
                ("user = ?", user),
                ("json_extract(body, '$.rule') = ?", rule),
            )
            if value not in (None, "")
        ]
        chosen = " AND ".join(condition for condition, _ in asked) or "1 = 1"
        # conditions of our own, never of a request: values go beside the statement
        page = f"SELECT seq, body, hash FROM log WHERE {chosen} ORDER BY seq DESC LIMIT ?"  # nosec B608
        rows = self._database.rows(page, *(value for _, value in asked), most)
        return [{"number": seq, **json.loads(body), "hash": stored} for seq, body, stored in rows]

    def refusals(self, *, dataset: str = "", user: str = "") -> list[dict[str, Any]]:
        """How often each rule refused on each data set, the most frequent first."""
        rows = self._database.rows(
            "SELECT json_extract(body, '$.rule') AS rule, dataset, count(*), min(at), max(at) "
            "FROM log WHERE json_extract(body, '$.rule') IS NOT NULL "
            "AND (?1 = '' OR dataset = ?1) AND (?2 = '' OR user = ?2) "
            "GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2",
            *(dataset, user),
        )
        names = ("rule", "dataset", "times", "first", "last")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def verify(self) -> int:
        """Recompute the chain; how many rows there are."""
        head, count = "", 0
        with self._database.reading() as connection:
            for seq, body, stored in connection.execute(
                "SELECT seq, body, hash FROM log ORDER BY seq"
            ).fetchall():
                head = _link(head, body)
                count += 1
                if stored != head or seq != count:
                    raise LedgerDamaged(f"The audit log is damaged: row {seq} was changed.")
        return count

    def _begun(self) -> threading.Thread:
        thread = threading.Thread(target=self._write, name="audit log", daemon=True)
        thread.start()
        return thread

    def _write(self) -> None:
        ended, many = False, False
        while not ended:
            batch = [self._queue.get()]
            if many:
                time.sleep(_GATHERING)  # others are about to come: one transaction for all
            while len(batch) < 500 and not self._queue.empty():
                batch.append(self._queue.get())
            ended = None in batch
            rows = [item for item in batch if item is not None]
            many = len(rows) > 1
            if rows:
                self._commit(rows)

    def _commit(self, rows: list[tuple[_Row, _Waiting]]) -> None:
        """Write rows and tell those who wait for theirs; whoever went away is in the log too."""
        threads = [done for _, done in rows if isinstance(done, Future)]
        threads = [done for done in threads if done.set_running_or_notify_cancel()]
        tasks = [done for _, done in rows if not isinstance(done, Future)]
        failure: Exception | None = None
        try:
            self._insert([row for row, _ in rows])
        except Exception as error:
            failure = error
        _tell(threads, failure)
        for loop in {done.get_loop() for done in tasks}:
            there = [done for done in tasks if done.get_loop() is loop]
            with suppress(RuntimeError):  # the loop has ended: nobody waits there any more
                loop.call_soon_threadsafe(_tell, there, failure)

    def _insert(self, rows: list[_Row]) -> None:
        with self._database.writing() as connection:
            last = connection.execute(
                "SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1"
            ).fetchone()
            seq, head = last or (0, "")
            for at, dataset, user, body in rows:
                seq, head = seq + 1, _link(head, body)
                connection.execute(
                    "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)",
                    (seq, at, dataset, user, body, head),
                )


def _tell(waiting: Iterable[_Waiting], failure: Exception | None) -> None:
    """Let those go on who still wait."""
    for done in waiting:
        if done.done():
            continue
        if failure is None:
            done.set_result(None)
        else:
            done.set_exception(failure)


def _link(head: str, body: str) -> str:
    return hashlib.blake2b(f"{head}\n{body}".encode(), digest_size=32).hexdigest()
