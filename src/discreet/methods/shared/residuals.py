"""Everything measured, combined into one unbiased estimate, in closed form (residual space).

The *residual* of a margin A is the part of it that none of its own margins knows: the table with
every axis centred. A margin is the sum of the residuals of its margins, each spread evenly, and
residuals of different margins do not mix. So the best linear unbiased estimate of everything is,
for each residual, a mean weighted by precision. A measured table B with variance v in each number
sees residual A ⊆ B with precision 1/v times, over its axes: 1 for a cell axis in A, 1/n for one
not in A, 2 for a contrast axis in A, 0 for one not in A.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ...core.product import Margin, Reals, Shape, Whole, closure, spread, subsets
from ...errors import Bug

HARD = 1e18
"""The precision of what is known exactly, such as a declared total."""


class Reading(Protocol):
    """A measured table: its axes, which of them as a difference, and the variance of a number."""

    @property
    def margin(self) -> Margin:
        """The axes it keeps."""

    @property
    def contrast(self) -> Margin:
        """Those of them, of two categories, measured as first minus second."""

    @property
    def variance(self) -> float:
        """The variance of each of its numbers."""


@dataclass(frozen=True)
class Residual:
    """An estimate of one residual: centred table, precision in each of its directions."""

    table: Reals
    precision: float


Residuals = dict[Margin, Residual]


def centre(table: npt.NDArray[np.generic]) -> Reals:
    """Take the mean off along every axis: the projection on the residual."""
    out = np.asarray(table, dtype=np.float64)
    for axis in range(out.ndim):
        out = out - out.mean(axis=axis, keepdims=True)
    return out


def information(shape: Shape, measured: Reading, residual: Margin) -> float:
    """The precision on a residual for each unit of precision of a measured table's numbers."""
    if not set(residual) <= set(measured.margin):
        return 0.0
    product = 1.0
    for axis in measured.margin:
        if axis in measured.contrast:
            product *= 2.0 if axis in residual else 0.0
        elif axis not in residual:
            product /= shape[axis]
    return product


def precisions(
    shape: Shape, measured: Sequence[Reading], residuals: Iterable[Margin], *, total: bool
) -> dict[Margin, float]:
    """How well each residual will be known, before anything is measured; `total`: it is public."""
    wanted = set(residuals)
    found = dict.fromkeys(wanted, 0.0)
    for m in measured:
        each = 1 / m.variance
        for kept in subsets(m.margin):
            if kept in wanted:
                found[kept] += each * information(shape, m, kept)
    if total and () in found:
        found[()] = HARD
    return found


def combine(
    shape: Shape,
    measured: Sequence[Reading],
    tables: Sequence[Whole],
    wanted: Iterable[Margin],
    *,
    total: int | None = None,
) -> Residuals:
    """The best linear unbiased estimate of every wanted residual; precision 0 where nothing is known."""
    sums: dict[Margin, Reals] = {}
    known: dict[Margin, float] = {}
    residuals = closure(wanted)
    allowed = set(residuals)
    for m, table in zip(measured, tables, strict=True):
        each = 1 / m.variance
        for kept in subsets(m.margin):
            precision = each * information(shape, m, kept)
            if kept in allowed and precision > 0:
                seen = precision * _seen(m, table, kept)
                sums[kept] = sums[kept] + seen if kept in sums else seen
                known[kept] = known.get(kept, 0.0) + precision
    out: Residuals = {}
    for kept in residuals:
        if kept in sums:
            out[kept] = Residual(sums[kept] / known[kept], known[kept])
        else:
            out[kept] = Residual(np.zeros([shape[axis] for axis in kept]), 0.0)
    if total is not None:
        out[()] = Residual(np.array(float(total)), HARD)
    return out


def _seen(measured: Reading, table: Whole, residual: Margin) -> Reals:
    """What one measured table says of a residual: sum the other axes, open contrasts, centre."""
    reals = table.astype(np.float64)
    gone = tuple(position for position, axis in enumerate(measured.margin) if axis not in residual)
    reals = reals.sum(axis=gone)
    for position, axis in enumerate(residual):
        if axis in measured.contrast:
            reals = np.concatenate([reals / 2, -reals / 2], axis=position)
    return centre(reals)


