"""Consistent margins: error and seconds, beside barak's program by plain HiGHS and beside mbi.

    python -m bench.bench_marginals [binary] [classic] [adult] [mixed] [deaths] [rounding]
                                    [--draws N] [--adult FILE] [--no-peer] [--threads N]

Error is the mean absolute error of a cell of the released whole numbers, first over the cells of a
table, then over tables ("pooled": over all cells at once). Seconds are those of one core unless
--threads says otherwise: plan, measure (exact noise; setting up a law's sampler included) and fit.

    binary   k binary variables, 3,000 records (declared, so replace-one), ε = 1, mean over 8 draws
    classic  the same program by column generation and by plain HiGHS, k = 8, 10, 12
    adult    needs adult_coded.csv (14 columns of codes): binarised, and as it is
    mixed    3 × 4 × 5 × 6 categories, 3,000 records, 20 draws
    deaths   the demo deaths, all 2-way over region, cause, age, sex, month, marital: beside
             independent noise set to 0 where negative, and with one-way margins measured too
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from discreet.core.loss import PureLoss

if "--threads" not in sys.argv:  # before numpy loads its BLAS
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from bench import bars
from bench.peers import Peer
from discreet.core.control import Control
from discreet.core.description import Description, Policy
from discreet.core.domain import AxisRef, variable
from discreet.core.family import Family
from discreet.core.product import closure
from discreet.core.question import Treatment
from discreet.core.text import Text
from discreet.core.true_values import Cells, seal
from discreet.methods.base import Facts
from discreet.methods.declaration import Part
from discreet.methods.marginals.declaration import DECLARATION
from discreet.methods.marginals.fit.classic import Features, solve_program
from discreet.methods.marginals.fit.estimate_to_table import _warm
from discreet.methods.marginals.measured_tables import Measured, read_all
from discreet.methods.marginals.method import MarginalsMethod
from discreet.methods.shared.rounding import controlled
from discreet.recipe import Question, TableSpec

SECTIONS = ("rounding", "classic", "binary", "mixed", "deaths", "adult")
ADULT = Path(__file__).parent.parent.parent / "shared" / "data" / "adult_coded.csv"
MBI = Peer("mbi", ("mbi==2.0.0",))
MBI_PROGRAM = Path(__file__).parent / "mbi_peer.py"


def binary_rows(k: int, records: int, seed: int) -> np.ndarray:
    """Skewed, correlated binary records from six hidden classes."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(6) * 0.7)
    chance = rng.beta(0.35, 0.9, (6, k))
    return (rng.random((records, k)) < chance[rng.choice(6, records, p=shares)]).astype(np.int64)


