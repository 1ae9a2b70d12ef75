"""Counting a version in shards: each is counted by a process of its own, and the cells are added.

Records are divided by their keys when they are loaded (`shards.py`), so every unit lies in one shard.
Counts, weights and key sums of shards add up to those of the whole, exactly; key sums are taken mod
2^64, as cell keys take them. A process that is lost is started again once, and then it is said.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from ...core.control import Control
from ...core.description import Description
from ...core.domain import Count, Domain
from ...core.true_values import Cells, Counts
from ...errors import EngineError
from ..background import in_background, turn
from ..lost import ConnectionLost, retried
from ..projection import joined
from .engine import Columns, DuckDBEngine, columns_of
from .shard_worker import COLUMNS, receive, send
from .shards import shard_files

_WORDS = {
    "memory": "Counting needs more memory than the engine may use. Ask for fewer categories, or "
    "give the engine more memory.",
    "range": "A sum is too large for 64 bits and was not made. Lower the weight's scale.",
}
_MEMORY_MB = (1024, 512)
"""What all processes may use together, and the least for each."""
_PIPE_BYTES = 1 << 20
"""What a process may say before it is listened to: as much as any account may ask the system for."""


class _Worker:
    """One process and its shard."""

    def __init__(self, path: Path, threads: int, memory: str) -> None:
        command = [sys.executable, "-P", "-m", f"{__package__}.shard_worker"]
        self._process = subprocess.Popen(
            [*command, str(path), str(threads), memory],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        with contextlib.suppress(OSError, AttributeError):  # more than allowed, or not to be set
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def about(self) -> dict[str, Any]:
        """What the shard says of itself; empty where it cannot be opened."""
        with _lost_in_words():
            said: dict[str, Any] = json.loads(receive(self._out) or b"{}")
        return said

    def ask(self, statement: str) -> None:
        """Have it count; the answer is fetched later, so that others count meanwhile."""
        with _lost_in_words():
            send(self._in, statement.encode())

    def answer(self) -> dict[str, Counts] | str:
        """The columns of the last statement, or what went wrong."""
        with _lost_in_words():
            head = json.loads(receive(self._out))
            if "failed" in head:
                return str(head["failed"])
            return {
                name: np.frombuffer(receive(self._out), dtype="<i8").astype(np.int64, copy=False)
                for name in head["columns"]
            }

    def end(self) -> None:
        """Kill it: it only reads."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._in, self._out):
            with contextlib.suppress(OSError):
                pipe.close()


class _Workers:
    """The processes of one version; started when they are needed, and again when one was lost."""

    def __init__(self, folder: Path, threads: int | None) -> None:
        self._files = shard_files(folder)
        number = len(self._files)
        self._threads = max(1, (threads or os.cpu_count() or 1) // number)
        self._memory = f"{max(_MEMORY_MB[0] // number, _MEMORY_MB[1])}MB"
        self._running: list[_Worker] = []
        self._starting = threading.Lock()
        self.closed = False

    def get(self) -> list[_Worker]:
        """All of them, running; each has the shard that it should."""
        with self._starting:
            if self.closed:
                raise EngineError("The data set is closed. Open it again.")
            if not self._running:
                number = len(self._files)
                started = [_Worker(path, self._threads, self._memory) for path in self._files]
                self._running = started
                try:
                    abouts = [worker.about() for worker in started]
                except BaseException:
                    self._end()
                    raise
                shards = [one.get("shard") for one in abouts]
                if shards != [[i, number] for i in range(number)]:
                    self._end()
                    raise EngineError(
                        "The shards of a version do not belong together. Restore the version from a "
                        "backup, or load again."
                    )
            return self._running

    def end(self) -> None:
        """Kill all: what they were asked is given up."""
        with self._starting:
            self._end()

    def _end(self) -> None:
        running, self._running = self._running, []
        for worker in running:
            worker.end()


class ShardedEngine(DuckDBEngine):
    """Counts one loaded version that lies in shards, read-only. Safe to share between threads."""

    name = "duckdb, in shards"

    def __init__(
        self, folder: Path, description: Description, columns: Columns, threads: int | None
    ) -> None:
        self._description, self._columns = description, columns
        self._workers = _Workers(folder, threads)
        self._turn = threading.Lock()
        self._finalizer = weakref.finalize(self, _Workers.end, self._workers)

    def __repr__(self) -> str:
        return f"<engine in shards of {self._description.name}>"

    def close(self) -> None:
        """End the processes."""
        self._workers.closed = True
        self._finalizer()

    def _read(
        self, count: Count, domain: Domain, keys: bool, weights: bool, control: Control | None
    ) -> Cells:
        statement = str(self._statement(count, domain, keys, weights))
        with turn(self._turn, control, "counting"):
            parts = retried(
                lambda: in_background(
                    lambda: self._asked(statement), self._workers.end, control, "counting"
                )
            )
        return added(parts, domain)

    def _asked(self, statement: str) -> list[dict[str, Counts]]:
        """What each shard counts; all answers are read, so that the next question meets its own."""
        workers = self._workers.get()
        try:
            for worker in workers:
                worker.ask(statement)
            answers = [worker.answer() for worker in workers]
        except ConnectionLost:
            self._workers.end()
            raise
        found = []
        for answer in answers:
            if isinstance(answer, str):
                raise EngineError(_WORDS.get(answer, "Counting failed."))
            found.append(answer)
        return found


def added(parts: list[dict[str, Counts]], domain: Domain) -> Cells:
    """The cells of shards as those of the whole; each cell stands at most once in a shard."""
    if "w" in parts[0]:
        most = sum(max((abs(int(w)) for w in _ends(part["w"])), default=0) for part in parts)
        if most >= 1 << 63:
            raise EngineError(_WORDS["range"])
    return joined(
        [Cells(*(part.get(name) for name in COLUMNS)) for part in parts],  # type: ignore[arg-type]
        domain,
    )


def _ends(values: Counts) -> tuple[Any, ...]:
    return (values.min(), values.max()) if len(values) else ()


@contextlib.contextmanager
def _lost_in_words() -> Any:
    try:
        yield
    except (EOFError, OSError, ValueError):
        raise ConnectionLost(
            "A process that counts a part of the records was lost, twice. Check that the machine has "
            "memory to spare, and ask again; nothing was lost."
        ) from None


def open_engine(
    folder: Path, description: Description, *, threads: int | None = None
) -> ShardedEngine:
    """The engine of a version that lies in shards."""
    return ShardedEngine(folder, description, columns_of(folder, description), threads)
