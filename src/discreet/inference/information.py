"""The expected (Fisher) information of one noisy cell, i(μ) = Var(E[a | released] − μ).

Exact by summation over true counts and symbols at nodes in √μ, and a cubic spline of i/μ between
them. Of a cell without noise it is μ; noise of variance σ² leaves about μ²/(μ + σ²) of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from scipy.special import gammaln

from .channel import Channel, Reals, Whole, gathered

_NODES = 100
_HARDLY, _HEAVY = 1e-100, 1e9


def information_at(channel: Channel, mean: float) -> float:
    """i(μ) at one mean."""
    return moments_at(channel, mean)[0]


def moments_at(channel: Channel, mean: float) -> tuple[float, float]:
    """i(μ) at one mean, and the kurtosis of the slope E[a | released] − μ: 3 for a normal one."""
    if mean > 1e4 and mean > 1e3 * channel.variance and channel.treatment.cut < mean / 2:
        return mean * mean / (mean + channel.variance), 3.0  # off by less than (σ²/μ)² of it
    first = max(0, int(np.floor(mean - 9 * np.sqrt(mean) - 9)))
    counts = np.arange(first, int(np.ceil(mean + 9 * np.sqrt(mean) + 30)) + 1)
    if channel.most is not None:
        counts = counts[counts <= channel.most]
    shares = np.exp(counts * np.log(mean) - mean - gammaln(counts + 1))
    start, masses, firsts = channel.joint(first, shares)
    symbols = channel.treatment.symbols(np.arange(start, start + len(masses)))
    _, masses, firsts = gathered(symbols, masses, firsts)
    held = masses > 1e-300
    square = (firsts[held] / masses[held] - mean) ** 2
    known = float(masses[held] @ square)
    if known < _HARDLY:  # all counts of this mean are below a cut: as good as never seen
        return known, _HEAVY
    return known, min(float(masses[held] @ (square * square)) / known**2, _HEAVY)


class Information:
    """i(μ) of one channel for means up to a largest one."""

    def __init__(self, channel: Channel, largest: float) -> None:
        top = np.sqrt(largest) * 1.02 + 1
        nodes = np.concatenate([np.linspace(0.02, top, _NODES), np.linspace(0.02, 3, 40)])
        self._nodes = np.unique(nodes)
        found = np.array([moments_at(channel, node * node) for node in self._nodes])
        self._shares, self._kurtosis = found[:, 0] / self._nodes**2, found[:, 1]
        interpolate: Any = import_module("scipy.interpolate")
        self._spline = interpolate.CubicSpline(self._nodes, self._shares)

    def __call__(self, means: Reals) -> Reals:
        """i(μ) of each mean."""
        roots = np.clip(np.sqrt(means), self._nodes[0], self._nodes[-1])
        return np.asarray(means * np.clip(self._spline(roots), 1e-12, 1.0))

    def kurtosis(self, means: Reals) -> Reals:
        """The kurtosis of each mean's slope."""
        return np.asarray(np.interp(np.sqrt(means), self._nodes, self._kurtosis))


@lru_cache(maxsize=256)
def _kept(channel: Channel, power: int) -> Information:
    return Information(channel, 2.0**power)


def information(channels: Sequence[Channel], kinds: Whole, means: Reals) -> Reals:
    """i(μ) of every cell; the last axis of `means` is that of `kinds`."""
    return _of_every_cell(channels, kinds, means, Information.__call__)


def kurtosis(channels: Sequence[Channel], kinds: Whole, means: Reals) -> Reals:
    """The kurtosis of the slope of every cell, by which the score statistic adds it up squared."""
    return _of_every_cell(channels, kinds, means, Information.kurtosis)


def _of_every_cell(
    channels: Sequence[Channel],
    kinds: Whole,
    means: Reals,
    function: Callable[[Information, Reals], Reals],
) -> Reals:
    """A figure of every cell.

    Splines reach to the next power of two, so that what is computed does not depend on how many
    tables are looked at together.
    """
    found = np.empty_like(means)
    for kind in np.unique(kinds).tolist():
        columns = kinds == kind
        part = means[..., columns]
        powers = np.ceil(np.log2(np.maximum(part.max(axis=-1), 16.0)))
        for power in np.unique(powers).tolist():
            rows = powers == power
            chosen = part[rows]
            part[rows] = function(_kept(channels[kind], int(power)), chosen)
        found[..., columns] = part
    return found
