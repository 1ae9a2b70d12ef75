"""How fast charges reach the disk: one after another, grouped, and from sixteen processes.

    python -m bench.bench_ledger [--processes 16] [--each 625] [--budget 5000] [--folder DIR]

Each charge is a durable commit: hash-chained row, measurements, sync, anchor. Read the figures on
an idle machine; the folder must lie on a disk, not in memory.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from bench.bars import measured
from discreet.core.charge import Charge
from discreet.core.loss import PureLoss
from discreet.errors import BudgetExceeded
from discreet.store import LedgerStore, open_ledger, verify


def opened(folder: Path, budget: int) -> LedgerStore:
    ledger = open_ledger(folder, dataset="people")
    ledger.set_cap(PureLoss(budget), who="bench", reason="bench")
    return ledger


def ask(ledger: LedgerStore, name: str) -> bool:
    return ledger.commit(
        Charge.laplace("1/3", cells=3, neighbours="add-remove", question=f"q-{name}"),
        os.urandom(200),
        idempotency_key=name,
        data_version="1",
        policy_version="1",
    ).fresh


def one_after_another(folder: Path, count: int) -> float:
    with opened(folder, 10**6) as ledger:
        start = time.perf_counter()
        for i in range(count):
            ask(ledger, str(i))
        return count / (time.perf_counter() - start)


def grouped(folder: Path, threads: int, each: int) -> float:
    with opened(folder, 10**6) as ledger:

        def work(name: int) -> None:
            for i in range(each):
                ask(ledger, f"{name}-{i}")

        workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return threads * each / (time.perf_counter() - start)


def racer(folder: str, name: str, each: str) -> None:
    ledger = open_ledger(folder, dataset="people")
    print("ready", flush=True)
    sys.stdin.readline()
    waits, granted = [], 0
    for i in range(int(each)):
        start = time.perf_counter()
        with contextlib.suppress(BudgetExceeded):
            granted += ask(ledger, f"{name}-{i}")
        waits.append(time.perf_counter() - start)
    print(json.dumps({"granted": granted, "waits": waits}))


def race(folder: Path, processes: int, each: int, budget: int) -> dict[str, Any]:
    opened(folder, budget).close()
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "bench.bench_ledger", "--racer", str(folder), str(i), str(each)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
        )
        for i in range(processes)
    ]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()
    start = time.perf_counter()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    reports = [json.loads(worker.communicate()[0]) for worker in workers]
    seconds = time.perf_counter() - start
    waits = sorted(wait for report in reports for wait in report["waits"])
    found = verify(folder)
    return {
        "requests": processes * each,
        "granted": sum(report["granted"] for report in reports),
        "spent": str(found.spent),
        "requests_per_second": round(processes * each / seconds),
        "wait_p50_ms": round(waits[len(waits) // 2] * 1e3, 2),
        "wait_p99_ms": round(waits[int(len(waits) * 0.99)] * 1e3, 1),
        "wait_max_ms": round(waits[-1] * 1e3, 1),
    }


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] == "--racer":
        racer(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--each", type=int, default=625)
    parser.add_argument("--budget", type=int, default=5000)
    parser.add_argument("--folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as root:
        base = Path(root)
        race_found = race(base / "d", asked.processes, asked.each, asked.budget)
        figures: dict[str, object] = {
            "one_after_another_per_second": round(one_after_another(base / "a", 500)),
            "16_threads_per_second": round(grouped(base / "b", 16, 100)),
            "64_threads_per_second": round(grouped(base / "c", 64, 50)),
            "race": race_found,
            "load": os.getloadavg(),
        }
    print(json.dumps(figures, indent=2))
    asking = f"{asked.processes} processes × {asked.each}"
    allowed = asked.budget
    measured(f"granted of {asking}", race_found["granted"], at_least=allowed, at_most=allowed)
    longest = race_found["wait_max_ms"] / 1000
    measured(f"longest wait of {asking}", longest, "s", at_most=3)


if __name__ == "__main__":
    main()
