"""Draws are the law: reduced samplers enumerated over their whole input, full ones at every edge."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from discreet.core.law import Law
from discreet.core.law_builders import laplace, max_entropy_for, normal
from discreet.core.pure_laplace import PureLaplace
from discreet.core.random_source import SystemSource
from discreet.core.sampling import (
    Bits,
    Draws,
    Guide,
    draw_blocks,
    finite_draws,
    one_sided_draws,
    two_sided_draws,
)
from discreet.errors import LawError

from .draws import draw


class Undecided(Exception):
    """The script of a `Nibbles` source ran out."""


class Nibbles:
    """Serves four bits a request, from a script: a sampler cut to 4-bit words can be enumerated.

    A 16-bit word carries the four in front; a 64-bit word in front and before its lowest 12 bits,
    where a 16-bit word cut from it has its front.
    """

    def __init__(self, script: tuple[int, ...]) -> None:
        self.script, self.at = script, 0

    def fill(self, buffer: NDArray[np.uint8], count: int) -> None:
        if self.at == len(self.script):
            raise Undecided
        value = self.script[self.at]
        self.at += 1
        word = value << 12 if count == 2 else (value << 60) | (value << 12)
        assert count in (2, 8)
        buffer[:count] = np.frombuffer(word.to_bytes(count, "little"), dtype=np.uint8)


def enumerate_draws(
    draws: Draws, tail: Draws | None, depth: int
) -> tuple[dict[int, Fraction], Fraction]:
    """The exact mass of every value over all scripts of `depth` nibbles, and the undecided mass."""
    masses: Counter[int] = Counter()
    undecided = 0
    stack: list[tuple[int, ...]] = [()]
    while stack:
        script = stack.pop()
        source = Nibbles(script)
        try:
            value = int(
                draw_blocks(draws, 1, Bits(source), None if tail is None else lambda: tail)[0]
            )
        except Undecided:
            if len(script) == depth:
                undecided += 1
            else:
                stack += [(*script, nibble) for nibble in range(16)]
            continue
        assert source.at == len(script)
        masses[value] += 16 ** (depth - len(script))
    whole = 16**depth
    return {z: Fraction(m, whole) for z, m in masses.items()}, Fraction(undecided, whole)


@pytest.mark.parametrize(
    "law",
    [
        laplace("0.5", 7, key_bits=8),
        max_entropy_for("0.5", 25, key_bits=8, quantiser="ceil"),
        Law("gaps", {}, -3, (0, 5, 0, 0, 250, 1, 0), 8),
        Law("one", {}, 4, (256,), 8),
        Law("lopsided", {}, 0, (1, 16, 239), 8),
    ],
    ids=lambda law: law.name,
)
def test_reduced_finite_sampler_is_the_law(law: Law) -> None:
    """All 256 inputs of an 8-bit sampler with a 4-bit guide: counts equal weights, integer for integer."""
    masses, undecided = enumerate_draws(finite_draws(law, guide_bits=4, word_bits=8), None, 2)
    assert undecided == 0
    assert masses == {z: p for z, p in law.pmf.items() if p}


@pytest.mark.parametrize("bits", [9, 10, 11, 12])
def test_reduced_finite_sampler_with_odd_key_sizes(bits: int) -> None:
    """Key sizes between the guide's bits and the word's, over all 65536 inputs."""
    law = normal("0.5", 5, key_bits=bits)
    draws = finite_draws(law, guide_bits=4, word_bits=12)
    words = np.arange(1 << 12, dtype=np.uint64)
    outcomes = draws.guide.resolve(words, lambda: 0)
    counted = Counter(draws.values[outcomes].tolist())
    assert {z: Fraction(c, 1 << 12) for z, c in counted.items()} == law.pmf


REDUCED = PureLaplace(Fraction(1), 1, Fraction(3, 8))


def reduced_two_sided(law: PureLaplace = REDUCED) -> tuple[Draws, Draws]:
    size = {"guide_bits": 4, "word_bits": 8, "step_bits": 4, "size": 3}
    return two_sided_draws(law, **size), one_sided_draws(law, **size)


def assert_enumeration_is_law(
    masses: dict[int, Fraction], undecided: Fraction, law: PureLaplace
) -> None:
    """Every value's decided mass is at most its probability, and short of it by no more than is open."""
    assert sum(masses.values(), Fraction(0)) + undecided == 1
    for z in range(-12, 13):
        decided = masses.get(z, Fraction(0))
        assert decided <= law.probability(z) <= decided + undecided


