"""Plans: what is refused, what is chosen, what is told; and one sentence for every bad input."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import pytest

from discreet.core.charge import Charge, recomputed
from discreet.core.control import Control
from discreet.core.description import Weight
from discreet.core.design import epsilon_for_accuracy
from discreet.core.domain import variable
from discreet.core.exact import plain
from discreet.core.loss import ApproxLoss, PureLoss, ZcdpLoss
from discreet.core.margins import Margin
from discreet.errors import Bug, InputError, LawError, RecipeError, Refusal
from discreet.methods import registry
from discreet.methods.noise.method import NoiseMethod
from discreet.methods.noise.shares import best_shares

# -- refusals -----------------------------------------------------------------------------------


def test_a_found_domain_is_refused_by_name(world):
    """An undeclared variable, as axis or filter, is refused with the commands that help."""
    w = world([variable("a", ["0", "1"], declared=False), variable("b", ["0", "1"])])
    for spec in (w.spec("a"), w.spec("b", where={"a": ["0"]})):
        with pytest.raises(Refusal, match="categories of a were found") as caught:
            w.plan(spec, epsilon="1")
        assert caught.value.rule == "declared-domain"
        assert any("discreet check" in each.words for each in caught.value.alternatives)
        assert any("discreet declare DIR a" in each.words for each in caught.value.alternatives)
    assert w.plan(w.spec("b"), epsilon="1").charge.loss == PureLoss(1)


def test_a_weight_without_a_bound_is_refused(people):
    """Noise is in proportion to the largest weight, so one must be public."""
    w = people(weight=Weight("w", 10))
    with pytest.raises(Refusal, match="public bound on the weight w") as caught:
        w.plan(w.spec("sex", weighted=True), epsilon="1")
    assert caught.value.rule == "weight-bound"


def test_the_policy_caps_what_one_question_may_ask(people):
    """epsilon_most refuses more, also where an accuracy would need more."""
    w = people(parameters={"epsilon": "0.5", "epsilon_most": "1"})
    assert w.plan(w.spec("sex")).charge.loss == PureLoss("0.5")
    assert w.plan(w.spec("sex"), w.spec("ill")).charge.loss == PureLoss("1")
    for asked in ({"epsilon": "1.5"}, {"within": "0"}):
        with pytest.raises(Refusal) as caught:
            w.plan(w.spec("sex"), **asked)
        assert caught.value.rule == "most-per-question"


@pytest.mark.parametrize(
    ("limits", "asked", "fine"),
    [
        ({"epsilon_most": "1"}, {"law": "gaussian", "rho": "0.001"}, False),
        ({"epsilon_most": "1"}, {"law": "gaussian", "within": "50"}, False),
        ({"epsilon_most": "1", "rho_most": "0.1"}, {"law": "gaussian", "rho": "0.1"}, True),
        ({"epsilon_most": "1"}, {"law": "gaussian", "epsilon": "1", "delta": "1e-6"}, True),
        ({"rho_most": "0.5"}, {"epsilon": "1"}, True),
        ({"rho_most": "0.5"}, {"epsilon": "1.001"}, False),
        ({"rho_most": "0.5"}, {"within": "0"}, False),
        ({"rho_most": "0.5"}, {"law": "normal", "epsilon": "0.1", "delta": "1e-6"}, False),
        ({"rho_most": "0.001"}, {"law": "gaussian", "epsilon": "1", "delta": "1e-6"}, False),
    ],
)
def test_a_limit_in_one_kind_leaves_no_other_kind_unlimited(people, limits, asked, fine):
    """A policy that writes only epsilon_most does not leave ρ without a limit, nor the other way."""
    w = people(parameters=limits)
    if fine:
        assert w.plan(w.spec("sex"), **asked).charge is not None
        return
    with pytest.raises(Refusal) as caught:
        w.plan(w.spec("sex"), **asked)
    assert caught.value.rule == "most-per-question"


def test_a_table_too_large_is_refused(world):
    """More cells than one question may measure: refused, whatever the plan."""
    codes = [str(i) for i in range(300)]
    w = world([variable(n, codes) for n in "abc"])
    with pytest.raises(Refusal, match="27,000,000 cells") as caught:
        w.plan(w.spec(*"abc"), epsilon="1")
    assert caught.value.rule == "table-size"
    two = [w.spec("a", "b"), w.spec("c")]
    with pytest.raises(Refusal, match="Plan interior"):
        w.plan(*two, epsilon="1", plan="interior")
    assert w.plan(*two, epsilon="1").detail.scheme.name == "wanted"


def test_only_the_public_total_is_no_question(people):
    """The declared number of records needs no noise and no charge."""
    w = people(records=60)
    with pytest.raises(RecipeError, match="declared public \\(60\\)"):
        w.plan(w.spec(), epsilon="1")


# -- bad input: one sentence each ---------------------------------------------------------------

BAD = [
    ({}, "This question has no epsilon"),
    ({"epsilon": "-1"}, "epsilon must be > 0"),
    ({"epsilon": "abc"}, "epsilon must be a number"),
    ({"epsilon": "101"}, "≤ 100"),
    ({"epsilon": "1", "law": "laplas"}, "law must be one of.*Did you mean laplace"),
    ({"rho": "1"}, "rho is for law gaussian"),
    ({"law": "gaussian", "epsilon": "1"}, "needs rho, or epsilon with delta"),
    ({"law": "gaussian", "rho": "1", "epsilon": "1"}, "epsilon or rho, got both"),
    ({"law": "gaussian", "rho": "1", "delta": "1e-6"}, "Leave delta out"),
    ({"law": "gaussian", "rho": "1", "max_perturbation": "5"}, "is not truncated"),
    ({"law": "normal", "epsilon": "1"}, "has a delta, got neither"),
    ({"law": "max-entropy", "epsilon": "1"}, "has a delta, got neither"),
    ({"law": "Hellinger", "epsilon": "1"}, "needs the largest count"),
    ({"law": "hellinger", "max_count": "9"}, "This question has no epsilon"),
    ({"law": "hellinger", "epsilon": "1", "max_count": "9", "delta": "1e-6"}, "has delta 0"),
    ({"law": "hellinger", "within": "5", "max_count": "9"}, "depends on the count"),
    (
        {"law": "hellinger", "epsilon": "1", "max_count": "9", "max_value": "8"},
        "at least max_count = 9.*got 8",
    ),
    ({"law": "hellinger", "epsilon": "1", "max_count": "9", "plan": "interior"}, "of its own"),
    (
        {"law": "hellinger", "epsilon": "1", "max_count": "9", "consistency": "integers"},
        "cannot be brought into agreement",
    ),
    (
        {"law": "hellinger", "epsilon": "1", "max_count": "9", "negatives": "balance"},
        "cannot be brought into agreement",
    ),
    ({"epsilon": "1", "max_count": "9"}, "are for law hellinger, got them with law laplace"),
    ({"variance": "4"}, "variance is for law max-entropy, got it with law laplace"),
    ({"law": "max-entropy", "variance": "4"}, "needs max_perturbation too"),
    (
        {"law": "max-entropy", "variance": "4", "max_perturbation": "9", "epsilon": "1"},
        "Leave one out",
    ),
    ({"law": "exponential", "epsilon": "1"}, "needs a utility"),
    ({"utility": "0 -1", "epsilon": "1"}, "utility is for law exponential"),
    ({"law": "exponential", "epsilon": "1", "utility": "0"}, "from 2 to 1,001 of them, got 1"),
    (
        {"law": "exponential", "epsilon": "1", "utility": "0 -1 -0.5"},
        "not rise .* -0.5 at ±2 after",
    ),
    ({"law": "exponential", "epsilon": "1", "utility": "3 3 3"}, "must fall somewhere, got 3"),
    (
        {"law": "exponential", "epsilon": "1", "utility": "0 -1", "max_perturbation": "3"},
        "the last one its utility has",
    ),
    (
        {"law": "exponential", "epsilon": "1", "utility": "0 -1 -2", "delta": "1e-6"},
        "utility up to ±2 this question has delta 0.0675, more than the 1e-06 allowed",
    ),
    ({"epsilon": "1", "delta": "1"}, "delta must be"),
    ({"epsilon": "1", "max_perturbation": "2.5"}, "whole number"),
    ({"epsilon": "1", "max_perturbation": "2", "delta": "1e-6"}, "more than the 1e-06 allowed"),
    ({"epsilon": "1", "plan": "worst"}, "plan must be one of"),
    ({"epsilon": "1", "negatives": "drop"}, "negatives must be one of"),
    ({"epsilon": "1", "negatives": "threshold"}, "needs a number"),
    ({"epsilon": "1", "threshold": "3"}, "goes with negatives: threshold"),
    ({"epsilon": "1", "consistency": "exact"}, "consistency must be one of"),
    ({"epsilon": "1", "consistency": "integers", "negatives": "clip"}, "cannot both hold"),
    ({"epsilon": "1", "within": "5"}, "Leave one out"),
    ({"epsilon": "1", "of": "95%"}, "of goes with within"),
    ({"within": "5", "of": "100%"}, "below 100 %"),
    ({"epsilon": "1", "epsylon": "1"}, "no setting epsylon.*Did you mean epsilon"),
    ({"epsilon": "1", "epsilon_most": "9"}, "epsilon_most is set by the policy"),
]


@pytest.mark.parametrize(("asked", "sentence"), BAD)
def test_bad_questions_get_one_sentence(people, asked, sentence):
    """What is wrong, the value got, what is allowed, what to do next; exit code 2."""
    w = people()
    with pytest.raises(RecipeError, match=sentence) as caught:
        w.plan(w.spec("sex"), **asked)
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 260


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ({"law": "cauchy"}, "law must be one of"),
        ({"epsilon": 0.5}, "exact number, got the float"),
        ({"negative": "clip"}, "no setting negative.*Did you mean negatives"),
        ({"rho": "1"}, "rho is for law gaussian"),
    ],
)
def test_bad_policies_get_one_sentence(written, sentence):
    """The same for what a policy writes, when it is checked."""
    with pytest.raises(InputError, match=sentence):
        NoiseMethod().settings(written)


def test_shares_must_add_up(people):
    """Shares that miss 1, that some tables lack, or that no plan can use."""
    w = people()
    with pytest.raises(RecipeError, match=r"must add up to 1, got 0\.9"):
        w.plan(w.spec("sex", share="0.5"), w.spec("ill", share="0.4"), epsilon="1")
    with pytest.raises(RecipeError, match="1 of 2 tables have no share"):
        w.plan(w.spec("sex", share="1"), w.spec("ill"), epsilon="1")
    with pytest.raises(RecipeError, match="Shares are for plan wanted"):
        w.plan(w.spec("sex", share="1/2"), w.spec("ill", share="1/2"), epsilon="1", plan="interior")


def test_law_errors_come_through(people):
    """A law that cannot be had says so."""
    w = people()
    with pytest.raises(LawError):
        w.plan(w.spec("sex"), epsilon="1e-7")


# -- choices ------------------------------------------------------------------------------------


def test_one_table_measures_its_interior_with_all_of_epsilon(people):
    """An analyst's table: d = 1, totals are sums, everything else is offered beside it."""
    plan = people().plan(people().spec("region", "sex"), epsilon="1")
    (part,) = plan.detail.scheme.measured
    assert part.one_sided == 1
    assert plan.charge.to_json()["mechanism"] == "discrete-laplace"
    told = {a["name"]: a for a in plan.alternatives}
    assert told["interior"]["chosen"]
    assert told["interior"]["recommended"]
    assert told["everything"]["d"] == 4
    assert json.dumps(told)


