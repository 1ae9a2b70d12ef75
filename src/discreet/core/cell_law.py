"""The law of every cell of a protected table: what was added to it, and what was done afterwards.

Enough to compute with: P(what was released | true count) of any cell whose value is its own count
plus its own draws, and the covariance of cells that are least-squares estimates. A law that depends
on the count is carried whole, never as the row that was used.

Margins are named by their axes and categories by their place, so a table may be turned as a layout
likes without a change here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import LawError
from . import law_kinds
from .domain import Domain, margins
from .noise_law import AnyLaw, Probability
from .question import digest
from .residual_law import Residuals

Whole = npt.NDArray[np.integer]
Cell: TypeAlias = Mapping[str, int | None]
"""A cell by the place of its category on each axis; None, or no place, for the total."""
LOW, HIDDEN = "low", "c"
"""Symbols of cells without a number: below the display floor, below the publication threshold."""
FORM = "discreet law 1"


@dataclass(frozen=True)
class Runs:
    """Whole numbers over some axes, last axis fastest, as runs of equal ones.

    >>> Runs.of(np.array([[1, 1], [1, 0]]))
    Runs(shape=(2, 2), runs=((1, 3), (0, 1)))
    """

    shape: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]
    """(number, how many times)."""

    @classmethod
    def of(cls, numbers: Whole) -> Runs:
        """The runs of an array."""
        groups = groupby(numbers.ravel().tolist())
        return cls(tuple(numbers.shape), tuple((n, len(list(times))) for n, times in groups))

    @cached_property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The array again."""
        values, times = zip(*self.runs, strict=True) if self.runs else ((), ())
        flat = np.repeat(np.array(values, dtype=np.int64), np.array(times, dtype=np.int64))
        return flat.reshape(self.shape)


def alike(numbers: int | Whole) -> int | Runs:
    """A plain number where all are alike, else runs."""
    if isinstance(numbers, int):
        return numbers
    first = int(numbers.flat[0]) if numbers.size else 1
    return first if bool((numbers == first).all()) else Runs.of(numbers)


@dataclass(frozen=True)
class Source:
    """A measured table: one draw of its law in each of its cells; `tables` are so many of them.

    Cells that are sums over one source share its draws; sources are independent of each other.
    """

    name: str
    law: AnyLaw
    tables: int = 1


@dataclass(frozen=True)
class MarginLaw:
    """What was added to the cells over some axes, at the total of all others."""

    axes: tuple[str, ...] | None
    """None: every margin that is not named otherwise."""
    source: int | None
    """The place of the source whose draws were added; None where nothing was."""
    summed: int | Runs = 1
    """How many draws each cell has; 0 for a cell declared impossible, which is 0."""

    def at(self, cell: Cell) -> int:
        """How many draws one cell has."""
        if isinstance(self.summed, int):
            return self.summed
        places = tuple(_place(cell, name) for name in self.axes or ())
        return int(self.summed.numbers[places])


