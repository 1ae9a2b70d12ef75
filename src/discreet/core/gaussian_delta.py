"""δ(ε) of discrete Gaussian noise on every cell one unit touches, and the largest ρ that keeps (ε, δ).

A unit moves each cell it touches by 1. The loss of one cell is (1 − 2z)/2σ², z the draw; those of all
cells add. Each loss is put on a common grid by splitting its probability between the two grid points
around it so that both P and Q keep their mass: the cell as it is can be made of the split one, so the
split one tells no less. What falls below the grid is moved up to it, what lies above counts in
full. So the figure is never below δ.

Every step adds and multiplies numbers that are not negative, in floats, where n additions lose n · 2^-53 of
a sum at most; the figure is raised by more than all of them can lose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from .gaussian import DiscreteGaussian
from .noise_law import Floats

Touch = tuple[tuple[Fraction, int], ...]
"""What one unit touches: parts of ρ that a cell takes, each with its number of cells."""
_HALF = 2_048
_MOST_HALF = 8_192
MOST_CELLS = 512
_ROUNDING = 1e-12
_DIGITS = 4


@dataclass(frozen=True)
class _Losses:
    """Probabilities of losses −J·h … J·h, and of what lies above."""

    masses: Floats
    above: float

    def plus(self, other: _Losses) -> _Losses:
        """The sum of two independent losses."""
        both = np.convolve(self.masses, other.masses)
        half = len(self.masses) // 2
        kept = both[half : 3 * half + 1].copy()
        kept[0] += both[:half].sum()
        return _Losses(kept, self.above + other.above + float(both[3 * half + 1 :].sum()))

    def times(self, cells: int) -> _Losses:
        """The sum of so many alike."""
        out, power = None, self
        while True:
            if cells & 1:
                out = power if out is None else out.plus(power)
            cells >>= 1
            if not cells:
                assert out is not None
                return out
            power = power.plus(power)


def delta_bound(epsilon: Fraction, parts: Sequence[tuple[Fraction, int]]) -> float:
    """δ(ε), never too small, of noise with (σ², cells) for each part; 1 where it cannot be told.

    >>> delta_bound(Fraction(4, 5), [(Fraction(20), 1)]) < 2e-5
    True
    """
    e, cells = float(epsilon), sum(many for _, many in parts)
    square = float(sum((many / sigma2 for sigma2, many in parts), Fraction(0)))
    width = e + square / 2 + math.sqrt(square) * 14
    steps = max(1, math.ceil(e * _HALF / width))
    grid = e / steps
    half = math.ceil(width / grid)
    if half > _MOST_HALF or cells > MOST_CELLS:
        return 1.0
    whole: _Losses | None = None
    for sigma2, many in parts:
        part = _cell(sigma2, grid, half).times(many)
        whole = part if whole is None else whole.plus(part)
    assert whole is not None
    beyond = np.arange(1, half - steps + 1, dtype=np.float64)
    over = whole.masses[half + steps + 1 :] * -np.expm1(-beyond * grid)
    return min(1.0, (float(over.sum()) + whole.above) * (1 + _ROUNDING * (cells + 10)) + 1e-30)


def _cell(sigma2: Fraction, grid: float, half: int) -> _Losses:
    """The loss of one cell on the grid."""
    start, masses = DiscreteGaussian.of(sigma2).masses()
    z = np.arange(start, start + len(masses), dtype=np.float64)
    losses = (1 - 2 * z) / (2 * float(sigma2))
    lower = np.floor(losses / grid)
    upwards = masses * np.expm1(-(losses - lower * grid)) / np.expm1(-grid)
    out = np.zeros(2 * half + 1)
    above = 0.0
    for place, share in ((lower, masses - upwards), (lower + 1, upwards)):
        beyond = place > half
        above += float(share[beyond].sum())
        at = np.maximum(place[~beyond], -half).astype(np.int64) + half
        np.add.at(out, at, np.maximum(share[~beyond], 0.0))
    return _Losses(out, above)


@lru_cache(maxsize=256)
def largest_rho(
    epsilon: Fraction,
    delta: Fraction,
    touches: tuple[Touch, ...],
    least: Fraction,
    most: Fraction | None = None,
) -> Fraction:
    """The largest ρ to four digits that keeps (ε, δ) for all that a unit may touch; `least` does.

    A cell that takes the part w of ρ is drawn with σ² = 1/2ρw.
    """
    unit = Fraction(10) ** (math.floor(math.log10(least)) + 1 - _DIGITS)

    def keeps(number: int) -> bool:
        rho = number * unit
        if most is not None and rho > most:
            return False
        return all(
            delta_bound(epsilon, [(1 / (2 * rho * part), many) for part, many in touch]) <= delta
            for touch in touches
        )

    low = math.ceil(least / unit)
    if not keeps(low):
        return least
    step = max(1, low // 16)
    while keeps(low + step):
        low += step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low * unit
