"""Exact noise intervals of one cell: the true counts that a released symbol does not contradict.

For every true count n a set of symbols is accepted that n is released as with at least the level's
probability; the interval of a symbol holds every n that accepts it. So whatever n is, its interval
holds it in at least that share of releases: exact, from the law, and free of any prior.

An additive law accepts a window of perturbations: the symmetric ± h, or the shortest one, which
reaches further up where two are equally short. A cut or hidden cell is the image of its window. A
p-table accepts the fewest symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .channel import Additive, Channel, Reals

_SLACK = 1e-12


@dataclass(frozen=True)
class Range:
    """Whole numbers from `lower` to `upper`; None: without end above."""

    lower: int
    upper: int

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return self.upper - self.lower + 1


def symmetric_window(start: int, masses: Reals, level: float) -> tuple[int, int]:
    """The narrowest −h … h with at least the level's probability."""
    noise = np.abs(np.arange(start, start + len(masses)))
    inside = np.cumsum(np.bincount(noise, masses))
    half = int(np.searchsorted(inside, level * masses.sum() - _SLACK))
    half = min(half, len(inside) - 1)
    return -half, half


def shortest_window(start: int, masses: Reals, level: float) -> tuple[int, int]:
    """The shortest window with at least the level's probability; of equals the one lower down.

    A perturbation that was negative means that the true count is higher: the interval that reaches
    further up belongs to the window that lies lower.
    """
    total = np.concatenate([[0.0], np.cumsum(masses)])
    needed = level * total[-1] - _SLACK
    ends = np.searchsorted(total, total[:-1] + needed)
    widths = np.where(ends < len(total), ends - np.arange(len(masses)), len(masses) + 1)
    first = int(np.argmin(widths))
    return start + first, start + first + int(widths[first]) - 1


def cell_range(channel: Channel, symbol: int, level: float, *, shortest: bool = False) -> Range:
    """The noise interval of a released symbol; p-tables always get their shortest."""
    channel.require(symbol)
    if isinstance(channel, Additive):
        return _window_range(channel, symbol, level, shortest)
    return _accepted_range(channel, symbol, level)


def _window_range(channel: Additive, symbol: int, level: float, shortest: bool) -> Range:
    chosen = shortest_window if shortest else symmetric_window
    low, high = chosen(channel.start, channel.masses, level)
    ranges = channel.treatment.behind(symbol)
    lower = min(0 if least is None else least - high for least, _ in ranges)
    upper = max(most - low for _, most in ranges)
    return Range(max(lower, 0), max(upper, 0))


def _accepted_range(channel: Channel, symbol: int, level: float) -> Range:
    first, weights = channel.weights(symbol)
    counts = [first + place for place in np.flatnonzero(weights > 0).tolist()]
    accepting = [count for count in counts if symbol in _accepted(channel, count, level)]
    if not accepting:  # released only by laws in whose tails it lies
        accepting = [first + int(np.argmax(weights))]
    return Range(min(accepting), max(accepting))


@lru_cache(maxsize=65536)
def _accepted(channel: Channel, count: int, level: float) -> frozenset[int]:
    """The fewest symbols with the level's probability: most likely first, then nearest the count."""
    symbols, masses = channel.row(count)
    order = sorted(
        range(len(symbols)),
        key=lambda k: (-round(float(masses[k]), 14), abs(int(symbols[k]) - count)),
    )
    held = np.cumsum(masses[order])
    many = int(np.searchsorted(held, level - _SLACK)) + 1
    return frozenset(int(symbols[k]) for k in order[:many])


def coverage(
    channel: Channel, counts: Sequence[int], level: float, *, shortest: bool = False
) -> Reals:
    """For each true count the exact share of releases whose interval holds it."""
    shares = []
    for count in counts:
        symbols, masses = channel.row(count)
        held = 0.0
        for symbol, mass in zip(symbols.tolist(), masses.tolist(), strict=True):
            found = cell_range(channel, symbol, level, shortest=shortest)
            held += mass * (found.lower <= count <= found.upper)
        shares.append(held)
    return np.array(shares)
