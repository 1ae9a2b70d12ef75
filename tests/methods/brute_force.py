"""What a release tells about one unit, by enumeration: floats, own formulas, nothing of the product's.

A *profile* is how far one pair of neighbours moves every number that is measured: pairs of a law and
a shift. Its privacy loss is enumerated outcome by outcome; equal losses are put together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core.gaussian import DiscreteGaussian
from discreet.core.pure_laplace import PureLaplace

Profile = tuple[tuple[object, int], ...]
_NOTHING = 1e-19


class Losses:
    """Privacy losses with their masses.

    `most` is the largest that is finite, however rare; `failing` the mass impossible under the
    neighbour, exactly.
    """

    def __init__(self, losses, masses, most: float, failing: Fraction = Fraction(0)) -> None:
        merged, where = np.unique(np.rint(np.asarray(losses) * 1e11), return_inverse=True)
        summed = np.bincount(where.ravel(), np.asarray(masses).ravel())
        kept = summed > _NOTHING
        self.losses, self.masses = merged[kept] / 1e11, summed[kept]
        self.most, self.failing = most, failing

    def beside(self, other: Losses) -> Losses:
        return Losses(
            np.add.outer(self.losses, other.losses).ravel(),
            np.multiply.outer(self.masses, other.masses).ravel(),
            self.most + other.most,
            1 - (1 - self.failing) * (1 - other.failing),
        )

    def delta(self, epsilon: float) -> float:
        above = self.losses > epsilon
        over = self.masses[above] * -np.expm1(epsilon - self.losses[above])
        return float(over.sum()) + float(self.failing)

    @property
    def rightly(self) -> float:
        return (1 + self.delta(0.0)) / 2

    def exceeded(self, share: float) -> float:
        """The least loss that at most this share of releases exceed."""
        beyond = float(self.failing) + np.cumsum(self.masses[::-1])[::-1] - self.masses
        return float(self.losses[beyond <= share].min())


@lru_cache(maxsize=4096)
def of_profile(profile: Profile) -> Losses:
    """The losses of a whole profile."""
    if len(profile) == 1:
        return _of_one(*profile[0])
    return of_profile(profile[:-1]).beside(of_profile(profile[-1:]))


def _of_one(law, shift: int) -> Losses:
    if isinstance(law, PureLaplace):
        rate = float(law.epsilon) / law.sensitivity
        z = np.arange(-math.ceil(45 / rate), math.ceil(45 / rate) + shift + 1, dtype=np.float64)
        masses = np.exp(-rate * np.abs(z)) * math.tanh(rate / 2)
        return Losses(rate * (np.abs(z - shift) - np.abs(z)), masses, rate * shift)
    if isinstance(law, DiscreteGaussian):
        spread = float(law.sigma2)
        z = np.arange(-math.ceil(10 * spread**0.5) - 10, math.ceil(10 * spread**0.5) + 11.0)
        masses = np.exp(-z * z / (2 * spread))
        return Losses(shift * (shift - 2 * z) / (2 * spread), masses / masses.sum(), math.inf)
    whole, total = law.weights, 2**law.key_bits
    pairs = [(whole[i], whole[i - shift]) for i in range(shift, len(whole))]
    both = [(p, q) for p, q in pairs if p and q]
    failing = sum(whole[:shift]) + sum(p for p, q in pairs if not q)
    losses = [math.log(p / q) for p, q in both]
    return Losses(losses, [p / total for p, _ in both], max(losses), Fraction(failing, total))


def profile_of(changes: Iterable[tuple[object, np.ndarray]]) -> Profile:
    """A profile from the laws and how much each of their numbers changes."""
    found = [(law, abs(int(c))) for law, change in changes for c in change.ravel() if c]
    return tuple(sorted(found, key=lambda part: (repr(part[0]), part[1])))
