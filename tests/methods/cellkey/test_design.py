"""P-table design against R ptable's own tables, and everything it cannot do told beforehand."""

from __future__ import annotations

import csv
import itertools
import random
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.count_law import Row
from discreet.core.law_builders import max_entropy
from discreet.errors import LawError
from discreet.methods.cellkey.design import design, design_for, least_variance, outcomes
from discreet.methods.cellkey.ptable import PTable
from discreet.methods.cellkey.settings import read_settings

from ...examples import examples

REFERENCE = Path(__file__).parent / "reference"
TABLES = {
    "ex_cnts": {
        "max_perturbation": 2,
        "variance": "1.05",
        "blocked_below": 1,
        "monotone": [True, True, False, True],
    },
    "D3V1js0": {"max_perturbation": 3, "variance": "1"},
    "D3V108js1": {"max_perturbation": 3, "variance": "1.08", "blocked_below": 1},
    "D5V3js2": {"max_perturbation": 5, "variance": "3", "blocked_below": 2},
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("keys", [1 << 64, 10**8])
def test_reference_tables(name, keys):
    """Every probability of R ptable 1.0.0's tables within 1e-6, and the same outcomes."""
    table = design(**TABLES[name], keys=keys)
    lines = list(csv.DictReader((REFERENCE / f"{name}_ptable.csv").read_text().splitlines()))
    have = {(n, v): p for n, row in enumerate(table.rows) for v, p in row.pmf.items()}
    wanted = {(int(line["i"]), int(line["v"])): float(line["p"]) for line in lines}
    assert have.keys() == wanted.keys()
    assert max(abs(float(have[key]) - wanted[key]) for key in wanted) < 1e-6


def test_the_reference_check_can_fail():
    """Without the per-row monotone switch the package's own test vector is missed by far."""
    table = design(2, "1.05", 1)
    assert abs(float(table.rows[3].pmf[-1]) - 0.41231301) > 1e-3


@pytest.mark.parametrize(
    ("d", "v", "rows"),
    [
        (5, "3", {1: 1.302}),
        (10, "5", {1: 1.419, 2: 4.175}),
        (2, "1", {1: 0.932}),
    ],
)
def test_a_variance_that_is_not_reached_is_told(d, v, rows):
    """Where R silently stays below V, the achieved variance of each row says so."""
    achieved = design(d, v).achieved_variance
    for count in range(1, d + 1):
        wanted = rows.get(count, float(Fraction(v)))
        assert float(achieved[count]) == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(
    ("d", "v", "js", "keys", "bias", "error", "lost", "of"),
    [
        (3, "1", 0, 256, 0.000, 0.008, 0, 18),
        (3, "1", 0, 4096, 0.0002, 0.0015, 0, 18),
        (5, "3", 2, 256, 0.008, 0.010, 2, 65),
        (5, "3", 2, 4096, 0.0005, 0.0012, 0, 65),
        (10, "5", 2, 256, 0.012, 0.010, 56, 205),
        (10, "5", 2, 4096, 0.0010, 0.0010, 23, 205),
    ],
)
def test_quantisation_loss(d, v, js, keys, bias, error, lost, of):
    """The loss of rounding cut points to 256 and 4096 keys, as published for these tables."""
    loss = design(d, v, js).loss(keys, "cumulative")
    assert float(loss.bias) == pytest.approx(bias, abs=5e-4 if keys == 256 else 5e-5)
    assert float(loss.variance_error) == pytest.approx(error, abs=5e-4 if keys == 256 else 5e-5)
    assert (loss.outcomes_lost, loss.outcomes) == (lost, of)


@pytest.mark.parametrize("keys", [256, 4096, 1 << 32, 1 << 64, 10**8])
@pytest.mark.parametrize(("d", "v", "js"), [(3, "1", 0), (5, "3", 2), (10, "5", 2)])
@pytest.mark.slow
def test_the_default_quantiser_is_exactly_unbiased(d, v, js, keys):
    """Every row's mean is exactly 0 whatever the number of keys."""
    table = design(d, v, js, keys=keys)
    assert table.bias == 0
    assert design(d, v, js, key_bits=64).requantised(keys).bias == 0


def test_two_outcomes_that_allow_no_mean_of_zero_report_their_bias():
    """−1 and 2 over 256 keys: thirds are no whole numbers of keys, and the table says so."""
    row = Row.of([(-1, 2), (2, 1)])
    table = PTable(3, (Row((0,), (3,)), row)).requantised(256)
    assert table.bias == Fraction(1, 256)


INFEASIBLE = [
    ((3, "1", 1), "variance must exceed 1", "1.001"),
    ((5, "1", 1), "variance must exceed 1", "1.001"),
    ((5, "3", 3), "variance must exceed 4", "4.001"),
    ((5, "2", 2), "variance must exceed 2", "2.001"),
    ((2, "1", 3), "blocked_below must be below max_perturbation", "4 or more"),
    ((5, "10", 0), "variance must be below D(D+1)/3 = 10", "larger max_perturbation"),
    ((5, "1e400", 0), "got 1e400: row 5", "is 9.999;"),
    ((4, "7", 4), "blocked_below must be below max_perturbation, got 4 and 4: row 5", "5 or more"),
    ((5, "1e-7", 0), "variance must be at least 1.1e-6", "smaller max_perturbation"),
    ((5, "0", 0), "variance must be > 0", ""),
    ((5, "nan", 0), "variance must be a number", ""),
    ((0, "1", 0), "max_perturbation must be a whole number", ""),
    ((5, "1", -1), "blocked_below must be a whole number", ""),
]


@pytest.mark.parametrize(("arguments", "why", "remedy"), INFEASIBLE)
def test_infeasible_designs_are_refused_with_the_reason(arguments, why, remedy):
    """What R ptable fails at is refused beforehand, naming what is allowed."""
    with pytest.raises(LawError, match=r".") as told:
        design(*arguments)
    assert why in told.value.message
    assert remedy in told.value.message


@pytest.mark.parametrize(("js", "variance"), [(1, "1.001"), (2, "2.001"), (3, "4.001")])
def test_the_nearest_feasible_variance_is_feasible(js, variance):
    """The variance a refusal names can be had, with mean 0 and all outcomes."""
    table = design(5, variance, js)
    assert table.bias == 0
    assert max(table.achieved_variance) <= Fraction(variance) + Fraction(1, 10**9)


def refusal(*arguments, **more):
    """What a design is refused with; None where it can be had."""
    try:
        design(*arguments, **more)
    except LawError as told:
        return told.message
    return None


@pytest.mark.slow
def test_the_advice_of_a_refusal_holds_for_the_whole_table():
    """Whatever was refused, the variance it names can be had, for every row, at the first try."""
    rng = random.Random(9)
    followed = 0
    for _ in range(150):
        d = rng.randint(2, 8)
        asked = (d, rng.choice(["0.5", "1", "2", "4", "7", "15", "40"]), rng.randint(0, d - 1))
        more = {
            "p_stay": rng.choice([None, "0.2", "0.6"]),
            "monotone": rng.random() < 0.5,
            "exact_variance": rng.random() < 0.6,
        }
        refused = refusal(*asked, **more)
        if refused is None:
            continue
        said = re.search(r"nearest variance that .*? is (\d+(?:\.\d+)?)", refused)
        if said is None:
            assert "No exact variance fits every row" in refused
            continue
        design(asked[0], said[1], asked[2], **more)
        followed += 1
    assert followed > 50


def test_an_exact_variance_names_row_and_limit():
    """Row 1, monotone: V ≤ D(D+1)/(2D+1) = 2.7272…; without monotone 3 can be had exactly."""
    with pytest.raises(LawError, match=r"Row 1 .* at most 2\.7272 .* exactly 3"):
        design(5, "3", exact_variance=True)
    table = design(5, "3", exact_variance=True, monotone=False)
    assert all(abs(v - 3) < Fraction(1, 10**9) for v in table.achieved_variance[1:])


@pytest.mark.parametrize("js", range(5))
def test_least_variance_is_the_largest_row(js):
    """⌊(js+1)²/4⌋ is the largest i·(js+1−i)."""
    assert least_variance(js) == max(i * (js + 1 - i) for i in range(js + 2))


def test_p_stay_is_a_bound_that_holds():
    """Every row that may stay stays with at least p_stay; the variance is then what is left."""
    table = design(5, "2", p_stay="0.6")
    assert all(row.pmf[0] >= Fraction(6, 10) - Fraction(1, 10**9) for row in table.rows[1:])
    with pytest.raises(LawError, match="p_stay must be > 0 and < 1"):
        design(5, "2", p_stay="1")
    with pytest.raises(LawError, match=r"p_stay must be one value or 5"):
        design(5, "2", p_stay=["0.5"])


@examples(40)
@given(
    d=st.integers(1, 8),
    js=st.integers(0, 3),
    share=st.fractions(min_value=Fraction(1, 20), max_value=Fraction(9, 10)),
)
def test_every_design_keeps_its_constraints_or_is_refused(d, js, share):
    """Support, mean 0, variance ≤ V, monotone negative side and the floor, on any parameters."""
    variance = share * Fraction(d * (d + 1), 3)
    try:
        table = design(d, variance, js)
    except LawError:
        assert js > d or variance <= least_variance(js) + Fraction(1, 10**3)
        return
    assert table.bias == 0 or d <= 2
    for count, row in enumerate(table.rows[1:], 1):
        assert list(row.weights) == outcomes(count, d, js)
        assert row.variance <= variance + Fraction(1, 10**9)
        p = row.pmf
        side = [float(p[v]) for v in p if v <= 0]
        assert all(a <= b + 1e-9 for a, b in itertools.pairwise(side))
        assert min(p.values()) > Fraction(1, 2 * 10**8)


@pytest.mark.parametrize(("d", "v"), [(5, "2"), (11, "4"), (7, "3.5")])
def test_the_last_row_is_the_maximum_entropy_law(d, v):
    """Row D of a table without blocking is sadeghi's law (6–10), found by another solver."""
    row = design(d, v).rows[-1].pmf
    law = max_entropy(d, v).pmf
    assert max(abs(float(row[z] - law[z])) for z in law) < 1e-9


def test_optimality_by_perturbation():
    """No feasible direction raises the entropy of a solved row: a first-order check of the solver."""
    row = design(6, "3", 2).rows[2]
    v = np.array(list(row.weights), dtype=float)
    p = np.array([float(x) for x in row.pmf.values()])
    basis = np.linalg.svd(np.array([np.ones_like(v), v, v * v]))[2][3:]
    gradient = basis @ -(np.log(p) + 1)
    assert np.abs(gradient).max() < 1e-5  # no inequality but the variance binds in this row


# One law for every count -------------------------------------------------------------------------


def test_one_law_for_every_count():
    """Zeros kept or perturbed, negatives allowed or clipped: each row is what it says."""
    law = max_entropy(3, "1")
    free = PTable.from_law(law)
    assert len(free.rows) == 1
    assert free.rows[0].pmf == law.pmf
    kept = PTable.from_law(law, zeros="kept")
    assert kept.zeros_kept
    assert kept.row(1).pmf == law.pmf
    clipped = PTable.from_law(law, negatives="clipped")
    assert not clipped.allows_negatives
    assert clipped.rows[1].pmf[-1] == sum(law.pmf[z] for z in (-3, -2, -1))
    assert clipped.row(99).pmf == law.pmf
    both = PTable.from_law(law, zeros="kept", negatives="clipped")
    assert both.rows[0].fixed


def test_clipping_is_a_post_process():
    """Clipping at 0 never raises δ at any ε, because it looks at the perturbed value only."""
    law = max_entropy(3, "1")
    for epsilon in ("0.5", "1", "2"):
        free = PTable.from_law(law).audit(epsilon).delta
        assert PTable.from_law(law, negatives="clipped").audit(epsilon).delta <= free


def test_audit_of_kept_zeros_has_no_small_delta():
    """A kept zero beside a count of 1: whatever ε, δ is the chance that 1 is not published 0."""
    table = design(5, "2")
    assert table.audit("50").delta == 1 - table.rows[1].pmf[-1]
    assert table.audit(least_count=1).delta < Fraction(1, 500)


@pytest.mark.parametrize("epsilon", [None, "1", "2.5"])
def test_the_audit_of_fractional_keys_is_that_of_core(epsilon):
    """Rows over 10^8 keys have their own audit; over 2^10 · 10^-k keys both can be had and agree."""
    table = design(4, "1.5", keys=1 << 20)
    stretched = table.requantised(
        3 * (1 << 20)
    )  # exact: every bound is whole in three times as many
    assert stretched.key_bits is None
    one, other = table.audit(epsilon), stretched.audit(epsilon)
    assert (one.epsilon, one.delta, one.boundary_mass) == (
        other.epsilon,
        other.delta,
        other.boundary_mass,
    )
    assert (one.epsilon_forward, one.epsilon_backward) == (
        other.epsilon_forward,
        other.epsilon_backward,
    )


def test_transition_matrix_rows_are_laws():
    """Each row adds up to exactly 1 and never publishes a blocked number."""
    table = design(5, "3", 2)
    for count in range(21):
        law = {count + v: p for v, p in table.row(count).pmf.items()}
        assert sum(law.values()) == 1
        assert not {1, 2} & law.keys()


@pytest.mark.parametrize(
    ("d", "js", "variance", "more"),
    [
        (8, 1, "1.01", {}),
        (12, 1, "1.001", {}),
        (12, 0, "0.001", {"p_stay": "0.999"}),
        pytest.param(20, 0, "0.05", {"monotone": False}, marks=pytest.mark.slow),
        (20, 4, "6.001", {"p_stay": "0.5"}),
        (8, 0, "0.5", {"exact_variance": True, "monotone": False, "p_stay": "0.3"}),
        (5, 0, "9.99", {}),
    ],
)
def test_extreme_designs_are_solved(d, js, variance, more):
    """Nearly fixed, nearly uniform, nearly infeasible: the solver ends with its constraints kept."""
    table = design(d, variance, js, **more)
    assert table.bias == 0
    slack = Fraction(1, 10**9)
    for row in table.rows[1:]:
        assert row.variance <= Fraction(variance) + slack
        if more.get("exact_variance"):
            assert row.variance >= Fraction(variance) - slack
        if "p_stay" in more and 0 in row.weights:
            assert row.pmf[0] >= Fraction(more["p_stay"]) - slack


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-3"), ("0.5", "0.02")])
def test_a_p_table_from_a_promise_keeps_it_at_zero_too(epsilon: str, delta: str) -> None:
    """Rows below D are cut at 0, both directions of every pair keep (ε, δ), and the bias is exact."""
    table = design_for(epsilon, delta)
    found = table.audit(epsilon)
    assert found.delta <= Fraction(delta)
    assert not table.allows_negatives
    assert not table.zeros_kept
    law = table.rows[-1]
    for count, row in enumerate(table.rows):
        assert row.mean == sum(p * max(-count - v, 0) for v, p in law.pmf.items())
    assert table.rows[-1].mean == 0
    assert all(a.mean > b.mean for a, b in itertools.pairwise(table.rows))


def test_a_policy_without_a_rule_keeps_the_law_it_had() -> None:
    """Published tables were made by sadeghi's rule; the smallest law is asked for by name."""
    promise = {"epsilon": "0.5", "delta": "1e-4"}
    before = read_settings(promise).table
    assert before == read_settings({**promise, "rule": "sadeghi"}).table
    assert before.max_perturbation == 25
    assert read_settings({**promise, "rule": "smallest"}).table.max_perturbation == 24
    with pytest.raises(LawError, match="rule must be smallest or sadeghi"):
        read_settings({**promise, "rule": "least"})
