"""Whole numbers for a parent's children that add up to it in every cell, near the fit in margins.

Every cell of every child goes to one of its two nearest whole numbers. Which children of a cell are
rounded up is chosen cell by cell, by how much each still lacks in the margins the cell lies in, so
that what is rounded away in one cell comes back in a neighbouring one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....core.domain import Flags
from ....core.product import Reals, Whole
from ....errors import Bug

_WHOLE = 1e-9


def whole_children(
    table: Reals, parent: Whole, margins: Sequence[Whole], allowed: Flags | None = None
) -> Whole:
    """A table of cells by children in whole numbers; sums over children are the parent's cells.

    `table` has those sums but for float error; `margins` say for each cell its place in a margin.
    Where a child is not `allowed` a cell it stays empty; every cell has a child that is.

    >>> parts = np.array([[0.5, 0.5], [0.5, 0.5], [1.5, 0.5]])
    >>> whole_children(parts, np.array([1, 1, 2]), [np.zeros(3, np.int64)])
    array([[1, 0],
           [0, 1],
           [2, 0]])
    """
    down = np.floor(table + _WHOLE).astype(np.int64)
    over = down.sum(axis=1) - parent
    for cell in np.flatnonzero(over > 0).tolist():  # floats that were a hair too large
        down[cell] = _lowered(table[cell], down[cell], int(over[cell]))
    part = table - down
    lacking = parent - down.sum(axis=1)
    if not margins:
        margins = [np.zeros(len(parent), dtype=np.int64)]
    starts = np.cumsum([0, *(int(places.max(initial=0)) + 1 for places in margins)])
    rows = np.stack([places + first for places, first in zip(margins, starts, strict=False)], 1)
    owed = np.zeros((int(starts[-1]), table.shape[1]))
    for cell in np.flatnonzero((lacking > 0) | (part > _WHOLE).any(axis=1)).tolist():
        places, more = rows[cell], int(lacking[cell])
        owed[places] += part[cell]
        if not more:
            continue
        score = owed[places].sum(axis=0) + part[cell]
        able = np.flatnonzero(part[cell] > _WHOLE)
        if len(able) == 0:  # the fit gave nobody anything: every child that may have it can
            able = np.arange(len(score)) if allowed is None else np.flatnonzero(allowed[cell])
        added = _best(score, able, more)
        down[cell] += added
        owed[places] -= added
    return down


def with_margin(counts: Whole, places: Whole, wanted: Whole) -> Whole:
    """Cells by children with single records moved between children until a margin is as wanted.

    A record stays in its cell, so the parent's cells are kept; `wanted` are places by children and
    add up over children to what the parent has at each place.

    >>> with_margin(np.array([[2, 0], [1, 1]]), np.array([0, 0]), np.array([[2, 2]])).tolist()
    [[1, 1], [1, 1]]
    """
    out = counts.copy()
    over = -wanted
    np.add.at(over, places, counts)
    for place in np.flatnonzero(over.any(axis=1)).tolist():
        cells = np.flatnonzero(places == place)
        for giver in np.flatnonzero(over[place] > 0).tolist():
            for cell in cells.tolist():
                for taker in np.flatnonzero(over[place] < 0).tolist():
                    moved = min(int(out[cell, giver]), over[place, giver], -over[place, taker])
                    out[cell, giver] -= moved
                    out[cell, taker] += moved
                    over[place, giver] -= moved
                    over[place, taker] += moved
    if over.any():
        raise Bug("A published margin does not add up to its parent's.")
    return out


def _best(score: Reals, able: Whole, more: int) -> Whole:
    """How many are added to each child: one to those that lack most, more only where all have one."""
    added = np.zeros(len(score), dtype=np.int64)
    if more == 1:
        added[able[np.argmax(score[able])]] = 1
        return added
    full, rest = divmod(more, len(able))
    added[able] += full
    added[able[np.argsort(-score[able], kind="stable")[:rest]]] += 1
    return added


def _lowered(part: Reals, down: Whole, over: int) -> Whole:
    """The same with so many taken away, where the fit is least above the whole number."""
    out = down.copy()
    for _ in range(over):
        held = np.flatnonzero(out > 0)
        out[held[np.argmin(part[held] - out[held])]] -= 1
    return out
