"""Show 2: what the measurements cost, against brute force over all neighbours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.neighbours import Neighbours
from discreet.core.product import closure, subsets
from discreet.methods.marginals.measured_tables import Measured, Noise, cost, cost_is_exact, flips
from discreet.methods.marginals.plan.allocation import Spending, public_residuals
from discreet.methods.marginals.plan.coefficients import coefficients
from discreet.methods.marginals.plan.table_allocations import plan_budget
from discreet.methods.marginals.settings import Settings

from ...examples import examples
from .margins import all_ways

BOTH: tuple[Neighbours, ...] = (Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE)
KINDS: tuple[Noise, ...] = ("laplace", "gaussian")


def one_record(measured: Measured, shape: tuple[int, ...], cell: tuple[int, ...]) -> np.ndarray:
    """What a single record adds to a measured table, through the same code that measures."""
    table = np.zeros([shape[a] for a in measured.margin], dtype=np.int64)
    table[tuple(cell[a] for a in measured.margin)] = 1
    return measured.of(table).ravel()


def whole_rates(measured: Sequence[Measured]) -> tuple[list[int], Fraction]:
    """The rates as whole numbers of a common unit, and that unit."""
    unit = Fraction(1, math.lcm(*(m.rate.denominator for m in measured)))
    common = math.gcd(*(int(m.rate / unit) for m in measured))
    return [int(m.rate / unit) // common for m in measured], unit * common


def moved(difference: np.ndarray, noise: Noise) -> np.ndarray:
    """What counts of a change: its size for ε, its square for ρ."""
    return np.abs(difference) if noise == "laplace" else difference**2


def brute_force(
    measured: Sequence[Measured], shape: tuple[int, ...], neighbours: Neighbours
) -> Fraction:
    """The largest Σ rate × change over every pair of neighbours, whole vectors, exactly."""
    cells = list(itertools.product(*(range(n) for n in shape)))
    whole, unit = whole_rates(measured)
    noise = measured[0].noise
    columns = np.stack([np.concatenate([one_record(m, shape, c) for m in measured]) for c in cells])
    rates = np.concatenate(
        [
            np.full(one_record(m, shape, cells[0]).size, w)
            for m, w in zip(measured, whole, strict=True)
        ]
    )
    if neighbours == Neighbours.ADD_REMOVE:
        return int((moved(columns, noise) @ rates).max()) * unit
    worst = max(int((moved(columns - column, noise) @ rates).max()) for column in columns)
    return worst * unit


def block_by_block(
    measured: Sequence[Measured], shape: tuple[int, ...], neighbours: Neighbours
) -> Fraction:
    """The same for many cells. A record's vector is found to have one number ±1 in each table, so
    two vectors differ by those two numbers: by both, or, at the same place, by their difference."""
    whole, unit = whole_rates(measured)
    noise = measured[0].noise
    cells = list(itertools.product(*(range(n) for n in shape)))
    places, signs = [], []
    for m in measured:
        known: dict[tuple[int, ...], tuple[int, int]] = {}
        for cell in cells:
            key = tuple(cell[a] for a in m.margin)
            if key not in known:
                vector = one_record(m, shape, cell)
                (place,) = np.flatnonzero(vector)
                known[key] = int(place), int(vector[place])
        found = [known[tuple(cell[a] for a in m.margin)] for cell in cells]
        places.append(np.array([place for place, _ in found], dtype=np.int32))
        signs.append(np.array([sign for _, sign in found], dtype=np.int8))
    assert all(set(np.unique(sign)) <= {-1, 1} for sign in signs)
    if neighbours == Neighbours.ADD_REMOVE:
        return sum(whole) * unit
    worst, step = 0, max(1, 2_000_000 // len(cells))
    for at in range(0, len(cells), step):
        total = np.zeros((len(cells[at : at + step]), len(cells)), dtype=np.int64)
        for place, sign, rate in zip(places, signs, whole, strict=True):
            apart = place[at : at + step, None] != place[None, :]
            turned = sign[at : at + step, None] != sign[None, :]
            same = int(moved(np.array(2), noise)) * rate
            total += np.where(apart, 2 * rate, np.where(turned, same, 0))
        worst = max(worst, int(total.max()))
    return worst * unit


def spending(amount: Fraction, neighbours: Neighbours, noise: Noise) -> Spending:
    return Spending(amount, neighbours, noise, public_residuals(neighbours))


@pytest.mark.parametrize(("k", "order"), [(3, 1), (4, 2), (5, 2), (6, 2), (6, 3), (7, 2), (7, 3)])
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.slow
def test_fourier_coefficients(k: int, order: int, neighbours: Neighbours, noise: Noise) -> None:
    """All coefficients up to an order: the closed form is the truth over all pairs of records."""
    plan = coefficients((2,) * k, all_ways(k, order), spending(Fraction(1), neighbours, noise))
    assert brute_force(plan.measured, (2,) * k, neighbours) == 1, "the budget is spent exactly"
    assert cost(plan.measured, k, neighbours) == 1


@pytest.mark.parametrize(("k", "order"), [(5, 2), (6, 2), (6, 3), (7, 3)])
def test_barak_spends_more_than_it_must(k: int, order: int) -> None:
    """Theorem 6's 2|B| is valid under replace-one, and loose: the errata's formula is the truth."""
    every = closure(all_ways(k, order))
    ones = [Measured(m, m, Fraction(1)) for m in every]
    tight = 2 * max(sum(row.values()) for row in flips(k, order))
    assert brute_force(ones, (2,) * k, Neighbours.REPLACE_ONE) == tight
    assert tight < 2 * len(every)


def test_two_way_closed_form_of_the_errata() -> None:
    """2·max d(k + 1 − d): 60 for k = 10, not 112."""
    assert 2 * max(sum(row.values()) for row in flips(10, 2)) == 60
    assert 2 * len(closure(all_ways(10, 2))) == 112


@pytest.mark.parametrize(
    "workload", [[(0, 1), (2, 3, 4)], [(0, 1, 2), (1, 3), (4,)], [(0, 4), (1, 4), (2, 4), (3, 4)]]
)
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("noise", KINDS)
def test_coefficients_of_any_list_of_margins(
    workload: list[tuple[int, ...]], neighbours: Neighbours, noise: Noise
) -> None:
    """Not all margins of an order: enumerated, and exact."""
    plan = coefficients((2,) * 5, workload, spending(Fraction(1, 2), neighbours, noise))
    assert cost(plan.measured, 5, neighbours) == Fraction(1, 2)
    assert brute_force(plan.measured, (2,) * 5, neighbours) == Fraction(1, 2)


@given(st.data())
@examples(60)
def test_tables_of_cells_and_differences(data: st.DataObject) -> None:
    """Mixed categories, any margins, any axes of two categories as differences: exact, both ways."""
    shape = tuple(data.draw(st.lists(st.sampled_from([2, 2, 3, 4]), min_size=1, max_size=4)))
    margins = data.draw(
        st.lists(st.sampled_from(subsets(tuple(range(len(shape))))), min_size=1, max_size=6)
    )
    noise = data.draw(st.sampled_from(KINDS))
    measured = []
    for margin in margins:
        two = [a for a in margin if shape[a] == 2]
        contrast = tuple(a for a in two if data.draw(st.booleans()))
        measured.append(Measured(margin, contrast, Fraction(data.draw(st.integers(1, 9))), noise))
    for neighbours in BOTH:
        truth = brute_force(measured, shape, neighbours)
        assert cost(measured, len(shape), neighbours) == truth
        assert block_by_block(measured, shape, neighbours) == truth


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 2, 3, 3), (3, 4, 5, 6), (2, 5, 7, 2)])
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.slow
def test_whole_plans_spend_exactly_their_budget(
    shape: tuple[int, ...], neighbours: Neighbours, noise: Noise
) -> None:
    """Whatever the planner merges, tunes and turns into differences, the cost is ε (or ρ)."""
    plan, others = plan_budget(
        shape, all_ways(len(shape), 2), Fraction(3, 4), neighbours, noise=noise
    )
    for one in (plan, *others):
        assert cost(one.measured, len(shape), neighbours) == Fraction(3, 4)
        assert block_by_block(one.measured, shape, neighbours) == Fraction(3, 4)


def _many_cells(shape: tuple[int, ...], noise: Noise) -> None:
    for neighbours in BOTH:
        plan, _ = plan_budget(shape, all_ways(len(shape), 2), Fraction(1), neighbours, noise=noise)
        assert cost(plan.measured, len(shape), neighbours) == 1
        assert block_by_block(plan.measured, shape, neighbours) == 1


@pytest.mark.slow
@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize("shape", [(2, 3, 5, 7, 6), (6, 6, 6, 6)])
def test_more_than_a_thousand_mixed_cells(shape: tuple[int, ...], noise: Noise) -> None:
    """1,260 and 1,296 cells, all pairs of records, both neighbours: the plan costs what it says."""
    _many_cells(shape, noise)


@pytest.mark.proof
@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize(
    "shape", [(10, 10, 10, 10), (2, 2, 25, 100), (2, 3, 4, 5, 6, 7), (2, 2, 2, 5, 5, 5, 10)]
)
def test_ten_thousand_mixed_cells(shape: tuple[int, ...], noise: Noise) -> None:
    """Plans over 10^4 cells cost exactly their ε or ρ: the worst of all 10^8 pairs of records."""
    _many_cells(shape, noise)


@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize("records", [1, 2, 3])
def test_a_unit_of_several_records(noise: Noise, records: int) -> None:
    """All sets of up to r records in, out or replaced: r times ε, r² times ρ, no less."""
    shape = (2, 3)
    measured = [
        Measured((0, 1), (), Fraction(3), noise),
        Measured((0,), (0,), Fraction(2), noise),
        Measured((), (), Fraction(1), noise),
    ]
    cells = list(itertools.product(*(range(n) for n in shape)))
    vectors = [np.concatenate([one_record(m, shape, c) for m in measured]) for c in cells]
    rates = np.concatenate(
        [np.full(one_record(m, shape, cells[0]).size, int(m.rate)) for m in measured]
    )
    spent = Settings(rho=Fraction(1)) if noise == "gaussian" else Settings(epsilon=Fraction(1))
    units = {
        count: [sum(chosen) for chosen in itertools.combinations_with_replacement(vectors, count)]
        for count in range(1, records + 1)
    }
    added = max(int(moved(unit, noise) @ rates) for sets in units.values() for unit in sets)
    assert added == spent.of_unit(cost(measured, 2, Neighbours.ADD_REMOVE), records)
    replaced = max(
        int(moved(one - two, noise) @ rates)
        for sets in units.values()
        for one, two in itertools.product(sets, sets)
    )
    assert replaced == spent.of_unit(cost(measured, 2, Neighbours.REPLACE_ONE), records)


def test_many_axes_are_bounded_from_above() -> None:
    """Beyond 20 axes the cost is a bound: never below what fewer axes cost exactly."""
    for noise in KINDS:
        tables = [Measured((a, a + 1), (a,), Fraction(a + 1), noise) for a in range(0, 10, 2)]
        assert cost(tables, 25, Neighbours.REPLACE_ONE) >= cost(tables, 11, Neighbours.REPLACE_ONE)
    assert not cost_is_exact(tables, 25, Neighbours.REPLACE_ONE)
    assert cost_is_exact(tables, 25, Neighbours.ADD_REMOVE)


@pytest.mark.parametrize("epsilon", ["0.123456789", "1/3", "19.99999999", "0.0101"])
@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.slow
def test_any_amount_is_spent_exactly(epsilon: str, neighbours: Neighbours, noise: Noise) -> None:
    """Awkward fractions too: nothing overflows into the looser bound."""
    for shape in ((2,) * 6, (2, 3, 4, 2), (5, 9, 3)):
        plan, _ = plan_budget(
            shape, all_ways(len(shape), 2), Fraction(epsilon), neighbours, noise=noise
        )
        assert cost(plan.measured, len(shape), neighbours) == Fraction(epsilon)
