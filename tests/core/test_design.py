"""From what is wanted to a law, and how far off its numbers may be."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from math import log

import numpy as np
import pytest

from discreet.core.audit import audit
from discreet.core.convolution import Masses, multiply
from discreet.core.design import design, epsilon_for_accuracy, epsilon_for_risk
from discreet.core.law import Law
from discreet.core.law_builders import laplace, max_entropy, max_entropy_for
from discreet.errors import LawError


def test_example_1_is_designed() -> None:
    """sadeghi Example 1: ε = 0.5, δ = 1e-4 → D = 25, V = 49.0022, δ = 9.91298e-5."""
    found = design(epsilon="0.5", delta="1e-4", rule="sadeghi")
    assert found.max_perturbation == 25
    assert round(float(found.variance), 4) == 49.0022
    assert float(found.audit.delta) == pytest.approx(9.91298e-5, abs=5e-11)
    assert found.audit.epsilon <= found.epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-3"), ("1", "1e-6"), ("2.5", "0.2")])
def test_sadeghis_rule_gives_the_smallest_support_it_can(epsilon: str, delta: str) -> None:
    found = design(epsilon, delta, rule="sadeghi")
    assert found.audit.delta <= Fraction(delta)
    if found.max_perturbation > 1:
        smaller = max_entropy_for(epsilon, found.max_perturbation - 1)
        assert audit(smaller, epsilon).delta > Fraction(delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "support", "variance"),
    [("0.9", "1e-7", 29, "26.944278"), ("0.2", "0.004", 21, "60.689308")],
)
def test_a_design_beats_the_rule(epsilon: str, delta: str, support: int, variance: str) -> None:
    """Golden figures; the law with one millionth less variance breaks the promise."""
    found, rule = design(epsilon, delta), design(epsilon, delta, rule="sadeghi")
    assert (found.max_perturbation, found.law.parameters["variance"]) == (support, variance)
    assert found.audit.delta <= Fraction(delta)
    assert found.max_perturbation < rule.max_perturbation
    assert found.variance < rule.variance
    less = max_entropy(support, Fraction(variance) - Fraction(1, 10**6))
    assert audit(less, epsilon).delta > Fraction(delta)


def _brute_force(epsilon: float, delta: float, support: int) -> float | None:
    """The least variance on ±D that keeps δ, by a scan of 4,000 γ; None where none does."""
    for gamma in np.geomspace(epsilon * 4 + 20, epsilon / (2 * support) / 8, 4_000):
        z = np.arange(support + 1.0)
        side = np.exp(-gamma * z * z)
        excess = np.maximum(side[:-1] - np.exp(epsilon) * side[1:], 0).sum()
        if (side[-1] + excess) / (2 * side.sum() - 1) <= delta:
            return float(2 * (z * z * side).sum() / (2 * side.sum() - 1))
    return None


def _is_not_beaten(epsilon: str, delta: str) -> tuple[int, float]:
    found, rule = design(epsilon, delta), design(epsilon, delta, rule="sadeghi")
    assert found.audit.delta <= Fraction(delta)
    assert audit(found.law, epsilon) == found.audit
    assert found.max_perturbation <= rule.max_perturbation
    if found.max_perturbation == rule.max_perturbation:
        assert found.variance <= rule.variance + Fraction(1, 10**6)
    numbers = float(Fraction(epsilon)), float(Fraction(delta))
    for smaller in range(1, found.max_perturbation):
        if smaller >= found.max_perturbation - 2 or smaller % 7 == 1:
            assert _brute_force(*numbers, smaller) is None
    scanned = _brute_force(*numbers, found.max_perturbation)
    assert scanned is None or float(found.variance) <= scanned + 2e-6
    gain = 1 - float(found.variance / rule.variance)
    return rule.max_perturbation - found.max_perturbation, gain


EPSILONS = ["0.1", "0.2", "0.35", "0.5", "0.7", "0.9", "1", "1.3", "1.7", "2.2", "3", "4", "5", "8"]
DELTAS = ["0.2", "0.05", "0.01", "0.004", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9"]
DELTAS += ["3e-3", "3e-5", "3e-7", "1e-10"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        *(("0.2", "0.004"), ("0.5", "1e-4"), ("0.9", "1e-7"), ("1", "1e-6"), ("1.7", "0.05")),
        *(("3", "1e-10"), ("8", "0.2"), ("0.35", "3e-3"), ("5", "1e-9"), ("2.2", "1e-3")),
    ],
)
def test_no_scan_beats_a_design(epsilon: str, delta: str) -> None:
    """Neither a smaller support nor, at its own, a smaller variance keeps the promise."""
    _is_not_beaten(epsilon, delta)


@pytest.mark.proof
def test_no_scan_beats_210_designs(record_property: Callable[[str, object], None]) -> None:
    """Over 210 (ε, δ), a scan of 4,000 γ finds no smaller support than `design`, nor less variance."""
    found = [_is_not_beaten(e, d) for e in EPSILONS for d in DELTAS]
    record_property("designs", len(found))
    record_property("smaller support than sadeghi's rule", sum(fewer > 0 for fewer, _ in found))
    record_property("median variance saved", f"{np.median([gain for _, gain in found]):.1%}")


def test_a_rule_must_be_known() -> None:
    with pytest.raises(LawError, match="rule must be smallest or sadeghi, got sadegi"):
        design("0.5", "1e-4", rule="sadegi")
    with pytest.raises(LawError, match="iota_share belongs to rule sadeghi"):
        design("0.5", "1e-4", iota_share="1/10")


@pytest.mark.slow
def test_few_keys_are_refused_by_design() -> None:
    """At 2^8 Example 1 cannot be had: the audit of the quantised law decides."""
    with pytest.raises(LawError, match="Use more key_bits"):
        design("0.5", "1e-4", key_bits=8)
    ok = design("0.5", "1e-4", key_bits=32)
    assert ok.audit.delta <= ok.delta


@pytest.mark.parametrize(
    ("epsilon", "delta", "words"),
    [
        ("0.5", "0", "delta must be > 0 and < 1"),
        ("0.5", "1", "delta must be > 0 and < 1"),
        ("0.5", "NaN", "delta must be a number"),
        ("0", "1e-4", "epsilon must be > 0"),
        ("1e400", "1e-4", "epsilon must be"),
        ("0.0001", "1e-9", "needs a max_perturbation above"),
    ],
)
def test_bad_wishes_are_told(epsilon: str, delta: str, words: str) -> None:
    with pytest.raises(LawError, match=words):
        design(epsilon, delta)


# Untruncated Laplace: 95 % of cells within ±h. Computed separately, with floats.
ACCURACY = [("0.1", 30), ("0.25", 12), ("0.5", 6), ("1", 3), ("2", 1), ("4", 0)]


@pytest.mark.parametrize(("text", "h"), ACCURACY)
def test_half_widths(text: str, h: int) -> None:
    assert laplace(text).half_width("0.95") == h


def test_half_width_of_sums_by_enumeration() -> None:
    """Three cells of a small law: the least h by brute force over all outcomes."""
    law = Law("any", {}, -2, (20, 60, 100, 50, 26), 8)
    for level in ("0.5", "0.9", "0.99"):
        masses: dict[int, int] = {}
        for outcome in itertools.product(enumerate(law.weights, -2), repeat=3):
            weight = outcome[0][1] * outcome[1][1] * outcome[2][1]
            key = abs(sum(z for z, _ in outcome))
            masses[key] = masses.get(key, 0) + weight
        inside, h = masses.get(0, 0), 0
        while inside < Fraction(level) * 2**24:
            h += 1
            inside += masses.get(h, 0)
        assert law.half_width(level, 3) == h


def test_a_total_of_forty_cells() -> None:
    """At ε = 0.5 a total of 40 cells is within ±35; and back: ±35 asks for ε ≤ 0.5."""
    assert laplace("0.5").half_width("0.95", 40) == 35
    assert epsilon_for_accuracy(35, "0.95", cells=40, digits=2) <= Fraction(1, 2)


def test_a_level_beyond_what_is_known_of_a_sum_is_refused() -> None:
    with pytest.raises(LawError, match="at most 1 - 1e-12"):
        epsilon_for_accuracy(5, "0.9999999999999", cells=2)


def test_accuracy_sets_a_floor() -> None:
    """“95 % of cells within ±5” needs ε ≥ 0.54, and the next smaller step does not do."""
    floor = epsilon_for_accuracy(5, "0.95", digits=2)
    assert floor == Fraction(54, 100)
    assert laplace(floor).half_width("0.95") == 5
    assert laplace(floor - Fraction(1, 100)).half_width("0.95") == 6


def test_risk_sets_a_ceiling() -> None:
    """“Who suspects 10 % may not pass 25 %”: ε ≤ ln 3, rounded down; the least row binds."""
    ceiling = epsilon_for_risk([("0.1", "0.25"), ("0.5", "0.95")])
    assert float(ceiling) == pytest.approx(log(3), abs=1e-12)
    assert ceiling <= Fraction(log(3))
    with pytest.raises(LawError, match="above the prior"):
        epsilon_for_risk([("0.3", "0.3")])
    with pytest.raises(LawError, match="at least one pair"):
        epsilon_for_risk([])


def test_products_in_one_big_integer() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        a = [int(x) for x in rng.integers(0, 2**62, rng.integers(1, 30))]
        b = [int(x) for x in rng.integers(0, 2**62, rng.integers(1, 30))]
        direct = [0] * (len(a) + len(b) - 1)
        for (i, x), (j, y) in itertools.product(enumerate(a), enumerate(b)):
            direct[i + j] += x * y
        assert multiply(a, b) == direct


def test_cut_products_are_lower_bounds() -> None:
    law = laplace("0.5", 7)
    exact = Masses(law.start, law.weights, 64).power(9)
    cut = Masses(law.start, law.weights, 64).power(9, 96)
    assert exact.exact
    assert not cut.exact
    assert exact.total == 1
    assert 0 < 1 - cut.total < Fraction(1, 2**80)
    for a, b in zip(exact.coefficients, cut.coefficients, strict=True):
        assert Fraction(b, 1 << cut.scale) <= Fraction(a, 1 << exact.scale)
