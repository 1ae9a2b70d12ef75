"""The body of a table in a terminal: rows by columns, layers as blocks, cut to what fits.

Columns that do not fit continue in panels below; what is still too much ends in a line that says
how many rows, columns or layers more there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..core.table import Status
from ..languages import Sentence, counted, number, say
from .flat import Flat, FlatAxis
from .terminal_text import above, cut, padded, safe, wrapped

Line: TypeAlias = list[tuple[str, str]]
"""Words and the style of each."""

MARKS = {
    Status.UNRELIABLE: "ᵘ",
    Status.LOW: "[low]",
    Status.BELOW_THRESHOLD: "[c]",
    Status.SUPPRESSED: "✱",
    Status.STRUCTURAL_ZERO: "–",
    Status.NOT_RELEASED: "[x]",
    Status.DERIVED: "ᵈ",
}
"""What stands in place of a number, or behind one that is unreliable or derived."""

_RAISED = (Status.UNRELIABLE, Status.DERIVED)

_GAP = 2


@dataclass(frozen=True)
class Limits:
    """How much is shown before a line says how much more there is."""

    width: int = 100
    rows: int = 40
    panels: int = 3
    layers: int = 6


def shown_as(value: int, status: Status, language: str = "") -> str:
    """One cell as people read it in a language.

    >>> shown_as(-1234, Status.OK), shown_as(7, Status.UNRELIABLE), shown_as(0, Status.SUPPRESSED)
    ('-1,234', '7ᵘ', '✱')
    """
    mark = MARKS.get(status, "")
    return number(value).says(language) + mark if status in (Status.OK, *_RAISED) else mark


def _more(sign: str, words: Sentence, language: str) -> Line:
    """Says how much is left out, and where all of it is."""
    return [(sign + say("{more}: use --format csv.", more=words).says(language), "yellow")]


def _more_rows(many: int, language: str) -> Line:
    return _more("⋮ ", counted("{n} more row", "{n} more rows", many), language)


class _Side:
    """The rows (or the columns) of a grid: where each lies on its axes."""

    def __init__(self, axes: tuple[FlatAxis, ...], language: str) -> None:
        self.axes = axes
        blank = say("(blank)").says(language)
        self.labels = [[safe(label) or blank for label in axis.labels] for axis in axes]
        self.shape = tuple(len(axis) for axis in axes)
        self.many = int(np.prod(self.shape, dtype=np.int64))

    def at(self, index: int) -> tuple[str, ...]:
        """The labels of one row or column."""
        places = np.unravel_index(index, self.shape) if self.axes else ()
        return tuple(self.labels[i][int(place)] for i, place in enumerate(places))

    def total(self, index: int) -> bool:
        """Whether any of its axes is at its total."""
        places = np.unravel_index(index, self.shape) if self.axes else ()
        return any(a.total and int(p) == len(a) - 1 for a, p in zip(self.axes, places, strict=True))

    def outer_total(self, index: int) -> bool:
        """Whether its outermost axis is at its total."""
        if not self.axes or not self.axes[0].total:
            return False
        return index >= self.many - self.many // len(self.axes[0])

    @property
    def title(self) -> str:
        """The axes' names."""
        return " / ".join(safe(axis.label) for axis in self.axes)


