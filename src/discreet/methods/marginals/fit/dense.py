"""The fit over every cell at once, for workloads that know more than a few thousand numbers.

Column generation solves systems as large as what is known; past `MOST_RANK` numbers it is cheaper
to move all cells together: accelerated projected gradient over tables ≥ 0 with the given total,
restarted where it overshoots. Every step is a real table; the number of steps is fixed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....core.control import Control
from ....core.product import Margin, Reals, Shape, Whole, maximal, size
from ...shared.residuals import centre
from ...shared.rounding import largest_remainder, swap_repair, systematic
from ...shared.synthetic_table import SyntheticTable
from .cells import rows_at
from .model import ResidualModel

MOST_RANK = 3000
_STEPS = 250
_ENOUGH = 1e-3
_SWEEPS = 120


class DenseFit:
    """One fit: the model, the total, and which cells can exist."""

    def __init__(self, model: ResidualModel, total: int, control: Control) -> None:
        self.model, self.total, self.control = model, float(total), control
        self.shape: Shape = model.shape
        self.kept = [kept for kept in model.residuals if kept]
        self.wide = maximal(self.kept)
        banned = model.targets.forbidden
        ones = {m: np.where(table > 0, 1.0, 0.0) for m, table in banned.items()}
        self.allowed: npt.NDArray[np.bool_] | None = model.tensor(ones) == 0 if ones else None

    def margins(self, table: Reals) -> dict[Margin, Reals]:
        """Every margin the estimates speak of, narrow ones summed from wide ones."""
        axes = range(len(self.shape))
        out = {m: table.sum(axis=tuple(a for a in axes if a not in m)) for m in self.wide}
        for kept in self.kept:
            if kept not in out:
                home = next(m for m in self.wide if set(kept) <= set(m))
                out[kept] = out[home].sum(
                    axis=tuple(place for place, a in enumerate(home) if a not in kept)
                )
        return out

    def slope(self, table: Reals) -> tuple[float, Reals]:
        """The distance and its gradient; the total is kept by the projection."""
        value, tables = 0.0, {}
        for kept, margin in self.margins(table).items():
            if kept in self.model.residuals:
                r = self.model.residuals[kept]
                off = centre(margin) - r.table
                value += 0.5 * r.precision * float((off**2).sum())
                tables[kept] = r.precision * off
        only_banned = self.model.targets.forbidden.keys() - self.kept
        plain = {m: t for m, t in self.model.folded(tables).items() if m not in only_banned}
        return value, self.model.tensor(plain)

    def curvature(self, step: Reals) -> float:
        """How strongly the distance bends along a step."""
        return sum(
            self.model.residuals[kept].precision * float((centre(margin) ** 2).sum())
            for kept, margin in self.margins(step).items()
            if kept in self.model.residuals
        )

    def project(self, table: Reals) -> Reals:
        """The nearest table ≥ 0 with the total, empty where nobody can be."""
        flat = table if self.allowed is None else np.where(self.allowed, table, -np.inf)
        held = flat[np.isfinite(flat)]
        low, high = float(held.min()) - self.total / held.size, float(held.max())
        for _ in range(50):
            middle = (low + high) / 2
            if float(np.maximum(held - middle, 0.0).sum()) > self.total:
                low = middle
            else:
                high = middle
        return np.maximum(flat - high, 0.0)

    def run(self, start: Reals) -> Reals:
        """Accelerated projected gradient from a first table."""
        cells = size(self.shape, range(len(self.shape)))
        top = max(
            self.model.residuals[kept].precision * cells / size(self.shape, kept)
            for kept in self.kept
        )
        bend, now = top / 8, self.project(start)
        ahead, pace = now, 1.0
        seen: list[float] = []
        for step in range(_STEPS):
            self.control.step(step / _STEPS, "fitting the table")
            value, gradient = self.slope(ahead)
            while True:
                new = self.project(ahead - gradient / bend)
                move = new - ahead
                curve = self.curvature(move)
                if curve <= bend * float((move**2).sum()) * 1.0001 or bend >= top:
                    break
                bend = min(top, 2 * bend)
            seen.append(value + float((gradient * move).sum()) + 0.5 * curve)
            if float(((ahead - new) * (new - now)).sum()) > 0:
                pace, ahead = 1.0, new
            else:
                faster = (1 + (1 + 4 * pace * pace) ** 0.5) / 2
                ahead, pace = new + (pace - 1) / faster * (new - now), faster
            now = new
            if step > 20 and abs(seen[-15] - seen[-1]) < _ENOUGH * abs(seen[-1]):
                break
        return now

    def whole(self, table: Reals) -> SyntheticTable:
        """Whole numbers with the total: systematic rounding, then unit moves towards the margins."""
        margins = self.margins(table)
        counts = _with_total(systematic(table), round(self.total))
        if self.allowed is not None:
            counts = np.where(self.allowed, counts, 0)
        counts = swap_repair(
            counts,
            {m: margins[m] for m in self.wide},
            allowed=self.allowed,
            sweeps=_SWEEPS,
            control=self.control,
        )
        held = np.flatnonzero(counts)
        return SyntheticTable(self.shape, rows_at(held, self.shape), counts.ravel()[held])


def _with_total(counts: Whole, total: int) -> Whole:
    """A rounded table whose total floats left one off, set right where most people are."""
    if int(counts.sum()) == total:
        return counts
    flat = counts.ravel() if counts.any() else np.ones(counts.size)
    return largest_remainder(flat / flat.sum() * total, total).reshape(counts.shape)
