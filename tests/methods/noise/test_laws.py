"""The laws: sums of draws by exact convolution, the discrete Gaussian by enumeration, bias, δ."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.core.brackets import exp_bracket
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.law_builders import laplace, normal
from discreet.core.pure_laplace import PureLaplace
from discreet.errors import LawError
from discreet.methods.noise import laws


def _pmf(law, reach):
    """Exact probabilities of −reach … reach; what lies beyond is left out."""
    if isinstance(law, PureLaplace):
        return [law.probability(z) for z in range(-reach, reach + 1)]
    return [law.pmf.get(z, Fraction(0)) for z in range(-reach, reach + 1)]


def _half_width_by_convolution(law, cells, reach):
    row = _pmf(law, reach)
    out = [Fraction(1)]
    for _ in range(cells):
        grown = [Fraction(0)] * (len(out) + len(row) - 1)
        for i, a in enumerate(out):
            for j, b in enumerate(row):
                grown[i + j] += a * b
        out = grown
    middle = len(out) // 2
    inside, size = out[middle], 0
    while inside < Fraction(95, 100):
        size += 1
        inside += out[middle - size] + out[middle + size]
    return size


@pytest.mark.parametrize("law", [PureLaplace.of("1"), laplace("0.5", 6), normal("1", 5)])
@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.slow
def test_half_width_of_sums_is_exact(law, cells):
    """The interval of a sum of 1, 2 or 3 draws equals that of an exact convolution."""
    assert law.half_width("0.95", cells) == _half_width_by_convolution(law, cells, 25)


@pytest.mark.parametrize("epsilon", ["0.2", "0.7", "2"])
@pytest.mark.parametrize("cells", [4, 15, 40])
def test_half_width_agrees_with_whole_number_convolution(epsilon, cells):
    """Two ways to add draws agree: a transform in floats, and exact tails of the sum."""
    law = PureLaplace.of(epsilon)
    width = law.half_width("0.95", cells)
    assert law.tail(width, cells) <= Fraction(5, 100) < law.tail(width - 1, cells)


def test_forty_cells_at_one_half():
    """A sum of 40 cells at ε = 0.5 is within ± 35; adoption notes, and the normal size of it."""
    law = PureLaplace.of("0.5")
    assert law.half_width("0.95", 40) == 35
    assert abs(35 - 1.96 * math.sqrt(40 * float(law.variance))) < 1


def test_many_cells_come_near_the_normal_law():
    """75,300 cells at ε = 1: 1.96 standard deviations, the next whole number."""
    law = PureLaplace.of("1")
    sd = math.sqrt(75_300 * float(law.variance))
    assert 0 <= law.half_width("0.95", 75_300) - 1.9598 * sd < 2


@pytest.mark.parametrize(
    ("law", "cells"),
    [
        (PureLaplace.of("0.00001"), 75_300),
        (PureLaplace.of("0.1"), 1_000_000),
        (DiscreteGaussian.of("1e6"), 1000),
        (DiscreteGaussian.of("1e8"), 10),
        (normal("0.01", 20_000), 100),
    ],
)
def test_sums_too_wide_for_the_lattice_are_rounded_outwards(law, cells):
    """On a coarser lattice an interval is never below the normal one, and at most 0.2 % wider."""
    sd = math.sqrt(float(law.variance) * cells)
    assert 1.9599 <= law.half_width("0.95", cells) / sd < 1.9640


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_bias_of_clipping_is_the_formula(epsilon):
    """At true 0 clipping adds Σ z p(z) over z ≥ 1 = r / ((1 − r)(1 + r))."""
    law = PureLaplace.of(epsilon)
    r = float(law.ratio)
    assert laws.bias_at(law, 0, 0) == pytest.approx(r / ((1 - r) * (1 + r)), rel=1e-9)
    assert abs(laws.bias_at(law, 0, 200)) < 1e-9


def test_bias_of_a_threshold_has_both_signs():
    """A threshold of 3 lifts a true 0 less than clipping does, and lowers a true 3."""
    law = PureLaplace.of("1")
    assert 0 < laws.bias_at(law, 3, 0) < laws.bias_at(law, 0, 0)
    assert laws.bias_at(law, 3, 3) < 0
    by_hand = sum((z if z >= 3 else 0) * law.probability(z) for z in range(-60, 61))
    assert laws.bias_at(law, 3, 0) == pytest.approx(float(by_hand), rel=1e-9)


def test_end_mass_is_the_exact_delta_of_a_shift():
    """δ of a cell moved by s at s·ε, by its definition, both directions."""
    for law in (laplace("0.5", 8), normal("1", 8)):
        for shift in (1, 2, 3):
            e = exp_bracket(shift * Fraction(law.parameters["epsilon"]))
            p = {z: law.pmf.get(z, Fraction(0)) for z in range(-12, 13)}
            excess = [
                sum(max(Fraction(0), p[z] - bound * p.get(z - shift, Fraction(0))) for z in p)
                for bound in e
            ]
            assert excess[1] <= laws.end_mass(law, shift) <= excess[0] + Fraction(1, 10**60)


def test_a_law_that_is_too_steep_is_refused():
    """A law whose weights exceed its own ε by rounding has no δ to claim."""
    coarse = laplace("1", 12, key_bits=8)
    with pytest.raises(LawError):
        laws.end_mass(coarse, 1)


# -- the discrete Gaussian ----------------------------------------------------------------------


@pytest.mark.parametrize("sigma2", ["0.25", "1", "7.3"])
def test_every_number_of_twelve_bits_gives_the_law(sigma2):
    """Enumerated: 4-bit words, three of them; each value gets its probability within one number.

    All 4,096 numbers of 12 bits are resolved word by word. A threshold cuts at most one of them,
    so the count of a value is 2^12 · p(z) within 1 at each end.
    """
    law = DiscreteGaussian.of(sigma2)
    counts: Counter[object] = Counter()
    for number in range(1 << 12):
        words = iter([(number >> 4) & 15, number & 15])

        def more(words=words):
            try:
                return next(words)
            except StopIteration:
                raise _Undecided from None

        try:
            counts[law.resolve(number >> 8, more, word_bits=4)] += 1
        except _Undecided:
            counts["undecided"] += 1
    z = np.arange(-40, 41)
    raw = np.exp(-(z**2) / (2 * float(law.sigma2)))
    exact = raw / raw.sum() * (1 << 12)
    for value, expected in zip(z.tolist(), exact, strict=True):
        assert counts[value] <= expected + 1e-6
        assert expected - counts[value] <= 2
    assert 0 < counts["undecided"] <= 2 * len(law.side)


class _Undecided(Exception):
    pass


def test_cumulative_brackets_close_in_on_the_distribution():
    """2^bits · P(Z ≤ v) lies in brackets one apart that nest as bits are added."""
    law = DiscreteGaussian.of("2.5")
    z = np.arange(-60, 61)
    raw = np.exp(-(z**2) / 5.0)
    for value in range(-6, 7):
        below, above = law.threshold(value, 64)
        assert above - below == 1
        longer_below, longer_above = law.threshold(value, 128)
        assert below << 64 <= longer_below < longer_above <= above << 64
        assert below / 2**64 == pytest.approx(raw[z <= value].sum() / raw.sum(), abs=1e-14)


def _chi_square(law, draws, edge=4):
    """P value of the draws' counts at −edge … edge and both tails."""
    values = np.clip(draws, -edge - 1, edge + 1)
    observed = np.array([(values == z).sum() for z in range(-edge - 1, edge + 2)])
    masses = law.side
    tail = masses[edge + 1 :].sum()
    side = masses[: edge + 1]
    expected = np.concatenate([[tail], side[:0:-1], side, [tail]]) * len(draws)
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


