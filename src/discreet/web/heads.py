"""A table's heads and rows on a page, whatever stands in its cells.

Rows are written as one text each, because a page may have thousands; every label is escaped here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from ..formats.flat import FlatAxis
from ..formats.html import WHOLE_CELLS
from ..formats.html_frame import Frame

PAGE_ROWS = 100
"""Rows of a long table on one page: a browser has laid them out before anybody notices."""


class Heads(Frame):
    """A table's heads and rows as a page has them; what stands in its cells is its heir's."""

    page_rows = PAGE_ROWS
    noted = False
    """Whether something stands under each number, so that columns are wide and stand closer."""

    def __init__(
        self,
        axes: Sequence[FlatAxis],
        sides: tuple[int, int, int],
        *,
        begin: int = 0,
        measure: str = "",
        everything: str = "",
        orders: Callable[[FlatAxis, str], tuple[str, str]] | None = None,
    ) -> None:
        """`orders` gives the link that sorts rows by a column, and which way they are sorted by it."""
        super().__init__(axes, sides)
        self._orders = orders
        self.begin, self.measure, self.everything = begin, measure, everything

    @property
    def paged(self) -> bool:
        """Whether only a part of the rows is on one page."""
        return self.cells > WHOLE_CELLS and self.height > PAGE_ROWS

    @property
    def window(self) -> range:
        """The rows on this page."""
        if not self.paged:
            return range(self.height)
        begin = min(max(self.begin, 0), self.height - 1)
        return range(begin, min(begin + PAGE_ROWS, self.height))

    @property
    def widths(self) -> list[int]:
        """How wide columns are where rows come by pages: said beforehand, a browser need not try."""
        longest = max(
            (len(label) for axis in self.axes[self.down :] for label in axis.labels), default=9
        )
        number = min(max(84, 6 * longest), 132)
        return [140] * max(self.down - self.layers, 1) + [number] * self.across

    def texts(self, begin: int, end: int) -> list[str]:
        """The cells from `begin` to `end`, each a whole table cell."""
        raise NotImplementedError

    # -- the head ---------------------------------------------------------------------------

    def head(self) -> str:
        """The rows of the head."""
        heads = [axis.label for axis in self.axes[self.layers : self.down]]
        lines = list(self.head_lines(self._column_head))
        if not lines:
            lines = [f"<th scope=col>{name(self.measure)}</th>"]
        *upper, lowest = lines
        above = [f"<tr>{_corner(heads, False)}{line}</tr>" for line in upper]
        return "".join(above) + f"<tr>{_corner(heads, True)}{lowest}</tr>"

    def _column_head(self, axis: FlatAxis, at: int, scope: str) -> str:
        total = axis.total and at == len(axis) - 1
        kind = " class=sum" if total else ""
        text, way = self._ordered(axis, at, name(axis.labels[at]))
        return f"<th {scope}{kind}{way}{_code(axis, at)}>{text}</th>"

    def _ordered(self, axis: FlatAxis, at: int, text: str) -> tuple[str, str]:
        """A column's head as a link that sorts by it, where there is one variable across."""
        if self._orders is None or len(self.axes) - self.down != 1 or self.down <= self.layers:
            return text, ""
        address, way = self._orders(axis, axis.codes[at])
        sorted_so = f' aria-sort="{way}"' if way else ""
        return f'<a href="{escape(address)}">{text}</a>', sorted_so

    # -- the body ---------------------------------------------------------------------------

    def body(self) -> str:
        """The rows of this page, each layer under a line of its own."""
        window, across = self.window, self.across
        inner = int(np.prod(self.shape[self.layers : self.down], dtype=np.int64))
        cells = self.texts(window.start * across, window.stop * across)
        out, layer = ["<tbody>"], -1
        for row in window:
            if self.layers and row // inner != layer:
                layer = row // inner
                out.append(self._layer(layer))
            begin = (row - window.start) * across
            total, heads = self._row_heads(row, window)
            kind = " class=total" if total else ""
            index = f" aria-rowindex={row + 2}" if self.paged else ""
            line = "".join(cells[begin : begin + across])
            out.append(f"<tr{kind}{index}>{heads}{line}</tr>")
        out.append("</tbody>")
        return "".join(out)

    def _layer(self, layer: int) -> str:
        labels, codes = [], []
        for axis in reversed(self.axes[: self.layers]):
            labels.append(axis.labels[layer % len(axis)])
            codes.append(axis.codes[layer % len(axis)])
            layer //= len(axis)
        wide = self.across + max(self.down - self.layers, 1)
        words, named = name(" · ".join(reversed(labels))), escape("\n".join(reversed(codes)))
        head = f'<th scope=rowgroup class=edge colspan={wide} data-codes="{named}">{words}</th>'
        return f"<tr class=layer>{head}</tr>"

    def _row_heads(self, row: int, window: range) -> tuple[bool, str]:
        """Whether a row is a total, and its heads; one that spans several rows stands once."""
        axes = self.axes[self.layers : self.down]
        if not axes:
            return False, f"<th scope=row class=edge>{name(self.everything)}</th>"
        heads, total, inner = [], False, 1
        for depth in range(len(axes) - 1, -1, -1):
            axis = axes[depth]
            at = row // inner % len(axis)
            whole = axis.total and at == len(axis) - 1
            total |= whole and depth == 0
            if row % inner == 0 or row == window.start:
                left = min(inner - row % inner, window.stop - row)
                span = f" rowspan={left}" if left > 1 else ""
                scope = "rowgroup" if left > 1 else "row"
                kind = _ROW_KINDS[whole, depth == 0]
                label = name(axis.labels[at])
                heads.append(f"<th scope={scope}{span}{kind}{_code(axis, at)}>{label}</th>")
            inner *= len(axis)
        return total, "".join(reversed(heads))

    # -- cells by their codes ---------------------------------------------------------------

    def places(self, cell: int) -> list[int]:
        """Where a cell lies on each axis."""
        places = []
        for axis in reversed(self.axes):
            places.append(cell % len(axis))
            cell //= len(axis)
        return places[::-1]

    def codes_at(self, cell: int) -> tuple[str, ...]:
        """The codes of a cell, axis after axis."""
        return tuple(a.codes[i] for a, i in zip(self.axes, self.places(cell), strict=True))

    def labels_at(self, cell: int) -> tuple[str, ...]:
        """The labels of a cell, axis after axis."""
        return tuple(a.labels[i] for a, i in zip(self.axes, self.places(cell), strict=True))

    def cell(self, codes: Sequence[str]) -> int | None:
        """The cell of these codes; None where there is none."""
        if len(codes) != len(self.axes):
            return None
        at = 0
        for axis, code in zip(self.axes, codes, strict=True):
            if code not in axis.codes:
                return None
            at = at * len(axis) + axis.codes.index(code)
        return at


def name(label: str) -> str:
    """A label, escaped, and kept from turning round what stands beside it."""
    text = escape(label)
    plain = label.isascii() and label.replace(" ", "").isalpha()
    return text if plain else f"<bdi>{text}</bdi>"


_ROW_KINDS = {
    (False, False): "",
    (False, True): " class=edge",
    (True, False): " class=sum",
    (True, True): ' class="sum edge"',
}


def _corner(heads: Sequence[str], lowest: bool) -> str:
    """The heads over the row heads; the first stays at the edge."""
    names = [name(head) if lowest else "" for head in heads or [""]]
    cell = "<th scope=col class=head>{}</th>" if lowest else "<td class=head>{}</td>"
    return "".join(cell.format(one) for one in names).replace("class=head", 'class="head edge"', 1)


def _code(axis: FlatAxis, at: int) -> str:
    return f' data-code="{escape(axis.codes[at])}"'
