"""The one door to true counts. Only engines, methods and quality may import this module.

`seal` is for engines, `reveal` for methods. `Cells` holds only non-empty cells: addresses in the
table's domain, counts and, where asked, record-key sums as two 32-bit halves and weight sums in
whole units. `cube` adds every margin in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import Bug
from .domain import Domain
from .table import TrueTable

Counts = npt.NDArray[np.int64]

_FEW = 16
"""Columns this few are summed one by one: rows of them are too short for a sum each."""

_IN_PLACE = 1 << 15
"""Cubes of more cells are made in place: memory is dearer than sums."""

_LITTLE_MORE = 2
"""But not where their totals are more than this many times their interior, as with short axes."""


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
    return cube(domain.shape, addresses, values, totals=False)


def cube(shape: tuple[int, ...], addresses: Counts, values: Counts, totals: bool) -> Counts:
    """Values over the whole shape, with a total last on each axis where wanted; sums mod 2^64.

    >>> cube((2, 2), np.array([0, 3]), np.array([1, 2]), True)
    array([[1, 0, 1],
           [0, 2, 2],
           [1, 2, 3]])
    """
    return cubes(shape, addresses, [values], totals)[0]


def cubes(
    shape: tuple[int, ...], addresses: Counts, columns: Sequence[Counts], totals: bool
) -> list[Counts]:
    """A cube of each column; the places of cells are worked out once."""
    if not totals:
        return [_filled(prod(shape), addresses, values).reshape(shape) for values in columns]
    with_totals = tuple(length + 1 for length in shape)
    size, interior = prod(with_totals), prod(shape)
    if size <= _IN_PLACE or size - interior > _LITTLE_MORE * interior:
        every = range(len(shape))
        fulls = (_filled(interior, addresses, values) for values in columns)
        return [_with_totals(full, shape, every) for full in fulls]
    places, full_cubes = _among_totals(shape, addresses), []
    for values in columns:
        full = _filled(size, places, values)
        _fill_totals(full, shape)
        full_cubes.append(full.reshape(with_totals))
    return full_cubes


def add_totals(values: Counts, axes: Sequence[int] | None = None) -> Counts:
    """The same values with a total appended at the end of each of these axes (all by default).

    Sums are mod 2^64, as those of 64-bit integers are.

    >>> add_totals(np.array([[1, 2], [3, 4]]))
    array([[ 1,  2,  3],
           [ 3,  4,  7],
           [ 4,  6, 10]])
    """
    chosen = range(values.ndim) if axes is None else axes
    summed = _with_totals(np.ascontiguousarray(values, dtype=np.int64), values.shape, chosen)
    return summed if chosen else summed.copy()


def _filled(size: int, addresses: Counts, values: Counts) -> Counts:
    full = np.zeros(size, dtype=np.int64)
    full[addresses] = values
    return full


def _among_totals(shape: tuple[int, ...], addresses: Counts) -> Counts:
    """The places of cells where each axis has one more at its end.

    Every block of an axis that ends before a cell has put one place, as long as all that follows
    the axis, in front of it.

    >>> _among_totals((2, 2), np.array([0, 1, 2, 3]))
    array([0, 1, 3, 4])
    """
    narrow = prod(length + 1 for length in shape) <= 1 << 32  # and faster
    blocks: npt.NDArray[Any] = addresses.astype(np.uint32) if narrow else addresses
    places, after = blocks.copy(), 1
    for length in reversed(shape[1:]):
        blocks = blocks // length
        places += blocks * after
        after *= length + 1
    return places.astype(np.int64)


def _fill_totals(full: Counts, shape: tuple[int, ...]) -> None:
    """Sum into the last place of each axis, from the last axis to the first."""
    after = 1
    for length in reversed(shape):
        part = full.reshape(-1, length + 1, after)
        _sum_middle(part[:, :length], part[:, length])
        after *= length + 1


def _with_totals(full: Counts, shape: tuple[int, ...], axes: Collection[int]) -> Counts:
    """From the last axis to the first, each on one contiguous block; may return `full` itself."""
    lengths = tuple(length + (axis in axes) for axis, length in enumerate(shape))
    after = 1
    for axis in reversed(range(len(shape))):
        if axis in axes:
            before, length = prod(shape[:axis]), shape[axis]
            part = full.reshape(before, length, after)
            full = np.empty((before, length + 1, after), dtype=np.int64)
            _total_last(part, full)
        after *= lengths[axis]
    return full.reshape(lengths)


def _total_last(part: Counts, full: Counts) -> None:
    """Fill `full` with `part` and its sums over the middle axis."""
    length, after = part.shape[1:]
    if after == 1 and length <= _FEW:
        for k in range(length):
            full[:, k] = part[:, k]
    else:
        full[:, :length] = part
    _sum_middle(part, full[:, length])


def _sum_middle(part: Counts, total: Counts) -> None:
    """Sums over the middle axis, by the fastest of three ways."""
    length, after = part.shape[1:]
    if after == 1 and 1 < length <= _FEW:
        np.add(part[:, 0], part[:, 1], out=total)
        for k in range(2, length):
            total += part[:, k]
    elif after == 1:
        np.sum(part, axis=1, out=total)
    else:
        np.einsum("ijk->ik", part, out=total)
