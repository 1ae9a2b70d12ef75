"""From cell keys to perturbations, for whole tables at once and exactly.

The leading bits of a key decide nearly always; only keys that share their leading bits with a
bound are compared with the bounds themselves. The answer is that of `Row.at` for every key.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...core.count_law import Row
from ...core.product import Whole
from .keys import Keys
from .ptable import PTable

Small = npt.NDArray[np.int16]

_GUIDE_BITS = range(12, 17)
"""Leading bits a guide may have; together the guides of a small table stay within 128 KB."""
_UNDECIDED = np.iinfo(np.int16).min


class Lookup:
    """A p-table made ready for lookup; public, holds no key."""

    def __init__(self, table: PTable) -> None:
        self.table = table
        bits = (table.keys - 1).bit_length()
        room = _GUIDE_BITS[-1] - (len(table.rows) - 1).bit_length()
        self._shift = max(0, bits - max(_GUIDE_BITS[0], room))
        self._buckets = ((table.keys - 1) >> self._shift) + 1
        self._guide = np.concatenate([self._guide_of(row) for row in table.rows])

    def _guide_of(self, row: Row) -> Small:
        first = [bucket << self._shift for bucket in range(self._buckets)]
        last = [min(((b + 1) << self._shift) - 1, row.keys - 1) for b in range(self._buckets)]
        bounds = _bounds(row)
        low = np.searchsorted(bounds, np.array(first, dtype=np.uint64), side="right")
        high = np.searchsorted(bounds, np.array(last, dtype=np.uint64), side="right")
        values = np.array(row.perturbations, dtype=np.int16)[low]
        values[low != high] = _UNDECIDED
        return values

    def rows(self, counts: Whole) -> Whole:
        """Which row serves each count: `PTable.row_of` for arrays."""
        last, cycle = self.table.max_count, self.table.cycle
        if cycle == 1:
            return np.minimum(counts, last)
        beyond = last - cycle + 1 + (counts - last - 1) % cycle
        return np.where(counts <= last, counts, beyond)

    def __call__(self, counts: Whole, keys: Keys) -> Small:
        """The perturbation of each cell; flat arrays, keys below `table.keys`."""
        rows = self.rows(counts)
        place = np.multiply(rows, self._buckets)
        place += np.right_shift(keys, np.uint64(self._shift)).view(np.int64)
        values = self._guide.take(place)
        open_ = np.flatnonzero(values == _UNDECIDED)
        if open_.size:
            self._settle(values, open_, rows[open_], keys[open_])
        return values

    def _settle(self, values: Small, places: Whole, rows: Whole, keys: Keys) -> None:
        for number in np.unique(rows).tolist():
            here = np.flatnonzero(rows == number)
            row = self.table.rows[number]
            index = np.searchsorted(_bounds(row), keys[here], side="right")
            values[places[here]] = np.array(row.perturbations, dtype=np.int16)[index]


def _bounds(row: Row) -> Keys:
    """The inner bounds; the last, which may be 2^64, bounds nothing."""
    return np.array(row.uppers[:-1], dtype=np.uint64)
