"""Sampling intervals of the rate behind one cell: both tails of the noisy Poisson law inverted.

Like Garwood's interval for a count, with noise: exact in that it holds the mean in at least the
level's share, conservative because released symbols are whole numbers.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, ndtri

from .channel import HIDDEN, LOW, Channel, Reals, Whole

LARGE = 1_000_000
"""Counts from here on are taken to be normal."""


def order(channel: Channel, symbols: Whole) -> Reals:
    """Symbols as numbers in the order of the values behind them."""
    floor = channel.treatment.display_floor or 0
    numbers = np.where(symbols == LOW, floor - 0.5, symbols.astype(np.float64))
    return np.where(symbols == HIDDEN, -np.inf, numbers)


def symbol_law(channel: Channel, mean: float) -> tuple[Whole, Reals]:
    """Every symbol a cell of this mean may be released as, and its probability."""
    first = max(0, int(mean - 9 * np.sqrt(mean) - 9))
    counts = np.arange(first, int(mean + 9 * np.sqrt(mean) + 40) + 1)
    if channel.most is not None:
        counts = counts[counts <= channel.most]
    shares = np.exp(counts * np.log(max(mean, 1e-300)) - mean - gammaln(counts + 1))
    start, masses = channel.mixture(first, shares)
    values = np.arange(start, start + len(masses), dtype=np.int64)
    return channel.treatment.symbols(values), masses


def rate_range(channel: Channel, symbol: int, level: float) -> tuple[float, float]:
    """The means that a released symbol does not contradict."""
    channel.require(symbol)
    tail = (1 - level) / 2
    if symbol > LARGE:
        return _large_range(symbol, channel.variance, -float(ndtri(tail)))
    there = float(order(channel, np.array([symbol]))[0])

    def at_least(mean: float) -> float:
        symbols, masses = symbol_law(channel, mean)
        return float(masses[order(channel, symbols) >= there].sum())

    def at_most(mean: float) -> float:
        symbols, masses = symbol_law(channel, mean)
        return float(masses[order(channel, symbols) <= there].sum())

    size = max(there, float(channel.treatment.cut), 1.0)
    high = size + 40 * np.sqrt(size + channel.variance) + 20
    lower = 0.0
    if at_least(1e-9) < tail:
        lower = _crossing(lambda mean: at_least(mean) < tail, high)
    return lower, _crossing(lambda mean: at_most(mean) > tail, high)


def _large_range(symbol: int, variance: float, width: float) -> tuple[float, float]:
    """The means μ with |x − μ| ≤ width · √(μ + σ²) + ½: a count of millions is normal."""
    ends = []
    for sign in (-1, 1):
        shown, half = symbol + 0.5 * sign, width**2 / 2
        root = np.sqrt(width**2 * (shown + variance) + half**2)
        ends.append(float(shown + half + sign * root))
    return ends[0], ends[1]


def _crossing(below: object, high: float) -> float:
    """Where a condition that holds for small means ends."""
    left, right = 0.0, high
    for _ in range(44):
        middle = (left + right) / 2
        left, right = (middle, right) if below(middle) else (left, middle)  # type: ignore[operator]
    return (left + right) / 2