@pytest.mark.slow
def test_reduced_pure_laplace_sampler_is_the_law() -> None:
    """Guide, longer words, ties, exact brackets and memoryless tails, over all 16^5 inputs."""
    draws, tail = reduced_two_sided()
    masses, undecided = enumerate_draws(draws, tail, 5)
    assert undecided < Fraction(1, 500)
    assert max(masses) > 4  # the tails were reached
    assert_enumeration_is_law(masses, undecided, REDUCED)


def test_enumeration_rejects_a_sampler_that_settles_ties() -> None:
    """The twin: taking a word equal to a floor as above its threshold is caught."""
    draws, tail = reduced_two_sided()
    wrong = Guide(draws.guide.floors.tolist(), None, guide_bits=4, word_bits=8)
    faulty = Draws(wrong, draws.values, draws.tails)
    with pytest.raises(AssertionError):
        assert_enumeration_is_law(*enumerate_draws(faulty, tail, 5), REDUCED)


def test_enumeration_rejects_a_sampler_without_tails() -> None:
    draws, _ = reduced_two_sided()
    with pytest.raises(AssertionError):
        assert_enumeration_is_law(*enumerate_draws(draws, None, 5), REDUCED)


def test_reduced_geometric_sampler_is_its_law() -> None:
    _, tail = reduced_two_sided()
    words = np.arange(1 << 8, dtype=np.uint64)
    r = REDUCED.ratio
    for k, floor in enumerate(tail.guide.floors.tolist(), 1):
        assert floor == int((1 - r**k) * 256)
        low, high = tail.guide.bracket(k - 1, 60)
        assert Fraction(low, 1 << 60) <= 1 - r**k <= Fraction(high, 1 << 60)
    assert tail.guide.resolve(words[:1], lambda: 0)[0] == 0


