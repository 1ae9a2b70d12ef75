"""Tests that know the noise: 1,000 tables at once, one difference, regressions of 60 areas.

    python -m bench.bench_inference

One core. Tables are 10 × 10 of mean 55 (rinott §6.1); *untruncated* includes further starts where a
local maximum is possible. The difference is what `tables:difference` adds to the table itself: as a
function, and over HTTP beside the same table asked for again, the mean over pairs, in
processor time of the server.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np

from bench.bars import measured
from bench.bench_server import Server
from discreet.core.control import Control
from discreet.core.law_builders import laplace
from discreet.core.pure_laplace import PureLaplace
from discreet.demo import make_demo
from discreet.inference.channel import Channel, channel
from discreet.inference.comparison import p_same_count, p_same_rate
from discreet.inference.design_matrix import hierarchical
from discreet.inference.likelihood import Cells
from discreet.inference.regression import poisson_fit
from discreet.inference.statistics import Model, statistics
from discreet.methods.cellkey.design import design

TABLES = 1000
KINDS = np.zeros(100, dtype=np.int64)
MODEL = Model(hierarchical((10, 10), [(0,), (1,)]))


def seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """Processor seconds of the best of some rounds: others may keep the machine busy."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def tables(made: Channel, random: np.random.Generator) -> np.ndarray:
    logs = (
        4 + random.uniform(-0.5, 0.5, (TABLES, 10, 1)) + random.uniform(-0.5, 0.5, (TABLES, 1, 10))
    )
    return made.release(random.poisson(np.exp(logs)).reshape(TABLES, 100), random)


def main() -> None:
    random = np.random.default_rng(1)
    laws = {
        "truncated Laplace 0.1, 10": (channel(laplace("0.1", 10)), 3.0, 3),
        "p-table 8, 4, blocked 2": (channel(design(8, "4", blocked_below=2).law), 3.0, 3),
        "untruncated Laplace 0.1": (channel(PureLaplace.of("0.1")), 20.0, 1),
    }
    for name, (made, bar, rounds) in laws.items():
        shown = tables(made, random)
        took = seconds(
            lambda made=made, shown=shown: statistics([made], KINDS, shown, MODEL), rounds
        )
        measured(f"{TABLES:,} tests of 10 × 10 tables, {name}", took, "s", at_most=bar)
    made = channel(PureLaplace.of("0.5"))

    def compare() -> None:
        for _ in range(100):
            p_same_count((made, made), (52, 41))
            p_same_rate((made, made), (52, 41))

    measured("is this difference real? both answers", 10 * seconds(compare), "ms", at_most=10)
    x, size = random.normal(0, 1, 60), random.lognormal(7, 0.5, 60)
    means = np.broadcast_to(size * np.exp(-4.4 + 0.25 * x), (TABLES, 60))
    areas = Cells([made], np.zeros(60, dtype=np.int64), made.release(random.poisson(means), random))
    took = seconds(lambda: poisson_fit(areas, x[:, None], np.log(size)))
    measured(f"{TABLES:,} regressions of 60 areas, ε = 0.5", took, "s", at_most=2)
    over_http()


def over_http(blocks: int = 4, each: int = 25) -> None:
    """`tables:difference` beside the same table asked for again: one worker, one connection."""
    recipe = {"rows": ["region"], "columns": ["cause"]}
    sides = {"a": {"region": "E12000001"}, "b": {"region": "E12000002"}}
    bodies = {"tables": recipe, "tables:difference": {"recipe": recipe, **sides}}
    used = dict.fromkeys(bodies, 0.0)
    with tempfile.TemporaryDirectory() as name:
        make_demo(Path(name) / "demo", Control())
        with Server(Path(name) / "demo", 1) as server:
            url = f"http://127.0.0.1:{server.port}/api/v1/datasets/deaths"
            with httpx.Client(base_url=url, timeout=600) as client:
                for block in range(-1, blocks):  # the first one warms up
                    for path, body in bodies.items():
                        before = server.processor_seconds()
                        for _ in range(each):
                            client.post(f"/{path}", json=body).raise_for_status()
                        if block >= 0:
                            used[path] += server.processor_seconds() - before
    more = 1000 * (used["tables:difference"] - used["tables"]) / (blocks * each)
    measured("tables:difference over HTTP, beyond its table", more, "ms", at_most=10)


if __name__ == "__main__":
    main()
