"""Classic mode: the paper's program, its optimum, its bounds, and §4.3's simple way."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.product import closure
from discreet.errors import InputError
from discreet.methods.marginals.bits import BitCoding
from discreet.methods.marginals.declaration import OBJECTIVES
from discreet.methods.marginals.fit.classic import (
    Features,
    Objective,
    Program,
    solve_program,
    theorem_7,
    theorem_8,
)
from discreet.methods.marginals.fit.estimate_to_table import _warm
from discreet.methods.marginals.measured_tables import Measured, draw_all

from .margins import all_ways
from .people import described, latent, question, released, true_margin
from .simple_margins import simple_nonnegative, simple_shift


def binary_rows(k: int, records: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(6) * 0.7)
    chance = rng.beta(0.35, 0.9, (6, k))
    return (rng.random((records, k)) < chance[rng.choice(6, records, p=shares)]).astype(np.int64)


def noisy_coefficients(k: int, order: int, seed: int) -> tuple[Features, np.ndarray]:
    every = closure(all_ways(k, order))
    features = Features((2,) * k, [Measured(m, m, Fraction(1, 2 * len(every))) for m in every])
    exactly = features.columns(binary_rows(k, 3000, k)) @ np.ones(3000)
    noise = np.random.default_rng(seed).laplace(size=len(every)) * 2 * len(every)
    return features, exactly + np.rint(noise)


def plain_optimum(features: Features, target: np.ndarray, objective: Objective) -> float:
    """The whole program at once: every cell a column, scipy's HiGHS."""
    from scipy.optimize import linprog

    cells = math.prod(features.shape)
    rows = np.stack(np.unravel_index(np.arange(cells), features.shape), axis=1)
    columns, m = features.columns(rows), features.count
    if features.banned is not None:
        columns = columns[:, ~features.banned]
    cells = columns.shape[1]
    eye = np.eye(m)
    largest, mean = {"largest": (1, 0), "total": (0, 1), "hybrid": (1, 1 / m)}[objective]
    cost = np.concatenate([np.zeros(cells), np.full(2 * m, mean), [largest]])
    found = linprog(
        cost,
        A_eq=np.block([[columns, eye, -eye, np.zeros((m, 1))]]),
        b_eq=target,
        A_ub=np.block([[np.zeros((m, cells)), eye, eye, -np.ones((m, 1))]]),
        b_ub=np.zeros(m),
        method="highs",
    )
    return float(found.fun)


@pytest.mark.parametrize(
    ("k", "order"),
    [
        (8, 2),
        (8, 3),
        (10, 2),
        pytest.param(12, 2, marks=pytest.mark.slow),
        pytest.param(10, 3, marks=pytest.mark.slow),
        pytest.param(12, 3, marks=pytest.mark.proof),
    ],
)
def test_column_generation_reaches_the_optimum(k: int, order: int) -> None:
    """Show 1: the optimum of the whole program, to 1e-6, from a few hundred of its columns."""
    for seed in (7, 8):
        features, target = noisy_coefficients(k, order, seed)
        program = solve_program(features, target, start=_warm(features, target, Control()))
        assert program.value == pytest.approx(
            plain_optimum(features, target, "largest"), rel=1e-6, abs=1e-6
        )
        said = features.columns(program.rows) @ program.weights
        assert np.abs(said - target).max() <= program.value + 1e-6
        assert program.weights.min() >= 0
        assert len(program.rows) <= features.count, "a vertex: support at most |B| (§3.2)"


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("in_cells", [False, True])
def test_every_objective_reaches_its_optimum(objective: Objective, in_cells: bool) -> None:
    """§4.1–4.2: largest, total and hybrid, over coefficients and over cells of margins."""
    features, target = noisy_coefficients(6, 2, 3)
    if in_cells:
        rng = np.random.default_rng(5)
        features = Features((2,) * 6, [Measured(m, (), Fraction(1)) for m in all_ways(6, 2)])
        rows = binary_rows(6, 500, 6)
        target = features.columns(rows) @ np.ones(500) + np.rint(rng.laplace(0, 30, features.count))
    program = solve_program(features, target, objective)
    assert program.value == pytest.approx(
        plain_optimum(features, target, objective), rel=1e-6, abs=1e-6
    )


