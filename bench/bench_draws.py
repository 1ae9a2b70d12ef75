"""Exact draws a second on one core, beside OpenDP's exact discrete Laplace in the same run.

    .venv/bin/python bench/bench_draws.py [--draws N] [--json]

Best of five runs, by the clock and by the core's own time (what an idle core would give). Also: the
audit of a 51-point law, and the look-up of 133,056 cell keys.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

from discreet.core.audit import audit
from discreet.core.law import Law
from discreet.core.law_builders import laplace, max_entropy_for
from discreet.core.lookup import lookup_rows
from discreet.core.pure_laplace import PureLaplace
from discreet.core.sampling import draw

OPENDP_DRAWS = 20_000


def best_of(work: Callable[[], object], times: int = 5) -> tuple[float, float]:
    """The shortest clock and core times of several runs, after one to warm up."""
    work()
    clock = core = float("inf")
    for _ in range(times):
        started, spent = time.perf_counter(), time.process_time()
        work()
        clock = min(clock, time.perf_counter() - started)
        core = min(core, time.process_time() - spent)
    return clock, core


def draws_a_second(law: Law | PureLaplace, count: int) -> tuple[float, float]:
    clock, core = best_of(lambda: draw(law, count))
    return count / clock, count / core


def opendp_draws_a_second(epsilon: float) -> tuple[float, float] | None:
    """OpenDP's `make_laplace` over a vector of integers, or None where it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    laplace_noise = dp.m.make_laplace(*space, scale=1 / epsilon)
    zeros = [0] * OPENDP_DRAWS
    clock, core = best_of(lambda: laplace_noise(zeros), 3)
    return OPENDP_DRAWS / clock, OPENDP_DRAWS / core


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    laws = {
        "Laplace, untruncated, ε = 1": laplace("1"),
        "Laplace, untruncated, ε = 0.1": laplace("0.1"),
        "Laplace, m = 7, ε = 0.5": laplace("0.5", 7),
        "maximum entropy, D = 25, ε = 0.5": max_entropy_for("0.5", 25),
    }
    speeds = {name: draws_a_second(law, options.draws) for name, law in laws.items()}
    peer = opendp_draws_a_second(1.0)
    law = max_entropy_for("0.5", 25)
    audit_ms = 1000 * best_of(lambda: audit(law))[0]
    rows = [max_entropy_for("0.5", 25 + k) for k in range(30)]
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 2**64, 133_056, dtype=np.uint64)
    at = rng.integers(0, 30, 133_056)
    lookup_ms = 1000 * best_of(lambda: lookup_rows(rows, at, keys))[0]
    ours = speeds["Laplace, untruncated, ε = 1"]
    ratio = None if peer is None else ours[0] / peer[0]
    if options.json:
        out = {
            "draws_per_second": {name: {"clock": a, "core": b} for name, (a, b) in speeds.items()},
            "opendp_draws_per_second": None
            if peer is None
            else {"clock": peer[0], "core": peer[1]},
            "ratio": ratio,
            "audit_ms": audit_ms,
            "lookup_ms": lookup_ms,
        }
        print(json.dumps(out, ensure_ascii=False))
        return
    print(f"{'million draws a second':40} {'clock':>10} {'core':>10}")
    for name, (clock, core) in speeds.items():
        print(f"{name:40} {clock / 1e6:10.1f} {core / 1e6:10.1f}")
    if peer is None:
        print("OpenDP is not installed: no ratio. `pip install opendp` to compare.")
    else:
        print(f"{'OpenDP make_laplace, ε = 1':40} {peer[0] / 1e6:10.3f} {peer[1] / 1e6:10.3f}")
        print(f"{'ratio':40} {ratio:10,.0f} {ours[1] / peer[1]:10,.0f}")
    print(f"{'audit of a 51-point law':40} {audit_ms:10.2f} ms")
    print(f"{'look-up of 133,056 keys in 30 rows':40} {lookup_ms:10.2f} ms")


if __name__ == "__main__":
    main()
