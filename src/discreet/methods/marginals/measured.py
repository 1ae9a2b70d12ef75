"""What is measured, what it costs, and the exact draws.

A measured table is a margin in whole numbers, each axis either as its *cells* or, for an axis of
two categories, as a *contrast* (first minus second). A margin whose every axis is a contrast is a
Fourier coefficient of barak §2.2, times 2^(k/2): a sum of ±1 over records.

**Sensitivity.** One record adds 1 to one number of a table of cells and ±1 to one number of a
table with contrasts. So adding or removing a record moves each table by 1 in L1. Replacing one
moves a table by 2, or by 0 where the two records fall in the same place of it: where they differ
only in axes it does not have, or in an even number of its contrast axes and no other axis of it.
`cost` takes the largest sum over all sets of axes two records can differ in; it is exact up to 20
axes (or for all margins of an order over binary axes at any number), a bound beyond.

**Noise.** Each number of a table gets untruncated discrete Laplace noise of its table's `rate`:
one step of one number costs `rate` of ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ...core.charge import Neighbours
from ...core.pure_laplace import PureLaplace
from ...core.sampling import draw
from ...errors import Bug, InputError
from .margins import Margin, Shape, Whole

MOST_AXES_ENUMERATED = 20


@dataclass(frozen=True)
class Measured:
    """One table to be measured; `contrast` are those of its axes counted as a difference."""

    margin: Margin
    contrast: Margin
    rate: Fraction

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
    def law(self) -> PureLaplace:
        """The law of its noise: exact, untruncated."""
        return PureLaplace.of(self.rate)

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
    """The ε that all measurements cost together, one record being the change.

    >>> pair = Measured((0, 1), (), Fraction(1, 2)); total = Measured((), (), Fraction(1, 8))
    >>> cost([pair, total], 2, "add-remove"), cost([pair, total], 2, "replace-one")
    (Fraction(5, 8), Fraction(1, 1))
    """
    if neighbours == "add-remove":
        return sum((m.rate for m in measured), Fraction(0))
    tables = [m for m in measured if m.margin]
    if not tables:
        return Fraction(0)
    by_order = _symmetric_orders(tables, axes)
    if by_order is not None:
        rates, order = by_order
        return max(
            (
                sum((2 * flipped * rates[r] for r, flipped in row.items()), Fraction(0))
                for row in flips(axes, order)
            ),
            default=Fraction(0),
        )
    if axes > MOST_AXES_ENUMERATED:
        return 2 * sum((m.rate for m in tables), Fraction(0))
    unit = math.lcm(*(m.rate.denominator for m in tables))
    whole = [int(m.rate * unit) for m in tables]
    common = math.gcd(*whole)
    whole = [rate // common for rate in whole]
    if 2 * sum(whole) >= 1 << 62:
        return 2 * sum((m.rate for m in tables), Fraction(0))
    return Fraction(_enumerated(tables, whole, axes) * common, unit)


def cost_is_exact(measured: Sequence[Measured], axes: int, neighbours: Neighbours) -> bool:
    """Whether `cost` is the cost itself, not a bound from above."""
    tables = [m for m in measured if m.margin]
    return (
        neighbours == "add-remove"
        or axes <= MOST_AXES_ENUMERATED
        or not tables
        or _symmetric_orders(tables, axes) is not None
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


def _symmetric_orders(
    tables: Sequence[Measured], axes: int
) -> tuple[Mapping[int, Fraction], int] | None:
    """The rate of each order if these are *all* coefficients up to an order, one rate an order."""
    rates: dict[int, Fraction] = {}
    found: dict[int, int] = {}
    for m in tables:
        if m.contrast != m.margin or rates.setdefault(len(m.margin), m.rate) != m.rate:
            return None
        found[len(m.margin)] = found.get(len(m.margin), 0) + 1
    order = max(found)
    whole = all(found.get(r) == math.comb(axes, r) for r in range(1, order + 1))
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
        moved = ((differing & cells) != 0) | ((odd & 1) != 0)
        total += 2 * rate * moved
    return int(total.max())


def scaled_to(
    shares: Mapping[tuple[Margin, Margin], float],
    epsilon: Fraction,
    axes: int,
    neighbours: Neighbours,
    *,
    least: Fraction = Fraction(1, 10**6),
) -> tuple[Measured, ...]:
    """Measured tables whose rates are in these proportions and cost at most `epsilon`, exactly.

    Proportions are floats from a search; the rates made of them are whole multiples of ε/10^9, so
    that the cost is computed exactly and never exceeds what is allowed.
    """
    top = max(shares.values())
    units = {key: max(1, round(share / top * 10**9)) for key, share in shares.items()}
    first = [Measured(m, c, Fraction(u)) for (m, c), u in units.items()]
    spent = cost(first, axes, neighbours)
    if spent == 0:
        raise Bug("A plan measures nothing that a record can change.")
    unit = epsilon / spent
    made = tuple(Measured(m.margin, m.contrast, m.rate * unit) for m in first)
    if cost(made, axes, neighbours) > epsilon or any(m.rate < least for m in made):
        low = min(m.rate for m in made)
        if low < least:
            raise InputError(
                f"This workload leaves {float(low):.2g} of ε for a table, less than the least a "
                "law can have (0.000001). Ask for fewer margins, or a larger epsilon."
            )
        raise Bug("A plan costs more than its ε.")
    return made


def variance_of(measured: Measured) -> float:
    """The exact variance of one number's noise, as a float."""
    return _variance(measured.rate)


@lru_cache(maxsize=4096)
def _variance(rate: Fraction) -> float:
    return float(PureLaplace.of(rate).variance)


COEFFICIENTS = "coefficients"
"""The stored array of all measured single numbers (Fourier coefficients, the total), in order."""


def draw_all(measured: Sequence[Measured], margin: Callable[[Margin], Whole]) -> dict[str, Whole]:
    """Noisy whole numbers of every measured table by name, single numbers in one array."""
    tables = [m.of(margin(m.margin)) for m in measured]
    noisy: list[Whole | None] = [None] * len(tables)
    by_rate: dict[Fraction, list[int]] = {}
    for index, m in enumerate(measured):
        by_rate.setdefault(m.rate, []).append(index)
    for rate, members in by_rate.items():
        noise = draw(PureLaplace.of(rate), sum(tables[i].size for i in members)).astype(np.int64)
        at = 0
        for i in members:
            part = noise[at : at + tables[i].size]
            noisy[i] = tables[i] + part.reshape(tables[i].shape)
            at += tables[i].size
    out = {}
    singles = []
    for m, table in zip(measured, noisy, strict=True):
        if table is None:
            raise Bug("A measured table was not drawn.")
        if m.single:
            singles.append(int(table.ravel()[0]))
        else:
            out[m.name] = table
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
