"""Binary variables: Fourier coefficients of the downward closure, at the tight sensitivity.

Under Laplace noise one rate for each order. Under Gaussian noise and add or remove one there is a
closed form: the least Σ weight / rate at a given Σ rate has rates in proportion to √weight, one
for each coefficient. Where records are replaced the sensitivity is a largest sum over ways two
records differ, and the rates of the orders are searched for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....core.neighbours import Neighbours
from ....core.product import Margin, Reals, Shape, closure, subsets
from ..fit.fourier import masks_of, order_of, transform
from ..measured_tables import MOST_AXES_ENUMERATED, flips
from .allocation import Allocation, Spending, finished


def coefficients(shape: Shape, workload: Sequence[Margin], spending: Spending) -> Allocation:
    """Every coefficient that is not public, at rates that promise the least error."""
    margins = [m for m in closure(workload) if m not in spending.public]
    weight: dict[Margin, float] = dict.fromkeys(margins, 0.0)
    for table in workload:
        for kept in subsets(table):
            if kept in weight:
                weight[kept] += 1 / 4.0 ** len(table)
    if spending.noise == "gaussian" and spending.neighbours is Neighbours.ADD_REMOVE:
        shares = {(m, m): math.sqrt(weight[m]) for m in margins}
    else:
        orders = sorted({len(m) for m in margins})
        by_order = np.array([sum(w for m, w in weight.items() if len(m) == r) for r in orders])
        rows = _changes(margins, orders, len(shape), spending.neighbours)
        rates = _least_error(by_order, rows, spending.power)
        shares = {(m, m): float(rates[orders.index(len(m))]) for m in margins}
    return finished("Fourier coefficients", shape, workload, shares, spending)


def _changes(
    margins: Sequence[Margin], orders: Sequence[int], axes: int, neighbours: Neighbours
) -> Reals:
    """For each way two neighbours differ: how many coefficients of each order change, times 2."""
    masks = masks_of(margins)
    order = order_of(masks)
    count = np.array([int((order == r).sum()) for r in orders], dtype=np.float64)
    if neighbours is Neighbours.ADD_REMOVE:
        return count[None, :]
    if all(n == math.comb(axes, r) for n, r in zip(count, orders, strict=True)):
        return 2.0 * np.array([[row[r] for r in orders] for row in flips(axes, orders[-1])])
    if axes > MOST_AXES_ENUMERATED:
        return 2.0 * count[None, :]
    columns = []
    for r, n in zip(orders, count, strict=True):
        here = np.zeros(1 << axes)
        here[masks[order == r]] = 1
        columns.append(n - transform(here))
    return np.unique(np.stack(columns, axis=1), axis=0)


def _least_error(weight: Reals, rows: Reals, power: int) -> Reals:
    """Rates s that minimise Σ weight / s^power while every row·s ≤ 1."""
    from scipy import optimize

    minimize: Any = optimize.minimize
    start = np.full(len(weight), 1 / rows.sum(axis=1).max())
    if len(weight) == 1:
        return start
    base = float((weight / start**power).sum())
    found = minimize(
        lambda u: float((weight / (u * start) ** power).sum()) / base,
        np.ones(len(weight)),
        jac=lambda u: -power * weight / (u ** (power + 1) * start**power) / base,
        constraints=[
            {
                "type": "ineq",
                "fun": lambda u: 1 - rows @ (u * start),
                "jac": lambda u: -rows * start,
            }
        ],
        bounds=[(1e-3, None)] * len(weight),
        method="SLSQP",
    )
    rates = np.asarray(found.x) * start
    return np.asarray(rates / (rows @ rates).max())
