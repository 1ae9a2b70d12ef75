"""Fitted tables as a recipe wants them: filtered categories cut, titles and axes in the order asked.

Costs nothing and changes no number: a table comes out of its method in the order of its question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .core.description import Description
from .core.domain import Axis, Domain, Level
from .core.table import Noise, ProtectedTable
from .methods.base import title_of
from .recipe import Layout, Recipe, TableSpec


def arranged(
    tables: Sequence[ProtectedTable], recipe: Recipe, description: Description
) -> tuple[ProtectedTable, ...]:
    """The tables of a recipe, each in its layout."""
    return tuple(
        _turned(_cut(_titled(table, spec, layout, description), spec, description), layout, recipe)
        for table, spec, layout in zip(tables, recipe.question.tables, recipe.layouts, strict=True)
    )


def _cut(table: ProtectedTable, spec: TableSpec, description: Description) -> ProtectedTable:
    """Leave out the categories a table's own filter lets nothing into."""
    kept = description.kept(spec.count)
    if all(side is None for side in kept):
        return table
    axes, picks = [], []
    for axis, side, total in zip(table.domain.axes, kept, table.totals, strict=True):
        if side is None:
            axes.append(axis)
            picks.append(np.arange(len(axis) + total))
            continue
        chosen = np.flatnonzero(side)
        axes.append(Axis(axis.variable, _part(axis.level, chosen)))
        picks.append(np.append(chosen, len(axis)) if total else chosen)
    grid = np.ix_(*picks)

    def pick(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.broadcast_to(array, table.shape)[grid]

    noise = table.noise
    return replace(
        table,
        domain=Domain(tuple(axes)),
        values=pick(table.values),
        status=pick(table.status),
        noise=noise and Noise(pick(noise.sd), pick(noise.lower), pick(noise.upper), noise.coverage),
        extra={name: pick(values) for name, values in table.extra.items()},
    )


def _part(level: Level, chosen: npt.NDArray[np.int64]) -> Level:
    position = {int(old): new for new, old in enumerate(chosen)}
    return Level(
        level.name,
        level.label,
        tuple(level.categories[i] for i in chosen),
        tuple(position.get(i, -1) for i in level.of_finest),
    )


def _titled(
    table: ProtectedTable, spec: TableSpec, layout: Layout, description: Description
) -> ProtectedTable:
    """The same table with the axes of its title in the order asked for: rows, columns, layers."""
    by_name = {str(ref): ref for ref in spec.axes}
    asked = [*layout.rows, *layout.columns, *layout.layers]
    if table.title != title_of(spec, description) or sorted(asked) != sorted(by_name):
        return table
    shown = replace(spec, axes=tuple(by_name[name] for name in asked))
    return replace(table, title=title_of(shown, description))


def _turned(table: ProtectedTable, layout: Layout, recipe: Recipe) -> ProtectedTable:
    """The same table with its axes in the layout's order: layers, rows, columns."""
    names = [str(axis.ref) for axis in table.domain.axes]
    wanted = [*layout.layers, *layout.rows, *layout.columns]
    order = [names.index(name) for name in wanted] if sorted(wanted) == sorted(names) else None
    if order is None or not order:
        return replace(table, title=table.title or recipe.title)

    def turn(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        full = array if array.shape == table.shape else np.broadcast_to(array, table.shape)
        return np.ascontiguousarray(full.transpose(order))

    noise = table.noise
    return replace(
        table,
        title=recipe.title if len(recipe.question.tables) == 1 and recipe.title else table.title,
        domain=Domain(tuple(table.domain.axes[i] for i in order)),
        totals=tuple(table.totals[i] for i in order),
        values=turn(table.values),
        status=turn(table.status),
        noise=noise and Noise(turn(noise.sd), turn(noise.lower), turn(noise.upper), noise.coverage),
        extra={name: turn(values) for name, values in table.extra.items()},
        rows=len(layout.layers) + len(layout.rows),
    )
