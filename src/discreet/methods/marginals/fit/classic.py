"""Classic mode: barak's linear programs, solved exactly by column generation.

The program of §3.2 has 2^k + 1 unknowns, nearly all of which are zero at the optimum. It is solved
over a few hundred columns; its dual prices then tell the reduced cost of *every* cell at once, by
one fast Walsh–Hadamard transform; the best cells join, and when none helps the optimum is that of
the whole program. Objectives (§4.1), as distances between what the table says and what was measured:

    largest   the largest distance (§3.2; over margins' cells: §4.2)
    total     the sum of distances
    hybrid    the largest plus the mean

each over Fourier coefficients or over cells of margins. `shift` (§4.3) solves nothing: margins come
straight from the coefficients, with a public number of records spread evenly over all cells.

Two things the paper leaves open. The largest distance rarely has *one* nearest table: a handful of
numbers decide it and the others may lie anywhere within it. `settled` takes, of those among the
columns in play, the one of least total distance; the optimum is the same, the error 10–20 % less. And
a code that no category has gets noise like any other (§4.2) though nobody can be there: such numbers
say nothing and are left out of the distance, or their noise alone would set the largest one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from ....core.control import Control
from ....core.product import Margin, Reals, Rows, Shape, size, spread
from ....errors import Bug, InputError
from ..measured_tables import Measured
from .cells import least, rows_at, unseen
from .fourier import masks_of, transform
from .model import MOST_CELLS_PRICED

Objective = Literal["largest", "total", "hybrid"]
LEAST_T = 3
_FORBIDDEN = 1e30
_MOST_ROUNDS = 400
_FEW_CELLS = 128
_TOLERANCE = 1e-7


class Features:
    """What measured tables say of a table: one number for each measured number, linear in cells."""

    def __init__(
        self,
        shape: Shape,
        measured: Sequence[Measured],
        forbidden: Mapping[Margin, Reals] | None = None,
    ) -> None:
        if size(shape, range(len(shape))) > MOST_CELLS_PRICED:
            raise InputError(
                f"The linear program needs all {size(shape, range(len(shape))):,} cells priced; at "
                f"most {MOST_CELLS_PRICED:,} can be. Ask for fewer variables, or use mode modern."
            )
        self.shape = shape
        self.measured = tuple(measured)
        self.forbidden = dict(forbidden or {})
        self.starts = np.cumsum([0, *(math.prod(m.shape(shape)) for m in self.measured)])
        self.count = int(self.starts[-1])
        self.parities = all(n == 2 for n in shape) and all(m.single for m in self.measured)
        if self.parities:
            self.masks = masks_of(m.margin for m in self.measured)
        banned: Reals = np.zeros((1,) * len(shape))
        for margin, table in self.forbidden.items():
            banned = np.maximum(banned, spread(table, margin, range(len(shape)), shape))
        self.banned = np.broadcast_to(banned, shape).reshape(-1) > 0 if self.forbidden else None
        self.touched = self._touched()
        """The measured numbers that some cell which can exist has a part in."""

    @property
    def few(self) -> bool:
        """Whether all cells at once are quicker than a few at a time."""
        return size(self.shape, range(len(self.shape))) <= max(_FEW_CELLS, 3 * self.count)

    def every(self) -> Rows:
        """All cells that can exist."""
        cells = np.arange(size(self.shape, range(len(self.shape))))
        if self.banned is not None:
            cells = cells[~self.banned]
        return rows_at(cells, self.shape)

    def _touched(self) -> npt.NDArray[np.bool_]:
        if self.banned is None:
            return np.ones(self.count, dtype=bool)
        allowed = ~self.banned.reshape(self.shape)
        axes = range(len(self.shape))
        return np.concatenate(
            [
                allowed.any(axis=tuple(axis for axis in axes if axis not in m.cells)).reshape(-1)
                for m in self.measured
            ]
        )

    def columns(self, rows: Rows) -> Reals:
        """One column for each cell."""
        out: Reals = np.zeros((self.count, len(rows)))
        for m, start in zip(self.measured, self.starts, strict=False):
            address = np.zeros(len(rows), dtype=np.int64)
            sign = np.ones(len(rows))
            for axis in m.margin:
                if axis in m.contrast:
                    sign *= 1 - 2 * rows[:, axis]
                else:
                    address = address * self.shape[axis] + rows[:, axis]
            out[start + address, np.arange(len(rows))] = sign
        return out

    def correlate(self, values: Reals) -> Reals:
        """⟨column, values⟩ for every cell of the domain, flat in C order."""
        if self.parities:
            full = np.zeros(1 << len(self.shape))
            np.add.at(full, self.masks, values)
            flat = transform(full).reshape((2,) * len(self.shape))
            return flat.transpose().reshape(-1)  # bit 0 is axis 0, C order has axis 0 slowest
        out: Reals = np.zeros((1,) * len(self.shape))
        for m, start, end in zip(self.measured, self.starts, self.starts[1:], strict=False):
            table = values[start:end].reshape(m.shape(self.shape))
            for position, axis in enumerate(m.margin):
                if axis in m.contrast:
                    table = np.concatenate([table, -table], axis=position)
            out = out + spread(table, m.margin, range(len(self.shape)), self.shape)
        return np.ascontiguousarray(np.broadcast_to(out, self.shape)).reshape(-1)

    def best(self, values: Reals, batch: int) -> tuple[Rows, Reals]:
        """The cells with the largest ⟨column, values⟩ among those that can exist."""
        costs = -self.correlate(values)
        if self.banned is not None:
            costs[self.banned] = _FORBIDDEN
        near = least(costs, min(batch, costs.size))
        near = near[costs[near] < _FORBIDDEN / 2]
        return rows_at(near, self.shape), -costs[near]


@dataclass(frozen=True)
class Program:
    """The optimum of a linear program: a sparse vertex and its value."""

    rows: Rows
    weights: Reals
    value: float


def solve_program(
    features: Features,
    target: Reals,
    objective: Objective = "largest",
    *,
    scales: Reals | None = None,
    start: Rows | None = None,
    settled: bool = False,
    control: Control | None = None,
) -> Program:
    """Minimise the distance between a table ≥ 0 and the measured numbers, exactly.

    `scales` gives each measured number its own unit of distance (1 by default). With `settled` a
    largest distance that many tables reach is reached by one of little total distance.
    """
    units = np.ones(features.count) if scales is None else scales
    known = features.touched
    target, units = np.where(known, target, 0.0), np.where(known, units, 1.0)
    batch = max(features.count, 60)
    if features.few:
        rows = features.every()
    else:
        rows, _ = features.best(target / units, batch)
        if start is not None:
            rows = np.unique(np.concatenate([start, rows]), axis=0)
    level = float(np.abs(target).max(initial=0.0)) or 1.0
    for turn in range(1, _MOST_ROUNDS + 1):
        (control or Control()).step(min(0.9, turn / 60), "solving the linear program")
        columns = features.columns(rows)[known]
        aims = target[known] / level
        weights, value, prices = _restricted(columns, aims, units[known], objective)
        if features.few:
            fresh = rows[:0]
        else:
            full = np.zeros(features.count)
            full[known] = prices
            found, gains = features.best(full, batch)
            fresh = unseen(found[gains > _TOLERANCE], rows)
        if len(fresh) == 0:
            if settled and objective == "largest":
                weights = _settled(columns, aims, units[known], value, weights)
            held = np.flatnonzero(weights > 0)
            return Program(rows[held], weights[held] * level, value * level)
        rows = np.concatenate([rows, fresh])
    raise Bug("A linear program took more rounds than it has vertices worth trying.")


def _restricted(
    columns: Reals, target: Reals, units: Reals, objective: Objective
) -> tuple[Reals, float, Reals]:
    """One solve over the columns in play: weights, value, and the dual price of each number."""
    from scipy import optimize, sparse

    linprog = cast(Any, optimize).linprog
    arrays: Any = sparse
    rows, cells = columns.shape
    if objective == "largest":
        side = -units[:, None]
        matrix = np.block([[columns, side], [-columns, side]])
        cost = np.zeros(cells + 1)
        cost[-1] = 1
        sides = np.concatenate([target, -target])
        found = linprog(cost, A_ub=matrix, b_ub=sides, method="highs", options={"presolve": False})
        _check(found)
        duals = np.asarray(found.ineqlin.marginals)
        return np.asarray(found.x[:-1]), float(found.fun), duals[:rows] - duals[rows:]
    each = 1 / units
    split = _split(columns)
    if objective == "total":
        cost = np.concatenate([np.zeros(cells), each, each])
        found = linprog(cost, A_eq=split, b_eq=target, method="highs")
    else:
        none, scaled = arrays.csr_matrix((rows, 1)), arrays.diags(each)
        matrix = arrays.hstack([split, none], format="csr")
        most = arrays.csr_matrix(-np.ones((rows, 1)))
        nothing = arrays.csr_matrix((rows, cells))
        cap = arrays.hstack([nothing, scaled, scaled, most], format="csr")
        cost = np.concatenate([np.zeros(cells), each / rows, each / rows, [1.0]])
        found = linprog(
            cost, A_eq=matrix, b_eq=target, A_ub=cap, b_ub=np.zeros(rows), method="highs"
        )
    _check(found)
    return np.asarray(found.x[:cells]), float(found.fun), np.asarray(found.eqlin.marginals)


def _split(columns: Reals) -> Any:
    """Columns of cells, then one for what each number is too small by, one for too large."""
    from scipy import sparse

    arrays: Any = sparse
    eye = arrays.identity(len(columns), format="csr")
    return arrays.hstack([arrays.csr_matrix(columns), eye, -eye], format="csr")


def _settled(columns: Reals, target: Reals, units: Reals, value: float, weights: Reals) -> Reals:
    """Weights of least total distance, none larger than `value`; those given if that fails."""
    from scipy import optimize

    rows, cells = columns.shape
    reach = value * units * (1 + 1e-9)
    most = np.concatenate([np.full(cells, np.inf), reach, reach])
    found = cast(Any, optimize).linprog(
        np.concatenate([np.zeros(cells), 1 / units, 1 / units]),
        A_eq=_split(columns),
        b_eq=target,
        bounds=np.stack([np.zeros(cells + 2 * rows), most], axis=1),
        method="highs",
    )
    return np.asarray(found.x[:cells]) if found.success else weights


def _check(found: Any) -> None:
    if not found.success:
        raise Bug(f"A linear program that has a solution was not solved ({found.message}).")


def simple_shift(closure_size: int, epsilon: Fraction, t: int = LEAST_T) -> Fraction:
    """Corollary 1 (§4.3): how many records to spread evenly over all cells, 4t|B|²/ε; t ≥ 3.

    Then a table ≥ 0 with the noisy coefficients exists with probability 1 − e^−t, and no program
    has to find it. The shift depends on public numbers only: the true norm of the noise is never
    used. For t below about one half the corollary fails, so t < 3 is refused.

    >>> simple_shift(37, Fraction(1))
    Fraction(16428, 1)
    """
    if t < LEAST_T:
        raise InputError(
            f"t must be ≥ {LEAST_T}, got {t}: for small t the bound e^−t does not hold."
        )
    return 4 * t * closure_size**2 / epsilon


def theorem_7(order: int, closure_size: int, epsilon: Fraction, delta: Fraction) -> float:
    """barak (12): with probability 1 − δ the L1 error of a margin over `order` binary variables is
    at most 2^order · 8|B| log(|B|/δ)/ε + |B|.

    >>> round(theorem_7(2, 37, Fraction(1), Fraction(1, 20)))
    7859
    """
    b = closure_size
    return float(2**order * 8 * b * math.log(b / float(delta)) / float(epsilon) + b)


def theorem_8(order: int, tables: int, cells: int, epsilon: Fraction, delta: Fraction) -> float:
    """barak (13): the same with noise on the margins themselves, `cells` = Σ over margins of 2^order.

    >>> round(theorem_8(2, 3, 12, Fraction(1), Fraction(1, 20)))
    538
    """
    return float(2**order * 8 * tables * math.log(cells / float(delta)) / float(epsilon) + cells)
