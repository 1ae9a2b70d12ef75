"""Tables drawn from what is public: sequential importance sampling over the unknown cells.

Cells are drawn one after the other, each from its own exact weight times a normal law of what the cells
after it still have to make up. The weight of a table is its probability over that of having been drawn
so; tables that miss a sum have weight 0. Draws are made from a public seed, so anybody gets the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .beliefs import Model
from .board import Board, Whole
from .cell_weights import Floats
from .exact_law import Undecided
from .tilt import Equations, Tilted

HARD = 1e-6
"""Sums of which no cell is left are kept by a law of this part of a cell's variance."""


@dataclass(frozen=True)
class Draws:
    """Tables of some cells with their weights."""

    cells: Whole
    counts: Whole
    """(tables, cells)."""
    weight: Floats
    """The largest 1; 0 where a table misses a sum."""
    scale: float
    """The logarithm of what weights are to be multiplied with: their mean is then the probability
    of the sums, since a tilt changes nothing for tables that meet them."""

    @property
    def effective(self) -> float:
        """The part of the draws that as many equally likely ones would be worth."""
        square = float((self.weight**2).sum())
        return float(self.weight.sum()) ** 2 / square / len(self.weight) if square else 0.0

    def law(self, place: int, size: int) -> Floats:
        """The law of one cell by these draws."""
        found = np.bincount(self.counts[:, place], self.weight, size)
        return np.asarray(found / self.weight.sum(), dtype=np.float64)

    def chosen(self, random: np.random.Generator, many: int) -> Whole:
        """Tables drawn from these by their weights."""
        share = self.weight / self.weight.sum()
        picked: Whole = self.counts[random.choice(len(share), many, p=share)]
        return picked


class Sampler:
    """Draws tables of a board's unknown cells."""

    def __init__(self, board: Board, model: Model, tilted: Tilted | None = None) -> None:
        self.model, self.cells = model, board.unknown
        self.sums = np.concatenate([board.left_sums, board.right_sums])
        if tilted is None:
            equations = Equations(board, self.cells, model.cumulants)
            tilted = equations.solve(self.sums[None].astype(np.float64))
        if not bool(tilted.solved[0]):
            raise Undecided
        self.shift, self.mean = tilted.shift[0], tilted.mean[0]
        self.left = board.left[self.cells]
        self.right = len(board.left_sums) + board.right[self.cells]
        self._look_back(tilted.variance[0])

    def _look_back(self, variance: Floats) -> None:
        """What the sums tell about each cell with those after it as normal, last cell first."""
        size, cells = len(self.sums), len(self.cells)
        inverse = np.eye(size) / (HARD * float(np.median(variance)))
        self.pull = np.zeros((cells, size))
        self.tension = np.zeros(cells)
        for t in reversed(range(cells)):
            pull = inverse[self.left[t]] + inverse[self.right[t]]
            self.pull[t] = pull
            self.tension[t] = pull[self.left[t]] + pull[self.right[t]]
            step = variance[t] / (1 + variance[t] * self.tension[t])
            inverse -= step * np.outer(pull, pull)

    def draw(self, many: int, random: np.random.Generator) -> Draws:
        """So many tables."""
        left = np.repeat(self.sums[None].astype(np.float64), many, axis=0)
        off = left.copy()
        for t, mean in enumerate(self.mean.tolist()):
            off[:, [self.left[t], self.right[t]]] -= mean
        counts = np.zeros((many, len(self.cells)), dtype=np.int64)
        logged = np.zeros(many)
        alive = np.ones(many, dtype=bool)
        for t in range(len(self.cells)):
            one, gained, possible = self._cell(t, left, off, random)
            counts[:, t] = one
            logged += gained
            alive &= possible
            raised = one - self.mean[t]
            for side in (self.left[t], self.right[t]):
                left[:, side] -= one
                off[:, side] -= raised
        alive &= (left == 0).all(axis=1)
        if not alive.any():
            raise Undecided
        most = float(logged[alive].max())
        weight = np.where(alive, np.exp(logged - most), 0.0)
        return Draws(self.cells, counts, weight, most)

    def _cell(
        self, t: int, left: Floats, off: Floats, random: np.random.Generator
    ) -> tuple[Whole, Floats, np.ndarray]:
        """Counts of one cell, the logarithm of weight over chance, and whether there was one."""
        law = self.model.laws[self.cells[t]]
        counts = np.arange(law.most + 1)
        raised = counts - self.mean[t]
        own = law.log_weight + self.shift[t] * raised
        wanted = off @ self.pull[t]
        logged = own - 0.5 * self.tension[t] * raised**2 + raised * wanted[:, None]
        room = np.minimum(left[:, self.left[t]], left[:, self.right[t]])
        logged[counts > room[:, None]] = -np.inf
        most = logged.max(axis=1)
        possible = np.isfinite(most)
        chance = np.exp(logged - np.where(possible, most, 0.0)[:, None])
        sums = np.cumsum(chance, axis=1)
        whole = np.maximum(sums[:, -1], 1e-300)
        drawn = (sums < (random.random(len(left)) * whole)[:, None]).sum(axis=1)
        one = np.minimum(drawn, law.most)
        rows = np.arange(len(left))
        taken = np.where(possible, np.maximum(chance[rows, one], 1e-300) / whole, 1.0)
        return one, np.where(possible, own[one] - np.log(taken), 0.0), possible
