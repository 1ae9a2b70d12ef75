"""Which whole tables to measure, and their shares: searches over predicted errors.

Predicted is the error of the unbiased combination: Σ over residuals of worth / precision, where a
table's precision grows with the square of its share of ε, or in line with its share of ρ.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ....core.product import Margin, Reals, Shape, size, subsets
from ...shared.residuals import information
from ..measured_tables import Measured
from .allocation import Key, Spending

MOST_MERGED_CELLS = 200_000
_FEW = 8


def worth(
    shape: Shape, workload: Sequence[Margin], public: frozenset[Margin] = frozenset()
) -> dict[Margin, float]:
    """For each residual that is not public: what its variance brings to the mean cell of all tables."""
    found: dict[Margin, float] = {}
    for table in workload:
        cells = size(shape, table)
        for kept in subsets(table):
            if kept in public:
                continue
            others = size(shape, [axis for axis in table if axis not in kept])
            directions = math.prod(shape[axis] - 1 for axis in kept)
            found[kept] = found.get(kept, 0.0) + directions / (others * cells)
    return found


def merge(
    shape: Shape, tables: Sequence[Margin], workload: Sequence[Margin], spending: Spending
) -> list[tuple[float, list[Margin]]]:
    """Merge two tables into their union, the best pair each time, as long as any pair can be.

    Returns every stage with its predicted error at equal shares. The error may rise before it
    falls (the share problem is not convex under pure ε), so the walk goes on to the end. With so
    many tables each has that part of the budget, and the noise of whole numbers at it.
    """
    value = worth(shape, workload, spending.public)
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
    stages = [(spending.variance_of_one(len(now)) * float((weights / total).sum()), now)]
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
            told = after + column(union)
            error = spending.variance_of_one(count) * float((weights / told).sum())
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


class _Told:
    """What tables tell of the residuals that count: worth of each, and a column for each table."""

    def __init__(self, shape: Shape, workload: Sequence[Margin], spending: Spending) -> None:
        self.shape = shape
        value = worth(shape, workload, spending.public)
        self.residuals = [kept for kept in value if value[kept] > 0]
        self.weights: Reals = np.array([value[kept] for kept in self.residuals])
        self._place = {kept: i for i, kept in enumerate(self.residuals)}
        self._columns: dict[Key, Reals] = {}

    def column(self, key: Key) -> Reals:
        """What a table tells of each residual, for a precision of 1."""
        if key not in self._columns:
            made = np.zeros(len(self.residuals))
            measured = Measured(*key, Fraction(1))
            for kept in subsets(key[0]):
                if kept in self._place:
                    made[self._place[kept]] = information(self.shape, measured, kept)
            self._columns[key] = made
        return self._columns[key]

    def error(self, told: Reals) -> float:
        """The predicted error, from the precision of every residual."""
        return float((self.weights / np.maximum(told, 1e-100)).sum())


def with_differences(
    shape: Shape,
    workload: Sequence[Margin],
    keys: Sequence[Key],
    fixed: dict[Key, float],
    rest: float,
    spending: Spending,
) -> list[Key]:
    """Measure binary axes of tables as differences, one at a time, while the error falls."""
    now, known = list(keys), _Told(shape, workload, spending)
    each = (rest / len(now)) ** spending.power
    told: Reals = np.zeros(len(known.residuals))
    for key, share in fixed.items():
        told = told + share**spending.power * known.column(key)
    for key in now:
        told = told + each * known.column(key)
    best, better = known.error(told), True
    while better:
        better = False
        for index, (margin, contrast) in enumerate(now):
            for axis in margin:
                if shape[axis] != 2:
                    continue
                changed: Key = (margin, tuple(sorted({axis} ^ set(contrast))))
                if changed in now:
                    continue
                trial = told + each * (known.column(changed) - known.column(now[index]))
                if (value := known.error(trial)) < best * (1 - 1e-6):
                    best, told, better = value, trial, True
                    now[index] = changed
                    break
    return now


def tuned(
    shape: Shape,
    workload: Sequence[Margin],
    keys: Sequence[Key],
    fixed: dict[Key, float],
    rest: float,
    spending: Spending,
) -> dict[Key, float]:
    """Shares of the rest that minimise the predicted error, from equal ones downhill.

    Under ρ the error is convex in the shares and this is the least; under ε it is a low place.
    """
    from scipy import optimize

    minimize: Any = optimize.minimize
    held = list(fixed)
    known = _Told(shape, workload, spending)
    weights, gains = known.weights, np.stack([known.column(key) for key in (*held, *keys)], axis=1)
    given = np.array([fixed[key] for key in held])
    power = spending.power

    def value(logs: Reals) -> tuple[float, Reals]:
        part = np.exp(logs - logs.max())
        part = rest * part / part.sum()
        shares = np.concatenate([given, part])
        told = np.maximum(gains @ shares**power, 1e-100)
        error = float((weights / told).sum())
        slope = -power * shares ** (power - 1) * (gains.T @ (weights / told**2))
        own = slope[len(given) :]
        return math.log(error), (part * own - part / rest * float(part @ own)) / error

    found = minimize(value, np.zeros(len(keys)), jac=True, method="L-BFGS-B")
    part = np.exp(np.asarray(found.x) - float(np.max(found.x)))
    part = np.maximum(part, 1e-3)
    return dict(zip(keys, (rest * part / part.sum()).tolist(), strict=True))
