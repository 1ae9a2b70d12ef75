"""What a table of this method says of its cells is what the mechanism does, by enumeration."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.description import StructuralZero, Weight
from discreet.core.domain import Condition, variable
from discreet.methods.base import Measurements
from discreet.methods.noise import stored_plan as stored

A = variable("a", ["p", "q"])
B = variable("b", ["x", "y"])
ROWS = [("p", "x")] * 3 + [("p", "y")] + [("q", "y")] * 5
ZERO = StructuralZero((Condition("a", "a", ("q",)), Condition("b", "b", ("x",))))


def _cells(table):
    """Every cell of a table: its index, and its name as the law knows it."""
    for place in np.ndindex(*table.shape):
        names = table.domain.names
        yield (
            place,
            {
                name: None if at == len(axis) else at
                for name, at, axis in zip(names, place, table.domain.axes, strict=True)
            },
        )


def _true(w, plan, part):
    return w.dense(part.margin.count, part.margin.weighted)


def _released(w, plan):
    """For each source and cell: the exact law of the released value, every draw tried.

    The other sources are left without noise: no cell of a table without agreement uses two.
    """
    parts = plan.detail.scheme.measured
    plain = {part.name: _true(w, plan, part) for part in parts}
    for part in parts:
        zeros = w.description.zero_mask(part.margin.count)
        free = np.ones(plain[part.name].shape, bool) if zeros is None else ~zeros
        found: dict[tuple[int, ...], dict[int, Fraction]] = {}
        pmf = {z: p for z, p in part.law.pmf.items() if p}
        for draws in itertools.product(pmf, repeat=int(free.sum())):
            values = plain[part.name].copy()
            values[free] += np.array(draws, dtype=np.int64)
            arrays = {**plain, part.name: values}
            kept = Measurements(arrays, stored.facts_of(plan.detail.scheme))
            (table,) = w.method.fit(plan, kept, w.facts, Control())
            share = Fraction(1)
            for z in draws:
                share *= pmf[z]
            for place in np.ndindex(*table.shape):
                law = found.setdefault(place, {})
                value = int(table.values[place])
                law[value] = law.get(value, Fraction(0)) + share
        yield str(part.margin), table, found


CASES = {
    "as drawn": ({}, {}),
    "clipped": ({"negatives": "clip"}, {}),
    "threshold": ({"negatives": "threshold", "threshold": "2"}, {}),
    "totals of their own": ({"plan": "margins", "epsilon": "8"}, {}),
    "structural zero": ({}, {"structural_zeros": (ZERO,)}),
    "known total": ({}, {"records": 9}),
    "weighted": ({"max_perturbation": "2"}, {"weight": Weight("w", 3, Fraction(1, 3))}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_the_law_of_every_cell_is_that_of_the_mechanism(world, case):
    """P(released | true) of every cell and total equals the enumeration of all draws, exactly."""
    asked, facts = CASES[case]
    weights = {"weights": [1] * len(ROWS)} if "weight" in facts else {}
    w = world([A, B], ROWS, **weights, **facts)
    parameters = {"epsilon": "2", "max_perturbation": "1", **asked}
    if asked.get("plan") == "margins":
        names = [scheme["name"] for scheme in w.plan(w.spec("a", "b"), epsilon="8").alternatives]
        parameters["plan"] = next(
            name
            for name in names
            if len(w.plan(w.spec("a", "b"), epsilon="8", plan=name).detail.scheme.measured) > 1
        )
    spec = w.spec("a", "b", weighted="weight" in facts)
    plan = w.plan(spec, **parameters)
    compared = 0
    true = w.dense(spec.count, spec.weighted)
    full = np.pad(true, ((0, 1), (0, 1)))
    full[-1, :-1], full[:-1, -1], full[-1, -1] = true.sum(0), true.sum(1), true.sum()
    for name, table, found in _released(w, plan):
        law = table.law
        for place, cell in _cells(table):
            margin = law.margin(cell)
            if margin.source is not None and law.sources[margin.source].name != name:
                continue
            for value in range(min(found[place]) - 2, max(found[place]) + 3):
                said = law.probability(value, int(full[place]), cell)
                assert said == found[place].get(value, 0), (place, value)
            compared += 1
    assert compared >= 9
    if case == "totals of their own":
        assert len({part.source for part in table.law.cells}) > 1
    if case == "known total":
        assert table.law.cells[-1].source is None


def test_least_squares_say_their_covariance_and_no_law_of_a_cell(world):
    """The variances by set of axes give every cell's standard deviation."""
    w = world([A, B], ROWS)
    names = [one["name"] for one in w.plan(w.spec("a", "b"), epsilon="2").alternatives]
    seen = 0
    for name in names:
        plan = w.plan(w.spec("a", "b"), epsilon="2", plan=name, consistency="least squares")
        (table,) = w.release(plan)
        if table.law.residual_variance is None:
            continue
        seen += 1
        assert table.law.cells == ()
        assert table.law.consistency == "least squares"
        for place, cell in _cells(table):
            sd = table.law.residual_variance.covariance(cell) ** 0.5
            assert sd == pytest.approx(float(table.noise.sd[place]), rel=1e-9)
    assert seen


def test_a_filtered_level_says_how_many_draws(people):
    """A coarser level sums the draws of its categories; a filter changes nothing."""
    w = people()
    plan = w.plan(
        w.spec("region:half", "sex", where={"ill": ["yes"]}),
        w.spec("region", "sex", where={"ill": ["yes"]}),
        epsilon="1",
    )
    half, _ = w.release(plan)
    part = half.law.margin({"half": 0, "sex": 1})
    many = {n: part.at({"half": n, "sex": 1}) for n in (0, 1)}
    source = half.law.sources[part.source]
    if "half" not in source.name:
        assert many == {0: 2, 1: 1}
    assert half.noise.sd[0, 1] ** 2 == pytest.approx(many[0] * float(source.law.variance))
