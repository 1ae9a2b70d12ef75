"""One writer a process: requests that wait together share one transaction and one sync.

Each request is granted or refused on its own (a rule that refuses changes nothing). Nobody gets an
answer before the transaction is on disk; if it fails, nobody gets one. Between processes of one
machine the fair lock decides whose turn it is; requests are taken from the queue only once it is
held, so that whatever came in while waiting goes along.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..errors import DiscreetError, StoreError
from .ledger_state import LedgerState, Needs
from .lock import FairLock

T = TypeVar("T")
MOST_TOGETHER = 256


class Task(Generic[T]):
    """A request: what it needs to know, how it is decided, and how that ended."""

    def __init__(self, needs: Needs, decide: Callable[[LedgerState], T]) -> None:
        self.needs, self._decide = needs, decide
        self.done = threading.Event()
        self.taken = False
        self.result: T | None = None
        self.error: BaseException | None = None

    def decide(self, state: LedgerState) -> None:
        """Grant or refuse it."""
        self.result, self.error = None, None
        try:
            self.result = self._decide(state)
        except DiscreetError as refused:
            self.error = refused


class Writer:
    """Runs tasks in groups, each by one call of `together`, which returns once all is on disk."""

    def __init__(
        self, name: str, lock: FairLock, together: Callable[[list[Task[Any]]], None]
    ) -> None:
        self.name = name
        self._lock = lock
        self._together = together
        self._queue: deque[Task[Any]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False

    def run(self, task: Task[T], *, wait_seconds: float) -> T:
        """Do `task` in the next transaction; returns once that is on disk, or raises."""
        with self._changed:
            if self._closing:
                raise StoreError(f"{self.name} is closed. Open it again.")
            self._queue.append(task)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="ledger", daemon=True)
                self._thread.start()
            self._changed.notify()
        if not task.done.wait(wait_seconds):
            with self._changed:
                if not task.taken:
                    self._queue.remove(task)
                    raise StoreError(
                        f"{self.name} has been locked by another process for {wait_seconds:g} "
                        "seconds. Nothing was charged; ask again, or end that process."
                    )
            task.done.wait()
        if task.error is not None:
            raise task.error
        return task.result  # type: ignore[return-value]

    def close(self) -> None:
        """Finish what is queued and stop."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._queue and not self._closing:
                    self._changed.wait()
                if not self._queue:
                    return
            try:
                with self._lock:
                    tasks = self._take()
                    if tasks:
                        self._transact(tasks)
            except Exception as error:  # the lock file is gone or the folder may not be written
                reason = getattr(error, "strerror", None) or type(error).__name__
                for task in self._take():
                    task.error = StoreError(f"{self.name} cannot be locked: {reason}.")
                    task.done.set()

    def _take(self) -> list[Task[Any]]:
        with self._changed:
            tasks = [self._queue.popleft() for _ in range(min(MOST_TOGETHER, len(self._queue)))]
            for task in tasks:
                task.taken = True
            return tasks

    def _transact(self, tasks: list[Task[Any]]) -> None:
        try:
            self._together(tasks)
        except BaseException as error:
            # Whatever was decided for single requests was decided in a transaction that is gone.
            for task in tasks:
                task.result, task.error = None, error
        finally:
            for task in tasks:
                task.done.set()
