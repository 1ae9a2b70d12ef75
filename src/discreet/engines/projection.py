"""Counts summed from other counts: a margin of an interior already read costs no second reading."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from ..core.description import Description
from ..core.domain import MOST_CELLS, Count, Domain
from ..core.margins import Projection
from ..core.true_values import Cells, Counts
from ..errors import InputError

_DENSE_CELLS = 1 << 20
_HELD_SHARE = 4
"""Where one cell of so many is held, whole rows of an array are added sooner than single cells."""
_WORTH_A_ROW = 16
"""So many cells side by side numpy adds to others as fast as it can."""
_WORTH_A_STEP = 256
"""So many cells are worth an addition of their own."""


def domain_of(count: Count, description: Description) -> Domain:
    """The cells of a count, which must be few enough to be addressed."""
    domain = description.domain(count.axes)
    if domain.size > MOST_CELLS:
        raise InputError(
            f"A table of {domain.size:,} cells cannot be addressed; most is {MOST_CELLS:,}."
        )
    if len({axis.variable for axis in count.axes}) < len(count.axes):
        raise InputError("A count names a variable twice; each variable stands once.")
    return domain


class Projections:
    """Which of some counts are sums of which other, and in which order to make them.

    A count comes from another of the same records that has all its variables at levels it can be
    summed from.
    """

    def __init__(self, counts: Sequence[Count], domains: Sequence[Domain]) -> None:
        smallest_first = sorted(range(len(counts)), key=lambda i: domains[i].size)
        self._of: dict[int, Projection] = {}
        self.source: dict[int, int | None] = {}
        for place, position in enumerate(smallest_first):
            self.source[position] = None
            # The smallest that will do, looking only at later ones: no circle can arise.
            for other in smallest_first[place + 1 :]:
                if set(counts[other].where) != set(counts[position].where):
                    continue
                projection = Projection.of(domains[other], domains[position])
                if projection is not None:
                    self.source[position], self._of[position] = other, projection
                    break
        self.order = tuple(reversed(smallest_first))
        self._grids: dict[int | None, _Grids] = {}

    def project(self, cells: Cells, position: int) -> Cells:
        """The cells of a count, summed from those of its source."""
        projection, source = self._of[position], self.source[position]
        grids = self._grids.get(source)
        if grids is None and _are_many(cells, projection.whole):
            grids = self._grids[source] = _spread(cells, projection.whole)
        if grids is None or not projection.plain:
            return summed(projection.addresses(cells.addresses), projection.part.size, cells)
        left = [None if grid is None else _left(grid, projection) for grid in grids]
        self._grids[position] = left
        return _held(None if grid is None else grid.reshape(-1) for grid in left)


_Grids: TypeAlias = list[Counts | None]
"""Sums at all places of a domain, each in its shape."""


def _are_many(cells: Cells, domain: Domain) -> bool:
    return domain.size <= min(_DENSE_CELLS, _HELD_SHARE * len(cells.addresses))


def _columns(cells: Cells) -> tuple[Counts | None, ...]:
    return cells.counts, cells.key_low, cells.key_high, cells.weights


def _spread(cells: Cells, domain: Domain) -> _Grids:
    grids: _Grids = []
    for column in _columns(cells):
        if column is None:
            grids.append(None)
        else:
            full = np.zeros(domain.size, dtype=np.int64)
            full[cells.addresses] = column
            grids.append(full.reshape(domain.shape))
    return grids


def _left(grid: Counts, projection: Projection) -> Counts:
    """Sums over the axes that are left out, the others in their new order."""
    positions = [position for position, _ in projection.sides]
    for axis in reversed(range(grid.ndim)):
        if axis not in positions:
            grid = _without(grid, axis)
    order = [sorted(positions).index(position) for position in positions]
    return np.ascontiguousarray(np.transpose(grid, order)).reshape(projection.part.shape)


def _without(grid: Counts, axis: int) -> Counts:
    """Sums along an axis; numpy takes long where little lies side by side inside of it."""
    inside = math.prod(grid.shape[axis + 1 :])
    if inside >= _WORTH_A_ROW or grid.size < _WORTH_A_STEP * grid.shape[axis]:
        return np.asarray(grid.sum(axis=axis))
    slices = np.moveaxis(grid, axis, 0)
    total = np.array(slices[0])
    for part in slices[1:]:
        total += part
    return total


def joined(parts: Sequence[Cells], domain: Domain) -> Cells:
    """The sums of several cells of a domain, each of which holds a cell once."""
    if sum(len(part.addresses) for part in parts) * _HELD_SHARE < domain.size or (
        domain.size > _DENSE_CELLS
    ):
        addresses = np.concatenate([part.addresses for part in parts])
        whole = (_together(columns) for columns in zip(*map(_columns, parts), strict=True))
        return summed(addresses, domain.size, Cells(addresses, *whole))  # type: ignore[arg-type]
    grids = _spread(parts[0], domain)
    for part in parts[1:]:
        for grid, column in zip(grids, _columns(part), strict=True):
            if grid is not None and column is not None:
                grid.reshape(-1)[part.addresses] += column
    return _held(None if grid is None else grid.reshape(-1) for grid in grids)


def _together(columns: Sequence[Counts | None]) -> Counts | None:
    held = [column for column in columns if column is not None]
    return np.concatenate(held) if held else None


def summed(addresses: Counts, size: int, cells: Cells) -> Cells:
    """Cells of equal address made one."""
    columns = _columns(cells)
    if size <= _DENSE_CELLS:
        return _held(None if c is None else _scattered(addresses, size, c) for c in columns)
    order = np.argsort(addresses, kind="stable")
    held, starts = np.unique(addresses[order], return_index=True)
    counts, *sums = (
        None if c is None else np.add.reduceat(c[order], starts) if len(starts) else c[:0]
        for c in columns
    )
    assert counts is not None
    return Cells(held, counts, *sums)


def _held(columns: Iterable[Counts | None]) -> Cells:
    """Of sums at all places those where somebody is; the first are counts."""
    counts, *sums = columns
    assert counts is not None
    held = np.flatnonzero(counts)
    return Cells(held, counts[held], *(None if s is None else s[held] for s in sums))


def _scattered(addresses: Counts, size: int, values: Counts) -> Counts:
    full = np.zeros(size, dtype=np.int64)
    np.add.at(full, addresses, values)
    return full
