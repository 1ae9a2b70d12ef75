"""One writer a process: requests that wait together share one transaction and one sync.

Each request runs in a savepoint of its own and is granted or refused on its own. Nobody gets an
answer before the transaction is on disk; if it fails, nobody gets one. Between processes the fair
lock decides whose turn it is; requests are taken from the queue only once it is held, so that
whatever came in while waiting goes along.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..errors import DiscreetError, StoreError
from .database import in_words, transaction
from .lock import FairLock

T = TypeVar("T")
MOST_TOGETHER = 256


class _Task(Generic[T]):
    def __init__(self, work: Callable[[sqlite3.Connection], T]) -> None:
        self.work = work
        self.done = threading.Event()
        self.taken = False
        self.result: T | None = None
        self.error: BaseException | None = None


class Writer:
    """Runs pieces of work in shared transactions on `connection`, which belongs to it.

    `before` runs first in each transaction (may refuse it all), `ending` last in it, and `after`
    once it is on disk.
    """

    def __init__(
        self,
        name: str,
        connection: sqlite3.Connection,
        lock: FairLock,
        *,
        before: Callable[[sqlite3.Connection], None],
        ending: Callable[[sqlite3.Connection], None],
        after: Callable[[], None],
    ) -> None:
        self.name = name
        self.connection = connection
        self._lock = lock
        self._before = before
        self._ending = ending
        self._after = after
        self._queue: deque[_Task[Any]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closing = False

    def run(self, work: Callable[[sqlite3.Connection], T], *, wait_seconds: float) -> T:
        """Do `work` in the next transaction; returns once that is on disk, or raises."""
        task: _Task[T] = _Task(work)
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
        self.connection.close()

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
                        self._together(tasks)
            except Exception as error:  # the lock file is gone or the folder may not be written
                reason = getattr(error, "strerror", None) or type(error).__name__
                for task in self._take():
                    task.error = StoreError(f"{self.name} cannot be locked: {reason}.")
                    task.done.set()

    def _take(self) -> list[_Task[Any]]:
        with self._changed:
            tasks = [self._queue.popleft() for _ in range(min(MOST_TOGETHER, len(self._queue)))]
            for task in tasks:
                task.taken = True
            return tasks

    def _together(self, tasks: list[_Task[Any]]) -> None:
        try:
            with in_words(self.name):
                self._transact(tasks)
        except BaseException as error:
            # Whatever was decided for single requests was decided in a transaction that is gone.
            for task in tasks:
                task.result, task.error = None, error
        finally:
            for task in tasks:
                task.done.set()

    def _transact(self, tasks: list[_Task[Any]]) -> None:
        with transaction(self.connection) as connection:
            self._before(connection)
            for task in tasks:
                connection.execute("SAVEPOINT request")
                try:
                    task.result = task.work(connection)
                except DiscreetError as refused:
                    task.error = refused
                    connection.execute("ROLLBACK TO request")
                connection.execute("RELEASE request")
            self._ending(connection)
        self._after()
