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

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

import numpy as np

from ...errors import Bug, InputError
from ..rounding import largest_remainder
from .margins import (
    Margin,
    Reals,
    Rows,
    Shape,
    Whole,
    margin_of_rows,
    size,
    whole_margin_of_rows,
)
from .synthesis import SyntheticTable

MOST_JOINT_CELLS = 20_000
_NODES = 2_000
_GAP = 0.02
_SWEEPS = 60


@dataclass(frozen=True)
class Step:
    """Move records along some axes, within equal values of the `held` ones, to reach counts."""

    held: Margin
    moved: Margin
    counts: Whole = field(repr=False)
    """Over the axes of both, in order; for a joint table, one that keeps everything."""
    joint: tuple[tuple[Margin, Whole], ...] = field(default=(), repr=False)
    """The published margins of a joint table; empty for a step of a chain."""
    banned: Mapping[Margin, Reals] = field(default_factory=dict, repr=False)
    """Structural zeros within a joint table."""

    @property
    def margin(self) -> Margin:
        """All its axes."""
        return tuple(sorted({*self.held, *self.moved}))


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
        steps.append(_joint(shape, axes, {m: tables[m] for m in margins}, zeros, names))
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


# -- joint tables ---------------------------------------------------------------------------


def _joint(
    shape: Shape,
    axes: Margin,
    tables: Mapping[Margin, Whole],
    zeros: Mapping[Margin, Reals],
    names: Sequence[str],
) -> Step:
    said = "; ".join(" × ".join(names[axis] for axis in margin) for margin in tables)
    cells = size(shape, axes)
    why = "with structural zeros " if zeros else ""
    if cells > MOST_JOINT_CELLS:
        raise InputError(
            f"Whether any table keeps the published margins {said} {why}is decided over their "
            f"{cells:,} cells together; most is {MOST_JOINT_CELLS:,}. Publish fewer of them, or "
            "ask for fewer of their variables."
        )
    key = tuple((m, t.tobytes()) for m, t in tables.items())
    banned = tuple((m, (t > 0).tobytes()) for m, t in zeros.items())
    found = _witness(shape, axes, key, banned)
    if found is None:
        raise InputError(
            f"Invariants contradict each other: no table of whole counts is found that keeps the "
            f"published margins {said} {why}all at once. Publish fewer of them."
        )
    return Step((), axes, found, tuple(tables.items()), dict(zeros))


@lru_cache(maxsize=32)
def _witness(
    shape: Shape,
    axes: Margin,
    tables: tuple[tuple[Margin, bytes], ...],
    banned: tuple[tuple[Margin, bytes], ...],
) -> Whole | None:
    """Some table of whole counts that keeps the margins, or None."""

    def over(margin: Margin, data: bytes, kind: Any) -> Any:
        return np.frombuffer(data, dtype=kind).reshape([shape[a] for a in margin])

    given = {m: over(m, data, np.int64) for m, data in tables}
    zeros = {m: over(m, data, np.bool_).astype(np.float64) for m, data in banned}
    allowed = _open_cells(shape, axes, given, zeros)
    return _solved(shape, axes, given, allowed, None)


def _open_cells(
    shape: Shape, axes: Margin, tables: Mapping[Margin, Whole], zeros: Mapping[Margin, Reals]
) -> Whole:
    """Addresses of cells of the part that neither a structural zero nor a published 0 rules out."""
    here = [shape[axis] for axis in axes]
    fine = np.ones(here, dtype=bool)
    for margin, table in tables.items():
        fine &= (table > 0).reshape([shape[a] if a in margin else 1 for a in axes])
    for margin, banned in zeros.items():
        fine &= (banned == 0).reshape([shape[a] if a in margin else 1 for a in axes])
    return np.flatnonzero(fine).astype(np.int64)


def _solved(
    shape: Shape,
    axes: Margin,
    tables: Mapping[Margin, Whole],
    cells: Whole,
    near: Reals | None,
    *,
    whole_step: bool = False,
) -> Whole | None:
    """A table of whole counts on these cells with these margins: any, or one of least distance.

    With `whole_step` each count is one of the two integers next to its fraction in `near`.
    """
    from scipy import optimize, sparse

    solve: Any = cast(Any, optimize)
    arrays: Any = sparse
    here = tuple(shape[axis] for axis in axes)
    coordinates = np.unravel_index(cells, here)
    blocks, wanted = [], []
    for margin, table in tables.items():
        place = [axes.index(axis) for axis in margin]
        row = np.ravel_multi_index([coordinates[p] for p in place], table.shape)
        ones = np.ones(len(cells))
        blocks.append(
            arrays.csr_matrix((ones, (row, np.arange(len(cells)))), (table.size, len(cells)))
        )
        wanted.append(table.ravel())
    sums, right = arrays.vstack(blocks, format="csr"), np.concatenate(wanted).astype(np.float64)
    if len(cells) == 0:
        return None if right.any() else np.zeros(here, dtype=np.int64)
    count = len(cells)
    low, high = np.zeros(count), np.full(count, np.inf)
    rules, cost, whole = [], np.zeros(count), np.ones(count)
    if near is None:
        rules.append(solve.LinearConstraint(sums, right, right))
    else:
        aim = near.ravel()[cells]
        if whole_step:
            low, high = np.floor(aim + 1e-9), np.ceil(aim - 1e-9)
            high = np.maximum(low, high)
        eye = arrays.identity(count, format="csr")
        none = arrays.csr_matrix((sums.shape[0], count))
        rules.append(solve.LinearConstraint(arrays.hstack([sums, none]), right, right))
        rules.append(solve.LinearConstraint(arrays.hstack([eye, -eye]), -np.inf, aim))
        rules.append(solve.LinearConstraint(arrays.hstack([eye, eye]), aim, np.inf))
        cost = np.concatenate([np.zeros(count), np.ones(count)])
        whole = np.concatenate([np.ones(count), np.zeros(count)])
        low = np.concatenate([low, np.zeros(count)])
        high = np.concatenate([high, np.full(count, np.inf)])
    found = solve.milp(
        cost,
        constraints=rules,
        integrality=whole,
        bounds=solve.Bounds(low, high),
        options={"node_limit": _NODES, "mip_rel_gap": _GAP},
    )
    if found.x is None:
        return None
    out = np.zeros(math.prod(here), dtype=np.int64)
    out[cells] = np.rint(found.x[:count]).astype(np.int64)
    out = out.reshape(here)
    return out if (out >= 0).all() and _keeps(out, axes, tables) else None


def _keeps(table: Whole, axes: Margin, tables: Mapping[Margin, Whole]) -> bool:
    return all(
        np.array_equal(table.sum(axis=tuple(i for i, a in enumerate(axes) if a not in m)), counts)
        for m, counts in tables.items()
    )


def _nearest(shape: Shape, step: Step, near: Reals) -> Whole:
    """The joint table that keeps its margins and is nearest to a fitted one, as far as is found."""
    tables, axes = dict(step.joint), step.margin
    free = _open_cells(shape, axes, tables, step.banned)
    held = np.union1d(free[near.ravel()[free] > 0], np.flatnonzero(step.counts))
    found = _solved(shape, axes, tables, held, near, whole_step=True)
    if found is None:
        found = _solved(shape, axes, tables, held, near)
    return step.counts if found is None else found


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
            target = _nearest(shape, step, wide)
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
    held = np.flatnonzero(counts)
    return SyntheticTable(shape, rows[held], counts[held])
