"""A law: the exact distribution of a perturbation, as whole weights over 2^key_bits.

The weights are the law. They are what is drawn, what is looked up by a cell key, and what is
audited; no figure about a law is computed from anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import LawError
from . import sums
from .exact import Exact, whole
from .noise_law import Draws, Floats, NoiseLaw

if TYPE_CHECKING:
    from .random_source import RandomSource

KEY_BITS_LEAST, KEY_BITS_MOST = 8, 64


class WholeWeights(NoiseLaw):
    """What laws of whole weights share: `start`, the first perturbation, and a weight for each."""

    if TYPE_CHECKING:

        @property
        def start(self) -> int:
            """The least perturbation."""

        @property
        def total(self) -> int:
            """What all weights add up to."""

        @property
        def unreachable(self) -> tuple[int, ...]:
            """Perturbations of the designed support that can never happen."""

        @property
        def dense(self) -> tuple[int, ...]:
            """The weights of start, start + 1, …"""

    @property
    def end(self) -> int:
        """The largest perturbation."""
        return self.start + len(self.dense) - 1

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest perturbation."""
        return self.start, self.end

    def weight(self, perturbation: int) -> int:
        """The weight of one perturbation; 0 outside the support."""
        index = perturbation - self.start
        return self.dense[index] if 0 <= index < len(self.dense) else 0

    @cached_property
    def mean(self) -> Fraction:
        """The exact mean."""
        return Fraction(sum(z * w for z, w in enumerate(self.dense, self.start)), self.total)

    @cached_property
    def variance(self) -> Fraction:
        """The exact variance."""
        square = sum(z * z * w for z, w in enumerate(self.dense, self.start))
        return Fraction(square, self.total) - self.mean**2

    @property
    def continuous_variance(self) -> float:
        """The variance: no continuous law has its name."""
        return float(self.variance)

    @property
    def symmetric(self) -> bool:
        """Whether z and −z have the same weight for every z."""
        return self.start == -self.end and self.dense == self.dense[::-1]

    def probability(self, perturbation: int, cells: int = 1) -> Fraction:
        """P(the sum of so many draws is this), exactly."""
        weights = sums.whole_sums(self.dense, cells)
        index = perturbation - cells * self.start
        return Fraction(weights[index] if 0 <= index < len(weights) else 0, self.total**cells)

    def cumulative(self, perturbation: int, cells: int = 1) -> Fraction:
        """P(the sum of so many draws is this or smaller), exactly."""
        count = max(perturbation - cells * self.start + 1, 0)
        return Fraction(sum(sums.whole_sums(self.dense, cells)[:count]), self.total**cells)

    def half_width(self, level: Exact = "0.95", cells: int = 1) -> int:
        """The least h with P(|sum of so many draws| ≤ h) ≥ level; exact for one draw."""
        if cells != 1:
            return sums.half_width(self, level, cells)
        needed = sums.level_of(level) * self.total
        inside, size = self.weight(0), 0
        while inside < needed:
            size += 1
            inside += self.weight(size) + self.weight(-size)
        return size

    def masses(self) -> tuple[int, Floats]:
        """The first perturbation and every probability, as floats."""
        return self.start, np.array([w / self.total for w in self.dense])

    def reach(self, cells: int) -> int:
        """Beyond this less than 10^-12 of a sum is left, or nothing."""
        spread = float(self.variance)
        most = max(abs(self.start), abs(self.end)) * cells
        return min(most, sums.far(spread, float(self.mean), cells, 40 * spread**0.5))


@dataclass(frozen=True, repr=False)
class Law(WholeWeights):
    """Whole weights of the perturbations start, start + 1, …, over 2^key_bits.

    `parameters` are what was asked for, as exact text.

    >>> law = Law("coin", {}, -1, (64, 128, 64), 8)
    >>> law.pmf[0], law.mean, law.variance, law.thresholds
    (Fraction(1, 2), Fraction(0, 1), Fraction(1, 2), (64, 192, 256))
    """

    name: str
    parameters: Mapping[str, str] = field(hash=False)
    start: int
    weights: tuple[int, ...]
    key_bits: int
    kind: ClassVar[str] = "weights"

    def __post_init__(self) -> None:
        """Refuse weights that are not a law."""
        check_key_bits(self.key_bits)
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "weights", tuple(int(w) for w in self.weights))
        if not self.weights or min(self.weights) < 0:
            raise LawError(
                f"The weights of law {self.name} must be whole numbers ≥ 0, got "
                f"{min(self.weights, default='none')}. Check the parameters it was built from."
            )
        total = sum(self.weights)
        if total != 1 << self.key_bits:
            raise LawError(
                f"The weights of law {self.name} must add up to 2^{self.key_bits} = "
                f"{1 << self.key_bits}, got {total}. Quantise the probabilities again."
            )

    def __reduce__(self) -> tuple[Callable[..., Law], tuple[Any, ...]]:
        """Pickle as the constructor's own arguments."""
        return Law, (self.name, dict(self.parameters), self.start, self.weights, self.key_bits)

    @property
    def dense(self) -> tuple[int, ...]:
        """The weights of start, start + 1, …"""
        return self.weights

    @property
    def total(self) -> int:
        """2^key_bits."""
        return 1 << self.key_bits

    @property
    def unreachable(self) -> tuple[int, ...]:
        """Perturbations of the designed support that can never happen: too few key bits."""
        return tuple(z for z, w in enumerate(self.weights, self.start) if not w)

    @property
    def max_perturbation(self) -> int:
        """The largest size of a designed perturbation (D, m)."""
        return max(abs(self.start), abs(self.end))

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Cumulative weights c(z): the key k gives the z with c(z − 1) ≤ k < c(z)."""
        return tuple(accumulate(self.weights))

    @property
    def pmf(self) -> dict[int, Fraction]:
        """The exact probability of each designed perturbation."""
        return {z: Fraction(w, self.total) for z, w in enumerate(self.weights, self.start)}

    @property
    def continuous_variance(self) -> float:
        """What the continuous namesake would have: 2/ε² for Laplace, (2m + 1)/2ε for normal."""
        if self.name not in ("laplace", "normal"):
            return float(self.variance)
        rate = Fraction(self.parameters["epsilon"]) / int(self.parameters.get("sensitivity", "1"))
        if self.name == "laplace":
            return 2 / float(rate) ** 2
        return float((2 * self.max_perturbation + 1) / (2 * rate))

    def draw(self, count: int, source: RandomSource | None = None) -> Draws:
        """So many independent draws, exactly from the law, in the narrowest type that holds them."""
        from .sampling import drawn, finite_draws

        return drawn(finite_draws(self), None, count, source)

    def to_dict(self) -> dict[str, Any]:
        """The law as plain data; weights as text, because JSON readers lose 64-bit integers."""
        return {
            "key_bits": self.key_bits,
            "name": self.name,
            "parameters": dict(sorted(self.parameters.items())),
            "start": self.start,
            "weights": [str(w) for w in self.weights],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Law:
        """Read back what `to_dict` gives."""
        weights = tuple(int(w) for w in data["weights"])
        parameters = {str(k): str(v) for k, v in data["parameters"].items()}
        values = (str(data["name"]), parameters, int(data["start"]), weights)
        return cls(*values, int(data["key_bits"]))


def check_key_bits(key_bits: object) -> int:
    """A number of key bits that a law may have, or `LawError`."""
    hint = " Use 64 for drawn noise, 32 or more for cell keys."
    return whole(key_bits, "key_bits", KEY_BITS_LEAST, KEY_BITS_MOST, hint=hint)
