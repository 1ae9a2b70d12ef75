"""Fitted tables as a recipe wants them: filtered categories cut, titles and axes in the order asked,
rows sorted.

Costs nothing and changes no number: a table comes out of its method in the order of its question,
is turned here, and nowhere else, and carries its layout from here on. Sorting looks at published
numbers only, so page, API and files agree: the categories of an axis stand in one order everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .core.cell_law import axis_names
from .core.description import Description
from .core.domain import Axis, Domain, Indices, Level
from .core.guarantee import Guarantee
from .core.question import Layout, Recipe, Sort, TableSpec
from .core.table import Noise, ProtectedTable, Provenance
from .core.table_titles import title_of
from .errors import InputError, did_you_mean
from .formats.flat import flatten
from .languages import say


def arranged(
    tables: Sequence[ProtectedTable],
    recipe: Recipe,
    description: Description,
    notes: Sequence[str] = (),
    counted: str = "",
) -> tuple[ProtectedTable, ...]:
    """The tables of a recipe, each in its layout, with notes that belong under all of them.

    `counted` is what the titles end with where numbers do not count records.
    """
    only = recipe.title if len(recipe.question.tables) == 1 else ""
    turned = []
    for table, spec, layout in zip(tables, recipe.question.tables, recipe.layouts, strict=True):
        said = {
            "title": only or _title(table, spec, layout, description, counted),
            "notes": (*table.notes, *notes),
        }
        spoken = replace(layout, language=layout.language or description.own_language)
        turned.append(laid_out(_cut(table, spec, description), spoken, **said))
    return tuple(turned)


def outline(recipe: Recipe, description: Description, guarantee: Guarantee) -> ProtectedTable:
    """The first table of a recipe before it has numbers: its axes, totals and layout, all cells 0.

    From public facts, so that what cannot be shown is known before anything is spent.
    """
    spec = recipe.question.tables[0]
    domain = description.domain(spec.axes)
    shape = tuple(len(axis) + spec.totals for axis in domain.axes)
    nothing = ProtectedTable(
        title="",
        domain=domain,
        totals=(spec.totals,) * len(shape),
        values=np.zeros(shape, dtype=np.int64),
        status=np.zeros(shape, dtype=np.uint8),
        guarantee=guarantee,
        provenance=Provenance(description.name, "", {}, "", "", "", recipe.question.method, ""),
    )
    alone = replace(recipe.question, tables=(spec,))
    one = replace(recipe, question=alone, layouts=recipe.layouts[:1])
    return arranged([nothing], one, description)[0]


def laid_out(table: ProtectedTable, layout: Layout, **said: Any) -> ProtectedTable:
    """The same table with its axes in a layout's order: layers, rows, columns.

    A layout names axes by level, variable or both (`area:region`); those it does not name become
    further rows. One that names none leaves the order as it is. What else is to be `said` of the
    table (its title, notes) changes with it.
    """
    turned = _turned(table, layout, said)
    if layout.empty:
        turned = _without_empty(turned)
    return turned if layout.sort is None else _sorted(turned, layout.sort)


def _turned(table: ProtectedTable, layout: Layout, said: dict[str, Any]) -> ProtectedTable:
    if not layout.axes:
        sides = {side: getattr(table.layout, side) for side in ("rows", "columns", "layers")}
        return replace(table, layout=replace(layout, **sides), **said)
    axes = table.domain.axes
    taken: list[int] = []
    for name in layout.axes:
        taken.append(_find(axes, name, taken))
    down = len(layout.layers) + len(layout.rows)
    order = [*taken[:down], *(i for i in range(len(axes)) if i not in taken), *taken[down:]]
    named = [str(axes[i].ref) for i in order]
    first, last = len(layout.layers), len(order) - len(layout.columns)
    said["layout"] = replace(
        layout,
        layers=tuple(named[:first]),
        rows=tuple(named[first:last]),
        columns=tuple(named[last:]),
    )
    if order == sorted(order):
        return replace(table, **said)
    return _each(
        table,
        lambda array: np.ascontiguousarray(array.transpose(order)),
        domain=Domain(tuple(axes[i] for i in order)),
        totals=tuple(table.totals[i] for i in order),
        **said,
    )


def _find(axes: Sequence[Axis], name: str, taken: Sequence[int]) -> int:
    """The axis a layout means: by its full name, else by its level, else by its variable."""
    for match in (
        lambda axis: str(axis.ref) == name,
        lambda axis: axis.name == name,
        lambda axis: axis.variable.name == name,
    ):
        for i, axis in enumerate(axes):
            if i not in taken and match(axis):
                return i
    known = [axis.name for axis in axes]
    raise InputError(
        f"The layout names {name!r}, which the table does not have (or which is named twice); "
        f"it has {', '.join(known) or 'no variables'}.{did_you_mean(name, known)}"
    )


def _each(
    table: ProtectedTable, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]], **more: Any
) -> ProtectedTable:
    """The same table with every array of its cells changed alike."""

    def changed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return change(np.broadcast_to(array, table.shape))

    noise = table.noise
    return replace(
        table,
        values=changed(table.values),
        status=changed(table.status),
        noise=noise
        and Noise(changed(noise.sd), changed(noise.lower), changed(noise.upper), noise.coverage),
        extra={name: changed(values) for name, values in table.extra.items()},
        **more,
    )


def _cut(table: ProtectedTable, spec: TableSpec, description: Description) -> ProtectedTable:
    """Leave out the categories a table's own filter lets nothing into."""
    sides = description.kept(spec.count)
    if all(side is None for side in sides):
        return table
    return _taken(
        table, {i: np.flatnonzero(side) for i, side in enumerate(sides) if side is not None}
    )


