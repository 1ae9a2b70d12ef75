"""Limits: how often somebody may ask, and how many tables are made at once."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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
        now, rate = self._clock(), self.limit / 60
        with self._lock:
            level, at = self._left.pop(asker, (float(self.limit), now))
            level = min(float(self.limit), level + (now - at) * rate)
            allowed = level >= 1
            level -= allowed
            self._left[asker] = (level, now)
            if len(self._left) > _MOST_ASKERS:
                self._left.popitem(last=False)
        wait = 0 if allowed and level >= 1 else max(1, round((1 - level) / rate + 0.5))
        return Allowance(allowed, self.limit, int(level), wait)


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
