"""The untruncated discrete Laplace: pure ε, δ = 0 (rinott 5.1).

p(z) = (1 − r) / (1 + r) · r^|z| over all integers, with a rational ratio r ≥ e^−(ε/sensitivity),
so that −ln r never exceeds what was asked. Mean, variance, pmf and tails are exact fractions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import LawError
from . import sums
from .brackets import exp_bracket, floor_to, ln_bracket, power_bracket
from .exact import Exact, exact, plain, whole
from .noise_law import Draws, Floats, NoiseLaw

if TYPE_CHECKING:
    from .random_source import RandomSource

EPSILON_LEAST, EPSILON_MOST = Fraction(1, 10**6), 100
_RATIO_BITS = 64
_LEAST, _MOST_LISTED = 1e-18, 1 << 22


@dataclass(frozen=True, repr=False)
class PureLaplace(NoiseLaw):
    """The discrete Laplace with ratio p(z + 1) / p(z) = `ratio` for z ≥ 0; `epsilon` was asked.

    `sensitivity` is how far one record moves a cell: 1 for a count, the largest weight for a
    weighted count.

    >>> law = PureLaplace.of("1")
    >>> law.mean, law.tail(3) < Fraction(1, 20) < law.tail(2)
    (Fraction(0, 1), True)
    """

    epsilon: Fraction
    sensitivity: int
    ratio: Fraction
    name: ClassVar[str] = "laplace"
    kind: ClassVar[str] = "laplace"
    ends: ClassVar[None] = None
    mean: ClassVar[Fraction] = Fraction(0)
    unreachable: ClassVar[tuple[int, ...]] = ()

    def __post_init__(self) -> None:
        """Refuse a ratio that spends more than was asked."""
        if not 0 < self.ratio < 1:
            raise LawError(f"The ratio of a Laplace law must lie in (0, 1), got {self.ratio}.")
        if ln_bracket(1 / self.ratio)[1] * self.sensitivity > self.epsilon:
            raise LawError(
                f"A Laplace law with ratio {plain(self.ratio)} exceeds the epsilon asked for, "
                f"{plain(self.epsilon)}. Round the ratio up."
            )

    @classmethod
    def of(cls, epsilon: Exact, sensitivity: int = 1) -> PureLaplace:
        """The law for ε, its ratio rounded up so that ε is not exceeded."""
        number = read_epsilon(epsilon)
        rate = number / whole(sensitivity, "sensitivity", 1)
        if rate < EPSILON_LEAST:
            raise LawError(
                f"epsilon / sensitivity must be ≥ {plain(EPSILON_LEAST)}, got {plain(rate)}. "
                "Raise epsilon or lower the largest weight."
            )
        scale = 1 << (_RATIO_BITS + ceil(rate * 3 / 2))
        above = exp_bracket(-rate)[1] * scale
        return cls(number, sensitivity, Fraction(ceil(above), scale))

    @property
    def parameters(self) -> dict[str, str]:
        """What was asked for, as exact text."""
        asked = {"epsilon": plain(self.epsilon)}
        return asked if self.sensitivity == 1 else asked | {"sensitivity": str(self.sensitivity)}

    @cached_property
    def variance(self) -> Fraction:
        """Exactly 2r / (1 − r)²."""
        return 2 * self.ratio / (1 - self.ratio) ** 2

    @property
    def continuous_variance(self) -> float:
        """That of the continuous Laplace: 2 / rate²."""
        return 2 * float(self.sensitivity / self.epsilon) ** 2

    def probability(self, perturbation: int, cells: int = 1) -> Fraction:
        """P(the sum of so many draws is this), exactly."""
        return sums.pure_sum(self.ratio, perturbation, cells)

    def tail(self, size: int, cells: int = 1) -> Fraction:
        """P(the sum of so many draws is larger than `size` either way), exactly."""
        return 2 * self.cumulative(-size - 1, cells)

    def cumulative(self, perturbation: int, cells: int = 1) -> Fraction:
        """P(the sum of so many draws is this or smaller), exactly."""
        if cells != 1:
            return sums.pure_below(self.ratio, perturbation, cells)
        side = self.ratio ** (-perturbation if perturbation < 0 else perturbation + 1)
        below = side / (1 + self.ratio)
        return below if perturbation < 0 else 1 - below

    def half_width(self, level: Exact = "0.95", cells: int = 1) -> int:
        """The least h with P(|sum of so many draws| ≤ h) ≥ level; exact for one draw.

        >>> PureLaplace.of("0.5").half_width("0.95"), PureLaplace.of("0.5").half_width("0.95", 40)
        (6, 35)
        """
        if cells != 1:
            return sums.half_width(self, level, cells)
        allowed = 1 - sums.level_of(level)
        low, high = -1, 0
        while self._tail_above(high) > allowed:
            low, high = high, 2 * high + 1
        return bisect_left(
            range(high), True, low + 1, key=lambda size: self._tail_above(size) <= allowed
        )

    def _tail_above(self, size: int) -> Fraction:
        """The tail, not rounded down; fast where the exact power would be millions of digits."""
        if size < 64:
            return self.tail(size)
        return Fraction(2 * power_bracket(self.ratio, size + 1, 256)[1], 1 << 256) / (
            1 + self.ratio
        )

    def draw(self, count: int, source: RandomSource | None = None) -> Draws:
        """So many independent draws, exactly from the law, in the narrowest type that holds them."""
        from .sampling import drawn, one_sided_draws, two_sided_draws

        return drawn(two_sided_draws(self), lambda: one_sided_draws(self), count, source)

    def masses(self) -> tuple[int, Floats]:
        """A first perturbation and probabilities as floats, until they fall below 10^-18."""
        ratio = float(self.ratio)
        count = min(ceil(log(_LEAST) / log(ratio)) + 1, _MOST_LISTED)
        side = (1 - ratio) / (1 + ratio) * ratio ** np.arange(count, dtype=np.float64)
        return 1 - count, np.concatenate([side[:0:-1], side])

    def transform(self, points: int, coarse: int) -> npt.NDArray[np.complexfloating]:
        """The characteristic function on a grid; coarse: of a Laplace of the same variance."""
        angles = 2 * np.pi * np.arange(points // 2 + 1) / points
        ratio, v = float(self.ratio), float(self.variance) / coarse**2
        if coarse > 1:  # 2r / (1 − r)² = v
            ratio = (v + 1 - sqrt(2 * v + 1)) / v
        real = (1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(angles) + ratio * ratio)
        return real.astype(np.complex128)

    def reach(self, cells: int) -> int:
        """Beyond this less than 10^-12 of a sum is left."""
        return sums.far(float(self.variance), 0, cells, 40 * float(self.sensitivity / self.epsilon))

    def to_dict(self) -> dict[str, Any]:
        """The law as plain data."""
        return {
            "name": "laplace",
            "parameters": self.parameters,
            "ratio": f"{self.ratio.numerator}/{self.ratio.denominator}",
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PureLaplace:
        """Read back what `to_dict` gives."""
        asked = data["parameters"]
        values = Fraction(asked["epsilon"]), int(asked.get("sensitivity", 1))
        return cls(*values, Fraction(data["ratio"]))


def read_epsilon(epsilon: object) -> Fraction:
    """An ε that a law may have: 0.000001 … 100, or `LawError`."""
    number = exact(epsilon, "epsilon", above=0, most=EPSILON_MOST, error=LawError)
    if number < EPSILON_LEAST:
        raise LawError(
            f"epsilon must be ≥ {plain(EPSILON_LEAST)} and ≤ {EPSILON_MOST}, got "
            f"{plain(floor_to(number, 12)) if number >= Fraction(1, 10**12) else 'less than 1e-12'}"
            ". At so small an epsilon no count survives; publish nothing instead."
        )
    return number