def test_tables_that_are_sums_of_another_are_measured_once(people):
    """A coarser or smaller table beside its parent is summed where that is best."""
    w = people()
    plan = w.plan(w.spec("region", "sex"), w.spec("region:half"), w.spec("sex"), epsilon="1")
    assert [str(part.margin) for part in plan.detail.scheme.measured] == ["region × sex"]
    assert plan.detail.scheme.touched == 1
    assert len(plan.counts) == 1


def test_identical_tables_cost_once(people):
    """The same table twice, with and without totals, is one measurement."""
    w = people()
    plan = w.plan(w.spec("sex"), w.spec("sex", totals=False), epsilon="1", plan="wanted")
    assert len(plan.detail.scheme.measured) == 1


def test_few_counts_serve_many_margins(people):
    """Everything is counted once: margins are sums of the interior in memory."""
    w = people()
    plan = w.plan(w.spec("region", "sex", "ill"), epsilon="1", plan="everything")
    assert len(plan.detail.scheme.measured) == 8
    assert len(plan.counts) == 1


def test_shares_follow_the_cube_root_and_the_square_root():
    """Minimising Σ a/ε² under Σ ε = 1 against a grid of a thousand splits."""
    for root, power in ((3, 2), (2, 1)):
        burdens = [Fraction(27), Fraction(1)]
        shares = best_shares(burdens, root=root)
        assert sum(shares) == 1

        def total(x, power=power, burdens=burdens):
            return float(burdens[0]) / x**power + float(burdens[1]) / (1 - x) ** power

        best = min(total(i / 1000) for i in range(1, 1000))
        assert total(float(shares[0])) <= best * 1.0001


