"""The synthetic table: whole counts of cells, from which every table follows at no further cost.

Only cells that hold somebody are kept. Any margin, at any coarser level, under any filter, is a sum
of these rows, so any two tables made of it agree exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.product import (
    Margin,
    Reals,
    Rows,
    Shape,
    Whole,
    margin_of_rows,
    maximal,
    size,
    whole_margin_of_rows,
)
from .rounding import largest_remainder, swap_repair

MOST_CELLS_REPAIRED = 1 << 15


@dataclass(frozen=True)
class SyntheticTable:
    """A sparse table of whole counts > 0 over a product of axes."""

    shape: Shape
    rows: Rows
    counts: Whole

    @classmethod
    def of(cls, shape: Shape, rows: Rows, counts: Whole) -> SyntheticTable:
        """From counts of which some may be 0."""
        held = np.flatnonzero(counts)
        return cls(shape, rows[held], counts[held])

    @property
    def total(self) -> int:
        """How many synthetic records there are."""
        return int(self.counts.sum())

    def margin(self, margin: Margin) -> Whole:
        """A margin, exactly."""
        return whole_margin_of_rows(self.rows, self.shape, margin, self.counts)


def whole_table(
    shape: Shape,
    rows: Rows,
    weights: Reals,
    total: int,
    *,
    margins: Sequence[Margin] = (),
    allowed: Callable[[Rows], Reals] | None = None,
) -> SyntheticTable:
    """The fitted fractions as whole numbers with exactly this total.

    The support is no larger than the number of estimates, and each of its cells moves by less
    than 1 (barak §3.2). Where there is hardly any noise that would be most of the error, so in
    domains of up to `MOST_CELLS_REPAIRED` cells single records are then moved, between cells that
    are `allowed`, while that brings the `margins` nearer to the fractions'.
    """
    if total <= 0 or len(rows) == 0:
        return SyntheticTable(shape, rows[:0], np.zeros(0, dtype=np.int64))
    scaled = weights * (total / weights.sum())
    counts = largest_remainder(scaled, total)
    cells = size(shape, range(len(shape)))
    if margins and cells <= MOST_CELLS_REPAIRED:
        dense = np.zeros(shape, dtype=np.int64)
        np.add.at(dense, tuple(rows.T), counts)
        every = np.stack(np.unravel_index(np.arange(cells), shape), axis=1).astype(np.int64)
        dense = swap_repair(
            dense,
            {margin: margin_of_rows(rows, shape, margin, scaled) for margin in maximal(margins)},
            allowed=None if allowed is None else allowed(every).reshape(shape) > 0,
        )
        rows, counts = every, dense.ravel()
    return SyntheticTable.of(shape, rows, counts)
