"""What to measure and how much ε each table gets: from public facts only.

*Binary variables*: the Fourier coefficients of the downward closure, one rate for each order, at
the tight sensitivity (barak's Theorem 6 spends up to twice that). *Otherwise*: whole tables of
cells. Orthonormal contrasts of three or more categories cost more than they tell under pure ε, so
none are used; but fewer, wider tables can beat many narrow ones, because cost grows with their
number: tables are merged while the predicted error falls. Axes of two categories may be measured
as one difference, which is twice as precise.

A table whose mean cell is small beside its own noise is not measured: `density` compares them,
where the number of records is public at least roughly. Predicted errors are those of the unbiased
combination; the fit, which adds that no count is negative, is usually closer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...core.charge import Neighbours
from .combine import HARD, information, mean_variance, precisions
from .fourier import masks_of, order_of, transform
from .margins import Margin, Reals, Shape, closure, maximal, size, subsets
from .measured import MOST_AXES_ENUMERATED, Measured, flips, scaled_to

TOTAL_SHARE = 0.02
ONE_WAY_SHARE = 0.25
LONG_AXIS = 8
"""With a longer axis than this, rare categories are likely and one-way margins are measured."""
DENSITY = 3.0
MOST_MERGED_CELLS = 200_000
_MOST_TUNED = 6
_FEW = 8
_MOST_SEARCHED = 60
"""With more tables than this, equal shares and no search over contrasts."""


Key = tuple[Margin, Margin]
"""A table to measure: its axes, and which of them as differences."""


@dataclass(frozen=True)
class Budget:
    """A way to spend: measured tables, what is left out, and how well residuals will be known."""

    name: str
    measured: tuple[Measured, ...]
    dropped: tuple[Margin, ...]
    known: dict[Margin, float]
    rms: float
    """Predicted root mean squared error of a cell, mean over the tables that are measured."""
    one_way: bool


def plan_budget(
    shape: Shape,
    workload: Sequence[Margin],
    epsilon: Fraction,
    neighbours: Neighbours,
    *,
    records: int | None = None,
    one_way: Fraction | None = None,
) -> tuple[Budget, list[Budget]]:
    """The plan of least predicted error, and the others it was compared with.

    `records` is the public number of records, exact or rough; `one_way` the share of ε for one-way
    margins of their own (None: a quarter where an axis has more than 8 categories, else nothing).
    """
    choices = []
    if all(n == 2 for n in shape):
        choices.append(fourier_budget(shape, workload, epsilon, neighbours))
    if not choices or len(workload) <= _MOST_SEARCHED:
        choices += table_budgets(shape, workload, epsilon, neighbours, records, one_way)
    best = min(choices, key=lambda choice: (len(choice.dropped) > 0, choice.rms))
    if any(choice.dropped for choice in choices) and not all(n == 2 for n in shape):
        best = min(choices, key=lambda choice: (not choice.dropped, choice.rms))
    return best, [choice for choice in choices if choice is not best]


def _finished(
    name: str,
    shape: Shape,
    workload: Sequence[Margin],
    measured: tuple[Measured, ...],
    dropped: Iterable[Margin],
    *,
    public_total: bool,
    one_way: bool,
) -> Budget:
    left_out = tuple(dropped)
    known = precisions(shape, measured, closure(workload), total=public_total)
    kept = [margin for margin in workload if margin not in left_out]
    variances = [mean_variance(shape, known, margin) for margin in kept]
    rms = math.sqrt(sum(variances) / len(variances)) if variances else math.inf
    return Budget(name, measured, left_out, known, rms, one_way)


def fourier_budget(
    shape: Shape, workload: Sequence[Margin], epsilon: Fraction, neighbours: Neighbours
) -> Budget:
    """Fourier coefficients, one rate for each order, at the tight sensitivity."""
    axes, margins = len(shape), closure(workload)
    public_total = neighbours == "replace-one"
    first = 1 if public_total else 0
    orders = range(first, max(len(m) for m in margins) + 1)
    weight = np.zeros(len(orders))
    for table in workload:
        for kept in subsets(table):
            if len(kept) >= first:
                weight[len(kept) - first] += 1 / 4.0 ** len(table)
    rows = _changes(margins, axes, first, neighbours)
    rates = _least_error(weight, rows)
    shares = {(m, m): float(rates[len(m) - first]) for m in margins if len(m) >= first}
    measured = scaled_to(shares, epsilon, axes, neighbours)
    return _finished(
        "Fourier coefficients",
        shape,
        workload,
        measured,
        (),
        public_total=public_total,
        one_way=False,
    )


def _changes(margins: Sequence[Margin], axes: int, first: int, neighbours: Neighbours) -> Reals:
    """For each way two neighbours differ: the L1 change of the coefficients of each order."""
    masks = masks_of(margins)
    order = order_of(masks)
    count = np.bincount(order)
    if neighbours == "add-remove":
        return count[None, first:].astype(np.float64)
    top = len(count) - 1
    if all(count[r] == math.comb(axes, r) for r in range(top + 1)):
        return 2.0 * np.array([[row[r] for r in range(1, top + 1)] for row in flips(axes, top)])
    if axes > MOST_AXES_ENUMERATED:
        return 2.0 * count[None, 1:].astype(np.float64)
    columns = []
    for r in range(1, top + 1):
        here = np.zeros(1 << axes)
        here[masks[order == r]] = 1
        columns.append(count[r] - transform(here))
    return np.unique(np.stack(columns, axis=1), axis=0)


def _least_error(weight: Reals, rows: Reals) -> Reals:
    """Rates s that minimise Σ weight/s² while every row·s ≤ 1."""
    from scipy import optimize

    minimize: Any = optimize.minimize
    start = np.full(len(weight), 1 / rows.sum(axis=1).max())
    if len(weight) == 1:
        return start
    base = float((weight / start**2).sum())
    found = minimize(
        lambda u: float((weight / (u * start) ** 2).sum()) / base,
        np.ones(len(weight)),
        jac=lambda u: -2 * weight / (u**3 * start**2) / base,
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


def table_budgets(
    shape: Shape,
    workload: Sequence[Margin],
    epsilon: Fraction,
    neighbours: Neighbours,
    records: int | None,
    one_way: Fraction | None,
) -> list[Budget]:
    """Whole tables: as asked for, merged, and merged with differences on binary axes."""
    public_total = neighbours == "replace-one"
    top = [margin for margin in maximal(workload) if margin]
    share = ONE_WAY_SHARE if max(shape) > LONG_AXIS else 0.0
    share = share if one_way is None else float(one_way)
    used = sorted({axis for margin in top for axis in margin})
    singles = [(axis,) for axis in used] if any(len(m) > 1 for m in top) and share else []
    share = share if singles else 0.0
    fixed: dict[Key, float] = {}
    if not public_total and (singles or not top):
        fixed[((), ())] = TOTAL_SHARE if top else 1.0
    rest = 1 - share - sum(fixed.values())
    for single in singles:
        fixed[(single, ())] = share / len(singles)
    kept, dropped = _dense(shape, top, float(epsilon) * rest, records, neighbours, bool(singles))
    lost = [m for m in workload if any(set(m) <= set(d) for d in dropped)]
    lost = [m for m in lost if len(m) > 1 and not any(set(m) <= set(k) for k in kept)]
    if not kept:
        shares = fixed or {((), ()): 1.0}
        return [_whole("one-way margins only", shape, workload, shares, epsilon, neighbours, lost)]
    wanted = [*kept, *(one for one in singles if any(one[0] in margin for margin in kept))]
    out = []
    plain: dict[Key, float] = {(m, ()): rest / len(kept) for m in kept}
    out.append(_whole("each table", shape, workload, fixed | plain, epsilon, neighbours, lost))
    stages = _different(sorted(merge(shape, kept, wanted)))
    merged = stages[0][1]
    if merged != sorted(kept):
        together: dict[Key, float] = {(m, ()): rest / len(merged) for m in merged}
        out.append(
            _whole("merged tables", shape, workload, fixed | together, epsilon, neighbours, lost)
        )
    for _, tables in stages[:_MOST_TUNED]:
        if len(tables) > _MOST_SEARCHED:
            continue
        keys: list[Key] = [(m, ()) for m in tables]
        flipped = _with_differences(shape, wanted, keys, fixed, rest, public_total)
        tuned = _tuned(shape, wanted, flipped, fixed, rest, public_total)
        name = f"{len(tables)} tables, shares tuned" + (
            "" if flipped == keys else ", some differences"
        )
        out.append(_whole(name, shape, workload, fixed | tuned, epsilon, neighbours, lost))
    return out


def _different(stages: Sequence[tuple[float, list[Margin]]]) -> list[tuple[float, list[Margin]]]:
    """Stages without those met before."""
    seen: set[tuple[Margin, ...]] = set()
    out = []
    for error, tables in stages:
        if tuple(tables) not in seen:
            seen.add(tuple(tables))
            out.append((error, tables))
    return out


def _whole(
    name: str,
    shape: Shape,
    workload: Sequence[Margin],
    shares: dict[Key, float],
    epsilon: Fraction,
    neighbours: Neighbours,
    dropped: Iterable[Margin],
) -> Budget:
    measured = scaled_to(shares, epsilon, len(shape), neighbours)
    singles = any(len(m) == 1 for m, _ in shares) and any(len(m) > 1 for m, _ in shares)
    public_total = neighbours == "replace-one"
    return _finished(
        name, shape, workload, measured, dropped, public_total=public_total, one_way=singles
    )


def _dense(
    shape: Shape,
    tables: Sequence[Margin],
    epsilon: float,
    records: int | None,
    neighbours: Neighbours,
    fillable: bool,
) -> tuple[list[Margin], list[Margin]]:
    """The density rule: the longest run of tables, small ones first, that are worth their noise.

    The last table of a run of m must have a mean cell of at least `DENSITY` times its own noise
    when ε is shared by m. A fixed-point iteration would oscillate; a run does not. Only where
    one-way margins are measured can the rest be filled in.
    """
    ordered = sorted(tables, key=lambda margin: (size(shape, margin), margin))
    if records is None or not fillable:
        return ordered, []
    each = epsilon / (2 if neighbours == "replace-one" else 1)
    most = 0
    for count, margin in enumerate(ordered, 1):
        if (
            len(margin) == 1
            or records / size(shape, margin) >= DENSITY * math.sqrt(2) * count / each
        ):
            most = count
    return ordered[:most], ordered[most:]


def worth(shape: Shape, workload: Sequence[Margin]) -> dict[Margin, float]:
    """For each residual: the variance it brings to the mean cell of all workload tables together."""
    found: dict[Margin, float] = {}
    for table in workload:
        cells = size(shape, table)
        for kept in subsets(table):
            others = size(shape, [axis for axis in table if axis not in kept])
            directions = math.prod(shape[axis] - 1 for axis in kept)
            found[kept] = found.get(kept, 0.0) + directions / (others * cells)
    return found


def merge(
    shape: Shape, tables: Sequence[Margin], workload: Sequence[Margin]
) -> list[tuple[float, list[Margin]]]:
    """Merge two tables into their union, the best pair each time, as long as any pair can be.

    Returns every stage with its predicted error at equal shares. The error may rise before it
    falls (the share problem is not convex under pure ε), so the walk goes on to the end.
    """
    value = worth(shape, workload)
    residuals = list(value)
    weights = np.array([value[kept] for kept in residuals])
    place = {kept: i for i, kept in enumerate(residuals)}
    columns: dict[Margin, Reals] = {}

    def column(margin: Margin) -> Reals:
        if margin not in columns:
            made = np.zeros(len(residuals))
            for kept in subsets(margin):
                if kept in place:
                    made[place[kept]] = 1 / size(shape, [a for a in margin if a not in kept])
            columns[margin] = made
        return columns[margin]

    now = sorted(set(tables))
    total = sum((column(margin) for margin in now), np.zeros(len(residuals)))
    stages = [(len(now) ** 2 * float((weights / total).sum()), now)]
    while len(now) > 1:
        found: tuple[float, Margin, list[Margin]] | None = None
        tried: set[Margin] = set()
        for one, two in itertools.combinations(now, 2):
            union = tuple(sorted({*one, *two}))
            if not {*one} & {*two} or union in tried or size(shape, union) > MOST_MERGED_CELLS:
                continue
            tried.add(union)
            gone = [margin for margin in now if set(margin) <= set(union)]
            count = len(now) - len(gone) + 1
            after = total - sum((column(m) for m in gone), np.zeros(len(residuals)))
            error = count**2 * float((weights / (after + column(union))).sum())
            if len(now) <= _FEW:  # every neighbour of a short stage is worth a look of its own
                rest = [*(margin for margin in now if margin not in gone), union]
                stages.append((error, sorted(rest)))
            if found is None or error < found[0]:
                found = (error, union, gone)
        if found is None:
            break
        error, union, gone = found
        now = sorted([*(margin for margin in now if margin not in gone), union])
        total = sum((column(margin) for margin in now), np.zeros(len(residuals)))
        stages.append((error, now))
    return stages


def _gains(
    shape: Shape, workload: Sequence[Margin], keys: Sequence[Key], public_total: bool
) -> tuple[Reals, Reals]:
    """Weights of residuals, and what each measured table tells of each residual."""
    value = worth(shape, workload)
    residuals = [kept for kept in value if value[kept] > 0 and (kept or not public_total)]
    table = np.array(
        [
            [information(shape, Measured(m, c, Fraction(1)), kept) for m, c in keys]
            for kept in residuals
        ]
    ).reshape(len(residuals), len(keys))
    return np.array([value[kept] for kept in residuals]), table


def _error(weights: Reals, gains: Reals, shares: Reals) -> float:
    told = gains @ shares**2
    return float((weights / np.maximum(told, 1e-100)).sum())


def _with_differences(
    shape: Shape,
    workload: Sequence[Margin],
    keys: Sequence[Key],
    fixed: dict[Key, float],
    rest: float,
    public_total: bool,
) -> list[Key]:
    """Measure binary axes of tables as differences, one at a time, while the error falls."""
    now = list(keys)
    held = list(fixed)
    shares = np.array([fixed[key] for key in held] + [rest / len(now)] * len(now))

    def error(chosen: Sequence[Key]) -> float:
        return _error(*_gains(shape, workload, [*held, *chosen], public_total), shares)

    best, better = error(now), True
    while better:
        better = False
        for index, (margin, contrast) in enumerate(now):
            for axis in margin:
                if shape[axis] != 2:
                    continue
                changed = tuple(sorted({axis} ^ set(contrast)))
                trial = [*now[:index], (margin, changed), *now[index + 1 :]]
                if len(set(trial)) == len(trial) and (value := error(trial)) < best * (1 - 1e-6):
                    best, now, better = value, trial, True
                    break
    return now


def _tuned(
    shape: Shape,
    workload: Sequence[Margin],
    keys: Sequence[Key],
    fixed: dict[Key, float],
    rest: float,
    public_total: bool,
) -> dict[Key, float]:
    """Shares of the rest that minimise the predicted error, from equal ones downhill."""
    from scipy import optimize

    minimize: Any = optimize.minimize
    held = list(fixed)
    weights, gains = _gains(shape, workload, [*held, *keys], public_total)
    given = np.array([fixed[key] for key in held])

    def value(logs: Reals) -> tuple[float, Reals]:
        part = np.exp(logs - logs.max())
        part = rest * part / part.sum()
        shares = np.concatenate([given, part])
        told = np.maximum(gains @ shares**2, 1e-100)
        error = float((weights / told).sum())
        slope = -2 * shares * (gains.T @ (weights / told**2))
        own = slope[len(given) :]
        return math.log(error), (part * own - part / rest * float(part @ own)) / error

    found = minimize(value, np.zeros(len(keys)), jac=True, method="L-BFGS-B")
    part = np.exp(np.asarray(found.x) - float(np.max(found.x)))
    part = np.maximum(part, 1e-3)
    return dict(zip(keys, (rest * part / part.sum()).tolist(), strict=True))


def hard_total(known: dict[Margin, float]) -> bool:
    """Whether the total is public."""
    return known.get((), 0.0) >= HARD
