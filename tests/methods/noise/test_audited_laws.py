"""Hellinger's law and max-entropy asked by its variance: what is charged is what is drawn."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.core import law_kinds
from discreet.core.audit import audit, delta
from discreet.core.cell_law import CellLaw
from discreet.core.domain import variable
from discreet.core.hellinger_law import HellingerLaw
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.core.plan_loss import FixedPlan, Move, moves_of
from discreet.errors import CannotConclude, LawError, RecipeError, Refusal
from discreet.inference.comparison import difference
from discreet.inference.goodness import goodness_of_fit
from discreet.inference.intervals import interval, total
from discreet.inference.posterior import posterior
from discreet.inference.ranking import ranking
from discreet.methods.noise import laws

HELLINGER = {"law": "hellinger", "epsilon": "1", "max_count": "8", "max_value": "14"}
VARIANCE = {"law": "max-entropy", "variance": "6", "max_perturbation": "9"}


class Words:
    """A random source that gives the words it was told."""

    def __init__(self, words) -> None:
        self.words = np.array(words, dtype="<u8")

    def fill(self, buffer, count) -> None:
        buffer[:count] = self.words.view(np.uint8)[:count]


def _published(law: HellingerLaw, count: int) -> np.ndarray:
    """P(number | count) from the rows alone; counts beyond the last are cut."""
    row = law.rows[min(count, law.max_count)]
    return np.array([float(w) for w in row.dense]) / row.total


# -- what it costs ------------------------------------------------------------------------------


@pytest.mark.parametrize("records_per_unit", [1, 2])
@pytest.mark.parametrize("replace", [False, True])
def test_hellinger_is_charged_what_its_worst_neighbours_lose(world, records_per_unit, replace):
    """Every two neighbours, every outcome, counts beyond the last row too: within ε, with δ = 0."""
    facts = {"records": 20} if replace else {}
    w = world([variable("a", list("0123"))], records_per_unit=records_per_unit, **facts)
    plan = w.plan(w.spec("a", totals=False), **HELLINGER)
    (part,) = plan.detail.scheme.measured
    loss = plan.charge.loss
    assert isinstance(loss, PureLoss)
    assert loss.epsilon <= 1
    rows = np.log([_published(part.law, count) for count in range(12)])
    k, worst = records_per_unit, 0.0
    moved = [
        max(float(np.abs(rows[a + s] - rows[a]).max()) for a in range(12 - s)) for s in range(k + 1)
    ]  # the most one cell tells when it moves by 0, 1, …
    for change in itertools.product(range(-k, k + 1), repeat=4):
        up, down = sum(x for x in change if x > 0), -sum(x for x in change if x < 0)
        if max(up, down) <= k and (replace or not min(up, down)):
            worst = max(worst, sum(moved[abs(x)] for x in change))
    assert worst <= float(loss.epsilon)
    # up to its six digits nothing is charged that is not lost
    assert worst == pytest.approx(float(loss.epsilon), rel=1e-5)


def test_both_directions_are_audited():
    """What 0 tells from 1 is not what 1 tells from 0; the larger is charged."""
    law = HellingerLaw.of("1", 8, 14)
    found = audit(law)
    assert found.delta == found.boundary_mass == 0
    assert found.epsilon_forward != found.epsilon_backward
    assert max(found.epsilon_forward, found.epsilon_backward) <= law.step_loss < 1
    assert law.step_loss - found.epsilon < Fraction(1, 10**6)


@pytest.mark.parametrize("records_per_unit", [1, 2, 3])
@pytest.mark.parametrize("replace", [False, True])
def test_a_variance_is_charged_by_its_law(world, records_per_unit, replace):
    """ε and δ claimed cover every change one unit can make; for one record they are attained."""
    facts = {"records": 20} if replace else {}
    w = world([variable("a", ["0", "1"])], records_per_unit=records_per_unit, **facts)
    plan = w.plan(w.spec("a"), **VARIANCE)
    (part,) = plan.detail.scheme.measured
    assert part.law.variance == pytest.approx(6, rel=1e-12)
    loss, k = plan.charge.loss, records_per_unit
    assert isinstance(loss, ApproxLoss)
    row, e, worst = np.zeros(41), np.exp(float(loss.epsilon)), 0.0
    for z, p in part.law.pmf.items():
        row[z + 20] = float(p)
    for change in itertools.product(range(-k, k + 1), repeat=2):
        up, down = sum(x for x in change if x > 0), -sum(x for x in change if x < 0)
        if max(up, down) > k or (min(up, down) and not replace):
            continue
        p = q = np.ones(1)
        for shift in change:
            p, q = np.outer(p, row).ravel(), np.outer(q, np.roll(row, shift)).ravel()
        worst = max(worst, float(np.maximum(p - e * q, 0).sum()))
    assert worst <= float(loss.delta) + 1e-14
    if k == 1 and not replace:
        assert worst == pytest.approx(float(loss.delta), rel=1e-9)
        assert float(audit(part.law).epsilon) == pytest.approx(float(loss.epsilon), rel=1e-6)


def test_every_table_of_a_variance_costs_its_law(people):
    """Two tables cost twice as much; the recommended plan gives each of them the variance asked."""
    w = people()
    one = w.plan(w.spec("sex"), **VARIANCE).charge.loss
    plan = w.plan(w.spec("sex"), w.spec("ill"), **VARIANCE)
    assert plan.charge.loss == ApproxLoss(2 * one.epsilon, 2 * one.delta)
    assert [error.noise_sd for error in plan.errors] == pytest.approx([6**0.5] * 2)
    interior = w.plan(w.spec("sex"), w.spec("ill"), plan="interior", **VARIANCE)
    assert interior.charge.loss == one
    assert interior.errors[0].noise_sd == pytest.approx(12**0.5)


def test_limits_hold_for_what_is_found(people):
    """A policy's limit is held against the ε that a variance was found to cost."""
    assert people(parameters={"epsilon_most": "2"}).plan(
        people().spec("sex"), **{**VARIANCE, "variance": "9", "max_perturbation": "12"}
    )
    w = people(parameters={"epsilon_most": "0.5"})
    with pytest.raises(Refusal, match=r"up to 0\.5"):
        w.plan(w.spec("sex"), **VARIANCE)


