"""Bit coding: a variable of m categories as ⌈log₂ m⌉ binary ones (barak, footnote 1).

Codes that no category has are cells that cannot exist. Bits of a variable lie next to each other,
the lowest first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.product import Margin, Reals, Rows, Shape


@dataclass(frozen=True)
class BitCoding:
    """How the axes of a product are written in bits.

    >>> coding = BitCoding((3, 2)); coding.shape, coding.margin((0,))
    ((2, 2, 2), (0, 1))
    >>> coding.encode(np.array([[2, 1]])).tolist()
    [[0, 1, 1]]
    """

    axes: Shape

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Bits of each axis."""
        return tuple((n - 1).bit_length() for n in self.axes)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first bit of each axis, and the end."""
        return tuple(int(v) for v in np.cumsum([0, *self.widths]))

    @property
    def shape(self) -> Shape:
        """The shape in bits."""
        return (2,) * self.starts[-1]

    def margin(self, margin: Margin) -> Margin:
        """A margin over the bits of its axes."""
        return tuple(b for axis in margin for b in range(self.starts[axis], self.starts[axis + 1]))

    def encode(self, rows: Rows) -> Rows:
        """Rows of coordinates as rows of bits."""
        columns = [
            rows[:, axis] >> bit & 1
            for axis, width in enumerate(self.widths)
            for bit in range(width)
        ]
        return np.stack(columns, axis=1).astype(np.int64) if columns else rows[:, :0]

    def decode(self, rows: Rows) -> Rows:
        """Rows of bits as rows of coordinates."""
        out = np.zeros((len(rows), len(self.axes)), dtype=np.int64)
        for axis, start in enumerate(self.starts[:-1]):
            for bit in range(self.widths[axis]):
                out[:, axis] += rows[:, start + bit] << bit
        return out

    def decode_margin(self, table: Reals, margin: Margin) -> Reals:
        """A margin over bits as one over categories, codes without a category left out."""
        shape = [self.axes[axis] for axis in margin]
        if not self.margin(margin):
            return np.asarray(table, dtype=np.float64).reshape(shape)
        cells = np.indices(shape).reshape(len(margin), -1)
        index = [
            cells[place] >> bit & 1
            for place, axis in enumerate(margin)
            for bit in range(self.widths[axis])
        ]
        return np.asarray(np.asarray(table)[tuple(index)].reshape(shape), dtype=np.float64)

    def forbidden(self, zeros: Mapping[Margin, Reals]) -> dict[Margin, Reals]:
        """Codes without a category, and declared structural zeros, as tables over bits."""
        found: dict[Margin, Reals] = {}
        for axis, n in enumerate(self.axes):
            if n < 1 << self.widths[axis]:
                found[self.margin((axis,))] = self._table((axis,), np.zeros(n))
        for margin, table in zeros.items():
            bits = self.margin(margin)
            made = self._table(margin, table)
            found[bits] = np.maximum(found.get(bits, made), made)
        return found

    def _table(self, margin: Margin, zeros: Reals) -> Reals:
        widths = [self.widths[axis] for axis in margin]
        codes = np.indices((2,) * sum(widths)).reshape(sum(widths), -1)
        at, index, outside = 0, [], np.zeros(codes.shape[1], dtype=bool)
        for axis, width in zip(margin, widths, strict=True):
            code = sum(
                (codes[at + bit] << bit for bit in range(width)), np.zeros_like(outside, int)
            )
            outside |= code >= self.axes[axis]
            index.append(np.minimum(code, self.axes[axis] - 1))
            at += width
        values = np.where(outside, 1.0, zeros[tuple(index)])
        return values.reshape((2,) * sum(widths))
