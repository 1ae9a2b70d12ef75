"""The quick ways of `difference` give the digits of the slow ones, on random laws and counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import poisson

from discreet.core.count_law import CountLaw, Row
from discreet.core.pure_laplace import PureLaplace
from discreet.inference import comparison, likelihood
from discreet.inference.channel import AS_DRAWN, ByCount, Channel, Treatment, channel
from discreet.inference.comparison import p_same_count, p_same_rate
from discreet.inference.rates import symbol_law

TREATMENTS = [AS_DRAWN, Treatment(least=0), Treatment(least=5), Treatment(hidden_below=6)]
TREATMENTS += [Treatment(display_floor=4), Treatment(least=0, hidden_below=3, display_floor=6)]


def random_rows(random: np.random.Generator, rows: int, reach: int, cycle: int) -> CountLaw:
    """A p-table whose rows are all different; some perturbations never happen."""
    made = []
    for count in range(rows):
        low = -min(count, reach)
        shares = random.dirichlet(np.full(reach - low + 1, 0.4))
        made.append(Row.of(list(zip(range(low, reach + 1), _whole(shares), strict=True))))
    return CountLaw(4096, tuple(made), cycle)


def _whole(shares: np.ndarray) -> list[int]:
    ends = np.rint(np.cumsum(shares) * 4096).astype(int)
    ends[-1] = 4096
    return np.diff(ends, prepend=0).tolist()


def slow_same_count(one: Channel, other: Channel, symbols: tuple[int, int]) -> float:
    """Every true count, every pair of outcomes."""
    windows = [c.weights(s) for c, s in zip((one, other), symbols, strict=True)]
    first = min(low for low, _ in windows)
    last = max(low + len(w) - 1 for low, w in windows)
    numbers = [comparison._number(c, s) for c, s in zip((one, other), symbols, strict=True)]
    gap, worst = abs(numbers[0] - numbers[1]), 0.0
    for count in range(first, last + 1):
        (x, p), (y, q) = one.row(count), other.row(count)
        x, y = (
            np.array([comparison._number(c, int(s)) for s in shown])
            for c, shown in ((one, x), (other, y))
        )
        far = np.abs(x[:, None] - y[None, :]) >= gap - 1e-12
        worst = max(worst, float((np.outer(p, q) * far).sum()))
    return min(worst, 1.0)


@pytest.mark.parametrize("treatment", TREATMENTS)
@pytest.mark.parametrize(("rows", "reach", "cycle"), [(9, 3, 1), (14, 5, 4), (30, 12, 1)])
def test_same_count_is_the_largest_over_all_counts(treatment, rows, reach, cycle):
    """p-tables of all shapes, small counts and totals of half a million, two laws in one question."""
    random = np.random.default_rng(rows)
    one, other = (channel(random_rows(random, rows, reach, cycle), 1, treatment) for _ in "ab")
    for base in (treatment.cut + 1, 25, 499_000):
        for pair in ((one, one), (one, other)):
            symbols = base + int(random.integers(0, reach + 2)), base
            slow = slow_same_count(*pair, symbols)
            assert p_same_count(pair, symbols) == pytest.approx(slow, rel=1e-12, abs=1e-15)


def test_rows_are_summed_as_single_counts_are():
    """To the last bit: all rows at once, and each true count by itself."""
    random = np.random.default_rng(3)
    pair = tuple(channel(random_rows(random, 40, 7, 11)) for _ in "ab")
    counts = np.arange(5, 60)
    rows = np.stack([one.row_numbers(counts) for one in pair])
    for gap in range(16):
        single = max(comparison._gap_tail(pair, int(count), gap) for count in counts)
        assert comparison._rows_tail(pair, rows, gap) == single


@pytest.mark.parametrize("cycle", [1, 6])
@pytest.mark.parametrize("first", [0, 3, 400_000])
def test_a_mixture_is_the_sum_over_counts(first, cycle):
    """To the last bit: column by column, and every count's row by itself."""
    random = np.random.default_rng(cycle)
    made = channel(random_rows(random, 12, 4, cycle))
    assert isinstance(made, ByCount)
    shares = random.dirichlet(np.ones(300))
    quick, slow = made.mixture(first, shares), made.joint(first, shares)
    assert quick[0] == slow[0]
    assert np.array_equal(quick[1], slow[1])


def test_horners_rule_one_by_one():
    """To the last bit: with arrays and without."""
    random = np.random.default_rng(8)
    for width in (1, 2, 37, 600):
        terms, ratio = random.random((width, 5)), random.uniform(0.9, 1.1, 5)
        quick = likelihood._powers_one_by_one(ratio, terms)
        for one, two in zip(quick, likelihood._powers(ratio, terms), strict=True):
            assert np.array_equal(one, two)


@pytest.mark.parametrize("base", [12, 300, 490_000])
def test_same_rate_is_both_laws_at_the_common_rate(base):
    """The p-value is the mass beyond the gap of two independent cells at the rate that fits best."""
    random = np.random.default_rng(base)
    for law in (random_rows(random, 12, 6, 1), PureLaplace.of("0.5")):
        made = channel(law)
        symbols = base + int(2 * base**0.5), base
        cells = likelihood.Cells((made, made), np.array([0, 0]), np.array([symbols]))
        mean = float(comparison.maximise(cells, np.ones((2, 1))).means[0, 0])
        shown, masses = symbol_law(made, mean)
        reach = 9.5 * mean**0.5 + 60
        counts = np.arange(max(int(mean - reach), 0), int(mean + reach))
        start, slow, _ = made.joint(int(counts[0]), poisson.pmf(counts, mean))
        common = np.intersect1d(shown, np.arange(start, start + len(slow)))
        assert np.allclose(masses[common - shown[0]], slow[common - start], atol=1e-13)
        gap, tail = symbols[0] - symbols[1], np.cumsum(slow[::-1])[::-1]
        far = np.clip(np.arange(len(slow)) + gap, 0, len(slow))
        once = float(slow @ np.append(tail, 0.0)[far])
        assert p_same_rate((made, made), symbols) == pytest.approx(2 * once, rel=1e-7)
