"""The nearest table without negative numbers that keeps its totals, in whole numbers.

From the grand total downwards: it is kept, or 0 where it is negative; one-way totals become the
nearest numbers ≥ 0 that add up to it, larger margins the nearest that add up to theirs, cells last.
Nearest is by squared distance, so within a sum every number moves by the same amount until it
reaches 0. Cells then become whole: they add up to the grand total and to every one-way total
exactly, and to totals over more variables as nearly as whole numbers ≥ 0 can.

Works on numbers that are protected already. A table turned about gives the same result if the
caller puts its axes in one order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core.domain import Flags
from ...core.product import Margin, Reals, Whole
from .rounding import largest_remainder, whole_numbers

_MOST_PASSES = 500
_WORK = 50_000_000
"""Numbers that may be visited for one margin: large tables get fewer passes."""
STILL = 1e-12
_MOST_STEPS = 64


@dataclass(frozen=True)
class Balanced:
    """A table of whole numbers ≥ 0, and whether it has the one-way totals it was to have."""

    cells: Whole
    keeps_totals: bool


def balanced(parts: Mapping[Margin, Reals | Whole], possible: Flags | None = None) -> Balanced:
    """The table nearest to its cells that keeps the totals given with them.

    `parts` maps kept axes to numbers: `()` is the grand total, all axes are the cells, the rest
    totals to keep. Cells that are not `possible` stay 0; where they leave no room for the one-way
    totals, the grand total alone is kept.

    >>> balanced({(): np.array(9), (0,): np.array([-3.0, 2.0, 10.0])}).cells
    array([0, 1, 8])
    """
    axes = max(parts, key=len)
    grand = max(0, round(float(parts[()])))
    if not axes or (possible is not None and not possible.any()):
        empty = np.zeros(np.shape(parts[axes]), dtype=np.int64)
        return Balanced(empty if axes else empty + grand, True)
    parts = {**parts, (): np.array(grand)}
    free = np.ones(np.shape(parts[axes]), dtype=bool) if possible is None else possible
    fixed = nearest(parts, possible, whole=True)
    cells = _whole(fixed[axes], grand, free)
    if _keeps(cells, fixed, axes, free):
        return Balanced(cells, True)
    alone = nearest({(): parts[()], axes: parts[axes]}, possible, whole=True)
    return Balanced(_whole(alone[axes], grand, free), False)


def nearest(
    parts: Mapping[Margin, Reals | Whole],
    possible: Flags | None,
    *,
    whole: bool,
    still: float = STILL,
) -> dict[Margin, Reals]:
    """Every part as the nearest numbers ≥ 0 that add up to the parts below it, smallest first.

    All parts may keep further leading axes, of tables that are balanced side by side. With `whole`
    the one-way totals become whole numbers on the way. Numbers that move by no more than `still`, in
    parts of the largest, have come to rest.
    """
    axes = max(parts, key=len)
    order = sorted(parts, key=lambda kept: (len(kept), kept))
    fixed: dict[Margin, Reals] = {}
    for kept in order:
        numbers = np.asarray(parts[kept], dtype=np.float64)
        if not fixed:
            fixed[kept] = np.maximum(numbers, 0)
            continue
        gone = tuple(i for i in axes if i not in kept)
        mask = None if possible is None else np.asarray(possible.any(axis=gone))
        below = [held for held in fixed if set(held) < set(kept)]
        most = [held for held in below if not any(set(held) < set(other) for other in below)]
        fixed[kept] = _fit(numbers, kept, {held: fixed[held] for held in most}, mask, still)
        if whole and len(kept) == 1:
            fixed[kept] = _one_way(fixed[kept], int(fixed[()]), mask)
    return fixed


def _one_way(numbers: Reals, grand: int, mask: Flags | None) -> Reals:
    """One list in whole numbers that add up to the grand total."""
    free = np.arange(len(numbers)) if mask is None else np.flatnonzero(mask)
    out = np.zeros(len(numbers))
    exact = numbers[free] * (grand / max(float(numbers[free].sum()), 1e-300))
    out[free] = largest_remainder(exact, grand)
    return out


def _fit(
    numbers: Reals, kept: Margin, sums: Mapping[Margin, Reals], mask: Flags | None, still: float
) -> Reals:
    """The nearest numbers ≥ 0 with these sums: each sum's cells move together, in turns.

    The sums' shifts are the dual of the squared distance; finding them one margin after another
    goes upwards in it, and ends at the nearest table wherever there is one with all sums.
    """
    possible = np.ones(numbers.shape, dtype=bool) if mask is None else _spread(mask, numbers)
    moved = numbers.copy()
    shapes = {
        held: [n if axis in held else 1 for axis, n in zip(kept, numbers.shape, strict=True)]
        for held in sums
    }
    shifts = {held: np.zeros(shape) for held, shape in shapes.items()}
    least = still * (1.0 + float(np.abs(numbers).max(initial=0.0)))
    passes = 1 if len(sums) == 1 else min(_MOST_PASSES, max(4, _WORK // max(numbers.size, 1)))
    for _ in range(passes):
        change = 0.0
        for held, target in sums.items():
            gone = tuple(place for place, axis in enumerate(kept) if axis not in held)
            moved += shifts[held]
            new = _shift(moved, target.reshape(shapes[held]), gone, possible)
            change = max(change, float(np.abs(new - shifts[held]).max(initial=0.0)))
            shifts[held] = new
            moved -= new
        if change <= least:
            break
    return np.where(possible, np.maximum(moved, 0.0), 0.0)


def _spread(mask: Flags, numbers: Reals) -> Flags:
    """A mask of a table, for tables of its shape side by side."""
    return np.asarray(np.broadcast_to(mask, numbers.shape))


def _shift(numbers: Reals, target: Reals, gone: tuple[int, ...], possible: Flags) -> Reals:
    """By how much the numbers of each sum are too large, once those below 0 are cut."""
    above = possible
    shift: Reals = np.zeros(target.shape)
    for _ in range(_MOST_STEPS):
        many = above.sum(axis=gone, keepdims=True)
        sums = np.sum(numbers, axis=gone, keepdims=True, where=above)
        shift = np.where(many > 0, (sums - target) / np.maximum(many, 1), shift)
        fewer = above & (numbers > shift)
        if bool((fewer == above).all()):
            break
        above = fewer
    return shift


# -- whole numbers --------------------------------------------------------------------------


def _whole(reals: Reals, grand: int, free: Flags) -> Whole:
    """The cells in whole numbers that add up to the grand total."""
    cells = np.where(free, np.maximum(whole_numbers(reals), 0), 0)
    _meet(cells, reals, grand - int(cells.sum()), free)
    return cells


def _keeps(cells: Whole, fixed: Mapping[Margin, Reals], axes: Margin, free: Flags) -> bool:
    """Move units until every one-way total is met; False where zeros stand in the way."""
    for axis in axes if len(axes) > 1 else ():
        if (axis,) in fixed:
            along = [axis, *(other for other in axes if other != axis)]
            turned = (cells.transpose(along), fixed[axes].transpose(along), free.transpose(along))
            if not _exchange(*turned, np.rint(fixed[axis,]).astype(np.int64)):
                return False
    return True


def _meet(cells: Whole, reals: Reals, more: int, free: Flags) -> None:
    """Add so many units, or take them, where that is nearest to the reals."""
    while more:
        up = 1 if more > 0 else -1
        gain = (reals - cells).ravel() * up
        allowed = np.flatnonzero(free.ravel() & ((up > 0) | (cells.ravel() > 0)))
        best = allowed[np.argsort(-gain[allowed], kind="stable")[: abs(more)]]
        cells.reshape(-1)[best] += up
        more -= up * len(best)


def _exchange(cells: Whole, reals: Reals, free: Flags, target: Whole) -> bool:
    """Move units along the first axis until its totals are met; all other one-way totals stay."""
    others = tuple(range(1, cells.ndim))
    missing = target - cells.sum(axis=others)
    while missing.any():
        giver, taker = int(np.argmin(missing)), int(np.argmax(missing))
        gain = (cells[giver] - reals[giver]) - (cells[taker] - reals[taker])
        places = np.flatnonzero((cells[giver] > 0) & free[taker])
        if not len(places):
            return False
        units = min(-int(missing[giver]), int(missing[taker]), len(places))
        best = places[np.argsort(-gain.ravel()[places], kind="stable")[:units]]
        where = np.unravel_index(best, cells.shape[1:])
        cells[giver][where] -= 1
        cells[taker][where] += 1
        missing[giver] += units
        missing[taker] -= units
    return True
