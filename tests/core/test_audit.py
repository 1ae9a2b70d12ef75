"""Audits are the definition of (ε, δ), both directions, from the weights."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core import composition
from discreet.core.audit import audit, delta
from discreet.core.brackets import exp_bracket
from discreet.core.composition import delta_of_cells, pairs_of
from discreet.core.count_law import CountLaw
from discreet.core.law import Law
from discreet.core.law_builders import laplace, max_entropy, max_entropy_for, normal
from discreet.core.neighbours import Neighbours
from discreet.core.pure_laplace import PureLaplace
from discreet.errors import LawError

from ..examples import examples


def by_events(law: Law, epsilon: Fraction) -> Fraction:
    """δ by brute force: the largest P(E) − e^ε Q(E) over every set of outcomes, both ways."""
    pairs, total = pairs_of(law)
    factor = exp_bracket(epsilon)[0]
    worst = Fraction(0)
    for size in range(len(pairs) + 1):
        for event in itertools.combinations(pairs, size):
            p, q = sum(a for a, _ in event), sum(b for _, b in event)
            worst = max(worst, p - factor * q, q - factor * p)
    return worst / total


@given(
    weights=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    epsilon=st.fractions(min_value=0, max_value=3, max_denominator=50),
)
@examples(80)
def test_delta_is_the_worst_event(weights: list[int], epsilon: Fraction) -> None:
    law = Law("any", {}, -2, (*weights, 256 - sum(weights)), 8)
    assert delta(law, epsilon) == by_events(law, epsilon)


def test_example_3_in_both_directions() -> None:
    """sadeghi (45) forward, and the backward value that the paper leaves out (errata)."""
    found = audit(max_entropy_for("0.5", 25, key_bits=32, quantiser="ceil"))
    assert float(found.epsilon_forward) == pytest.approx(0.498037038323823, abs=5e-16)
    assert float(found.epsilon_backward) == pytest.approx(0.498039387, abs=5e-10)
    assert found.epsilon == found.epsilon_backward
    assert float(found.delta) == pytest.approx(9.9129974842e-5, abs=5e-16)


def test_two_sided_truth_at_65536_keys() -> None:
    """At 2^16 (45) says 0.4626; the other direction is ln(11/6) = 0.6061 > 0.5 (errata)."""
    found = audit(max_entropy_for("0.5", 25, key_bits=16, quantiser="ceil"))
    assert round(float(found.epsilon_forward), 4) == 0.4626
    assert round(float(found.epsilon), 4) == 0.6061
    assert found.epsilon > found.at_epsilon
    assert not found.holds


def test_iota_as_printed_breaks_the_promise() -> None:
    """sadeghi (30) read literally adds |ι| to γ: ε = 0.50196 > 0.5 (errata)."""
    gamma = Fraction(1, 98) + Fraction(1, 10) * Fraction(1, 2499)
    literal = normal(gamma * 51, 25)
    assert round(float(audit(literal).epsilon), 5) == 0.50196


def test_truncated_laplace_has_delta_at_its_own_epsilon() -> None:
    """The README's own example: δ = 0.0075…, the mass of one end, and ε is kept."""
    law = laplace(epsilon="0.5", max_perturbation=7)
    found = audit(law)
    assert found.at_epsilon == Fraction(1, 2)
    assert found.delta == law.pmf[7] == found.boundary_mass
    assert found.epsilon <= Fraction(1, 2)
    assert found.holds
    assert found.exact


def test_rinott_table_2_deltas() -> None:
    """rinott Table 2, unrounded: Laplace m = 7 and normal m = 12 at 1.5; m = 7 and 10 at 0.5."""
    assert float(audit(laplace("1.5", 7)).delta) == pytest.approx(1.749e-5, abs=5e-9)
    assert float(audit(normal("1.5", 12)).delta) == pytest.approx(2.445e-5, abs=5e-9)
    assert float(audit(laplace("0.5", 7)).delta) == pytest.approx(0.007568, abs=5e-7)
    assert float(audit(normal("0.5", 10)).delta) == pytest.approx(0.008228, abs=5e-7)


def test_delta_is_never_rounded_down() -> None:
    """With e^ε replaced by the rational above it, the same sum is smaller or equal."""
    law = max_entropy(11, "4")
    pairs, total = pairs_of(law)
    for text in ("0.01", "0.1", "0.5", "1"):
        high = exp_bracket(Fraction(text))[1]
        other = sum((max(Fraction(0), p - high * q) for p, q in pairs), Fraction(0)) / total
        found = delta(law, text)
        assert other < found < other + Fraction(1, 10**60)


