"""What a workspace collects over years, and what it makes each thing that is asked often cost.

    python -m bench.bench_growth [--most 10000]

Processor seconds of one process, at sizes a factor of ten apart; the exponent is that of the last
factor. Charges are real ones: every entry has its own question, plan and measurements.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq

import discreet
from bench.bars import measured
from discreet import demo
from discreet.core.control import Control
from discreet.demo import deaths
from discreet.workspace import loading
from discreet.workspace.writer import write

RECORDS = 20_000


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The least processor time of some goes."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def made(folder: Path) -> Path:
    (folder / "source").mkdir()
    pq.write_table(deaths.table().slice(0, RECORDS), folder / demo.SOURCE)
    draft = demo.draft("deaths-dp")
    draft.budget = {"epsilon": "1000000"}
    write(draft, folder)
    loading.load(folder)
    return folder


def fill(folder: Path, start: int, end: int) -> None:
    """Charge questions numbered from `start` to `end`, each with measurements of its own."""
    with discreet.open(folder) as opened:
        data = opened._data
        ledger = data.ledger()
        counted = None
        for number in range(start, end):
            draft = opened.table(rows="region", columns="sex", epsilon=f"0.2{number:06}1")
            asked = draft.preview()
            plan = asked.plan
            if counted is None:
                counted = data.engine().count(plan.counts, keys=False, weights=False)
            drawn = asked.method.measure(plan, counted, data.secrets, Control())
            facts = {**drawn.facts, "question": plan.question.canonical()}
            ledger.commit(
                plan.charge,
                replace(drawn, facts=facts).to_bytes(),
                idempotency_key=plan.question_hash,
                data_version=data.data_version,
                policy_version=data.policy.version,
            )


def costs(folder: Path, size: int) -> dict[str, float]:
    """Processor seconds of what is asked of a ledger of this size."""

    def opening() -> None:
        with discreet.open(folder) as again:
            again._data.ledger()

    with discreet.open(folder) as opened:
        opened._data.ledger()
        fresh = iter(range(10**9))

        def draft() -> discreet.Draft:
            return opened.table(rows="region", columns="sex", epsilon=f"0.5{size:06}{next(fresh)}")

        return {
            "opening the ledger": seconds(opening),
            "a preview": seconds(lambda: draft().preview().to_json()),
            "a verdict": seconds(lambda: draft().preview().to_json(look_back=False)),
            "a charge": seconds(lambda: draft().release(), 5),
            "--free": seconds(
                lambda: opened.table(rows="region", epsilon="0.1").release(free=True), 1
            ),
            "ledger show": seconds(lambda: opened.ledger_facts(short=True), 1),
            "the register": seconds(lambda: opened._data.ledger().export_register(), 1),
        }


def report(name: str, found: dict[int, float]) -> None:
    sizes = sorted(found)
    last, before = sizes[-1], sizes[-2]
    exponent = math.log(found[last] / found[before]) / math.log(last / before)
    told = ", ".join(f"{size:,}: {found[size] * 1000:,.1f} ms" for size in sizes)
    measured(f"{name}, exponent", exponent, at_most=1.1, note=told)


def ledgers(root: Path, most: int) -> None:
    sizes = [size for size in (100, 1_000, 10_000, 100_000) if size <= most]
    folder, filled = made(root), 0
    found: dict[str, dict[int, float]] = {}
    for size in sizes:
        fill(folder, filled, size)
        filled = size
        for name, value in costs(folder, size).items():
            found.setdefault(name, {})[size] = value
    for name, by_size in found.items():
        report(f"{name} by charges", by_size)
    for name in ("a preview", "a verdict", "a charge"):
        ratio = found[name][sizes[-1]] / found[name][sizes[0]]
        measured(f"{name}, {sizes[-1]:,} charges ÷ {sizes[0]:,}", ratio, "×", at_most=1.5)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=10_000, help="charges of the largest ledger")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        ledgers(Path(root), asked.most)


if __name__ == "__main__":
    main()
