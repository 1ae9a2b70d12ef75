"""Long work as rows: a lease, a heartbeat, progress and a request to stop.

A worker claims a job for some seconds and says now and then that it lives. A job whose worker died
becomes claimable again when its lease runs out, and is done over: a drawn release is safe to do
over, because its question is charged once (`ledger.py`).

A job that will spend holds its budget from the moment it is accepted, so that it cannot be gone
when its turn comes. Who accepts it takes the hold first and names it in `create(hold=…)`. While it
waits, idle workers renew it (`unended()`). Who does it calls
`ledger.hold(charges, again=job.hold)` once claimed, `ledger.renew(job.hold)` with each heartbeat
and `commit(…, hold=job.hold)`; whoever ends it otherwise (failed, cancelled, answered by somebody
else meanwhile) calls `ledger.lapse(job.hold)`. Nobody cleans up after a crash: a hold that nobody
renews lapses.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError, StoreError
from ..file_names import JOBS
from .base import Held, Hold, Job
from .chain import canonical
from .place import place_of
from .sqlite.database import Database
from .tables import Tables

TABLES = (
    "CREATE TABLE IF NOT EXISTS jobs (id TEXT PRIMARY KEY, kind TEXT NOT NULL, "
    "state TEXT NOT NULL, request TEXT NOT NULL, user TEXT NOT NULL, "
    "created REAL NOT NULL, lease_until REAL NOT NULL, heartbeat REAL NOT NULL, "
    "share REAL NOT NULL, doing TEXT NOT NULL, cancel_requested INTEGER NOT NULL, "
    "result TEXT, error TEXT, attempts INTEGER NOT NULL, lease TEXT, hold TEXT) STRICT;"
    "CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, created);"
    "CREATE INDEX IF NOT EXISTS jobs_by_user ON jobs (user, created);"
)
_NAME = "The list of jobs"
_NEWEST_FIRST = "ORDER BY created DESC, rowid DESC"
_ALL = 2**62
_MINE = " WHERE id = ? AND lease = ? AND state = 'running'"


class LeaseLost(StoreError):
    """The job is no longer this worker's: it was too long silent, or the job has ended."""


