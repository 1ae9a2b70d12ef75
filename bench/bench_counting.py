"""The 4-way table ccg × cause × age × sex with all its margins, beside bare DuckDB and ONS's package.

    python -m bench.bench_counting [--records N] [--rounds N] [--no-peer] [--json]

Ours: count the interior with key sums, and add every margin: 133,056 cells of counts and two key
halves. Bare: a GROUP BY on the same integer codes in a copy of the same file, default settings,
the interior only, fetched as numpy. Peer: cell-key-perturbation 3.1.0 making the interior. Rounds
alternate; medians are compared. Peak memory is that of a process which counts and does nothing else.
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
from collections.abc import Callable
from pathlib import Path

import duckdb

from bench.peers import CELL_KEY_PERTURBATION
from bench.records import DEATHS, coding, description, write
from discreet.core.domain import AxisRef, Count
from discreet.core.true_values import add_totals, dense, reveal
from discreet.engines.coding import Source
from discreet.engines.duckdb import DuckDBEngine, open_engine
from discreet.engines.loading import FILE, load

AXES = ("ccg", "cause", "age", "sex")
COUNT = Count(tuple(AxisRef(name, name) for name in AXES))
BARE = (
    "SELECT v0, v1, v2, v3, count(*) AS n, CAST(sum(k_lo) AS BIGINT) AS lo, "
    "CAST(sum(k_hi) AS BIGINT) AS hi FROM records GROUP BY v0, v1, v2, v3"
)
PEER = """
import contextlib, io, json, sys, time
import pandas as pd
from cell_key_perturbation.create_perturbed_table import create_perturbed_table
from cell_key_perturbation.utils.generate_test_ptable import generate_ptable_10_5_rule
data = pd.read_parquet(sys.argv[1])
ptable = generate_ptable_10_5_rule()
times, cpus = [], []
for _ in range(int(sys.argv[2])):
    start, cpu = time.perf_counter(), time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        made = create_perturbed_table(
            data=data, ptable=ptable, geog=["ccg"], tab_vars=["cause", "age", "sex"],
            record_key="record_key", use_existing_ons_id=False,
        )
    times.append(time.perf_counter() - start)
    cpus.append(time.process_time() - cpu)
print(json.dumps({"seconds": times, "cpu": cpus, "total": int(made["pre_sdc_count"].sum()), "cells": len(made)}))
"""


def table(engine: DuckDBEngine) -> int:
    """Counts and key sums of the whole cube; returns its number of cells."""
    (made,) = engine.count([COUNT], keys=True)
    cells = reveal(made)
    assert cells.key_low is not None
    assert cells.key_high is not None
    cubes = [
        add_totals(dense(made.domain, cells.addresses, column))
        for column in (cells.counts, cells.key_low, cells.key_high)
    ]
    return cubes[0].size


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
    with duckdb.connect(str(version / FILE), read_only=True) as connection:
        connection.execute(
            "COPY (SELECT v0 AS ccg, v1 AS cause, v2 AS age, v3 AS sex, "
            f"CAST(k_lo % 256 AS BIGINT) AS record_key FROM records) TO '{path}'"
        )


def run(records: int, rounds: int, peer: bool) -> dict[str, float | int | None]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "records.parquet", records)
        load(Source.guess(folder / "records.parquet"), coding(), folder / "version")
        memory = peak_megabytes(folder / "version")
        theirs = None
        if peer:
            for_peer(folder / "version", folder / "peer.parquet")
            theirs = CELL_KEY_PERTURBATION.run(PEER, str(folder / "peer.parquet"), "5")
        shutil.copyfile(folder / "version" / FILE, folder / "copy.duckdb")
        bare = duckdb.connect(str(folder / "copy.duckdb"), read_only=True)
        ours_times, bare_times = [], []
        with open_engine(folder / "version", description()) as engine:
            cells = table(engine)
            for _ in range(rounds + 2):
                bare_times.append(timed(lambda: bare.execute(BARE).fetchnumpy()))
                ours_times.append(timed(lambda: table(engine)))
        bare.close()
    ours, plain = (statistics.median(t[0] for t in times[2:]) for times in (ours_times, bare_times))
    best, plain_best = (min(t[0] for t in times) for times in (ours_times, bare_times))
    cpu, plain_cpu = (
        statistics.median(t[1] for t in times[2:]) for times in (ours_times, bare_times)
    )
    other = None if theirs is None else statistics.median(theirs["seconds"])
    return {
        "records": records,
        "cells": cells,
        "ours_ms": 1000 * ours,
        "bare_ms": 1000 * plain,
        "ratio": ours / plain,
        "ours_best_ms": 1000 * best,
        "bare_best_ms": 1000 * plain_best,
        "ratio_best": best / plain_best,
        "ratio_cpu": cpu / plain_cpu,
        "peer_ms": None if other is None else 1000 * other,
        "faster_than_peer": None if other is None else other / ours,
        "faster_than_peer_cpu": None if theirs is None else statistics.median(theirs["cpu"]) / cpu,
        "peak_megabytes": memory,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, action="append")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--memory-of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        with open_engine(options.memory_of, description()) as engine:
            table(engine)
        print(peak_of_this_process())
        return
    results = []
    for records in options.records or (DEATHS, 10_000_000):
        results.append(run(records, options.rounds, peer=not options.no_peer))
        if options.json:
            continue
        r = results[-1]
        print(f"{records:,} records, {r['cells']:,} cells with all margins")
        print(f"  discreet, every margin     {r['ours_ms']:8.1f} ms (best {r['ours_best_ms']:.1f})")
        print(f"  bare GROUP BY, interior    {r['bare_ms']:8.1f} ms (best {r['bare_best_ms']:.1f})")
        print(
            f"  ratio                      {r['ratio']:8.2f}    (best {r['ratio_best']:.2f}, processor {r['ratio_cpu']:.2f}; bar: 1.5)"
        )
        if r["peer_ms"]:
            print(f"  cell-key-perturbation      {r['peer_ms']:8.1f} ms, interior only")
            print(
                f"  faster than it             {r['faster_than_peer']:8.1f} times (processor {r['faster_than_peer_cpu']:.1f}; bar: 5)"
            )
        print(f"  peak memory                {r['peak_megabytes']:8.0f} MB (bar: 1500)")
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
