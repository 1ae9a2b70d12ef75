"""How far rounding to whole numbers moved every number of the tables asked for.

A fit is rounded level by level, so what is told is the difference between whole numbers and the fit
they were made from, which starts from the whole numbers of the level above.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ....core.product import Margin, Reals, Shape, Whole

UNIT = 1 << 32
"""Differences are kept as whole numbers of 1/UNIT."""

Moved = Mapping[tuple[int, Margin], Whole]
"""By level and margin: nodes by places, in units."""


def moved_by(counts: Whole, fitted: Reals | Whole, places: Whole, cells: int) -> Whole:
    """The difference in a margin of cells by children, of which each cell has its place.

    >>> moved_by(np.array([[1], [0]]), np.array([[0.5], [0.5]]), np.array([0, 1]), 2) / UNIT
    array([[ 0.5, -0.5]])
    """
    off = counts - fitted
    sums = [np.bincount(places, weights=column, minlength=cells) for column in off.T]
    return np.rint(np.stack(sums) * UNIT).astype(np.int64)


def moved_in(found: Moved, level: int, margin: Margin, shape: Shape) -> Reals | None:
    """The differences in a table: nodes first, then its axes; None where nothing is known of it."""
    wider = [one for at, one in found if at == level and set(margin) <= set(one)]
    if not wider:
        return None
    best = min(wider, key=len)
    table = found[level, best] / UNIT
    table = table.reshape(len(table), *(shape[axis] for axis in best))
    gone = tuple(1 + i for i, axis in enumerate(best) if axis not in margin)
    return np.asarray(table.sum(axis=gone))


def upwards(value: float) -> str:
    """A bound with two decimals, rounded up, past the float's own error.

    >>> upwards(0.501), upwards(0.0), upwards(12.0)
    ('0.51', '0', '12.01')
    """
    return f"{math.ceil(100 * value + 1e-3) / 100:,.2f}" if value > 1e-6 else "0"
