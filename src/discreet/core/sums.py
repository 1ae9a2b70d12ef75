"""Sums of independent draws: how far they go, and what they are.

Half-widths of sums come from the law's transform raised to a power, with 10^-9 to spare; past
131,072 possible values on a coarser lattice, rounded outwards. Probabilities of sums of whole
weights are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ..errors import LawError
from .convolution import Masses
from .exact import Exact, exact, plain
from .noise_law import Floats, NoiseLaw

_MOST_POINTS = 1 << 17
_LEVEL_MOST = 1 - Fraction(1, 10**12)
_SLACK = 1e-9
"""Added to a float tail before it is compared, far above its rounding error."""


def level_of(level: Exact) -> Fraction:
    """A coverage between 0 and 1, or `LawError`."""
    if isinstance(level, Fraction) and 0 < level < 1:
        return level
    return exact(level, "level", above=0, below=1, error=LawError)


def half_width(law: NoiseLaw, level: Exact, cells: int) -> int:
    """The least h with |sum of so many draws| ≤ h in at least `level` of releases."""
    share = level_of(level)
    if share > _LEVEL_MOST:
        raise LawError(
            f"The level of an interval of a sum must be at most 1 - 1e-12, got {plain(share)}: the "
            "tails beyond are not known. Use a smaller level."
        )
    return 0 if cells == 0 else _half_width(law, share, cells)


@lru_cache(maxsize=4096)
def _half_width(law: NoiseLaw, level: Fraction, cells: int) -> int:
    coarse, reach = 1, law.reach(cells)
    while 2 * reach + 2 > _MOST_POINTS:
        coarse, reach = coarse * 2, reach // 2 + 1
    masses = _summed(law, cells, reach, coarse)
    sides = masses[1 : len(masses) // 2] + masses[: len(masses) // 2 : -1]
    inside = np.cumsum(np.concatenate([masses[:1], sides]))
    width = int(np.searchsorted(inside, float(level) + _SLACK))
    return width if coarse == 1 else (width + 1) * coarse


def _summed(law: NoiseLaw, cells: int, reach: int, coarse: int = 1) -> Floats:
    """Probabilities of the sum, 0 first, the negative values from the end backwards."""
    points = 1 << (2 * reach + 2).bit_length()
    return np.asarray(np.fft.irfft(law.transform(points, coarse) ** cells, points))


@lru_cache(maxsize=256)
def sum_masses(law: NoiseLaw, cells: int) -> Floats:
    """Probabilities of the sum of so many draws as floats; the middle one is that of 0."""
    reach = law.reach(cells)
    masses = _summed(law, cells, reach)
    return np.asarray(np.concatenate([masses[-reach:], masses[: reach + 1]]))


def far(variance: float, mean: float, cells: int, single: float) -> int:
    """A reach that leaves less than 10^-12 of a sum of draws whose single tails reach `single`."""
    return math.ceil(abs(mean) * cells + 9 * math.sqrt(variance * cells) + single) + 1


@lru_cache(maxsize=256)
def whole_sums(weights: tuple[int, ...], cells: int) -> Sequence[int]:
    """Weights of sums of so many draws of whole weights, exactly; their total is total^cells.

    >>> whole_sums((1, 2, 1), 2)
    (1, 4, 6, 4, 1)
    """
    return Masses(0, weights, 0).power(cells).coefficients


def pure_sum(ratio: Fraction, value: int, cells: int) -> Fraction:
    """P(sum of so many untruncated Laplace draws = value), exactly.

    A difference of two negative binomial numbers; Euler's transformation makes the series finite.

    >>> pure_sum(Fraction(1, 2), 0, 1), pure_sum(Fraction(1, 2), 1, 2)
    (Fraction(1, 3), Fraction(4, 27))
    """
    s, n = abs(value), cells
    if n == 0:
        return Fraction(int(value == 0))
    series = term = Fraction(1)
    for k in range(n - 1):
        step = Fraction((s + 1 - n + k) * (1 - n + k), (s + 1 + k) * (k + 1))
        term *= step * ratio * ratio
        series += term
    scale = (1 - ratio) ** (2 * n) / (1 - ratio * ratio) ** (2 * n - 1)
    return scale * ratio**s * math.comb(n - 1 + s, s) * series


@lru_cache(maxsize=4096)
def pure_below(ratio: Fraction, value: int, cells: int) -> Fraction:
    """P(sum of so many untruncated Laplace draws ≤ value), exactly: both sides are alike."""
    if value >= 0:
        return 1 - pure_below(ratio, -value - 1, cells)
    inside = pure_sum(ratio, 0, cells)
    inside += 2 * sum((pure_sum(ratio, s, cells) for s in range(1, -value)), Fraction(0))
    return (1 - inside) / 2
