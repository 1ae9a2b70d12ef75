"""How a table lies on a page: layers and rows down, columns across, and the heads of its columns.

Fragments (`html`) and the readers' page (`web`) dress cells and heads each in their own way; which
heads there are, how many columns each spans and how often it comes again is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from .flat import FlatAxis


class Frame:
    """A table laid out as layers, rows and columns; the axes stand in that order, totals last."""

    def __init__(self, axes: Sequence[FlatAxis], sides: tuple[int, int, int]) -> None:
        layers, rows, columns = sides
        self.axes = tuple(axes)
        self.layers, self.down = layers, layers + rows
        self.shape = tuple(len(axis) for axis in self.axes)
        self.cells = prod(self.shape)
        self.across = prod(self.shape[self.down :]) if columns else 1
        self.height = self.cells // self.across if self.across else 0

    def head_lines(self, dressed: Callable[[FlatAxis, int, str], str]) -> Iterator[str]:
        """The heads of the columns, a line for each variable across.

        `dressed` makes one head of an axis, a position along it, and its scope with its span. A
        line is made once and comes again under each head above it.
        """
        repeat = 1
        for level, axis in enumerate(self.axes[self.down :], start=self.down + 1):
            inner = prod(self.shape[level:])
            scope = f"scope=colgroup colspan={inner}" if inner > 1 else "scope=col"
            yield "".join(dressed(axis, at, scope) for at in range(len(axis))) * repeat
            repeat *= len(axis)