@dataclass(frozen=True)
class CellLaw:
    """Which law made each cell, how many draws were added, which cells share them, what followed."""

    sources: tuple[Source, ...] = ()
    cells: tuple[MarginLaw, ...] = ()
    """By margin; empty where values are estimates from all sources together."""
    shared: str = "draws"
    """draws: cells that are sums over one source share its draws. keys: each cell has a draw of its
    own, the same for the same records."""
    unit: int = 1
    """Measured values and draws are in units of 1/unit; values are rounded half up to whole ones."""
    mean_weight: bool = False
    """Whether count and perturbation were multiplied by the cell's mean weight, which is not said."""
    consistency: str = "none"
    """none, least squares, integers (of least squares), or synthetic table (a fit ≥ 0 to all)."""
    negatives: str = "keep"
    """keep; clip or threshold: values below 0, or below `threshold`, are shown as 0; balance: the
    nearest values ≥ 0 that keep the totals measured."""
    threshold: int | None = None
    hidden_below: int | None = None
    """Cells whose value (or protected count, with weights) is below it are not shown: status c."""
    display_floor: int | None = None
    """Cells below it and not 0 are shown as low."""
    residual_variance: Residuals | None = None
    """Of the least-squares estimates, by what varies along which axes."""
    column: str = ""
    """The column `residual_variance` speaks of, where that is not the published one."""
    measured: bool = True
    """False where the values follow from a model only."""
    about: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Further public facts of the method, as plain values."""

    @property
    def laws(self) -> tuple[AnyLaw, ...]:
        """Every different law, in order."""
        return tuple({source.law.digest: source.law for source in self.sources}.values())

    # -- one cell ---------------------------------------------------------------------------

    def margin(self, cell: Cell) -> MarginLaw:
        """What was added to the margin a cell lies in."""
        names = {name for name, place in cell.items() if place is not None}
        every = [part for part in self.cells if part.axes is not None and set(part.axes) == names]
        every += [part for part in self.cells if part.axes is None]
        if not every:
            raise LawError(_NO_CELL_LAW)
        return every[0]

    def probability(self, released: int | str, true: int, cell: Cell) -> Probability:
        """P(a cell is released as this | its true count), exactly wherever the law is exact.

        `released` is a number, or the letter of a status without one. A weighted `true` is in
        units of 1/unit. Values that are estimates from many cells have no law of their own.
        """
        part = self.margin(cell)
        if self.consistency != "none" or self.mean_weight or not self.measured:
            raise LawError(_NO_CELL_LAW)
        if self.negatives == "balance":
            raise LawError(_NO_CELL_LAW)
        summed = part.at(cell)
        if part.source is None or summed == 0:
            half_up = (2 * true + self.unit) // (2 * self.unit)
            return 1 if released == (half_up if summed else 0) else 0
        law = self.sources[part.source].law.for_count(true)
        total: Probability = 0
        for low, high in self.values_behind(released):
            first = None if low is None else -((self.unit - 2 * self.unit * low) // 2)
            last = -((-self.unit - 2 * self.unit * high) // 2) - 1
            total += law.cumulative(last - true, summed)
            if first is not None:
                total -= law.cumulative(first - 1 - true, summed)
        return total

    def values_behind(self, released: int | str) -> list[tuple[int | None, int]]:
        """The values before any cut that are released as this, as ranges; None: without end."""
        if isinstance(released, str):
            return self._hidden(released)
        floor = self.display_floor
        low = floor is not None and released != 0 and released < floor
        if low or (self.hidden_below is not None and released < self.hidden_below):
            return []
        if self.negatives == "keep":
            return [(released, released)]
        least = max(self.threshold or 0, 0)
        if released == 0:
            return [(None, max(least - 1, 0))]
        return [(released, released)] if released >= least else []

    def _hidden(self, letter: str) -> list[tuple[int | None, int]]:
        """The values that are not shown and marked so."""
        below, floor = self.hidden_below, self.display_floor
        if letter == HIDDEN and below is not None:
            return [(None, below - 1)]
        if letter == LOW and floor is not None:
            both = [(below, min(floor - 1, -1)), (max(below or 0, 1), floor - 1)]
            return [(low, high) for low, high in both if low is None or low <= high]
        return []

    # -- another form of the table ----------------------------------------------------------

    def taken(self, kept: Mapping[str, Sequence[int]]) -> CellLaw:
        """The law of the same table with only these categories of some axes."""
        cells = []
        for part in self.cells:
            if part.axes is not None and not isinstance(part.summed, int):
                numbers = part.summed.numbers
                for position, name in enumerate(part.axes):
                    if name in kept:
                        numbers = numbers.take(list(kept[name]), axis=position)
                part = replace(part, summed=alike(numbers))  # noqa: PLW2901 - the same one, changed
            cells.append(part)
        residuals = self.residual_variance
        return replace(
            self,
            cells=tuple(cells),
            residual_variance=None if residuals is None else residuals.taken(kept),
        )

    # -- written and read -------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """The law as plain values: one entry a different law, one a margin; not to be changed."""
        return self._written

    @cached_property
    def _written(self) -> dict[str, Any]:
        if self == CellLaw():
            return {}
        laws = self.laws
        place = {law.digest: number for number, law in enumerate(laws)}
        out: dict[str, Any] = {
            "form": FORM,
            "laws": [law_kinds.written(law) for law in laws],
            "sources": [
                {"name": source.name, "law": place[source.law.digest], "tables": source.tables}
                for source in self.sources
            ],
            "cells": [_margin_to_json(part) for part in self.cells],
        }
        plain = CellLaw()
        for name in _PLAIN:
            value = getattr(self, name)
            if value != getattr(plain, name) or name in _ALWAYS:
                out[name] = value
        if self.residual_variance is not None:
            out["residual_variance"] = self.residual_variance.to_json()
        if self.about:
            out["about"] = dict(self.about)
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CellLaw:
        """Read back what `to_json` gives, to an equal law; whatever is none is refused."""
        if not data:
            return cls()
        if data.get("form") != FORM:
            raise LawError(f"This law is not of the form {FORM!r}. A newer version may read it.")
        try:
            laws = [law_kinds.read(law) for law in data["laws"]]
            residuals = data.get("residual_variance")
            return cls(
                tuple(Source(s["name"], laws[s["law"]], s["tables"]) for s in data["sources"]),
                tuple(_margin_from_json(part, len(data["sources"])) for part in data["cells"]),
                **{name: data[name] for name in _PLAIN if name in data},
                residual_variance=None if residuals is None else Residuals.from_json(residuals),
                about=data.get("about", {}),
            )
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as problem:
            raise LawError(
                f"This is no law of a table that discreet wrote ({type(problem).__name__})."
            ) from None

    @cached_property
    def text(self) -> str:
        """`to_json` as one line of JSON; the same law stands in many tables."""
        return json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text: two tables with one digest have one law."""
        return digest(self.to_json())


