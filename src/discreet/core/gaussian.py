"""The discrete Gaussian, drawn exactly: p(z) ∝ exp(−z² / 2σ²) over all integers.

A cell that one unit moves by s costs ρ = s² / 2σ² of zero-concentrated differential privacy
(Canonne, Kamath and Steinke 2020, Theorem 4); σ² is the parameter, the variance is slightly less
for small σ.

Drawing inverts the distribution function lazily. A 64-bit word is the first bits of a uniform
number; it decides the value unless it falls on the one word that a threshold cuts, about one in
2^64 a threshold. Then more bits of number and threshold are taken until they differ, so what is
drawn is the law itself and not a rounding of it. Thresholds are computed between two decimals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import Bug, LawError
from . import sums
from .brackets import context
from .exact import Exact, exact, plain
from .noise_law import Floats, NoiseLaw
from .random_source import RandomSource, system_source, uniform_words

VARIANCE_LEAST, VARIANCE_MOST = Fraction(1, 100), 10**8
_WORD = 64
_MOST_EXTRA_WORDS = 8


@dataclass(frozen=True, repr=False)
class DiscreteGaussian(NoiseLaw):
    """The discrete Gaussian with parameter σ² = `sigma2`.

    >>> law = DiscreteGaussian.of("4")
    >>> round(law.variance, 6), law.half_width("0.95"), law.mean
    (4.0, 4, Fraction(0, 1))
    """

    sigma2: Fraction
    name: ClassVar[str] = "gaussian"
    kind: ClassVar[str] = "gaussian"
    ends: ClassVar[None] = None
    mean: ClassVar[Fraction] = Fraction(0)

    @classmethod
    def of(cls, sigma2: Exact) -> DiscreteGaussian:
        """The law for σ², from 0.01 to 10^8."""
        number = exact(sigma2, "sigma2", above=0, error=LawError)
        if not VARIANCE_LEAST <= number <= VARIANCE_MOST:
            raise LawError(
                f"sigma2 must be from {plain(VARIANCE_LEAST)} to {VARIANCE_MOST}, got "
                f"{float(number):.4g}. Choose a rho that is less extreme."
            )
        return cls(number)

    @property
    def parameters(self) -> dict[str, str]:
        """What was asked for, as exact text."""
        return {"sigma2": plain(self.sigma2)}

    @cached_property
    def side(self) -> Floats:
        """Probabilities of 0, 1, 2, … as floats, to beyond 10^-38."""
        z = np.arange(_reach(self.sigma2, 100) + 1, dtype=np.float64)
        raw = np.exp(-z * z / (2 * float(self.sigma2)))
        return np.asarray(raw / (2 * raw.sum() - 1))

    @cached_property
    def variance(self) -> float:
        """The variance, to float precision."""
        z = np.arange(len(self.side), dtype=np.float64)
        return float(2 * np.sum(z * z * self.side))

    @property
    def continuous_variance(self) -> float:
        """That of the continuous Gaussian: σ²."""
        return float(self.sigma2)

    def probability(self, perturbation: int, cells: int = 1) -> float:
        """P(the sum of so many draws is this), to float precision."""
        size = abs(perturbation)
        if cells == 1:
            return float(self.side[size]) if size < len(self.side) else 0.0
        masses = sums.sum_masses(self, cells)
        middle = len(masses) // 2
        return float(masses[middle + size]) if size <= middle else 0.0

    def cumulative(self, perturbation: int, cells: int = 1) -> float:
        """P(the sum of so many draws is this or smaller), to float precision."""
        if perturbation >= 0:
            return 1 - self.cumulative(-perturbation - 1, cells)
        masses = self.side if cells == 1 else sums.sum_masses(self, cells)[self.reach(cells) :]
        return float(masses[: -perturbation - 1 : -1].sum()) if -perturbation < len(masses) else 0.0

    def half_width(self, level: Exact = "0.95", cells: int = 1) -> int:
        """The least h with P(|sum of so many draws| ≤ h) ≥ level; a tie within 10^-12 goes outwards."""
        if cells != 1:
            return sums.half_width(self, level, cells)
        share = float(sums.level_of(level))
        inside = 2 * np.cumsum(self.side) - self.side[0]
        return int(np.searchsorted(inside, share + 1e-12))

    def masses(self) -> tuple[int, Floats]:
        """A first perturbation and probabilities as floats, to beyond 10^-38."""
        return 1 - len(self.side), np.concatenate([self.side[:0:-1], self.side])

    def reach(self, cells: int) -> int:
        """Beyond this less than 10^-12 of a sum is left."""
        return sums.far(self.variance, 0, cells, 0)

    def to_dict(self) -> dict[str, Any]:
        """The law as plain data."""
        return {"name": self.name, "parameters": self.parameters}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DiscreteGaussian:
        """Read back what `to_dict` gives."""
        return cls.of(Fraction(data["parameters"]["sigma2"]))

    def draw(self, count: int, source: RandomSource | None = None) -> npt.NDArray[np.int64]:
        """So many independent draws, exactly from the law.

        >>> DiscreteGaussian.of("4").draw(1000).shape
        (1000,)
        """
        chosen = system_source() if source is None else source
        reach, cut = _thresholds(self)
        words = uniform_words(chosen, count)
        # `cut[i]` is the word in which threshold i lies: a larger word is beyond the threshold.
        index = np.searchsorted(cut, words, side="left")
        out = index.astype(np.int64) - reach
        for i in np.flatnonzero(cut[np.minimum(index, len(cut) - 1)] == words):
            out[i] = self.resolve(int(words[i]), lambda: int(uniform_words(chosen, 1)[0]))
        return out

    def resolve(self, word: int, more: Callable[[], int], word_bits: int = _WORD) -> int:
        """The value of a uniform number that starts with `word`; takes more words as needed."""
        number, bits = word, word_bits
        for _ in range(_MOST_EXTRA_WORDS + 1):
            reach = _reach(self.sigma2, bits + 36)
            low, high, decided = -reach, reach, True
            while low < high and decided:
                middle = (low + high) // 2
                below, above = self.threshold(middle, bits)
                if number < below:
                    high = middle
                elif number >= above:
                    low = middle + 1
                else:
                    decided = False
            if decided and -reach < low < reach:
                return low
            number, bits = number << word_bits | more(), bits + word_bits
        raise Bug("A discrete Gaussian draw was not decided by its last extra word.")

    def threshold(self, value: int, bits: int) -> tuple[int, int]:
        """Whole numbers a ≤ 2^bits · P(Z ≤ value) ≤ b; they differ by 1, rarely by more.

        A uniform number of so many bits is below the threshold if < a, above it if ≥ b.
        """
        tails = _tails(self.sigma2, bits)
        low, high = tails[min(value + 1 if value >= 0 else -value, len(tails) - 1)]
        if value < 0:
            return math.floor(low), math.floor(high) + 1
        return (1 << bits) - math.floor(high) - 1, (1 << bits) - math.floor(low)


def _reach(sigma2: Fraction, bits: int) -> int:
    """Beyond this, less than 2^-bits of the mass is left: e^(−z²/2σ²) ≤ e^(−bits)."""
    return math.isqrt(math.ceil(2 * sigma2 * bits)) + 2


@lru_cache(maxsize=64)
def _thresholds(law: DiscreteGaussian) -> tuple[int, npt.NDArray[np.uint64]]:
    """A reach, and the words that the thresholds P(Z ≤ −reach) … P(Z ≤ reach) cut."""
    reach = _reach(law.sigma2, 100)
    ends = [law.threshold(value, _WORD) for value in range(-reach, reach + 1)]
    if any(above - below > 1 for below, above in ends):
        raise Bug("A threshold of the discrete Gaussian was not computed closely enough.")
    return reach, np.array([below for below, _ in ends], dtype=np.uint64)


@lru_cache(maxsize=32)
def _tails(sigma2: Fraction, bits: int) -> list[tuple[Decimal, Decimal]]:
    """2^bits · P(Z ≥ v) for v = 0, 1, …, each between two decimals, the last for all beyond too.

    Terms by recurrence, t(z + 1) = t(z) · g(z) with g(z + 1) = g(z) · e^(−1/σ²), rounded outwards.
    Summed from the far end inwards; what lies beyond the end falls at least geometrically.
    """
    end = _reach(sigma2, bits + 64)
    digits = 40 + math.ceil(bits * 0.31) + 2 * len(str(end))
    down, up = context(ROUND_FLOOR, digits), context(ROUND_CEILING, digits)
    low = _terms(sigma2, end + 1, down)
    high = _terms(sigma2, end + 1, up)
    ratio = up.divide(high[end + 1], low[end])
    beyond = up.divide(high[end + 1], down.subtract(Decimal(1), ratio))
    sum_low, sum_high = [Decimal(0)] * (end + 2), [beyond] * (end + 2)
    for z in range(end, -1, -1):
        sum_low[z] = down.add(sum_low[z + 1], low[z])
        sum_high[z] = up.add(sum_high[z + 1], high[z])
    # The whole is 2 T(1) + 1 with T(v) the sum from v on.
    whole_low = down.fma(Decimal(2), sum_low[1], Decimal(1))
    whole_high = up.fma(Decimal(2), sum_high[1], Decimal(1))
    one = Decimal(1 << bits)
    return [
        (
            down.divide(down.multiply(one, low), whole_high),
            up.divide(up.multiply(one, high), whole_low),
        )
        for low, high in zip(sum_low, sum_high, strict=True)
    ]


def _terms(sigma2: Fraction, last: int, rounding: Context) -> list[Decimal]:
    """e^(−z²/2σ²) for z = 0 … last, all rounded the context's way."""
    up = rounding.rounding == ROUND_CEILING
    nudge = rounding.next_plus if up else rounding.next_minus
    half = rounding.divide(Decimal(-sigma2.denominator), Decimal(2 * sigma2.numerator))
    growth = nudge(rounding.exp(half))
    step = nudge(rounding.exp(rounding.multiply(Decimal(2), half)))
    out, term = [], Decimal(1)
    for _ in range(last + 1):
        out.append(term)
        term = rounding.multiply(term, growth)
        growth = rounding.multiply(growth, step)
    return out