def latent_rows(shape: tuple[int, ...], records: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    which = rng.choice(6, records, p=rng.dirichlet(np.ones(6) * 0.7))
    rows = np.zeros((records, len(shape)), dtype=np.int64)
    for axis, n in enumerate(shape):
        shares = np.cumsum(rng.dirichlet(np.ones(n) * 0.6, 6)[which], axis=1)
        rows[:, axis] = (rng.random(records)[:, None] > shares).sum(axis=1).clip(0, n - 1)
    return rows


class Bench:
    """One data set, one workload; releases it as often as asked."""

    def __init__(
        self,
        rows: np.ndarray,
        shape: tuple[int, ...],
        order: int,
        epsilon: str,
        *,
        declared: bool,
        **parameters: str,
    ) -> None:
        self.rows, self.shape = rows, shape
        variables = tuple(
            variable(f"v{i:02}", [str(j) for j in range(n)]) for i, n in enumerate(shape)
        )
        description = Description(
            "bench", Text.of("Bench"), variables, records=len(rows) if declared else None
        )
        policy = Policy(Family.DP, "marginals", budget=PureLoss(10))
        self.facts = Facts(description, policy, "d", "p")
        self.margins = list(itertools.combinations(range(len(shape)), order))
        specs = tuple(
            TableSpec(tuple(AxisRef(f"v{a:02}", f"v{a:02}") for a in m), totals=False)
            for m in self.margins
        )
        said = DECLARATION.read({"epsilon": epsilon, **parameters})
        self.question = Question("bench", specs, "marginals", said[Part.MEASURED])
        self.treatment = Treatment(said[Part.TREATED])
        self.true = {m: self._margin(m) for m in self.margins}
        self.method = MarginalsMethod()

    def _margin(self, margin: tuple[int, ...]) -> np.ndarray:
        table = np.zeros([self.shape[a] for a in margin], dtype=np.int64)
        np.add.at(table, tuple(self.rows[:, a] for a in margin), 1)
        return table

    def _count(self, plan: Any) -> list[Any]:
        found = []
        for count in plan.counts:
            domain = self.facts.description.domain(count.axes)
            columns = [int(ref.variable[1:]) for ref in count.axes]
            addresses, counts = np.unique(domain.address(self.rows[:, columns]), return_counts=True)
            found.append(seal(domain, Cells(addresses.astype(np.int64), counts.astype(np.int64))))
        return found

    def release(self) -> dict[str, float]:
        began = time.perf_counter()
        plan = self.method.plan(self.question, self.treatment, self.facts)
        planned = time.perf_counter()
        tables = self._count(plan)
        counted = time.perf_counter()
        measured = self.method.measure(plan, tables, None, Control())
        drawn = time.perf_counter()
        out = self.method.fit(plan, measured, self.facts, Control())
        fitted = time.perf_counter()
        off = [
            np.abs(table.values - self.true[m]) for table, m in zip(out, self.margins, strict=True)
        ]
        for table in out:
            assert table.values.min() >= 0
        return {
            "error": float(np.mean([o.mean() for o in off])),
            "pooled": float(sum(o.sum() for o in off) / sum(o.size for o in off)),
            "plan": planned - began,
            "measure": drawn - counted,
            "fit": fitted - drawn,
        }

    def clipped(self) -> float:
        """The error of independent noise on each table at the same ε, negative counts set to 0."""
        random = np.random.default_rng(0)
        moved = 1 if self.facts.description.records is None else 2
        scale = moved * len(self.margins) / float(self.question.settings["epsilon"])
        off = [
            np.abs(np.maximum(true + np.rint(random.laplace(0, scale, true.shape)), 0) - true)
            for true in self.true.values()
        ]
        return float(np.mean([o.mean() for o in off]))

    def mean(self, draws: int) -> dict[str, float]:
        found = [self.release() for _ in range(draws)]
        return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def memory() -> float:
    """Gigabytes at most, of this process; a section is run in a process of its own."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def line(name: str, found: dict[str, float], **limits: float) -> None:
    """A release in words, and each of its limits (error, pooled, seconds) as a bar."""
    found = {**found, "seconds": sum(found[part] for part in ("plan", "measure", "fit"))}
    print(
        f"{name:34s} error {found['error']:7.2f}  pooled {found['pooled']:7.2f}  "
        f"{found['seconds']:6.2f} s (plan {found['plan']:.2f}, measure {found['measure']:.2f}, "
        f"fit {found['fit']:.2f})",
        flush=True,
    )
    units = {"error": "a cell", "pooled": "a cell", "seconds": "s"}
    for figure, most in limits.items():
        bars.measured(f"{name}: {figure}", found[figure], units[figure], at_most=most)


def plain_program(features: Features, target: np.ndarray) -> tuple[float, float, np.ndarray]:
    """barak's program over all 2^k cells, by scipy's HiGHS."""
    from scipy.optimize import linprog

    cells = 1 << len(features.shape)
    rows = np.stack(np.unravel_index(np.arange(cells), features.shape), axis=1)
    began = time.perf_counter()
    columns = features.columns(rows)
    ones = np.ones((features.count, 1))
    cost = np.zeros(cells + 1)
    cost[-1] = 1
    found = linprog(
        cost,
        A_ub=np.block([[columns, -ones], [-columns, -ones]]),
        b_ub=np.concatenate([target, -target]),
        method="highs",
    )
    return float(found.fun), time.perf_counter() - began, np.rint(found.x[:-1])


def coefficients(k: int, order: int, seed: int) -> tuple[Features, np.ndarray, np.ndarray]:
    from fractions import Fraction

    rows = binary_rows(k, 3000, k)
    every = closure(itertools.combinations(range(k), order))
    rate = Fraction(1, 2 * len(every))
    features = Features((2,) * k, [Measured(m, m, rate) for m in every])
    noise = np.rint(np.random.default_rng(seed).laplace(size=len(every)) * 2 * len(every))
    return features, features.columns(rows) @ np.ones(len(rows)) + noise, rows


def classic(draws: int) -> None:
    print("classic: the same optimum, seconds by column generation | plain HiGHS (3 draws each)")
    for k, order in itertools.product((8, 10, 12), (2, 3)):
        ours, plain, apart = [], [], 0.0
        for seed in range(3):
            features, target, _ = coefficients(k, order, seed)
            began = time.perf_counter()
            start = _warm(features, target, Control())
            program = solve_program(features, target, start=start)
            ours.append(time.perf_counter() - began)
            value, seconds, _ = plain_program(features, target)
            plain.append(seconds)
            apart = max(apart, abs(value - program.value) / max(1.0, value))
        quick, slow = float(np.median(ours)), float(np.median(plain))
        what, note = f"classic ÷ HiGHS, k = {k}, {order}-way", f"{quick:.3f} s | {slow:.3f} s"
        bars.measured(what, quick / slow, "×", at_most=1, note=note)
        bars.measured(f"optima apart, k = {k}, {order}-way", apart, at_most=1e-6)


def binary(draws: int, peer: bool) -> None:
    limits = {
        (14, 2): {"seconds": 0.5, "error": 45},
        (12, 3): {"seconds": 0.5, "error": 75},
        (20, 3): {"seconds": 10},
        (40, 2): {"seconds": 40},
    }
    for (k, order), most in limits.items():
        bench = Bench(binary_rows(k, 3000, k), (2,) * k, order, "1", declared=True)
        found = bench.mean(draws if k < 20 else max(1, min(3, draws)))
        line(f"k = {k}, all {order}-way", found, **most)
    for k, order in ((14, 2), (12, 3)):
        features, target, rows = coefficients(k, order, 7)
        _, seconds, weights = plain_program(features, target)
        table = weights.reshape((2,) * k)
        off = []
        for margin in itertools.combinations(range(k), order):
            true = np.zeros((2,) * order)
            np.add.at(true, tuple(rows[:, a] for a in margin), 1)
            gone = tuple(a for a in range(k) if a not in margin)
            off.append(np.abs(table.sum(axis=gone) - true).mean())
        print(f"  plain program, k = {k}, {order}-way: {np.mean(off):.1f} a cell, {seconds:.1f} s")
    if peer:
        for k in (10, 14):
            beside_mbi(k, min(4, draws))


def beside_mbi(k: int, draws: int) -> None:
    """All 2-way margins of k binary variables: our fit and mbi's of the same noisy numbers.

    Both get the plan's own measurements of each draw. mbi is also given what its users measure, the
    2-way tables themselves at the same ε (Lap(2·tables/ε), replace-one). CPU seconds, mbi's without
    its import and the first fit, which compiles.
    """
    bench = Bench(binary_rows(k, 3000, k), (2,) * k, 2, "1", declared=True)
    plan = bench.method.plan(bench.question, bench.treatment, bench.facts)
    budget = plan.detail.allocation
    kept = [i for i, m in enumerate(budget.measured) if m.margin]  # the total is public
    said = [(m.margin, m.contrast, m.variance**0.5) for m in (budget.measured[i] for i in kept)]
    true = np.stack([bench.true[m].ravel() for m in bench.margins])
    scale = 2 * len(bench.margins)
    given: dict[str, Any] = {"k": k, "total": 3000, "true": true, "said": json.dumps(said)}
    given |= {"table_sd": 2**0.5 * scale, "draws": draws}
    errors, seconds = [], []
    for draw in range(draws):
        measured = bench.method.measure(plan, bench._count(plan), None, Control())
        numbers = read_all(budget.measured, measured.arrays, bench.shape)
        given |= {f"numbers {draw} {i}": numbers[j].ravel() * 1.0 for i, j in enumerate(kept)}
        noise = np.random.default_rng(draw).laplace(0, scale, true.shape)
        given[f"tables {draw}"] = true + np.rint(noise)
        busy = time.process_time()
        out = bench.method.fit(plan, measured, bench.facts, Control())
        seconds.append(time.process_time() - busy)
        found = np.stack([table.values.ravel() for table in out])
        errors.append(float(np.abs(found - true).mean()))
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        np.savez(file.name, **given)
        mbi = MBI.run(MBI_PROGRAM.read_text("utf-8"), file.name)
    name, error, busy = f"k = {k}, all 2-way", float(np.mean(errors)), float(np.mean(seconds))
    if mbi is None:
        bars.measured(f"{name}: mbi's seconds ÷ ours", None, "×", note="mbi could not run")
        return
    same, tables = mbi["same"], mbi["tables"]
    told = f"mbi {same['cpu']:.2f} s, its first {same['first']:.1f} s; ours {busy:.3f} s"
    bars.measured(f"{name}: mbi's CPU ÷ ours", same["cpu"] / busy, "×", at_least=1, note=told)
    told = f"mbi {same['error']:.1f}, ours {error:.1f} a cell, {draws} draws"
    what = f"{name}: error, ours ÷ mbi's of the same noise"
    bars.measured(what, error / same["error"], "×", at_most=1.25, note=told)
    told = f"mbi {tables['error']:.1f} a cell from noisy tables"
    what = f"{name}: error, ours ÷ mbi's of noisy tables"
    bars.measured(what, error / tables["error"], "×", at_most=1, note=told)


def adult(path: Path, draws: int) -> None:
    if not path.exists():
        print(f"adult: {path.name} is not here; give it with --adult FILE.")
        return
    rows = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
    cut = (rows > np.median(rows, axis=0)).astype(np.int64)
    for column in range(rows.shape[1]):  # a median that is the largest code splits nothing
        if cut[:, column].min() == cut[:, column].max():
            cut[:, column] = rows[:, column] != np.bincount(rows[:, column]).argmax()
    for epsilon, error in (("1", 50), ("0.1", 450)):
        bench = Bench(cut, (2,) * 14, 2, epsilon, declared=True)
        line(f"adult binarised, ε = {epsilon}", bench.mean(max(20, draws)), error=error)
    shape = tuple(int(n) for n in rows.max(axis=0) + 1)
    about = {"records_about": "50000"}
    for epsilon, error, pooled in (("1", 22, 4.5), ("0.1", 80, 14)):
        bench = Bench(rows, shape, 2, epsilon, declared=False, **about)
        found = bench.mean(max(1, min(5, draws)))
        line(f"adult as it is, ε = {epsilon}", found, error=error, pooled=pooled, seconds=60)
    bars.measured("adult: largest memory", memory(), "GB", at_most=1)


def mixed(draws: int) -> None:
    found = []
    shape = (3, 4, 5, 6)
    for seed in range(draws):
        rows = latent_rows(shape, 3000, 100 + seed)
        found.append(Bench(rows, shape, 2, "1", declared=False).release())
    line("3 × 4 × 5 × 6", {n: float(np.mean([f[n] for f in found])) for n in found[0]}, error=4.8)


def deaths(draws: int) -> None:
    from discreet.demo.deaths import codes

    found = codes()
    names = ("region", "cause", "age", "sex", "month", "marital")
    rows = np.stack([found[name] for name in names], axis=1)
    shape = tuple(int(n) for n in rows.max(axis=0) + 1)
    about = {"records_about": "500000"}
    bench = Bench(rows, shape, 2, "1", declared=False, **about)
    line("demo deaths", bench.mean(max(1, min(5, draws))), error=bench.clipped(), seconds=15)
    bench = Bench(rows, shape, 2, "1", declared=False, one_way_share="0.25", **about)
    found = bench.mean(max(1, min(5, draws)))
    line("demo deaths, one-way margins too", found, error=17.5, seconds=15)
    bars.measured("demo deaths: largest memory", memory(), "GB", at_most=0.5)


def rounding() -> None:
    table = np.random.default_rng(0).gamma(0.4, 5, (251, 300))
    times = []
    for _ in range(3):
        began = time.process_time()
        rounded = controlled(table)
        times.append(time.process_time() - began)
    off = rounded - table
    sums = (off, off.sum(axis=0), off.sum(axis=1), off.sum())
    worst = max(float(np.abs(one).max()) for one in sums)
    bars.measured("rounding 251 × 300, worst of all sums off", worst, at_most=1)
    first = f"CPU; {times[0]:.2f} s the first time"
    bars.measured("rounding 251 × 300", min(times), "s", at_most=1, note=first)


def main() -> None:
    parser = argparse.ArgumentParser(description="Consistent margins: error and seconds.")
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(SECTIONS))
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--adult", type=Path, default=ADULT)
    parser.add_argument("--no-peer", action="store_true", help="without mbi (a large download)")
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    wanted = asked.sections or SECTIONS
    if unknown := set(wanted) - set(SECTIONS):
        parser.error(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    runs = {
        "rounding": rounding,
        "classic": lambda: classic(asked.draws),
        "binary": lambda: binary(asked.draws, not asked.no_peer),
        "mixed": lambda: mixed(max(20, asked.draws)),
        "deaths": lambda: deaths(asked.draws),
        "adult": lambda: adult(asked.adult, asked.draws),
    }
    if len(wanted) == 1:
        runs[wanted[0]]()
        return
    options = [word for word in sys.argv[1:] if word not in SECTIONS]
    for section in wanted:
        command = [sys.executable, "-m", "bench.bench_marginals", section, *options]
        subprocess.run(command, check=True, cwd=Path(__file__).parent.parent)


if __name__ == "__main__":
    main()