def test_gaussian_draws_follow_the_law():
    """n = 400,000, chi-square over 11 classes, false positives 1e-7; the twin has σ² 3 % off."""
    law = DiscreteGaussian.of("4")
    draws = law.draw(400_000)
    assert _chi_square(law, draws) > 1e-7
    assert _chi_square(DiscreteGaussian.of("4.12"), draws) < 1e-7


def test_gaussian_words_on_a_cut_are_resolved_with_more_bits():
    """A source that first gives exactly the word a threshold cuts is asked for more."""
    law = DiscreteGaussian.of("4")
    cut = law.threshold(1, 64)[0]
    asked = []

    class Source:
        def __init__(self, words):
            self.words = iter(words)

        def fill(self, buffer, count):
            for i in range(count // 8):
                word = next(self.words)
                asked.append(word)
                buffer[8 * i : 8 * i + 8] = np.frombuffer(word.to_bytes(8, "little"), np.uint8)

    assert law.draw(1, Source([cut, 0])).tolist() == [1]
    assert law.draw(1, Source([cut, (1 << 64) - 1])).tolist() == [2]
    assert law.draw(1, Source([cut - 1])).tolist() == [1]
    assert law.draw(1, Source([cut + 1])).tolist() == [2]
    assert asked == [cut, 0, cut, (1 << 64) - 1, cut - 1, cut + 1]
