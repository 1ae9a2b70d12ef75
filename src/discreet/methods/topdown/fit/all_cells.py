"""The fit where all cells were measured: each area's own noisy cells, not negative, its total kept.

There is hardly any noise then, so cells stay as they are. Where empty cells went up and none could go
down, as many cells of 1 as are too many for the area's total become 0, evenly spread.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....core.control import Control
from ....core.domain import Flags
from ....core.product import Whole
from ...shared.rounding import largest_remainder
from .block import projected
from .kept_parts import Cells


def fit_all_cells(
    noisy: Whole, totals: Whole, possible: Sequence[Flags | None], control: Control
) -> list[Cells]:
    """The cells of every area, from a noisy number for each; nodes first."""
    found = []
    for node, (numbers, total) in enumerate(zip(noisy, totals.tolist(), strict=True)):
        if node % 64 == 0:
            control.step(node / len(noisy), "fitting areas")
        here = possible[node]
        counts = numbers.copy() if here is None else np.where(here, numbers, 0)
        counts = _with_total(np.maximum(counts, 0), int(total))
        at = np.flatnonzero(counts)
        found.append(Cells(at, counts[at]))
    return found


def _with_total(counts: Whole, total: int) -> Whole:
    """Whole numbers ≥ 0 near these with exactly this total; empty cells stay empty."""
    over = int(counts.sum()) - total
    held = np.flatnonzero(counts)
    if over == 0 or len(held) == 0:
        return counts
    ones = held[counts[held] == 1]
    if 0 < over <= len(ones):
        chosen = ((np.arange(over) + 0.5) * len(ones) / over).astype(np.int64)
        counts[ones[chosen]] = 0
        return counts
    fitted = projected(counts[held].astype(np.float64), np.ones(len(held)), float(total))
    counts[held] = largest_remainder(fitted, total)
    return counts
