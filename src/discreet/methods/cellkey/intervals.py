"""What a published number says about the true count: noise interval and sd for each number.

The interval of a published j holds every true count n whose law has j within its central part: no
more than 2.5 % of the law lies below it and no more than 2.5 % above. Whatever the true count is,
the interval then holds it in at least 95 % of releases: exact, from the laws, and free of any prior.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ...core.count_law import Row
from ...core.product import Reals, Whole
from .ptable import PTable

COVERAGE = Fraction(95, 100)


def central(row: Row) -> tuple[int, int]:
    """The central perturbations of a row: at most 2.5 % lies beyond either end.

    >>> central(Row.of([(-1, 2), (0, 252), (1, 2)]))
    (0, 0)
    """
    tail = (1 - COVERAGE) / 2 * row.keys
    low, high = min(row.weights), max(row.weights)
    below = above = 0
    while below + row.weights.get(low, 0) <= tail:
        below += row.weights.get(low, 0)
        low += 1
    while above + row.weights.get(high, 0) <= tail:
        above += row.weights.get(high, 0)
        high -= 1
    return low, high


class Readings:
    """Noise interval and standard deviation for every number a p-table can publish."""

    def __init__(self, table: PTable) -> None:
        self._cycle = table.cycle
        reach = table.max_perturbation
        least = min(n + min(row.weights) for n, row in enumerate(table.rows))
        self._first = min(0, least)
        self._last = table.max_count + table.cycle + 2 * reach + 1
        size = self._last - self._first + 1
        lower = np.full(size, np.iinfo(np.int64).max, dtype=np.int64)
        upper = np.full(size, -1, dtype=np.int64)
        possible_low, possible_high = lower.copy(), upper.copy()
        sd = np.zeros(size)
        for count in range(self._last + reach + 1):
            row = table.row(count)
            spread = row.error
            for v in row.weights:
                at = count + v - self._first
                if at < size:
                    possible_low[at] = min(possible_low[at], count)
                    possible_high[at] = max(possible_high[at], count)
                    sd[at] = max(sd[at], spread)
            low, high = central(row)
            start, stop = count + low - self._first, min(count + high - self._first + 1, size)
            lower[start:stop] = np.minimum(lower[start:stop], count)
            upper[start:stop] = np.maximum(upper[start:stop], count)
        none = upper < 0  # published only by laws in whose tails it lies
        lower[none], upper[none] = possible_low[none], possible_high[none]
        never = upper < 0
        numbers = np.arange(self._first, self._last + 1)
        lower[never] = upper[never] = numbers[never]
        self._lower, self._upper, self._sd = lower - numbers, upper - numbers, sd

    def of(self, values: Whole) -> tuple[Reals, Whole, Whole]:
        """Sd, lower and upper end of the noise interval of each published number.

        The sd is the largest among the counts that may be published as that number; for a biased
        row its root mean square error, so that a rule without chance has an error too. Arrays of
        their own, also for a table of one number: what is hidden is written into them.
        """
        place = self._place(values)
        return (
            np.asarray(self._sd.take(place)),
            np.asarray(values + self._lower.take(place)),
            np.asarray(values + self._upper.take(place)),
        )

    def _place(self, values: Whole) -> Whole:
        if self._cycle == 1:
            return np.minimum(np.maximum(values, self._first), self._last) - self._first
        beyond = self._last - (self._last - values) % self._cycle
        place = np.where(values > self._last, beyond, np.maximum(values, self._first))
        return place - self._first


def half_width(table: PTable) -> int:
    """The smallest h so that each row's perturbation is within ± h in 95 % of cases."""
    return max(half_width_of(row) for row in table.rows)


def half_width_of(row: Row) -> int:
    """The smallest h so that the perturbation is within ± h in 95 % of cases."""
    h = 0
    while sum(w for v, w in row.weights.items() if abs(v) <= h) < COVERAGE * row.keys:
        h += 1
    return h
