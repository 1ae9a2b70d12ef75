"""Which margins one record can be in together, and so what measuring them costs.

Filters on disjoint categories exclude each other, so the costs of their margins do not add. Public
facts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from operator import and_

import numpy as np

from ...core.description import Description
from ...core.margins import Margin, domain_of
from ...core.plan_loss import worst_rows

_MOST_PATTERNS = 4096
_MOST_PAIRED = 256


@dataclass(frozen=True)
class Regions:
    """Which margins one record can be in at once: one bit for each margin, one pattern a region.

    `single` are margins with one cell: replacing a record by one that passes the same filter does
    not change their count, and moves their weight by one weight at most.
    """

    patterns: tuple[int, ...]
    single: tuple[bool, ...]
    weighted: tuple[bool, ...]
    replace_one: bool
    exact: bool = True
    """Whether the cost is attained; a bound where filters are too many, and where records are
    replaced and a filter's variable is also an axis (two records of one region may then be alike) or
    a weight is summed into one cell (it would have to go from nothing to its bound)."""

    @classmethod
    def of(cls, margins: Sequence[Margin], description: Description, replace_one: bool) -> Regions:
        """The regions that the margins' filters make of the declared domain."""
        patterns, exact = {(1 << len(margins)) - 1}, True
        filtered = sorted({part.variable for margin in margins for part in margin.where})
        for name in filtered:
            variable = description.variable(name)
            passes = np.ones((len(margins), len(variable.finest)), dtype=bool)
            for row, margin in enumerate(margins):
                for part in margin.where:
                    if part.variable == name:
                        passes[row] &= variable.level(part.level).within(part.codes)
            signatures = {
                sum(1 << row for row in range(len(margins)) if column[row])
                for column in np.unique(passes.T, axis=0)
            }
            patterns = {old & new for old in patterns for new in signatures}
            if len(patterns) > _MOST_PATTERNS:  # a bound that always holds: everything adds
                patterns, exact = {(1 << len(margins)) - 1}, False
                break
        axes = {ref.variable for margin in margins for ref in margin.axes}
        paired = replace_one and len(patterns) > 1
        exact &= not (paired and (axes & set(filtered) or len(patterns) > _MOST_PAIRED))
        single = tuple(domain_of(margin, description).held == 1 for margin in margins)
        weighted = tuple(margin.weighted for margin in margins)
        exact &= not (replace_one and any(map(and_, single, weighted)))
        return cls(tuple(sorted(patterns)), single, weighted, replace_one, exact)

    def cost(self, costs: Sequence[Fraction]) -> Fraction:
        """What all margins cost together when entering or leaving margin i costs `costs[i]`.

        The most that one unit added or removed (or replaced) can cost, over all regions. Exact
        for losses that add, and for ρ, where all records of a unit in one cell is the worst.
        """
        inside = [
            sum((c for i, c in enumerate(costs) if pattern >> i & 1), Fraction(0))
            for pattern in self.patterns
        ]
        if not self.replace_one:
            return max(inside)
        if not any(self.single) or len(self.patterns) > _MOST_PAIRED:
            return 2 * max(inside)  # with single cells a bound, else the two worst records
        return max(
            self._replaced(a, b, costs)
            for i, a in enumerate(self.patterns)
            for b in self.patterns[i:]
        )

    def moved(self) -> list[tuple[int, ...]]:
        """How many cells of each margin one unit moves, for every unit that none surpasses."""
        every = range(len(self.single))
        if not self.replace_one:
            return worst_rows([tuple(pattern >> i & 1 for i in every) for pattern in self.patterns])
        if len(self.patterns) > _MOST_PAIRED:
            return [tuple(1 if single else 2 for single in self.single)]
        pairs = combinations_with_replacement(self.patterns, 2)
        return worst_rows([tuple(self._cells(i, a, b) for i in every) for a, b in pairs])

    def _replaced(self, a: int, b: int, costs: Sequence[Fraction]) -> Fraction:
        return sum((self._cells(i, a, b) * cost for i, cost in enumerate(costs)), Fraction(0))

    def _cells(self, i: int, a: int, b: int) -> int:
        """How many cells of margin i differ when a record of region a is replaced by one of b."""
        left, entered = a >> i & 1, b >> i & 1
        if not self.single[i]:
            return left + entered
        return left | entered if self.weighted[i] else left ^ entered
