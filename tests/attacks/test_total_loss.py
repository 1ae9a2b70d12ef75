"""The whole loss of what is measured, found by running the real planner and the real measuring.

Noise is taken away while measuring, so that what is left is exactly what the noise is added to, and
each law is noted as it is drawn from. Whatever the question, no unit may move the noised numbers by
more than the charge says; and a number without noise may not move at all.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from discreet import recipe as recipes
from discreet.core.brackets import ln_bracket
from discreet.core.control import Control
from discreet.core.description import Description, StructuralZero, Weight
from discreet.core.domain import Condition, variable
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.law import Law
from discreet.core.loss import ApproxLoss, PureLoss, ZcdpLoss
from discreet.core.pure_laplace import PureLaplace
from discreet.core.text import Text
from discreet.core.true_values import reveal
from discreet.errors import InputError, Refusal
from discreet.methods.base import Facts
from discreet.methods.noise import laws
from discreet.methods.noise.method import NoiseMethod

from ..engines.numpy_engine import NumpyEngine
from ..examples import examples
from ..facts import policy

A = variable("a", ["0", "1", "2"], levels={"pair": {"0": "x", "1": "x", "2": "y"}})
B = variable("b", ["0", "1"])
C = variable("c", ["0", "1", "2"])
CELLS = list(itertools.product(range(3), range(2), range(3)))
LEVELS = {"a": ("a", "pair"), "b": ("b",), "c": ("c",)}
CODES = {"a": "012", "pair": "xy", "b": "01", "c": "012"}
SCALE, HEAVIEST = 2, 5  # weights up to 5/2, in halves


@dataclass
class Seen:
    """What measuring did: for each array the law it was noised with."""

    arrays: list[np.ndarray]
    laws: list[object]


def measured(plan, description, cell, weight) -> Seen:
    """What is measured of one record (none where `cell` is None), without its noise."""
    codes = {
        v.name: np.array([] if cell is None else [cell[i]], int) for i, v in enumerate((A, B, C))
    }
    weights = np.array([] if cell is None else [weight], int)
    nothing = np.zeros(len(weights), int)
    engine = NumpyEngine(description, codes, nothing, nothing, weights)
    tables = engine.count(plan.counts, weights=plan.needs_weights)
    assert all(reveal(table).counts.sum() <= 1 for table in tables)
    drawn: list[object] = []

    def silent(law, count, source=None):
        drawn.append(law)
        return np.zeros(count, dtype=np.int64)

    with pytest.MonkeyPatch.context() as patch:
        for kind in (Law, PureLaplace, DiscreteGaussian):
            patch.setattr(kind, "draw", silent)
        found = NoiseMethod().measure(plan, tables, None, Control())
    return Seen([found.arrays[name].ravel() for name in sorted(found.arrays)], drawn)


def loss_of(law, change: np.ndarray) -> tuple[Fraction, Fraction]:
    """What a change of noised numbers costs: (ε or ρ, δ), from the law that was drawn from."""
    steps = [abs(int(c)) for c in change if c]
    if isinstance(law, DiscreteGaussian):
        return sum((Fraction(s * s) / (2 * law.sigma2) for s in steps), Fraction(0)), Fraction(0)
    if isinstance(law, PureLaplace):
        return sum(steps) * ln_bracket(1 / law.ratio)[0], Fraction(0)
    each = Fraction(law.parameters["epsilon"])
    return sum(steps) * each, sum((laws.end_mass(law, s) for s in steps), Fraction(0))


table = st.fixed_dictionaries(
    {
        "rows": st.sets(st.sampled_from("abc")).flatmap(
            lambda names: st.tuples(
                *(st.sampled_from([f"{n}:{level}" for level in LEVELS[n]]) for n in sorted(names))
            )
        ),
        "where": st.dictionaries(
            st.sampled_from(["a:a", "a:pair", "b:b", "c:c"]),
            st.sets(st.sampled_from("012xy")),
            max_size=2,
        ),
        "totals": st.booleans(),
        "weighted": st.booleans(),
    }
)
question = st.fixed_dictionaries(
    {
        "tables": st.lists(table, min_size=1, max_size=4),
        "plan": st.sampled_from(["best", "interior", "wanted", "once", "everything"]),
        "law": st.sampled_from(
            ["laplace", "cut", "normal", "gaussian", "max-entropy", "exponential"]
        ),
        "consistency": st.sampled_from(["none", "integers"]),
    }
)
BUDGETS = {
    "laplace": {"law": "laplace", "epsilon": "2"},
    "cut": {"law": "laplace", "epsilon": "3", "delta": "0.01"},
    "normal": {"law": "normal", "epsilon": "3", "delta": "0.05"},
    "max-entropy": {"law": "max-entropy", "epsilon": "3", "delta": "0.05"},
    "exponential": {"law": "exponential", "epsilon": "3", "utility": "0 -1 -2 -4 -6"},
    "gaussian": {"law": "gaussian", "rho": "1/2"},
}
ZEROS = StructuralZero((Condition("a", "pair", ("y",)), Condition("b", "b", ("1",))))


def worst(plan, description) -> tuple[Fraction, Fraction]:
    """The largest loss over every pair of neighbours; linear in records, so records are enough."""
    replaced, many = description.records is not None, description.records_per_unit
    weights = (0, HEAVIEST) if plan.needs_weights else (1,)
    nobody = measured(plan, description, None, 0)
    assert all(not array.any() for array in nobody.arrays)
    one = [measured(plan, description, c, w).arrays for c in CELLS for w in weights]
    # Losses are convex in what a unit brings: all its records alike is the worst.
    units = [[many * array for array in arrays] for arrays in one]
    none = [np.zeros_like(array) for array in nobody.arrays]
    pairs = itertools.combinations(units, 2) if replaced else ((none, unit) for unit in units)
    most, most_delta = Fraction(0), Fraction(0)
    for left, right in pairs:
        both = [loss_of(law, r - v) for law, v, r in zip(nobody.laws, left, right, strict=True)]
        most = max(most, sum((e for e, _ in both), Fraction(0)))
        most_delta = max(most_delta, sum((d for _, d in both), Fraction(0)))
    return most, most_delta


def planned(asked, description):
    """The plan of a question as people write it; discarded where it is lawfully refused."""
    made = policy()
    tables = []
    for part in asked["tables"]:
        where = {}
        for key, codes in part["where"].items():
            known = [code for code in codes if code in CODES[key.partition(":")[2]]]
            if known:
                where[key] = known
        tables.append({**part, "rows": list(part["rows"]), "where": where})
    whole = {"tables": tables, "plan": asked["plan"], "consistency": asked["consistency"]}
    try:
        recipe = recipes.from_mapping({**whole, **BUDGETS[asked["law"]]}, description, made)
        return NoiseMethod().plan(
            recipe.question, recipe.treatment, Facts(description, made, "v", "p")
        )
    except (InputError, Refusal):
        assume(False)


def check(asked, replaced, many, zeros) -> None:
    """No pair of neighbours costs more than the charge."""
    description = Description(
        "tiny",
        Text.of("Tiny"),
        (A, B, C),
        records=9 if replaced else None,
        records_per_unit=many,
        weight=Weight("w", SCALE, Fraction(HEAVIEST, SCALE)),
        structural_zeros=(ZEROS,) if zeros else (),
    )
    plan = planned(asked, description)
    loss, delta = worst(plan, description)
    charged = plan.charge.loss
    assert plan.guarantee.epsilon == getattr(charged, "epsilon", None)
    if isinstance(charged, ZcdpLoss):
        assert loss <= charged.rho
        return
    assert isinstance(charged, PureLoss | ApproxLoss)
    assert loss <= charged.epsilon
    assert delta <= (charged.delta if isinstance(charged, ApproxLoss) else 0)


ANY = {"replaced": st.booleans(), "many": st.integers(1, 3), "zeros": st.booleans()}
QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much]


@given(asked=question, **ANY)
@examples(8, *QUIET)
def test_no_question_costs_more_than_its_charge(asked, replaced, many, zeros):
    """Random questions: levels, filters, weights, zeros, many records, both neighbours, four laws."""
    check(asked, replaced, many, zeros)


@pytest.mark.slow
@given(asked=question, **ANY)
@settings(max_examples=150, deadline=None, suppress_health_check=QUIET)
def test_no_question_costs_more_than_its_charge_at_length(asked, replaced, many, zeros):
    """The same, many more."""
    check(asked, replaced, many, zeros)


def test_a_plan_that_forgets_a_margin_is_caught(monkeypatch):
    """The check above does see a plan whose overlapping tables are not added."""
    from discreet.methods.shared.regions import Regions

    monkeypatch.setattr(Regions, "cost", lambda self, costs: max(costs))
    asked = {
        "tables": [
            {"rows": ("a:a",), "where": {}, "totals": True, "weighted": False},
            {"rows": ("b:b",), "where": {}, "totals": True, "weighted": False},
        ],
        "plan": "wanted",
        "law": "laplace",
        "consistency": "none",
    }
    with pytest.raises(AssertionError):
        check(asked, False, 1, False)
