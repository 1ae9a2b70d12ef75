"""What a fitted table is judged by, and which empty cells would help most (pricing).

The fit minimises ½ Σ over residuals A of precision_A · ‖residual_A(w) − estimate_A‖² over tables
w ≥ 0. Neither model ever holds an object with one entry for each cell *and* measurement:

    ResidualModel   any categories; inner products of cells from a kernel,
                    k(a, b) = Σ_A precision_A · Π over A of (1[a_i = b_i] − 1/n_i)
    FourierModel    binary variables; the same in ±1 parities, priced by one fast transform

Pricing finds cells whose reduced cost is most negative: over the whole tensor up to
`MOST_CELLS_PRICED` cells (exact), by local search over one variable at a time beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ....core.product import (
    Margin,
    Reals,
    Rows,
    Shape,
    Whole,
    margin_of_rows,
    size,
    spread,
    subsets,
)
from ...shared.residuals import HARD, Residual, centre
from .cells import rows_at
from .fourier import addresses_of, masks_of, order_of, parity, rows_of, transform

MOST_CELLS_PRICED = 1 << 22
_FORBIDDEN = 1e30
_STARTS = 1200
_SWEEPS = 8


class Model(Protocol):
    """What column generation needs to know."""

    shape: Shape
    rank: int
    """How many independent numbers the estimates hold."""
    exact_pricing: bool

    def gram(self, left: Rows, right: Rows) -> Reals:
        """Inner products of cells."""

    def linear(self, rows: Rows) -> Reals:
        """Inner products of cells with the estimates."""

    def price(
        self, rows: Rows, weights: Reals, batch: int, random: np.random.Generator
    ) -> tuple[Rows, Reals]:
        """Cells of least reduced cost for a sparse table, best first, and that cost."""


@dataclass(frozen=True)
class Targets:
    """What to fit: residuals with the precision each is fitted at, and cells that cannot exist."""

    shape: Shape
    residuals: Mapping[Margin, Residual]
    forbidden: Mapping[Margin, Reals] = field(default_factory=dict)
    """Structural zeros: for some margins, 1 where its cells cannot hold a record."""

    def allowed(self, rows: Rows) -> Reals:
        """For each cell, whether it can exist (1) or not (0)."""
        fine = np.ones(len(rows))
        for margin, banned in self.forbidden.items():
            fine[banned[tuple(rows[:, axis] for axis in margin)] > 0] = 0
        return fine


def fit_weights(
    residuals: Mapping[Margin, Residual], *, one_way: float = 4.0, total: float = 200.0
) -> dict[Margin, Residual]:
    """The residuals at the precision they are fitted with: total near-hard, one-way margins up.

    Non-negativity pushes a table's total up unless something holds it (marginals that add 860 to
    48,842 people were seen), and rare categories with it; so the total weighs `total` times its
    precision, and one-way margins `one_way` times. A declared total weighs 50 times the most precise rest.
    """
    soft = [r.precision for kept, r in residuals.items() if kept and r.precision < HARD]
    rest = max(soft, default=0.0) or 1.0
    out = {}
    for kept, r in residuals.items():
        if kept and r.precision >= HARD:
            weight = 50 * rest
        elif kept == ():
            weight = 50 * rest if r.precision >= HARD else max(total * r.precision, rest)
        else:
            weight = r.precision * (one_way if len(kept) == 1 else 1.0)
        if weight > 0:
            out[kept] = Residual(r.table, weight)
    return out


def model_of(targets: Targets) -> Model:
    """The faster model that fits: parities for binary variables, the kernel otherwise."""
    binary = all(n == 2 for n in targets.shape)
    order = max((len(kept) for kept in targets.residuals), default=0)
    small = len(targets.shape) <= 22
    if binary and not targets.forbidden and len(targets.shape) <= 62 and (small or order <= 2):
        return FourierModel(targets)
    return ResidualModel(targets)


class FourierModel:
    """Binary variables: ½ Σ weight_A (⟨parity_A, w⟩ − c_A)², weight = precision / 2^order."""

    def __init__(self, targets: Targets) -> None:
        self.shape = targets.shape
        margins = list(targets.residuals)
        self.masks = masks_of(margins)
        order = order_of(self.masks)
        scale = 2.0**order
        self.coefficients = scale * np.array(
            [targets.residuals[m].table.ravel()[0] for m in margins]
        )
        self.weights = np.array([targets.residuals[m].precision for m in margins]) / scale
        self.rank = len(margins)
        self.bits = len(self.shape)
        self.exact_pricing = self.bits <= 22
        self._place = {m: i for i, m in enumerate(margins)}

    def gram(self, left: Rows, right: Rows) -> Reals:
        """Inner products of cells."""
        one = parity(self.masks, addresses_of(left)) * self.weights[:, None]
        return np.asarray(one.T @ parity(self.masks, addresses_of(right)))

    def linear(self, rows: Rows) -> Reals:
        """Inner products of cells with the coefficients."""
        features = parity(self.masks, addresses_of(rows))
        return np.asarray((self.weights * self.coefficients) @ features)

    def price(
        self, rows: Rows, weights: Reals, batch: int, random: np.random.Generator
    ) -> tuple[Rows, Reals]:
        """Cells of least reduced cost: one transform, or local search beyond 22 variables."""
        off = parity(self.masks, addresses_of(rows)) @ weights - self.coefficients
        slope = self.weights * off
        if not self.exact_pricing:
            return self._search(slope, rows, weights, batch, random)
        full = np.zeros(1 << self.bits)
        full[self.masks] = slope
        costs = transform(full)
        best = _smallest(costs, batch)
        return rows_of(best, self.bits), costs[best]

    def _search(
        self, slope: Reals, rows: Rows, weights: Reals, batch: int, random: np.random.Generator
    ) -> tuple[Rows, Reals]:
        """Flip one variable at a time while the cost falls, from many starts (orders up to 2)."""
        k = self.bits
        constant, single, pair = 0.0, np.zeros(k), np.zeros((k, k))
        for margin, at in self._place.items():
            if len(margin) == 2:
                pair[margin] = pair[margin[::-1]] = slope[at]
            elif margin:
                single[margin[0]] = slope[at]
            else:
                constant = slope[at]
        share = np.clip((weights @ rows) / max(weights.sum(), 1e-9), 0.01, 0.99)

        def drawn(count: int) -> Rows:
            return np.asarray(random.random((count, k)) < share, dtype=np.int64)

        signs = 1.0 - 2.0 * _starts(rows, weights, random, drawn)
        field_ = single + signs @ pair
        for _ in range(_SWEEPS):
            changed = 0
            for axis in range(k):
                flip = signs[:, axis] * field_[:, axis] > 0
                changed += int(flip.sum())
                if flip.any():
                    field_[flip] -= 2 * signs[flip, axis][:, None] * pair[axis]
                    signs[flip, axis] *= -1
            if not changed:
                break
        found = np.unique((signs < 0).astype(np.int64), axis=0)
        signs = 1.0 - 2.0 * found
        costs = constant + signs @ single + 0.5 * ((signs @ pair) * signs).sum(axis=1)
        best = np.argsort(costs, kind="stable")[:batch]
        return found[best], costs[best]


class ResidualModel:
    """Any categories, through the kernel; see the module's head."""

    def __init__(self, targets: Targets) -> None:
        self.shape = targets.shape
        self.targets = targets
        self.residuals = dict(targets.residuals)
        self.rank = sum(math.prod(self.shape[axis] - 1 for axis in kept) for kept in self.residuals)
        self.exact_pricing = size(self.shape, range(len(self.shape))) <= MOST_CELLS_PRICED

    def gram(self, left: Rows, right: Rows) -> Reals:
        """Inner products of cells, from the kernel."""
        sides: dict[int, Reals] = {}
        out: Reals = np.zeros((len(left), len(right)))
        by_lead: dict[Margin, list[tuple[int, float]]] = {}
        for kept, r in self.residuals.items():
            if not kept:
                out += r.precision
                continue
            for axis in kept:
                if axis not in sides:
                    same = left[:, axis][:, None] == right[:, axis][None, :]
                    sides[axis] = same - 1.0 / self.shape[axis]
            by_lead.setdefault(kept[:-1], []).append((kept[-1], r.precision))
        for lead, lasts in by_lead.items():
            inner: Reals = np.zeros_like(out)
            for axis, precision in lasts:
                inner += precision * sides[axis]
            for axis in lead:
                inner *= sides[axis]
            out += inner
        return out

    def linear(self, rows: Rows) -> Reals:
        """Inner products of cells with the estimates."""
        out: Reals = np.zeros(len(rows))
        for kept, r in self.residuals.items():
            out += r.precision * r.table[tuple(rows[:, axis] for axis in kept)]
        return out

    def slopes(self, rows: Rows, weights: Reals) -> dict[Margin, Reals]:
        """The gradient as one table for each residual, folded into the widest of them."""
        found = {
            kept: r.precision * (centre(margin_of_rows(rows, self.shape, kept, weights)) - r.table)
            for kept, r in self.residuals.items()
        }
        return self.folded(found)

    def folded(self, tables: Mapping[Margin, Reals]) -> dict[Margin, Reals]:
        """Narrow tables added into wider ones that hold all their axes."""
        home: dict[Margin, Margin] = {}
        for wide in sorted(tables, key=len, reverse=True):
            for kept in subsets(wide):
                home.setdefault(kept, wide)
        out: dict[Margin, Reals] = {}
        for kept in sorted(tables, key=len, reverse=True):
            wide = home[kept]
            if wide == kept:
                out[kept] = tables[kept].copy()
            else:
                out[wide] += spread(tables[kept], kept, wide, self.shape)
        for margin, banned in self.targets.forbidden.items():
            penalty = np.where(banned > 0, _FORBIDDEN, 0.0)
            out[margin] = out[margin] + penalty if margin in out else penalty
        return out

    def price(
        self, rows: Rows, weights: Reals, batch: int, random: np.random.Generator
    ) -> tuple[Rows, Reals]:
        """Cells of least reduced cost, over all cells or by local search."""
        slopes = self.slopes(rows, weights)
        if self.exact_pricing:
            costs = self.tensor(slopes).reshape(-1)
            best = _smallest(costs, batch)
            best = best[costs[best] < _FORBIDDEN / 2]
            return rows_at(best, self.shape), costs[best]
        return self._search(slopes, rows, weights, batch, random)

    def tensor(self, tables: Mapping[Margin, Reals]) -> Reals:
        """The sum of margin tables over all cells; wide partial sums are made as late as possible."""
        axes = range(len(self.shape))
        out: Reals = np.zeros((1,) * len(self.shape))
        for lead in sorted({kept[0] if kept else len(self.shape) for kept in tables}, reverse=True):
            for kept, table in tables.items():
                if (kept[0] if kept else len(self.shape)) == lead:
                    out = out + spread(table, kept, axes, self.shape)
        return np.ascontiguousarray(np.broadcast_to(out, self.shape))

    def _search(
        self,
        slopes: Mapping[Margin, Reals],
        rows: Rows,
        weights: Reals,
        batch: int,
        random: np.random.Generator,
    ) -> tuple[Rows, Reals]:
        """Best category of one variable at a time, from many starts, until nothing moves."""
        count = len(self.shape)
        shares = [
            margin_of_rows(rows, self.shape, (axis,), weights) + weights.sum() * 0.02 / n
            for axis, n in enumerate(self.shape)
        ]

        def drawn(count: int) -> Rows:
            sides = [random.choice(len(s), count, p=s / s.sum()) for s in shares]
            return np.stack(sides, axis=1).astype(np.int64)

        cells = _starts(rows, weights, random, drawn)
        turned: list[list[tuple[Margin, Reals]]] = [[] for _ in range(count)]
        constant = 0.0
        for kept, table in slopes.items():
            if not kept:
                constant += float(table)
            for position, axis in enumerate(kept):
                others = tuple(a for a in kept if a != axis)
                turned[axis].append(
                    (others, np.ascontiguousarray(np.moveaxis(table, position, -1)))
                )
        for _ in range(_SWEEPS):
            changed = 0
            for axis in random.permutation(count):
                costs: Reals = np.zeros((len(cells), self.shape[axis]))
                for others, table in turned[axis]:
                    costs += table[tuple(cells[:, a] for a in others)]
                best = costs.argmin(axis=1)
                changed += int((best != cells[:, axis]).sum())
                cells[:, axis] = best
            if not changed:
                break
        cells = np.unique(cells, axis=0)
        value: Reals = np.full(len(cells), constant)
        for kept, table in slopes.items():
            if kept:
                value += table[tuple(cells[:, a] for a in kept)]
        fine = np.flatnonzero(value < _FORBIDDEN / 2)
        order = fine[np.argsort(value[fine], kind="stable")[:batch]]
        return cells[order], value[order]


def _smallest(costs: Reals, batch: int) -> Whole:
    """Addresses of the smallest numbers, smallest first."""
    if batch >= costs.size:
        return np.argsort(costs, kind="stable").astype(np.int64)
    near = np.argpartition(costs, batch)[:batch]
    return near[np.argsort(costs[near], kind="stable")].astype(np.int64)


def _starts(
    rows: Rows, weights: Reals, random: np.random.Generator, drawn: Callable[[int], Rows]
) -> Rows:
    """Where local search begins: heavy cells slightly changed, and cells drawn by independence."""
    heavy = rows[np.argsort(-weights, kind="stable")[: _STARTS // 2]].copy()
    changed = random.random(heavy.shape) < 0.15
    heavy[changed] = drawn(len(heavy))[changed]
    return np.concatenate([heavy, drawn(_STARTS)])
