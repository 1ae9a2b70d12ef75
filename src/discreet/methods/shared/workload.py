"""The tables of a question as margins over one product of variables.

Each variable the question uses appears once, at the coarsest level from which all levels asked for
can be summed. A table at a coarser level, or under a filter, is a sum over its margin's cells.
Everything here is public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...core.description import Description
from ...core.domain import AxisRef, Domain, Variable
from ...core.product import Margin, Reals, Shape, Whole, size
from ...core.question import TableSpec
from ...errors import RecipeError, Refusal

MOST_MARGIN_CELLS = 5_000_000
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Wanted:
    """One table asked for: its margin, and how its cells are summed from the margin's."""

    spec: TableSpec
    margin: Margin
    sides: tuple[tuple[int, Whole], ...]
    """For each axis of the table: the axis of the product, and each category's place in the table."""
    passes: tuple[tuple[int, Bools], ...]
    """Filters: an axis of the product, and which of its categories pass."""
    shape: tuple[int, ...]
    """How many categories each axis of the table has, those that hold nothing included."""


@dataclass(frozen=True)
class Workload:
    """Every table asked for, over one product of variables."""

    refs: tuple[AxisRef, ...]
    domain: Domain
    tables: tuple[Wanted, ...]
    forbidden: Mapping[Margin, Reals]
    mixed: tuple[str, ...]
    """Variables asked for at more than one level."""

    @cached_property
    def shape(self) -> Shape:
        """Categories along each axis of the product."""
        return self.domain.shape

    @cached_property
    def margins(self) -> tuple[Margin, ...]:
        """The different margins, in the order first asked for."""
        return tuple(dict.fromkeys(table.margin for table in self.tables))

    def publish(self, wanted: Wanted, margin: Reals | Whole) -> Reals | Whole:
        """The table's cells, totals not included, from its margin's cells."""
        out = margin
        for axis, passing in wanted.passes:
            place = wanted.margin.index(axis)
            shape = [1] * out.ndim
            shape[place] = len(passing)
            out = np.where(passing.reshape(shape), out, 0)
        published = {axis for axis, _ in wanted.sides}
        gone = tuple(i for i, axis in enumerate(wanted.margin) if axis not in published)
        out = out.sum(axis=gone)
        left = [axis for axis in wanted.margin if axis in published]
        for (axis, places), length in zip(wanted.sides, wanted.shape, strict=True):
            position = left.index(axis)
            shape = list(out.shape)
            shape[position] = length
            summed = np.zeros(shape, dtype=out.dtype)
            for category, there in enumerate(places.tolist()):
                into = (slice(None),) * position + (there,)
                summed[into] += out[(slice(None),) * position + (category,)]
            out = summed
        return out.transpose([left.index(axis) for axis, _ in wanted.sides])

    def group_sizes(self, wanted: Wanted, totals: bool) -> list[Whole]:
        """For each axis of the margin: how many of its categories every published place sums."""
        sizes = []
        sides = dict(wanted.sides)
        lengths = {axis: n for (axis, _), n in zip(wanted.sides, wanted.shape, strict=True)}
        passes = dict(wanted.passes)
        for axis in wanted.margin:
            passing = passes.get(axis, np.ones(self.shape[axis], dtype=bool)).astype(np.int64)
            if axis not in sides:
                sizes.append(np.array([passing.sum()]))
                continue
            held = np.bincount(sides[axis], passing, lengths[axis]).astype(np.int64)
            sizes.append(np.append(held, held.sum()) if totals else held)
        return sizes


def read_workload(tables: Sequence[TableSpec], description: Description) -> Workload:
    """The workload of a question, checked; bad ones get one clear sentence."""
    if not tables:
        raise RecipeError(
            "The workload is empty: no table is asked for. Name tables, or write 'all 2-way'."
        )
    _check_each(tables, description)
    used: dict[str, set[str]] = {}
    for table in tables:
        for variable, level in _levels(table):
            used.setdefault(variable, set()).add(level)
    undeclared = [name for name in used if not description.variable(name).declared]
    if undeclared:
        raise Refusal(
            f"The categories of {', '.join(sorted(undeclared))} were found in the data and are not "
            "declared: under a budget, knowing them is already knowing something about people.",
            rule="declared-domain",
            alternatives=(
                f"If the lists are public knowledge: `discreet declare DIR "
                f"{' '.join(sorted(undeclared))}`.",
            ),
        )
    refs = tuple(
        AxisRef(name, _common_level(description.variable(name), levels))
        for name, levels in sorted(used.items())
    )
    domain = description.domain(refs)
    if all(n < 2 for n in domain.shape):
        raise RecipeError(
            "The marginals method needs a variable of two or more categories, got none. "
            "Name one, or use method noise for a total alone."
        )
    place = {ref.variable: i for i, ref in enumerate(refs)}
    wanted = tuple(_wanted(table, description, refs, place) for table in tables)
    for one in wanted:
        cells = size(domain.shape, one.margin)
        if cells > MOST_MARGIN_CELLS:
            raise RecipeError(
                f"A margin of {cells:,} cells ({' × '.join(refs[a].level for a in one.margin)}) is "
                f"too wide; most is {MOST_MARGIN_CELLS:,}. Use coarser levels or fewer variables."
            )
    forbidden = _structural_zeros(description, refs)
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


