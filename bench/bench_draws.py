"""Exact draws a second on one core, beside OpenDP's exact discrete Laplace in the same run.

    python -m bench.bench_draws [--draws N] [--json]

Best of five runs, by the clock and by the core's own time (what an idle core would give). Also: the
audit of a 51-point law.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from bench.bars import measured
from bench.peers import OPENDP, PeerFailed
from discreet.core.audit import audit
from discreet.core.law import Law
from discreet.core.law_builders import laplace, max_entropy_for
from discreet.core.pure_laplace import PureLaplace

ROUNDS = 7
OPENDP_DRAWS = 20_000
OPENDP_PROGRAM = """
import time
import opendp.prelude as dp
dp.enable_features("contrib")
space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
noise = dp.m.make_laplace(*space, scale=1.0)
zeros = [0] * int(sys.argv[1])
def once():
    started, spent = time.perf_counter(), time.process_time()
    noise(zeros)
    return {"clock": time.perf_counter() - started, "core": time.process_time() - spent}
"""


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
    clock, core = best_of(lambda: law.draw(count))
    return count / clock, count / core


def beside_opendp(law: PureLaplace, count: int) -> dict[str, Any]:
    """Draws a second of both, rounds alternating, the best of each; or why OpenDP did not run."""
    ours, theirs = [], []
    try:
        with OPENDP.running(OPENDP_PROGRAM, str(OPENDP_DRAWS)) as peer:
            peer.once()
            for _ in range(ROUNDS):
                theirs.append(peer.once())
                ours.append(best_of(lambda: law.draw(count), 1))
    except PeerFailed as problem:
        return {"why": str(problem)}
    found = {
        "opendp_clock": OPENDP_DRAWS / min(t["clock"] for t in theirs),
        "opendp_core": OPENDP_DRAWS / min(t["core"] for t in theirs),
        "clock": count / min(clock for clock, _ in ours),
        "core": count / min(core for _, core in ours),
    }
    return {
        **found,
        "ratio": found["clock"] / found["opendp_clock"],
        "ratio_core": found["core"] / found["opendp_core"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    pure = laplace("1")
    laws = {
        "Laplace, untruncated, ε = 1": pure,
        "Laplace, untruncated, ε = 0.1": laplace("0.1"),
        "Laplace, m = 7, ε = 0.5": laplace("0.5", 7),
        "maximum entropy, D = 25, ε = 0.5": max_entropy_for("0.5", 25),
    }
    speeds = {name: draws_a_second(law, options.draws) for name, law in laws.items()}
    assert isinstance(pure, PureLaplace)
    peer = beside_opendp(pure, options.draws)
    law = max_entropy_for("0.5", 25)
    audit_ms = 1000 * best_of(lambda: audit(law))[0]
    if options.json:
        out = {
            "draws_per_second": {name: {"clock": a, "core": b} for name, (a, b) in speeds.items()},
            "beside_opendp": peer,
            "audit_ms": audit_ms,
        }
        print(json.dumps(out, ensure_ascii=False))
        return
    print(f"{'million draws a second':40} {'clock':>10} {'core':>10}")
    for name, (clock, core) in speeds.items():
        print(f"{name:40} {clock / 1e6:10.1f} {core / 1e6:10.1f}")
    clock, core = speeds["Laplace, untruncated, ε = 1"]
    told = f"by the core's own time {core / 1e6:.0f}"
    measured("exact Laplace draws, one core", clock / 1e6, "M/s", at_least=300, note=told)
    if "why" in peer:
        told = str(peer["why"])
        measured("draws faster than OpenDP", None, "×", at_least=2000, note=told)
    else:
        told = (
            f"OpenDP {peer['opendp_clock'] / 1e6:.3f} M/s; by core time {peer['ratio_core']:,.0f} ×"
        )
        measured("draws faster than OpenDP", peer["ratio"], "×", at_least=2000, note=told)
    measured("audit of a 51-point law", audit_ms, "ms", at_most=50)


if __name__ == "__main__":
    main()
