"""`discreet init` of five million records of 40 columns from Parquet: seconds, memory, silence.

    python -m bench.bench_init [--records N]

The command runs as a custodian runs it, in a process of its own; its peak of memory is what the
system says of that process, and a silence is the longest time between two lines it wrote.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.bars import measured

BEFORE = 56.0
"""Seconds that commit 80954cd took for five million such records on two idle cores."""

_GROUP = 250_000


def _columns(rng: np.random.Generator, start: int, size: int) -> dict[str, pa.Array]:
    """Stays in hospitals: ids, a ragged hierarchy, dates, amounts, and columns of codes."""
    hospital = rng.integers(0, 240, size)
    trust = np.where(hospital % 8 == 0, None, np.char.add("T", (hospital // 4).astype(str)))
    day = np.datetime64("2019-01-01") + rng.integers(0, 1826, size)
    columns = {
        "stay_id": pa.array(np.arange(start, start + size)),
        "patient_id": pa.array(rng.integers(0, 1_900_000, size)),
        "hospital": pa.array(np.char.add("H", hospital.astype(str))),
        "trust": pa.array(trust.tolist(), pa.string()),
        "region": pa.array(np.char.add("R", (hospital // 40).astype(str))),
        "admitted": pa.array(day),
        "discharged": pa.array(day + rng.integers(0, 30, size)),
        "age": pa.array(rng.integers(0, 105, size)),
        "cost": pa.array(np.round(rng.gamma(2, 900, size), 2)),
        "weight": pa.array(rng.integers(100, 300, size) / 100),
    }
    for number in range(30):
        codes = rng.integers(0, 2 + number * number, size)
        text = np.char.add(f"c{number}_", codes.astype(str)) if number % 2 else codes
        columns[f"code_{number}"] = pa.array(text)
    return columns


def write(path: Path, records: int) -> None:
    """The file, in groups of rows."""
    rng = np.random.default_rng(11)
    writer = None
    for start in range(0, records, _GROUP):
        table = pa.table(_columns(rng, start, min(_GROUP, records - start)))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def run(source: Path, into: Path) -> tuple[float, float, float, float]:
    """Seconds, processor seconds, megabytes at most, and the longest silence in seconds."""
    words = ["init", str(source), "--into", str(into), "--unit", "person", "--id", "patient_id"]
    run_main = "from discreet.cli.main import main; main()"
    before = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", run_main, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        last, silence = before, 0.0
        for _ in process.stdout:
            now = time.perf_counter()
            last, silence = now, max(silence, now - last)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - before
    if process.returncode:
        raise SystemExit(f"init ended with exit code {process.returncode}.")
    cpu = usage.ru_utime + usage.ru_stime
    return seconds, cpu, usage.ru_maxrss / 1024, silence


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=5_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "stays.parquet"
        write(source, options.records)
        seconds, cpu, megabytes, silence = run(source, Path(name) / "stays")
    what = f"init of {options.records:,} records of 40 columns"
    measured(f"{what}, memory at most", megabytes, "MB", at_most=700)
    bar = BEFORE * options.records / 5_000_000
    measured(what, seconds, "s", at_most=bar, note=f"processor {cpu:.0f} s")
    measured(f"{what}, longest silence", silence, "s", at_most=5)


if __name__ == "__main__":
    main()
