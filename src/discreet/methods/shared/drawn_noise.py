"""What a question spends on untruncated noise: ε with Laplace noise, or ρ with Gaussian noise.

Each number of a measured table gets exact noise of its table's *rate*: discrete Laplace, one step of
one number costing `rate` of ε; or discrete Gaussian with σ² = 1 / 2·rate, a squared step of one
number costing `rate` of ρ.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from ...core.gaussian import VARIANCE_LEAST, VARIANCE_MOST, DiscreteGaussian
from ...core.loss import PureLoss, ZcdpLoss
from ...core.pure_laplace import PureLaplace
from ...errors import Bug, InputError

Noise = Literal["laplace", "gaussian"]
NoiseOf = PureLaplace | DiscreteGaussian
_LEAST = {"laplace": Fraction(1, 10**6), "gaussian": 1 / Fraction(2 * VARIANCE_MOST)}
_MOST = {"laplace": Fraction(100), "gaussian": 1 / (2 * VARIANCE_LEAST)}
_WORDS = {"laplace": ("ε", "epsilon"), "gaussian": ("ρ", "rho")}


@dataclass(frozen=True)
class QuestionLoss:
    """ε or ρ of a whole question; exactly one of them once it is planned."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None

    @property
    def noise(self) -> Noise:
        """Which noise is drawn: Laplace for ε, Gaussian for ρ."""
        return "laplace" if self.rho is None else "gaussian"

    @property
    def loss(self) -> PureLoss | ZcdpLoss:
        """What the whole question costs."""
        if self.rho is not None:
            return ZcdpLoss(self.rho)
        if self.epsilon is None:
            raise Bug("A question without a budget was planned.")
        return PureLoss(self.epsilon)

    @property
    def amount(self) -> Fraction:
        """ε or ρ."""
        loss = self.loss
        return loss.rho if isinstance(loss, ZcdpLoss) else loss.epsilon

    def of_unit(self, cost: Fraction, records: int) -> Fraction:
        """What a unit of so many records costs, from what one record does: r times ε, r² times ρ.

        >>> QuestionLoss(rho=Fraction(1)).of_unit(Fraction(1, 9), 3)
        Fraction(1, 1)
        """
        return cost * (records if self.rho is None else records**2)


@lru_cache(maxsize=1024)
def law_of(noise: Noise, rate: Fraction, unit: int = 1) -> NoiseOf:
    """The law of noise at a rate, exact, untruncated; of counts in parts of 1/unit."""
    if noise == "laplace":
        return PureLaplace.of(rate, unit)
    return DiscreteGaussian.of(unit**2 / (2 * rate))


@lru_cache(maxsize=4096)
def variance_of(noise: Noise, rate: Fraction, unit: int = 1) -> float:
    """The exact variance of one number's noise, as a float; in parts of 1/unit."""
    return float(law_of(noise, rate, unit).variance)


def check_least(noise: Noise, low: Fraction) -> None:
    """Refuse a rate so small that no law has it."""
    letter, word = _WORDS[noise]
    if low < _LEAST[noise]:
        raise InputError(
            f"This workload leaves {float(low):.2g} of {letter} for a table, less than the least a "
            f"law can have ({float(_LEAST[noise]):g}). Ask for fewer margins, or a larger {word}."
        )


def most_rate(noise: Noise) -> Fraction:
    """The largest rate a law can have; what is beyond it is not spent."""
    return _MOST[noise]


def letter_of(noise: Noise) -> str:
    """ε or ρ."""
    return _WORDS[noise][0]
