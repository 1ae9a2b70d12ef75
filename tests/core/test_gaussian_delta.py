"""δ of discrete Gaussian noise on several cells: never too small, and hardly too large."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.gaussian import DiscreteGaussian
from discreet.core.gaussian_delta import delta_bound, largest_rho
from discreet.core.loss import ZcdpLoss


def _enumerated(epsilon: str, parts: list[tuple[str, int]], factor: float = 1.0) -> float:
    """Σ (P − e^ε Q)+ over every outcome of every cell; `factor` scales the loss, to be wrong."""
    losses, chances = np.zeros(1), np.ones(1)
    for sigma2, cells in parts:
        start, masses = DiscreteGaussian.of(sigma2).masses()
        z = np.arange(start, start + len(masses))
        kept = masses > 1e-17
        own = factor * (1 - 2 * z[kept]) / (2 * float(Fraction(sigma2)))
        for _ in range(cells):
            losses = np.add.outer(losses, own).ravel()
            chances = np.multiply.outer(chances, masses[kept]).ravel()
    over = losses > float(Fraction(epsilon))
    return math.fsum(chances[over] * -np.expm1(float(Fraction(epsilon)) - losses[over]))


CASES = [
    ("0.8", [("20", 1)]),
    ("0.8", [("30", 2)]),
    ("1.3", [("12", 1), ("20.5", 1)]),
    ("2.5", [("1.7", 1), ("6", 1)]),
    ("0.5", [("0.6", 1)]),
    ("1", [("7", 1), ("9", 1), ("11/3", 1)]),
]


@pytest.mark.parametrize(("epsilon", "parts"), CASES)
def test_the_bound_is_close_from_above(epsilon: str, parts: list[tuple[str, int]]) -> None:
    """Against every outcome enumerated; a loss made 2 % too large would pass the bound."""
    bound = delta_bound(Fraction(epsilon), [(Fraction(s), n) for s, n in parts])
    true = _enumerated(epsilon, parts)
    assert true * (1 - 1e-12) <= bound <= true * 1.004
    assert _enumerated(epsilon, parts, 1.02) > bound


def test_what_cannot_be_told_is_one() -> None:
    assert delta_bound(Fraction(1), [(Fraction(10), 513)]) == 1


@pytest.mark.parametrize(("epsilon", "delta"), [("0.3", "1e-3"), ("1.3", "1e-7")])
def test_more_rho_than_any_noise_would_allow(epsilon: str, delta: str) -> None:
    """ρ is 9 % to 60 % more than by conversion, holds, and one step more does not."""
    e, d = Fraction(epsilon), Fraction(delta)
    low = Fraction(1, 10**6)
    while ZcdpLoss(low * Fraction(21, 20)).to_approximate(d).epsilon <= e:
        low *= Fraction(21, 20)
    found = largest_rho(e, d, (((Fraction(1), 1),),), low)
    assert found > low * Fraction(109, 100)
    assert _enumerated(epsilon, [(str(1 / (2 * found)), 1)]) <= d
    assert _enumerated(epsilon, [(str(1 / (2 * found * Fraction(1002, 1000))), 1)]) > d
    assert largest_rho(e, d, (((Fraction(1), 1),),), low, low) == low
