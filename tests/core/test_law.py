"""Laws are whole weights over 2^key_bits that reproduce the papers' figures."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core import law_kinds
from discreet.core.audit import audit
from discreet.core.count_law import CountLaw
from discreet.core.law import Law
from discreet.core.law_builders import (
    discrete_normal,
    exponential,
    hellinger,
    laplace,
    max_entropy,
    max_entropy_for,
    normal,
)
from discreet.core.masses import gamma_for_variance
from discreet.core.pure_laplace import PureLaplace
from discreet.errors import LawError

from ..examples import examples

# sadeghi (35), Example 1: ε = 0.5, D = 25. The print gives p(±11) the label ±12 (errata).
EXAMPLE_1 = {
    0: 0.056895481243871,
    1: 0.056320120792644,
    2: 0.054628714970934,
    11: 0.016632589297126,
    24: 0.000163117271714,
    25: 0.000099129808160,
}


def test_example_1_has_the_printed_probabilities() -> None:
    pmf = max_entropy_for("0.5", 25).pmf
    for z, p in EXAMPLE_1.items():
        assert float(pmf[z]) == pytest.approx(p, abs=5e-16)
        assert pmf[z] == pmf[-z]
    assert float(pmf[12]) == pytest.approx(0.0131653776, abs=5e-11)


def test_example_1_has_the_printed_variance() -> None:
    law = max_entropy_for("0.5", 25)
    assert round(float(law.variance), 4) == 49.0022
    assert law.mean == 0


def test_example_2_has_the_printed_thresholds() -> None:
    """sadeghi (41): the ceil quantiser at 2^32, bit for bit."""
    law = max_entropy_for("0.5", 25, key_bits=32, quantiser="ceil")
    assert law.thresholds[:3] == (425760, 1126343, 2255949)
    assert law.thresholds[-1] == 2**32
    assert law.thresholds[-2] == 4294541537  # from (47)
    assert law.unreachable == ()


def test_example_2_reports_256_keys_as_insufficient() -> None:
    small = max_entropy_for("0.5", 25, key_bits=8, quantiser="ceil")
    assert small.thresholds[:3] == (1, 1, 1)
    assert {-24, -23} <= set(small.unreachable)
    assert max_entropy_for("0.5", 25, key_bits=8).unreachable


def test_example_3_has_the_printed_bias_and_variance() -> None:
    """sadeghi (43)–(44): exactly −25 · 2^-32 and 49.002167175291106."""
    law = max_entropy_for("0.5", 25, key_bits=32, quantiser="ceil")
    assert law.mean == Fraction(-25, 2**32)
    assert float(law.mean) == -5.820766091346741e-9
    assert float(law.variance) == pytest.approx(49.002167175291106, abs=1e-13)


@pytest.mark.parametrize(("variance", "gamma", "digits"), [("4", 0.125, 3), ("10", 0.0498, 4)])
def test_gamma_solved_from_variance(variance: str, gamma: float, digits: int) -> None:
    """sadeghi Fig. 1: γ = 0.125 and 0.0498 at D = 11."""
    assert round(float(gamma_for_variance(11, Fraction(variance))), digits) == gamma


@pytest.mark.parametrize(
    ("d", "variance"), [(11, "4"), (1, "0.1"), (2, "1.9999"), (100, "3366"), (50, "1e-3")]
)
def test_max_entropy_has_the_variance_asked_for(d: int, variance: str) -> None:
    law = max_entropy(d, variance)
    # Rounding each of 2D + 1 weights by at most one moves the variance by less than this.
    assert abs(law.variance - Fraction(variance)) < Fraction(2 * d**3 + 1, 2**63)
    assert law.mean == 0


def test_rinott_deltas_of_sections_5_1_and_5_2() -> None:
    """rinott 5.1–5.2: δ is the mass of one end, 2.098e-5, 0.0016587, 0.0010538, 0.0082279."""
    assert float(laplace("1", 10).pmf[10]) == pytest.approx(2.098e-5, abs=5e-9)
    assert float(laplace("0.5", 10).pmf[10]) == pytest.approx(0.0016587, abs=5e-8)
    assert float(normal("1", 10).pmf[10]) == pytest.approx(0.0010538, abs=5e-8)
    assert float(normal("0.5", 10).pmf[10]) == pytest.approx(0.0082279, abs=5e-8)


@pytest.mark.parametrize(
    ("epsilon", "m", "delta"),
    [("0.1", 10, 0.0283), ("0.1", 7, 0.0470), ("0.5", 10, 0.0017), ("0.5", 7, 0.0076)],
)
def test_rinott_deltas_of_table_3(epsilon: str, m: int, delta: float) -> None:
    assert round(float(audit(laplace(epsilon, m)).delta), 4) == delta


def test_exponential_mechanism_gives_laplace_and_normal() -> None:
    """rinott (4.6) with u = −|z| and −z² is (5.2) and (5.3), weight for weight."""
    assert exponential(lambda z: -abs(z), "0.7", 9).weights == laplace("0.7", 9).weights
    assert exponential(lambda z: -z * z, "0.7", 9).weights == normal("0.7", 9).weights
    table = {z: -abs(z) for z in range(-9, 10)}
    assert exponential(table, "0.7", 9).weights == laplace("0.7", 9).weights


def test_exponential_mechanism_takes_a_lopsided_utility() -> None:
    law = exponential({-2: 0, -1: "0.5", 0: 2, 1: 1, 2: "1/3"}, "1", 2)
    assert sum(law.weights) == 2**64
    assert law.mean != 0
    assert audit(law).epsilon <= Fraction(1) + Fraction(1, 2**60)


def test_hellinger_has_the_ratios_of_its_formula() -> None:
    """rinott (5.4): ln p(a, b) / p(a, b') = ε (|√b' − √a| − |√b − √a|) / 2."""
    law = hellinger("1", 4, 50).row(4)
    ratio = float(law.pmf[0] / law.pmf[5])
    assert ratio == pytest.approx(2.718281828459045**0.5, rel=1e-12)  # √9 − √4 = 1


def test_hellinger_is_pure_over_every_pair_of_counts() -> None:
    found = audit(hellinger("1", 20, 200))
    assert found.delta == 0
    assert found.epsilon <= 1


def test_hellinger_refuses_a_count_without_a_law() -> None:
    with pytest.raises(LawError, match="up to 3, got 4"):
        hellinger("1", 3, 10).row(4)


def test_discrete_normal_has_its_variance() -> None:
    law = discrete_normal("9", 60)
    assert float(law.variance) == pytest.approx(9, abs=1e-12)
    assert law.mean == 0


def test_pure_laplace_does_not_exceed_epsilon() -> None:
    """−ln r ≤ ε, and by less than 2^-60 of it."""
    for text in ("0.1", "1", "2.5", "40", "1/3", "0.001"):
        law = laplace(text)
        found = audit(law).epsilon
        assert found <= law.epsilon
        assert law.epsilon - found < law.epsilon * Fraction(1, 2**50)


def test_pure_laplace_sums_to_one_exactly() -> None:
    law = laplace("1")
    inside = sum((law.probability(z) for z in range(-9, 10)), Fraction(0))
    assert inside + law.tail(9) == 1
    assert law.cumulative(9) - law.cumulative(-10) == inside
    second = sum((z * z * law.probability(z) for z in range(-200, 201)), Fraction(0))
    assert 0 < law.variance - second < Fraction(1, 10**70)


def test_weights_of_records_divide_epsilon() -> None:
    """A record of weight up to 5 under ε = 1 gets the law of ε = 1/5."""
    assert laplace("1", sensitivity=5).ratio == laplace("0.2").ratio
    assert laplace("1", 30, sensitivity=5).weights == laplace("0.2", 30).weights


def test_truncated_laplace_keeps_epsilon_after_rounding() -> None:
    """No step exceeds e^ε even where the end has a weight of only a few units."""
    for text, m in (("0.5", 7), ("3", 14), ("3", 30), ("0.01", 300), ("10", 4)):
        law = laplace(text, m)
        assert audit(law).epsilon <= Fraction(text)
        assert law.unreachable == ()


@given(
    epsilon=st.fractions(min_value="0.01", max_value=6, max_denominator=1000),
    m=st.integers(1, 40),
    bits=st.integers(8, 64),
)
@examples(60)
def test_symmetric_laws_add_up_and_have_mean_zero(epsilon: Fraction, m: int, bits: int) -> None:
    for build in (laplace, normal, max_entropy_for):
        law = build(epsilon, m, key_bits=bits)
        assert sum(law.weights) == 2**bits
        assert law.mean == 0
        assert law.symmetric
        assert set(law.unreachable) == {z for z in range(-m, m + 1) if not law.weight(z)}


@given(weights=st.lists(st.integers(0, 60), min_size=1, max_size=30), start=st.integers(-9, 9))
def test_json_and_pickle_keep_a_law(weights: list[int], start: int) -> None:
    left = 2**11 - sum(weights)
    law = Law("any", {"a": "1/3"}, start, (*weights, left), 11)
    again = law_kinds.read(law_kinds.written(law))
    assert again == law
    assert pickle.loads(pickle.dumps(law)) == law
    assert again.digest == law.digest


def test_digests_tell_laws_apart() -> None:
    digests = {laplace("1", m).digest for m in range(1, 6)} | {laplace("1").digest}
    assert len(digests) == 6
    assert laplace("0.5", 7).digest == laplace("1/2", 7).digest


def test_a_law_cannot_be_changed() -> None:
    law = laplace("1", 3)
    with pytest.raises(TypeError):
        law.parameters["epsilon"] = "9"  # type: ignore[index]
    with pytest.raises(AttributeError):
        law.start = 4  # type: ignore[misc]


def test_count_law_serves_larger_counts_by_its_last_row() -> None:
    rows = CountLaw.of_laws("p-table", {}, (laplace("1", 1), laplace("1", 2)))
    assert rows.row(7) == rows.rows[1]
    assert pickle.loads(pickle.dumps(rows)) == rows
    with pytest.raises(LawError, match="must add up to"):
        CountLaw.of_laws("p-table", {}, (laplace("1", 1), laplace("1", 1, key_bits=32)))


@pytest.mark.parametrize("bits", [8, 16, 64])
def test_ceil_gives_the_first_perturbation_a_key_however_unlikely(bits: int) -> None:
    """sadeghi (39): the cumulative distribution is rounded up, so −D gets key 0 even at 1e-600."""
    for law in (
        laplace("100", 20, key_bits=bits, quantiser="ceil"),
        max_entropy(5, "1e-30", key_bits=bits, quantiser="ceil"),
    ):
        assert law.weights[0] == 1
        assert law.thresholds[0] == 1


def test_a_number_out_of_bounds_is_quoted_short() -> None:
    with pytest.raises(LawError, match=r"got 1e400\. Lower"):
        max_entropy(5, "1e400")


BAD = [
    (lambda: laplace("0"), "epsilon must be > 0"),
    (lambda: laplace("-0.5", 3), "epsilon must be > 0"),
    (lambda: laplace("NaN"), "epsilon must be a number"),
    (lambda: laplace("1e400"), "epsilon must be > 0 and ≤ 100"),
    (lambda: laplace("inf"), "epsilon must be a number"),
    (lambda: laplace("1e-300"), "epsilon must be ≥ 0.000001"),
    (lambda: laplace(0.5), "got the float 0.5"),  # type: ignore[call-overload]
    (lambda: laplace(True), "epsilon must be a number"),
    (lambda: laplace("1", 0), "max_perturbation must be a whole number from 1"),
    (lambda: laplace("1", 10**9), "max_perturbation must be a whole number from 1"),
    (lambda: laplace("1", 3, key_bits=7), "key_bits must be a whole number from 8 to 64, got 7"),
    (lambda: laplace("1", 3, key_bits=65), "key_bits must be a whole number from 8 to 64, got 65"),
    (lambda: laplace("1", 3, quantiser="ciel"), "Did you mean ceil"),
    (lambda: laplace("1", 3, delta="0"), "delta must be > 0 and < 1"),
    (lambda: laplace("1", 3, delta="1"), "delta must be > 0 and < 1"),
    (lambda: laplace("1", 3, delta="1e-9"), "more than the"),
    (lambda: laplace("1", sensitivity=0), "sensitivity must be a whole number ≥ 1"),
    (lambda: max_entropy(11, "0"), r"variance must be > 0 and < D\(D \+ 1\)/3 = 44"),
    (lambda: max_entropy(11, "44"), r"variance must be > 0 and < D\(D \+ 1\)/3 = 44"),
    (lambda: max_entropy_for("1", 5, iota_share="2"), "iota_share"),
    (lambda: hellinger("1", 5, 3), "max_value must be ≥ max_count = 5"),
    (lambda: exponential({0: 1}, "1", 1), "got none for -1"),
    (lambda: exponential(lambda z: 1, "1", 1), "got a constant"),
    (lambda: Law("x", {}, 0, (1, 2), 8), "must add up to 2"),
    (lambda: Law("x", {}, 0, (-1, 257), 8), "whole numbers ≥ 0"),
    (lambda: law_kinds.read({"kind": "weights"}), "This is no law that discreet wrote"),
    (lambda: law_kinds.read({"kind": "laplace"}), "This is no law that discreet wrote"),
    (lambda: PureLaplace(Fraction(1), 1, Fraction(1, 3)), "exceeds the epsilon"),
]


@pytest.mark.parametrize(("build", "words"), BAD)
def test_bad_input_is_told_in_one_sentence(build: object, words: str) -> None:
    with pytest.raises(LawError, match=words):
        build()  # type: ignore[operator]
