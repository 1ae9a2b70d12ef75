"""Losses of three kinds: exact, apart, and converted only by name and upwards."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.charge import Charge, as_dp_accounting_event, as_register, sum_of
from discreet.core.loss import (
    ApproxLoss,
    PureLoss,
    ZcdpLoss,
    largest_epsilon,
    loss_from_json,
    loss_to_json,
    read_as,
    zero,
)
from discreet.errors import InputError

ONE_OF_EACH = (PureLoss("1"), ApproxLoss("1", "1e-6"), ZcdpLoss("1"))
positive = st.fractions(min_value=0, max_value=20, max_denominator=10**9)


@pytest.mark.parametrize(("first", "second"), list(combinations(ONE_OF_EACH, 2)))
def test_kinds_do_not_mix_by_accident(first, second):
    """Adding, subtracting or comparing two kinds is refused with one sentence."""
    for act in (operator.add, operator.sub, lambda one, two: one.fits(two)):
        with pytest.raises(InputError, match="cannot be"):
            act(first, second)
        with pytest.raises(InputError, match="cannot be"):
            act(second, first)
    with pytest.raises(InputError, match="kind pure and one of kind Fraction"):
        PureLoss("1") + Fraction(1)


def test_three_thirds_are_one():
    """Sums are exact: three times 1/3 fits a budget of 1, and not a hair more."""
    third = PureLoss("1/3")
    assert (third + third + third).fits(PureLoss(1))
    assert not (third + third + third + PureLoss("1e-18")).fits(PureLoss(1))


def test_floats_are_refused():
    with pytest.raises(InputError, match="Write it as text"):
        PureLoss(0.1)


@settings(deadline=None)
@given(st.lists(st.fractions(min_value=0, max_value=1), max_size=60))
def test_long_sums_stay_short_and_never_round_down(costs):
    """However odd the denominators, a sum is at least the exact one and not 1e-38 above it."""
    total = PureLoss(0)
    for i, cost in enumerate(costs):
        total += PureLoss(cost / (10**12 + 39 + 2 * i))
    true = sum((cost / (10**12 + 39 + 2 * i) for i, cost in enumerate(costs)), Fraction(0))
    assert true <= total.epsilon <= true + Fraction(1, 10**38)
    assert total.epsilon.denominator <= 10**60


@settings(deadline=None)
@given(positive)
def test_pure_to_zcdp_is_half_the_square_or_more(epsilon):
    assert PureLoss(epsilon).as_zcdp().rho >= epsilon**2 / 2


@pytest.mark.parametrize("rho", ["0.001", "0.02", "0.5", "3"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_zcdp_to_approximate_agrees_with_dp_accounting(rho, delta):
    """Within one per cent of dp-accounting's own conversion, and below the textbook formula."""
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(orders=[1 + 1.02**i / 50 for i in range(900)])
    accountant.compose(dp_accounting.ZCDpEvent(rho=float(rho)))
    theirs = accountant.get_epsilon(float(delta))
    ours = ZcdpLoss(rho).to_approximate(delta)
    assert float(ours.epsilon) == pytest.approx(theirs, rel=0.01)
    textbook = float(rho) + 2 * (float(rho) * -__import__("math").log(float(delta))) ** 0.5
    assert float(ours.epsilon) < textbook


def test_zcdp_to_approximate_holds_for_the_discrete_gaussian():
    """δ of a discrete Gaussian at the converted ε, enumerated, stays below the δ asked for."""
    from math import exp, fsum

    sigma2 = 8.0
    span = range(-120, 121)
    weight = {z: exp(-z * z / (2 * sigma2)) for z in span}
    whole = fsum(weight.values())
    converted = ZcdpLoss(Fraction(1, 16)).to_approximate("1e-5")
    rise = exp(float(converted.epsilon))
    delta = fsum(max(0.0, weight[z] - rise * weight.get(z - 1, 0.0)) / whole for z in span)
    assert 0 < delta <= 1e-5


def test_no_way_back():
    with pytest.raises(InputError, match="cannot be charged to a budget of kind pure"):
        read_as(ApproxLoss("1", "1e-6"), "pure")
    with pytest.raises(InputError, match="ask with epsilon and delta instead of rho"):
        read_as(ZcdpLoss("1"), "approximate")
    with pytest.raises(InputError, match="Did you mean pure"):
        zero("puer")