class Grid:
    """Layers of rows by columns, cut to what fits."""

    def __init__(self, flat: Flat, layers: int, rows: int, limits: Limits) -> None:
        axes, self.language = flat.axes, flat.language
        self.layers = _Side(axes[:layers], flat.language)
        self.rows = _Side(axes[layers : layers + rows], flat.language)
        self.columns = _Side(axes[layers + rows :], flat.language)
        self.limits = limits
        shape = (self.layers.many, self.rows.many, self.columns.many)
        self.values: npt.NDArray[np.int64] = flat.values.reshape(shape)
        self.status = flat.status.reshape(shape)
        self.measure = flat.measure_words
        self.marked = bool(np.isin(flat.status, _RAISED).any())
        self.percent = flat.percent
        self.percent_width = len("100.0 %") if flat.percent is None else len(flat.percent.widest)
        """Room of a percentage; a longer one, of a number below zero, takes its own."""
        self.mark = 1 if self.marked and flat.percent is None else 0
        """Room that headings leave for the mark, where it stands last in a cell."""
        self.row_indices = self._row_indices()
        self.label_widths = self._label_widths()

    def _row_indices(self) -> list[int]:
        """The rows shown: the first ones, and the last if it is the total of all."""
        many, most = self.rows.many, self.limits.rows
        if many <= most:
            return list(range(many))
        last = [many - 1] if self.rows.outer_total(many - 1) else []
        return [*range(most - len(last)), *last]

    def _label_widths(self) -> list[int]:
        most = max(6, int(self.limits.width * 0.45) // max(len(self.rows.axes), 1))
        widths = []
        for place, axis in enumerate(self.rows.axes):
            labels = {self.rows.at(index)[place] for index in self.row_indices}
            widest = max((above(label) for label in [*labels, safe(axis.label)]), default=0)
            widths.append(min(widest, most))
        return widths

    @property
    def margin(self) -> int:
        """How much of the width the row labels take."""
        return sum(self.label_widths) + _GAP * max(len(self.label_widths) - 1, 0)

    def lines(self) -> Iterator[Line]:
        """Every block, one after the other."""
        for layer in range(min(self.layers.many, self.limits.layers)):
            if layer:
                yield []
            if self.layers.axes:
                named = zip(self.layers.axes, self.layers.at(layer), strict=True)
                words = "; ".join(f"{safe(axis.label)}: {label}" for axis, label in named)
                yield [(f"▌{cut(words, self.limits.width - 1)}", "bold cyan")]
            yield from self._block(layer)
        more = self.layers.many - self.limits.layers
        if more > 0:
            yield _more("", counted("{n} more layer", "{n} more layers", more), self.language)

    def _block(self, layer: int) -> Iterator[Line]:
        panels, left = self._panels(layer)
        for place, panel in enumerate(panels):
            if place:
                yield []
            yield from _Panel(self, layer, *panel).lines()
        if left:
            words = counted("{n} more column", "{n} more columns", left)
            yield _more("→ ", words, self.language)

    def cell(self, layer: int, row: int, column: int) -> str:
        """The text of a cell, with room kept for the mark so that digits stand under digits."""
        status = Status(int(self.status[layer, row, column]))
        words = shown_as(int(self.values[layer, row, column]), status, self.language)
        words = words if not self.marked or status in _RAISED else words + " "
        if self.percent is None:
            return words
        cell = (layer * self.rows.many + row) * self.columns.many + column
        return f"{words} {self.percent.at(cell, self.language):>{self.percent_width}}"

    def _panels(self, layer: int) -> tuple[list[tuple[list[int], list[int]]], int]:
        """Columns and their widths, panel by panel, and how many columns are left over.

        The total of all is never among those: it ends the last panel.
        """
        panels, left = self._packed(layer, 0)
        total = self.columns.many - 1
        if left and self.columns.total(total):
            width = self._width(layer, total)
            panels, left = self._packed(layer, width + _GAP + 2)
            panels[-1][0].append(total)
            panels[-1][1].append(width)
            left -= 1
        return panels, left

    def _packed(self, layer: int, kept_free: int) -> tuple[list[tuple[list[int], list[int]]], int]:
        """As many columns as fit, with so much room kept free in the last panel allowed.

        Columns under one outer heading stay together where they fit a panel at all.
        """
        panels: list[tuple[list[int], list[int]]] = [([], [])]
        whole, used = self.limits.width - self.margin, 0
        room = whole - (kept_free if self.limits.panels == 1 else 0)
        together = self.columns.many // self.columns.shape[0] if self.columns.axes else 1
        for first in range(0, self.columns.many, together):
            group = range(first, first + together)
            widths = [self._width(layer, column) for column in group]
            bar = 2 if self.columns.outer_total(first) else 0
            if used and used + bar + sum(widths) + _GAP * together > room:
                used = room if sum(widths) + bar + _GAP * together <= room else used
            for column, width in zip(group, widths, strict=True):
                needs = width + _GAP + (bar if column == first or not panels[-1][0] else 0)
                if panels[-1][0] and used + needs > room:
                    if len(panels) == self.limits.panels:
                        return panels, self.columns.many - column
                    panels.append(([], []))
                    room = whole - (kept_free if len(panels) == self.limits.panels else 0)
                    used = 0
                panels[-1][0].append(column)
                panels[-1][1].append(width)
                used += needs
        return panels, 0

    def heading(self, column: int, width: int) -> list[str]:
        """The innermost heading of a column in lines of a width."""
        label = self.columns.at(column)[-1] if self.columns.axes else safe(self.measure)
        return wrapped(label, width, most=4)

    def _width(self, layer: int, column: int) -> int:
        numbers = max((above(self.cell(layer, row, column)) for row in self.row_indices), default=1)
        label = self.columns.at(column)[-1] if self.columns.axes else safe(self.measure)
        longest = max(map(above, label.split()), default=0)
        lines = self.heading(column, max(numbers - self.mark, min(max(longest, 13), 18)))
        return max(numbers, max(map(above, lines), default=0) + self.mark)


@dataclass(frozen=True)
class _Panel:
    """Some columns of one layer beside all the row labels."""

    grid: Grid
    layer: int
    columns: list[int]
    widths: list[int]

    def lines(self) -> Iterator[Line]:
        grid = self.grid
        if grid.columns.axes:
            indent = grid.margin + _GAP
            title = cut(grid.columns.title, grid.limits.width - indent)
            yield [(" " * indent, ""), (title, "italic cyan")]
        for place in range(len(grid.columns.axes) - 1):
            yield from self._outer_heading(place)
        yield from self._heading()
        yield self._rule()
        before: tuple[str, ...] = ()
        last = -1
        for row in grid.row_indices:
            if row != last + 1:
                yield _more_rows(row - last - 1, grid.language)
                before = ()
            if grid.rows.outer_total(row) and not (last >= 0 and grid.rows.outer_total(last)):
                yield self._rule()
            labels = grid.rows.at(row)
            yield self._row(row, labels, before)
            before, last = labels, row
        if grid.rows.many > last + 1:
            yield _more_rows(grid.rows.many - last - 1, grid.language)

    def _bar(self, position: int) -> str:
        """The gap before a column: a bar where the total of all begins."""
        column = self.columns[position]
        side = self.grid.columns
        starts = side.outer_total(column) and (
            position == 0 or not side.outer_total(self.columns[position - 1])
        )
        return " │" + " " * _GAP if starts else " " * _GAP

    def _rule(self) -> Line:
        words = "─" * self.grid.margin
        for position, width in enumerate(self.widths):
            words += self._bar(position).replace(" ", "─").replace("│", "┼") + "─" * width
        return [(words, "dim")]

    def _outer_heading(self, place: int) -> Iterator[Line]:
        """A heading above the innermost, each label over the columns it spans, then a line."""
        side = self.grid.columns
        spans: list[tuple[str, int, list[str], str]] = []
        position = 0
        while position < len(self.columns):
            start, span = position, 0
            key = side.at(self.columns[start])[: place + 1]
            while (
                position < len(self.columns) and side.at(self.columns[position])[: place + 1] == key
            ):
                span += self.widths[position] + (above(self._bar(position)) if span else 0)
                position += 1
            style = "bold" if side.outer_total(self.columns[start]) else ""
            spans.append((self._bar(start), span, wrapped(key[-1], span, most=3), style))
        deep = max(len(words) for _, _, words, _ in spans)
        margin = " " * self.grid.margin
        for level in range(deep):
            line: Line = [(margin, "")]
            for bar, span, words, style in spans:
                offset = level - (deep - len(words))
                line += [(bar, "dim"), (padded(words[offset] if offset >= 0 else "", span), style)]
            yield line
        yield [(margin + "".join(bar + "╌" * span for bar, span, _, _ in spans), "dim")]

    def _heading(self) -> Iterator[Line]:
        grid = self.grid
        headings = [
            grid.heading(column, width - grid.mark)
            for column, width in zip(self.columns, self.widths, strict=True)
        ]
        deep = max((len(heading) for heading in headings), default=1)
        for level in range(deep):
            line: Line = []
            for place, (axis, width) in enumerate(
                zip(grid.rows.axes, grid.label_widths, strict=True)
            ):
                words = cut(safe(axis.label), width) if level == deep - 1 else ""
                line.append((" " * (_GAP if place else 0) + padded(words, width), "italic cyan"))
            for position, (heading, width) in enumerate(zip(headings, self.widths, strict=True)):
                offset = level - (deep - len(heading))
                words = heading[offset] if offset >= 0 else ""
                style = "bold" if grid.columns.total(self.columns[position]) else ""
                line.append((self._bar(position), "dim"))
                line.append((padded(words + " " * grid.mark, width, right=True), style))
            yield line

    def _row(self, row: int, labels: tuple[str, ...], before: tuple[str, ...]) -> Line:
        grid = self.grid
        total = grid.rows.total(row)
        line: Line = []
        for place, (label, width) in enumerate(zip(labels, grid.label_widths, strict=True)):
            inner = place == len(labels) - 1
            repeated = not inner and before[: place + 1] == labels[: place + 1]
            words = "" if repeated else cut(label, width)
            style = "bold" if total else ""
            line.append((" " * (_GAP if place else 0) + padded(words, width), style))
        for position, (column, width) in enumerate(zip(self.columns, self.widths, strict=True)):
            status = Status(int(grid.status[self.layer, row, column]))
            bold = "bold " if total or grid.columns.total(column) else ""
            faint = "dim" if status is Status.UNRELIABLE else "yellow" if status in MARKS else ""
            words = padded(grid.cell(self.layer, row, column), width, right=True)
            line += [(self._bar(position), "dim"), (words, (bold + faint).strip())]
        return line
