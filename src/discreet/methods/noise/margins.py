"""Margins as this method sees them: what is counted, what can be had from what, and who is in it.

A `Margin` is a count (axes, filter) of records or of weights. One margin gives another with the
same filter when every axis of the second is an axis of the first at the same or a coarser level.
`Regions` says which margins one record can be in together: filters on disjoint categories exclude
each other, so their costs do not add. Public facts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ...core.description import Description
from ...core.domain import AxisRef, Condition, Count, Domain, Level, Variable

Integers = npt.NDArray[np.int64]
_MOST_PATTERNS = 4096
_MOST_PAIRED = 256


@dataclass(frozen=True, slots=True)
class Margin:
    """A count over axes of the records that pass a filter; of their weights if `weighted`."""

    axes: tuple[AxisRef, ...]
    where: tuple[Condition, ...] = ()
    weighted: bool = False

    @property
    def count(self) -> Count:
        """What an engine must count for it."""
        return Count(self.axes, self.where)

    @property
    def group(self) -> tuple[tuple[Condition, ...], bool]:
        """Margins of one group are sums of one joint table."""
        return self.where, self.weighted

    def order(self) -> tuple[object, ...]:
        """A key that sorts margins the same way everywhere: the largest first."""
        return -len(self.axes), self.axes, self.where, self.weighted

    def keep(self, positions: Sequence[int]) -> Margin:
        """The margin over these axes only."""
        return Margin(tuple(self.axes[i] for i in positions), self.where, self.weighted)

    def __str__(self) -> str:
        axes = " × ".join(str(ref) for ref in self.axes) or "total"
        filters = "; ".join(f"{c.variable} = {', '.join(c.codes)}" for c in self.where)
        return axes + (f" ({filters})" if filters else "") + (", weighted" * self.weighted)


def level_map(fine: Level, coarse: Level) -> Integers | None:
    """Where each category of one level goes in another; None where some category would split.

    >>> from discreet.core.domain import variable
    >>> age = variable("age", ["0", "1", "2"], levels={"band": {"0": "a", "1": "a", "2": "b"}})
    >>> level_map(age.levels[0], age.levels[1])
    array([0, 0, 1])
    >>> level_map(age.levels[1], age.levels[0]) is None
    True
    """
    found = np.full(len(fine), -1, dtype=np.int64)
    found[np.array(fine.of_finest, dtype=np.int64)] = np.array(coarse.of_finest, dtype=np.int64)
    agrees = found[np.array(fine.of_finest)] == np.array(coarse.of_finest)
    return found if bool(agrees.all()) and bool((found >= 0).all()) else None


def how_from(
    target: Margin, source: Margin, description: Description
) -> tuple[tuple[int, Integers | None], ...] | None:
    """For each axis of `target`, the axis of `source` it comes from and the map of its categories.

    None for a map means the same level; None altogether, that the target cannot be had.
    """
    if target.group != source.group:
        return None
    found: list[tuple[int, Integers | None]] = []
    for ref in target.axes:
        for position, candidate in enumerate(source.axes):
            if candidate == ref:
                found.append((position, None))
                break
            if candidate.variable == ref.variable:
                variable = description.variable(ref.variable)
                mapping = level_map(variable.level(candidate.level), variable.level(ref.level))
                if mapping is not None:
                    found.append((position, mapping))
                    break
        else:
            return None
    return tuple(found)


class Sources:
    """Finds, among many margins, those another can be had from."""

    def __init__(self, margins: Sequence[Margin], description: Description) -> None:
        self._description = description
        self._margins = margins
        self._groups: dict[object, list[tuple[int, frozenset[str]]]] = {}
        for i, margin in enumerate(margins):
            names = frozenset(ref.variable for ref in margin.axes)
            self._groups.setdefault(margin.group, []).append((i, names))

    def of(self, target: Margin) -> list[int]:
        """Places of the margins that `target` is a sum of, itself included."""
        names = frozenset(ref.variable for ref in target.axes)
        return [
            i
            for i, has in self._groups.get(target.group, ())
            if names <= has and how_from(target, self._margins[i], self._description) is not None
        ]


def gather(
    values: Integers, how: tuple[tuple[int, Integers | None], ...], shape: tuple[int, ...]
) -> Integers:
    """Sums of a source's values in the shape of a target, as `how_from` described it."""
    positions = [position for position, _ in how]
    if len(set(positions)) == len(positions):
        dropped = tuple(i for i in range(values.ndim) if i not in positions)
        kept = sorted(positions)
        out = values.sum(axis=dropped) if dropped else values
        out = np.transpose(out, [kept.index(position) for position in positions])
        for axis, (_, mapping) in enumerate(how):
            if mapping is not None:
                merged = np.zeros((shape[axis], *np.delete(out.shape, axis)), dtype=values.dtype)
                np.add.at(merged, mapping, np.moveaxis(out, axis, 0))
                out = np.moveaxis(merged, 0, axis)
        return np.asarray(out)
    # One axis feeds two: a table of a variable by its own coarser level.
    where = np.indices(values.shape, sparse=True)
    index = tuple(
        np.broadcast_to(where[p] if m is None else m[where[p]], values.shape) for p, m in how
    )
    out = np.zeros(shape, dtype=values.dtype)
    np.add.at(out, index, values)
    return out


