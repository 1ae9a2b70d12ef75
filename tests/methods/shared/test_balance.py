"""Tables without negative numbers that keep their totals: nearest, whole, whatever way they lie."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.methods.shared.balance import balanced, nearest

from ...examples import examples


def parts_of(cells: np.ndarray, most: int = 1) -> dict[tuple[int, ...], np.ndarray]:
    """Cells with their totals over up to `most` axes."""
    axes = tuple(range(cells.ndim))
    kept = [k for size in range(most + 1) for k in combinations(axes, size) if len(k) < cells.ndim]
    sums = {k: cells.sum(axis=tuple(a for a in axes if a not in k)) for k in kept}
    return {**sums, axes: cells}


@examples(60)
@given(
    st.integers(1, 4).flatmap(lambda axes: st.tuples(*[st.integers(1, 5)] * axes)),
    st.integers(0, 10**6),
    st.sampled_from([0.2, 2.0, 30.0]),
)
def test_totals_that_can_be_kept_are_kept(shape, seed, size):
    """No number is negative, all add up, and totals ≥ 0 that agree with each other stay as they are."""
    random = np.random.default_rng(seed)
    raw = random.poisson(size, shape) + np.rint(random.laplace(0, 2, shape)).astype(int)
    parts = parts_of(raw)
    result = balanced(parts)
    cells = result.cells
    assert result.keeps_totals
    assert cells.dtype == np.int64
    assert cells.min() >= 0
    assert cells.sum() == max(0, raw.sum())
    if (raw >= 0).all():
        assert (cells == raw).all()
    if raw.sum() >= 0:
        for axis in range(raw.ndim if raw.ndim > 1 else 0):
            if (parts[axis,] >= 0).all():
                gone = tuple(a for a in range(raw.ndim) if a != axis)
                assert (cells.sum(axis=gone) == parts[axis,]).all()


@examples(25)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 5))
def test_the_cells_are_the_nearest_there_are(seed, rows, columns):
    """Before rounding: no other table ≥ 0 with the same totals is nearer, by a general solver."""
    from scipy.optimize import minimize

    random = np.random.default_rng(seed)
    raw = random.poisson(2, (rows, columns)) + np.rint(random.laplace(0, 1.5, (rows, columns)))
    parts = {**parts_of(raw), (): np.array(max(0.0, raw.sum()))}
    fixed = nearest(parts, None, whole=False)
    cells = fixed[0, 1]
    assert np.allclose(cells.sum(axis=1), fixed[0,], atol=1e-7)
    assert np.allclose(cells.sum(axis=0), fixed[1,], atol=1e-7)
    sums = [
        {"type": "eq", "fun": lambda x, i=i: x.reshape(raw.shape)[i].sum() - fixed[0,][i]}
        for i in range(rows)
    ] + [
        {"type": "eq", "fun": lambda x, j=j: x.reshape(raw.shape)[:, j].sum() - fixed[1,][j]}
        for j in range(columns - 1)
    ]
    start = np.outer(fixed[0,], fixed[1,]) / max(float(fixed[()]), 1e-9)
    other = minimize(
        lambda x: ((x - raw.ravel()) ** 2).sum(),
        start.ravel(),
        bounds=[(0, None)] * raw.size,
        constraints=sums,
        method="SLSQP",
        options={"maxiter": 300},
    )
    assert ((cells - raw) ** 2).sum() <= other.fun + 1e-4


def test_whole_numbers_are_near_the_nearest():
    """Rounding moves no cell by more than a few units, three axes and more included."""
    random = np.random.default_rng(3)
    for shape in ((40, 30), (12, 9, 7), (5, 4, 3, 3)):
        raw = random.poisson(1.5, shape) + np.rint(random.laplace(0, 1.5, shape)).astype(int)
        parts = parts_of(raw)
        fixed = nearest(parts, None, whole=True)[tuple(range(raw.ndim))]
        assert np.abs(balanced(parts).cells - fixed).max() < 2


def test_a_negative_total_is_0_and_so_is_every_cell():
    """Defined whatever was measured."""
    result = balanced({(): np.array(-7), (0,): np.array([3, -10])})
    assert result.cells.tolist() == [0, 0]
    assert balanced({(): np.array(-7)}).cells == 0


def test_totals_that_contradict_each_other_give_way_to_the_grand_total():
    """Rows that add up to 12 under a grand total of 9 all lose alike."""
    parts = {
        (): np.array(9),
        (0,): np.array([6, 6]),
        (1,): np.array([5, 5]),
        (0, 1): np.array([[3, 3], [3, 3]]),
    }
    cells = balanced(parts).cells
    assert cells.sum() == 9
    assert sorted(cells.sum(axis=0).tolist()) == sorted(cells.sum(axis=1).tolist()) == [4, 5]


def test_cells_that_cannot_exist_stay_0():
    """Also where they leave totals no room: then the grand total alone is kept, and it is said."""
    possible = np.array([[True, False], [True, True]])
    raw = np.array([[4, 0], [2, 5]])
    result = balanced(parts_of(raw), possible)
    assert result.keeps_totals
    assert (result.cells == raw).all()
    wrong = {
        (): np.array(10),
        (0,): np.array([8, 2]),
        (1,): np.array([1, 9]),
        (0, 1): np.array([[8, 0], [1, 1]]),
    }
    result = balanced(wrong, possible)
    assert not result.keeps_totals
    assert (result.cells[0, 1], result.cells.sum(), result.cells.min()) == (0, 10, 0)
    assert not balanced(wrong, np.zeros((2, 2), dtype=bool)).cells.any()


@pytest.mark.parametrize("shape", [(6, 5), (5, 4, 3)])
def test_zeros_by_declaration_with_totals_that_fit_them(shape):
    """Totals of tables that have such zeros are kept."""
    random = np.random.default_rng(8)
    for _ in range(20):
        possible = random.random(shape) < 0.8
        raw = random.poisson(4, shape) + np.rint(random.laplace(0, 2, shape)).astype(int)
        raw[~possible] = 0
        parts = parts_of(raw)
        result = balanced(parts, possible)
        assert (result.cells[~possible] == 0).all()
        assert result.cells.min() >= 0
        assert result.cells.sum() == raw.sum()
        if result.keeps_totals and (parts[0,] >= 0).all():
            gone = tuple(range(1, raw.ndim))
            assert (result.cells.sum(axis=gone) == parts[0,]).all()
        if raw.ndim == 2 and all((parts[axis,] >= 0).all() for axis in range(2)):
            assert result.keeps_totals == can_be_kept(parts, possible)


def can_be_kept(parts, possible) -> bool:
    """Whether some table ≥ 0 has these row and column totals, by a general solver."""
    from scipy.optimize import linprog

    rows, columns = possible.shape
    sums = [np.repeat(np.eye(rows)[i], columns) for i in range(rows)]
    sums += [np.tile(np.eye(columns)[j], rows) for j in range(columns)]
    ends = [(0, None if free else 0) for free in possible.ravel()]
    right = np.concatenate([parts[0,], parts[1,]])
    return linprog(np.zeros(possible.size), A_eq=np.array(sums), b_eq=right, bounds=ends).success
