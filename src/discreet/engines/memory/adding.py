"""What adds: every record's values to the sums at its place, exactly, in 64-bit integers.

numpy does so at once in any process. The product of a sparse matrix with one column (a row for each
place, an entry for each record) adds the same in half the time and lets other threads go on, but
scipy's matrices take a quarter of a second to import: that pays where much is counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...core.true_values import Counts
from .arrays import Column

Axis: TypeAlias = tuple[Column, int]
"""A column of codes, and how many there may be."""
Apart: TypeAlias = tuple[Column, npt.NDArray[np.bool_]]
"""A column of codes, and for each code whether its records are left out."""
Product: TypeAlias = Callable[..., None]
"""`csc_matvec(rows, columns, starts, places, entries, factors, sums)` of a sparse matrix."""

_NARROW = 1 << 16
"""So many places and more are worked out in 32 bits, fewer in 16, twice as many at a time."""
_ONE = np.ones(1, dtype=np.int64)


def sparse_product() -> Product | None:
    """What multiplies sparse matrices; None where this scipy has it elsewhere or otherwise, as it may.

    Its public face makes new sums for each product, which costs more than adding to them.
    """
    starts, places = np.array([0, 3], dtype=np.int32), np.array([1, 0, 1], dtype=np.int32)
    entries, sums = np.array([1, 2, 4], dtype=np.int64), np.array([8, 16], dtype=np.int64)
    try:
        from scipy.sparse import _sparsetools

        product: Product = _sparsetools.csc_matvec
        product(2, 1, starts, places, entries, _ONE, sums)
    except (ImportError, AttributeError, TypeError, ValueError, RuntimeError):
        return None
    return product if sums.tolist() == [10, 21] else None


class Adder:
    """Sums at places for one thread: `sums[0]` counts records, the others are of given columns.

    Axes come outermost first, and every code must lie below its axis's length; one that makes a
    place outside of the sums raises IndexError. The last place is of the records that are left out.
    """

    def __init__(
        self,
        axes: Sequence[Axis],
        apart: Sequence[Apart],
        values: Sequence[Column],
        size: int,
        at_once: int,
        product: Product | None,
    ) -> None:
        self.sums: list[Counts] = [np.zeros(size + 1, dtype=np.int64) for _ in (None, *values)]
        self._wide, self._narrow = _divided(axes)
        self._apart, self._values, self._size, self._product = apart, values, size, product
        self._short = np.empty(at_once, dtype=np.uint16)
        self._places = np.empty(at_once, dtype=np.int32 if product else np.intp)
        self._unsigned = np.dtype(f"u{self._places.itemsize}")
        """A place that ran over into negative numbers is seen as a large one."""
        self._entries = np.empty(at_once, dtype=np.int64)
        self._ones = np.ones(at_once, dtype=np.int64)

    def add(self, start: int, end: int) -> None:
        """Add these records; at most as many as were said to come at once."""
        places = self._placed(slice(start, end))
        self._add(self.sums[0], places, self._ones[: end - start])
        entries = self._entries[: end - start]
        for sums, values in zip(self.sums[1:], self._values, strict=True):
            np.copyto(entries, values[start:end])
            self._add(sums, places, entries)

    def _add(self, sums: Counts, places: npt.NDArray[Any], entries: Counts) -> None:
        if self._product is None:
            np.add.at(sums, places, entries)
        else:
            starts = np.array([0, len(places)], dtype=np.int32)
            self._product(len(sums), 1, starts, places, entries, _ONE, sums)

    def _placed(self, part: slice) -> npt.NDArray[Any]:
        """The place of each record: its codes are the digits, read from the outermost on."""
        short = self._short[: part.stop - part.start]
        places = self._places[: part.stop - part.start]
        _read(self._narrow, part, short)
        if self._wide:
            _read(self._wide, part, places)
            np.multiply(places, _product_of(self._narrow), out=places)
            np.add(places, short, out=places)
        else:
            np.copyto(places, short)
        for codes, left_out in self._apart:
            np.copyto(places, self._size, where=left_out[codes[part]])
        # the product writes wherever it is told to, and a mapped file may change at any moment
        if places.view(self._unsigned).max(initial=0) > self._size:
            raise IndexError("a code of no category")
        return places


def _read(axes: Sequence[Axis], part: slice, places: npt.NDArray[Any]) -> None:
    """The digits of these axes, as numbers of the type of `places`."""
    if not axes:
        places.fill(0)
        return
    np.copyto(places, axes[0][0][part], casting="unsafe")
    for codes, length in axes[1:]:
        places *= places.dtype.type(length)
        np.add(places, codes[part], out=places, dtype=places.dtype, casting="unsafe")


def _divided(axes: Sequence[Axis]) -> tuple[list[Axis], list[Axis]]:
    """The outer axes, and as many of the inner ones as 16 bits have room for."""
    products = itertools.accumulate((length for _, length in reversed(axes)), int.__mul__)
    few = sum(1 for _ in itertools.takewhile(lambda places: places < _NARROW, products))
    return list(axes[: len(axes) - few]), list(axes[len(axes) - few :])


def _product_of(axes: Sequence[Axis]) -> int:
    product = 1
    for _, length in axes:
        product *= length
    return product
