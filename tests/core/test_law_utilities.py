"""The exponential mechanism of a utility of count and value, against its definition."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from math import exp

import pytest

from discreet.core.audit import audit, delta
from discreet.core.law_builders import exponential, hellinger
from discreet.core.law_utilities import exponential_counts
from discreet.errors import LawError


def uneven(a: int, b: int) -> Fraction:
    """Twice as bad to publish too much as too little."""
    return Fraction(a - b) if b > a else Fraction(b - a, 2)


def test_probabilities_are_those_of_the_definition() -> None:
    """rinott (4.6), (4.7): proportional to exp(ε u(a, b) / 2Δ), Δ from neighbouring counts."""
    rows = exponential_counts(uneven, "1", 5, 12)
    for a in range(6):
        masses = [exp(float(uneven(a, b)) / 2) for b in range(13)]  # Δ is 1
        for b, one in enumerate(masses):
            assert float(rows.row(a).probability(b - a)) == pytest.approx(one / sum(masses))


def test_the_mechanism_keeps_its_epsilon() -> None:
    """Theorem 4.1: DP(ε) with δ = 0, from the very weights, over every pair of counts."""
    rows = exponential_counts(uneven, "0.8", 6, 20)
    found = audit(rows)
    assert found.epsilon is not None
    assert found.epsilon <= Fraction(8, 10)
    assert delta(rows, "0.8") == 0
    assert delta(rows, "0.1") > 0


def test_hellinger_is_one_of_them() -> None:
    """(5.4) is the mechanism of −|√b − √a|; weights differ by rounding alone."""
    root = Context(prec=90).sqrt
    rows = exponential_counts(lambda a, b: -abs(root(Decimal(a)) - root(Decimal(b))), "1", 4, 30)
    same = hellinger("1", 4, 30)
    for a in range(5):
        for b in range(31):
            assert abs(rows.row(a).weight(b - a) - same.row(a).weight(b - a)) <= 2


def test_a_utility_that_makes_no_law_is_refused() -> None:
    for wrong in (
        lambda: exponential_counts(lambda a, b: b, "1", 3, 5),
        lambda: exponential_counts({(0, 0): 1}, "1", 1, 1),
        lambda: exponential_counts(uneven, "1", 3, 2),
        lambda: exponential_counts(uneven, "1", 0, 2),
        lambda: exponential_counts(uneven, "1", 9_999, 99_999),
        lambda: exponential_counts(lambda a, b: "x", "1", 1, 1),
    ):
        with pytest.raises(LawError):
            wrong()


@pytest.mark.parametrize(
    "worth", [[0, 0, -1], [0, 0, 0, -2, -3], [0, 0, -1, -1, -1, -2, -4], [0] * 40 + [-1, -2]]
)
@pytest.mark.parametrize("epsilon", ["1/3", "2", "0.01"])
def test_a_flat_top_keeps_its_epsilon_too(worth: list[int], epsilon: str) -> None:
    """Every step of the whole weights keeps ε, and none rises: what rounding moves all pay alike."""
    table = {sign * z: one for z, one in enumerate(worth) for sign in (1, -1)}
    law = exponential(table, epsilon, len(worth) - 1)
    assert law.symmetric
    assert sum(law.weights) == 1 << 64
    assert audit(law).epsilon <= Fraction(epsilon)
    side = law.weights[len(worth) - 1 :]
    assert list(side) == sorted(side, reverse=True)
    widest = max(a - b for a, b in pairwise(worth))
    exact = [exp(float(Fraction(epsilon)) * one / widest) for one in worth]
    whole = 2 * sum(exact) - exact[0]
    assert [w / 2**64 for w in side] == pytest.approx([one / whole for one in exact], rel=1e-9)


def test_a_utility_with_a_valley_stays_as_it_is() -> None:
    """A middle that is worth less than its neighbours is no rounding error."""
    law = exponential({-2: 0, -1: 3, 0: 1, 1: 3, 2: 0}, "1", 2)
    assert law.weights[2] < law.weights[1]
    assert law.symmetric
