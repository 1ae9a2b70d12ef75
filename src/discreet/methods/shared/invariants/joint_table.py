"""A table of whole counts over few axes that keeps published margins which do not form a chain.

Margins that agree in pairs may still have no such table in common, and whether they do is hard in
general: an integer program looks for one next to the most even table of fractions, from public
facts only, when a question is planned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

import numpy as np

from ....core.product import Margin, Reals, Shape, Whole, size
from ....errors import InputError
from .. import solver_output

MOST_JOINT_CELLS = 5_000
_NODES = 2_000
_GAP = 0.5
_SCALINGS = 200


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


def joint_step(
    shape: Shape,
    axes: Margin,
    tables: Mapping[Margin, Whole],
    zeros: Mapping[Margin, Reals],
    names: Sequence[str],
) -> Step:
    """A step that keeps these margins by one table found for all of them; refused if none is."""
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
    even = _even(shape, axes, given, allowed)
    return _nearest_on(shape, axes, given, allowed, even, any_will_do=True)


def _open_cells(
    shape: Shape, axes: Margin, tables: Mapping[Margin, Whole], zeros: Mapping[Margin, Reals]
) -> Whole:
    """Addresses of cells of the part that neither a structural zero nor a published 0 rules out."""
    here = [shape[axis] for axis in axes]
    fine = np.ones(here, dtype=bool)
    open_parts = [(m, table > 0) for m, table in tables.items()]
    open_parts += [(m, banned == 0) for m, banned in zeros.items()]
    for margin, there in open_parts:
        fine &= there.reshape([shape[a] if a in margin else 1 for a in axes])
    return np.flatnonzero(fine).astype(np.int64)


def _even(shape: Shape, axes: Margin, tables: Mapping[Margin, Whole], cells: Whole) -> Reals:
    """The most even table of fractions on these cells with these margins, by scaling in turn."""
    here = tuple(shape[axis] for axis in axes)
    flat: Reals = np.zeros(math.prod(here))
    flat[cells] = 1.0
    out = flat.reshape(here)
    for _ in range(_SCALINGS):
        for margin, counts in tables.items():
            gone = tuple(i for i, axis in enumerate(axes) if axis not in margin)
            seen = out.sum(axis=gone, keepdims=True)
            wanted = counts.reshape(seen.shape)
            out = out * np.divide(wanted, seen, out=np.zeros(seen.shape), where=seen > 0)
    return out


@solver_output.kept_apart()
def _solved(
    shape: Shape,
    axes: Margin,
    tables: Mapping[Margin, Whole],
    cells: Whole,
    near: Reals,
    *,
    stepwise: bool,
    any_will_do: bool,
) -> Whole | None:
    """A table of whole counts on these cells with these margins, of least distance to `near`.

    With `stepwise` each count is one of the two integers next to its fraction: a small program, but
    there may be none. Otherwise any count may come out. With `any_will_do` the first table found is
    taken.
    """
    from scipy import optimize, sparse

    solve: Any = cast(Any, optimize)
    arrays: Any = sparse
    here, count = tuple(shape[axis] for axis in axes), len(cells)
    coordinates = np.unravel_index(cells, here)
    blocks, wanted = [], []
    for margin, table in tables.items():
        row = np.ravel_multi_index([coordinates[axes.index(a)] for a in margin], table.shape)
        at = (np.ones(count), (row, np.arange(count)))
        blocks.append(arrays.csr_matrix(at, (table.size, count)))
        wanted.append(table.ravel())
    sums, right = arrays.vstack(blocks, format="csr"), np.concatenate(wanted)
    if count == 0:
        return None if right.any() else np.zeros(here, dtype=np.int64)
    aim = near.ravel()[cells]
    down = np.floor(aim + 1e-9).astype(np.int64)
    left = (right - sums @ down).astype(np.float64)
    part = aim - down
    if stepwise:
        # one more unknown, always 1, so that the gap is one of the whole distance
        padded = arrays.hstack([sums, arrays.csr_matrix((sums.shape[0], 1))])
        rules = [solve.LinearConstraint(padded, left, left)]
        cost, whole = np.append(1 - 2 * part, part.sum()), np.ones(count + 1)
        bounds = solve.Bounds(np.append(np.zeros(count), 1.0), 1.0)
    else:
        eye, none = arrays.identity(count), arrays.csr_matrix((sums.shape[0], count))
        rules = [
            solve.LinearConstraint(arrays.hstack([sums, none]), left, left),
            solve.LinearConstraint(arrays.hstack([eye, -eye]), -np.inf, part),
            solve.LinearConstraint(arrays.hstack([eye, eye]), part, np.inf),
        ]
        cost, whole = np.repeat([0.0, 1.0], count), np.repeat([1.0, 0.0], count)
        low = np.concatenate([-down.astype(np.float64), np.zeros(count)])
        bounds = solve.Bounds(low, np.inf)
    if any_will_do:
        cost = np.zeros(len(cost))
    limits = {"node_limit": _NODES, "mip_rel_gap": _GAP}
    found = solve.milp(cost, constraints=rules, integrality=whole, bounds=bounds, options=limits)
    if found.x is None:
        return None
    flat = np.zeros(math.prod(here), dtype=np.int64)
    flat[cells] = down + np.rint(found.x[:count]).astype(np.int64)
    out = flat.reshape(here)
    return out if (out >= 0).all() and _keeps(out, axes, tables) else None


def _nearest_on(
    shape: Shape,
    axes: Margin,
    tables: Mapping[Margin, Whole],
    cells: Whole,
    near: Reals,
    *,
    any_will_do: bool = False,
) -> Whole | None:
    """The same, the small program first."""
    given = shape, axes, tables, cells, near
    table = _solved(*given, stepwise=True, any_will_do=any_will_do)
    if table is None:
        table = _solved(*given, stepwise=False, any_will_do=any_will_do)
    return table


def _keeps(table: Whole, axes: Margin, tables: Mapping[Margin, Whole]) -> bool:
    return all(
        np.array_equal(table.sum(axis=tuple(i for i, a in enumerate(axes) if a not in m)), counts)
        for m, counts in tables.items()
    )


def nearest(shape: Shape, step: Step, near: Reals) -> Whole:
    """The joint table that keeps its margins and is nearest to a fitted one, as far as is found."""
    tables, axes = dict(step.joint), step.margin
    free = _open_cells(shape, axes, tables, step.banned)
    held = np.union1d(free[near.ravel()[free] > 0], np.flatnonzero(step.counts))
    found = _nearest_on(shape, axes, tables, held, near)
    return step.counts if found is None else found
