"""Data sets kept open between requests, and opened again when their files change.

A data set whose `current` version or `discreet.yaml` was replaced is opened anew for the next
request; requests under way finish on the one they began with, and the last of them closes it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..core.family import Family
from ..errors import DiscreetError
from ..file_names import CATEGORIES, CURRENT, DESCRIPTION
from ..workspace import DataSet, Workspace, hosts
from . import logs
from .problems import Problem

_SCAN_SECONDS = 2.0


@dataclass
class _Copy:
    data: DataSet
    stamp: tuple[object, ...]
    edition: str
    users: int = 0
    old: bool = False


@dataclass
class OpenDatasets:
    """The open data sets of one process."""

    folder: Path
    opened: Callable[[str, DataSet], None] = lambda name, data: None
    """Told of every data set that is opened."""
    threads: int | None = None
    """How many threads one count may use: the cores are shared by the worker processes."""
    interior_bytes: int = 0
    """What this process keeps in memory of each one's recent keyed interiors."""
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _editions: dict[int, str] = field(default_factory=dict)
    _opening: dict[str, threading.Lock] = field(default_factory=dict)
    _names: tuple[float, Path, tuple[str, ...]] = (-_SCAN_SECONDS, Path(), ())

    def names(self) -> tuple[str, ...]:
        """The data sets there are; looked for again every few seconds."""
        at, _, found = self._names
        if time.monotonic() - at > _SCAN_SECONDS:
            hosts.follow(self.folder)
            workspace = Workspace.open(self.folder)
            found = workspace.names
            self._names = (time.monotonic(), workspace.folder, found)
        return found

    def look_again(self) -> None:
        """Look for data sets anew with the next question: one was made just now."""
        self._names = (-_SCAN_SECONDS, *self._names[1:])

    @contextmanager
    def use(self, name: str) -> Iterator[DataSet]:
        """A data set, open and current, for the length of a block."""
        copy = self._take(name)
        try:
            yield copy.data
        finally:
            with self._lock:
                copy.users -= 1
                close = copy.old and copy.users == 0
            if close:
                self._let_go(copy)

    def edition(self, data: DataSet) -> str:
        """What a data set's published texts and numbers are made from, as a digest."""
        return self._editions.get(id(data), "")

    def served(self, name: str) -> str:
        """The edition the next request would get; empty where it must be opened first."""
        copy = self._copies.get(name)
        if copy is None or copy.stamp != _stamp(self._names[1] / name):
            return ""
        return copy.edition

    def close(self) -> None:
        """Close all."""
        with self._lock:
            copies, self._copies = list(self._copies.values()), {}
        for copy in copies:
            copy.data.close()

    def _take(self, name: str) -> _Copy:
        folder = self._names[1] / name
        stamp = _stamp(folder)
        copy = self._taken(name, stamp)
        if copy is not None:
            return copy
        with self._lock:
            opening = self._opening.setdefault(name, threading.Lock())
        with opening:
            copy = self._taken(name, stamp)
            if copy is not None:
                return copy
            edition = _edition(folder)
            data = self._open(name, folder)
            fresh = _Copy(data, stamp, f"{edition} {data.data_version}", users=1)
            self._editions[id(data)] = fresh.edition
            with self._lock:
                before = self._copies.get(name)
                self._copies[name] = fresh
                if before is not None:
                    before.old = True
                    close = before.users == 0
            if before is not None and close:
                self._let_go(before)
            return fresh

    def _taken(self, name: str, stamp: tuple[object, ...]) -> _Copy | None:
        """The open copy with one user more, if it is current."""
        with self._lock:
            copy = self._copies.get(name)
            if copy is None or copy.stamp != stamp:
                return None
            copy.users += 1
            return copy

    def _let_go(self, copy: _Copy) -> None:
        self._editions.pop(id(copy.data), None)
        copy.data.close()

    def _open(self, name: str, folder: Path) -> DataSet:
        try:
            data = DataSet.open(folder)
            data.threads = self.threads
            data.interior_bytes = self.interior_bytes
            try:
                # once, before threads share it
                if data.policy.family is not Family.CELL_KEY and data.policy.budget is not None:
                    data.ledger()
                data.results()
                self.opened(name, data)
            except BaseException:
                data.close()
                raise
        except DiscreetError as error:
            logs.say(
                "error", event="data set cannot be opened", dataset=name, error=type(error).__name__
            )
            raise Problem(
                503,
                "dataset",
                f"The data set {name} cannot be served at the moment. Its custodian sees why with "
                "`discreet check`.",
                headers={"Retry-After": "60"},
            ) from None
        return data


def _edition(folder: Path) -> str:
    """A digest of the description as written, labels and notes included."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        for path in (folder / DESCRIPTION, *sorted((folder / CATEGORIES).glob("*.csv"))):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    except OSError:
        return ""  # opening it says what is wrong
    return digest.hexdigest()


@functools.lru_cache(maxsize=1024)
def _stamped(folder: Path) -> tuple[str, ...]:
    """The paths whose replacement makes an open copy an old one."""
    return tuple(os.path.join(folder, name) for name in (CURRENT, DESCRIPTION, CATEGORIES))


def _stamp(folder: Path) -> tuple[object, ...]:
    """Changes whenever the version served or the description is replaced."""
    stamps: list[object] = []
    for path in _stamped(folder):
        try:
            facts = os.stat(path)
            stamps += [facts.st_mtime_ns, facts.st_ino, facts.st_size]
        except OSError:
            stamps.append(None)
    return tuple(stamps)
