"""What is known of every node: its own measurements and the sums of those below it, by margin.

Measured tables are independent of each other, so the sum of the children's tables is one more
measurement of their parent, independent of its own; the two are joined by precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....core.product import Margin, Reals, Whole
from ..tree import Tree
from ..tree_estimate import summed_up


@dataclass(frozen=True)
class Target:
    """What is known of one margin at every node of one level: nodes by cells, and how well."""

    values: Reals
    precision: Reals


@dataclass(frozen=True)
class Reading:
    """One measured table: at which level, over which of the other variables, how noisy."""

    level: int
    margin: Margin
    table: Whole | Reals
    """Nodes of the level first."""
    variance: float


Targets = Mapping[Margin, Target]


def targets_of(tree: Tree, readings: Sequence[Reading]) -> list[Targets]:
    """For every level, the whole first, what is known of each margin measured there or below."""
    found: list[dict[Margin, Target]] = [{} for _ in tree.sizes]
    for level in range(tree.depth, -1, -1):
        here = found[level]
        for reading in readings:
            if reading.level == level:
                values = reading.table.reshape(tree.sizes[level], -1).astype(np.float64)
                own = Target(values, np.full(tree.sizes[level], 1 / reading.variance))
                here[reading.margin] = _joined(here.get(reading.margin), own)
        if level == tree.depth:
            continue
        for margin, target in found[level + 1].items():
            spread = summed_up(tree, level + 1, 1 / target.precision)
            above = Target(summed_up(tree, level + 1, target.values), 1 / spread)
            here[margin] = _joined(here.get(margin), above)
    return list(found)


def _joined(one: Target | None, two: Target) -> Target:
    if one is None:
        return two
    precision = one.precision + two.precision
    share = (one.precision / precision)[:, None]
    return Target(one.values * share + two.values * (1 - share), precision)