@pytest.mark.parametrize(
    "law",
    [laplace("1"), laplace("0.1"), laplace("7.25"), laplace("0.01")],
    ids=lambda law: law.parameters["epsilon"],
)
def test_full_thresholds_of_pure_laplace(law: PureLaplace) -> None:
    """At full size every 64-bit floor is ⌊F(z) · 2^64⌋, from the exact cumulative distribution."""
    draws = two_sided_draws(law)
    reach = (len(draws.values) - 3) // 2
    step = max(1, reach // 12)
    for z in [*range(-reach - 1, reach + 1, step), -1, 0]:
        floor = int(draws.guide.floors[z + reach + 1])
        assert floor == int(law.cumulative(z) * 2**64)
        low, high = draws.guide.bracket(z + reach + 1, 400)
        assert Fraction(low, 1 << 400) <= law.cumulative(z) <= Fraction(high, 1 << 400)
        assert high - low <= 4 * (abs(z) + 2)


@pytest.mark.parametrize(
    "law",
    [laplace("0.5", 7), max_entropy_for("0.5", 25), normal("1", 10, key_bits=33)],
    ids=["laplace", "max-entropy", "33 bits"],
)
def test_full_size_guide_and_words_at_every_edge(law: Law) -> None:
    """All 65536 guide cells at both ends, and every threshold ± 1, against whole-number search."""
    draws = finite_draws(law)
    cells = np.arange(1 << 16, dtype=np.uint64)
    first, last = cells << np.uint64(48), (cells << np.uint64(48)) + np.uint64(2**48 - 1)
    shift = 64 - law.key_bits
    edges = [c << shift for c in law.thresholds[:-1]]
    probes = sorted({e + k for e in edges for k in (-1, 0, 1)} | {0, 2**64 - 1})
    for words in (first, last, np.array(probes, dtype=np.uint64)):
        found = draws.values[draws.guide.resolve(words, lambda: 0)]
        expected = [
            law.start + sum(e <= int(w) for e in edges) for w in words[:: max(1, len(words) // 500)]
        ]
        assert found[:: max(1, len(words) // 500)].tolist() == expected
    low, high = (draws.values[draws.guide.resolve(w, lambda: 0)] for w in (first, last))
    decided = draws.table != draws.sentinel
    assert (low[decided] == high[decided]).all()
    assert (draws.table[decided] == low[decided]).all()
    assert (low[~decided] != high[~decided]).all()


class Scripted:
    """Fills whole requests with scripted bytes, then serves the system's."""

    def __init__(self, *script: int) -> None:
        self.script, self.rest = list(script), SystemSource()

    def fill(self, buffer: NDArray[np.uint8], count: int) -> None:
        if self.script:
            buffer[:count] = self.script.pop(0)
        else:
            self.rest.fill(buffer, count)


@pytest.mark.parametrize(("first", "sign"), [(0x00, -1), (0xFF, 1)])
def test_tails_past_the_narrow_type_are_kept(first: int, sign: int) -> None:
    """Into a tail by two words of zeros or ones, then far out by ones: past int8, nothing wraps."""
    values = draw(laplace("1"), 3, Scripted(first, first, *[0xFF] * 40))
    assert values.dtype == np.int16
    assert (sign * values > 127).all()


def test_a_wide_tail_leaves_later_blocks_right() -> None:
    """After the array was widened in its first block, the second is drawn and placed as usual."""
    values = draw(laplace("1"), 140_000, Scripted(0xFF, 0xFF, *[0xFF] * 40))
    assert (values[:131_072] > 127).all()
    assert 0 < np.abs(values[131_072:]).max() < 60


def test_used_randomness_is_overwritten() -> None:
    bits = Bits(SystemSource(), 1000)
    assert bits.uint16(1000).any()
    bits.forget()
    assert not bits.buffer.any()


@pytest.mark.parametrize("count", [0, 1, 2, 131_071, 131_072, 131_073, 300_000])
def test_any_number_of_draws(count: int) -> None:
    assert draw(laplace("1"), count).shape == (count,)
    assert draw(laplace("0.5", 7), count).shape == (count,)


def test_a_negative_number_of_draws_is_refused() -> None:
    with pytest.raises(LawError, match="must be ≥ 0"):
        draw(laplace("1"), -1)


@pytest.mark.slow
def test_wide_laws_get_a_wide_type() -> None:
    assert draw(laplace("0.01"), 10).dtype == np.int16
    assert draw(laplace("0.0001"), 10).dtype.itemsize >= 2
    assert draw(laplace("0.01", 20_000), 10).dtype == np.int16


def chi_square(values: NDArray[np.integer], law: PureLaplace, reach: int) -> float:
    """The p-value of Pearson's statistic over −reach … reach and the two tails."""
    n = values.size
    inside = [float(law.probability(z)) for z in range(-reach, reach + 1)]
    tail = float(law.tail(reach)) / 2
    expected = np.array([tail, *inside, tail]) * n
    clipped = np.clip(values.astype(np.int64), -reach - 1, reach + 1) + reach + 1
    counted = np.bincount(clipped, minlength=2 * reach + 3)
    statistic = ((counted - expected) ** 2 / expected).sum()
    return float(chi2.sf(statistic, len(expected) - 1))


@pytest.mark.parametrize(
    ("text", "reach"),
    [("1", 10), ("0.1", 60), pytest.param("0.0001", 40_000, marks=pytest.mark.slow)],
)
def test_a_million_draws_look_like_the_law(text: str, reach: int) -> None:
    """n = 10^6, Pearson's χ² (for the wide law over 17 bands), false-positive rate 10^-8 each."""
    law = laplace(text)
    values = draw(law, 1_000_000)
    if reach <= 60:
        assert chi_square(values, law, reach) > 1e-8
        return
    edges = np.linspace(-reach, reach, 16).astype(np.int64)
    below = np.array(
        [float(law.cumulative(0)) if e == 0 else _cumulative(law, int(e)) for e in edges]
    )
    expected = np.diff(np.concatenate([[0.0], below, [1.0]])) * values.size
    counted = np.bincount(np.searchsorted(edges, values, side="left"), minlength=17)
    statistic = ((counted - expected) ** 2 / expected).sum()
    assert chi2.sf(statistic, 16) > 1e-8


def _cumulative(law: PureLaplace, z: int) -> float:
    r = float(law.ratio)
    return r ** (-z) / (1 + r) if z < 0 else 1 - r ** (z + 1) / (1 + r)


def test_a_million_draws_reject_a_law_one_percent_off() -> None:
    """The twin: draws at ε = 1.02 are told from ε = 1 by the same test."""
    assert chi_square(draw(laplace("1.02"), 1_000_000), laplace("1"), 10) < 1e-8


@pytest.mark.proof
@pytest.mark.parametrize(("text", "reach"), [("1", 15), ("0.1", 130)])
def test_a_hundred_million_draws_look_like_the_law(text: str, reach: int) -> None:
    """10^8 draws look like their law (Pearson's χ² at 10^-8), and unlike one with ε 0.2 % larger."""
    law = laplace(text)
    assert chi_square(draw(law, 10**8), law, reach) > 1e-8
    off = laplace(Fraction(text) * Fraction(1002, 1000))
    assert chi_square(draw(off, 10**8), law, reach) < 1e-8


@pytest.mark.proof
def test_reduced_pure_laplace_sampler_over_all_its_inputs() -> None:
    """A reduced sampler draws exactly its law over all 16^6 inputs; under 1/1000 stay undecided."""
    draws, tail = reduced_two_sided()
    masses, undecided = enumerate_draws(draws, tail, 6)
    assert undecided < Fraction(1, 1000)
    assert_enumeration_is_law(masses, undecided, REDUCED)