# -- refusals -----------------------------------------------------------------------------------


def test_what_has_no_honest_figures_is_refused(people, world):
    """Weighted tables, shares of a fixed variance, rows too many: one sentence each."""
    w = people()
    two = [w.spec("sex", share="0.5"), w.spec("ill", share="0.5")]
    with pytest.raises(RecipeError, match="nothing to share out"):
        w.plan(*two, **VARIANCE)
    for said in (HELLINGER, VARIANCE):
        with pytest.raises(RecipeError, match="weighted table cannot be had"):
            w.plan(w.spec("sex", weighted=True), **said)
    with pytest.raises(LawError, match="at most 200,000 pairs"):
        w.plan(w.spec("sex"), **{**HELLINGER, "max_count": "400", "max_value": "600"})
    with pytest.raises(LawError, match="must be > 0 and < D"):
        w.plan(w.spec("sex"), **{**VARIANCE, "variance": "30"})


def test_no_total_is_a_sum_of_cells_with_a_law_for_each_count(people):
    """Totals are drawn by themselves, and what was not measured cannot be read off."""
    w = people()
    plan = w.plan(w.spec("region", "sex"), **HELLINGER)
    assert plan.question.settings["plan"] == "everything"
    assert all(target.summed == 1 for target in plan.detail.scheme.targets.values())
    alone = w.plan(w.spec("region", totals=False), **HELLINGER)
    assert alone.question.settings["plan"] == "interior"
    coarse = w.spec("region:half", totals=False)
    question, treatment = _asked(alone, coarse)
    assert w.method.derive(alone, question, treatment, w.facts) is None


def _asked(plan, spec):
    from discreet.core.question import Treatment

    return replace(plan.question, tables=(spec,)), Treatment()


# -- what is drawn ------------------------------------------------------------------------------


def test_draws_are_the_rows(people):
    """At every border of every row, and for counts beyond the last: the row's own number."""
    law = HellingerLaw.of("1", 8, 14)
    for count in (0, 1, 5, 8, 9, 40):
        row = law.rows[min(count, 8)]
        words = [0, *(u - 1 for u in row.uppers), *(u for u in row.uppers[:-1]), 2**64 - 1]
        drawn = law.draw_for(np.full(len(words), count), Words(words))
        assert drawn.tolist() == [row.at(word) + min(count, 8) for word in words]


