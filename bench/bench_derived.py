"""Loading a million records with derived variables, beside the same categories ready in the file.

    python -m bench.bench_derived [--records N] [--rounds N]

One CSV file holds dates, ages, amounts and diagnoses, and beside them the months, bands and chapters
that follow from them. Derived: the description derives them at load. Ready: the same variables are
read from the columns beside. Rounds alternate; the best of each are compared.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

import discreet as dc
from bench.bars import measured

CHAPTERS = {"I": ["A", "B"], "II": ["C", "D0", "D1"], "III": ["D2", "D3", "D4"]}
DERIVED: dict[str, Any] = {
    "admitted": {
        "column": "day",
        "missing": ["NA", ""],
        "derive": {"dates": ["month", "quarter", "year"], "first": "2018", "last": "2023"},
    },
    "age": {
        "column": "age",
        "missing": ["NA", "-9"],
        "derive": {"bands": ["5"], "from": "0", "to": "90", "open": "both"},
    },
    "cost": {
        "column": "cost",
        "derive": {"cuts": ["0", "100", "500", "2500.5"], "open": "both"},
    },
    "chapter": {
        "column": "icd",
        "other": "other",
        "categories": {"I": "Infections", "II": "Neoplasms", "III": "Blood", "other": "Other"},
        "derive": {"prefix": CHAPTERS, "source": "made up"},
    },
}
PLAIN: dict[str, Any] = {
    "sex": {"column": "sex", "categories": {"f": "Women", "m": "Men"}},
    "ward": {"column": "ward", "categories": [f"w{i}" for i in range(40)]},
}


def write(path: Path, records: int, amounts: bool) -> dict[str, list[str]]:
    """The file, and the categories of the columns that are ready in it.

    With `amounts` nearly every second record has an amount of its own: 405,000 different texts.
    """
    chance = random.Random(7)
    first = datetime.date(2018, 1, 1)
    days = [first + datetime.timedelta(n) for n in range(2191)]
    months = sorted({f"{day:%Y-%m}" for day in days})
    bands = ["<0", *(f"{start}-{start + 4}" for start in range(0, 90, 5)), "90+", "NA"]
    costs = ["<0", "0-<100", "100-<500", "500-<2500.5", "2500.5+"]
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        names = ["id", "day", "age", "cost", "icd", "month", "band", "price", "chapter"]
        lines.writerow([*names, *PLAIN])
        for number in range(records):
            day = chance.choice(days)
            age = chance.choice([-9, -1, *range(112)])
            cents = (
                chance.randrange(-5_000, 400_000) if amounts else 10 * chance.randrange(-50, 9_000)
            )
            icd = f"{chance.choice('ABCDE')}{chance.randrange(100):02d}"
            band = "NA" if age == -9 else bands[min(max(age // 5 + 1, 0), 19)]
            price = costs[sum(cents >= end for end in (0, 10_000, 50_000, 250_050))]
            chapter = next(
                (c for c, starts in CHAPTERS.items() if icd.startswith(tuple(starts))), "other"
            )
            raw = [number, day, age, f"{cents / 100:.2f}", icd]
            ready = [f"{day:%Y-%m}", band, price, chapter]
            lines.writerow([*raw, *ready, chance.choice("fm"), f"w{chance.randrange(40)}"])
    return {"month": months, "band": bands, "price": costs, "chapter": [*CHAPTERS, "other"]}


def describe(folder: Path, variables: dict[str, Any]) -> Path:
    folder.mkdir()
    described = {
        "dataset": folder.name,
        "title": "Stays",
        "source": {"file": "../stays.csv", "delimiter": ",", "header": "yes"},
        "unit": "stay",
        "id": "id",
        "family": "cell-key",
        "variables": {**PLAIN, **variables},
    }
    (folder / "discreet.yaml").write_text(yaml.safe_dump(described, sort_keys=False))
    return folder


def run(records: int, rounds: int, amounts: bool) -> dict[str, float]:
    """The best seconds and processor seconds of each way."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        ready = write(base / "stays.csv", records, amounts)
        ways = {
            "derived": DERIVED,
            "ready": {c: {"column": c, "categories": codes} for c, codes in ready.items()},
            "none": {},
        }
        times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, variables in ways.items():
                folder = describe(base / way, variables)
                start, cpu = time.perf_counter(), time.process_time()
                dc.load(folder)
                times[way].append((time.perf_counter() - start, time.process_time() - cpu))
                shutil.rmtree(folder)
    return {
        f"{way}_{what}": min(each[place] for each in found)
        for way, found in times.items()
        for place, what in enumerate(("seconds", "cpu"))
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for amounts in (False, True):
        found = run(options.records, options.rounds, amounts)
        told = "nearly every amount another" if amounts else "9,050 amounts"
        print(f"{options.records:,} records from CSV, four of six variables derived, {told}")
        for way in ("derived", "ready", "none"):
            clock, cpu = found[f"{way}_seconds"], found[f"{way}_cpu"]
            print(f"  {way:8} {clock:6.2f} s, processor {cpu:6.2f} s")
        measured(
            f"loading with derived variables ÷ the same categories ready in the file, {told}",
            found["derived_seconds"] / found["ready_seconds"],
            "×",
            at_most=2 if amounts else 1.3,
            note=f"in processor time {found['derived_cpu'] / found['ready_cpu']:.2f}; with two "
            f"variables only {found['none_seconds']:.2f} s",
        )


if __name__ == "__main__":
    main()
