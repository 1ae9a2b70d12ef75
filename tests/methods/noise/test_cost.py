"""Costs by brute force: the claimed loss is what neighbouring data sets of a tiny domain show."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.brackets import ln_bracket
from discreet.core.description import Weight
from discreet.core.domain import variable
from discreet.core.loss import PureLoss, ZcdpLoss
from discreet.errors import LawError

A = variable("a", ["0", "1", "2"], levels={"pair": {"0": "x", "1": "x", "2": "y"}})
B = variable("b", ["0", "1"])
CELLS = list(itertools.product(A.finest.codes, B.finest.codes))


def _neighbours(records_per_unit, replace, weights=(1,)):
    """What one unit can bring: lists of (cell, weight); pairs (removed, added) for replace-one."""
    one = list(itertools.product(CELLS, weights))
    units = list(itertools.combinations_with_replacement(one, records_per_unit))
    if not replace:
        return [((), unit) for unit in units] + [(unit, ()) for unit in units]
    return list(itertools.product(units, units))


def _changes(world, margin, removed, added):
    """How each cell of a margin changes from one neighbour to the other."""
    out = np.zeros(world.description.domain(margin.axes).shape, dtype=np.int64)
    for unit, sign in ((removed, -1), (added, 1)):
        for cell, weight in unit:
            if world.passes(margin.where, cell):
                at = tuple(world.index(ref, cell) for ref in margin.axes)
                out[at] += sign * (weight if margin.weighted else 1)
    return out


def _worst(world, plan, replace, weights=(1,)):
    """The largest loss over all neighbours, from the measured margins' own laws."""
    worst = Fraction(0)
    measured = plan.detail.scheme.measured
    for removed, added in _neighbours(world.description.records_per_unit, replace, weights):
        loss = Fraction(0)
        for part in measured:
            change = _changes(world, part.margin, removed, added)
            if isinstance(plan.charge.loss, ZcdpLoss):
                loss += Fraction(int((change**2).sum())) / (2 * part.law.sigma2)
            else:
                loss += part.one_sided / part.reach * int(np.abs(change).sum())
        worst = max(worst, loss)
    return worst


def _questions(world):
    s = world.spec
    return {
        "one table": [s("a", "b")],
        "two overlapping": [s("a"), s("b")],
        "coarser level": [s("a:pair", "b"), s("a")],
        "disjoint filters": [s("b", where={"a": ["0"]}), s("b", where={"a": ["1"]})],
        "overlapping filters": [s("b", where={"a": ["0", "1"]}), s("b", where={"a": ["1", "2"]})],
        "filters on two variables": [s("a", where={"b": ["0"]}), s("b", where={"a": ["0"]})],
        "filter by level": [s("b", where={"a:pair": ["x"]}), s("b", where={"a": ["2"]}), s("b")],
        "count of a group": [s(where={"a": ["0"]}), s(where={"a": ["1"]}), s("b")],
        "given shares": [s("a", "b", share="2/3"), s("a", share="1/3")],
    }


QUESTIONS = (
    "one table",
    "two overlapping",
    "coarser level",
    "disjoint filters",
    "overlapping filters",
    "filters on two variables",
    "filter by level",
    "count of a group",
    "given shares",
)


CASES = [
    (question, plan_name)
    for question in QUESTIONS
    for plan_name in ("best", "wanted", "everything")
    if (question, plan_name) != ("given shares", "everything")
]


@pytest.mark.parametrize(("question", "plan_name"), CASES)
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("records_per_unit", [1, 2])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.slow
def test_claimed_loss_is_the_worst_neighbours(
    world, question, plan_name, replace, records_per_unit, law
):
    """Over every pair of neighbours the loss of all measured margins is at most what is claimed; equal where exact."""
    facts = {"records": 10} if replace else {}
    w = world([A, B], records_per_unit=records_per_unit, **facts)
    budget = {"epsilon": "1"} if law == "laplace" else {"rho": "1/2"}
    plan = w.plan(*_questions(w)[question], plan=plan_name, law=law, **budget)
    worst = _worst(w, plan, replace)
    claimed = plan.charge.loss
    assert claimed == (PureLoss("1") if law == "laplace" else ZcdpLoss("1/2"))
    said = claimed.rho if isinstance(claimed, ZcdpLoss) else claimed.epsilon
    assert worst <= said
    assert worst == said or not plan.guarantee.exact
    assert plan.guarantee.exact or (replace and question == "filters on two variables")


