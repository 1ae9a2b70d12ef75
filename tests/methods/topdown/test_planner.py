"""What is measured: never so much beside the tables asked for that they would be better alone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from discreet.core.description import Description
from discreet.methods.topdown import planner
from discreet.methods.topdown.design import Design, design_of
from discreet.methods.topdown.estimate import Estimates
from discreet.methods.topdown.measured_tables import Measured, scaled_to
from discreet.methods.topdown.planner import predicted

from ...examples import examples
from .test_method import TABLES, small
from .trees import questions, worlds


def alone(design: Design, description: Description) -> tuple[Measured, ...]:
    """The tables asked for with equal shares of the whole budget, and nothing else."""
    asked = {(one.level, one.margin): Fraction(1) for one in design.tables}
    settings = design.settings
    budget = settings.amount / settings.of_unit(Fraction(1), description.records_per_unit)
    rest = (design.tree, design.shape, description.neighbours, settings.noise)
    return scaled_to(dict(sorted(asked.items())), budget, *rest)


def noise_and_error(design: Design, measured: tuple[Measured, ...]) -> tuple[float, float]:
    """Mean over the tables asked for: deviation of their noise, and error to expect of the fit."""
    estimates = Estimates(design.tree, design.shape, measured)
    keys = {(one.level, one.margin) for one in design.tables}
    deviations = [math.sqrt(m.variance) for m in measured if (m.level, m.margin) in keys]
    errors = [math.sqrt(predicted(estimates, design.records, key)) for key in keys]
    return sum(deviations) / len(keys), sum(errors) / len(keys)


@examples(40, HealthCheck.filter_too_much, HealthCheck.data_too_large)
@given(st.data())
def test_no_plan_is_worse_than_the_asked_tables_alone(data: st.DataObject) -> None:
    """Random trees and questions: an error no larger than the noise of the asked tables alone.

    Where whole numbers alone cost more than that noise, no larger than these tables' own fit has.
    """
    world = data.draw(worlds())
    tables = data.draw(questions(world))
    epsilons = ["0.01", "0.1", "1", "5", "20"]
    said: dict[str, Any] = data.draw(
        st.sampled_from([*({"epsilon": e} for e in epsilons), {"rho": "0.1"}])
    )
    about = data.draw(st.sampled_from([{}, {"records_about": 20}, {"records_about": 10**6}]))
    design = design_of(world.plan(tables, world.facts(**said), **said, **about))
    noise, error = noise_and_error(design, alone(design, world.description))
    assert design.allocation.error <= max(noise, error) * (1 + 1e-9)


def test_what_was_not_asked_for_has_its_place_where_tables_are_thin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Totals and margins get a good part of the budget where noise drowns the tables, else little."""
    monkeypatch.setattr(planner, "MOST_CELLS", 0)
    shares = []
    for epsilon in ("0.001", "1"):
        design = design_of(small(100).plan(TABLES, epsilon=epsilon, records_about=10**4))
        asked = {(one.level, one.margin) for one in design.tables}
        rates = {(m.level, m.margin): m.rate for m in design.allocation.measured}
        beside = sum(rate for key, rate in rates.items() if key not in asked)
        shares.append(beside / sum(rates.values()))
    assert shares[0] >= 0.25
    assert shares[1] <= 0.1
