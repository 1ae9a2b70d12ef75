"""Everything at once for a while: no error of ours, and nothing that piles up in a worker."""

from __future__ import annotations

import contextlib
import random
import shutil
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import psutil
import pytest

from ..patience import PATIENCE
from .serving import Processes, add_accounts

CAUSES = ["A00-B99", "C00-D48", "E00-E90", "F00-F99", "G00-G99", "I00-I99", "J00-J99", "K00-K93"]
SMALL = "small uncached table"


@dataclass
class Sample:
    """What a worker held at a moment."""

    at: float
    memory: int
    descriptors: int


@dataclass
class Load:
    """Clients that ask for all kinds of things until they are told to stop."""

    url: str
    token: str
    stop: threading.Event = field(default_factory=threading.Event)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def client(self, seed: int, requests: int | None) -> None:
        """One client: `requests` of them, or until it is stopped."""
        chance = random.Random(seed)
        signed = {"Authorization": f"Bearer {self.token}"}
        with httpx.Client(base_url=f"{self.url}/api/v1", headers=signed, timeout=PATIENCE) as http:
            kinds = self._kinds(http, chance)
            names, weights = list(kinds), [weight for weight, _ in kinds.values()]
            done = 0
            while not self.stop.is_set() and (requests is None or done < requests):
                (name,) = chance.choices(names, weights)
                self._ask(name, kinds[name][1])
                done += 1

    def _ask(self, name: str, ask: Callable[[], httpx.Response]) -> None:
        start = time.perf_counter()
        answer = ask()
        taken = time.perf_counter() - start
        with self._lock:
            self.seconds[name].append(taken)
            self.statuses[answer.status_code] += 1
            if answer.status_code >= 500:
                self.failures.append(f"{name}: {answer.status_code} {answer.text[:200]}")

    def _kinds(
        self, http: httpx.Client, chance: random.Random
    ) -> dict[str, tuple[int, Callable[[], httpx.Response]]]:
        at = "/datasets/deaths/tables"

        def some() -> str:
            return ",".join(chance.sample(CAUSES, chance.randint(2, 7)))

        def months() -> str:
            return ",".join(map(str, chance.sample(range(1, 13), chance.randint(3, 11))))

        def file(kind: str) -> Callable[[], httpx.Response]:
            return lambda: http.get(
                f"{at}?rows=region&columns=age&where=cause:{some()}&format={kind}"
            )

        def hang_up() -> httpx.Response:
            made = http.post(at, json={"rows": ["sex"]}, headers={"Prefer": "respond-async"})
            if made.status_code != 202:
                return made
            events = f"/jobs/{made.json()['id']}/events"
            with contextlib.suppress(httpx.HTTPError), http.stream("GET", events) as answer:
                next(answer.iter_bytes(), b"")
            return made

        return {
            SMALL: (
                30,  # about a million questions, so hardly one comes twice
                lambda: http.get(
                    f"{at}?rows=region&columns=sex&where=cause:{some()}&where=month:{months()}"
                ),
            ),
            "repeat": (30, lambda: http.get(f"{at}?rows=region&columns=sex")),
            "check": (15, lambda: http.post(f"{at}:check", json={"rows": ["ccg"]})),
            "refused": (5, lambda: http.get(f"{at}?rows=colour")),
            "csv": (5, file("csv")),
            "parquet": (3, file("parquet")),
            "xlsx": (2, file("xlsx")),
            "charged": (
                3,
                lambda: http.post(
                    "/datasets/deaths-dp/tables",
                    json={
                        "rows": ["sex"],
                        "where": {"month": months().split(",")},
                        "epsilon": "0.0001",
                    },
                ),
            ),
            "job": (2, hang_up),
            "wrong password": (
                1,
                lambda: httpx.post(
                    f"{self.url}/api/v1/session",
                    json={"name": "ana", "password": "not the right one"},
                    timeout=PATIENCE,
                ),
            ),
            "catalogue": (4, lambda: http.get("/datasets/deaths")),
            "page": (
                4,
                lambda: httpx.get(f"{self.url}/build/deaths?rows=region", timeout=PATIENCE),
            ),
        }


def loaded(
    demo: Path, folder: Path, *, workers: int, clients: int, requests: int | None, seconds: float
) -> tuple[Load, dict[int, list[Sample]]]:
    """A served demo under mixed load, and what its workers held meanwhile."""
    workspace = folder / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    server = Processes(workspace, workers, "--public", "all", log=folder / "server.log")
    samples: dict[int, list[Sample]] = defaultdict(list)
    try:
        server.wait()
        load = Load(server.url, tokens["ana"])
        threads = [
            threading.Thread(target=load.client, args=(seed, requests)) for seed in range(clients)
        ]
        for thread in threads:
            thread.start()
        start = time.monotonic()
        while any(thread.is_alive() for thread in threads):
            if requests is None and time.monotonic() - start > seconds:
                load.stop.set()
            for child in server.children():
                with contextlib.suppress(psutil.Error):
                    process = psutil.Process(child)
                    if process.num_threads() > 5:  # a worker, and no helper of the interpreter
                        held = process.memory_info().rss, process.num_fds()
                        samples[child].append(Sample(time.monotonic() - start, *held))
            time.sleep(0.5)
        return load, samples
    finally:
        server.close()


@pytest.mark.slow
def test_mixed_requests_end_well(demo: Path, tmp_path: Path) -> None:
    """Some hundred requests of every kind at once: no error of ours, and descriptors do not grow."""
    load, samples = loaded(demo, tmp_path, workers=2, clients=4, requests=60, seconds=0)
    assert not load.failures
    assert sum(load.statuses.values()) == 240
    for held in samples.values():
        half = len(held) // 2
        before = max((one.descriptors for one in held[:half]), default=0)
        assert max(one.descriptors for one in held[half:]) <= before + 60


@pytest.mark.proof
def test_ten_minutes_of_mixed_load(demo: Path, tmp_path: Path, record_property) -> None:
    """Ten minutes of mixed load on four workers: no 5xx, memory and descriptors of each worker level
    in the second half, p99 of small uncached tables within 5 times p50.
    """
    load, samples = loaded(demo, tmp_path, workers=4, clients=16, requests=None, seconds=600)
    record_property("requests", sum(load.statuses.values()))
    assert not load.failures, load.failures[:5]
    p50, p99 = np.quantile(load.seconds[SMALL], [0.5, 0.99])
    record_property("p50, p99 of small tables (ms)", f"{1000 * p50:.0f}, {1000 * p99:.0f}")
    slopes = []
    for held in samples.values():
        later = [one for one in held if one.at > 300]
        if len(later) < 100:
            continue
        at = np.array([one.at for one in later]) / 60
        memory = np.array([one.memory for one in later]) / 1e6
        slope, level = np.polyfit(at, memory, 1)
        noise = float(np.std(memory - (slope * at + level)))
        slopes.append(slope)
        assert slope <= max(2.0, noise), (slope, noise)
        descriptors = np.array([one.descriptors for one in later])
        assert np.polyfit(at, descriptors, 1)[0] <= 1.0
    record_property("MB a minute, worst worker", f"{max(slopes):.2f}")
    assert len(slopes) == 4
    assert p99 <= 5 * p50
