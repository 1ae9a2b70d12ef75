"""rinott §6: tests that know the noise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import discreet as dc
from discreet.inference import chi_square
from discreet.inference.channel import Channel, channel
from discreet.inference.design_matrix import hierarchical
from discreet.inference.goodness import Binomial, binomial
from discreet.inference.statistics import (
    Model,
    Statistics,
    naive_level,
    naive_statistic,
    statistics,
)

from .bench import Bench, Figure, Grid, Section, differs, holds

TABLES = 1000
SIDE = 10
CELLS = np.zeros(SIDE * SIDE, dtype=np.int64)
MODEL = Model(hierarchical((SIDE, SIDE), [(0,), (1,)]))
DEPENDENCE = 0.31
# ε, m: print of LR mean and %, naive mean and %, power of LR; and what holds over 20,000 tables
PRINTED = {
    ("0.1", 10): (78.6, 3.0, 124.5, 86.7, 51.0),
    ("0.1", 7): (80.1, 4.0, 105.1, 53.3, 73.3),
    ("0.5", 10): (82.5, 6.9, 92.9, 25.4, 76.3),
    ("0.5", 7): (82.0, 5.3, 90.8, 18.7, 76.9),
}
HOLDS = {
    ("0.1", 10): (78.15, 3.0, 128.1, 88.7, 50.5, 57.0),
    ("0.1", 7): (79.78, 3.9, 107.2, 57.2, 63.2, 65.4),
    ("0.5", 10): (82.07, 5.9, 93.1, 24.5, 75.2, 73.1),
    ("0.5", 7): (81.55, 5.4, 90.9, 20.1, 75.6, 74.0),
}
_LEVEL, _MEAN, _SHARE = 2.2, 1.3, 2.2
"""Three standard errors over 1,000 tables: of a level near 5 %, a mean statistic, a small share."""


def section(bench: Bench) -> Section:
    """Table 3 by 1,000 drawn tables a row, §6.2 by enumeration."""
    figures: list[Figure] = []
    rows = []
    for epsilon, reach in PRINTED:
        found, row = _table_3(epsilon, reach)
        figures += found
        rows.append(row)
    figures += _binomial()
    header = (
        "ε, m", "naive: mean, % ≤ 0.05", "predicted %", "LR: mean, %", "score: mean, %",
        "dependent: LR %", "score %",
    )  # fmt: skip
    title = f"Table 3 again, {TABLES:,} tables a row (seed 1; interaction {DEPENDENCE}·γ)"
    grids = (Grid(title, header, tuple(rows)), _figure_4())
    return Section("rinott", "§6: tests that know the noise", tuple(figures), (), grids)


def _counts(random: np.random.Generator, interaction: float) -> np.ndarray:
    logs = 4 + random.uniform(-0.5, 0.5, (TABLES, SIDE, 1))
    logs = logs + random.uniform(-0.5, 0.5, (TABLES, 1, SIDE))
    logs = logs + interaction * random.uniform(-0.5, 0.5, (TABLES, SIDE, SIDE))
    return random.poisson(np.exp(logs)).reshape(TABLES, SIDE * SIDE)


def _tested(
    made: Channel, random: np.random.Generator, interaction: float
) -> tuple[Statistics, np.ndarray]:
    shown = made.release(_counts(random, interaction), random)
    return statistics([made], CELLS, shown, MODEL), shown


def _share(p: np.ndarray) -> float:
    return 100 * float((p <= 0.05).mean())


def _table_3(epsilon: str, reach: int) -> tuple[list[Figure], tuple[str, ...]]:
    made, random = channel(dc.laplace(epsilon, reach)), np.random.default_rng(1)
    found, shown = _tested(made, random, 0.0)
    ordinary = naive_statistic(shown, MODEL)
    naive = _share(chi_square.tail(ordinary, found.df))
    warned = 100 * float(naive_level([made], CELLS, found.fit.means, found.df).mean())
    dependent, _ = _tested(made, random, DEPENDENCE)
    powers = _share(dependent.p_lr), _share(dependent.p_score)
    level, score_level = _share(found.p_lr), _share(found.p_score)
    name = f"Table 3, ε = {epsilon}, m = {reach}"
    mean, share, naive_mean, naive_share, power = PRINTED[epsilon, reach]
    right = HOLDS[epsilon, reach]
    figures = [
        _simulated(f"{name}: LR", (mean, share), (float(found.lr.mean()), level)),
        holds(
            f"{name}: score (not in the paper)",
            "5 % ≤ 0.05, within 3 standard errors",
            abs(score_level - 5) < _LEVEL,
            f"{score_level:.1f} %",
        ),
    ]
    ordinary_mean = float(ordinary.mean())
    if epsilon == "0.1":
        figures.append(
            differs(
                f"{name}: naive, mean and % ≤ 0.05",
                f"{naive_mean}, {naive_share}",
                f"{ordinary_mean:.1f}, {naive:.1f} (predicted {warned:.1f})",
                "the print is of a continuous law, rounded; over 20,000 tables of (5.2) "
                f"{right[2]}, {right[3]}",
            )
        )
    else:
        figures.append(
            _simulated(f"{name}: naive", (naive_mean, naive_share), (ordinary_mean, naive))
        )
    figures.append(
        differs(
            f"{name}: power of LR where attributes depend",
            f"{power}",
            f"{powers[0]:.1f} (score {powers[1]:.1f})",
            f"0.7·γ does not give the print, about {DEPENDENCE}·γ does; over 20,000 tables {right[4]}",
        )
    )
    row = (
        f"{epsilon}, {reach}", f"{ordinary.mean():.1f}, {naive:.1f}", f"{warned:.1f}",
        f"{found.lr.mean():.1f}, {level:.1f}", f"{found.score.mean():.1f}, {score_level:.1f}",
        f"{powers[0]:.1f}", f"{powers[1]:.1f}",
    )  # fmt: skip
    return figures, row


def _simulated(name: str, printed: tuple[float, float], found: tuple[float, float]) -> Figure:
    """Two simulations of 1,000 tables each: mean and share within 3 standard errors of their gap."""
    near = abs(printed[0] - found[0]) < 1.5 * _MEAN and abs(printed[1] - found[1]) < 1.5 * _SHARE
    return holds(
        f"{name}, mean and % ≤ 0.05",
        f"{printed[0]}, {printed[1]}, by 1,000 draws",
        near,
        f"{found[0]:.1f}, {found[1]:.1f}, by other draws: within 3 standard errors",
    )


def _binomial() -> list[Figure]:
    """§6.2 by enumeration; the print has 500 draws."""
    figures = []
    for reach, point, printed, power in ((5, 3.3611, "3.36", "0.95"), (10, 3.8162, "3.82", "0.92")):
        right, wrong = (_gof(reach, share) for share in (0.5, 0.7))
        atoms = np.unique(np.round(right.statistic, 3))
        figures.append(
            holds(
                f"§6.2, m = {reach}: the 95 % point, by 500 draws",
                printed,
                bool((np.abs(atoms - point) < 2e-3).any()),
                f"an atom at {point:.3f} with P(stat ≤ it) = {right.cumulative(point):.4f}",
            )
        )
        found = wrong.power(0.5, point)
        figures.append(
            differs(
                f"§6.2, m = {reach}: power against p = 0.7",
                power,
                f"{found:.3f}",
                "from 500 draws; by enumeration as here",
            )
        )
    return figures


def _figure_4() -> Grid:
    """The histograms of 2 log(likelihood ratio) as exact shares: data of p = 0.5, m = 5."""
    ends = (0.0, 1.0, 2.0, 3.84, 6.0, 10.0, 20.0, 50.0, float("inf"))
    rows = []
    for share in (0.5, 0.7):
        found = _gof(5, share)
        above = [found.power(0.5, end - 2e-9) if end else 1.0 for end in ends[:-1]] + [0.0]
        shares = [f"{100 * (one - two):.1f}" for one, two in pairwise(above)]
        rows.append((f"H0: p = {share}", *shares))
    named = [f"{low:g} to {high:g}" for low, high in pairwise(ends[:-1])]
    title = "Figure 4 by enumeration: % of 2 log(likelihood ratio), N = 80, ε = 0.5, m = 5"
    return Grid(title, ("tested", *named, "50 or more"), tuple(rows))


def _gof(reach: int, share: float) -> Binomial:
    return binomial(channel(dc.laplace("0.5", reach)), 80, share)
