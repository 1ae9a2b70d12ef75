"""Counts summed from other counts: a margin of an interior already read costs no second reading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.domain import Count, Domain
from ..core.true_values import Cells, Counts

_DENSE_CELLS = 1 << 20


class Projection:
    """Which of some counts are sums of which other, and in which order to make them.

    A count comes from another of the same records that has all its variables, each at the same
    level or at the finest one.
    """

    def __init__(self, counts: Sequence[Count], domains: Sequence[Domain]) -> None:
        self._counts = counts
        self._domains = domains
        smallest_first = sorted(range(len(counts)), key=lambda i: domains[i].size)
        self.source: dict[int, int | None] = {}
        for place, position in enumerate(smallest_first):
            # The smallest that will do, looking only at later ones: no circle can arise.
            later = smallest_first[place + 1 :]
            self.source[position] = next((o for o in later if self._covers(o, position)), None)
        self.order = tuple(reversed(smallest_first))

    def _covers(self, whole: int, part: int) -> bool:
        if set(self._counts[whole].where) != set(self._counts[part].where):
            return False
        levels = {axis.variable.name: axis.level for axis in self._domains[whole].axes}
        return all(
            axis.variable.name in levels
            and levels[axis.variable.name].name in (axis.level.name, axis.variable.finest.name)
            for axis in self._domains[part].axes
        )

    def project(self, cells: Cells, position: int) -> Cells:
        """The cells of a count, summed from those of its source."""
        whole_position = self.source[position]
        assert whole_position is not None
        whole, part = self._domains[whole_position], self._domains[position]
        sides = {axis.variable.name: (i, axis.level) for i, axis in enumerate(whole.axes)}
        addresses = np.zeros(len(cells.addresses), dtype=np.int64)
        for axis, stride in zip(part.axes, part.strides, strict=True):
            i, level = sides[axis.variable.name]
            side = cells.addresses // whole.strides[i] % len(whole.axes[i])
            if level.name != axis.level.name:
                side = np.array(axis.level.of_finest, dtype=np.int64)[side]
            addresses += side * stride
        return _summed(addresses, part.size, cells)


def _summed(addresses: Counts, size: int, cells: Cells) -> Cells:
    """Cells of equal address made one."""
    columns = (cells.counts, cells.key_low, cells.key_high, cells.weights)
    if size <= _DENSE_CELLS:
        counts, *sums = (None if c is None else _scattered(addresses, size, c) for c in columns)
        assert counts is not None
        held = np.flatnonzero(counts)
        return Cells(held, counts[held], *(None if s is None else s[held] for s in sums))
    order = np.argsort(addresses, kind="stable")
    held, starts = np.unique(addresses[order], return_index=True)
    counts, *sums = (
        None if c is None else np.add.reduceat(c[order], starts) if len(starts) else c[:0]
        for c in columns
    )
    assert counts is not None
    return Cells(held, counts, *sums)


def _scattered(addresses: Counts, size: int, values: Counts) -> Counts:
    full = np.zeros(size, dtype=np.int64)
    np.add.at(full, addresses, values)
    return full
