"""Closed forms against explicit matrices, and the two models against brute force."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.product import closure, subsets
from discreet.methods.marginals.fit.column_generation import Limits, fit_sparse
from discreet.methods.marginals.fit.dense import DenseFit
from discreet.methods.marginals.fit.fourier import transform
from discreet.methods.marginals.fit.model import FourierModel, ResidualModel, Targets, fit_weights
from discreet.methods.marginals.measured_tables import Measured, Noise
from discreet.methods.shared.residuals import combine, rebuild, sum_variance

from .margins import all_ways

SHAPES = [(2, 3, 4), (3, 4, 5), (2, 2, 3, 3)]


def plan_for(
    shape: tuple[int, ...], rng: np.random.Generator, noise: Noise = "laplace"
) -> list[Measured]:
    out = []
    for margin in [*closure(all_ways(len(shape), 2)), tuple(range(len(shape)))]:
        two = [a for a in margin if shape[a] == 2]
        for contrast in [(), *([tuple(two)] if two else [])]:
            out.append(Measured(margin, contrast, Fraction(int(rng.integers(2, 40)), 40), noise))
    return out


def matrix_of(measured: Measured, shape: tuple[int, ...]) -> np.ndarray:
    columns = []
    for cell in itertools.product(*(range(n) for n in shape)):
        table = np.zeros([shape[a] for a in measured.margin], dtype=np.int64)
        table[tuple(cell[a] for a in measured.margin)] = 1
        columns.append(measured.of(table).ravel())
    return np.array(columns, dtype=float).T


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_combination_is_generalised_least_squares(shape: tuple[int, ...], noise: Noise) -> None:
    """Estimates and variances equal those of the explicit normal equations, to 1e-8."""
    rng = np.random.default_rng(1)
    measured = plan_for(shape, rng, noise)
    true = rng.poisson(5, shape)
    tables, rows, values, weights = [], [], [], []
    for m in measured:
        gone = tuple(a for a in range(len(shape)) if a not in m.margin)
        exactly = m.of(true.sum(axis=gone))
        noisy = exactly + rng.integers(-9, 10, exactly.shape)
        tables.append(noisy)
        rows.append(matrix_of(m, shape))
        values.append(noisy.ravel())
        weights.append(np.full(noisy.size, 1 / m.variance))
    matrix, value, weight = np.vstack(rows), np.concatenate(values), np.concatenate(weights)
    covariance = np.linalg.inv(matrix.T @ (weight[:, None] * matrix))
    best = (covariance @ (matrix.T @ (weight * value))).reshape(shape)
    workload = all_ways(len(shape), 2)
    found = combine(shape, measured, tables, workload)
    known = {kept: r.precision for kept, r in found.items()}
    for margin in workload:
        gone = tuple(a for a in range(len(shape)) if a not in margin)
        assert np.allclose(rebuild(shape, found, margin), best.sum(axis=gone), atol=1e-8)
        # the variance of a sum over two categories of the first axis and one of the second
        pick = np.zeros(shape)
        index = [slice(None)] * len(shape)
        index[margin[0]], index[margin[1]] = slice(0, 2), slice(0, 1)
        pick[tuple(index)] = 1
        exactly = pick.ravel() @ covariance @ pick.ravel()
        told = sum_variance(shape, known, margin, [np.array([2]), np.array([1])])
        assert told.item() == pytest.approx(exactly, rel=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_kernel_and_pricing_equal_explicit_inner_products(shape: tuple[int, ...]) -> None:
    """Inner products and reduced costs of all cells, against the explicit objective."""
    rng = np.random.default_rng(2)
    measured = plan_for(shape, rng)
    tables = [rng.integers(-5, 30, m.shape(shape)) for m in measured]
    residuals = fit_weights(combine(shape, measured, tables, all_ways(len(shape), 2)), one_way=4)
    model = ResidualModel(Targets(shape, residuals))
    cells = np.array(list(itertools.product(*(range(n) for n in shape))))
    table = rng.random(len(cells))

    def objective(weights: np.ndarray) -> float:
        full = weights.reshape(shape)
        total = 0.0
        for kept, r in residuals.items():
            part = full.sum(axis=tuple(a for a in range(len(shape)) if a not in kept))
            for axis in range(part.ndim):
                part = part - part.mean(axis=axis, keepdims=True)
            total += 0.5 * r.precision * float(((part - r.table) ** 2).sum())
        return total

    slope = model.gram(cells, cells) @ table - model.linear(cells)
    best, costs = model.price(cells, table, len(cells), np.random.default_rng(0))
    order = {tuple(c): i for i, c in enumerate(cells.tolist())}
    assert np.allclose(costs, slope[[order[tuple(c)] for c in best.tolist()]])
    for i in rng.choice(len(cells), 5, replace=False):
        step = np.zeros(len(cells))
        step[i] = 1e-4
        change = (objective(table + step) - objective(table - step)) / 2e-4
        assert change == pytest.approx(slope[i], rel=1e-5, abs=1e-6)


def test_the_two_models_agree_on_binary_variables() -> None:
    """Parities and kernel give the same inner products, prices and fit."""
    shape = (2,) * 6
    rng = np.random.default_rng(3)
    every = closure(all_ways(6, 2))
    measured = [Measured(m, m, Fraction(1, 20)) for m in every]
    tables = [np.array(rng.integers(-200, 200)).reshape(m.shape(shape)) for m in measured]
    tables[0] = np.array(500)
    residuals = fit_weights(combine(shape, measured, tables, all_ways(6, 2)), one_way=1)
    targets = Targets(shape, residuals)
    one, two = FourierModel(targets), ResidualModel(targets)
    cells = np.array(list(itertools.product(range(2), repeat=6)))
    assert np.allclose(one.gram(cells, cells), two.gram(cells, cells))
    assert np.allclose(one.linear(cells), two.linear(cells))
    values = []
    for model in (one, two):
        fitted = fit_sparse(model, cells[:10], Limits(tolerance=1e-5, batch=20), Control())
        assert fitted.converged
        assert fitted.weights.min() > 0
        gram = model.gram(fitted.rows, fitted.rows)
        values.append(
            0.5 * fitted.weights @ gram @ fitted.weights
            - model.linear(fitted.rows) @ fitted.weights
        )
    assert values[0] == pytest.approx(values[1], rel=1e-7)


def test_the_sparse_fit_is_the_optimum_over_all_cells() -> None:
    """Column generation reaches what scipy's NNLS reaches with every cell at hand."""
    from scipy.optimize import nnls

    shape = (3, 4, 5)
    rng = np.random.default_rng(4)
    measured = [Measured(m, (), Fraction(1, 3)) for m in all_ways(3, 2)]
    tables = [rng.integers(-8, 20, m.shape(shape)) for m in measured]
    residuals = fit_weights(combine(shape, measured, tables, all_ways(3, 2)), one_way=1)
    model = ResidualModel(Targets(shape, residuals))
    cells = np.array(list(itertools.product(*(range(n) for n in shape))))
    gram, linear = model.gram(cells, cells), model.linear(cells)
    root = np.linalg.cholesky(gram + 1e-9 * np.trace(gram) * np.eye(len(cells))).T
    exact, _ = nnls(root, np.linalg.solve(root.T, linear))
    fitted = fit_sparse(model, cells[::7], Limits(tolerance=1e-8, batch=15), Control())
    small = model.gram(fitted.rows, fitted.rows)
    value = (
        0.5 * fitted.weights @ small @ fitted.weights - model.linear(fitted.rows) @ fitted.weights
    )
    assert value == pytest.approx(0.5 * exact @ gram @ exact - linear @ exact, rel=1e-5)