@settings(deadline=None)
@given(positive)
def test_largest_epsilon_fits_and_is_largest(amount):
    """For zCDP the largest ε is rounded down: it fits, and 1e-11 more does not."""
    left = ZcdpLoss(amount)
    best = largest_epsilon(left)
    assert PureLoss(best).as_zcdp().fits(left)
    assert not PureLoss(best + Fraction(2, 10**12)).as_zcdp().fits(left)
    assert largest_epsilon(PureLoss(amount)) == amount


@settings(deadline=None)
@given(positive, positive)
def test_stored_form_reads_back(a, b):
    for loss in (PureLoss(a), ApproxLoss(a, b), ZcdpLoss(b)):
        assert loss_from_json(loss_to_json(loss)) == loss
    with pytest.raises(InputError):
        loss_from_json({"kind": "pure"})
    with pytest.raises(InputError, match="unknown kind"):
        loss_from_json({"kind": "renyi"})


def charge(epsilon="0.5", cells=1):
    return Charge.laplace(epsilon, cells=cells, neighbours="add-remove", question="q")


def test_sums_read_charges():
    """The same charges, three sums: ε, (ε, δ) and ρ."""
    assert sum_of("pure", [charge(), charge("0.1", 3)]) == PureLoss("0.8")
    law = Charge.law("0.2", "1e-6", cells=2, neighbours="replace-one", question="q")
    assert sum_of("approximate", [charge(), law]) == ApproxLoss("0.9", "2e-6")
    normal = Charge.gaussian("4", cells=2, neighbours="add-remove", question="q")
    assert sum_of("zcdp", [charge(), normal]) == ZcdpLoss(Fraction(1, 8) + Fraction(1, 4))


def test_a_charge_below_its_own_parameters_is_refused():
    with pytest.raises(InputError, match="below the epsilon"):
        Charge(
            "discrete-laplace",
            {"epsilon": "0.5"},
            cells=3,
            neighbours="add-remove",
            question="q",
            loss=PureLoss("0.5"),
        )


def test_a_known_mechanism_needs_its_parameters():
    with pytest.raises(InputError, match="needs its own parameters"):
        Charge(
            "discrete-laplace",
            {},
            cells=1,
            neighbours="add-remove",
            question="q",
            loss=PureLoss("0.5"),
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cells": 0}, "whole number ≥ 1"),
        ({"cells": True}, "whole number ≥ 1"),
        ({"neighbours": "add-remov"}, "Did you mean add-remove"),
        ({"question": ""}, "1 to 200 characters"),
        ({"loss": "0.5"}, "must be a PureLoss"),
    ],
)
def test_bad_charges_are_refused(change, words):
    good = {"cells": 1, "neighbours": "add-remove", "question": "q", "loss": PureLoss(1)}
    with pytest.raises(InputError, match=words):
        Charge("plan", {}, **{**good, **change})


def test_charge_form_is_kept():
    """The stored form, field by field: a change here breaks old ledgers."""
    law = Charge.law(
        "0.5",
        "1e-6",
        cells=2,
        neighbours="add-remove",
        question="abc",
        parameters={"law": "laplace", "max_perturbation": "7"},
    )
    stored = {
        "form": 1,
        "mechanism": "integer-law",
        "parameters": {
            "delta": "0.000001",
            "epsilon": "0.5",
            "law": "laplace",
            "max_perturbation": "7",
        },
        "cells": 2,
        "neighbours": "add-remove",
        "question": "abc",
        "loss": {"kind": "approximate", "epsilon": "1", "delta": "0.000002"},
    }
    assert law.to_json() == stored
    assert Charge.from_json(stored) == law
    assert Charge.from_json({**stored, "added_later": 1}) == law
    with pytest.raises(InputError, match="stored in form 3"):
        Charge.from_json({**stored, "form": 3})
    with pytest.raises(InputError, match="names a loss"):
        Charge.from_json({**stored, "form": 2})


RECORD = Charge.record("suppression", {"released": "12"}, question="q")


def test_a_record_has_its_own_form():
    """Stored in a form that readers of form 1 refuse, and without fields it does not have."""
    stored = {
        "form": 2,
        "mechanism": "suppression",
        "parameters": {"released": "12"},
        "question": "q",
    }
    assert RECORD.to_json() == stored
    assert Charge.from_json({**stored, "added_later": 1}) == RECORD


