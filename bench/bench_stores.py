"""Charges a second in Postgres and in SQLite, in turn within each of five rounds.

    python -m bench.bench_stores [--rounds 5] [--count 300] [--each 40] [--folder DIR]

One client, sixteen threads of one process, sixteen processes; each charge is durable, anchors included.
Ratios are read as the median of the rounds: both stores share whatever else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.servers.postgres import programs, running

from bench.bars import measured
from bench.bench_ledger import grouped, one_after_another, race
from discreet.store.opening import prepare

BAR = 0.4


def folders(root: Path, url: str, number: int) -> dict[str, Path]:
    """A fresh ledger in each store."""
    there = root / f"shared-{number}"
    there.mkdir()
    (there / "store.yaml").write_text(f"database: {url}\nschema: s{number}\n")
    prepare(there)
    return {"sqlite": root / f"own-{number}" / "people", "postgres": there / "people"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--folder")
    asked = parser.parse_args()
    ways: dict[str, Callable[[Path], float]] = {
        "1 client": lambda folder: one_after_another(folder, asked.count),
        "16 threads": lambda folder: grouped(folder, 16, asked.each),
        "16 processes": lambda folder: float(
            race(folder, 16, asked.each, 10**6)["requests_per_second"]
        ),
    }
    if programs() is None:
        for way in ways:
            measured(
                f"charges, Postgres ÷ SQLite, {way}", None, "×", at_least=BAR, note="no Postgres"
            )
        return
    figures: dict[str, dict[str, list[float]]] = {
        way: {"sqlite": [], "postgres": []} for way in ways
    }
    with tempfile.TemporaryDirectory(dir=asked.folder) as name, running() as server:
        os.environ["DISCREET_ANCHORS"] = f"{name}/anchors"
        url, number = server.url(server.database()), 0
        for _ in range(asked.rounds):
            for way, take in ways.items():
                number += 1
                for store, folder in folders(Path(name), url, number).items():
                    figures[way][store].append(take(folder))
    print(json.dumps({"per_second": figures, "load": os.getloadavg()}, indent=1))
    for way, found in figures.items():
        pairs = zip(found["postgres"], found["sqlite"], strict=True)
        ratio = statistics.median(there / here for there, here in pairs)
        measured(f"charges, Postgres ÷ SQLite, {way}", round(ratio, 2), "×", at_least=BAR)


if __name__ == "__main__":
    main()
