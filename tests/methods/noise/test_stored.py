"""An old answer is fitted by the plan it was measured by, whatever a later planner would choose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.errors import Bug
from discreet.methods.base import Measurements, as_measured
from discreet.methods.noise import method

LAWS = [
    {"epsilon": "1"},
    {"epsilon": "2/3", "max_perturbation": "20"},
    {"epsilon": "1", "law": "normal", "delta": "1e-6"},
    {"epsilon": "1", "law": "max-entropy", "delta": "1e-6"},
    {"epsilon": "1", "law": "exponential", "utility": " ".join(str(-z) for z in range(200))},
    {"rho": "1/7", "law": "gaussian"},
    {"epsilon": "1", "delta": "1e-5", "law": "gaussian"},
]


@pytest.mark.parametrize(
    "asked", LAWS, ids=lambda asked: " ".join(f"{k}={v}"[:20] for k, v in asked.items())
)
@pytest.mark.parametrize("agree", ["none", "least squares"])
@pytest.mark.slow
def test_an_old_answer_keeps_its_plan(people, asked, agree):
    """Measured by each plan, read back from bytes, and fitted through another plan: the same tables."""
    w = people(records_per_unit=3)
    specs = [
        w.spec("region", "sex"),
        w.spec("region:half", "ill"),
        w.spec("sex", where={"ill": ["yes"]}),
    ]
    for name in ("interior", "wanted", "everything"):
        plan = w.plan(*specs, plan=name, consistency=agree, **asked)
        measured = w.method.measure(plan, w.tables(plan), None, Control())
        old = Measurements.from_bytes(measured.to_bytes())
        other = w.plan(*specs, plan="once", consistency=agree, **asked)
        later = replace(other, question=plan.question)
        want = w.method.fit(plan, old, w.facts, Control())
        got = w.method.fit(later, old, w.facts, Control())
        again = as_measured(w.method, later, old, w.facts)
        assert again.charge.loss == plan.charge.loss
        assert again.charge.parameters == plan.charge.parameters
        assert again.errors == plan.errors
        for one, two in zip(want, got, strict=True):
            assert np.array_equal(one.values, two.values)
            assert np.array_equal(one.noise.sd, two.noise.sd)
            assert np.array_equal(one.noise.upper, two.noise.upper)
            assert one.guarantee == two.guarantee


def test_shares_and_weights_are_kept_too(people, weight):
    """A weighted table with a share of its own, fitted through a plan with other shares."""
    w = people(weights=[7] * 60, weight=weight)
    shares = [
        w.plan(w.spec("region", share=a), w.spec("sex", weighted=True, share=b), epsilon="1")
        for a, b in (("1/3", "2/3"), ("1/2", "1/2"))
    ]
    measured = w.method.measure(shares[0], w.tables(shares[0]), None, Control())
    want = w.method.fit(shares[0], measured, w.facts, Control())
    got = w.method.fit(
        replace(shares[1], question=shares[0].question), measured, w.facts, Control()
    )
    for one, two in zip(want, got, strict=True):
        assert np.array_equal(one.values, two.values)
        assert np.array_equal(one.noise.sd, two.noise.sd)


def test_what_cannot_be_read_is_our_fault(people):
    """Measurements of other margins that do not say how they were planned are refused."""
    w = people()
    plan = w.plan(w.spec("region"), epsilon="1")
    measured = w.method.measure(plan, w.tables(plan), None, Control())
    odd = [{**m, "margin": "sex"} for m in measured.facts["margins"]]
    with pytest.raises(Bug, match="other margins"):
        w.method.fit(plan, Measurements(measured.arrays, {"margins": odd}), w.facts, Control())


def test_an_answer_calibrated_through_rho_is_still_the_answer(people, monkeypatch):
    """The question has one hash whatever ρ its (ε, δ) allows, and the old noise is told as it was."""
    w = people()
    asked = {"epsilon": "1", "delta": "1e-5", "law": "gaussian"}
    specs = [w.spec("region", "sex"), w.spec("ill")]
    with monkeypatch.context() as before:
        before.setattr(method, "calibrated", lambda planner, scheme, rho: scheme)
        old_plan = w.plan(*specs, **asked)
        measured = w.method.measure(old_plan, w.tables(old_plan), None, Control())
    plan = w.plan(*specs, **asked)
    assert plan.question_hash == old_plan.question_hash
    assert plan.charge.loss == old_plan.charge.loss
    assert plan.errors[0].noise_sd < 0.96 * old_plan.errors[0].noise_sd
    (table, _) = w.method.fit(plan, measured, w.facts, Control())
    assert table.noise.sd.min() == pytest.approx(old_plan.errors[0].noise_sd)
