"""Controlled rounding: a two-way table in whole numbers, every sum kept.

Each cell, row, column and the total goes to one of its two nearest integers. The cells are arcs of
a network from rows to columns whose bounds are integers and which the fractions themselves satisfy,
so it has an integer flow: such a table always exists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.product import Reals, Whole
from ...errors import Bug, InputError

UNIT = 1 << 36
"""Fractions are counted in units of 2^−36, so that sums of them are exact."""
WHOLE = 1e-9
"""A number this close to an integer is that integer."""
_MOST = float(1 << 62)
_MOST_CELLS = 1 << 26
_WINDOWS = (0.02, 0.06, 0.15, 0.3, 0.5)


def controlled(table: npt.ArrayLike) -> Whole:
    """Round a two-way table so that each of its sums goes to one of its two nearest integers.

    The total goes to the nearer one. Cells near one half are the first to go to the farther integer.

    >>> rounded = controlled([[0.5, 0.5, 0.2], [0.5, 0.5, 0.8]])
    >>> rounded.sum(axis=0), int(rounded.sum())
    (array([1, 1, 1]), 3)
    """
    reals = _checked(table)
    down = np.floor(reals + WHOLE)
    part = np.clip(reals - down, 0.0, 1.0)
    units = np.where(part < WHOLE, 0, np.rint(part * UNIT)).astype(np.int64)
    whole = down.astype(np.int64)
    if units.any():
        even = bool(np.bitwise_xor.reduce(whole, axis=None) % 2 == 0)
        return whole + _ups(units, _slack(reals, units), even)
    return whole


def finite(table: npt.ArrayLike) -> Reals:
    """A table of numbers to be rounded, refused where one of them is not finite."""
    reals = np.asarray(table, dtype=np.float64)
    if not np.isfinite(reals).all():
        raise InputError("A table to be rounded holds a number that is not finite.")
    return reals


def _checked(table: npt.ArrayLike) -> Reals:
    reals = finite(table)
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


def _slack(reals: Reals, units: Whole) -> Whole:
    """How well each fraction is known: to a unit, and to what the number's own float holds.

    Ten times 0.1 is 1. All slack together stays far below 1, so it cannot leave a network without
    a flow.
    """
    most = max(1, UNIT // 64 // int(np.count_nonzero(units)))
    slack = np.minimum(1 + np.abs(reals) * (2.0**-52 * UNIT), most).astype(np.int64)
    return np.where(units > 0, slack, 0)


def _bounds(units: Any, slack: Any) -> tuple[Whole, Whole]:
    """The two integers each may become: one, where it is one already."""
    return (units + slack) // UNIT, -((slack - units) // UNIT)


def _ups(units: Whole, slack: Whole, even: bool) -> Whole:
    """What each fraction becomes: its nearer integer, but for as few near one half as will do.

    So does each row and column. The total does so always, or sums of many tables would be too low;
    from one half it goes to the even one, `even` telling whether what is rounded up from is.
    """
    rows, columns = units.shape
    row, column = 2 + np.arange(rows), 2 + rows + np.arange(columns)
    # A circulation: total (0) → rows → cells → columns → total (1) → total (0).
    tails = np.concatenate([np.zeros(rows, np.int64), column, [1]])
    heads = np.concatenate([row, np.ones(columns, np.int64), [0]])
    sums, free = (np.concatenate([a.sum(axis=1), a.sum(axis=0), [a.sum()]]) for a in (units, slack))
    low, high = _bounds(sums, free)
    beyond = 2 * sums - (low + high) * UNIT
    start = np.where(beyond > 0, high, low)
    if abs(beyond[-1]) <= 2 * free[-1]:
        start[-1] = low[-1] + ((low[-1] % 2 == 0) != even) * (high[-1] - low[-1])
    down, room = start > low, high - low
    room[-1] = 0
    least, most = _bounds(units, slack)
    part = (units - least * UNIT) / UNIT
    near = np.where(part > 0.5, most, least)
    supply = np.concatenate([[0, 0], -near.sum(axis=1), near.sum(axis=0)])
    np.add.at(supply, heads, start)
    np.add.at(supply, tails, -start)
    leave, enter = np.where(down, heads, tails), np.where(down, tails, heads)
    for reach in _WINDOWS:
        i, j = np.nonzero((most > least) & (np.abs(part - 0.5) <= reach))
        back = near[i, j] > least[i, j]
        leaves, enters = np.where(back, column[j], row[i]), np.where(back, row[i], column[j])
        arcs = np.append(leave, leaves), np.append(enter, enters)
        moved = _flow(*arcs, np.append(room, np.ones(len(i), np.int64)), supply)
        if moved is not None:
            near[i, j] += np.where(back, -1, 1) * moved[len(tails) :]
            return near
    raise Bug("A table has no controlled rounding.")


def _flow(tails: Whole, heads: Whole, room: Whole, supply: Whole) -> Whole | None:
    """What flows along each arc so that every node's supply is carried off; None where it is not."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow

    make: Any = csr_matrix
    source, sink = len(supply), len(supply) + 1
    gives, takes = np.flatnonzero(supply > 0), np.flatnonzero(supply < 0)
    wide = np.flatnonzero(room)
    leave = np.concatenate([tails[wide], np.full(len(gives), source), takes])
    enter = np.concatenate([heads[wide], gives, np.full(len(takes), sink)])
    most = np.concatenate([room[wide], supply[gives], -supply[takes]]).astype(np.int32)
    # A flow fills arcs in the order it finds them: mixed up, so that no corner gets all the ups.
    place = np.append(np.random.default_rng(0).permutation(len(supply)), [source, sink])
    graph = make((most, (place[leave], place[enter])), shape=(sink + 1, sink + 1))
    found = maximum_flow(graph, source, sink)
    if found.flow_value < supply[gives].sum():
        return None
    along: Whole = np.asarray(make(found.flow)[place[tails], place[heads]])[0]
    return np.maximum(along, 0)