def test_a_weighted_total_of_replaced_records_is_a_bound(world):
    """No weight goes from nothing to its bound and both cells move by it too: ε ≤ 1, not ε = 1."""
    w = world([A, B], weight=Weight("w", 1, Fraction(3)), records=10)
    plan = w.plan(w.spec("b", weighted=True), epsilon="1", plan="everything")
    assert _worst(w, plan, replace=True, weights=(1, 2, 3)) < 1
    assert "with ε ≤ 1 (" in plan.guarantee.sentence()
    assert "with ε = 1 (" in w.plan(w.spec("b"), epsilon="1").guarantee.sentence()


@pytest.mark.parametrize("replace", [False, True])
def test_weights_cost_their_bound(world, replace):
    """A weight up to 2.5 in tenths moves a cell by up to 25; the law is that much wider."""
    facts = {"records": 10} if replace else {}
    w = world([A, B], weight=Weight("w", 10, Fraction(5, 2)), **facts)
    plan = w.plan(w.spec("a", weighted=True), w.spec("b"), epsilon="1", plan="wanted")
    assert _worst(w, plan, replace, weights=(1, 25)) == 1
    weighted = next(m for m in plan.detail.scheme.measured if m.margin.weighted)
    assert weighted.reach == 25


@pytest.mark.parametrize("replace", [False, True])
def test_single_weighted_cell_moves_by_one_weight(world, replace):
    """The weighted total moves by one weight at most, also where a record is replaced."""
    facts = {"records": 10} if replace else {}
    w = world([A, B], weight=Weight("w", 10, Fraction(5, 2)), **facts)
    plan = w.plan(w.spec(weighted=True), epsilon="1")
    assert _worst(w, plan, replace, weights=(0, 25)) == 1


def test_disjoint_filters_cost_their_maximum(world):
    """Two tables of people who cannot be the same each get all of ε; overlapping ones share it."""
    w = world([A, B])
    q = _questions(w)
    apart = w.plan(*q["disjoint filters"], epsilon="1").detail.scheme
    assert [m.one_sided for m in apart.measured] == [1, 1]
    assert apart.touched == 1
    together = w.plan(*q["overlapping filters"], epsilon="1").detail.scheme
    assert [m.one_sided for m in together.measured] == [Fraction(1, 2)] * 2
    assert together.touched == 2


def test_ratio_of_the_law_never_exceeds_its_share(world):
    """−ln of the drawn ratio, times how far a unit reaches, is at most the margin's cost."""
    w = world([A, B], records_per_unit=3)
    for part in w.plan(
        w.spec("a"), w.spec("b"), epsilon="0.7", plan="wanted"
    ).detail.scheme.measured:
        spent = ln_bracket(1 / part.law.ratio)[0] * part.reach
        assert spent <= part.one_sided
        assert part.one_sided - spent < Fraction(1, 10**15)


CUT = {
    "laplace": {"max_perturbation": "9"},
    "normal": {"max_perturbation": "9"},
    "max-entropy": {"max_perturbation": "9"},
    "ever faster": {"law": "exponential", "utility": "0 0 -1 -2 -4 -6 -9 -12 -16 -20"},
    "in steps": {"law": "exponential", "utility": "0 0 -3 -3 -3 -4 -7 -7 -8"},
}
"""Laws that end, and what is asked of each; the last can serve one record a unit only."""


@pytest.mark.parametrize("law", CUT)
@pytest.mark.parametrize("records_per_unit", [1, 2, 3])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.slow
def test_delta_bounds_every_pair_of_neighbours(world, law, records_per_unit, replace):
    """δ claimed for a truncated law is at least the exact δ(ε) of any change one unit can make."""
    facts = {"records": 10} if replace else {}
    w = world([variable("a", ["0", "1", "2"])], records_per_unit=records_per_unit, **facts)
    asked = {"law": law, **CUT[law]}
    if law == "in steps" and records_per_unit > 1:
        with pytest.raises(LawError, match="does not fall ever faster"):
            w.plan(w.spec("a"), epsilon="2", **asked)
        return
    plan = w.plan(w.spec("a"), epsilon="2", **asked)
    (part,) = plan.detail.scheme.measured
    pmf = {z: p for z, p in part.law.pmf.items() if p}
    e = np.exp(float(plan.charge.loss.epsilon))
    k = records_per_unit
    changes = {
        tuple(c)
        for c in itertools.product(range(-k, k + 1), repeat=3)
        if (
            sum(x for x in c if x > 0) <= k and -sum(x for x in c if x < 0) <= (k if replace else 0)
        )
    }
    worst = 0.0
    row = np.array([float(pmf.get(z, 0)) for z in range(-20, 21)])
    for change in changes:
        p = q = np.ones(1)
        for shift in change:
            p, q = np.outer(p, row).ravel(), np.outer(q, np.roll(row, shift)).ravel()
        worst = max(
            worst, float(np.maximum(p - e * q, 0).sum()), float(np.maximum(q - e * p, 0).sum())
        )
    claimed = float(plan.charge.loss.delta)
    assert worst <= claimed + 1e-14
    composed = [delta for epsilon, delta in plan.guarantee.composition if epsilon == 2]
    assert all(worst <= float(delta) + 1e-14 for delta in composed)
    if not replace:
        assert worst == pytest.approx(claimed, rel=1e-6)


