"""Classic mode: the paper's program, its optimum, its bounds, and §4.3's simple way."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.product import closure
from discreet.errors import InputError, RecipeError
from discreet.methods.marginals.bits import BitCoding
from discreet.methods.marginals.declaration import PROGRAMS
from discreet.methods.marginals.design import design_of
from discreet.methods.marginals.fit.classic import (
    Features,
    Objective,
    Program,
    simple_shift,
    solve_program,
    theorem_7,
    theorem_8,
)
from discreet.methods.marginals.fit.estimate_to_table import _warm
from discreet.methods.marginals.measured_tables import Measured
from discreet.methods.marginals.method import MarginalsMethod

from .margins import all_ways
from .people import described, facts_of, latent, question, released, true_margin


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
    """The fit of mode classic reaches the optimum of the whole linear program, to within 1e-6."""
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


@pytest.mark.parametrize("objective", PROGRAMS)
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


@pytest.mark.slow
def test_simple_nonnegativity_from_a_recipe() -> None:
    """§4.3, Corollary 1 with t = 3: nothing is solved; a public number of records is spread over all
    cells, tables agree but for rounding, and none is negative.

    Negative with probability ≤ e^−3 a release by the corollary; over 20 releases here the L1 norm
    of the noise would have to exceed 12|B|²/ε, six times its mean: below 1e-7.
    """
    rows, made = latent((2, 4, 2, 2), 400, 2), described((2, 4, 2, 2))
    margins = all_ways(4, 2)
    names = [[f"v{a}", f"v{b}"] for a, b in margins]
    asked = question(made, names, epsilon="1", mode="classic", objective="shift")
    for _ in range(20):
        plan, _, tables = released(rows, made, asked)
        count = len(design_of(plan).allocation.measured)
        shift = 12 * count**2
        assert f"{shift:,} records are spread evenly" in tables[0].notes[1]
        assert len({int(table.values[-1, -1]) for table in tables}) == 1
        for axis in range(4):
            ones = [
                table.values[-1] if margin[1] == axis else table.values[:, -1]
                for margin, table in zip(margins, tables, strict=True)
                if axis in margin
            ]
            assert all((one == ones[0]).all() for one in ones)
        for table in tables:
            inside = table.values[:-1, :-1]
            assert inside.min() >= 0
            assert abs(int(inside.sum()) - int(table.values[-1, -1])) <= inside.size
            even = shift / inside.size
            assert (np.abs(inside - table.extra["unbiased"][:-1, :-1] - even) <= 1).all()
            assert not any("synthetic table" in note for note in table.notes)


def test_a_shift_is_a_treatment_of_the_same_measurements() -> None:
    """The same question as with a program; beyond what a program can take it still answers."""
    made = described((2,) * 5)
    names = [["v0", "v1"], ["v2", "v3", "v4"]]
    both = [
        MarginalsMethod().plan(
            *question(made, names, epsilon="1", mode="classic", objective=objective), facts_of(made)
        )
        for objective in ("largest", "shift")
    ]
    assert both[0].question_hash == both[1].question_hash
    wide = described((2,) * 24)
    every = [[f"v{i}", f"v{i + 1}"] for i in range(23)]
    asked = question(wide, every, epsilon="1", mode="classic", objective="shift")
    _, _, tables = released(latent((2,) * 24, 50, 1), wide, asked)
    assert min(table.values.min() for table in tables) >= 0


@pytest.mark.parametrize(
    ("shape", "names", "more", "words"),
    [
        ((3, 2), [["v0", "v1"], ["v0"]], {}, "2, 4, 8"),
        ((2, 2), [["v0", "v1"]], {}, "noise_on: coefficients"),
        ((2, 2), [["v0"], ["v1"]], {"noise_on": "cells"}, "noise_on: coefficients"),
    ],
)
def test_what_a_shift_cannot_do(shape, names, more, words) -> None:
    """Codes without a category would get records; noise on cells leaves no coefficients."""
    made = described(shape)
    asked = question(made, names, epsilon="1", mode="classic", objective="shift", **more)
    with pytest.raises(RecipeError, match=words):
        MarginalsMethod().plan(*asked, facts_of(made))


def test_small_t_is_refused() -> None:
    """The corollary fails for small t, so t < 3 is not offered."""
    with pytest.raises(InputError, match="t must be ≥ 3"):
        simple_shift(10, Fraction(1), 2)


def test_bounds_count_all_records_of_a_unit() -> None:
    """A unit of three records gets three times the noise, and the bound says so, in plan and table."""
    for records in (1, 3):
        made = described((2, 2, 2), records_per_unit=records)
        asked = question(made, [["v0", "v1"], ["v1", "v2"]], epsilon="1", mode="classic")
        plan, _, tables = released(latent((2, 2, 2), 90, 1), made, asked)
        bound = theorem_7(2, 6, Fraction(1, records), Fraction(1, 20))
        assert f"≤ {bound:,.0f}." in plan.errors[0].note
        for table in tables:
            assert any(f"≤ {bound:,.0f}." in note for note in table.notes)


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
