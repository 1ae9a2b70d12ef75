"""How far a table is from the one it was made of (ons §5): distances and transition matrices.

Both tables are plain numbers: who may hold the true one calls these, and what comes back is about
true counts, so it stays with the custodian.

    matrix = transition_matrix(before, after)     bands of counts, before by after
    on_diagonal(matrix)                           the share of cells that stay in their band
    l1(before, after), l2(…), hellinger(…)        sums over all cells
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.product import Whole
from ..errors import InputError

Numbers = npt.NDArray[np.generic]

BANDS = ("0", "1", "2", "3", "4", "5-10", "11-25", "26-50", "51-100", "101-1000", "1000+")
"""The bands of ons Tables 6 and 7; a number below 0 counts as 0."""
ENDS = np.array([0, 1, 2, 3, 4, 10, 25, 50, 100, 1000])


@dataclass(frozen=True)
class Utility:
    """All measures of one table; Hellinger's is None where a number is negative."""

    on_diagonal: float
    l1: float
    l2: float
    hellinger: float | None
    mean_error: float
    """The mean absolute error of a cell: L1 over the number of cells."""

    @classmethod
    def of(cls, before: Numbers, after: Numbers) -> Utility:
        """Every measure of one table."""
        first, second = _pair(before, after)
        negative = bool((second < 0).any())
        distance = l1(before, after)
        return cls(
            on_diagonal(transition_matrix(before, after)),
            distance,
            l2(before, after),
            None if negative else hellinger(before, after),
            distance / max(1, first.size),
        )


def transition_matrix(before: Numbers, after: Numbers) -> Whole:
    """How many cells go from each band to each band, before by after.

    >>> transition_matrix(np.array([0, 0, 7, 30]), np.array([0, 2, 8, 9]))[5].tolist()
    [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    """
    first, second = _pair(before, after)
    rows, columns = (np.searchsorted(ENDS, np.maximum(v, 0)) for v in (first, second))
    matrix = np.zeros((len(BANDS), len(BANDS)), dtype=np.int64)
    np.add.at(matrix, (rows, columns), 1)
    return matrix


def on_diagonal(matrix: Whole) -> float:
    """The share of cells that stay in their band."""
    return float(np.trace(matrix)) / max(1, int(matrix.sum()))


def l1(before: Numbers, after: Numbers) -> float:
    """The sum of absolute differences."""
    first, second = _pair(before, after)
    return float(np.abs(first - second).sum())


def l2(before: Numbers, after: Numbers) -> float:
    """The root of the sum of squared differences."""
    first, second = _pair(before, after)
    return math.sqrt(float(((first - second) ** 2).sum()))


def hellinger(before: Numbers, after: Numbers) -> float:
    """√½ times the root of the sum of squared differences of square roots.

    >>> round(hellinger(np.array([4, 9]), np.array([9, 4])), 6)
    1.0
    """
    first, second = _pair(before, after)
    if (first < 0).any() or (second < 0).any():
        raise InputError(
            "Hellinger's distance is not defined for negative numbers. Use a table that has none, or "
            "l1 and l2."
        )
    return math.sqrt(float(((np.sqrt(first) - np.sqrt(second)) ** 2).sum()) / 2)


def _pair(before: Numbers, after: Numbers) -> tuple[npt.NDArray[np.float64], ...]:
    first, second = (np.asarray(v, dtype=np.float64) for v in (before, after))
    if first.shape != second.shape:
        raise InputError(
            f"Tables to be compared must have one shape, got {first.shape} and {second.shape}."
        )
    return first.ravel(), second.ravel()