def distance(program: Program, features: Features, target: np.ndarray) -> np.ndarray:
    return np.abs(features.columns(program.rows) @ program.weights - target)[features.touched]


@pytest.mark.parametrize(("k", "order"), [(6, 2), (8, 3), (9, 2)])
def test_settling_keeps_the_optimum_and_takes_less_of_the_rest(k: int, order: int) -> None:
    """Of the tables at the least largest distance, one nearer in total; still a vertex."""
    features, target = noisy_coefficients(k, order, 11)
    plain = solve_program(features, target)
    settled = solve_program(features, target, settled=True)
    assert settled.value == plain.value
    assert distance(settled, features, target).max() <= plain.value * (1 + 1e-6) + 1e-6
    assert settled.weights.min() >= 0
    assert len(settled.rows) <= features.count
    ratio = distance(settled, features, target).sum() / distance(plain, features, target).sum()
    assert ratio < 0.95


def test_one_cell_below_zero_does_not_spoil_the_others() -> None:
    """§4.2 on one margin: the nearest table is the noisy one with 0 where it is negative.

    The largest distance is that of the most negative cell. Without settling every other cell may
    go as far, and many do.
    """
    coding = BitCoding((10, 10))
    features = Features(
        coding.shape, [Measured(coding.margin((0, 1)), (), Fraction(1, 4))], coding.forbidden({})
    )
    target = np.full(256, 40.0) + np.rint(np.random.default_rng(4).laplace(0, 4, 256))
    target[np.flatnonzero(features.touched)[7]] = -12
    settled = solve_program(features, target, settled=True)
    assert settled.value == pytest.approx(12)
    made = np.zeros(coding.shape)
    made[tuple(settled.rows.T)] = settled.weights
    real = features.touched
    assert made.ravel()[real] == pytest.approx(np.maximum(target, 0)[real], abs=1e-6)
    assert not made.ravel()[~real].any()
    loose = distance(solve_program(features, target), features, target)
    assert loose.mean() > 5, "the twin: left unsettled, cells wander as far as they may"


def test_codes_without_a_category_do_not_set_the_distance() -> None:
    """Noise on cells nobody can be in says nothing: all 156 of them as loud as can be."""
    coding = BitCoding((10, 10))
    features = Features(
        coding.shape, [Measured(coding.margin((0, 1)), (), Fraction(1, 4))], coding.forbidden({})
    )
    assert features.touched.sum() == 100
    target = np.where(features.touched, 40.0, 1e6)
    program = solve_program(features, target)
    assert program.value == pytest.approx(0, abs=1e-6)
    assert program.weights.sum() == pytest.approx(4000)


def test_forbidden_cells_stay_empty() -> None:
    """Codes without a category hold nobody, and the optimum is that of the remaining cells."""
    coding = BitCoding((3, 5))
    every = closure([coding.margin((0, 1))])
    measured = [Measured(m, m, Fraction(1, 50)) for m in every]
    features = Features(coding.shape, measured, coding.forbidden({}))
    target = np.rint(np.random.default_rng(1).normal(0, 60, features.count))
    target[0] = 200
    program = solve_program(features, target)
    decoded = coding.decode(program.rows)
    assert (decoded < np.array([3, 5])).all()
    assert program.value == pytest.approx(plain_optimum(features, target, "largest"), rel=1e-6)


def test_bit_coding_goes_there_and_back() -> None:
    """Every cell of a mixed domain has bits of its own; margins decode to themselves."""
    shape = (3, 1, 5, 2)
    coding = BitCoding(shape)
    cells = np.array(list(itertools.product(*(range(n) for n in shape))))
    bits = coding.encode(cells)
    assert (coding.decode(bits) == cells).all()
    assert len(np.unique(bits, axis=0)) == len(cells)
    counts = np.arange(len(cells), dtype=float)
    table = np.zeros(coding.shape)
    np.add.at(table, tuple(bits.T), counts)
    kept = coding.margin((0, 2))
    margin = table.sum(axis=tuple(b for b in range(len(coding.shape)) if b not in kept))
    expected = counts.reshape(shape).sum(axis=(1, 3))
    assert (coding.decode_margin(margin, (0, 2)) == expected).all()