def _taken(table: ProtectedTable, chosen: Mapping[int, Indices], **said: Any) -> ProtectedTable:
    """The same table with these categories of some axes, in this order; totals stay last."""
    axes, picks, left = [], [], {}
    names = axis_names(table.domain)
    for i, (axis, total) in enumerate(zip(table.domain.axes, table.totals, strict=True)):
        if i not in chosen:
            axes.append(axis)
            picks.append(np.arange(len(axis) + total))
            continue
        left[names[i]] = chosen[i].tolist()
        axes.append(Axis(axis.variable, _part(axis.level, chosen[i])))
        picks.append(np.append(chosen[i], len(axis)) if total else chosen[i])
    grid = np.ix_(*picks)
    domain, law = Domain(tuple(axes)), table.law.taken(left)
    return _each(table, lambda array: array[grid], domain=domain, law=law, **said)


def _sorted(table: ProtectedTable, sort: Sort) -> ProtectedTable:
    """Rows in the order of one column's numbers, or columns in that of one row.

    Each axis of that side is sorted by its own totals there, by percentages where the table has
    them. A number that is not published comes last; equal ones stay as they stood.
    """
    layers, rows, _ = table.sides
    axes = [str(axis.ref) for axis in table.domain.axes]
    named = axes.index(sort.level) if sort.level else -1
    down = range(layers, layers + rows)
    across = range(layers + rows, len(axes))
    sides = across if named in down else (down or across or range(layers))
    numbers, shown = _sortable(table)
    chosen = {}
    for side in sides:
        place: list[int | slice] = [-1] * len(axes)
        if sort.code:
            place[named] = table.domain.axes[named].level.index[sort.code]
        place[side] = slice(0, len(table.domain.axes[side]))
        line, seen = numbers[tuple(place)], shown[tuple(place)]
        chosen[side] = np.lexsort((-line if sort.down else line, ~seen))
    return _taken(table, chosen)


def _sortable(table: ProtectedTable) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The numbers a reader compares, and where there are any."""
    if not table.layout.percent:
        return table.values, table.shown
    percent = flatten(table).percent
    assert percent is not None
    return percent.values.reshape(table.shape), percent.shown.reshape(table.shape)


def _without_empty(table: ProtectedTable) -> ProtectedTable:
    """Leave out categories whose every published number is 0; one that is withheld stays."""
    something = (table.values != 0) | ~table.shown
    every = range(something.ndim)
    chosen, left_out = {}, []
    for i, axis in enumerate(table.domain.axes):
        full = something.any(axis=tuple(other for other in every if other != i))[: len(axis)]
        if full.any() and not full.all():
            chosen[i] = np.flatnonzero(full)
            label = axis.level.label.says(table.layout.language) or axis.name
            left_out.append(f"{label} {len(axis) - len(chosen[i])}")
    if not chosen:
        return replace(table, layout=replace(table.layout, empty=""))
    note = say(
        "Categories that hold nothing but 0 are left out: {categories}.",
        categories=", ".join(left_out),
    )
    return _taken(table, chosen, notes=(*table.notes, note))


def _part(level: Level, chosen: npt.NDArray[np.int64]) -> Level:
    places = {int(old): new for new, old in enumerate(chosen)}
    return Level(
        level.name,
        level.label,
        tuple(level.categories[i] for i in chosen),
        tuple(places.get(i, -1) for i in level.of_finest),
    )


def _title(
    table: ProtectedTable, spec: TableSpec, layout: Layout, description: Description, counted: str
) -> str:
    """The table's title, its axes in the order asked for."""
    if table.title != title_of(spec, description, counted):
        return table.title
    return title_of(layout.as_titled(spec), description, counted)
