"""Tables that are linked: the same categories at several levels, and the totals of each.

Every published number is a sum of counts of the finest table. Hiding one number in one table only
would leave it to be worked out from another, so that linked tables are protected together.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.description import Description
from ...core.question import TableSpec

sparse: Any = import_module("scipy.sparse")

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class System:
    """Numbers as sums of finest counts: those that may be hidden, and those always published."""

    numbers: Any
    fixed: Any


@dataclass(frozen=True)
class Part:
    """One table of a group: which of its categories each finest one belongs to, by axis."""

    shape: tuple[int, ...]
    maps: tuple[Whole, ...]

    def sums(self) -> Any:
        """(numbers with totals last on each axis, finest cells): 1 where a cell is part of one."""
        fine = np.indices([len(one) for one in self.maps]).reshape(len(self.maps), -1)
        own = [one[fine[axis]] for axis, one in enumerate(self.maps)]
        size = tuple(n + 1 for n in self.shape)
        rows = [
            np.ravel_multi_index(
                [np.full_like(k, n) if t else k for k, n, t in zip(own, self.shape, total, strict=True)],
                size,
            )
            for total in itertools.product((False, True), repeat=len(self.shape))
        ]  # fmt: skip
        columns = np.tile(np.arange(fine.shape[1]), len(rows))
        entries = np.ones(len(columns)), (np.concatenate(rows), columns)
        return sparse.csr_matrix(entries, shape=(int(np.prod(size)), fine.shape[1]))

    def totals(self) -> Whole:
        """For each number over how many axes it is a total."""
        size = tuple(n + 1 for n in self.shape)
        places = np.indices(size)
        ends = [places[axis] == n for axis, n in enumerate(self.shape)]
        return np.asarray(np.sum(ends, axis=0), dtype=np.int64).ravel()


def grid_system(shape: tuple[int, ...]) -> System:
    """A table of its own whose totals are all published; a row alone has its total only."""
    one_way = len(shape) == 2 and shape[0] == 1
    part = whole((shape[1],) if one_way else shape)
    sums, totals = part.sums(), part.totals()
    return System(sums[totals == 0], sums[totals > 0])


def whole(shape: tuple[int, ...]) -> Part:
    """A table as it is."""
    return Part(shape, tuple(np.arange(n) for n in shape))


def group_system(parts: Sequence[Part], hide_totals: bool) -> tuple[System, Flags]:
    """The system of linked tables, and which of all their numbers may be hidden.

    Grand totals are always published, other totals unless `hide_totals`.
    """
    sums = sparse.vstack([part.sums() for part in parts]).tocsr()
    open_ = np.concatenate([_may_be_hidden(part, hide_totals) for part in parts])
    return System(sums[open_], sums[~open_]), open_


def _may_be_hidden(part: Part, hide_totals: bool) -> Flags:
    totals = part.totals()
    return np.asarray((totals == 0) | (hide_totals & (totals < len(part.shape))))


def groups(tables: Sequence[TableSpec], description: Description) -> list[list[tuple[int, Part]]]:
    """The tables of a question in groups that are linked, the finest of each first."""
    shapes = [tuple(len(description.axis(ref)) for ref in spec.axes) for spec in tables]
    left = sorted(range(len(tables)), key=lambda k: (-int(np.prod(shapes[k])), k))
    found = []
    while left:
        first, *others = left
        group = [(first, whole(shapes[first]))]
        for other in others:
            maps = _maps(tables[first], tables[other], description)
            if maps is not None:
                group.append((other, Part(shapes[other], maps)))
        left = [k for k in left if k not in {place for place, _ in group}]
        found.append(group)
    return found


def _maps(fine: TableSpec, coarse: TableSpec, description: Description) -> tuple[Whole, ...] | None:
    if fine.where != coarse.where or len(fine.axes) != len(coarse.axes):
        return None
    maps = []
    for a, b in zip(fine.axes, coarse.axes, strict=True):
        if a.variable != b.variable:
            return None
        places = description.variable(a.variable).level_map(a.level, b.level)
        if places is None or (np.asarray(places) < 0).any():
            return None
        maps.append(np.asarray(places, dtype=np.int64))
    return tuple(maps)
