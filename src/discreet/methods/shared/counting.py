"""What a workload needs counted, and the counts as rows over its product of variables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core import true_values
from ...core.domain import MOST_CELLS
from ...core.product import Margin, Rows, Shape, Whole, size
from ...core.table import TrueTable
from .workload import Workload


def covers_of(shape: Shape, margins: Sequence[Margin]) -> tuple[Margin, ...]:
    """As few counts as will do: all axes at once if their product can be addressed."""
    axes = tuple(sorted({axis for margin in margins for axis in margin}))
    if size(shape, axes) <= MOST_CELLS:
        return (axes,)
    covers: list[set[int]] = []
    for margin in sorted(set(margins), key=lambda m: (-size(shape, m), m)):
        for cover in covers:
            if size(shape, cover | set(margin)) <= MOST_CELLS:
                cover |= set(margin)
                break
        else:
            covers.append(set(margin))
    return tuple(tuple(sorted(cover)) for cover in covers)


def rows_of(workload: Workload, cover: Margin, table: TrueTable) -> tuple[Rows, Whole]:
    """The cells of a count over these axes as rows of all axes (0 where it has none), and counts.

    Column after column in memory: margins read a few columns of all rows.
    """
    cells = true_values.reveal(table)
    rows, counts = table.domain.coordinates(cells.addresses), cells.counts
    full = np.zeros((len(rows), len(workload.shape)), dtype=np.int64, order="F")
    for axis, column in zip(cover, rows.T, strict=True):
        place = workload.domain.axes[axis]
        level = place.variable.level(place.level.name)  # as counted: with what holds nothing
        full[:, axis] = column if place.level is level else level.holders(place.level)[column]
    return full, counts
