"""Margins of a product of variables, by position: the small algebra the rest of the room uses.

A margin is the sorted tuple of the axes it keeps. Nothing here has seen a record.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Margin: TypeAlias = tuple[int, ...]
Shape: TypeAlias = tuple[int, ...]
Reals: TypeAlias = npt.NDArray[np.float64]
Whole: TypeAlias = npt.NDArray[np.int64]
Rows: TypeAlias = npt.NDArray[np.int64]
"""Cells of the whole domain as rows of coordinates."""


def subsets(margin: Margin) -> list[Margin]:
    """Every margin of a margin, the total first, itself last.

    >>> subsets((0, 2))
    [(), (0,), (2,), (0, 2)]
    """
    return [
        kept for order in range(len(margin) + 1) for kept in itertools.combinations(margin, order)
    ]


def closure(margins: Iterable[Margin]) -> list[Margin]:
    """The downward closure (barak §3.3, step 1): all margins of these margins, small ones first.

    >>> closure([(0, 1), (1, 2)])
    [(), (0,), (1,), (2,), (0, 1), (1, 2)]
    """
    margins_below = {kept for margin in margins for kept in subsets(margin)}
    return sorted(margins_below, key=lambda kept: (len(kept), kept))


def maximal(margins: Iterable[Margin]) -> list[Margin]:
    """The margins that lie in no other one.

    >>> maximal([(0,), (0, 1), (2,)])
    [(2,), (0, 1)]
    """
    every = sorted(set(margins), key=lambda kept: (len(kept), kept))
    sets = [frozenset(kept) for kept in every]
    lengths = [len(kept) for kept in every]
    return [
        m
        for m, held in zip(every, sets, strict=True)
        if not any(held < other for other in sets[bisect_right(lengths, len(m)) :])
    ]


def size(shape: Shape, margin: Iterable[int]) -> int:
    """How many cells a margin has."""
    return math.prod(shape[axis] for axis in margin)


def rank_of(shape: Shape, residuals: Iterable[Margin]) -> int:
    """How many independent numbers these residuals hold together; those of margins: of their closure.

    >>> rank_of((3, 4), [(), (0,), (1,)]), rank_of((3, 4), closure([(0, 1)]))
    (6, 12)
    """
    return sum(math.prod(shape[axis] - 1 for axis in kept) for kept in residuals)


def margin_of_rows(
    rows: Rows, shape: Shape, margin: Margin, weights: npt.NDArray[np.generic] | None = None
) -> Reals:
    """The margin of a sparse table: rows of coordinates and a weight for each."""
    if not margin:
        total = float(len(rows)) if weights is None else float(weights.sum())
        return np.array(total)
    address = addresses(rows, shape, margin)
    counted = np.bincount(address, weights=weights, minlength=size(shape, margin))
    return counted.astype(np.float64).reshape([shape[axis] for axis in margin])


def whole_margin_of_rows(rows: Rows, shape: Shape, margin: Margin, counts: Whole) -> Whole:
    """The same in whole numbers, exactly, however large."""
    out = np.zeros(size(shape, margin), dtype=np.int64)
    np.add.at(out, addresses(rows, shape, margin), counts)
    return out.reshape([shape[axis] for axis in margin])


def addresses(rows: Rows, shape: Shape, margin: Margin) -> Whole:
    """Where the cell of each row lies in a margin."""
    address = np.zeros(len(rows), dtype=np.int64)
    for axis in margin:
        address = address * shape[axis] + rows[:, axis]
    return address


def spread(table: Reals, margin: Margin, onto: Sequence[int], shape: Shape) -> Reals:
    """A margin's table with axes of length 1 where `onto` has more axes, ready to broadcast."""
    return np.asarray(table).reshape([shape[axis] if axis in margin else 1 for axis in onto])
