"""The smallest support and then the least variance that keep (ε, δ), among maximum-entropy laws.

The laws are p(z) ∝ exp(−γ z²) on ±D, γ > 0. Two facts make a complete search short.

1. For each γ, δ falls with D: one more outcome adds exp(−γ (D + 1)²) to the whole and takes
   (e^ε − 1) times that from what exceeds e^ε. So the smallest D is found by halving.
2. With k the first outcome whose step exceeds e^ε, δ ≥ c reads Σ a_z exp(−γ z²) ≥ 0 with
   a_z = −2c below k (−c at 0), 1 − 2c at k and 1 − e^ε − 2c beyond. The signs change twice at most, so between two
   *kinks* γ = ε/(2j − 1), where k changes, δ rises and then falls: its least value is at a kink, and
   right of a kink that keeps δ it is crossed once.

Floats propose here; `design` confirms by the exact audit of whole weights.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, expm1

import numpy as np

from .noise_law import Floats
from .product import Whole

GRID = 10**6
"""Variances are whole multiples of 1 / GRID."""
COMPLETE = 2_000
"""Up to this D every kink is looked at; beyond, evenly many and then those near the best."""
_BLOCK = 1 << 22
_NEAR = 1e-9


def smallest_support(epsilon: Fraction, delta: float, most: int, slack: float) -> int:
    """The smallest D from which some law keeps δ, up to `slack` for each outcome's rounding."""

    def may_keep(support: int) -> bool:
        least = float(_at_kinks(float(epsilon), support)[1].min())
        return least <= delta * (1 + _NEAR) + slack * (2 * support + 1)

    return bisect_left(range(most), True, 1, key=may_keep)


def proposed_variances(epsilon: Fraction, delta: float, support: int) -> Iterator[Fraction]:
    """Variances on the grid, the least first, at which δ is kept: one for each kink that keeps it."""
    e = float(epsilon)
    kinks, deltas = _at_kinks(e, support)
    for place in np.flatnonzero(deltas <= delta * (1 + _NEAR)):
        low, high = float(kinks[place]), float(kinks[place - 1]) if place else 64.0 + 2 * e
        for _ in range(80):
            middle = (low + high) / 2
            if delta_at(middle, support, e) <= delta:
                low = middle
            else:
                high = middle
        yield Fraction(max(ceil(variance_at(low, support) * GRID * (1 - 1e-13)), 1), GRID)


def delta_at(gamma: float, support: int, epsilon: float) -> float:
    """δ of the unquantised law, sadeghi (21), to float precision."""
    z = np.arange(support + 1, dtype=np.float64)
    side = np.exp(-gamma * z * z)
    excess = np.maximum(side[:-1] - np.exp(epsilon) * side[1:], 0.0).sum()
    return float((side[-1] + excess) / (2 * side.sum() - 1))


def variance_at(gamma: float, support: int) -> float:
    """V of the unquantised law, to float precision."""
    z = np.arange(support + 1, dtype=np.float64)
    side = np.exp(-gamma * z * z)
    return float(2 * (z * z * side).sum() / (2 * side.sum() - 1))


def _at_kinks(epsilon: float, support: int) -> tuple[Floats, Floats]:
    """The kinks, the largest γ first, and δ at each."""
    places = np.arange(1, support + 1)
    if support > COMPLETE:
        stride = -(-support // COMPLETE)
        coarse = places[::-stride][::-1]
        best = int(coarse[np.argmin(_kink_deltas(epsilon, support, coarse))])
        near = np.arange(max(1, best - stride), min(support, best + stride) + 1)
        places = np.union1d(coarse, near)
    return np.asarray(epsilon / (2.0 * places - 1)), _kink_deltas(epsilon, support, places)


def _kink_deltas(epsilon: float, support: int, places: Whole) -> Floats:
    """δ at γ = ε/(2j − 1): [q(j) − (e^ε − 1) Σ q(z) over z > j] / Σ q, q(z) = exp(−γ z²)."""
    z = np.arange(support + 1, dtype=np.float64)
    found = np.empty(len(places))
    rows = max(1, _BLOCK // len(z))
    for first in range(0, len(places), rows):
        block = places[first : first + rows]
        masses = np.exp(-(epsilon / (2.0 * block - 1))[:, None] * (z * z))
        beyond = np.where(z > block[:, None], masses, 0.0).sum(axis=1)
        own = masses[np.arange(len(block)), block]
        found[first : first + rows] = (own - expm1(epsilon) * beyond) / (2 * masses.sum(axis=1) - 1)
    return found
