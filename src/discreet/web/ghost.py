"""The table before anything is spent: its heads, and how far off each number would be.

Made from the plan and the description alone, which are public: it costs nothing and tells nothing.
"""

from __future__ import annotations

from itertools import compress

import numpy as np

from ..core.description import Description
from ..core.domain import TOTAL
from ..core.question import Layout, TableSpec
from ..formats.flat import FlatAxis
from ..methods.base import ExpectedError
from .heads import Heads


class Ghost(Heads):
    """A table of errors to expect: one inside, another for each kind of total."""

    def __init__(
        self,
        error: ExpectedError,
        layout: Layout,
        description: Description,
        *,
        begin: int = 0,
        measure: str = "",
        everything: str = "",
        total: str = "Total",
    ) -> None:
        self.error = error
        axes = _axes(error.table, layout, description, total)
        sides = len(layout.layers), len(layout.rows), len(layout.columns)
        self._names = layout.axes
        super().__init__(axes, sides, begin=begin, measure=measure, everything=everything)

    def texts(self, begin: int, end: int) -> list[str]:
        """The cells from `begin` to `end`, each a whole table cell."""
        places = np.unravel_index(np.arange(begin, end), self.shape)
        kinds = np.zeros(end - begin, dtype=np.int64)
        for number, (axis, at) in enumerate(zip(self.axes, places, strict=True)):
            if axis.total:
                kinds |= (at == len(axis) - 1).astype(np.int64) << number
        by_kind = {kind: self._cell(kind) for kind in np.unique(kinds).tolist()}
        return [by_kind[kind] for kind in kinds.tolist()]

    def _cell(self, kind: int) -> str:
        """A cell of one margin; a bit of `kind` says over which axes it is a total."""
        margin = tuple(bool(kind >> number & 1) for number in range(len(self.axes)))
        total = " class=sum" if any(margin[self.down :]) else ""
        return f"<td{total}>{self._off(margin)}</td>"

    def _off(self, margin: tuple[bool, ...]) -> str:
        """How far off the numbers of a margin would be; totals over no axis are the cells."""
        if not any(margin):
            return f"±{self.error.half_width:,}"
        kept = set(compress(self._names, (not gone for gone in margin)))
        named = ",".join(ref.level for ref in self.error.table.axes if str(ref) in kept)
        width = self.error.totals_half_width.get(named)
        return "·" if width is None else f"±{width:,}"


def _axes(spec: TableSpec, layout: Layout, description: Description, total: str) -> list[FlatAxis]:
    """The axes in the layout's order, without categories that a filter lets nothing into."""
    by_name = {}
    for ref, side in zip(spec.axes, description.kept(spec.count), strict=True):
        level = description.axis(ref).level
        codes, labels = level.codes, level.labels(layout.language)
        if str(ref) in layout.columns:
            labels = tuple(category.brief(layout.language) for category in level.categories)
        if side is not None:
            codes, labels = tuple(compress(codes, side)), tuple(compress(labels, side))
        if spec.totals:
            codes, labels = (*codes, TOTAL), (*labels, total)
        label = level.label.says(layout.language) or level.name
        kind = description.variable(ref.variable).kind
        by_name[str(ref)] = FlatAxis(level.name, label, codes, labels, spec.totals, kind)
    return [by_name[name] for name in layout.axes]