def test_the_transform_is_the_sum_of_signs() -> None:
    """The fast transform equals the ±1 matrix."""
    values = np.random.default_rng(5).integers(-9, 9, 1 << 9)
    signs = [
        [(-1) ** ((a & b).bit_count() % 2) for b in range(1 << 9)] for a in range(0, 1 << 9, 37)
    ]
    assert np.allclose(np.array(signs) @ values, transform(values)[::37])


def test_local_search_forbids_what_cannot_exist() -> None:
    """Structural zeros hold under both kinds of pricing."""
    shape = (3, 3, 2)
    banned = np.zeros((3, 2))
    banned[1, 0] = 1
    measured = [Measured(m, (), Fraction(1)) for m in all_ways(3, 2)]
    tables = [np.full(m.shape(shape), 40) for m in measured]
    residuals = fit_weights(combine(shape, measured, tables, all_ways(3, 2)), one_way=1)
    targets = Targets(shape, residuals, {(0, 2): banned})
    start = np.array([[0, 0, 0], [2, 2, 1]])
    for exact in (True, False):
        model = ResidualModel(targets)
        model.exact_pricing = exact
        fitted = fit_sparse(model, start, Limits(steps=40, batch=10), Control())
        assert len(fitted.rows) > 4
        assert not ((fitted.rows[:, 0] == 1) & (fitted.rows[:, 2] == 0)).any()


def test_subsets_are_all_margins() -> None:
    assert len(subsets((0, 1, 2))) == 8


@pytest.mark.slow
def test_the_dense_fit_agrees_with_the_sparse_one() -> None:
    """All cells at once reaches the same distance as column generation, zeros and total kept."""
    shape = (4, 5, 6)
    rng = np.random.default_rng(6)
    true = rng.gamma(0.3, 20, shape).astype(int)
    banned = np.zeros((4, 5))
    banned[0, 0] = 1
    true[0, 0] = 0
    measured = [Measured(m, (), Fraction(1, 3)) for m in all_ways(3, 2)]
    tables = []
    for m in measured:
        gone = tuple(a for a in range(3) if a not in m.margin)
        tables.append(true.sum(axis=gone) + rng.integers(-6, 7, m.shape(shape)))
    total = int(true.sum())
    found = combine(shape, measured, tables, all_ways(3, 2), total=total)
    targets = Targets(shape, fit_weights(found, one_way=1), {(0, 1): banned})
    model = ResidualModel(targets)
    fit = DenseFit(model, total, Control())
    table = fit.run(np.full(shape, total / true.size))
    assert table.sum() == pytest.approx(total)
    assert table.min() >= 0
    assert not table[0, 0].any()
    cells = np.array(list(itertools.product(*(range(n) for n in shape))))
    start = cells[targets.allowed(cells) > 0][::5]
    sparse = fit_sparse(model, start, Limits(tolerance=1e-6, batch=30), Control())
    small = np.zeros(shape)
    small[tuple(sparse.rows.T)] = sparse.weights
    assert fit.slope(table)[0] <= fit.slope(small * total / small.sum())[0] * 1.05 + 0.5
    whole = fit.whole(table)
    assert whole.total == total
    assert not ((whole.rows[:, 0] == 0) & (whole.rows[:, 1] == 0)).any()
    for m in all_ways(3, 2):
        gone = tuple(a for a in range(3) if a not in m)
        assert np.abs(whole.margin(m) - table.sum(axis=gone)).mean() < 1
