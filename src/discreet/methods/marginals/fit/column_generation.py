"""The non-negative table nearest to the estimates, sparse, by column generation.

A few cells are in play at a time. Solve for them; ask the model which other cells would help most;
let a batch of those in; drop cells that turn negative; repeat. Every step is a real table ≥ 0, so
consistency never depends on convergence. The projection on the cone of tables ≥ 0 does not
expand: in the fit's own norm the table is no farther from the truth than the noise (barak's LP
pays a factor 2 there).

The result depends on the estimates only: starts are drawn from a fixed seed and the limits are
numbers of steps, never time, so that the same measurements give the same table again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ....core.control import Control
from ....core.product import Reals, Rows
from .cells import unseen
from .model import Model

_RIDGE = 1e-10
_TRIES = 60
_PATIENCE = 4
_TINY = 120
_SMALL = 500
_CAREFUL_STEPS = 2000


@dataclass(frozen=True)
class Limits:
    """When to stop: `tolerance` in units of the rank (noise alone is worth rank/2)."""

    steps: int = 300
    batch: int = 150
    tolerance: float = 0.01
    most_cells: int = 6000
    stall: float = 0.003
    """Stop if ten steps gained less than this share of what is left."""


@dataclass(frozen=True)
class Fitted:
    """A sparse table of fractions ≥ 0: cells and weights; `gap` bounds what optimality lacks."""

    rows: Rows
    weights: Reals
    steps: int
    gap: float
    converged: bool


def fit_sparse(model: Model, start: Rows, limits: Limits, control: Control) -> Fitted:
    """Minimise the model's distance over tables ≥ 0."""
    random = np.random.default_rng(20070611)
    rows = np.unique(start, axis=0)
    gram, linear = model.gram(rows, rows), model.linear(rows)
    weights: Reals = np.zeros(len(rows))
    history: list[float] = []
    step, gap, converged = 0, np.inf, False
    while True:
        step += 1
        control.step(min(0.95, step / limits.steps), "fitting the table")
        weights, value = _solve(gram, linear, weights, history[-1] if history else np.inf)
        history.append(value)
        kept = np.flatnonzero(weights > 0)
        if len(kept) == 0:
            return Fitted(rows[:0], weights[:0], step, 0.0, True)
        rows, weights = rows[kept], weights[kept]
        gram, linear = gram[np.ix_(kept, kept)], linear[kept]
        if step >= limits.steps or len(rows) >= limits.most_cells:
            break
        new, costs = model.price(rows, weights, limits.batch, random)
        if len(costs) == 0:
            converged = True
            break
        gap = float(-costs[0] * weights.sum())
        if gap <= limits.tolerance * model.rank:
            converged = model.exact_pricing
            break
        if step > 12 and history[-11] - value < limits.stall * limits.tolerance * model.rank * 10:
            break
        new = unseen(new[costs < 0], rows)
        if len(new) == 0:
            converged = True
            break
        side = model.gram(rows, new)
        gram = np.block([[gram, side], [side.T, model.gram(new, new)]])
        linear = np.concatenate([linear, model.linear(new)])
        rows = np.concatenate([rows, new])
        weights = np.concatenate([weights, np.zeros(len(new))])
    return Fitted(rows, weights, step, max(gap, 0.0), converged)


def _solve(gram: Reals, linear: Reals, weights: Reals, before: float) -> tuple[Reals, float]:
    """Least squares ≥ 0 over the cells in play, and its value (without the constant).

    Block principal pivoting: solve for the cells taken as positive, exchange every cell on the
    wrong side at once while that makes fewer of them. Where it does not, Lawson–Hanson, which
    always finishes: from the start for few cells, from the old weights for many.
    """
    if len(linear) <= _TINY:
        return _by_factor(gram, linear)
    positive = weights > 0
    if not positive.any():
        positive[:] = True
    slack = 1e-9 * max(1.0, float(np.abs(linear).max(initial=0.0)))
    fewest, patience = len(linear) + 1, _PATIENCE
    for _ in range(_TRIES):
        inside = np.flatnonzero(positive)
        out: Reals = np.zeros(len(linear))
        if len(inside):
            out[inside] = _least_squares(gram, linear, inside)
        slope = gram[:, inside] @ out[inside] - linear
        wrong = np.where(positive, out < 0, slope < -slack)
        count = int(wrong.sum())
        if count == 0:
            value = -0.5 * float(linear @ out)
            if value <= before + 1e-9 * abs(before):
                return out, value
            break
        if count < fewest:
            fewest, patience = count, _PATIENCE
        else:
            patience -= 1
        if patience >= 0:
            positive ^= wrong
        else:
            break
    if len(linear) <= _SMALL:
        return _by_factor(gram, linear)
    return _careful(gram, linear, weights)


def _factored(gram: Reals) -> Reals:
    """A square root of a Gram matrix, upper triangular, its diagonal raised as far as that needs."""
    from scipy import linalg

    solver: Any = linalg
    diagonal, ridge = np.diag_indices_from(gram), _RIDGE
    while True:
        raised = gram.copy()
        raised[diagonal] *= 1 + ridge
        try:
            return np.asarray(solver.cholesky(raised, lower=False, check_finite=False))
        except np.linalg.LinAlgError:
            ridge *= 100


def _by_factor(gram: Reals, linear: Reals) -> tuple[Reals, float]:
    """Lawson–Hanson on a square root of the Gram matrix: slow for many cells, always finishes."""
    from scipy import linalg, optimize

    solver, nnls = cast(Any, linalg), cast(Any, optimize).nnls
    root = _factored(gram)
    side = solver.solve_triangular(root, linear, trans="T", check_finite=False)
    out = np.asarray(nnls(root, side, maxiter=30 * len(linear))[0])
    return out, 0.5 * float(out @ (gram @ out)) - float(linear @ out)


def _careful(gram: Reals, linear: Reals, weights: Reals) -> tuple[Reals, float]:
    now = weights.copy()
    active = np.ones(len(linear), dtype=bool)
    for _ in range(_CAREFUL_STEPS):
        inside = np.flatnonzero(active)
        if len(inside) == 0:
            break
        solution = _least_squares(gram, linear, inside)
        wrong = solution <= 0
        if not wrong.any():
            now[:] = 0
            now[inside] = solution
            break
        leaving = wrong & (now[inside] <= 0)
        if leaving.any():
            active[inside[leaving]] = False
            continue
        here = now[inside]
        reach = float(np.min(here[wrong] / (here[wrong] - solution[wrong])))
        here = here + reach * (solution - here)
        gone = wrong & (here <= 1e-9 * max(1.0, float(here.max())))
        here[gone] = 0
        now[inside] = here
        active[inside[gone]] = False
    value = 0.5 * float(now @ (gram @ now)) - float(linear @ now)
    return np.maximum(now, 0), value


def _least_squares(gram: Reals, linear: Reals, inside: npt.NDArray[np.int64]) -> Reals:
    from scipy import linalg

    factor = _factored(gram[np.ix_(inside, inside)]), False
    return np.asarray(cast(Any, linalg).cho_solve(factor, linear[inside], check_finite=False))
