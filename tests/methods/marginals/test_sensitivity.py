"""Show 2: what the measurements cost, against brute force over all neighbours."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.charge import Neighbours
from discreet.methods.marginals.budget import plan_budget
from discreet.methods.marginals.coefficients import fourier_budget
from discreet.methods.marginals.margins import all_ways, closure, subsets
from discreet.methods.marginals.measured import Measured, cost, cost_is_exact, flips

BOTH: tuple[Neighbours, ...] = ("add-remove", "replace-one")


def one_record(measured: Measured, shape: tuple[int, ...], cell: tuple[int, ...]) -> np.ndarray:
    """What a single record adds to a measured table, through the same code that measures."""
    table = np.zeros([shape[a] for a in measured.margin], dtype=np.int64)
    table[tuple(cell[a] for a in measured.margin)] = 1
    return measured.of(table).ravel()


def brute_force(
    measured: tuple[Measured, ...] | list[Measured], shape: tuple[int, ...], neighbours: Neighbours
) -> Fraction:
    """The largest Σ rate × |change| over every pair of neighbours, in exact arithmetic."""
    cells = list(itertools.product(*(range(n) for n in shape)))
    unit = np.lcm.reduce([m.rate.denominator for m in measured])
    columns = np.stack(
        [
            np.concatenate([int(m.rate * int(unit)) * one_record(m, shape, c) for m in measured])
            for c in cells
        ]
    )
    if neighbours == "add-remove":
        return Fraction(int(np.abs(columns).sum(axis=1).max()), int(unit))
    worst = max(int(np.abs(columns - column).sum(axis=1).max()) for column in columns)
    return Fraction(worst, int(unit))


def simple_rates(measured: tuple[Measured, ...]) -> list[Measured]:
    """The same tables with small rates, so that sums fit 64 bits; one for each true rate."""
    order = sorted({m.rate for m in measured})
    return [Measured(m.margin, m.contrast, Fraction(order.index(m.rate) + 1)) for m in measured]


@pytest.mark.parametrize(("k", "order"), [(3, 1), (4, 2), (5, 2), (6, 2), (6, 3), (7, 2), (7, 3)])
@pytest.mark.parametrize("neighbours", BOTH)
def test_fourier_coefficients(k: int, order: int, neighbours: Neighbours) -> None:
    """All coefficients up to an order: the closed form is the truth over all pairs of records."""
    plan = fourier_budget((2,) * k, all_ways(k, order), Fraction(1), neighbours)
    small = simple_rates(plan.measured)
    assert cost(small, k, neighbours) == brute_force(small, (2,) * k, neighbours)
    assert cost(plan.measured, k, neighbours) == 1, "per-order rates spend ε exactly"


@pytest.mark.parametrize(("k", "order"), [(5, 2), (6, 2), (6, 3), (7, 3)])
def test_barak_spends_more_than_it_must(k: int, order: int) -> None:
    """Theorem 6's 2|B| is valid under replace-one, and loose: the errata's formula is the truth."""
    every = closure(all_ways(k, order))
    ones = [Measured(m, m, Fraction(1)) for m in every]
    tight = 2 * max(sum(row.values()) for row in flips(k, order))
    assert brute_force(ones, (2,) * k, "replace-one") == tight
    assert tight < 2 * len(every)


def test_two_way_closed_form_of_the_errata() -> None:
    """2·max d(k + 1 − d): 60 for k = 10, not 112."""
    assert 2 * max(sum(row.values()) for row in flips(10, 2)) == 60
    assert 2 * len(closure(all_ways(10, 2))) == 112


@pytest.mark.parametrize(
    "workload", [[(0, 1), (2, 3, 4)], [(0, 1, 2), (1, 3), (4,)], [(0, 4), (1, 4), (2, 4), (3, 4)]]
)
@pytest.mark.parametrize("neighbours", BOTH)
def test_coefficients_of_any_list_of_margins(
    workload: list[tuple[int, ...]], neighbours: Neighbours
) -> None:
    """Not all margins of an order: enumerated, and exact."""
    plan = fourier_budget((2,) * 5, workload, Fraction(1, 2), neighbours)
    small = simple_rates(plan.measured)
    assert cost(small, 5, neighbours) == brute_force(small, (2,) * 5, neighbours)
    assert cost(plan.measured, 5, neighbours) == Fraction(1, 2)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_tables_of_cells_and_differences(data: st.DataObject) -> None:
    """Mixed categories, any margins, any axes of two categories as differences: exact."""
    shape = tuple(data.draw(st.lists(st.sampled_from([2, 2, 3, 4]), min_size=1, max_size=4)))
    margins = data.draw(
        st.lists(st.sampled_from(subsets(tuple(range(len(shape))))), min_size=1, max_size=6)
    )
    measured = []
    for margin in margins:
        two = [a for a in margin if shape[a] == 2]
        contrast = tuple(a for a in two if data.draw(st.booleans()))
        measured.append(Measured(margin, contrast, Fraction(data.draw(st.integers(1, 9)))))
    for neighbours in BOTH:
        assert cost(measured, len(shape), neighbours) == brute_force(measured, shape, neighbours)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 2, 3, 3), (3, 4, 5, 6), (2, 5, 7, 2)])
@pytest.mark.parametrize("neighbours", BOTH)
def test_whole_plans_spend_exactly_epsilon(shape: tuple[int, ...], neighbours: Neighbours) -> None:
    """Whatever the planner merges, tunes and turns into differences, the cost is ε."""
    plan, others = plan_budget(shape, all_ways(len(shape), 2), Fraction(3, 4), neighbours)
    for one in (plan, *others):
        assert cost(one.measured, len(shape), neighbours) == Fraction(3, 4)
    small = simple_rates(plan.measured)
    assert cost(small, len(shape), neighbours) == brute_force(small, shape, neighbours)


@pytest.mark.slow
def test_a_domain_of_ten_thousand_cells() -> None:
    """10 × 10 × 10 × 10 with a plan of pairs, add or remove: exact over all cells."""
    shape = (10, 10, 10, 10)
    plan, _ = plan_budget(shape, all_ways(4, 2), Fraction(1), "add-remove")
    small = simple_rates(plan.measured)
    assert cost(small, 4, "add-remove") == brute_force(small, shape, "add-remove")


def test_many_axes_are_bounded_from_above() -> None:
    """Beyond 20 axes the cost is a bound: never below what fewer axes cost exactly."""
    tables = [Measured((a, a + 1), (a,), Fraction(a + 1)) for a in range(0, 10, 2)]
    assert cost(tables, 25, "replace-one") >= cost(tables, 11, "replace-one")
    assert not cost_is_exact(tables, 25, "replace-one")
    assert cost_is_exact(tables, 25, "add-remove")


@pytest.mark.parametrize("epsilon", ["0.123456789", "1/3", "99.99999999", "0.0101"])
@pytest.mark.parametrize("neighbours", BOTH)
def test_any_epsilon_is_spent_exactly(epsilon: str, neighbours: Neighbours) -> None:
    """Awkward fractions too: nothing overflows into the looser bound."""
    for shape in ((2,) * 8, (2, 3, 4, 2), (5, 9, 3)):
        plan, _ = plan_budget(shape, all_ways(len(shape), 2), Fraction(epsilon), neighbours)
        assert cost(plan.measured, len(shape), neighbours) == Fraction(epsilon)
