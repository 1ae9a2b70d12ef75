"""How far a mechanism leads astray, judged on what it released: free, and of nobody.

The released table is taken for the truth, the mechanism is run on it again and again, and what comes
out is compared with what went in. That uses nothing but the release and public facts, so it costs
nothing. Where the release is near the truth so is its bias; nothing more is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.control import Control
from ...core.product import Reals, Whole
from .synthetic_table import SyntheticTable


@dataclass(frozen=True)
class Bias:
    """The mean difference of every cell of a table over so many runs, and how sure that is."""

    mean: Reals
    standard_error: Reals
    runs: int


def simulated_bias(
    released: SyntheticTable,
    remade: Callable[[SyntheticTable, Control], SyntheticTable],
    tables: Sequence[Callable[[SyntheticTable], Whole]],
    runs: int,
    control: Control,
) -> list[Bias]:
    """The bias of every table read off, when the mechanism runs on what it released.

    `remade` runs it once: noise and fit; `tables` read their numbers off a synthetic table.
    """
    before = [table(released).astype(np.float64) for table in tables]
    sums = [np.zeros_like(one) for one in before]
    squares = [np.zeros_like(one) for one in before]
    for run in range(runs):
        after = remade(released, control.part(run / runs, (run + 1) / runs, f"run {run + 1}"))
        for i, table in enumerate(tables):
            off = table(after) - before[i]
            sums[i] += off
            squares[i] += off**2
    found = []
    for total, square in zip(sums, squares, strict=True):
        mean = total / runs
        spread = np.maximum(square / runs - mean**2, 0.0) / max(1, runs - 1)
        found.append(Bias(mean, np.sqrt(spread), runs))
    return found
