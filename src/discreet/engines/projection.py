"""Counts summed from other counts: a margin of an interior already read costs no second reading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.description import Description
from ..core.domain import MOST_CELLS, Count, Domain
from ..core.margins import Projection
from ..core.true_values import Cells, Counts
from ..errors import InputError

_DENSE_CELLS = 1 << 20


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

    def project(self, cells: Cells, position: int) -> Cells:
        """The cells of a count, summed from those of its source."""
        projection = self._of[position]
        return summed(projection.addresses(cells.addresses), projection.part.size, cells)


def summed(addresses: Counts, size: int, cells: Cells) -> Cells:
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