@pytest.mark.slow
@pytest.mark.parametrize("fourier", [True, False])
def test_theorems_7_and_8_hold(fourier: bool) -> None:
    """No margin of 12 releases exceeds its bound at δ = 1/20, which is printed before spending.

    The theorem allows 1 release in 20 to break it; the constant 8 is generous (errors here are
    near a tenth of the bound, and the noise would have to be seven times larger, e^−7 of its size
    at the most: below 1e-7). The twin, raw noise for ε = 1/5000, must break the bound of ε = 1.
    """
    shape, order = (2,) * 6, 2
    rows = binary_rows(6, 2000, 1)
    made = described(shape)
    names = [[f"v{a}", f"v{b}"] for a, b in all_ways(6, order)]
    parameters = {"epsilon": "1", "mode": "classic"}
    if not fourier:
        parameters["noise_on"] = "cells"
    asked = question(made, names, **parameters)
    delta = Fraction(1, 20)
    margins = all_ways(6, order)
    if fourier:
        bound = theorem_7(order, len(closure(margins)), Fraction(1), delta)
    else:
        bound = theorem_8(order, len(margins), 4 * len(margins), Fraction(1), delta)
    worst = 0.0
    for _ in range(12):
        plan, _, tables = released(rows, made, asked)
        assert f"{bound:,.0f}" in plan.errors[0].note, "the bound is printed before spending"
        for table, margin in zip(tables, margins, strict=True):
            off = np.abs(table.values[:2, :2] - true_margin(rows, shape, margin)).sum()
            worst = max(worst, float(off))
    assert worst <= bound
    _, _, loud = released(rows, made, question(made, names, **parameters | {"epsilon": "0.0002"}))
    assert (
        max(
            np.abs(table.extra["unbiased"][:2, :2] - true_margin(rows, shape, margin)).sum()
            for table, margin in zip(loud, margins, strict=True)
        )
        > bound
    )


def test_simple_nonnegativity_is_consistent_and_nonnegative() -> None:
    """§4.3 with the shift of Corollary 1, t = 3: exact fractions that agree, none negative.

    Negative with probability ≤ e^−3 a release by the corollary; over 20 releases here the L1 norm
    of the noise would have to exceed 12|B|²/ε, six times its mean: below 1e-7.
    """
    rows, k = binary_rows(5, 400, 2), 5
    every = closure(all_ways(k, 2))
    epsilon = Fraction(1)
    measured = [Measured(m, m, epsilon / (2 * len(every))) for m in every]
    for _ in range(20):
        noisy = draw_all(measured, lambda m: true_margin(rows, (2,) * k, m))["coefficients"]
        found = simple_nonnegative(
            dict(zip(every, noisy.tolist(), strict=True)), all_ways(k, 2), epsilon
        )
        total = {sum(cells) for cells in found.values()}
        assert len(total) == 1
        first = {
            margin: (cells[0] + cells[2], cells[1] + cells[3]) for margin, cells in found.items()
        }
        assert first[(0, 1)] == first[(0, 2)] == first[(0, 4)]
        assert min(min(cells) for cells in found.values()) >= 0


def test_small_t_is_refused() -> None:
    """The corollary fails for small t, so t < 3 is not offered."""
    with pytest.raises(InputError, match="t must be ≥ 3"):
        simple_shift(10, Fraction(1), Fraction(2))


def test_too_many_bits_are_refused_before_anything_is_spent() -> None:
    """More than 2^22 cells: classic mode says so and names the other mode."""
    made = described((2,) * 23)
    with pytest.raises(InputError, match="modern"):
        released(
            latent((2,) * 23, 10, 1),
            made,
            question(
                made, [["v0", "v1"], *[[f"v{i}"] for i in range(23)]], epsilon="1", mode="classic"
            ),
        )
