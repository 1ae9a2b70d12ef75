"""Whole tables that keep published margins exactly: decided when planned, done after the fit.

Axes that published margins or structural zeros tie together form a *part*; parts do not touch each
other, because any table over one goes with any table over another. Within a part:

*A chain.* Margins without structural zeros that can be ordered so that each meets those before it
within one of them (a decomposable set: a single margin, one-way margins, region × sex with region ×
age). A table is brought to keep one after the other by moving records between the cells of the new
margin along axes none of the earlier ones has, so nothing kept is lost and no search can fail.

*A joint table.* Otherwise (all pairs of three variables, structural zeros) margins that agree in
pairs may still have no table of whole counts in common, and whether they do is hard in general. One
is looked for over the part's own cells by an integer program when the question is planned. If none
is found the question is refused; if one is, the release comes as near to the fit as the same program
can bring it, and is that first table at worst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....core.product import Margin, Reals, Rows, Shape, Whole, margin_of_rows, whole_margin_of_rows
from ....errors import Bug
from ..rounding import largest_remainder
from ..synthetic_table import SyntheticTable
from .joint_table import Step, joint_step, nearest

_SWEEPS = 60


def steps_for(
    shape: Shape,
    tables: Mapping[Margin, Whole],
    forbidden: Mapping[Margin, Reals],
    names: Sequence[str],
) -> tuple[Step, ...]:
    """How to keep these margins, whose common parts agree; refused where nothing is found to."""
    steps: list[Step] = []
    for axes, margins, zeros in _parts(tables, forbidden):
        order = None if zeros else chain(margins)
        if order is not None:
            done: set[int] = set()
            for margin in order:
                held = tuple(axis for axis in margin if axis in done)
                moved = tuple(axis for axis in margin if axis not in done)
                steps.append(Step(held, moved, tables[margin]))
                done |= set(margin)
            continue
        steps.append(joint_step(shape, axes, {m: tables[m] for m in margins}, zeros, names))
    return tuple(steps)


def _parts(
    tables: Mapping[Margin, Whole], forbidden: Mapping[Margin, Reals]
) -> list[tuple[Margin, list[Margin], dict[Margin, Reals]]]:
    """Axes tied together, with the published margins and the structural zeros among them."""
    groups: list[set[int]] = []
    for margin in (*tables, *forbidden):
        touching = [group for group in groups if group & set(margin)]
        groups = [group for group in groups if group not in touching]
        groups.append(set(margin).union(*touching))
    out = []
    for group in groups:
        margins = [m for m in tables if set(m) <= group]
        if margins:
            zeros = {m: t for m, t in forbidden.items() if set(m) <= group}
            out.append((tuple(sorted(group)), margins, zeros))
    return sorted(out, key=lambda part: part[0])


def chain(margins: Sequence[Margin]) -> list[Margin] | None:
    """An order in which each margin meets those before it within one of them; None if there is none.

    >>> chain([(0, 1), (2, 3), (1, 2)])
    [(0, 1), (1, 2), (2, 3)]
    >>> chain([(0, 1), (1, 2), (0, 2)]) is None
    True
    """
    left, ears = list(margins), []
    while len(left) > 1:
        ear = next((m for m in reversed(left) if _is_ear(m, [o for o in left if o != m])), None)
        if ear is None:
            return None
        left.remove(ear)
        ears.append(ear)
    return [*left, *reversed(ears)]


def _is_ear(margin: Margin, others: Sequence[Margin]) -> bool:
    shared = {axis for axis in margin if any(axis in other for other in others)}
    return any(shared <= set(other) for other in others)


# -- after the fit --------------------------------------------------------------------------


def raked(
    shape: Shape, rows: Rows, weights: Reals, tables: Mapping[Margin, Whole], allowed: Any
) -> tuple[Rows, Reals]:
    """Weights scaled until the margins are as published, with cells added where one has nobody.

    `allowed` tells which of some rows can exist.
    """
    for margin, counts in tables.items():
        seen = margin_of_rows(rows, shape, margin, weights)
        for cell in np.argwhere((counts > 0) & (seen <= 0)):
            moved = rows[np.argsort(-weights, kind="stable")[:200]].copy()
            moved[:, list(margin)] = cell
            fine = np.flatnonzero(allowed(moved) > 0)
            if len(fine):
                rows = np.concatenate([rows, moved[fine[:1]]])
                weights = np.append(weights, 1.0)
    out = weights.copy()
    for _ in range(_SWEEPS if len(tables) > 1 else 1):
        off = 0.0
        for margin, counts in tables.items():
            seen = margin_of_rows(rows, shape, margin, out)
            scale = np.divide(counts, seen, out=np.zeros(seen.shape), where=seen > 0)
            off = max(off, float(np.abs(seen - counts).max()))
            out *= scale[tuple(rows[:, axis] for axis in margin)]
        if off < 1e-6:
            break
    return rows, out


def kept_exactly(
    table: SyntheticTable, steps: Sequence[Step], tables: Mapping[Margin, Whole], near: Any = None
) -> SyntheticTable:
    """The table with records moved until every published margin is exactly as published.

    `near` gives a fitted margin of fractions, for joint tables; without it the table's own is used.
    """
    shape, rows, counts = table.shape, table.rows, table.counts
    for step in steps:
        target = step.counts
        if step.joint:
            wide: Reals = (
                near(step.margin)
                if near is not None
                else whole_margin_of_rows(rows, shape, step.margin, counts).astype(np.float64)
            )
            target = nearest(shape, step, wide)
        rows, counts = _moved(shape, rows, counts, step, target)
    made = SyntheticTable(shape, rows, counts)
    if any(not np.array_equal(made.margin(m), t) for m, t in tables.items()):
        raise Bug("A synthetic table does not keep a published margin.")
    return made


def _moved(
    shape: Shape, rows: Rows, counts: Whole, step: Step, target: Whole
) -> tuple[Rows, Whole]:
    """Records moved from cells that have too many to cells, alike in the held axes, with too few."""
    margin = step.margin
    over = whole_margin_of_rows(rows, shape, margin, counts) - target
    if not over.any():
        return rows, counts
    cells = np.argwhere(over != 0)
    held = [margin.index(axis) for axis in step.held]
    groups: dict[tuple[int, ...], tuple[list[Any], list[Any]]] = {}
    for cell in cells:
        few, many = groups.setdefault(tuple(int(cell[p]) for p in held), ([], []))
        (many if over[tuple(cell)] > 0 else few).append(cell)
    place = np.ravel_multi_index([rows[:, axis] for axis in margin], target.shape)
    order = np.lexsort((-counts, place))
    starts = np.searchsorted(place[order], np.arange(target.size + 1))
    counts = counts.copy()
    new_rows: list[Whole] = []
    new_counts: list[int] = []
    for few, many in groups.values():
        waiting = [[cell, -int(over[tuple(cell)])] for cell in few]
        for cell in many:
            spare = int(over[tuple(cell)])
            at = int(np.ravel_multi_index(tuple(cell), target.shape))
            for index in order[starts[at] : starts[at + 1]]:
                while spare and counts[index] and waiting:
                    goal, lacks = waiting[-1]
                    taken = min(spare, int(counts[index]), lacks)
                    row = rows[index].copy()
                    row[list(margin)] = goal
                    new_rows.append(row)
                    new_counts.append(taken)
                    counts[index] -= taken
                    spare -= taken
                    waiting[-1][1] -= taken
                    if waiting[-1][1] == 0:
                        waiting.pop()
            if spare:
                raise Bug("Published margins that agree were not kept by moving records.")
    both = np.concatenate([rows, np.array(new_rows, dtype=np.int64)])
    total = np.concatenate([counts, np.array(new_counts, dtype=np.int64)])
    found, which = np.unique(both[total > 0], axis=0, return_inverse=True)
    summed = np.zeros(len(found), dtype=np.int64)
    np.add.at(summed, which.reshape(-1), total[total > 0])
    return found, summed


def whole_with(shape: Shape, rows: Rows, weights: Reals, total: int) -> SyntheticTable:
    """Fractions as whole counts with this total; an empty table starts in any cell there is."""
    if weights.sum() <= 0:
        weights = np.ones(len(weights))
    counts = largest_remainder(weights * (total / weights.sum()), total)
    return SyntheticTable.of(shape, rows, counts)
