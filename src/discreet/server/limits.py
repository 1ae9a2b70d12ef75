"""Limits: how often somebody may ask, and how many tables are made at once."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..store.workspace_database import WorkspaceDatabase
from .problems import Problem

_MOST_ASKERS = 100_000


@dataclass(frozen=True)
class Allowance:
    """What a bucket says after a request: let through or not, and what to tell the client."""

    allowed: bool
    limit: int
    left: int
    wait_seconds: int

    def headers(self) -> dict[str, str]:
        """As the RateLimit headers say it."""
        headers = {
            "RateLimit": f'"default";r={self.left};t={self.wait_seconds}',
            "RateLimit-Policy": f'"default";q={self.limit};w=60',
        }
        if not self.allowed:
            headers["Retry-After"] = str(self.wait_seconds)
        return headers


class Buckets:
    """A bucket for each asker, refilled evenly over a minute; the longest unused is forgotten."""

    def __init__(
        self, per_minute: int, workers: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit = max(1, per_minute // workers)
        self._clock = clock
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, asker: str) -> Allowance:
        """One request of this asker."""
        now = self._clock()
        with self._lock:
            level, allowed = _refilled(self._left.pop(asker, None), now, self.limit)
            self._left[asker] = (level, now)
            if len(self._left) > _MOST_ASKERS:
                self._left.popitem(last=False)
        return _allowance(allowed, level, self.limit)


class SharedBuckets:
    """The same, counted in the database that hosts share; who asks is stored as a keyed digest."""

    def __init__(self, database: WorkspaceDatabase, name: str, per_minute: int) -> None:
        self.limit = max(1, per_minute)
        self._name, self._database = name, database

    def take(self, asker: str) -> Allowance:
        """One request of this asker, on whichever host."""
        key = self._database.keyed("bucket", self._name, asker).hex()
        with self._database.writing() as statements:
            now = self._database.clock()
            statements.execute("DELETE FROM buckets WHERE at < ?", (now - 120.0,))
            sql = "SELECT level, at FROM buckets WHERE name = ?"
            row = statements.execute(sql, (key,)).fetchone()
            level, allowed = _refilled(row, now, self.limit)
            if row is None:
                statements.execute("INSERT INTO buckets VALUES (?, ?, ?)", (key, level, now))
            else:
                change = "UPDATE buckets SET level = ?, at = ? WHERE name = ?"
                statements.execute(change, (level, now, key))
        return _allowance(allowed, level, self.limit)


def _refilled(before: tuple[float, float] | None, now: float, limit: int) -> tuple[float, bool]:
    """What a bucket holds after one more request, and whether that was let through."""
    level, at = before or (float(limit), now)
    level = min(float(limit), level + max(0.0, now - at) * limit / 60)
    allowed = level >= 1
    return level - allowed, allowed


def _allowance(allowed: bool, level: float, limit: int) -> Allowance:
    wait = 0 if allowed and level >= 1 else max(1, round((1 - level) / (limit / 60) + 0.5))
    return Allowance(allowed, limit, int(level), wait)


class Slots:
    """A fixed number of tables at once, and of requests waiting for their turn."""

    def __init__(self, at_once: int, waiting: int, seconds: float = 10.0) -> None:
        self._slots = threading.BoundedSemaphore(at_once)
        self._places = threading.BoundedSemaphore(at_once + waiting)
        self._seconds = seconds

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold a slot for the block, or raise 503 at once or after waiting."""
        if not self._places.acquire(blocking=False):
            raise _busy()
        try:
            if not self._slots.acquire(timeout=self._seconds):
                raise _busy()
            try:
                yield
            finally:
                self._slots.release()
        finally:
            self._places.release()


def _busy() -> Problem:
    return Problem(
        503,
        "busy",
        "Too many tables are being made at this moment. Ask again in a few seconds.",
        headers={"Retry-After": "3"},
    )
