"""The law of one cell with the tilt of all others solved again for its counts: the saddlepoint.

    log q(v) = log weight(v) + least(v) − ½ log det(v)

least and det belong to the other cells' tilt once the cell has the count v. Next to the look-ahead law
this is a correction that changes slowly with v. For a long range of counts it is solved at NODES of
them, closer towards the ends, and a cubic spline through log q − log look-ahead gives the rest.
"""

from __future__ import annotations

import numpy as np

from .beliefs import Model
from .board import Board, Whole
from .cell_weights import Flags, Floats
from .exact_law import Undecided
from .outlook import BRIDGE, NEGLIGIBLE, Outlook
from .spline import through
from .tilt import Equations, Tilted

NODES = 16
"""Against solving at every count this changes chances by less than 1e-4 of them (tests)."""


class Refit:
    """All other cells' tilts for each count that a cell may have.

    Cells that follow once this one is known have their exact weights.
    """

    def __init__(
        self, board: Board, model: Model, cell: int, outlook: Outlook, nodes: int = NODES
    ) -> None:
        place = int(outlook.place[cell])
        self.model, self.first = model, outlook.law(place)
        self.counts: Whole = np.flatnonzero(self.first > NEGLIGIBLE)
        suspects = outlook.cells[outlook.leverage_without(place) > BRIDGE].tolist()
        follow = _following(board, cell, suspects, self.counts)
        sums = np.concatenate([board.left_sums, board.right_sums]).astype(np.float64)
        self.sums = np.repeat(sums[None], len(self.counts), axis=0)
        self.logged: Floats = model.laws[cell].log_weight[self.counts]
        self.possible: Flags = np.ones(len(self.counts), dtype=bool)
        """Counts with which the cells that follow have possible and safe ones."""
        for known, values in {cell: self.counts, **follow}.items():
            self.sums[:, board.left[known]] -= values
            self.sums[:, len(board.left_sums) + board.right[known]] -= values
            if known != cell:
                self._weigh(known, values)
        others = outlook.cells[~np.isin(outlook.cells, [cell, *follow])]
        self.equations = Equations(board, others, model.cumulants)
        self.start = (
            np.repeat(outlook.tilted.parameters, len(self.counts), axis=0)
            if follow
            else outlook.moved(place, self.counts)
        )
        self.nodes = _nodes(len(self.counts), len(self.counts) if follow else nodes)
        self.tilted = self.tilts(self.nodes)

    def _weigh(self, known: int, values: Whole) -> None:
        law = self.model.laws[known]
        there = (values >= 0) & (values <= law.most)
        clipped = np.clip(values, 0, law.most)
        self.logged = self.logged + np.where(there, law.log_weight[clipped], -np.inf)
        self.possible &= there & self.model.allowed[known, clipped]

    def tilts(self, places: Whole) -> Tilted:
        """The tilts of the other cells for some of the counts, by place."""
        return self.equations.solve(self.sums[places], self.start[places])

    def law(self) -> Floats:
        """The law of the cell, by count."""
        logged, solved = self._saddlepoint()
        if len(self.nodes) < len(self.counts) and not solved.all():
            self.nodes = np.arange(len(self.counts))
            self.tilted = self.tilts(self.nodes)
            logged, solved = self._saddlepoint()
        near = self.first[self.counts]
        if len(self.nodes) < len(self.counts):
            correction = logged - np.log(near[self.nodes])
            if not np.isfinite(correction).all():
                raise Undecided
            places, every = (
                self.counts[which].astype(float) for which in (self.nodes, slice(None))
            )
            logged, solved = through(places, correction, every) + np.log(near), near > 0
        if not np.isfinite(logged).any() or near[~solved].sum() > 1e-6:
            raise Undecided
        weight = np.exp(logged - logged.max())
        law = np.zeros(len(self.first))
        law[self.counts] = np.where(solved, weight / weight.sum(), 10 * near)
        return law

    def _saddlepoint(self) -> tuple[Floats, Flags]:
        """Logarithms of the law at the nodes, up to a constant, and where they could be found."""
        sign, determinant = np.linalg.slogdet(self.tilted.matrix)
        logged = self.logged[self.nodes]
        solved = np.asarray((self.tilted.solved & (sign > 0)) | np.isneginf(logged))
        found = logged + self.tilted.least - 0.5 * determinant
        return np.where(solved, found, -np.inf), solved

    def sure_between(self, bound: float) -> Flags:
        """Counts whose nodes on both sides leave all beliefs within a bound at first order.

        Tilts of other cells change almost linearly with the count, and |1 − ratio| has its only
        minimum at tilt 0, so between two nodes it is largest at one of them.
        """
        off = self.model.first_order(self.tilted.cells, self.tilted.shift).max(axis=1, initial=0)
        fine = self.tilted.solved & (off <= bound)
        above = np.searchsorted(self.nodes, np.arange(len(self.counts)))
        exactly = self.nodes[above] == np.arange(len(self.counts))
        below = np.where(exactly, above, above - 1)
        sure: Flags = fine[above] & fine[below]
        return sure


def _nodes(counts: int, nodes: int) -> Whole:
    """Places among so many counts, closer towards both ends; all of them where they are few."""
    if counts <= nodes:
        return np.arange(counts)
    steps = (1 - np.cos(np.linspace(0, np.pi, nodes))) / 2
    return np.unique(np.rint(steps * (counts - 1)).astype(np.int64))


def _following(board: Board, cell: int, suspects: list[int], counts: Whole) -> dict[int, Whole]:
    """Cells that follow once a cell is known, with what they are for each of its counts."""
    found = {}
    for other in suspects:
        two = []
        for count in (0, 1):  # what follows is a count more or less for each one here
            after = board.copy()
            after.fix(cell, count)
            two.append(after.bridge(other))
        if two[0] is not None and two[1] is not None:
            found[other] = two[0] + (two[1] - two[0]) * counts
    return found
