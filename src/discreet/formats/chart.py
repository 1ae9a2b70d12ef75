"""What a picture of a table shows: which numbers, along which variables, as which kind of marks.

Numbers are published ones only, with their noise intervals; totals are never drawn beside the cells
they are totals of. What is too much for one picture is said in a sentence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..core.domain import Axis
from ..core.table import ProtectedTable, Status
from ..errors import InputError, did_you_mean
from ..languages import say
from ..languages.catalogue import catalogue, language_of
from .flat import flatten
from .terminal_grid import MARKS

KINDS = ("dots", "bars", "lines", "multiples", "heat", "tiles")
MOST_MARKS = 2_000
MOST_PANELS = 24
_MOST_BANDS = 6
_BEGINS = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Point:
    """One number as it is drawn."""

    label: str
    value: float
    lower: float
    upper: float
    shown: bool = True
    unreliable: bool = False
    mark: str = ""
    """What stands there where no number is published."""
    tile: tuple[int, int] | None = None
    tick: str = ""
    """Where it begins, as ages do: for scales without room for labels."""


@dataclass(frozen=True)
class Panel:
    """Points along one variable, under a name of their own where there are several panels."""

    title: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Numbers:
    """Numbers as a language writes them."""

    language: str
    decimals: int = 0
    unit: str = ""

    def __call__(self, value: float) -> str:
        """A number with its unit and a true minus."""
        text = f"{value:,.{self.decimals}f}"
        if self.decimals and "." in text:
            text = text.rstrip("0").rstrip(".") if value == int(value) else text
        spoken = catalogue(language_of(self.language)).number(text)
        return spoken.replace("-", "\N{MINUS SIGN}") + self.unit

    def spread(self, low: float, high: float) -> str:
        """An interval."""
        plain = Numbers(self.language, self.decimals)
        between = " \N{EN DASH} " if low < 0 else "\N{EN DASH}"
        return f"{plain(low)}{between}{plain(high)}{self.unit}"


class Chart:
    """A table read for a picture of one kind."""

    def __init__(self, table: ProtectedTable, kind: str = "") -> None:
        self.table = table
        self.language = table.layout.language
        self._flat = flatten(table)
        axes = range(len(table.domain.axes))
        self.dims = [i for i in axes if len(table.domain.axes[i]) > 1]
        self.kind = self._chosen(kind)
        marks = math.prod(len(self.axis(i)) for i in self._drawn)
        if marks > MOST_MARKS or len(self.panels) > self._most_panels:
            raise InputError(
                say(
                    "This table is too much for one picture: {marks} numbers in {panels} panels; at "
                    "most {most} and {most_panels} are drawn. Choose fewer categories, a coarser "
                    "level, or one layer; the table itself shows everything.",
                    marks=marks,
                    panels=max(1, len(self.panels)),
                    most=MOST_MARKS,
                    most_panels=self._most_panels,
                )
            )

    def axis(self, place: int) -> Axis:
        """A variable of the table at its level."""
        return self.table.domain.axes[place]

    @property
    def percent(self) -> bool:
        """Whether percentages are drawn, not counts."""
        return self._flat.percent is not None

    @cached_property
    def numbers(self) -> Numbers:
        """How its numbers are written."""
        if self._flat.percent is None:
            return Numbers(self.language)
        return Numbers(self.language, self._flat.percent.decimals, " %")

    @property
    def _most_panels(self) -> int:
        return _MOST_BANDS if self.kind == "heat" else MOST_PANELS

    @property
    def _drawn(self) -> list[int]:
        """The variables whose categories are all drawn; others stand at their total."""
        return self.dims[-1:] if self.kind in _ALONG_ONE and not self._several else self.dims

    @property
    def _several(self) -> bool:
        return len(self.dims) > 1

    # -- which kind -------------------------------------------------------------------------

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of pictures this table can have, the best first."""
        if not self.dims:
            return ()
        last = self.ordered(self.dims[-1])
        if len(self.dims) == 1:
            tiles = ("tiles",) if self._places == self.dims[0] else ()
            return (*tiles, "lines", "bars", "dots") if last else (*tiles, "dots", "bars")
        several = ("multiples", "heat") if self._inner_ordered else ("heat", "multiples")
        return (
            (*several, "tiles") if self._places is not None and all(self.table.totals) else several
        )

    def _chosen(self, kind: str) -> str:
        if not self.dims:
            raise InputError(say("One number needs no picture. Add a variable to rows or columns."))
        if not kind:
            return self.kinds[0]
        if kind not in KINDS:
            raise InputError(
                f"There is no chart {kind[:40]!r}; there are {', '.join(KINDS)}."
                f"{did_you_mean(kind, KINDS)}"
            )
        if kind not in self.kinds:
            raise InputError(
                say(
                    "This table cannot be shown as {kind}; it can as {kinds}.",
                    kind=kind,
                    kinds=", ".join(self.kinds),
                )
            )
        return kind

    def ordered(self, place: int) -> bool:
        """Whether a variable's categories stand in an order of their own, as ages and months do."""
        axis = self.axis(place)
        if axis.variable.kind == "time":
            return self.table.layout.sort is None
        begins = [_BEGINS.match(c.code) for c in axis.level.categories if not c.missing]
        starts = [int(found[0]) for found in begins if found is not None]
        return len(starts) == len(begins) > 2 and starts == sorted(starts)

    @cached_property
    def _places(self) -> int | None:
        """The variable whose categories have tiles."""
        for i in self.dims:
            categories = self.axis(i).level.categories
            if sum(c.tile is not None for c in categories) > len(categories) / 2:
                return i
        return None

    @property
    def _inner_ordered(self) -> bool:
        return any(self.ordered(i) for i in self.dims)

    # -- the numbers ------------------------------------------------------------------------

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        """The panels of the picture in order."""
        if self.kind == "tiles":
            assert self._places is not None
            return (Panel("", self._points(self._places, {})),)
        if len(self.dims) == 1:
            return (Panel("", self._points(self.dims[0], {})),)
        if self.kind == "heat":
            return ()
        return tuple(self._along(self._inner, [i for i in self.dims if i != self._inner]))

    @property
    def _inner(self) -> int:
        """The variable along each panel: an ordered one, the last where there are several."""
        return next((i for i in reversed(self.dims) if self.ordered(i)), self.dims[-1])

    def _along(self, inner: int, outer: Sequence[int]) -> list[Panel]:
        shape = [len(self.axis(i)) for i in outer]
        panels = []
        if math.prod(shape) > 10 * MOST_PANELS:
            return [Panel("", ())] * math.prod(shape)
        for place in np.ndindex(*shape):
            at = dict(zip(outer, place, strict=True))
            names = [self._label(i, j) for i, j in at.items()]
            panels.append(Panel(", ".join(names), self._points(inner, at)))
        return panels

    def bands(self) -> list[tuple[str, tuple[Panel, ...]]]:
        """For heat: the rows of each layer, each a panel along the columns."""
        *outer, rows, columns = self.dims
        shape = [len(self.axis(i)) for i in outer]
        if math.prod(shape) > _MOST_BANDS:
            raise InputError(
                say(
                    "This table is too much for one picture: {layers} layers, at most {most} are "
                    "drawn. Choose one layer, or leave a variable out.",
                    layers=math.prod(shape),
                    most=_MOST_BANDS,
                )
            )
        bands = []
        for place in np.ndindex(*shape):
            at = dict(zip(outer, place, strict=True))
            title = ", ".join(self._label(i, j) for i, j in at.items())
            lines = tuple(
                Panel(self._label(rows, j), self._points(columns, {**at, rows: j}))
                for j in range(len(self.axis(rows)))
            )
            bands.append((title, lines))
        return bands

    def _label(self, axis: int, place: int) -> str:
        return self.axis(axis).level.categories[place].brief(self.language)

    def _points(self, along: int, at: dict[int, int]) -> tuple[Point, ...]:
        """The numbers along one variable; others stand where `at` says, else at their total."""
        index = [at.get(i, -1) for i in range(len(self.table.domain.axes))]
        numbered = self.ordered(along) and self.axis(along).variable.kind != "time"
        points = []
        for place, category in enumerate(self.axis(along).level.categories):
            index[along] = place
            cell = int(
                np.ravel_multi_index(
                    [i % n for i, n in zip(index, self.table.shape, strict=True)], self.table.shape
                )
            )
            point = self._point(cell, category.brief(self.language))
            begins = _BEGINS.match(category.code) if numbered else None
            tick = begins[0] if begins else ""
            points.append(replace(point, tile=category.tile, tick=tick))
        return tuple(points)

    def _point(self, cell: int, label: str) -> Point:
        flat, status = self._flat, Status(int(self._flat.status[cell]))
        unreliable = status is Status.UNRELIABLE
        if flat.percent is not None:
            made = flat.percent
            value, shown = float(made.values[cell]), bool(made.shown[cell])
            low, high = (value if e is None else float(e[cell]) for e in (made.lower, made.upper))
        else:
            value, shown = float(flat.values[cell]), bool(flat.shown[cell])
            low, high = (value if e is None else float(e[cell]) for e in (flat.lower, flat.upper))
        mark = "" if shown else "[x]" if status.has_value else MARKS[status]
        return Point(label, value, low, high, shown, unreliable, mark)

    # -- words ------------------------------------------------------------------------------

    @cached_property
    def points(self) -> list[Point]:
        """Every number that is drawn."""
        return [point for _, point in self.named_points]

    @property
    def noisy(self) -> bool:
        """Whether any number has an interval to draw."""
        return any(point.shown and point.lower < point.upper for point in self.points)

    @property
    def extent(self) -> tuple[float, float]:
        """From the least end of an interval, or 0, to the largest."""
        shown = [point for point in self.points if point.shown]
        low = min((min(p.lower, p.value) for p in shown), default=0.0)
        high = max((max(p.upper, p.value) for p in shown), default=1.0)
        return min(low, 0.0), max(high, 0.0) or 1.0

    @property
    def sentence(self) -> str:
        """The picture in words, for those who do not see it."""
        shown = [
            (", ".join(filter(None, (panel, point.label))), point)
            for panel, point in self.named_points
            if point.shown
        ]
        if not shown:
            return say("{title}: no number is published.", title=self.table.title).says(
                self.language
            )
        most = max(shown, key=lambda named: named[1].value)
        least = min(shown, key=lambda named: named[1].value)
        return say(
            "{title}: {many} numbers, the largest {most} ({most_name}), the smallest {least} "
            "({least_name}).",
            title=self.table.title,
            many=len(self.points),
            most=self.numbers(most[1].value),
            most_name=most[0],
            least=self.numbers(least[1].value),
            least_name=least[0],
        ).says(self.language)

    @cached_property
    def named_points(self) -> list[tuple[str, Point]]:
        """Every number with the name of its panel, or of its row where it is one of a heat map."""
        if self.kind != "heat":
            return [(panel.title, point) for panel in self.panels for point in panel.points]
        return [
            (", ".join(filter(None, (title, line.title))), point)
            for title, lines in self.bands()
            for line in lines
            for point in line.points
        ]


_ALONG_ONE = ("dots", "bars", "lines", "tiles")