def test_accuracy_asked_for_gives_the_least_epsilon(people):
    """95 % of cells within ± 5 needs ε = 0.54 (adoption notes); a thousandth less does not do."""
    w = people()
    plan = w.plan(w.spec("sex"), within="5", of="95%")
    epsilon = plan.charge.loss.epsilon
    assert round(float(epsilon), 2) == 0.54
    assert epsilon == epsilon_for_accuracy(5, "0.95")
    assert plan.errors[0].half_width <= 5
    less = w.plan(w.spec("sex"), epsilon=str(epsilon - Fraction(1, 1000)))
    assert less.errors[0].half_width > 5


def test_accuracy_with_other_laws(people):
    """The same for ρ and for a law with δ."""
    w = people()
    assert isinstance(w.plan(w.spec("sex"), within="5", law="gaussian").charge.loss, ZcdpLoss)
    loss = w.plan(w.spec("sex"), within="5", delta="1e-6").charge.loss
    assert isinstance(loss, ApproxLoss)


def test_warnings_speak_of_public_facts_only(people):
    """δ against the declared number of records, sparse tables, a better plan."""
    w = people(records=60)
    plan = w.plan(w.spec("region", "sex", "ill"), epsilon="0.1", max_perturbation="20")
    assert any("1 in 60 records" in text for text in plan.warnings)
    assert any("Merge categories: half (2 instead of 3)" in text for text in plan.warnings)
    quiet = people().plan(people().spec("region", "sex", "ill"), epsilon="0.1")
    assert quiet.warnings == ()
    rough = people(about=60).plan(people().spec("region", "sex", "ill"), epsilon="0.1")
    assert "cells for about 60 records" in rough.warnings[0]
    assert "Merge categories: half (2 instead of 3)" in rough.warnings[0]
    assert rough.charge == quiet.charge
    assert rough.guarantee == quiet.guarantee
    assert people(about=10**6).plan(people().spec("sex"), epsilon="0.1").warnings == ()
    worse = people().plan(people().spec("region", "sex"), epsilon="1", plan="everything")
    assert any("Plan interior would have" in text for text in worse.warnings)
    private = people().plan(people().spec("sex"), epsilon="1", max_perturbation="8")
    assert any("0.000001 or less is usual" in text for text in private.warnings)


