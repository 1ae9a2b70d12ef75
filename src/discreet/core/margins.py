"""Margins over levels: what is counted, what can be had from what, and where each cell goes.

A `Margin` is a count (axes, filter) of records or of weights. One margin *covers* another with the
same filter if every axis of the other is an axis of it at the same level, or at one that the
other's can be summed from (`Variable.level_map`); a `Projection` makes the sums. Public facts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .description import Description
from .domain import Axis, AxisRef, Condition, Count, Domain, Indices

Array = npt.NDArray[Any]


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


@dataclass(frozen=True)
class Projection:
    """How the cells of one domain are summed to those of another.

    `sides` has, for each axis of `part`, the axis of `whole` it comes from and where its categories
    go (None: to themselves).

    >>> from discreet.core.domain import variable
    >>> age = variable("age", ["0", "1", "2"], levels={"band": {"0": "a", "1": "a", "2": "b"}})
    >>> ages, bands = (Domain((Axis(age, level),)) for level in age.levels)
    >>> Projection.of(ages, bands).sums(np.array([5, 6, 7]))
    array([11,  7])
    """

    whole: Domain
    part: Domain
    sides: tuple[tuple[int, Indices | None], ...]

    @classmethod
    def of(cls, whole: Domain, part: Domain) -> Projection | None:
        """How a domain over levels of the same variables is had from another; None: it is not."""
        sides = tuple(_side(whole.axes, axis) for axis in part.axes)
        known = tuple(side for side in sides if side is not None)
        return cls(whole, part, known) if len(known) == len(sides) else None

    @property
    def plain(self) -> bool:
        """Whether it only leaves out axes and turns the others: every cell sums equally many."""
        positions = {position for position, _ in self.sides}
        return len(positions) == len(self.sides) and all(m is None for _, m in self.sides)

    def sums(self, values: Array) -> Array:
        """The values of the part's cells from those of all the whole's."""
        positions = [position for position, _ in self.sides]
        gone = tuple(i for i in range(values.ndim) if i not in positions)
        left = sorted(set(positions))
        out = values.sum(axis=gone) if gone else values
        if len(left) < len(positions):  # a variable by its own level: one axis gives two
            return self._scattered(out, left)
        out = np.transpose(out, [left.index(position) for position in positions])
        for axis, (_, places) in enumerate(self.sides):
            if places is not None:
                out = merged(out, axis, places, self.part.shape[axis])
        return np.asarray(out)

    def _scattered(self, values: Array, left: Sequence[int]) -> Array:
        grid = np.indices(values.shape, sparse=True)
        address = self.address({position: grid[i] for i, position in enumerate(left)})
        address = np.broadcast_to(address, values.shape)
        out = np.zeros(self.part.size, dtype=values.dtype)
        np.add.at(out, address[address >= 0], values[address >= 0])
        return out.reshape(self.part.shape)

    def address(self, columns: Sequence[Indices] | dict[int, Indices]) -> Indices:
        """Where cells go, given by their places along each axis of the whole; −1: nowhere.

        Nowhere is where a category that holds nothing goes; no record is in it.
        """
        address: Indices = np.zeros((), dtype=np.int64)
        nowhere: Any = False
        for (position, places), stride in zip(self.sides, self.part.strides, strict=True):
            side = columns[position] if places is None else places[columns[position]]
            address = address + stride * side
            if places is not None:
                nowhere = nowhere | (side < 0)
        return np.where(nowhere, -1, address) if np.any(nowhere) else address

    def addresses(self, addresses: Indices) -> Indices:
        """The addresses in the part of cells given by their addresses in the whole."""
        strides = self.whole.strides
        columns = {
            at: addresses // strides[at] % self.whole.shape[at]
            for at in {position for position, _ in self.sides}
        }
        return np.broadcast_to(self.address(columns), addresses.shape)


def _side(axes: Sequence[Axis], wanted: Axis) -> tuple[int, Indices | None] | None:
    """The axis one is had from, at the same level if there is one, and the map of its categories."""
    mine = [i for i, axis in enumerate(axes) if axis.variable.name == wanted.variable.name]
    for position in mine:
        if axes[position].level is wanted.level:
            return position, None
    for position in mine:
        places = axes[position].level.map_to(wanted.level)
        if places is not None:
            return position, places
    return None


def merged(values: Array, axis: int, places: Indices, length: int) -> Array:
    """Sums along one axis: entry i goes to place `places[i]` of `length`, or nowhere if that is −1.

    >>> merged(np.array([[1, 2, 4], [1, 1, 1]]), 1, np.array([1, -1, 1]), 2)
    array([[0, 5],
           [0, 2]])
    """
    shape = (*values.shape[:axis], length, *values.shape[axis + 1 :])
    out = np.zeros(shape, dtype=values.dtype)
    order = np.argsort(places, kind="stable")
    order = order[np.searchsorted(places[order], 0) :]
    if len(order):
        held, starts = np.unique(places[order], return_index=True)
        into = (slice(None),) * axis + (held,)
        out[into] = np.add.reduceat(values.take(order, axis=axis), starts, axis=axis)
    return out


def domain_of(margin: Margin, description: Description) -> Domain:
    """The domain of a margin."""
    return description.domain(margin.axes)


def projection(whole: Margin, part: Margin, description: Description) -> Projection | None:
    """How one margin is had from another; None where it is not."""
    if whole.group != part.group:
        return None
    return Projection.of(domain_of(whole, description), domain_of(part, description))


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
        """Places of the margins that cover `target`, itself included."""
        names = frozenset(ref.variable for ref in target.axes)
        return [
            i
            for i, has in self._groups.get(target.group, ())
            if names <= has and covers(self._margins[i].axes, target.axes, self._description)
        ]


def covers(whole: Sequence[AxisRef], part: Sequence[AxisRef], description: Description) -> bool:
    """Whether a table over these axes gives one over those, of the same records."""
    return all(
        any(
            axis == ref
            or description.variable(ref.variable).level_map(axis.level, ref.level) is not None
            for axis in whole
            if axis.variable == ref.variable
        )
        for ref in part
    )


def joint(margins: Sequence[Margin], description: Description) -> Margin:
    """The smallest table all these margins of one group are sums of."""
    levels: dict[str, list[str]] = {}
    for margin in margins:
        for ref in margin.axes:
            levels.setdefault(ref.variable, []).append(ref.level)
    axes = tuple(
        AxisRef(variable.name, variable.refining(levels[variable.name]).name)
        for variable in description.variables
        if variable.name in levels
    )
    return Margin(axes, margins[0].where, margins[0].weighted)