def test_intervals_hold_for_every_count():
    """By enumeration: at least 95 % for each count with a row, and each number is in its own."""
    law = HellingerLaw.of("2", 20, 50)
    lower, upper = law.intervals("0.95")
    shown = np.arange(51)
    assert ((lower <= shown) & (shown <= upper)).all()
    for count in range(21):
        held = (lower <= count) & (count <= upper)
        assert _published(law, count)[held].sum() >= 0.95


def test_no_conclusion_forgets_larger_counts(world):
    """Whatever the count, also beyond the last row: noise intervals hold, and nothing else is told."""
    w = world([variable("a", ["0", "1"])], rows=[("0",)] * 100)
    plan = w.plan(w.spec("a", totals=False), **{**HELLINGER, "epsilon": "4"})
    (table,) = w.release(plan)
    (part,) = plan.detail.scheme.measured
    law, cell = part.law, {"a": "0"}
    for count in (0, 3, 8, 9, 100):
        held = 0.0
        for shown, chance in enumerate(_published(law, count)):
            answer = interval(replace(table, values=np.array([shown, 0])), cell)
            within = answer.upper is None or count <= answer.upper
            held += chance * (answer.lower <= count and within)
            assert answer.upper is None or "or more" not in answer.sentence
        assert held >= 0.95 - 1e-12
    other = {"a": "1"}
    for conclude in (
        lambda: interval(table, cell, "sampling"),
        lambda: difference(table, cell, other),
        lambda: posterior(table, cell),
        lambda: ranking(table, "a"),
        lambda: goodness_of_fit(table, {"0": "1/2", "1": "1/2"}),
        lambda: total(table, [cell, other]),
    ):
        with pytest.raises(CannotConclude, match="above 8 is published as if it were 8"):
            conclude()


def test_a_release_says_its_law(people):
    """Values in range, the law in the file makes the same rows again, no bias is kept quiet."""
    w = people()
    (table,) = w.release(w.plan(w.spec("sex"), **HELLINGER))
    assert table.values.min() >= 0
    assert table.values.max() <= 14
    read = CellLaw.from_json(json.loads(table.law.text))
    assert read == table.law
    chances = [read.probability(b, 3, {"sex": 0}) for b in range(15)]
    assert sum(chances) == 1
    assert len(table.law.text) < 2_000
    bias = law_kinds.read(law_kinds.written(table.law.sources[0].law)).biases[0]
    assert any(f"a true 0 comes out {bias:.3g} too large" in note for note in table.notes)
    assert any("published as if it were 8" in note for note in table.notes)


def test_another_law_than_its_digest_is_refused():
    """A file whose parameters were changed does not pass for the law it was."""
    written = law_kinds.written(HellingerLaw.of("1", 8, 14))
    written["parameters"] = {**written["parameters"], "epsilon": "2"}
    with pytest.raises(LawError):
        law_kinds.read(written)


# -- what is told of it -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "counts"), [("1", (20, 60)), ("0.05", (9, 9)), ("5", (30, 40))]
)
def test_composition_is_never_below_the_exact_delta(epsilon, counts):
    """One cell: the exact δ over all neighbouring counts to 10^-8; several: never below a product."""
    law = HellingerLaw.of(epsilon, *counts)
    plan = FixedPlan(moves_of([(Move(law), 1)]))
    for part in ("0", "0.2", "0.7", "0.99"):
        at = Fraction(part) * law.step_loss
        exact = float(delta(law, at))
        assert exact <= float(plan.delta(at)) <= exact + 1e-8
    two = FixedPlan(moves_of([(Move(law), 2)]))
    for pairs in itertools.product(((0, 1), (1, 0), (3, 4), (4, 3)), repeat=2):
        p, q = (
            np.outer(*(_published(law, pair[side]) for pair in pairs)).ravel() for side in (0, 1)
        )
        for at in (0.0, float(law.step_loss)):
            assert np.maximum(p - math.exp(at) * q, 0).sum() <= float(two.delta(Fraction(at)))


def test_step_loss_is_rounded_up():
    """Six digits, never below the audit; a law that gives counts away has none."""
    law = laws.by_variance(Fraction(10), 12)
    assert 0 <= laws.step_loss(law) - audit(law).epsilon < Fraction(1, 10**5)
    with pytest.raises(LawError, match="gives every count away"):
        laws.step_loss(laws.by_variance(Fraction(1, 10**25), 3))