@pytest.mark.parametrize("kind", ["pure", "approximate", "zcdp"])
def test_a_record_adds_nothing_to_any_sum(kind):
    assert sum_of(kind, [RECORD]) == zero(kind)
    assert sum_of(kind, [RECORD, charge()]) == sum_of(kind, [charge()])


def test_no_loss_can_be_left_out():
    """A mechanism with a known loss is not recorded, and a record promises no neighbours."""
    for mechanism in ("discrete-laplace", "discrete-gaussian", "integer-law"):
        with pytest.raises(InputError, match="has a loss"):
            Charge.record(mechanism, {"epsilon": "0.5"}, question="q")
    with pytest.raises(InputError, match="neither cells nor neighbours"):
        Charge("plan", {}, cells=1, neighbours="add-remove", question="q", loss=None)


def test_no_epsilon_is_claimed_over_a_record():
    """The register says loss kind none; an accountant of dp-accounting says infinity."""
    import math

    from dp_accounting.pld import PLDAccountant

    assert as_register([RECORD]) == [
        {
            "mechanism": "suppression",
            "parameter_released": "12",
            "question": "q",
            "loss_kind": "none",
        }
    ]
    accountant = PLDAccountant()
    accountant.compose(as_dp_accounting_event([charge(), RECORD]))
    assert accountant.get_epsilon(1e-6) == math.inf


def test_register_is_plain():
    row = as_register([charge("0.1", 3)])[0]
    assert row["loss_epsilon"] == "0.3"
    assert row["cells_per_unit"] == 3


def test_export_to_dp_accounting_costs_the_same():
    """dp-accounting charges our exported discrete Laplace events at most our sum of ε."""
    from dp_accounting.pld import PLDAccountant

    plan = Charge(
        "noise-plan", {}, cells=2, neighbours="add-remove", question="q", loss=PureLoss("0.125")
    )
    event = as_dp_accounting_event([charge("0.5", 3), charge("0.125"), plan])
    theirs = PLDAccountant(value_discretization_interval=1e-4)
    theirs.compose(event)
    assert theirs.get_epsilon(1e-12) == pytest.approx(1.75, abs=2e-3)
    import dp_accounting

    normal = Charge.gaussian("2", cells=1, neighbours="add-remove", question="q")
    (only,) = as_dp_accounting_event([normal]).events
    assert only == dp_accounting.ZCDpEvent(rho=0.25)
    law = Charge.law("0.2", "1e-6", cells=1, neighbours="add-remove", question="q")
    assert not PLDAccountant().supports(as_dp_accounting_event([law]))


def test_an_adaptive_sequence_cheats_a_fixed_composition_and_is_stopped_by_the_sum():
    """Asking what the first answer makes profitable overspends a cap that holds for fixed plans.

    First a table with ε = 1. Where its answer speaks for one neighbour, a second one with ε = 1;
    where it speaks against it, a law that fails outright with probability δ. Each branch alone
    keeps (1.2, δ) when fixed beforehand, the pair of branches does not. The sum of (ε, δ) refuses
    the second question in the first branch.
    """
    high = Fraction(int(Fraction(math.e) * 2**20), 2**20)  # a rational e, from below
    first = {0: high / (1 + high), 1: 1 / (1 + high)}  # one cell, answer 0 or 1; pure ε ≤ 1
    other = {0: first[1], 1: first[0]}
    rise = Fraction(math.exp(1.2)) * (1 + Fraction(1, 2**50))

    def delta_of(plan):
        """δ at 1.2 where `plan` says which laws follow each first answer."""
        pairs = ((first[a] * here[b], other[a] * there[b]) for a, here, there in plan for b in here)
        return sum((max(Fraction(0), p - rise * q) for p, q in pairs), Fraction(0))

    delta = delta_of([(0, first, other), (1, first, other)])
    leak = {0: 1 - delta, 1: delta}  # shows the truth with probability δ, else nothing
    none = {0: 1 - delta, 1: Fraction(0)}
    assert delta_of([(0, leak, none), (1, leak, none)]) <= delta
    assert delta_of([(0, first, other), (1, leak, none)]) > delta * Fraction(5, 4)

    cap = ApproxLoss("1.2", delta)
    table = Charge.laplace("1", cells=1, neighbours="add-remove", question="q")
    assert sum_of("approximate", [table]).fits(cap)
    assert not sum_of("approximate", [table, table]).fits(cap)
