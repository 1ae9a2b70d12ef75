"""From what is wanted to a law, and how far off its numbers may be."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import log

import numpy as np
import pytest

from discreet.core.accuracy import (
    expected_losses,
    half_width,
    interval_probability,
    trust_gap,
    wrong_order,
)
from discreet.core.audit import audit
from discreet.core.convolution import Masses, multiply
from discreet.core.design import design, epsilon_for_accuracy, epsilon_for_risk, matching_normal
from discreet.core.figures import best_gammas, delta_by_formula, key_size_study, plateau
from discreet.core.law import Law
from discreet.core.law_builders import laplace, max_entropy, max_entropy_for, normal
from discreet.errors import LawError


def test_example_1_is_designed() -> None:
    """sadeghi Example 1: ε = 0.5, δ = 1e-4 → D = 25, V = 49.0022, δ = 9.91298e-5."""
    found = design(epsilon="0.5", delta="1e-4")
    assert found.max_perturbation == 25
    assert round(float(found.variance), 4) == 49.0022
    assert float(found.audit.delta) == pytest.approx(9.91298e-5, abs=5e-11)
    assert found.audit.epsilon <= found.epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-3"), ("1", "1e-6"), ("2.5", "0.2")])
def test_a_design_is_the_smallest_that_keeps_its_promise(epsilon: str, delta: str) -> None:
    found = design(epsilon, delta)
    assert found.audit.delta <= Fraction(delta)
    if found.max_perturbation > 1:
        smaller = max_entropy_for(epsilon, found.max_perturbation - 1)
        assert audit(smaller, epsilon).delta > Fraction(delta)


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


def test_normal_matched_to_laplace() -> None:
    """rinott §5.6.2 with Laplace m = 7: smallest m with δ no larger is 8, 11, 12, 13, 13, 14 (errata)."""
    found = [
        matching_normal(laplace(e, 7)).max_perturbation
        for e in ("0.1", "0.5", "1", "1.5", "2", "3")
    ]
    assert found == [8, 11, 12, 13, 13, 14]


def test_figure_1_plateaus_at_the_boundary_mass() -> None:
    """sadeghi Fig. 1: D = 11 and 15, V = 4 and 10; the formula equals the audit of the law."""
    epsilons = [0.25, 0.5, 1.0, 2.0, 3.0, 4.0]
    for d, v in itertools.product((11, 15), ("4", "10")):
        law = max_entropy(d, v)
        curve = plateau(d, v, epsilons)
        exact = [float(audit(law, Fraction(e)).delta) for e in epsilons]
        assert curve == pytest.approx(exact, rel=1e-9)
        assert curve[-1] == pytest.approx(float(law.pmf[d]), rel=1e-9)
    assert plateau(11, "10", [0.5])[0] < plateau(11, "4", [0.5])[0]  # before the plateau
    assert plateau(11, "10", [4.0])[0] > plateau(11, "4", [4.0])[0]  # after it


def test_figure_2_numerical_gamma_beside_the_analytical() -> None:
    """sadeghi Fig. 2: the best γ on the grid is never worse by more than the grid, nor far better."""
    for d in (11, 15):
        for row in best_gammas(d, [0.5, 1.0, 1.5, 2.0]):
            assert row.best_delta <= row.analytical_delta * 1.05
            assert row.best_delta >= row.analytical_delta * 0.5
            assert row.analytical_gamma == row.epsilon / (2 * d - 1)
            assert row.best_delta == pytest.approx(
                delta_by_formula(row.best_gamma, d, row.epsilon), rel=1e-9
            )
    deltas = [row.analytical_delta for row in best_gammas(11, np.arange(0.1, 3, 0.1).tolist())]
    assert deltas == sorted(deltas, reverse=True)  # no plateau


def test_key_size_study_of_section_v_c() -> None:
    """sadeghi §V-C, D = 10: bias, lost support, and the two-sided truth beside (45)."""
    rows = {(round(r.epsilon, 1), r.key_bits): r for r in key_size_study()}
    for (epsilon, bits), row in rows.items():
        assert row.bias == -10 / 2**bits  # printed as −0.04, −1.5e-4, −2.3e-9
        full = not row.unreachable
        if bits == 32:
            assert full
            assert row.epsilon_both <= epsilon
            assert abs(row.variance_error) < 3e-9
        if bits == 16:
            assert full == (epsilon <= 1.7)
        if bits == 8:
            assert full == (epsilon <= 0.6)
            assert not full or row.epsilon_both > epsilon
        assert row.epsilon_forward <= row.epsilon_both
    # (45) sees nothing wrong with 2^16 at ε = 1; both directions do.
    assert rows[1.0, 16].epsilon_forward < 1 < rows[1.0, 16].epsilon_both


# rinott Table 2: rows are true counts 0 … 5 and over, columns ±0 … ±4; negatives become 0.
TABLE_2 = {
    ("laplace", "1.5", 7): """
        0.82 0.96 0.99 1.00 1.00
        0.64 0.96 0.99 1.00 1.00
        0.64 0.92 0.99 1.00 1.00
        0.64 0.92 0.98 1.00 1.00
        0.64 0.92 0.98 1.00 1.00
        0.64 0.92 0.98 1.00 1.00""",
    ("laplace", "0.5", 7): """
        0.63 0.78 0.87 0.93 0.96
        0.25 0.78 0.87 0.93 0.96
        0.25 0.55 0.87 0.93 0.96
        0.25 0.55 0.74 0.93 0.96
        0.25 0.55 0.74 0.85 0.96
        0.25 0.55 0.74 0.85 0.92""",
    ("normal", "1.5", 12): """
        0.57 0.70 0.81 0.89 0.94
        0.14 0.70 0.81 0.89 0.94
        0.14 0.40 0.81 0.89 0.94
        0.14 0.40 0.62 0.89 0.94
        0.14 0.40 0.62 0.78 0.94
        0.14 0.40 0.62 0.78 0.88""",
    ("normal", "0.5", 10): """
        0.54 0.63 0.71 0.78 0.84
        0.09 0.63 0.71 0.78 0.84
        0.09 0.26 0.71 0.78 0.84
        0.09 0.26 0.42 0.78 0.84
        0.09 0.26 0.42 0.57 0.84
        0.09 0.26 0.42 0.57 0.69""",
}


@pytest.mark.parametrize("key", TABLE_2, ids=lambda key: " ".join(map(str, key)))
def test_rinott_table_2(key: tuple[str, str, int]) -> None:
    """All 120 printed probabilities of the four blocks, to two decimals."""
    name, epsilon, m = key
    law = (laplace if name == "laplace" else normal)(epsilon, m)
    printed = [[float(p) for p in line.split()] for line in TABLE_2[key].strip().splitlines()]
    for count, line in enumerate(printed):
        for h, p in enumerate(line):
            found = float(interval_probability(law, count, h, clamp=True))
            assert round(found + 1e-12, 2) == p, (count, h, found)


def test_interval_of_pure_laplace_is_exact() -> None:
    law = laplace("0.5")
    assert interval_probability(law, 3, 6) == 1 - law.tail(6)
    assert interval_probability(law, 3, 6, clamp=True) == law.cumulative(6)


def test_expected_losses_are_the_corrected_formulas() -> None:
    """rinott 5.6.1: the truncated form, and twice the printed untruncated one (errata)."""
    for text, m in (("0.5", 7), ("1", 10)):
        law, a = laplace(text, m), 2.718281828459045 ** -float(text)
        c = 1 + 2 * (a - a ** (m + 1)) / (1 - a)
        printed = 2 * a * (m * a ** (m + 1) - (m + 1) * a**m + 1) / (c * (a - 1) ** 2)
        assert float(expected_losses(law)[0]) == pytest.approx(printed, rel=1e-12)
    pure = laplace("0.5")
    direct = 2 * sum((z * pure.probability(z) for z in range(1, 400)), Fraction(0))
    assert float(expected_losses(pure)[0]) == pytest.approx(float(direct), rel=1e-12)
    wide = laplace("0.5", 200)
    assert float(expected_losses(wide)[0]) == pytest.approx(float(expected_losses(pure)[0]))


# Untruncated Laplace: 95 % of cells within ±h, wrong order at true gaps 5 and 10 in percent, and
# the gap to trust at 95 %. Computed separately, with floats.
ACCURACY = [
    ("0.1", 30, 38, 28, 34),
    ("0.25", 12, 23, 9, 14),
    ("0.5", 6, 9, 1, 7),
    ("1", 3, 1, 0, 4),
    ("2", 1, 0, 0, 2),
    ("4", 0, 0, 0, 1),
]


@pytest.mark.parametrize(("text", "h", "five", "ten", "gap"), ACCURACY)
def test_half_widths_orders_and_gaps(text: str, h: int, five: int, ten: int, gap: int) -> None:
    law = laplace(text)
    assert half_width(law, "0.95") == h == law.half_width("0.95")
    assert round(100 * float(wrong_order(law, 5))) == five
    assert round(100 * float(wrong_order(law, 10))) == ten
    assert trust_gap(law) == gap


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
        assert half_width(law, level, cells=3) == h


def test_wrong_order_by_enumeration() -> None:
    law = Law("any", {}, -2, (20, 60, 100, 50, 26), 8)
    p = law.pmf
    for gap in range(6):
        direct = sum(
            (
                p[a] * p[b] * (1 if a + gap < b else Fraction(1, 2) if a + gap == b else 0)
                for a in p
                for b in p
            ),
            Fraction(0),
        )
        assert wrong_order(law, gap) == direct


def test_a_total_of_forty_cells() -> None:
    """At ε = 0.5 a total of 40 cells is within ±35; and back: ±35 asks for ε ≤ 0.5."""
    assert half_width(laplace("0.5"), "0.95", cells=40) == 35
    assert epsilon_for_accuracy(35, "0.95", cells=40, digits=2) <= Fraction(1, 2)


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
