"""From stored measurements to the synthetic table of a plan: one whole count for every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ....core.control import Control
from ....core.domain import Flags
from ....core.product import Margin, Reals, Whole, size
from ...shared.synthetic_table import SyntheticTable
from .all_cells import fit_all_cells
from .kept_parts import Cells
from .pilot import Impossible, fit_geography_first, fit_variables_first
from .rounded import Moved
from .targets import Reading, targets_of
from .top_down import Problem, fit_top_down, whole_totals

if TYPE_CHECKING:
    from ..design import Design


@dataclass(frozen=True)
class Fitted:
    """A synthetic table, and how far rounding moved the tables asked for, where they were rounded."""

    table: SyntheticTable
    moved: Moved = field(default_factory=dict)


def synthetic_table(
    design: Design,
    tables: Sequence[Whole | Reals],
    control: Control,
    *,
    refined: bool = True,
) -> Fitted:
    """The table fitted to what was measured; a function of that and of public facts alone.

    `refined`: as `Problem` has it.
    """
    if design.settings.mode == "pilot":
        return Fitted(of_pilot(design, tables, control))
    estimates, tree = design.estimates(tables), design.tree
    over = estimates.over_tree(())
    assert over is not None
    place = {axis: i for i, axis in enumerate(design.others)}

    def placed(margin: Margin) -> Margin:
        return tuple(place[axis] for axis in margin)

    known = {} if design.invariants is None else design.invariants.levels
    fixed = {level: (placed(margin), counts) for level, (margin, counts) in known.items()}
    totals = whole_totals(tree, estimates.residual(()), over.node_variances(), fixed)
    shape = tuple(design.shape[axis] for axis in design.others)
    impossible = _impossible(design, shape, place)
    if design.allocation.name == "all cells":
        cells = size(shape, range(len(shape)))
        every = np.arange(cells)
        areas = range(tree.sizes[-1])
        possible = [
            None if impossible is None else ~impossible(tree.depth, area, every) for area in areas
        ]
        noisy = np.asarray(tables[0], dtype=np.int64).reshape(-1, cells)
        nodes = fit_all_cells(noisy, totals[-1], possible, control)
        return Fitted(joined(design, nodes))

    readings = [
        Reading(m.level, placed(m.margin), table, m.variance)
        for m, table in zip(design.allocation.measured, tables, strict=True)
    ]
    asked = {(one.level, placed(one.margin)) for one in design.tables}
    measured = {(reading.level, reading.margin) for reading in readings}
    kept = [
        [(), *sorted({margin for at, margin in asked | measured if at >= level and margin})]
        for level in range(len(tree.sizes))
    ]
    published = None if design.invariants is None else design.invariants.whole
    targets = targets_of(tree, readings)
    problem = Problem(
        tree, shape, targets, totals, kept, fixed, published, impossible, asked, refined
    )
    nodes, moved = fit_top_down(problem, control)
    named = {
        (level, tuple(design.others[i] for i in margin)): t for (level, margin), t in moved.items()
    }
    return Fitted(joined(design, nodes), named)


def of_pilot(
    design: Design,
    tables: Sequence[Whole | Reals],
    control: Control,
    empty: Impossible | None = None,
) -> SyntheticTable:
    """The pilot's own fit, level by level; `empty`: which cells of a node are left at 0 besides."""
    place = {axis: i for i, axis in enumerate(design.others)}
    shape = tuple(design.shape[axis] for axis in design.others)
    first = design.settings.first == "variables"
    fit = fit_variables_first if first else fit_geography_first
    levels = [
        np.asarray(table, dtype=np.float64).reshape(design.tree.sizes[m.level], -1)
        for m, table in zip(design.allocation.measured, tables, strict=True)
    ]
    nodes = fit(design.tree, levels, empty or _impossible(design, shape, place), control)
    return joined(design, nodes)


def joined(design: Design, nodes: Sequence[Cells]) -> SyntheticTable:
    """The cells of all nodes of the finest level over the product of all variables."""
    shape = tuple(design.shape[axis] for axis in design.others)
    at = np.concatenate([cells.at for cells in nodes])
    rows = np.zeros((len(at), len(design.shape)), dtype=np.int64, order="F")
    for axis, column in zip(design.others, np.unravel_index(at, shape or (1,)), strict=False):
        rows[:, axis] = column
    if design.tree.depth:
        rows[:, design.tree.axis] = np.repeat(
            np.arange(len(nodes)), [len(cells.at) for cells in nodes]
        )
    return SyntheticTable.of(design.shape, rows, np.concatenate([c.counts for c in nodes]))


def _impossible(design: Design, shape: tuple[int, ...], place: dict[int, int]) -> Impossible | None:
    """Which cells of a node no record can be in: those no area within it can have a record in."""
    forbidden, tree = design.workload.forbidden, design.tree
    if not forbidden:
        return None
    plain = {m: t > 0 for m, t in forbidden.items() if tree.axis not in m}
    of_tree = {m: t > 0 for m, t in forbidden.items() if tree.axis in m}

    def flags(table: Flags, margin: Margin, at: Whole) -> Flags:
        columns = np.unravel_index(at, shape or (1,))
        return np.asarray(table[tuple(columns[place[axis]] for axis in margin)])

    def impossible(level: int, node: int, at: Whole) -> Flags:
        found = np.zeros(len(at), dtype=bool)
        for margin, table in plain.items():
            found |= flags(table, margin, at)
        if not of_tree:
            return found
        everywhere = np.ones(len(at), dtype=bool)
        for area in np.flatnonzero(tree.of_finest[level] == node):
            here = np.zeros(len(at), dtype=bool)
            for margin, table in of_tree.items():
                position = margin.index(tree.axis)
                rest = tuple(axis for axis in margin if axis != tree.axis)
                here |= flags(np.asarray(table.take(int(area), axis=position)), rest, at)
            everywhere &= here
        return found | everywhere

    return impossible
