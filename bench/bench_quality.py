"""Rehearsals on the demo: a policy simulated, methods compared, the policies attacked.

    python -m bench.bench_quality

Wall seconds of whole commands on an idle machine, and the memory of the comparison.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.bars import measured
from discreet.demo import make_demo


def took(*words: object) -> float:
    start = time.perf_counter()
    command = [sys.executable, "-m", "discreet", *map(str, words)]
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_demo(folder / "demo")
        data = folder / "demo" / "deaths-dp"
        seconds = took("policy", "simulate", data, "--records", 530_000, "--json")
        measured("policy simulate, 73 tables", seconds, "s", at_most=2)
        tables = ("--table", "region,cause", "--table", "age,sex", "--draws", 100)
        seconds = took("compare", data, *tables, "-o", folder / "c.html", "--json")
        measured("compare, 3 methods × 6 settings × 100 draws × 2 tables", seconds, "s", at_most=60)
        # the largest of the processes run so far, in kB on Linux
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
        measured("compare, memory", most, "GB", at_most=1)
        for policy in ("deaths", "deaths-dp"):
            words = ("attack", folder / "demo" / policy, "-o", folder / "a.html", "--json")
            measured(f"attack {policy}, twelve attacks", took(*words), "s", at_most=60)


if __name__ == "__main__":
    main()
