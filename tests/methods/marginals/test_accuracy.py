"""How near the released margins are: plans, and what the fit makes of the same noise.

Noise is drawn here from seeds of numpy (Laplace, rounded), so that two fits are compared on the very
same numbers and nothing depends on chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.control import Control
from discreet.core.neighbours import Neighbours
from discreet.core.product import Margin, closure, margin_of_rows, rank_of
from discreet.methods.marginals.design import MOST_DENSE, Design, design_of
from discreet.methods.marginals.fit.column_generation import Limits, fit_sparse
from discreet.methods.marginals.fit.dense import MOST_RANK
from discreet.methods.marginals.fit.estimate_to_table import (
    _heavier,
    fit_modern,
    limits_for,
)
from discreet.methods.marginals.fit.model import Targets, fit_weights, model_of
from discreet.methods.marginals.method import MarginalsMethod
from discreet.methods.marginals.plan.bound import tables_beyond
from discreet.methods.marginals.plan.table_allocations import plan_budget
from discreet.methods.shared.residuals import Residual, combine

from ...examples import examples
from .margins import all_ways
from .people import described, facts_of, latent, question, true_margin


def design_for(shape: tuple[int, ...], epsilon: str, order: int = 2, **more: str) -> Design:
    made = described(shape)
    names = [[f"v{axis}" for axis in margin] for margin in all_ways(len(shape), order)]
    return design_of(
        MarginalsMethod().plan(*question(made, names, epsilon=epsilon, **more), facts_of(made))
    )


def noisy(design: Design, rows: np.ndarray, seed: int) -> list[np.ndarray]:
    """What is measured, with seeded noise."""
    rng = np.random.default_rng(seed)
    tables = []
    for m in design.allocation.measured:
        true = m.of(true_margin(rows, design.shape, m.margin))
        scale = math.sqrt(m.variance / 2)
        tables.append(true + np.rint(rng.laplace(0, scale, true.shape)).astype(np.int64))
    return tables


def error(design: Design, rows: np.ndarray, seed: int, fitted: Sequence[Margin]) -> float:
    """The mean absolute error of a cell, over the cells of a table and then over tables."""
    tables = noisy(design, rows, seed)
    residuals = combine(
        design.shape, design.allocation.measured, tables, fitted, total=design.total
    )
    made = fit_modern(design, tables, residuals, Control())
    off = [
        np.abs(made.margin(m) - true_margin(rows, design.shape, m)).mean() for m in design.margins
    ]
    return float(np.mean(off))


@examples(60)
@given(st.data())
@pytest.mark.slow
def test_no_plan_promises_more_error_than_independent_noise(data: st.DataObject) -> None:
    """Whatever the domain: a plan that leaves nothing out has at most the error of equal shares of
    ε for the tables asked for, each on its own."""
    shape = tuple(data.draw(st.lists(st.integers(2, 25), min_size=2, max_size=6)))
    order = data.draw(st.integers(1, min(3, len(shape))))
    every = all_ways(len(shape), order)
    workload = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=10, unique=True))
    neighbours: Neighbours = data.draw(
        st.sampled_from([Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE])
    )
    epsilon = Fraction(data.draw(st.sampled_from(["0.1", "1", "7"])))
    budget, _ = plan_budget(shape, workload, epsilon, neighbours)
    each = float(epsilon) / len(workload) / (2 if neighbours == Neighbours.REPLACE_ONE else 1)
    alone = math.sqrt(2 * math.exp(-each)) / (1 - math.exp(-each))
    assert not budget.dropped
    assert budget.rms <= alone * (1 + 1e-6)


@pytest.mark.slow
def test_one_way_margins_of_their_own_only_where_tables_are_filled_from_them() -> None:
    """Tables that are full enough get all of ε, however long their axes; a quarter goes to one-way
    margins where thin tables are left out and filled, and where a question asks for it."""
    shape, pairs = (13, 15, 10, 2, 12, 6), all_ways(6, 2)
    full, _ = plan_budget(shape, pairs, Fraction(1), Neighbours.ADD_REMOVE, records=500_000)
    assert not full.dropped
    assert min(len(m.margin) for m in full.measured) == 2
    asked, _ = plan_budget(
        shape, pairs, Fraction(1), Neighbours.ADD_REMOVE, records=500_000, one_way=Fraction(1, 4)
    )
    singles = [m for m in asked.measured if len(m.margin) == 1]
    assert sum(m.rate for m in singles) > Fraction(24, 100)
    assert asked.rms > 1.2 * full.rms
    small, _ = plan_budget(
        (3, 2, 4), all_ways(3, 2), Fraction(9), Neighbours.ADD_REMOVE, one_way=Fraction(1, 4)
    )
    assert {(0,), (1,), (2,)} < {m.margin for m in small.measured}
    wide = (100, 100, 90, 50, 16, 9, 7, 6, 2)
    thin, _ = plan_budget(
        wide, all_ways(9, 2), Fraction(1, 10), Neighbours.ADD_REMOVE, records=50_000
    )
    assert thin.dropped
    assert sum(len(m.margin) == 1 for m in thin.measured) == len(wide)


@pytest.mark.slow
def test_what_a_wide_table_says_beyond_the_margins_asked_for_helps() -> None:
    """The same noise, fitted whole and in the margins asked for only: whole is nearer to the truth,
    20 draws of thin data, by a twentieth at least (a tenth was seen)."""
    design = design_for((3, 4, 5, 6), "1")
    assert max(len(m.margin) for m in design.allocation.measured) > 2
    whole, narrow = [], []
    for seed in range(20):
        rows = latent(design.shape, 300, 100 + seed)
        whole.append(error(design, rows, seed, design.fitted))
        narrow.append(error(design, rows, seed, design.margins))
    assert np.mean(whole) < 0.95 * np.mean(narrow)


def test_without_noise_the_truth_comes_out() -> None:
    """As ε grows the error goes to 0: with whole tables measured it is 0 once there is no noise."""
    design = design_for((3, 4, 5, 6), "100")
    for seed in range(3):
        rows = latent(design.shape, 3000, seed)
        assert error(design, rows, seed, design.fitted) == 0


@pytest.mark.slow
def test_rare_categories_are_held() -> None:
    """Non-negativity pushes sums of small cells up. One-way margins weigh more in the fit for that: on
    the same noise, 20 draws, a category with 5 people is inflated by three quarters of it at most."""
    shape = (9, 8, 7)
    design = design_for(shape, "0.3")
    plain, held = [], []
    for seed in range(20):
        rows = latent(shape, 4000, seed)
        rare = np.flatnonzero(rows[:, 0] == 3)
        rows[rare[5:], 0] = 4
        tables = noisy(design, rows, seed)
        residuals = combine(shape, design.allocation.measured, tables, design.margins)
        for found, weight in ((plain, 1.0), (held, None)):
            weights = fit_weights(residuals, **({} if weight is None else {"one_way": weight}))
            model = model_of(Targets(shape, weights))
            start = np.unique(rows[:200], axis=0)
            made = fit_sparse(model, start, Limits(), Control())
            count = float(made.weights[made.rows[:, 0] == 3].sum())
            found.append(count - float((rows[:, 0] == 3).sum()))
    assert np.mean(held) < 0.75 * np.mean(plain)


@pytest.mark.slow
def test_wide_tables_are_fitted_while_that_is_quick() -> None:
    """Every margin asked for is fitted, and every wider one that was measured: all of them where
    every cell can be moved at once, else up to 3,000 independent numbers, narrow ones first."""
    for shape in ((3, 4, 5, 6), (12, 11, 10, 9, 8), (30, 30, 30, 30, 30, 30)):
        design = design_for(shape, "1")
        fitted = design.fitted
        assert fitted[: len(design.margins)] == design.margins
        measured = {m.margin for m in design.allocation.measured}
        assert set(fitted) <= {*design.margins, *measured}
        asked = rank_of(shape, closure(design.margins))
        if math.prod(shape) <= MOST_DENSE:
            assert set(fitted) >= measured
        else:
            assert rank_of(shape, closure(fitted)) <= max(MOST_RANK, asked)
    assert len(design_for((3, 4, 5, 6), "1").fitted) > 6


@pytest.mark.slow
def test_a_table_beyond_its_bound_weighs_more_until_it_is_within() -> None:
    """A fit that pays no heed to one table is far from it; weighing it more brings it back, and the
    others stay near. (The linear program made the error of all half as large again.)"""
    shape = (2,) * 10
    made = described(shape, records=9000)
    names = [[f"v{axis}" for axis in margin] for margin in all_ways(10, 2)]
    design = design_of(MarginalsMethod().plan(*question(made, names, epsilon="4"), facts_of(made)))
    rows = latent(shape, 9000, 3)
    rows[:, 1] = rows[:, 0]
    tables = noisy(design, rows, 1)
    residuals = combine(
        shape, design.allocation.measured, tables, design.fitted, total=design.total
    )
    weights = fit_weights(residuals)
    light = {
        m: Residual(r.table, r.precision * (0.02 if {0, 1} <= set(m) else 1.0))
        for m, r in weights.items()
    }
    light = {m: Residual(0 * r.table, r.precision) if m == (0, 1) else r for m, r in light.items()}
    targets = Targets(shape, light)
    model = model_of(targets)
    fit = fit_sparse(model, rows[:50], limits_for(model.rank, True), Control())
    assert tables_beyond(design, tables, fit.rows, fit.weights)
    true_weights = Targets(
        shape, {m: Residual(weights[m].table, r.precision) for m, r in light.items()}
    )
    cells, mass = _heavier(design, tables, true_weights, fit.rows, fit.weights, Control())
    assert not tables_beyond(design, tables, cells, mass)
    for margin in [(2, 3), (4, 7)]:
        wanted = true_margin(rows, shape, margin)
        assert np.abs(margin_of_rows(cells, shape, margin, mass) - wanted).mean() < 60
