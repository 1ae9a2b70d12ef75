"""The engine alone, in as many processes, with as many threads and askers, as the server has.

It counts the interiors of the tables with their key sums, as the server must; totals, which the
server adds in memory, are not asked of it. DuckDB counts them from disk, or the arrays in memory do.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from discreet import release
from discreet.core.control import Control
from discreet.engines.duckdb.engine import open_engine as open_duckdb
from discreet.recipe import from_mapping
from discreet.workspace import DataSet


@dataclass(frozen=True)
class Pace:
    """Tables made in a second, and processor time for each."""

    per_second: float
    milliseconds: float


class BareEngine:
    """Processes that count when told to. Use as a context manager."""

    def __init__(
        self,
        folder: Path,
        shape: Mapping[str, Any],
        filters: Iterable[Mapping[str, Sequence[str]]],
        *,
        processes: int,
        askers: int,
        in_memory: bool,
    ) -> None:
        threads = max(1, (os.cpu_count() or 1) // processes)
        context = multiprocessing.get_context("spawn")
        self._ends: list[Connection] = []
        self._processes = []
        asked = list(filters)
        for number in range(processes):
            ours, theirs = context.Pipe()
            part = asked[number::processes]
            work = (theirs, folder, dict(shape), part, threads, askers // processes, in_memory)
            process = context.Process(target=_serve, args=work, daemon=True)
            process.start()
            self._ends.append(ours)
            self._processes.append(process)
        for end in self._ends:
            end.recv()  # ready

    def pace(self, seconds: float) -> Pace:
        """Count for so long, in all processes at once."""
        for end in self._ends:
            end.send(seconds)
        found: list[tuple[int, float, float]] = [end.recv() for end in self._ends]
        rate = sum(done / elapsed for done, elapsed, _ in found)
        done = sum(done for done, _, _ in found)
        return Pace(rate, 1000 * sum(cpu for _, _, cpu in found) / done)

    def __enter__(self) -> BareEngine:
        return self

    def __exit__(self, *exc: object) -> None:
        for end in self._ends:
            end.send(0.0)
        for process in self._processes:
            process.join(timeout=30)


def _serve(
    end: Connection,
    folder: Path,
    shape: dict[str, Any],
    filters: list[Mapping[str, Sequence[str]]],
    threads: int,
    askers: int,
    in_memory: bool,
) -> None:
    with DataSet.open(folder) as data, ExitStack() as stack:
        data.threads = threads
        plans = [
            release.ask(
                data, from_mapping({**shape, "where": where}, data.description, data.policy)
            ).plan
            for where in filters
        ]
        engine = data.engine()
        if not in_memory:
            described = data.described.description
            engine = stack.enter_context(
                closing(open_duckdb(data.version, described, threads=threads))
            )
        todo = itertools.cycle(plans)
        lock = threading.Lock()
        engine.count(plans[0].counts, keys=True, weights=False, control=Control())
        end.send("ready")
        while seconds := end.recv():
            start, before = time.perf_counter(), time.process_time()
            stop = start + seconds
            done = 0

            def work(stop: float = stop) -> None:
                nonlocal done
                while time.perf_counter() < stop:
                    with lock:
                        plan = next(todo)
                    engine.count(plan.counts, keys=True, weights=False, control=Control())
                    with lock:
                        done += 1

            crew = [threading.Thread(target=work) for _ in range(askers)]
            for each in crew:
                each.start()
            for each in crew:
                each.join()
            end.send((done, time.perf_counter() - start, time.process_time() - before))
