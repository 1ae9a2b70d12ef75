"""Draws that are the same on every machine: raw 64-bit words of PCG64 against integer thresholds.

Only the raw words are used, whose stream numpy keeps for ever; no float decides anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]

_BITS = 24
_FULL = 1 << _BITS


class Draws:
    """A stream of reproducible choices.

    >>> Draws(7).choose(np.zeros(5, dtype=np.int64), [[1, 1, 2]])
    array([2, 2, 2, 0, 1])
    """

    def __init__(self, seed: int) -> None:
        self._words = np.random.PCG64(seed)

    def choose(self, rows: Whole, weights: Sequence[Sequence[int]]) -> Whole:
        """For each row number a choice by that row of integer weights."""
        limits = np.stack([_limits(row) for row in weights])
        words = self._words.random_raw(len(rows))
        drawn = (words >> np.uint64(64 - _BITS)).astype(np.int64)
        found = np.zeros(len(rows), dtype=np.int64)
        for column in range(limits.shape[1] - 1):
            found += drawn >= limits[rows, column]
        return found

    def order(self, n: int) -> Whole:
        """A shuffled order of n things."""
        return np.argsort(self._words.random_raw(n), kind="stable").astype(np.int64)


def _limits(weights: Sequence[int]) -> Whole:
    """Upper limits of each choice on a scale of 2^24, by integer division."""
    total, so_far, limits = sum(weights), 0, []
    for weight in weights:
        so_far += weight
        limits.append(so_far * _FULL // total)
    return np.array(limits, dtype=np.int64)