def test_guarantee_names_unit_neighbours_and_odds(people):
    """ε with its unit and neighbours in one sentence; odds rounded up; ρ read at δ = 1e-6."""
    w = people(records_per_unit=3, unit="household")
    plan = w.plan(w.spec("sex"), epsilon="1")
    said = plan.guarantee.sentence()
    assert "ε = 1 (neighbours: add or remove one household (up to 3 records))" in said
    assert plan.guarantee.odds[1:] == (
        "A guess that one household is in the data that was 10 % sure becomes at most 24 % sure.",
        "Which category all records of one household are in: at best, erring equally both ways, a "
        "suspicious reader tells two of them apart after 73 of 100 possible releases; a guess that "
        "was 10 % sure becomes at most 46 % sure.",
    )
    person = people().plan(people().spec("sex"), epsilon="1").guarantee
    assert person.odds[0].endswith(
        "after 26 of 100 possible releases if you are not, and after 74 if you are."
    )
    rho = w.plan(w.spec("sex"), law="gaussian", rho="1/8")
    assert rho.guarantee.rho == Fraction(1, 8)
    assert rho.guarantee.sentence().startswith(
        "Zero-concentrated differentially private with ρ = 0.125, so ε ≤ 2.257 with δ = 0.000001 ("
    )


@pytest.mark.parametrize(
    ("asked", "tables", "right"),
    [
        ({"law": "gaussian", "rho": "1/2"}, 1, "70"),
        ({"law": "gaussian", "rho": "1/50"}, 1, "54"),
        ({"epsilon": "1"}, 6, "58"),
    ],
)
def test_the_best_guesser_is_as_good_as_the_laws_let_him(four_way, asked, tables, right):
    """ρ = 0.5: 69.9 of 100 (Φ(√(2ρ)/2) is 69.1, were counts not whole); ε = 1 over six tables: 57.8."""
    w = four_way()
    pairs = [w.spec(*pair, totals=False) for pair in itertools.combinations("abcd", 2)]
    promise = w.plan(*pairs[:tables], plan="wanted", **asked).guarantee
    assert promise.odds[0].endswith(f"if you are not, and after {right} if you are.")


