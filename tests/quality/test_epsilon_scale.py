"""Floor and ceiling of ε, against the enumeration of every number of three digits."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import pytest

from discreet.core.neighbours import Neighbours
from discreet.errors import DiscreetError
from discreet.quality.epsilon_scale import (
    STEP,
    Suspicion,
    Unit,
    accuracy_floor,
    gaussian_total,
    reach,
    risk_ceiling,
    scale,
)

getcontext().prec = 60


def is_within(epsilon: Decimal, within: int, of: Decimal, unit: Unit) -> bool:
    """P(|z| ≤ h) ≥ of for the discrete Laplace, from the paper's formula in 60 digits."""
    ratio = (-epsilon / unit.records / unit.neighbours.moved).exp()
    return 1 - 2 * ratio ** (within + 1) / (1 + ratio) >= of


@pytest.mark.parametrize("within", [0, 1, 3, 5, 20])
@pytest.mark.parametrize("of", ["0.9", "0.95", "0.99"])
@pytest.mark.parametrize(
    "unit",
    [Unit(), Unit(records=3), Unit(neighbours=Neighbours.REPLACE_ONE)],
    ids=["one", "three", "replaced"],
)
def test_the_floor_is_the_least_number_of_three_digits(within: int, of: str, unit: Unit) -> None:
    """All numbers below it fail, it does not; by enumeration around it and in coarse steps."""
    found = accuracy_floor(within, of, unit)
    steps = int(found / STEP)
    below = {*range(1, steps, max(1, steps // 50)), steps - 1} - {0}
    assert not any(is_within(Decimal(n) / 1000, within, Decimal(of), unit) for n in below)
    assert is_within(Decimal(steps) / 1000, within, Decimal(of), unit)
    assert reach(found, of, unit) == within


@pytest.mark.slow
def test_the_ceiling_is_the_largest_number_of_three_digits() -> None:
    """Every ε up to it keeps the guess, the next does not: all 4,000 numbers up to 4."""
    for prior, most in (("0.1", "0.25"), ("0.01", "0.05"), ("0.5", "0.75"), ("0.2", "0.9")):
        p, q = Decimal(prior), Decimal(most)
        keeps = [
            p * (e := (Decimal(n) / 1000).exp()) / (1 - p + p * e) <= q for n in range(1, 4001)
        ]
        assert risk_ceiling([Suspicion.of(prior, most)]) == Fraction(sum(keeps), 1000)
        assert keeps == sorted(keeps, reverse=True)
    both = [Suspicion.of("0.1", "0.25"), Suspicion.of("0.5", "0.6")]
    assert risk_ceiling(both) == risk_ceiling(both[1:])


def test_a_recommendation_is_accurate_enough_and_below_the_ceiling() -> None:
    """Laplace for one table; Gaussian where many cost less that way; nothing where they cross."""
    one = scale(Unit(), 5)
    assert one.recommendation is not None
    assert (one.recommendation.law, one.fits, one.crossed) == ("laplace", 2, False)
    many = scale(Unit(), 60, suspicions=[Suspicion.of("0.01", "0.9")], tables=40)
    assert many.recommendation is not None
    assert many.recommendation.law == "gaussian"
    assert many.gaussian == gaussian_total(60, many.of, many.unit, 40)
    assert many.recommendation.total_epsilon < many.floor * 40
    crossed = scale(Unit("household", 3, Neighbours.REPLACE_ONE), 2, tables=5)
    assert crossed.crossed
    advice = " ".join(crossed.sentences())
    for words in (
        "They cross",
        "instead of ± 2",
        "fewer than 3 records",
        "number of records private",
    ):
        assert words in advice
    assert crossed.to_json()["recommended"] is None


@pytest.mark.parametrize(
    ("prior", "most"), [("0.3", "0.2"), ("0", "0.5"), ("0.5", "1"), ("x", "0.5")]
)
def test_bad_risks_are_said(prior: str, most: str) -> None:
    with pytest.raises(DiscreetError):
        Suspicion.of(prior, most)


def test_categories_under_gaussian_noise_have_their_exceptions() -> None:
    """Leaving and coming is two steps: twice ε, and δ (1 + e^ε) of releases without a bound."""
    found = scale(Unit(), 20, "0.95", [Suspicion.of("0.1", "0.99")], 60)
    chosen, known = found.recommendation, found.category_odds
    assert chosen is not None
    assert chosen.law == "gaussian"
    e = float(chosen.total_epsilon)
    delta = float(chosen.delta) * (1 + math.exp(e))
    assert float(known.failure) == pytest.approx(delta / (1 - math.exp(-2 * e / 10)), rel=1e-9)
    assert known.failure > found.odds.failure
    assert found.sentences()[-1].count("except in 1 of every") == 2
    alike = scale(Unit(neighbours=Neighbours.REPLACE_ONE), 20, "0.95", found.suspicions, 60)
    assert alike.category_odds == alike.odds
