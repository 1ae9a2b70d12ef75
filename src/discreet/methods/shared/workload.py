"""The tables of a question as margins over one product of variables.

Each variable the question uses appears once, at the coarsest level from which all levels asked for
can be summed, and without categories that hold nothing: what cannot be is not measured. A table at
a coarser level, or under a filter, is a sum over its margin's cells. Everything here is public.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...core.description import Description
from ...core.domain import Axis, AxisRef, Domain, Flags
from ...core.domain import margins as subsets_of
from ...core.margins import Projection
from ...core.product import Margin, Reals, Shape, Whole, size
from ...core.question import TableSpec
from ...errors import Bug, RecipeError
from ...languages import say
from .synthetic_table import SyntheticTable
from .unit import check_unit

MOST_MARGIN_CELLS = 5_000_000


@dataclass(frozen=True)
class Wanted:
    """One table asked for: its margin, and how its cells are summed from the margin's."""

    spec: TableSpec
    margin: Margin
    projection: Projection
    """From the margin's cells to the table's."""
    passes: tuple[tuple[int, Flags], ...]
    """Filters: an axis of the product, and which of its categories pass."""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many categories each axis of the table has, those that hold nothing included."""
        return self.projection.part.shape

    @property
    def axes(self) -> tuple[int, ...]:
        """For each axis of the table the axis of the product."""
        return tuple(self.margin[position] for position, _ in self.projection.sides)

    @cached_property
    def _held(self) -> tuple[Whole, ...]:
        return tuple(np.flatnonzero(axis.level.held) for axis in self.projection.part.axes)

    def inside(self, table: Reals) -> Reals:
        """The cells of a table, totals not included, whose categories hold something."""
        return np.asarray(table[np.ix_(*self._held)])

    def opened(self, table: Reals, totals: bool) -> Reals:
        """A table without the categories that hold nothing, with 0 for them."""
        out = np.zeros([length + totals for length in self.shape])
        ends = zip(self._held, self.shape, strict=True)
        out[np.ix_(*(np.append(held, n) if totals else held for held, n in ends))] = table
        return out

    def margins(self, totals: bool) -> Iterator[tuple[tuple[int, ...], Margin]]:
        """The positions each margin of the table keeps, and its axes of the product in order."""
        for kept in subsets_of(len(self.axes), least=0 if totals else len(self.axes)):
            yield kept, tuple(sorted(self.axes[place] for place in kept))

    @property
    def allowed(self) -> tuple[Flags, ...]:
        """For each axis of the margin, which of its categories count for the table."""
        passes = dict(self.passes)
        lengths = zip(self.margin, self.projection.whole.shape, strict=True)
        return tuple(passes.get(axis, np.ones(length, dtype=bool)) for axis, length in lengths)

    def publish(self, margin: Reals | Whole) -> Reals | Whole:
        """The table's cells, totals not included, from its margin's cells."""
        out = margin
        for axis, passing in self.passes:
            shape = [1] * out.ndim
            shape[self.margin.index(axis)] = len(passing)
            out = np.where(passing.reshape(shape), out, 0)
        return self.projection.sums(out)

    def read_off(self, table: SyntheticTable) -> Whole:
        """The table's cells, totals not included, as sums over a synthetic table's rows."""
        inside = np.ones(len(table.rows), dtype=bool)
        for axis, passing in self.passes:
            inside &= passing[table.rows[:, axis]]
        rows = table.rows[inside]
        address = self.projection.address([rows[:, axis] for axis in self.margin])
        out = np.zeros(self.projection.part.size, dtype=np.int64)
        np.add.at(out, np.broadcast_to(address, len(rows)), table.counts[inside])
        return out.reshape(self.shape)

    def group_sizes(self, totals: bool) -> list[Whole]:
        """For each axis of the margin: how many of its categories every published place sums."""
        sides = dict(self.projection.sides)
        lengths = dict(zip(self.axes, self.shape, strict=True))
        sizes = []
        for place, (axis, allowed) in enumerate(zip(self.margin, self.allowed, strict=True)):
            if place not in sides:
                sizes.append(np.array([int(allowed.sum())]))
                continue
            places = sides[place]
            into = np.flatnonzero(allowed) if places is None else places[allowed]
            held = np.bincount(into, minlength=lengths[axis]).astype(np.int64)
            sizes.append(np.append(held, held.sum()) if totals else held)
        return sizes


@dataclass(frozen=True)
class Workload:
    """Every table asked for, over one product of variables."""

    refs: tuple[AxisRef, ...]
    domain: Domain
    tables: tuple[Wanted, ...]
    forbidden: Mapping[Margin, Reals]
    """Where no record can be, as tables of 0 and 1 over few axes each."""
    mixed: tuple[str, ...]
    """Variables asked for at more than one level."""

    @cached_property
    def shape(self) -> Shape:
        """Categories along each axis of the product."""
        return self.domain.shape

    def words(self, margin: Margin) -> str:
        """A margin by the levels it keeps."""
        return " × ".join(self.refs[axis].level for axis in margin) or say("total")

    @cached_property
    def margins(self) -> tuple[Margin, ...]:
        """The different margins, narrow ones first: the order asked for must change no number."""
        return tuple(sorted(set(self.margins_asked), key=lambda margin: (len(margin), margin)))

    @property
    def margins_asked(self) -> tuple[Margin, ...]:
        """The different margins, in the order first asked for."""
        return tuple(dict.fromkeys(table.margin for table in self.tables))


def read_workload(tables: Sequence[TableSpec], description: Description, method: str) -> Workload:
    """The workload of a question to a method, checked; bad ones get one clear sentence."""
    if not tables:
        raise RecipeError(
            say("The workload is empty: no table is asked for. Name tables, or write 'all 2-way'.")
        )
    _check_each(tables, description, method)
    used: dict[str, set[str]] = {}
    for table in tables:
        for variable, level in _levels(table):
            used.setdefault(variable, set()).add(level)
    check_unit(description)
    description.require_declared(used)
    refs = tuple(
        AxisRef(name, description.variable(name).refining(levels).name)
        for name, levels in sorted(used.items())
    )
    domain = Domain(
        tuple(Axis(axis.variable, axis.level.compact) for axis in description.domain(refs).axes)
    )
    if all(n < 2 for n in domain.shape):
        raise RecipeError(
            say(
                "The {method} method needs a variable of two or more categories, got none. "
                "Name one, or use method noise for a total alone.",
                method=method,
            )
        )
    wanted = tuple(wanted_over(table, description, domain) for table in tables)
    for one in wanted:
        cells = size(domain.shape, one.margin)
        if cells > MOST_MARGIN_CELLS:
            raise RecipeError(
                say(
                    "A margin of {cells} cells ({names}) is too wide; most is {most_margin_cells}. "
                    "Use coarser levels or fewer variables.",
                    cells=cells,
                    names=" × ".join(refs[a].level for a in one.margin),
                    most_margin_cells=MOST_MARGIN_CELLS,
                )
            )
    empty = description.zero_tables(domain.axes)
    forbidden = {margin: table.astype(np.float64) for margin, table in empty.items()}
    mixed = tuple(
        name
        for name in sorted(used)
        if len({r.level for t in tables for r in t.axes if r.variable == name}) > 1
    )
    return Workload(refs, domain, wanted, forbidden, mixed)


def _levels(table: TableSpec) -> list[tuple[str, str]]:
    """The variables and levels a table uses, filters included."""
    axes = [(ref.variable, ref.level) for ref in table.axes]
    return axes + [(part.variable, part.level) for part in table.where]


def _check_each(tables: Sequence[TableSpec], description: Description, method: str) -> None:
    seen: set[object] = set()
    for table in tables:
        words = " × ".join(str(ref) for ref in table.axes) or say("the total")
        for ref in table.axes:
            description.axis(ref)
        if table.weighted:
            raise RecipeError(
                say(
                    "{words}: the {method} method publishes counts of records, not weighted ones. "
                    "Leave out weighted, or use method noise.",
                    words=words,
                    method=method,
                )
            )
        if table.share is not None:
            raise RecipeError(
                say(
                    "{words} asks for a share of ε; the {method} method finds the shares itself. "
                    "Leave the shares out.",
                    words=words,
                    method=method,
                )
            )
        key = (table.axes, table.where)
        if key in seen:
            raise RecipeError(
                say("The margin {words} is asked for twice. Name each margin once.", words=words)
            )
        seen.add(key)


def wanted_within(workload: Workload, table: TableSpec, description: Description) -> Wanted | None:
    """A further table as sums over the workload's product; None where it needs more than that."""
    at = {ref.variable: ref.level for ref in workload.refs}
    for variable, level in _levels(table):
        if variable not in at:
            return None
        if description.variable(variable).level_map(at[variable], level) is None:
            return None
    if table.weighted:
        return None
    # a filter that lets everybody pass asks for nothing
    where = tuple(
        part
        for part in table.where
        if not description.variable(part.variable).level(part.level).within(part.codes).all()
    )
    made = wanted_over(replace(table, where=where), description, workload.domain)
    return replace(made, spec=table)


def wanted_over(table: TableSpec, description: Description, product: Domain) -> Wanted:
    """A table as sums over a product of axes that has all its variables, each fine enough."""
    place = {axis.variable.name: i for i, axis in enumerate(product.axes)}
    margin = tuple(sorted({place[variable] for variable, _ in _levels(table)}))
    found = Projection.of(product.project(margin), description.domain(table.axes))
    if found is None:
        raise Bug("A table of the workload is not a sum of its product.")
    passes = []
    for part in table.where:
        axis = product.axes[place[part.variable]]
        chosen = axis.level.joined(axis.variable.level(part.level).within(part.codes))
        if chosen is None:
            raise Bug("A filter of the workload cuts through its product.")
        passing = np.zeros(len(axis), dtype=bool)
        passing[chosen] = True
        passes.append((place[part.variable], passing))
    return Wanted(table, margin, found, tuple(passes))
