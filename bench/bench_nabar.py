"""nabar's Figures 4 and 5: how far cells are off at ε = 0.5, one way of protecting beside another.

    python -m bench.bench_nabar [--tables N]

Figure 4 is the hair/eye table (450 people with a gene, 3 × 3); Figure 5 a 10 × 10 table of 10,000
people, 80 to 200 a cell, each with the gene with a probability of 0.3 to 0.5. nabar counts the cells
off by more than a quarter of their value: 10 of 100 by perturbation, once; none by suppression.

Every figure here is over many tables, each released once, with the range of 90 % of them. A way is a
function from a true table to a published one with NaN where nothing is published, so that suppression
can stand beside: add it to `WAYS`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from bench import bars
from bench.bench_marginals import Bench
from discreet.core.control import Control

EPSILON = "0.5"
HAIR_EYE = np.array([[101, 23, 22], [32, 95, 24], [45, 38, 70]])
FIGURE_4 = np.array([[103, 20, 38], [33, 91, 1], [44, 42, 77]])

Way = Callable[[np.ndarray], np.ndarray]


def by_margins(table: np.ndarray, **parameters: str) -> np.ndarray:
    """One release by the marginals method."""
    rows = np.repeat(np.argwhere(table > -1), table.ravel(), axis=0)
    bench = Bench(rows, table.shape, 2, EPSILON, declared=False, **parameters)
    plan = bench.method.plan(bench.question, bench.treatment, bench.facts)
    measured = bench.method.measure(plan, bench._count(plan), None, Control())
    (out,) = bench.method.fit(plan, measured, bench.facts, Control())
    return out.values.astype(np.float64)


WAYS: Mapping[str, Way] = {
    "classic": partial(by_margins, mode="classic"),
    "classic, total over cells": partial(
        by_margins, mode="classic", objective="total", noise_on="cells"
    ),
    "classic, largest over coefficients": partial(
        by_margins, mode="classic", noise_on="coefficients"
    ),
    "modern": by_margins,
}


def ten_by_ten(seed: int) -> np.ndarray:
    """10,000 people in 100 cells (a few fewer where a cell would hold more than 200)."""
    rng = np.random.default_rng(seed)
    people = np.minimum(80 + rng.multinomial(2000, rng.dirichlet(np.ones(100))), 200)
    return rng.binomial(people, rng.uniform(0.3, 0.5, 100)).reshape(10, 10)


def told(shares: list[float]) -> str:
    low, middle, high = np.quantile(shares, [0.05, 0.5, 0.95]) * 100
    return f"median {middle:.0f} %, 90 % of tables {low:.0f} … {high:.0f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description="nabar's Figures 4 and 5.")
    parser.add_argument("--tables", type=int, default=60)
    tables = parser.parse_args().tables
    limits = {
        "classic": {"at_least": 5, "at_most": 15},
        "classic, total non-fourier": {"at_least": 5, "at_most": 15},
        "modern": {"at_most": 5},
    }
    print(f"Figure 5: cells off by more than a quarter or not published, {tables} tables")
    for name, way in WAYS.items():
        shares, hidden = [], 0
        for seed in range(tables):
            table = ten_by_ten(seed)
            found = way(table)
            hidden += int(np.isnan(found).sum())
            shares.append(float((np.abs(found - table) > table / 4).mean()))
        what = f"nabar Figure 5, {name}: cells off by > 25 %"
        note = told(shares) + (f"; {hidden / tables:.1f} cells not published" if hidden else "")
        mean = float(np.mean(shares)) * 100
        if name in limits:
            bars.measured(what, mean, "%", note=note, **limits[name])
        else:
            print(f"  {what}: {mean:.3g} %  ({note})", flush=True)
    print(f"Figure 4: the sum of the nine errors, {tables} releases; nabar's own draw")
    theirs = int(np.abs(FIGURE_4 - HAIR_EYE).sum())
    for name, way in WAYS.items():
        sums = [float(np.abs(way(HAIR_EYE) - HAIR_EYE).sum()) for _ in range(tables)]
        low, high = np.quantile(sums, [0.05, 0.95])
        share = float(np.mean(np.array(sums) >= theirs)) * 100
        note = f"90 % within {low:.0f} … {high:.0f}; {share:.0f} % reach nabar's {theirs}"
        print(f"  {name}: {np.mean(sums):.0f} people ({note})", flush=True)


if __name__ == "__main__":
    main()