def test_a_plan_counted_as_one_is_told_and_never_charged(four_way):
    """Sixteen margins at ε / 16 keep less than ε at δ = 0.000001; the charge is the sum."""
    w = four_way()
    plan = w.plan(w.spec(*"abcd"), plan="everything", epsilon="1")
    (point,) = plan.guarantee.composition
    assert point[0] < 1
    assert point[1] == Fraction(1, 10**6)
    assert f"keep ε ≤ {plain(point[0])} with δ ≤ 0.000001" in plan.guarantee.counted_as_one()
    assert plan.charge.loss == PureLoss(1)
    assert plan.guarantee.epsilon == 1
    alone = w.plan(w.spec("a", totals=False), epsilon="1").guarantee
    assert alone.composition == ()
    assert alone.counted_as_one() is None


def test_the_exceptions_of_a_truncated_law_are_its_own(people):
    """Laplace ε = 1 cut at 3: 1 release of 42, not δ over a tenth of ε; two cells: 1 of 21."""
    w = people()
    promise = w.plan(w.spec("sex", totals=False), epsilon="1", max_perturbation="3").guarantee
    assert "at most 24 % sure, except in 1 of every 42 releases, where no bound" in promise.odds[1]
    assert "at most 46 % sure, except in 1 of every 21 releases, where no bound" in promise.odds[2]


@pytest.mark.parametrize(
    ("asked", "mechanism"),
    [
        ({"epsilon": "1"}, "discrete-laplace"),
        ({"epsilon": "1", "max_perturbation": "40"}, "integer-law"),
        ({"law": "gaussian", "rho": "1/8"}, "discrete-gaussian"),
    ],
)
@pytest.mark.parametrize("plan_name", ["interior", "everything"])
def test_charges_say_their_mechanism(people, asked, mechanism, plan_name):
    """One law on all cells is charged in words from which a ledger can compute the loss again."""
    w = people()
    plan = w.plan(w.spec("region", "sex"), plan=plan_name, **asked)
    assert plan.charge.mechanism == mechanism
    assert recomputed(plan.charge) == plan.charge.loss
    assert plan.charge.cells == {"interior": 1, "everything": 4}[plan_name]


def test_unlike_laws_are_charged_as_a_plan(people):
    """Different laws in one question: the charge names every margin with its law."""
    w = people()
    plan = w.plan(w.spec("sex", share="1/4"), w.spec("ill", share="3/4"), epsilon="1")
    assert plan.charge.mechanism == "noise-plan"
    told = dict(plan.charge.parameters)
    assert told["m000"] == "ill: name laplace, epsilon 0.75; unit moves a cell by up to 1"
    assert Charge.from_json(plan.charge.to_json()) == plan.charge


def test_plans_do_not_depend_on_the_data(people):
    """Plan, charge, alternatives and texts are equal for any records at all (Show 8)."""
    first, second = people(), people(rows=[("n", "f", "no")])
    told = []
    for w in (first, second):
        plan = w.plan(w.spec("region", "sex"), w.spec("ill"), epsilon="1")
        told.append(
            (plan.charge.to_json(), plan.guarantee.to_json(), plan.alternatives, plan.warnings)
        )
    assert told[0] == told[1]


def test_the_order_of_tables_changes_nothing(people):
    """Two orders of the same tables have one hash, one charge, and one another's measurements."""
    w = people()
    specs = [
        w.spec("region", "sex"),
        w.spec("ill"),
        w.spec("sex", where={"ill": ["yes"]}),
        w.spec("sex", "ill"),
    ]
    for name in ("best", "wanted", "interior", "everything"):
        first = w.plan(*specs, epsilon="1", plan=name)
        second = w.plan(*specs[::-1], epsilon="1", plan=name)
        assert first.question_hash == second.question_hash
        assert first.charge == second.charge
        measured = w.method.measure(first, w.tables(first), None, Control())
        tables = w.method.fit(first, measured, w.facts, Control())
        again = w.method.fit(second, measured, w.facts, Control())
        for one, other in zip(tables, again[::-1], strict=True):
            assert (one.values == other.values).all()


def test_measurements_of_another_plan_are_not_fitted(people):
    """Stored measurements say their margins and laws; a plan that disagrees stops."""
    w = people()
    plan = w.plan(w.spec("sex"), epsilon="1")
    measured = w.method.measure(plan, w.tables(plan), None, Control())
    with pytest.raises(Bug):
        w.method.fit(w.plan(w.spec("ill"), epsilon="1"), measured, w.facts, Control())
    with pytest.raises(Bug):
        w.method.fit(w.plan(w.spec("sex"), epsilon="2"), measured, w.facts, Control())


def test_margins_say_their_names():
    """A margin in words, for plans and charges."""
    assert str(Margin(())) == "total"


def test_the_registry_knows_it():
    """One registered method of that name."""
    assert isinstance(registry.get("noise"), NoiseMethod)
