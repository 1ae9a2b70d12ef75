"""What is measured, what it costs, and the exact draws.

A measured table is a margin in whole numbers, each axis either as its *cells* or, for an axis of
two categories, as a *contrast* (first minus second). A margin whose every axis is a contrast is a
Fourier coefficient of barak §2.2, times 2^(k/2): a sum of ±1 over records.

**Sensitivity.** One record adds 1 to one number of a table of cells and ±1 to one number of a
table with contrasts. So adding or removing a record moves each table by 1 in L1. Replacing one
moves a table by 2, or by 0 where the two records fall in the same place of it: where they differ
only in axes it does not have, or in an even number of its contrast axes and no other axis of it.
In squared L2 the move is 1, and 2 or 0, but 4 where only contrast axes differ: one number goes from
1 to −1. `cost` takes the largest sum over all sets of axes two records can differ in; it is exact up
to 20 axes (or for all margins of an order over binary axes at any number), a bound beyond.

**Noise.** Each number of a table gets exact, untruncated noise of its table's `rate`: discrete
Laplace, one step of one number costing `rate` of ε; or discrete Gaussian with σ² = 1 / 2·rate, a
squared step of one number costing `rate` of ρ. Either way `cost` = largest Σ rate × move.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...core.gaussian import DiscreteGaussian
from ...core.neighbours import Neighbours
from ...core.product import Margin, Shape, Whole
from ...core.pure_laplace import PureLaplace
from ...core.random_source import RandomSource
from ...errors import Bug
from ..shared.drawn_noise import Noise, check_least, law_of, letter_of, most_rate, variance_of

MOST_AXES_ENUMERATED = 20


@dataclass(frozen=True)
class Measured:
    """One table to be measured; `contrast` are those of its axes counted as a difference."""

    margin: Margin
    contrast: Margin
    rate: Fraction
    noise: Noise = "laplace"

    @property
    def name(self) -> str:
        """A name for stored arrays: axes by position, contrasts marked."""
        marks = [f"{axis}{'c' if axis in self.contrast else ''}" for axis in self.margin]
        return "table " + (".".join(marks) or "total")

    @property
    def cells(self) -> Margin:
        """The axes measured by their cells."""
        return tuple(axis for axis in self.margin if axis not in self.contrast)

    @property
    def law(self) -> PureLaplace | DiscreteGaussian:
        """The law of its noise: exact, untruncated."""
        return law_of(self.noise, self.rate)

    @property
    def variance(self) -> float:
        """The exact variance of one number's noise, as a float."""
        return variance_of(self.noise, self.rate)

    @property
    def said(self) -> str:
        """Its noise as stored beside the numbers: the rate, or σ² of the Gaussian."""
        if self.noise == "laplace":
            return str(self.rate)
        return f"sigma2 {1 / (2 * self.rate)}"

    @classmethod
    def read(cls, name: str, said: str) -> Measured:
        """A table again from its `name` and what it `said`.

        >>> one = Measured((0, 3), (3,), Fraction(1, 3), "gaussian")
        >>> Measured.read(one.name, one.said) == one
        True
        """
        axes = [] if name == "table total" else name.removeprefix("table ").split(".")
        margin = tuple(int(axis.rstrip("c")) for axis in axes)
        contrast = tuple(int(axis[:-1]) for axis in axes if axis.endswith("c"))
        if said.startswith("sigma2 "):
            return cls(
                margin, contrast, 1 / (2 * Fraction(said.removeprefix("sigma2 "))), "gaussian"
            )
        return cls(margin, contrast, Fraction(said))

    def shape(self, shape: Shape) -> Shape:
        """The shape of what is measured; a contrast axis has length 1."""
        return tuple(1 if axis in self.contrast else shape[axis] for axis in self.margin)

    def of(self, true_margin: Whole) -> Whole:
        """The whole numbers measured, from the margin's cells."""
        table = true_margin
        for position, axis in enumerate(self.margin):
            if axis in self.contrast:
                first, second = np.split(table, 2, axis=position)
                table = first - second
        return table

    @property
    def single(self) -> bool:
        """Whether it is one number: a Fourier coefficient or the total."""
        return self.contrast == self.margin