def joint(margins: Sequence[Margin], description: Description) -> Margin:
    """The smallest table all these margins of one group are sums of."""
    wanted: dict[str, list[str]] = {}
    for margin in margins:
        for ref in margin.axes:
            wanted.setdefault(ref.variable, []).append(ref.level)
    axes = tuple(
        AxisRef(variable.name, _refining(variable, wanted[variable.name]).name)
        for variable in description.variables
        if variable.name in wanted
    )
    return Margin(axes, margins[0].where, margins[0].weighted)


def _refining(variable: Variable, levels: Sequence[str]) -> Level:
    """The coarsest level from which all these can be had; the finest always serves."""
    for level in reversed(variable.levels):
        if all(level_map(level, variable.level(name)) is not None for name in levels):
            return level
    return variable.finest


def domain_of(margin: Margin, description: Description) -> Domain:
    """The domain of a margin."""
    return description.domain(margin.axes)


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
    """Whether the cost is attained; a bound where a filter's variable is also an axis and records
    are replaced (two records of one region may then be alike), or filters are too many."""

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
                        level = variable.level(part.level)
                        inside = [level.index[code] for code in part.codes]
                        passes[row] &= np.isin(np.array(level.of_finest), inside)
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
        return cls(
            tuple(sorted(patterns)),
            tuple(domain_of(margin, description).size == 1 for margin in margins),
            tuple(margin.weighted for margin in margins),
            replace_one,
            exact,
        )

    def cost(self, costs: Sequence[Fraction]) -> Fraction:
        """What all margins cost together when entering or leaving margin i costs `costs[i]`.

        The most that one unit added or removed (or replaced) can cost, over all regions. Exact
        for losses that add, and for ρ, where all records of a unit in one cell is the worst.
        """
        inside = [self._sum(pattern, costs) for pattern in self.patterns]
        if not self.replace_one:
            return max(inside)
        if not any(self.single) or len(self.patterns) > _MOST_PAIRED:
            return 2 * max(inside)  # with single cells a bound, else the two worst records
        return max(
            self._replaced(a, b, costs)
            for i, a in enumerate(self.patterns)
            for b in self.patterns[i:]
        )

    @staticmethod
    def _sum(pattern: int, costs: Sequence[Fraction]) -> Fraction:
        return sum((c for i, c in enumerate(costs) if pattern >> i & 1), Fraction(0))

    def _replaced(self, a: int, b: int, costs: Sequence[Fraction]) -> Fraction:
        total = Fraction(0)
        for i, cost in enumerate(costs):
            left, entered = a >> i & 1, b >> i & 1
            if not self.single[i]:
                total += (left + entered) * cost
            elif self.weighted[i]:
                total += (left | entered) * cost
            else:
                total += (left ^ entered) * cost
        return total
