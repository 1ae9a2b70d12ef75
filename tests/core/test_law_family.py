"""Every law keeps one protocol: figures follow from its probabilities, text reads back exactly.

False alarms: each chi-square test of draws fails a right law once in 10,000 runs; there are as many
as there are laws here, so the file is wrong about once in 1,000 runs.
"""

from __future__ import annotations

import json
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.core import law_kinds
from discreet.core.count_law import CountLaw, Row
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.law import Law
from discreet.core.law_builders import exponential, hellinger, laplace, max_entropy, normal
from discreet.core.noise_law import NoiseLaw
from discreet.core.pure_laplace import PureLaplace
from discreet.errors import LawError

SHUFFLED = Row.of([(2, 7), (-1, 100), (2, 9), (0, 140)])
LAWS: dict[str, NoiseLaw] = {
    "laplace cut": laplace("0.5", 7),
    "normal": normal("1", 5, key_bits=32),
    "of few keys": max_entropy(3, "1", key_bits=8),
    "lopsided": exponential({-2: 0, -1: "0.5", 0: 2, 1: 1, 2: "1/3"}, "1", 2),
    "with gaps": Law("row", {}, -1, (128, 0, 0, 128), 8),
    "laplace": PureLaplace.of("0.8"),
    "laplace of weights": PureLaplace.of("3", 4),
    "gaussian": DiscreteGaussian.of("4"),
    "narrow gaussian": DiscreteGaussian.of("1/3"),
    "row of 256 keys": SHUFFLED,
    "row of three keys": Row.of([(0, 1), (1, 2)]),
    "row of 2^64 keys": Row.of([(-3, 1), (0, 2**64 - 2), (5, 1)]),
}
COUNTS: dict[str, CountLaw] = {
    "hellinger": hellinger("1", 4, 30),
    "p-table": CountLaw(256, (Row((0,), (256,)), SHUFFLED), 1, "p-table", {"variance": "1"}),
    "in turn": CountLaw(3, tuple(Row.of([(v, 2), (0, 1)]) for v in (1, -1, 2)), cycle=2),
}
REACH = 60


def _pmf(law: NoiseLaw, cells: int = 1) -> dict[int, Any]:
    """Probabilities of sums by plain convolution of single ones, as far as REACH each.

    Fractions of a law without ends have no small denominator: they are added as floats.
    """
    low, high = law.ends or (-REACH, REACH)
    number = Fraction if law.ends else float
    one = {z: number(law.probability(z)) for z in range(low, high + 1)}
    out: dict[int, Any] = {0: 1}
    for _ in range(cells):
        grown: dict[int, Any] = {}
        for a, p in out.items():
            for b, q in one.items():
                grown[a + b] = grown.get(a + b, 0) + p * q
        out = grown
    return out


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_moments_are_those_of_the_probabilities(law: NoiseLaw) -> None:
    """Mean and variance from pmf; exactly where the law has ends."""
    pmf = _pmf(law)
    exactly = law.ends is not None
    whole, mean = sum(pmf.values()), sum(z * p for z, p in pmf.items())
    square = sum(z * z * p for z, p in pmf.items())
    if exactly:
        assert (whole, mean, square - mean**2) == (1, law.mean, law.variance)
    assert float(whole) == pytest.approx(1, abs=1e-12)
    assert float(mean) == pytest.approx(float(law.mean), abs=1e-12)
    assert float(square - mean**2) == pytest.approx(float(law.variance), rel=1e-9)
    start, masses = law.masses()
    for z, p in pmf.items():
        if p > 1e-17:
            assert masses[z - start] == pytest.approx(float(p), rel=1e-12)


@pytest.mark.parametrize("cells", [1, 2, 3])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_sums_tails_and_half_widths_are_those_of_enumeration(law: NoiseLaw, cells: int) -> None:
    """P(sum = z), P(sum ≤ z), P(|sum| > h) and half-widths, against plain convolution.

    Half-widths of sums have 10^-9 to spare: a tie goes outwards.
    """
    pmf = _pmf(law, cells)
    exactly = law.ends is not None
    close = {"abs": 0 if exactly else 1e-12, "rel": 0 if exactly else 1e-9}
    for z in range(-8, 9):
        assert law.probability(z, cells) == pytest.approx(pmf.get(z, 0), **close)
        below = sum(p for v, p in pmf.items() if v <= z)
        assert law.cumulative(z, cells) == pytest.approx(below, **close)
    for h in range(6):
        outside = sum(p for v, p in pmf.items() if abs(v) > h)
        assert law.tail(h, cells) == pytest.approx(outside, **close)
    for level in ("0.5", "0.9", "0.95", "0.999"):
        inside, size = float(pmf.get(0, 0)), 0
        while inside < float(level) + (cells > 1) * 1e-9:
            size += 1
            inside += float(pmf.get(size, 0) + pmf.get(-size, 0))
        assert law.half_width(level, cells) == size
    assert law.half_width("0.95", 0) == 0


