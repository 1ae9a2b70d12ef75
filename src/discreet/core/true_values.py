"""The one door to true counts. Only engines, methods and quality may import this module.

`seal` is for engines, `reveal` for methods. `Cells` holds only non-empty cells: addresses in the
table's domain, counts and, where asked, record-key sums as two 32-bit halves and weight sums in
whole units. `cube` adds every margin in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import Bug
from .domain import Domain
from .table import TrueTable

Counts = npt.NDArray[np.int64]


class Cells:
    """The non-empty cells of a true table. Its repr says how many arrays, never a value."""

    __slots__ = ("addresses", "counts", "key_high", "key_low", "weights")

    def __init__(
        self,
        addresses: Counts,
        counts: Counts,
        key_low: Counts | None = None,
        key_high: Counts | None = None,
        weights: Counts | None = None,
    ) -> None:
        for array in (addresses, counts, key_low, key_high, weights):
            if array is not None and array.dtype != np.int64:
                raise Bug(f"True values travel as 64-bit integers, got {array.dtype}.")
        self.addresses = addresses
        self.counts = counts
        self.key_low = key_low
        self.key_high = key_high
        self.weights = weights

    def __repr__(self) -> str:
        return "<true cells; values sealed>"

    def __reduce_ex__(self, protocol: object) -> str:
        raise TypeError("True cells cannot be copied, pickled or sent.")


def seal(domain: Domain, cells: Cells) -> TrueTable:
    """A true table of these cells."""
    return TrueTable(domain, cells)


def reveal(table: TrueTable) -> Cells:
    """The cells of a true table."""
    cells = table._TrueTable__cells  # type: ignore[attr-defined]
    if not isinstance(cells, Cells):
        raise Bug("A true table holds something that is not cells.")
    return cells


def dense(domain: Domain, addresses: Counts, values: Counts) -> Counts:
    """Values over the whole domain, zeros where no cell is."""
    full = np.zeros(domain.size, dtype=np.int64)
    full[addresses] = values
    return full.reshape(domain.shape)


def add_totals(values: Counts, axes: Sequence[int] | None = None) -> Counts:
    """The same values with a total appended at the end of each of these axes (all by default).

    >>> add_totals(np.array([[1, 2], [3, 4]]))
    array([[ 1,  2,  3],
           [ 3,  4,  7],
           [ 4,  6, 10]])
    """
    if values.ndim == 0:
        return values.copy()
    wanted = set(range(values.ndim) if axes is None else axes)
    # Sums run over long rows when the longest axis lies innermost: several times faster where a
    # table ends in a short variable, as tables do.
    order = sorted(range(values.ndim), key=lambda axis: values.shape[axis])
    reach = [values.shape[axis] for axis in order]
    full = np.empty([values.shape[axis] + (axis in wanted) for axis in order], dtype=np.int64)
    full[tuple(map(slice, reach))] = values.transpose(order)
    for place, axis in enumerate(order):
        if axis in wanted:
            total = list(map(slice, reach))
            total[place] = slice(reach[place], reach[place] + 1)
            part = full[tuple(map(slice, reach))]
            np.add.reduce(part, axis=place, out=full[tuple(total)], keepdims=True)
            reach[place] += 1
    return np.ascontiguousarray(full.transpose(np.argsort(order)))
