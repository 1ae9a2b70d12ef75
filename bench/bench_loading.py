"""Loading 10 million records from Parquet, coding and keys included, beside DuckDB copying them.

    python -m bench.bench_loading [--records N] [--rounds N] [--json]

Ours: `load` with an id (SHA-256 record keys, units checked) and without (keys drawn), a hierarchy
checked, the file synced. Plain: `CREATE TABLE AS SELECT *` of the same file into a database file,
closed. Rounds alternate; the best of each are compared, in seconds and in processor seconds (which
say more on a machine that is not idle).
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from bench.bars import measured
from bench.records import coding, write
from discreet.engines.coding import Source
from discreet.engines.duckdb.loading import load


def plain_copy(source: Path, into: Path) -> None:
    with duckdb.connect(str(into / "copy.duckdb")) as connection:
        connection.execute(f"CREATE TABLE records AS SELECT * FROM read_parquet('{source}')")


def run(records: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "records.parquet"
        write(source, records)
        ways: dict[str, Callable[[Path], object]] = {
            "plain": lambda into: plain_copy(source, into),
            "with_id": lambda into: load(Source.guess(source), coding(), into),
            "without_id": lambda into: load(Source.guess(source), coding(with_id=False), into),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        cpus: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, work in ways.items():
                into = folder / "into"
                into.mkdir()
                start, cpu = time.perf_counter(), time.process_time()
                work(into)
                times[way].append(time.perf_counter() - start)
                cpus[way].append(time.process_time() - cpu)
                shutil.rmtree(into)
    best = {way: min(values) for way, values in times.items()}
    busy = {way: min(values) for way, values in cpus.items()}
    return {
        "records": records,
        **{f"{way}_seconds": seconds for way, seconds in best.items()},
        "ratio_with_id": best["with_id"] / best["plain"],
        "ratio_without_id": best["without_id"] / best["plain"],
        "ratio_cpu_with_id": busy["with_id"] / busy["plain"],
        "ratio_cpu_without_id": busy["without_id"] / busy["plain"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    r = run(options.records, options.rounds)
    if options.json:
        print(json.dumps(r))
        return
    print(f"{r['records']:,} records of 8 columns from Parquet")
    print(f"  CREATE TABLE AS SELECT *    {r['plain_seconds']:6.2f} s")
    print(f"  load with ids               {r['with_id_seconds']:6.2f} s")
    print(f"  load, keys drawn            {r['without_id_seconds']:6.2f} s")
    for way, told in (("with_id", "with ids"), ("without_id", "keys drawn")):
        measured(
            f"loading ÷ CREATE TABLE AS SELECT *, {told}",
            r[f"ratio_{way}"],
            "×",
            at_most=3,
            note=f"in processor time {r[f'ratio_cpu_{way}']:.2f}",
        )


if __name__ == "__main__":
    main()
