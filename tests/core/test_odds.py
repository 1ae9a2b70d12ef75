"""Odds in words: exact, one fixed sentence each, rounded against the custodian."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import e

import pytest

from discreet.core.composition import pairs_of
from discreet.core.law import Law
from discreet.core.law_builders import laplace, normal
from discreet.core.odds import odds, odds_of, percent_down, percent_up
from discreet.errors import LawError

# π e^ε / (1 − π + π e^ε) for π of 50, 10 and 1 %, in percent to the nearest tenth.
GUESSES = [
    ("0.1", 52.5, 10.9, 1.1),
    ("0.25", 56.2, 12.5, 1.3),
    ("0.5", 62.2, 15.5, 1.6),
    ("1", 73.1, 23.2, 2.7),
    ("2", 88.1, 45.1, 6.9),
    ("4", 98.2, 85.8, 35.5),
]


@pytest.mark.parametrize(("text", "half", "tenth", "hundredth"), GUESSES)
def test_guesses(text: str, half: float, tenth: float, hundredth: float) -> None:
    found = odds(laplace(text))
    for prior, percent in (("0.5", half), ("0.1", tenth), ("0.01", hundredth)):
        assert round(100 * float(found.becomes(prior)), 1) == percent
        assert found.becomes(prior) <= odds_of(text).becomes(prior)


def test_out_of_100_for_laplace() -> None:
    """ε = 1: 26.9 and 73.1 of 100, said as 26 and 74."""
    found = odds(laplace("1"))
    assert float(found.rightly) == pytest.approx(e / (1 + e))
    assert found.rightly == 1 - found.wrongly
    assert found.out_of_100() == (
        "At best, erring equally both ways, a suspicious reader concludes that you are in the data "
        "after 26 of 100 possible releases if you are not, and after 74 if you are."
    )
    assert "one farm is in the data after 26" in found.out_of_100("farm")
    assert found.out_of_100("farm").endswith("if it is not, and after 74 if it is.")


@pytest.mark.parametrize("weights", [(20, 60, 100, 50, 26), (200, 30, 20, 6), (64, 64, 64, 64)])
def test_the_best_guesser_is_the_best_of_all_even_handed_rules(weights: tuple[int, ...]) -> None:
    """Over all sets of outcomes a reader may call suspicious, and a coin between two of them."""
    law = Law("any", {}, -2, weights, 8)
    pairs, total = pairs_of(law)
    sizes = range(len(pairs) + 1)
    rules = [r for n in sizes for r in itertools.combinations(range(len(pairs)), n)]
    points = {
        (Fraction(sum(pairs[i][0] for i in r), total), Fraction(sum(pairs[i][1] for i in r), total))
        for r in rules
    }
    best = Fraction(0)
    for (wrong, right), (wrong_2, right_2) in itertools.product(points, points):
        # A coin that mixes two rules so that both errors are the same.
        here, there = wrong + right - 1, wrong_2 + right_2 - 1
        if here <= 0 <= there:
            share = Fraction(0) if here == there else -here / (there - here)
            best = max(best, right + share * (right_2 - right))
    assert odds(law).rightly == best


def test_a_category_moves_two_cells() -> None:
    """The ratio is squared; the best guesser gains nothing where opposite losses cancel."""
    found = odds(laplace("1"), category=True)
    assert round(100 * float(found.becomes("0.5")), 1) == 88.1
    assert found.rightly == odds(laplace("1")).rightly
    assert found.of_category("0.5") == (
        "Which category you are in: at best, erring equally both ways, a suspicious reader tells "
        "two of them apart after 74 of 100 possible releases; a guess that was 50 % sure becomes "
        "at most 89 % sure."
    )
    assert "all records of one firm are in (of a variable other than sex)" in found.of_category(
        "0.5", "firm", 3, ["sex"]
    )
    bell = normal("0.5", 10)
    assert odds(bell, category=True).rightly > odds(bell).rightly
    assert odds(bell, category=True).failure == 1 - (1 - bell.pmf[10]) ** 2


def test_truncated_laws_say_where_no_bound_holds() -> None:
    found = odds(laplace("0.5", 7))
    assert found.failure == laplace("0.5", 7).pmf[7]
    assert found.guess_meter("0.1").endswith(
        "at most 16 % sure, except in 1 of every 132 releases, where no bound holds."
    )
    assert 1 / found.failure >= 132


def test_bare_guarantees_bound_every_law_that_has_them() -> None:
    for text, m in (("0.5", 7), ("1", 10)):
        for law in (laplace(text, m), normal(text, m)):
            bare, own = odds_of(text, law.pmf[m]), odds(law)
            assert own.rightly <= bare.rightly
            assert own.ratio <= bare.ratio


def test_bare_delta_is_not_passed_off_as_a_bound_on_single_releases() -> None:
    """With (ε, δ) alone a ratio above e^(1.1 ε) may happen more often than δ: ten times and more."""
    bare = odds_of("1", "1e-6")
    assert bare.failure > Fraction(10, 10**6)
    assert float(bare.ratio) == pytest.approx(e**1.1)
    assert "except in 1 of every 95,162 releases" in bare.guess_meter()


def test_weights_use_the_whole_shift() -> None:
    """A record of weight 3: the guesser weighs Z against Z + 3, as a wide finite law shows."""
    pure, cut = odds(laplace("1", sensitivity=3)), odds(laplace("1", 200, sensitivity=3))
    assert float(pure.rightly) == pytest.approx(float(cut.rightly), abs=1e-12)
    assert float(pure.wrongly) == pytest.approx(float(cut.wrongly), abs=1e-12)


def test_percentages_round_against_the_custodian() -> None:
    assert percent_up(Fraction(1, 3)) == "34"
    assert percent_up(Fraction(1, 2)) == "50"
    assert percent_up(Fraction(9999, 10000)) == "99.99"
    assert percent_up(Fraction(1)) == "100"
    assert percent_down(Fraction(1, 3)) == "33"
    assert percent_down(Fraction(1, 1000)) == "0.1"
    assert percent_down(Fraction(0)) == "0"


def test_a_law_without_noise_has_no_odds() -> None:
    with pytest.raises(LawError, match="gives every count away"):
        odds(Law("none", {}, 0, (256,), 8))