_APART = ("sources", "cells", "residual_variance", "about")
_PLAIN = tuple(part.name for part in fields(CellLaw) if part.name not in _APART)
_ALWAYS = ("shared", "unit", "consistency", "negatives")
_NO_CELL_LAW = (
    "The cells of this table have no law of their own that was published: they are estimates from "
    "many cells together, or weighted by a mean that is not said. Use their covariance or intervals."
)


def axis_names(domain: Domain) -> tuple[str, ...]:
    """A name for each axis: its level, with its variable where two levels have one name."""
    names = domain.names
    return tuple(
        name if names.count(name) == 1 else str(axis.ref)
        for name, axis in zip(names, domain.axes, strict=True)
    )


def by_margin(names: Sequence[str], totals: bool, summed: Whole) -> tuple[MarginLaw, ...]:
    """One source for every cell, from the numbers of draws of the whole table, totals last."""
    parts = []
    for kept in margins(len(names), least=0 if totals else len(names)):
        place = tuple(
            slice(0, n - totals) if i in kept else n - 1 for i, n in enumerate(summed.shape)
        )
        part = alike(np.asarray(summed[place]))
        parts.append(MarginLaw(tuple(names[i] for i in kept), 0, part))
    return tuple(parts)


def _place(cell: Cell, name: str) -> int:
    place = cell.get(name)
    if place is None:
        raise LawError(f"Name a category of {name}.")
    return place


def _margin_to_json(part: MarginLaw) -> dict[str, Any]:
    summed = part.summed
    return {
        "axes": "all" if part.axes is None else list(part.axes),
        "source": part.source,
        "cells_summed": summed
        if isinstance(summed, int)
        else {"shape": list(summed.shape), "runs": [list(run) for run in summed.runs]},
    }


def _margin_from_json(data: Mapping[str, Any], sources: int) -> MarginLaw:
    summed = data["cells_summed"]
    if not isinstance(summed, int):
        runs = tuple((int(number), int(times)) for number, times in summed["runs"])
        summed = Runs(tuple(summed["shape"]), runs)
    axes, source = data["axes"], data["source"]
    if source is not None and (type(source) is not int or not 0 <= source < sources):
        raise ValueError("no such source")
    return MarginLaw(None if axes == "all" else tuple(axes), source, summed)
