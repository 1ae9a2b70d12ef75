"""Fitted tables as a recipe wants them: filtered categories cut, titles and axes in the order asked.

Costs nothing and changes no number: a table comes out of its method in the order of its question,
is turned here, and nowhere else, and carries its layout from here on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .core.cell_law import axis_names
from .core.description import Description
from .core.domain import Axis, Domain, Level
from .core.question import Layout, Recipe, TableSpec
from .core.table import Noise, ProtectedTable
from .errors import InputError, did_you_mean
from .methods.base import title_of


def arranged(
    tables: Sequence[ProtectedTable],
    recipe: Recipe,
    description: Description,
    notes: Sequence[str] = (),
) -> tuple[ProtectedTable, ...]:
    """The tables of a recipe, each in its layout, with notes that belong under all of them."""
    only = recipe.title if len(recipe.question.tables) == 1 else ""
    turned = []
    for table, spec, layout in zip(tables, recipe.question.tables, recipe.layouts, strict=True):
        said = {
            "title": only or _title(table, spec, layout, description),
            "notes": (*table.notes, *notes),
        }
        turned.append(laid_out(_cut(table, spec, description), layout, **said))
    return tuple(turned)


def laid_out(table: ProtectedTable, layout: Layout, **said: Any) -> ProtectedTable:
    """The same table with its axes in a layout's order: layers, rows, columns.

    A layout names axes by level, variable or both (`area:region`); those it does not name become
    further rows. One that names none leaves the order as it is. What else is to be `said` of the
    table (its title, notes) changes with it.
    """
    if not layout.axes:
        unturned = replace(table.layout, language=layout.language, percent=layout.percent)
        return replace(table, layout=unturned, **said)
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
    axes, picks, left = [], [], {}
    for axis, name, side, total in zip(
        table.domain.axes, axis_names(table.domain), sides, table.totals, strict=True
    ):
        if side is None:
            axes.append(axis)
            picks.append(np.arange(len(axis) + total))
            continue
        chosen = np.flatnonzero(side)
        left[name] = chosen.tolist()
        axes.append(Axis(axis.variable, _part(axis.level, chosen)))
        picks.append(np.append(chosen, len(axis)) if total else chosen)
    grid = np.ix_(*picks)
    domain, law = Domain(tuple(axes)), table.law.taken(left)
    return _each(table, lambda array: array[grid], domain=domain, law=law)


def _part(level: Level, chosen: npt.NDArray[np.int64]) -> Level:
    places = {int(old): new for new, old in enumerate(chosen)}
    return Level(
        level.name,
        level.label,
        tuple(level.categories[i] for i in chosen),
        tuple(places.get(i, -1) for i in level.of_finest),
    )


def _title(table: ProtectedTable, spec: TableSpec, layout: Layout, description: Description) -> str:
    """The table's title, its axes in the order asked for: rows, columns, layers."""
    by_name = {str(ref): ref for ref in spec.axes}
    asked = [*layout.rows, *layout.columns, *layout.layers]
    if sorted(asked) != sorted(by_name):
        return table.title
    axes = tuple(by_name[name] for name in asked)
    if axes == spec.axes or table.title != title_of(spec, description):
        return table.title
    return title_of(replace(spec, axes=axes), description)