def rebuild(shape: Shape, residuals: Mapping[Margin, Residual], margin: Margin) -> Reals:
    """The unbiased margin: the sum of its residuals, each spread evenly."""
    out: Reals = np.zeros([shape[axis] for axis in margin])
    for kept in subsets(margin):
        others = math.prod(shape[axis] for axis in margin if axis not in kept)
        out = out + spread(residuals[kept].table, kept, margin, shape) / others
    return out


def sum_variance(
    shape: Shape,
    known: Mapping[Margin, float],
    margin: Margin,
    sizes: Sequence[npt.NDArray[np.generic]],
) -> Reals:
    """The exact variance of sums of a margin's cells over product sets of categories.

    `sizes[p]` holds, for every category of the published axis p, how many of the margin's own
    categories it sums (1: the category itself, n: the total). Infinite where a residual it needs
    was not measured.

    >>> known = {(): 1.0, (0,): 1.0}
    >>> sum_variance((4,), known, (0,), [np.array([1, 4])]).tolist()
    [0.8125, 1.0]
    """
    out: Reals = np.zeros([len(s) for s in sizes])
    sides = []
    for axis, held in zip(margin, sizes, strict=True):
        many, n = np.asarray(held, dtype=np.float64), shape[axis]
        sides.append(((many / n) ** 2, np.maximum(many - many**2 / n, 0.0)))
    for kept in subsets(margin):
        part: Reals = np.ones(())
        for axis, side in zip(margin, sides, strict=True):
            part = np.multiply.outer(part, side[axis in kept])
        precision = known.get(kept, 0.0)
        if precision <= 0:
            out = out + np.where(part > 1e-12, np.inf, 0.0)
        elif precision < HARD:
            out = out + part / precision
    return out


def mean_variance(shape: Shape, known: Mapping[Margin, float], margin: Margin) -> float:
    """The variance of a margin's cells, which is the same for all of them.

    >>> mean_variance((4, 3), {(): 1.0, (0,): 1.0}, (0,)), mean_variance((4, 3), {(): 1.0}, (1,))
    (0.8125, inf)
    """
    if not margin:
        return 0.0 if known.get((), 0.0) >= HARD else 1 / max(known.get((), 0.0), 1e-300)
    total = 0.0
    for kept in subsets(margin):
        part = 1.0
        for axis in margin:
            part *= 1 - 1 / shape[axis] if axis in kept else (1 / shape[axis]) ** 2
        precision = known.get(kept, 0.0)
        if precision <= 0:
            if part > 1e-12:
                return math.inf
        elif precision < HARD:
            total += part / precision
    return total


@dataclass(frozen=True)
class Cells:
    """A reading of all the cells of a margin, each with this variance."""

    margin: Margin
    variance: float
    contrast: Margin = ()


@dataclass(frozen=True)
class Components:
    """Least squares over margins of one table of shape `shape`, before and after they are read.

    `total_known` says that the grand total is known exactly.

    >>> two = Components((2, 3), (Cells((0, 1), 1.0), Cells((0,), 1.0)))
    >>> round(two.variance((0,)), 4)      # alone 1, from the interior 3
    0.75
    """

    shape: Shape
    readings: tuple[Reading, ...]
    total_known: bool = False

    @cached_property
    def known(self) -> dict[Margin, float]:
        """How well each residual will be known."""
        every = {*closure(reading.margin for reading in self.readings), ()}
        return precisions(self.shape, self.readings, every, total=self.total_known)

    def variance(self, margin: Margin) -> float:
        """The variance of a cell of the estimate of a margin; infinite where it cannot be had."""
        return mean_variance(self.shape, self.known, margin)

    def estimate(
        self, values: Sequence[Whole], targets: Sequence[Margin], total: int | None = None
    ) -> dict[Margin, Reals]:
        """The estimates of the targets from what the readings brought, axes in the table's order."""
        if self.total_known and total is None:
            raise Bug("A known total was not given to the least-squares fit.")
        known = total if self.total_known else None
        residuals = combine(self.shape, self.readings, values, targets, total=known)
        if any(one.precision <= 0 for one in residuals.values()):
            raise Bug("A wanted margin cannot be had from the measured ones.")
        return {target: rebuild(self.shape, residuals, target) for target in targets}
