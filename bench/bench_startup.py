"""How long `discreet --help` takes in a fresh process, and how much of it is Python itself.

python -m bench.bench_startup [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from bench.bars import measured

WAYS = {"python": ("-c", "pass"), "help": ("-m", "discreet", "--help")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for number in range(options.rounds + 1):
        for way, words in WAYS.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
            if number:  # the first reads files from the disk
                times[way].append(time.perf_counter() - start)
    seconds = {way: statistics.median(found) for way, found in times.items()}
    told = f"best {min(times['help']):.2f} s; Python alone {seconds['python']:.2f} s"
    measured("discreet --help", seconds["help"], "s", at_most=0.3, note=told)


if __name__ == "__main__":
    main()
