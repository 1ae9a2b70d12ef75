"""A first-come-first-served lock between processes, with nothing to clean up after a crash.

SQLite's own waiting is a lottery: a process may lose it for many seconds. Here each comer takes a
ticket, locks the byte of that number in the lock file, and then waits for a shared lock on *all
lower* bytes: it is granted when everyone who came before has left. Only kernel locks on an open
file (OFD locks) are used, so a holder or a waiter that is killed disappears from the queue at
once, wherever it stood. The counter in the file is a hint, not a secret: were it lost, order would
suffer and SQLite's write lock would still keep two writers apart.

Where the system has no such locks the lock does nothing and SQLite's lottery is all there is.
"""

from __future__ import annotations

import os
import struct
import weakref
from pathlib import Path

from ..durable import OWN

try:
    import fcntl

    FAIR = hasattr(fcntl, "F_OFD_SETLKW")
except ImportError:  # pragma: no cover - not on this system
    FAIR = False

_GATE = 1 << 62
_live: weakref.WeakSet[FairLock] = weakref.WeakSet()


class FairLock:
    """Use as a context manager; blocks, in order of arrival, until it is this process's turn."""

    def __init__(self, path: Path) -> None:
        self._descriptor: int | None = None
        if FAIR:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWN)
            _live.add(self)

    def acquire(self) -> None:
        """Take a ticket and wait for everyone before."""
        if self._descriptor is None:
            return
        self._set(fcntl.F_WRLCK, _GATE, 1)
        try:
            stored = os.pread(self._descriptor, 8, 0)
            ticket = (int.from_bytes(stored, "little") if len(stored) == 8 else 0) % (_GATE - 1) + 1
            os.pwrite(self._descriptor, ticket.to_bytes(8, "little"), 0)
            self._set(fcntl.F_WRLCK, ticket, 1)
        finally:
            self._set(fcntl.F_UNLCK, _GATE, 1)
        self._set(fcntl.F_RDLCK, 0, ticket)

    def release(self) -> None:
        """Leave; the next in the queue goes on."""
        if self._descriptor is not None:
            self._set(fcntl.F_UNLCK, 0, 0)

    def close(self) -> None:
        """Give the file back, and with it every lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _set(self, kind: int, start: int, length: int) -> None:
        request = struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0)
        assert self._descriptor is not None
        fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLKW, request)

    def __enter__(self) -> FairLock:
        self.acquire()
        return self

    def __exit__(self, *problem: object) -> None:
        self.release()

    def __del__(self) -> None:
        self.close()


def _after_fork() -> None:
    # A child shares the parent's open file and would keep its lock alive: it lets go of it.
    for lock in list(_live):
        lock.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