def _check_each(tables: Sequence[TableSpec], description: Description) -> None:
    seen: set[object] = set()
    for table in tables:
        words = " × ".join(str(ref) for ref in table.axes) or "the total"
        for ref in table.axes:
            description.axis(ref)
        if table.weighted:
            raise RecipeError(
                f"{words}: the marginals method publishes counts of records, not weighted ones. "
                "Leave out weighted, or use method noise."
            )
        if table.share is not None:
            raise RecipeError(
                f"{words} asks for a share of ε; the marginals method finds the shares itself. "
                "Leave the shares out."
            )
        key = (table.axes, table.where)
        if key in seen:
            raise RecipeError(f"The margin {words} is asked for twice. Name each margin once.")
        seen.add(key)


def wanted_within(workload: Workload, table: TableSpec, description: Description) -> Wanted | None:
    """A further table as sums over the workload's product; None where it needs more than that."""
    place = {ref.variable: i for i, ref in enumerate(workload.refs)}
    for variable, level in _levels(table):
        if variable not in place:
            return None
        base = description.variable(variable).level(workload.refs[place[variable]].level)
        coarse = description.variable(variable).level(level)
        if not _sums_to(np.array(base.of_finest), np.array(coarse.of_finest)):
            return None
    if table.weighted:
        return None
    made = _wanted(table, description, workload.refs, place)
    # a filter that lets everybody pass asks for nothing
    passes = tuple((axis, passing) for axis, passing in made.passes if not passing.all())
    margin = tuple(sorted({axis for axis, _ in (*made.sides, *passes)}))
    return replace(made, margin=margin, passes=passes)


def _common_level(variable: Variable, levels: set[str]) -> str:
    """The coarsest level from which all of these can be summed."""
    wanted = [np.array(variable.level(name).of_finest) for name in levels]
    for level in reversed(variable.levels):
        here = np.array(level.of_finest)
        if all(_sums_to(here, there) for there in wanted):
            return level.name
    return variable.finest.name


def _sums_to(fine: Whole, coarse: Whole) -> bool:
    pairs = np.unique(np.stack([fine, coarse]), axis=1)
    return bool(len(np.unique(pairs[0])) == pairs.shape[1])


def sums_to(variable: Variable, fine: str, coarse: str) -> bool:
    """Whether each category of the one level lies in one category of the other."""
    levels = variable.level(fine), variable.level(coarse)
    return _sums_to(np.array(levels[0].of_finest), np.array(levels[1].of_finest))


def places(variable: Variable, base: str, level: str) -> Whole:
    """For each category of the base level, its place in another level."""
    fine = np.array(variable.level(base).of_finest)
    coarse = np.array(variable.level(level).of_finest)
    out = np.zeros(len(variable.level(base)), dtype=np.int64)
    out[fine] = coarse
    return out


def _wanted(
    table: TableSpec,
    description: Description,
    refs: Sequence[AxisRef],
    place: Mapping[str, int],
) -> Wanted:
    sides = tuple(
        (
            place[ref.variable],
            places(description.variable(ref.variable), refs[place[ref.variable]].level, ref.level),
        )
        for ref in table.axes
    )
    passes = []
    for condition in table.where:
        axis = place[condition.variable]
        variable = description.variable(condition.variable)
        level = variable.level(condition.level)
        chosen = [level.index[code] for code in condition.codes]
        passes.append((axis, np.isin(places(variable, refs[axis].level, condition.level), chosen)))
    margin = tuple(sorted({axis for axis, _ in (*sides, *passes)}))
    shape = tuple(len(description.axis(ref)) for ref in table.axes)
    return Wanted(table, margin, sides, tuple(passes), shape)


def _structural_zeros(description: Description, refs: Sequence[AxisRef]) -> dict[Margin, Reals]:
    """Declared impossible combinations as tables of 0 and 1 over the axes they speak of.

    A cell counts as impossible only if one rule rules out every finest cell within it.
    """
    found: dict[Margin, Reals] = {}
    place = {ref.variable: i for i, ref in enumerate(refs)}
    for zero in description.structural_zeros:
        sides: dict[int, Bools] = {}
        for condition in zero.conditions:
            if condition.variable not in place:
                break
            axis = place[condition.variable]
            variable = description.variable(condition.variable)
            level = variable.level(condition.level)
            ruled = np.isin(
                np.array(level.of_finest), [level.index[code] for code in condition.codes]
            )
            base = np.array(variable.level(refs[axis].level).of_finest)
            outside = np.zeros(len(variable.level(refs[axis].level)), dtype=bool)
            np.logical_or.at(outside, base, ~ruled)
            sides[axis] = sides.get(axis, np.ones(len(outside), dtype=bool)) & ~outside
        else:
            margin = tuple(sorted(sides))
            table: Reals = np.ones(())
            for axis in margin:
                table = np.multiply.outer(table, sides[axis].astype(np.float64))
            if margin and table.any():
                found[margin] = np.maximum(found.get(margin, np.zeros_like(table)), table)
    return found