class Jobs:
    """The jobs of a data set; may be shared by threads and processes."""

    def __init__(self, folder: str | Path, *, clock: Callable[[], float] | None = None) -> None:
        place = place_of(Path(folder))
        self._database: Tables
        if place is None:
            later = ("ALTER TABLE jobs ADD COLUMN hold TEXT",)
            self._database = Database(Path(folder) / JOBS, _NAME, TABLES, later=later)
        else:
            from .postgres.database import PostgresDatabase

            self._database = PostgresDatabase(place, _NAME, "jobs")
        self._clock = clock or self._database.clock

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def create(
        self, kind: str, request: Mapping[str, Any], *, user: str = "", hold: Held = None
    ) -> Job:
        """A new job that waits for a worker; `hold` is the budget it will spend."""
        held = hold.id if isinstance(hold, Hold) else hold
        identity, now = secrets.token_hex(12), self._clock()
        self._database.execute(
            "INSERT INTO jobs VALUES (?, ?, 'waiting', ?, ?, ?, 0, 0, 0, '', 0, NULL, NULL, 0, "
            "NULL, ?)",
            *(identity, kind, canonical(request), user, now, held),
        )
        return self.get(identity)

    def get(self, identity: str) -> Job:
        """One job by its id."""
        jobs = self._database.records(Job, "jobs", "WHERE id = ?", identity)
        if not jobs:
            raise InputError(f"There is no job {identity[:40]}. List the jobs to see their ids.")
        return jobs[0]

    def unended(self, *, user: str | None = None) -> list[Job]:
        """Jobs that wait or run, newest first."""
        chosen = "WHERE state IN ('waiting', 'running') AND (?1 IS NULL OR user = ?1) "
        return self._database.records(Job, "jobs", chosen + _NEWEST_FIRST, user)

    def asking(self, question: str, *, user: str) -> list[Job]:
        """The jobs of a user whose request names this question, newest first."""
        chosen = "WHERE user = ? AND json_extract(request, '$.question') = ? "
        return self._database.records(Job, "jobs", chosen + _NEWEST_FIRST, user, question)

    def list(
        self, *, user: str | None = None, before: str | None = None, most: int | None = None
    ) -> list[Job]:
        """Jobs, newest first; `before` is the id of the last one seen."""
        after = (
            "(?2 IS NULL OR (created, rowid) < (SELECT created, rowid FROM jobs WHERE id = ?2)) "
        )
        whose = "WHERE ?1 IS NULL AND " if user is None else "WHERE user = ?1 AND "
        limit = _NEWEST_FIRST + " LIMIT ?3"
        values = (user, before, _ALL if most is None else most)
        return self._database.records(Job, "jobs", whose + after + limit, *values)

    def forget(self, *, before: float) -> int:
        """Delete jobs that ended, and were made and last heard of before a moment; how many."""
        return self._database.execute(
            "DELETE FROM jobs WHERE state IN ('done', 'failed', 'cancelled') "
            "AND created < ?1 AND heartbeat < ?1",
            before,
        )

    def remove(self, kind: str, draft: str) -> None:
        """Delete the rows of all that was done for a draft which is no longer there."""
        which = "DELETE FROM jobs WHERE kind = ? AND json_extract(request, '$.draft') = ?"
        self._database.execute(which, kind, draft)

    def claim(
        self,
        *,
        kind: str | None = None,
        seconds: float = 60.0,
        drafts: Collection[str] | None = None,
    ) -> tuple[Job, str] | None:
        """The oldest job that waits, or whose worker fell silent, and a lease on it; else None.

        With `drafts` only one for these: what lies on one host another cannot work on.
        """
        lease, now = secrets.token_hex(12), self._clock()
        with self._database.writing() as connection:
            rows = connection.execute(
                "SELECT id, request FROM jobs WHERE (:kind IS NULL OR kind = :kind) AND "
                "cancel_requested = 0 AND "
                "(state = 'waiting' OR (state = 'running' AND lease_until <= :now)) "
                "ORDER BY created, rowid LIMIT :most",
                {"kind": kind, "now": now, "most": 1 if drafts is None else _ALL},
            ).fetchall()
            if drafts is not None:
                rows = [row for row in rows if json.loads(row[1]).get("draft") in drafts]
            row = next(iter(rows), None)
            if row is None:
                return None
            connection.execute(
                "UPDATE jobs SET state = 'running', lease = ?, lease_until = ?, heartbeat = ?, "
                "share = 0, doing = '', attempts = attempts + 1 WHERE id = ?",
                (lease, now + seconds, now, row[0]),
            )
        return self.get(row[0]), lease

    def end_cancelled(self) -> tuple[Job, ...]:
        """End jobs that were asked to stop and whose worker is gone; who ends one gives up its hold."""
        silent = "WHERE cancel_requested = 1 AND state = 'running' AND lease_until <= ?"
        jobs, now = self._database.records(Job, "jobs", silent, self._clock()), self._clock()
        end = (
            "UPDATE jobs SET state = 'cancelled', lease = NULL WHERE cancel_requested = 1 "
            "AND state = 'running' AND lease_until <= ? AND id = ?"
        )
        return tuple(job for job in jobs if self._database.execute(end, now, job.id))

    def ended_holding(self) -> tuple[Job, ...]:
        """Jobs that ended while what they held was not given up: who ended them died in between."""
        ended = "WHERE hold IS NOT NULL AND state IN ('done', 'failed', 'cancelled') "
        return tuple(self._database.records(Job, "jobs", ended + _NEWEST_FIRST))

    def let_go(self, identity: str) -> None:
        """Note that an ended job holds nothing any more."""
        self._database.execute("UPDATE jobs SET hold = NULL WHERE id = ?", identity)

    def heartbeat(self, identity: str, lease: str, *, seconds: float = 60.0) -> bool:
        """Say that the worker lives; returns whether it was asked to stop."""
        now = self._clock()
        change = "UPDATE jobs SET lease_until = ?, heartbeat = ?"
        return self._mine(identity, lease, change, now + seconds, now).cancel_requested

    def progress(
        self, identity: str, lease: str, share: float, doing: str, *, seconds: float = 60.0
    ) -> bool:
        """Say how far the work is (0 … 1), which is a heartbeat too."""
        now, done = self._clock(), min(max(float(share), 0.0), 1.0)
        change = "UPDATE jobs SET share = ?, doing = ?, lease_until = ?, heartbeat = ?"
        job = self._mine(identity, lease, change, done, doing, now + seconds, now)
        return job.cancel_requested

    def request_cancel(self, identity: str) -> Job:
        """Ask a job to stop; one that still waits stops at once."""
        self._database.execute(
            "UPDATE jobs SET cancel_requested = 1, "
            "state = CASE state WHEN 'waiting' THEN 'cancelled' ELSE state END "
            "WHERE id = ? AND state IN ('waiting', 'running')",
            identity,
        )
        return self.get(identity)

    def finish(self, identity: str, lease: str, result: str) -> Job:
        """The job is done; `result` says where its result lies."""
        change = "UPDATE jobs SET state = 'done', share = 1, lease = NULL, result = ?"
        return self._mine(identity, lease, change, result)

    def fail(self, identity: str, lease: str, error: str) -> Job:
        """The job ended with an error, said in one sentence."""
        change = "UPDATE jobs SET state = 'failed', lease = NULL, error = ?"
        return self._mine(identity, lease, change, error)

    def cancelled(self, identity: str, lease: str) -> Job:
        """The worker stopped as it was asked to."""
        return self._mine(identity, lease, "UPDATE jobs SET state = 'cancelled', lease = NULL")

    def _mine(self, identity: str, lease: str, change: str, *values: object) -> Job:
        """The job, changed by the worker that holds its lease."""
        if self._database.execute(change + _MINE, *values, identity, lease) != 1:
            raise LeaseLost(
                f"Job {identity[:40]} is no longer this worker's. Stop working on it; another "
                "worker has it or it has ended."
            )
        return self.get(identity)