def test_a_law_asked_by_delta_keeps_it_with_the_shortest_cut(world):
    """With delta instead of max_perturbation the law is cut where δ of the whole plan still holds."""
    w = world([A, B])
    plan = w.plan(w.spec("a"), w.spec("b"), epsilon="1", delta="1e-6", plan="wanted")
    loss = plan.charge.loss
    assert loss.epsilon == 1
    assert Fraction(0) < loss.delta <= Fraction(1, 10**6)
    m = plan.detail.scheme.measured[0].law.max_perturbation
    shorter = w.plan(
        w.spec("a"), w.spec("b"), epsilon="1", max_perturbation=str(m - 1), plan="wanted"
    )
    assert shorter.charge.loss.delta > Fraction(1, 10**6)


def test_gaussian_with_epsilon_and_delta_is_charged_as_such(world):
    """ρ is the largest for which the noise's own δ keeps (ε, δ); the charge is (ε, δ)."""
    w = world([A, B])
    plan = w.plan(w.spec("a"), law="gaussian", epsilon="1", delta="1e-6")
    assert (plan.charge.loss.epsilon, plan.charge.loss.delta) == (1, Fraction(1, 10**6))
    (part,) = plan.detail.scheme.measured
    assert ZcdpLoss(part.one_sided).to_approximate("1e-6").epsilon > 1
    assert 0.9e-6 < _gaussian_delta([(part.law, 1)]) <= 1e-6


def _gaussian_delta(cells):
    """δ at ε = 1 of cells with these laws, each moved by 1: every outcome enumerated."""
    losses, chances = np.zeros(1), np.ones(1)
    for law, times in cells:
        start, masses = law.masses()
        kept = masses > 1e-10
        z = np.arange(start, start + len(masses))[kept]
        for _ in range(times):
            losses = np.add.outer(losses, (1 - 2 * z) / (2 * float(law.sigma2))).ravel()
            chances = np.multiply.outer(chances, masses[kept]).ravel()
    over = losses > 1
    return float(np.sum(chances[over] * -np.expm1(1 - losses[over])))


@pytest.mark.parametrize("records", [None, 60])
def test_gaussian_plans_use_the_whole_delta(world, records):
    """Tables with shares and filters: what a unit can touch has δ just below that asked for."""
    w = world([A, B], records=records)
    specs = [w.spec("a", share="2/3"), w.spec("b", where={"a": [A.finest.codes[0]]}, share="1/3")]
    plan = w.plan(*specs, law="gaussian", epsilon="1", delta="1e-3")
    laws = {str(part.margin): part.law for part in plan.detail.scheme.measured}
    assert len(set(laws.values())) == 2
    if records is None:
        assert 0.95e-3 < _gaussian_delta([(law, 1) for law in laws.values()]) <= 1e-3
    else:  # two cells of the first table; records of one region are in one cell of it, a bound
        wide = max(laws.values(), key=lambda law: law.sigma2)
        cells = [(law, 1 if law == wide else 2) for law in laws.values()]
        assert 0.3e-3 < _gaussian_delta(cells) <= 1e-3


def test_more_than_one_step_keeps_to_what_any_noise_allows(world):
    """Several records a unit, or weights: δ goes through ρ as before, a bound."""
    w = world([A, B], records_per_unit=2)
    plan = w.plan(w.spec("a"), law="gaussian", epsilon="1", delta="1e-6")
    (part,) = plan.detail.scheme.measured
    assert ZcdpLoss(part.one_sided).to_approximate("1e-6").epsilon <= 1


def test_a_policy_limit_in_rho_holds_for_what_is_drawn(world):
    """rho_most bounds the noise's own ρ, which (ε, δ) alone would let be larger."""
    w = world([A, B], parameters={"rho_most": "0.0255"})
    plan = w.plan(w.spec("a"), law="gaussian", epsilon="1", delta="1e-6")
    (part,) = plan.detail.scheme.measured
    assert Fraction("0.025") < part.one_sided <= Fraction("0.0255")