def test_a_law_without_epsilon_is_measured_at_its_boundary() -> None:
    found = audit(max_entropy(11, "4"))
    assert found.at_epsilon == found.epsilon
    assert found.delta == found.boundary_mass == max_entropy(11, "4").pmf[11]


def test_the_curve_falls_to_a_plateau() -> None:
    """sadeghi Fig. 1: δ falls with ε and stays at the boundary mass from the law's ε on."""
    law = max_entropy(11, "4")
    values = [delta(law, Fraction(k, 10)) for k in range(1, 40)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == values[-5] == law.pmf[11]
    assert values[0] > values[1]


def test_pure_laplace_has_delta_zero_at_its_epsilon() -> None:
    law = laplace("1")
    assert audit(law).delta == 0
    assert audit(law).epsilon <= 1
    # below it: one cell of a symmetric ratio, δ = (1 − e^ε' r) / (1 + r)
    expected = (1 - exp_bracket(Fraction(1, 2))[0] * law.ratio) / (1 + law.ratio)
    assert delta(law, "0.5") == expected


def test_pure_laplace_with_weights_matches_a_wide_truncated_one() -> None:
    pure, cut = laplace("1", sensitivity=3), laplace("1", 200, sensitivity=3)
    for text in ("0.2", "0.7"):
        assert float(delta(pure, text)) == pytest.approx(float(delta(cut, text)), abs=1e-15)


def test_every_pair_of_rows_is_audited() -> None:
    """A p-table is as weak as its weakest pair, and its last row is its own neighbour."""
    even = Law("row", {}, -1, (64, 128, 64), 8)
    steep = Law("row", {}, -1, (1, 254, 1), 8)
    alone = audit([even, even]).epsilon
    assert audit([even, steep]).epsilon == audit([steep]).epsilon > alone
    assert audit([steep, even]).epsilon > alone
    shifted = Law("row", {}, 0, (128, 128), 8)  # zero stays or goes up: no negative result
    pair, total = pairs_of(shifted, even)
    assert audit([shifted, even]).delta == max(
        delta([shifted, even], 5), Fraction(sum(p for p, q in pair if not q), total)
    )


def test_a_closed_count_law_has_no_pair_beyond_its_last_row() -> None:
    one = Law("row", {}, 0, (128, 128), 8)
    two = Law("row", {}, -1, (128, 128), 8)
    assert audit(CountLaw.of_laws("x", {}, (one, two), cycle=0), 0).delta == 0
    assert audit(CountLaw.of_laws("x", {}, (one, two)), 0).delta > 0


# ── many cells ──────────────────────────────────────────────────────────────


def by_product(law: Law, epsilon: Fraction, cells: int, back: int = 0) -> Fraction:
    """δ of independent cells by enumeration of all outcomes; `back` of them in reverse."""
    pairs, total = pairs_of(law)
    turned = [(q, p) for p, q in pairs]
    factor = exp_bracket(epsilon)[0]
    worst = Fraction(0)
    for one, two in ((pairs, turned), (turned, pairs)):
        over = Fraction(0)
        for outcome in itertools.product(*([one] * cells + [two] * back)):
            p = q = 1
            for a, b in outcome:
                p, q = p * a, q * b
            over += max(Fraction(0), p - factor * q)
        worst = max(worst, over / total ** (cells + back))
    return worst


@pytest.mark.parametrize("cells", [2, 3])
@pytest.mark.parametrize("route", ["ratio", "grid"])
@pytest.mark.parametrize(
    "law",
    [laplace("0.7", 5), normal("0.5", 5), max_entropy(5, "3"), laplace("0.5", 5, key_bits=10)],
    ids=["laplace", "normal", "max-entropy", "few keys"],
)
@pytest.mark.slow
def test_cells_agree_with_enumeration(
    law: Law, route: str, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """d ≤ 3 by brute force: exactly by ratio, and inside the bracket on the lattice or grid."""
    if route == "grid":
        monkeypatch.setattr(composition, "_EXACT_RATIOS", 0)
        monkeypatch.setattr(composition, "_EXACT_RATIOS_MOST", 0)
    for text in ("0.2", "0.7", "1.1"):
        true = by_product(law, Fraction(text), cells)
        found = delta_of_cells(law, text, cells)
        assert found.low <= true <= found.high
        if route == "ratio" or law.key_bits == 64:
            assert found.high - true < Fraction(1, 10**12)


def test_replace_one_agrees_with_enumeration() -> None:
    for law in (laplace("0.7", 4), normal("0.5", 4)):
        for text in ("0.3", "1"):
            found = delta_of_cells(law, text, 1, neighbours=Neighbours.REPLACE_ONE)
            assert abs(found.high - by_product(law, Fraction(text), 1, 1)) < Fraction(1, 10**12)


@pytest.mark.slow
def test_sixteen_and_a_hundred_cells_of_example_1() -> None:
    """One person in a 4-way table with its margins touches 16 cells: δ = 0.0759; 100: 0.409."""
    law = max_entropy_for("0.5", 25)
    sixteen, hundred = delta_of_cells(law, "0.5", 16), delta_of_cells(law, "0.5", 100)
    assert sixteen.exact
    assert round(float(sixteen.high), 4) == 0.0759
    assert hundred.exact
    assert round(float(hundred.high), 3) == 0.409
    assert audit(law, cells=16).delta == sixteen.high


def test_cells_lie_between_one_cell_and_the_sum() -> None:
    """ε/d with d times δ is a bound; a lower one for one cell."""
    law = normal("0.5", 10)
    for cells in (2, 5, 9):
        together = delta_of_cells(law, "1", cells).high
        assert delta(law, "1") <= together <= cells * delta(law, Fraction(1, cells))


@pytest.mark.slow
def test_pure_laplace_cells_are_a_binomial() -> None:
    """Two-outcome losses: δ(ε') of d cells is 0 from dε on and exact below."""
    law = laplace("0.1")
    assert delta_of_cells(law, "1", 10).high == 0
    assert audit(law, cells=10_000).delta == 0
    thousand = delta_of_cells(law, "5", 1000)  # a lattice sum: exact ratios would be too long
    assert thousand.exact
    assert 0.38 < float(thousand.high) < 0.39
    found = delta_of_cells(law, "0.5", 20)
    assert found.exact
    wide = delta_of_cells(laplace("0.1", 300), "0.5", 20)
    assert float(found.high) == pytest.approx(float(wide.high), abs=1e-12)


@pytest.mark.slow
def test_weights_and_pure_laplace_give_a_bound() -> None:
    law = PureLaplace.of("1", 4)
    bound = delta_of_cells(law, "1", 3)
    assert not bound.exact
    assert bound.high >= delta_of_cells(laplace("1", 120, sensitivity=4), "1", 3).low


@pytest.mark.slow
def test_few_keys_give_a_wider_bracket_and_say_so() -> None:
    law = max_entropy_for("0.5", 10, key_bits=12)
    found = delta_of_cells(law, "0.5", 8)
    assert found.low < found.high < found.low + Fraction(1, 1000)
    assert not found.exact
    assert not audit(law, cells=8).exact


def test_json_has_the_keys_of_the_command_line() -> None:
    data = json.loads(json.dumps(audit(max_entropy_for("0.5", 25, key_bits=8)).to_dict()))
    assert {"epsilon", "epsilon_forward", "epsilon_backward", "delta", "unreachable"} <= set(data)
    assert 25 in data["unreachable"]
    assert data["neighbours"] == "add or remove one"
    law = laplace("0.5", 7)
    assert Fraction(audit(law).to_dict()["delta"]) >= audit(law).delta


def test_bad_input_is_told() -> None:
    law = laplace("1", 3)
    with pytest.raises(LawError, match="neighbours must be"):
        audit(law, neighbours="swap")
    with pytest.raises(LawError, match="cells must be a whole number"):
        audit(law, cells=0)
    with pytest.raises(LawError, match="epsilon must be"):
        delta(law, "-1")
    with pytest.raises(LawError, match="list of laws"):
        audit([])


@pytest.mark.slow
def test_cells_agree_with_an_independent_accountant() -> None:
    """dp-accounting's pessimistic and optimistic privacy-loss convolutions enclose our δ."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    law = max_entropy_for("0.5", 25)
    here = {z: math.log(p) for z, p in law.pmf.items()}
    there = {z + 1: math.log(p) for z, p in law.pmf.items()}
    for cells in (1, 16, 100):
        ours = float(delta_of_cells(law, "0.5", cells).high)
        ends = [
            pld.from_two_probability_mass_functions(
                here, there, pessimistic_estimate=side, value_discretization_interval=1e-5
            )
            .self_compose(cells)
            .get_delta_for_epsilon(0.5)
            for side in (False, True)
        ]
        assert ends[0] - 1e-9 <= ours <= ends[1] + 1e-9
        assert ends[1] - ends[0] < 2e-3