def cost(measured: Sequence[Measured], axes: int, neighbours: Neighbours) -> Fraction:
    """The ε (or ρ) that all measurements cost together, one record being the change.

    >>> pair = Measured((0, 1), (), Fraction(1, 2)); total = Measured((), (), Fraction(1, 8))
    >>> tuple(cost([pair, total], 2, neighbours) for neighbours in Neighbours)
    (Fraction(5, 8), Fraction(1, 1))
    >>> cost([Measured((0,), (0,), Fraction(1, 2), "gaussian")], 1, Neighbours.REPLACE_ONE)
    Fraction(2, 1)
    """
    if len({m.noise for m in measured}) > 1:
        raise Bug("A plan mixes two kinds of noise.")
    if neighbours is Neighbours.ADD_REMOVE:
        return sum((m.rate for m in measured), Fraction(0))
    tables = [m for m in measured if m.margin]
    if not tables:
        return Fraction(0)
    by_order = symmetric_orders(tables, axes)
    if by_order is not None:
        rates, order = by_order
        move = _turned(tables[0].noise)
        return max(
            (
                sum((move * row[r] * rate for r, rate in rates.items()), Fraction(0))
                for row in flips(axes, order)
            ),
            default=Fraction(0),
        )
    most = sum((m.rate * (_turned(m.noise) if m.contrast else 2) for m in tables), Fraction(0))
    if axes > MOST_AXES_ENUMERATED:
        return most
    unit = math.lcm(*(m.rate.denominator for m in tables))
    whole = [int(m.rate * unit) for m in tables]
    common = math.gcd(*whole)
    whole = [rate // common for rate in whole]
    if 4 * sum(whole) >= 1 << 62:
        return most
    return Fraction(_enumerated(tables, whole, axes) * common, unit)


def _turned(noise: Noise) -> int:
    """How far a number counts as moved that goes from 1 to −1: 2, or 2² where squares count."""
    return 2 if noise == "laplace" else 4


def cost_is_exact(measured: Sequence[Measured], axes: int, neighbours: Neighbours) -> bool:
    """Whether `cost` is the cost itself, not a bound from above."""
    tables = [m for m in measured if m.margin]
    return (
        neighbours is Neighbours.ADD_REMOVE
        or axes <= MOST_AXES_ENUMERATED
        or not tables
        or symmetric_orders(tables, axes) is not None
    )


def flips(axes: int, order: int) -> list[dict[int, int]]:
    """For two records that differ in d = 1 … axes binary variables: how many coefficients of each
    order r ≤ `order` change sign, Σ over odd o of C(d, o)·C(axes − d, r − o).

    >>> flips(3, 2)
    [{1: 1, 2: 2}, {1: 2, 2: 2}, {1: 3, 2: 0}]
    """
    return [
        {
            r: sum(math.comb(d, o) * math.comb(axes - d, r - o) for o in range(1, r + 1, 2))
            for r in range(1, order + 1)
        }
        for d in range(1, axes + 1)
    ]


def symmetric_orders(
    tables: Sequence[Measured], axes: int
) -> tuple[Mapping[int, Fraction], int] | None:
    """The rate of each order if these are *all* coefficients of some orders, one rate an order."""
    rates: dict[int, Fraction] = {}
    found: dict[int, int] = {}
    for m in tables:
        if m.contrast != m.margin or rates.setdefault(len(m.margin), m.rate) != m.rate:
            return None
        found[len(m.margin)] = found.get(len(m.margin), 0) + 1
    order = max(found)
    whole = all(count == math.comb(axes, r) for r, count in found.items())
    return (rates, order) if whole and len({m.margin for m in tables}) == len(tables) else None


def _enumerated(tables: Sequence[Measured], whole: Sequence[int], axes: int) -> int:
    """The largest change over all sets of differing axes, in whole units."""
    differing = np.arange(1 << axes, dtype=np.int64)
    total = np.zeros(1 << axes, dtype=np.int64)
    for table, rate in zip(tables, whole, strict=True):
        cells = sum(1 << axis for axis in table.cells)
        contrasts = sum(1 << axis for axis in table.contrast)
        odd = differing & contrasts
        for shift in (16, 8, 4, 2, 1):
            odd ^= odd >> shift
        left = (differing & cells) != 0
        total += np.where(left, 2 * rate, _turned(table.noise) * rate * (odd & 1))
    return int(total.max())


def scaled_to(
    shares: Mapping[tuple[Margin, Margin], float],
    budget: Fraction,
    axes: int,
    neighbours: Neighbours,
    noise: Noise = "laplace",
) -> tuple[Measured, ...]:
    """Measured tables whose rates are in these proportions and cost at most `budget`, exactly.

    Proportions are floats from a search; the rates made of them are whole multiples of a fraction,
    so that the cost is computed exactly and never exceeds what is allowed.
    """
    top = max(shares.values())
    units = {key: max(1, round(share / top * 10**9)) for key, share in shares.items()}
    first = [Measured(m, c, Fraction(u), noise) for (m, c), u in units.items()]
    spent = cost(first, axes, neighbours)
    if spent == 0:
        raise Bug("A plan measures nothing that a record can change.")
    unit = budget / spent
    made = tuple(Measured(m.margin, m.contrast, m.rate * unit, noise) for m in first)
    check_least(noise, min(m.rate for m in made))
    if noise == "gaussian":  # no law has less noise than this; then less than ρ is spent
        most = most_rate(noise)
        made = tuple(Measured(m.margin, m.contrast, min(m.rate, most), noise) for m in made)
    if cost(made, axes, neighbours) > budget:
        raise Bug(f"A plan costs more than its {letter_of(noise)}.")
    return made


def farthest(measured: Measured, share: float, draws: int = 1) -> float:
    """How far its noise goes, up or down, but for this share of releases.

    One draw: the least such whole number. A sum of several: a bound by its moments (Chernoff).
    """
    law, rate = measured.law, float(measured.rate)
    if isinstance(law, DiscreteGaussian):
        if draws > 1:  # moments are no larger than the continuous Gaussian's
            return math.sqrt(2 * draws * float(law.sigma2) * math.log(2 / share))
        tails = 2 * np.cumsum(law.side[::-1])[::-1]  # P(|Z| ≥ z) for z ≥ 1
        return float(max(1, int(np.searchsorted(-tails, -share))) - 1)
    ratio = math.exp(-rate)
    if draws > 1:
        tilt = rate * np.arange(1, 400) / 400
        moments = 2 * np.log1p(-ratio) - np.log1p(-ratio * np.exp(tilt))
        moments -= np.log1p(-ratio * np.exp(-tilt))
        return float(((draws * moments + math.log(2 / share)) / tilt).min())
    # P(|Z| > t) = 2 r^(t + 1) / (1 + r)
    return float(max(0, math.ceil(math.log(2 / (1 + ratio) / share) / rate) - 1))


COEFFICIENTS = "coefficients"
"""The stored array of all measured single numbers (Fourier coefficients, the total), in order."""


def draw_all(
    measured: Sequence[Measured],
    margin: Callable[[Margin], Whole],
    source: RandomSource | None = None,
) -> dict[str, Whole]:
    """Noisy whole numbers of every measured table by name, single numbers in one array."""
    tables = [m.of(margin(m.margin)) for m in measured]
    noisy: dict[int, Whole] = {}
    by_law: dict[PureLaplace | DiscreteGaussian, list[int]] = {}
    for index, m in enumerate(measured):
        by_law.setdefault(m.law, []).append(index)
    for law, members in by_law.items():
        noise = law.draw(sum(tables[i].size for i in members), source).astype(np.int64)
        at = 0
        for i in members:
            part = noise[at : at + tables[i].size]
            noisy[i] = tables[i] + part.reshape(tables[i].shape)
            at += tables[i].size
    out = {}
    singles = []
    for i, m in enumerate(measured):
        if m.single:
            singles.append(int(noisy[i].ravel()[0]))
        else:
            out[m.name] = noisy[i]
    out[COEFFICIENTS] = np.array(singles, dtype=np.int64)
    return out


def read_all(
    measured: Sequence[Measured], arrays: Mapping[str, Whole], shape: Shape
) -> list[Whole]:
    """The noisy tables in the plan's order, from what `draw_all` made."""
    singles = iter(arrays[COEFFICIENTS].tolist())
    return [
        np.array(next(singles), dtype=np.int64).reshape(m.shape(shape))
        if m.single
        else arrays[m.name]
        for m in measured
    ]
