"""One parent's children fitted together: not negative, near their measurements, adding up to it.

Over cells s of the other variables and children c, the table x ≥ 0 that makes

    λ · Σ KL(x_c ‖ q_c) + ½ Σ_A w_A · ‖margin_A(x_c) − z_A,c‖²

least, where z are noisy margins of precision w and q is the parent's own table in the child's size:
where measurements say little, a child looks like its parent. λ = 1 says that a child is a random
sample of its parent; a smaller one that children differ by more. Sums over the children are the
parent's cells and sums over cells the children's totals, both kept as exactly as floats can.

Solved by block ascent of the dual: each margin is brought to its optimum in turn (Newton's method in
the logarithm, one number at a time), then the sums are scaled. Every step leaves a table ≥ 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....core.product import Reals, Whole

_LEAST = 1e-9
_LOWEST = -25.0
_NEWTON = 40
_CLOSE = 1e-6

Tick = Callable[[float], None]
"""Told after every sweep how far a fit is, about; may stop it."""


@dataclass
class Pull:
    """A margin of every child: where each cell of the table lies in it, and what is known."""

    places: Whole
    """For each cell of the table its place in the margin."""
    values: Reals
    """Places by children."""
    weights: Reals
    """The precision of a number of each child."""
    warm: bool = True
    """Whether a sweep starts from what the one before found."""
    logs: Reals = field(init=False)
    near: Reals | None = field(init=False, default=None)
    dual: Reals = field(init=False)
    sums: Any = field(init=False)

    def __post_init__(self) -> None:
        from scipy.sparse import csr_array

        self.dual = np.zeros_like(self.values)
        self.logs = np.log(np.maximum(self.values, _LEAST))
        many = len(self.places)
        make: Any = csr_array
        shape = (len(self.values), many)
        self.sums = make((np.ones(many), (self.places, np.arange(many))), shape=shape)


def fit_block(
    prior: Reals,
    totals: Reals,
    pulls: Sequence[Pull],
    strength: float,
    *,
    parent: Reals | None,
    sweeps: int,
    fixed: Sequence[Pull] = (),
    close: float,
    tick: Tick = lambda share: None,
) -> Reals:
    """The fitted table, cells by children, from its `prior`; without a `parent` one table alone.

    `fixed` margins are public: scaled to what they are, not pulled.
    """
    table, first, told = prior.copy(), 0.0, 0.0
    for sweep in range(sweeps):
        moved = 0.0
        for pull in pulls:
            moved = max(moved, _pulled(table, pull, strength))
        _scale_children(table, totals)
        for known in fixed:
            sums = np.asarray(known.sums @ table)
            scale = np.where(sums > 0, known.values / np.maximum(sums, 1e-300), 0.0)
            table *= scale[known.places]
        if parent is not None:
            _scale_cells(table, parent)
        if moved < close:
            break
        first = first or moved
        told = max(told, (sweep + 1) / sweeps, _way(first, moved, close))
        tick(told)
    return table


def _way(first: float, now: float, close: float) -> float:
    """How far a fit is that moved so much at first, moves so much now, and ends when it is close."""
    if not first > now > 0:
        return 0.0
    return min(1.0, math.log(first / now) / math.log(first / close))


def _pulled(table: Reals, pull: Pull, strength: float) -> float:
    """Bring one margin to its optimum; returns the share of records it moved."""
    sums = np.asarray(pull.sums @ table)
    held = np.maximum(sums, _LEAST)
    weight = pull.weights / strength
    start = np.log(held) + pull.dual
    now = _solved(start, weight, pull)
    if pull.warm:
        pull.near = now
    dual = start - now
    factor = np.exp(pull.dual - dual)
    pull.dual = dual
    table *= factor[pull.places]
    whole = np.maximum(sums.sum(axis=0), 1.0)
    return float((np.abs(sums * (factor - 1)).sum(axis=0) / whole).max(initial=0.0))


def _solved(start: Reals, weight: Reals, pull: Pull) -> Reals:
    """u with u + weight · (e^u − values) = start, place by place.

    Newton's method from above, where it cannot overshoot; or from what the last sweep found, whose
    first step is held below that.
    """
    values = pull.values
    above = np.maximum(start, pull.logs)
    below = np.minimum(above, start + weight * values)
    above = np.maximum(np.where(values < 0, below, above), _LOWEST)
    now = above if pull.near is None else np.minimum(pull.near, above)
    for _ in range(_NEWTON):
        size = np.exp(now)
        step = (now + weight * (size - values) - start) / (1 + weight * size)
        now = np.maximum(now - step, _LOWEST)
        if pull.near is not None:
            now = np.minimum(now, above)
        if np.abs(step).max(initial=0.0) < _CLOSE:
            break
    return now


def _scale_children(table: Reals, totals: Reals) -> None:
    sums = table.sum(axis=0)
    table *= np.where(sums > 0, totals / np.maximum(sums, 1e-300), 0.0)


def _scale_cells(table: Reals, parent: Reals) -> None:
    sums = table.sum(axis=1)
    table *= np.where(sums > 0, parent / np.maximum(sums, 1e-300), 0.0)[:, None]


def projected(values: Reals, variances: Reals, total: float) -> Reals:
    """The nearest numbers ≥ 0 with this total, each moved in proportion to its variance.

    >>> projected(np.array([5.0, -1.0, 2.0]), np.ones(3), 6.0).tolist()
    [4.5, 0.0, 1.5]
    """
    if total <= 0:
        return np.zeros(len(values))
    held = np.ones(len(values), dtype=bool)
    spread = np.maximum(variances, 1e-12)
    for _ in range(len(values)):
        off = (total - values[held].sum()) / spread[held].sum()
        moved = np.where(held, values + off * spread, 0.0)
        if (moved >= 0).all():
            return moved
        held &= moved > 0
    return np.maximum(moved, 0.0)