@pytest.mark.parametrize("law", [*LAWS.values(), *COUNTS.values()], ids=[*LAWS, *COUNTS])
def test_a_law_reads_back_exactly(law: Any) -> None:
    """The same whole numbers and the same digest, through JSON text and through pickle."""
    again = law_kinds.read(json.loads(json.dumps(law_kinds.written(law))))
    assert again == law
    assert again.digest == law.digest
    assert type(again) is type(law)
    assert pickle.loads(pickle.dumps(law)) == law


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_draws_follow_the_law(law: NoiseLaw) -> None:
    """A chi-square test of 20,000 draws at 1 in 10,000; values of small chance put together."""
    many = 20_000
    drawn = np.asarray(law.draw(many), dtype=np.int64)
    pmf = {z: float(p) for z, p in _pmf(law).items() if p}
    common = [z for z, p in pmf.items() if p * many >= 10]
    expected = np.array([pmf[z] * many for z in common])
    seen = np.array([np.count_nonzero(drawn == z) for z in common])
    rest = many - expected.sum()
    if rest >= 10:
        expected, seen = np.append(expected, rest), np.append(seen, many - seen.sum())
    else:
        assert many - seen.sum() <= stats.poisson.isf(1e-5, max(rest, 1e-12))
    if len(expected) > 1:
        score = float(((seen - expected) ** 2 / expected).sum())
        assert score < stats.chi2.isf(1e-4, len(expected) - 1)
    assert law.draw(0).shape == (0,)


@pytest.mark.parametrize("law", COUNTS.values(), ids=COUNTS)
def test_a_law_by_count_has_a_law_for_each_count(law: CountLaw) -> None:
    """Rows serve their counts, later ones in turn, or a sentence says that there is none."""
    for count in range(law.max_count + 1):
        assert law.for_count(count) is law.rows[count]
    later = law.max_count + 1
    if law.cycle == 0:
        with pytest.raises(LawError, match="laws for counts up to"):
            law.for_count(later)
    else:
        turns = [law.for_count(later + k) for k in range(2 * law.cycle)]
        assert turns == 2 * list(law.rows[-law.cycle :])


def test_one_law_serves_every_count() -> None:
    """A law of perturbations does not ask for the count."""
    law = PureLaplace.of("1")
    assert law.for_count(0) is law.for_count(10**9) is law


def test_a_private_law_says_nothing_but_its_name() -> None:
    """No rows, no digest of them: a digest would confirm a guess."""
    law = law_kinds.PrivateLaw("p-table")
    assert law_kinds.written(law) == {"kind": "private", "name": "p-table", "parameters": {}}
    assert law_kinds.read(law_kinds.written(law)) == law
    with pytest.raises(LawError, match="not published"):
        law.for_count(3)


def test_what_is_no_law_is_refused() -> None:
    """Another kind, missing numbers, rows that were changed after they were written."""
    bad: list[dict[str, Any]] = [{}, {"kind": "magic"}, {"kind": "weights"}, {"kind": "laplace"}]
    rows = law_kinds.written(COUNTS["p-table"])
    rows["rows"][1]["keys"][:2] = [8, 99]
    for data in (*bad, rows):
        with pytest.raises(LawError):
            law_kinds.read(data)


def test_a_sum_of_laplace_draws_is_exact() -> None:
    """P(sum of 5 draws = z) adds up to 1 and has the variance of five draws, as fractions."""
    law = PureLaplace(Fraction(1), 1, Fraction(1, 2))
    whole = sum(law.probability(z, 5) for z in range(-400, 401))
    assert 0 < 1 - whole < Fraction(1, 10**80)
    square = sum(z * z * law.probability(z, 5) for z in range(-400, 401))
    assert math.isclose(float(square), 5 * float(law.variance), rel_tol=1e-15)
