"""The 4-way table ccg × cause × age × sex with all its margins, beside bare DuckDB and ONS's package.

    python -m bench.bench_counting [--records N] [--axes A,B,…] [--rounds N] [--no-peer] [--json]

Ours: count the interior with key sums, and add every margin: 133,056 cells of counts and two key
halves (with `--axes` another table, without the peer). Bare: a GROUP BY on the same integer codes in
a copy of the same file, default settings, the interior only and without keys, fetched as numpy. Peer:
cell-key-perturbation 3.1.0 making the interior. Both are warm: ours has read as many records as it
takes to turn to what adds faster (the first tables, before that, are told without a bar). Rounds of
all three alternate; the median of ours over bare within a round is the ratio, so that a machine
busy for a while is busy for both. Peak memory is that of a process which counts and does nothing else.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import duckdb

from bench.bars import measured
from bench.peers import CELL_KEY_PERTURBATION, PeerFailed
from bench.records import DEATHS, SIZES, coding, description, write
from discreet.core.domain import AxisRef, Count
from discreet.core.true_values import cubes, reveal
from discreet.engines.base import Engine
from discreet.engines.coding import Source
from discreet.engines.duckdb.loading import load
from discreet.engines.memory.engine import _WORTH_AN_IMPORT
from discreet.engines.opening import open_engine
from discreet.file_names import DATA

AXES = ("ccg", "cause", "age", "sex")
WAYS = {
    "ours": "discreet, every margin",
    "bare": "bare GROUP BY, interior",
    "peer": "cell-key-perturbation",
}
PEER_EVERY = 5
PEER = """
import time
import pandas as pd
from cell_key_perturbation.create_perturbed_table import create_perturbed_table
from cell_key_perturbation.utils.generate_test_ptable import generate_ptable_10_5_rule
data = pd.read_parquet(sys.argv[1])
ptable = generate_ptable_10_5_rule()
def once():
    start, cpu = time.perf_counter(), time.process_time()
    made = create_perturbed_table(
        data=data, ptable=ptable, geog=["ccg"], tab_vars=["cause", "age", "sex"],
        record_key="record_key", use_existing_ons_id=False,
    )
    times = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    return {**times, "total": int(made["pre_sdc_count"].sum())}
"""


def bare_sql(axes: Sequence[str]) -> str:
    """The GROUP BY on the columns of these variables."""
    columns = ", ".join(f"v{list(SIZES).index(name)}" for name in axes)
    return f"SELECT {columns}, count(*) AS n FROM records GROUP BY {columns}"


def table(engine: Engine, axes: Sequence[str] = AXES) -> int:
    """Counts and key sums of the whole cube; returns its number of cells."""
    (made,) = engine.count([Count(tuple(AxisRef(name, name) for name in axes))], keys=True)
    cells = reveal(made)
    assert cells.key_low is not None
    assert cells.key_high is not None
    columns = (cells.counts, cells.key_low, cells.key_high)
    return cubes(made.domain.shape, cells.addresses, columns, totals=True)[0].size


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds; the second says more on a machine that is not idle."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def peak_of_this_process() -> float:
    """Megabytes at most, from the kernel; getrusage would count the parent's before the exec."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000


def peak_megabytes(folder: Path) -> float:
    """The peak memory of a fresh process that opens the version and makes the table."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.bench_counting", "--memory-of", str(folder)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
    )
    return float(done.stdout)


def for_peer(version: Path, path: Path) -> None:
    """The same records for the peer: codes as categories' numbers, keys 0 … 255."""
    with duckdb.connect(str(version / DATA), read_only=True) as connection:
        connection.execute(
            "COPY (SELECT v0 AS ccg, v1 AS cause, v2 AS age, v3 AS sex, "
            f"CAST(k_lo % 256 AS BIGINT) AS record_key FROM records) TO '{path}'"
        )


