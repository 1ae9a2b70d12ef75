"""Controlled rounding: a two-way table with subtotals in whole numbers, every sum kept.

A sum is *kept* if it goes to one of its two nearest integers. Let rows i lie in groups g, columns j
in groups h. The sums of such a table are

    i×j  cells        i×all, g×all  rows and their groups        g×j  a group in one column
    all×all  total    all×j, all×h  columns and their groups     i×h  a row in one group
                                                                 g×h  a group in a group

**What is certain.** All of them but g×h are two nested families, (i×h ⊂ i ⊂ g ⊂ all) and
(g×j ⊂ j ⊂ h ⊂ all): a network whose bounds are integers and which the fractions themselves satisfy,
so it has an integer flow. With groups on one side only there is no g×h, and every sum is kept.

**What is tried.** With groups on both sides the g×h make it a problem in which an answer need not
exist, and finding one is hard in general. So from the top down: first groups × columns with the
column groups, which is a network again, then the rows of each group with the group's columns given.
Where that fails it is tried the other way about and in another order; tables with few fractions
(`_SMALL`) then as an integer program. Only if everything fails are g×h left to themselves, and all
else is kept. Dense tables of any size tried succeed at once; large ones with few fractions in a
group (a tenth of 1000 × 1000 cells) may not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...core.product import Reals, Whole
from ...errors import Bug, InputError
from .network import UNIT, WHOLE, Network, Parts, grouped

_MOST = float(1 << 62)
_MOST_CELLS = 1 << 26
_ORDERS = 4
_SMALL = 4000
_NODES = 200


def controlled(
    table: npt.ArrayLike,
    *,
    row_groups: Sequence[npt.ArrayLike] = (),
    column_groups: Sequence[npt.ArrayLike] = (),
) -> Whole:
    """Round a two-way table so that each of its sums goes to one of its two nearest integers.

    That always holds for cells, rows, columns, the total, every subtotal of `row_groups` and of
    `column_groups`, also within one column or row. Each is a list of labels from 0 on, one for each
    row (column), finest first, every group lying within one group of the next list. Subtotals over
    a group of rows *and* a group of columns are kept too wherever such a table is found; there need
    not be one, and `worst_sum` says how far they are off.

    Cells near one half are the first to go to the farther integer.

    >>> rounded = controlled([[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    >>> rounded.sum(axis=0), int(rounded.sum())
    (array([1, 1, 1]), 3)
    """
    reals = _checked(table)
    rows = _laminar(row_groups, reals.shape[0], "row_groups")
    columns = _laminar(column_groups, reals.shape[1], "column_groups")
    down = np.floor(reals + WHOLE)
    parts = Parts.of(reals, down)
    if not parts.units.any():
        return down.astype(np.int64)
    return down.astype(np.int64) + _ups(parts, rows, columns)


def worst_sum(
    table: npt.ArrayLike,
    rounded: npt.ArrayLike,
    *,
    row_groups: Sequence[npt.ArrayLike] = (),
    column_groups: Sequence[npt.ArrayLike] = (),
) -> float:
    """The farthest any sum is from its own: groups in groups, rows, columns, cells, the total.

    >>> worst_sum([[0.5, 0.5]], [[1, 1]])
    1.0
    """
    off = np.asarray(rounded, dtype=np.float64) - _checked(table)
    rows = _laminar(row_groups, off.shape[0], "row_groups")
    columns = _laminar(column_groups, off.shape[1], "column_groups")
    sums = (grouped(grouped(off, side, 0), across, 1) for side, across in _crosses(rows, columns))
    return max(float(np.abs(found).max(initial=0.0)) for found in sums)


def _checked(table: npt.ArrayLike) -> Reals:
    reals = np.asarray(table, dtype=np.float64)
    if not np.isfinite(reals).all():
        raise InputError("A table to be rounded holds a number that is not finite.")
    if reals.ndim != 2:
        raise InputError(
            f"controlled rounds a table of 2 axes, got {reals.ndim}. "
            "Use systematic and swap_repair for more."
        )
    if (np.abs(reals) >= _MOST).any() or reals.size > _MOST_CELLS:
        raise InputError(
            f"A table to be rounded may have up to {_MOST_CELLS:,} cells, each below 2^62. Split it."
        )
    return reals


def _laminar(groups: Sequence[npt.ArrayLike], length: int, name: str) -> list[Whole]:
    """The chain of labels, checked: each list as long as the side, each group inside the next."""
    chain: list[Whole] = []
    for given in groups:
        labels = np.asarray(given, dtype=np.int64)
        if labels.shape != (length,) or (labels < 0).any():
            raise InputError(
                f"{name} must hold lists of {length} labels from 0 on, got one of shape "
                f"{labels.shape}."
            )
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        if chain:
            pairs = np.unique(np.stack([chain[-1], labels]), axis=1)
            if len(np.unique(pairs[0])) != pairs.shape[1]:
                raise InputError(
                    f"{name} must be nested: a group lies in two groups of the next list. "
                    "Give the finest list first."
                )
        chain.append(labels)
    return chain


def _crosses(rows: Sequence[Whole], columns: Sequence[Whole]) -> Iterator[tuple[Any, Any]]:
    """Every level of one side with every level of the other; None is the side itself."""
    for side in (None, *rows, "all"):
        for across in (None, *columns, "all"):
            yield side, across


def _pairs(left: Whole, right: Whole) -> Whole:
    """One label for each pair of labels."""
    return left * (int(right.max()) + 1) + right


def _places(table: Whole) -> tuple[Whole, Whole]:
    """The row and the column of every element."""
    places = np.indices(table.shape, dtype=np.int64)
    return np.asarray(places[0]), np.asarray(places[1])


# -- which cells go up --------------------------------------------------------------------------


def _ups(parts: Parts, rows: Sequence[Whole], columns: Sequence[Whole]) -> Whole:
    """0 or 1 for each cell of the fractions, by the first way that keeps every sum."""
    if not rows or not columns:
        return _at_once(parts, rows, columns)
    for turn in range(_ORDERS):
        found = _from_the_top(parts, rows, columns, turn)
        if found is not None:
            return found
        found = _from_the_top(parts.turned, columns, rows, turn)
        if found is not None:
            return found.T
    if np.count_nonzero(parts.units) <= _SMALL:
        found = _as_program(parts, rows, columns)
        if found is not None:
            return found
    return _at_once(parts, rows, columns)


def _at_once(parts: Parts, rows: Sequence[Whole], columns: Sequence[Whole]) -> Whole:
    """One network for all sums but groups in groups; always finds a table."""
    i, j = _places(parts.units)
    first = [*(_pairs(i, h[j]) for h in columns), i, *(g[i] for g in rows)]
    second = [*(_pairs(j, g[i]) for g in rows), j, *(h[j] for h in columns)]
    found = Network(parts, first, second, np.zeros_like(i)).solve()
    if found is None:
        raise Bug("A table has no controlled rounding.")
    return found


def _from_the_top(
    parts: Parts, rows: Sequence[Whole], columns: Sequence[Whole], turn: int
) -> Whole | None:
    """The coarsest row groups × columns; then each finer level, given what its parents hold."""
    above: Whole | None = None
    parents: Whole = np.zeros(0, dtype=np.int64)
    for labels in [*rows[::-1], np.arange(parts.units.shape[0])]:
        sums = parts.grouped(labels)
        g, j = _places(sums.units)
        first = [*(_pairs(g, h[j]) for h in columns), g]
        if above is None:
            second, apart = [j, *(h[j] for h in columns)], np.zeros_like(g)
        else:
            parent = np.zeros(g.shape[0], dtype=np.int64)
            parent[labels] = parents
            second, apart = [parent[g] * g.shape[1] + j], parent[g]
        above = Network(sums, first, second, apart, above, turn).solve()
        if above is None:
            return None
        parents = labels
    return above


def _as_program(parts: Parts, rows: Sequence[Whole], columns: Sequence[Whole]) -> Whole | None:
    """An integer program for a small table: the nearest one found that keeps every sum."""
    from scipy import optimize, sparse

    solver, arrays = cast(Any, optimize), cast(Any, sparse)
    cells = np.flatnonzero(parts.units)
    i, j = np.unravel_index(cells, parts.units.shape)
    free = Parts(parts.units.ravel()[cells], parts.slack.ravel()[cells])
    blocks, least, most = [], [], []
    for side, across in _crosses(rows, columns):
        if side is None and across is None:
            continue
        first = i if side is None else np.zeros_like(i) if isinstance(side, str) else side[i]
        second = j if across is None else np.zeros_like(j) if isinstance(across, str) else across[j]
        label = np.unique(_pairs(first, second), return_inverse=True)[1]
        blocks.append(arrays.coo_array((np.ones(len(cells)), (label, np.arange(len(cells))))))
        low, high = free.by(label).bounds
        least.append(low)
        most.append(high)
    low, high = free.bounds
    found = solver.milp(
        1 - 2 * free.units / UNIT,
        integrality=np.ones(len(cells)),
        bounds=solver.Bounds(low, high),
        constraints=solver.LinearConstraint(
            arrays.vstack(blocks, format="csr"), np.concatenate(least), np.concatenate(most)
        ),
        options={"node_limit": _NODES, "mip_rel_gap": 0.1},
    )
    if found.x is None:
        return None
    out = np.zeros(parts.units.size, dtype=np.int64)
    out[cells] = np.rint(found.x).astype(np.int64)
    return out.reshape(parts.units.shape)