def run(records: int, rounds: int, peer: bool, axes: Sequence[str] = AXES) -> dict[str, Any]:
    group_by = bare_sql(axes)
    times: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": [], "peer": []}
    why = "not asked"
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        write(folder / "records.parquet", records)
        load(Source.guess(folder / "records.parquet"), coding(), folder / "version")
        memory = peak_megabytes(folder / "version")
        shutil.copyfile(folder / "version" / DATA, folder / "copy.duckdb")
        if peer:
            for_peer(folder / "version", folder / "peer.parquet")
        bare = stack.enter_context(duckdb.connect(str(folder / "copy.duckdb"), read_only=True))
        engine = stack.enter_context(closing(open_engine(folder / "version", description())))
        other = None
        if peer:
            try:
                start = CELL_KEY_PERTURBATION.running(PEER, str(folder / "peer.parquet"))
                other = stack.enter_context(start)
            except PeerFailed as problem:
                why = str(problem)
        cells = table(engine, axes)
        first = statistics.median(timed(lambda: table(engine, axes))[0] for _ in range(3))
        for _ in range(_WORTH_AN_IMPORT // records + 1):
            table(engine, axes)
        for number in range(rounds):
            if other is not None and number % PEER_EVERY == 0:
                answer = other.once()
                assert answer["total"] == records, f"the peer counted {answer['total']} records"
                times["peer"].append((answer["seconds"], answer["cpu"]))
            if number % PEER_EVERY == 0:  # warm again, untimed
                bare.execute(group_by).fetchnumpy()
                table(engine, axes)
            times["bare"].append(timed(lambda: bare.execute(group_by).fetchnumpy()))
            times["ours"].append(timed(lambda: table(engine, axes)))
    wall = {way: [t[0] for t in found] for way, found in times.items() if found}
    cpu = {way: statistics.median(t[1] for t in found) for way, found in times.items() if found}
    middle = {way: statistics.median(found) for way, found in wall.items()}
    best = {way: min(found) for way, found in wall.items()}
    return {
        "records": records,
        "axes": list(axes),
        "cells": cells,
        "milliseconds": {way: 1000 * seconds for way, seconds in middle.items()},
        "best_milliseconds": {way: 1000 * seconds for way, seconds in best.items()},
        "ratio": statistics.median(
            ours / plain for ours, plain in zip(wall["ours"], wall["bare"], strict=True)
        ),
        "ratio_best": best["ours"] / best["bare"],
        "ratio_cpu": cpu["ours"] / cpu["bare"],
        "faster_than_peer": middle["peer"] / middle["ours"] if "peer" in middle else None,
        "faster_than_peer_cpu": cpu["peer"] / cpu["ours"] if "peer" in middle else None,
        "first_ratio": first / middle["bare"],
        "no_peer": why,
        "peak_megabytes": memory,
    }


def show(r: dict[str, Any]) -> None:
    """One size, for people, with its bars."""
    size = f"{r['records'] / 1e6:.1f} M records"
    print(f"{r['records']:,} records, {r['cells']:,} cells with all margins")
    for way, told in WAYS.items():
        if way in r["milliseconds"]:
            middle, best = r["milliseconds"][way], r["best_milliseconds"][way]
            print(f"  {told:<28} {middle:8.1f} ms (best {best:.1f})")
    beside = f"of best {r['ratio_best']:.2f}, of processor time {r['ratio_cpu']:.2f}"
    what = f"{len(r['axes'])}-way with margins ÷ bare, {size}"
    measured(what, r["ratio"], "×", at_most=0.6, note=beside)
    measured(f"the first tables of a process ÷ bare, {size}", r["first_ratio"], "×")
    if tuple(r["axes"]) != AXES:
        return
    faster = r["faster_than_peer"]
    told = f"in processor time {r['faster_than_peer_cpu']:.1f}" if faster else r["no_peer"]
    measured(f"faster than ONS package, {size}", faster, "×", at_least=5, note=told)
    measured(f"peak memory, {size}", r["peak_megabytes"], "MB", at_most=1500)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, action="append")
    parser.add_argument("--axes", default=",".join(AXES), help=f"some of {', '.join(SIZES)}")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        with closing(open_engine(options.memory_of, description())) as engine:
            table(engine)
        print(peak_of_this_process())
        return
    results, axes = [], tuple(options.axes.split(","))
    if unknown := [name for name in axes if name not in SIZES]:
        parser.error(f"no variable {unknown[0]}; there are {', '.join(SIZES)}")
    peer = not options.no_peer and axes == AXES
    for records in options.records or (DEATHS, 10_000_000):
        results.append(run(records, options.rounds, peer, axes))
        if not options.json:
            show(results[-1])
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
