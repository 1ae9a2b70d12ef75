"""What a model says of all unknown cells of a board as it stands: the screen of every decision.

One tilt serves all cells. A cell's law with all others taken as normal (`look_ahead`) is within a few
per cent of the exact one in its tails for cells of a hundred people; it decides only where a factor of
two does not matter. What decides otherwise is in `laws`.
"""

from __future__ import annotations

import numpy as np

from .beliefs import Model, look_ahead
from .board import Board, Whole, components
from .cell_weights import Flags, Floats
from .tilt import Equations

BRIDGE = 1 - 1e-6
"""A leverage above this may be a cell that follows from the sums."""

STUCK = 1e-6
"""A cell of less variance may have the same count in every table with these sums."""

LEAST_VARIANCE = 4.0
"""The saddlepoint's gate: there its law is within 1e-3 of the exact one in total variation."""
CARRIES = 8.0
"""Cells of at least this variance carry thinner ones: where every sum has two of them and they connect
all sums, the saddlepoint and beliefs about thin cells too are as accurate as at the gate."""
GUARD, THIN_GUARD = 0.02, 0.05
"""How far inside ε beliefs about other cells must be where they are not computed exactly; the
second where some cells are thin."""
NEGLIGIBLE = 1e-11
"""Counts less likely than this are taken as unsafe without a look."""


def carriers(
    board: Board,
    cells: Whole,
    variance: Floats,
    peopled: Flags | None = None,
    even: Flags | None = None,
) -> Flags | None:
    """The cells that carry the saddlepoint; all of them, or those that carry thin ones; None: too thin.

    Thin ones are carried by cells with people only (`peopled`, of all cells of the board). A cell
    whose law is not `even` is taken as thin.
    """
    if even is not None:
        variance = np.where(even[cells], variance, 0.0)
    if not len(cells) or float(variance.min()) >= LEAST_VARIANCE:
        return np.ones(len(cells), dtype=bool)
    carry: Flags = variance >= CARRIES
    if peopled is not None:
        carry &= peopled[cells]
    for side in (board.left[cells], board.right[cells]):
        if (np.bincount(side[carry], minlength=side.max() + 1)[side] < 2).any():
            return None
    every, thick = components(board, cells), components(board, cells[carry])
    sums = np.concatenate([board.left[cells], len(board.left_sums) + board.right[cells]])
    parts = len(np.unique(every[sums])), len(np.unique(thick[sums]))
    return carry if parts[0] == parts[1] else None


def guard(carry: Flags) -> float:
    """How far inside ε beliefs must be."""
    return GUARD if carry.all() else THIN_GUARD


class Outlook:
    """The tilt of a board's unknown cells, and what follows from it at first order."""

    def __init__(self, model: Model, board: Board, start: Floats | None = None) -> None:
        self.model, self.cells = model, board.unknown
        self.equations = Equations(board, self.cells, model.cumulants)
        sums = np.concatenate([board.left_sums, board.right_sums]).astype(np.float64)
        self.tilted = self.equations.solve(sums[None], start)
        self.solved = bool(self.tilted.solved[0]) and bool((self.tilted.variance[0] > 1e-9).all())
        self.place = np.full(len(board.left), -1)
        self.place[self.cells] = np.arange(len(self.cells))
        self.carry: Flags | None = None
        """The cells by which the saddlepoint can be trusted; None where it cannot."""
        if self.solved:
            variance = self.tilted.variance[0]
            self.carry = carriers(board, self.cells, variance, model.peopled, model.even)
            self._invert()

    def _invert(self) -> None:
        equations, tilted = self.equations, self.tilted
        free = len(equations.free)
        padded = np.zeros((free + 1, free + 1))  # the last for grounded sums
        try:
            padded[:free, :free] = np.linalg.inv(tilted.matrix[0])
        except np.linalg.LinAlgError:
            self.solved = False
            return
        left, right = equations.place[equations.left], equations.place[equations.right]
        self.left, self.right, self.inverse = left, right, padded
        self.resistance: Floats = (
            padded[left, left] + padded[right, right] + 2 * padded[left, right]
        )
        self.leverage: Floats = tilted.variance[0] * self.resistance
        self.near, self.own_risk = look_ahead(self.model, tilted, self.resistance)

    def law(self, place: int) -> Floats:
        """The look-ahead law of one cell."""
        return self.near.full(place, self.model.laws[self.cells[place]].most + 1)

    @property
    def suspects(self) -> list[int] | None:
        """Cells that may follow from the sums as bridges; None where any may be stuck at an end.

        One that has the same end in every table has no variance under a tilt that keeps the sums.
        """
        if not self.solved or (self.tilted.variance[0] < STUCK).any():
            return None
        return [int(cell) for cell in self.cells[self.leverage > BRIDGE]]

    def response(self, place: int) -> Floats:
        """How much the tilt of every cell falls when one's count is raised by one."""
        row = self.inverse[self.left[place]] + self.inverse[self.right[place]]
        fall: Floats = (row[self.left] + row[self.right]) / (1 - self.leverage[place])
        return fall

    def leverage_without(self, place: int) -> Floats:
        """The leverage of every cell once one's count is known; 1 where it would follow too."""
        row = self.inverse[self.left[place]] + self.inverse[self.right[place]]
        mutual = row[self.left] + row[self.right]
        more = self.tilted.variance[0, place] * mutual**2 / (1 - self.leverage[place])
        leverage: Floats = self.tilted.variance[0] * (self.resistance + more)
        leverage[place] = 0
        return leverage

    def carries_without(self, board: Board, cell: int) -> bool:
        """Whether thin cells stay carried once a cell is known; a cell they need is not released."""
        if self.carry is None or self.carry.all():
            return self.carry is not None
        place = int(self.place[cell])
        left = self.leverage_without(place) <= BRIDGE
        left[place] = False
        variance = self.tilted.variance[0, left]
        model = self.model
        return carriers(board, self.cells[left], variance, model.peopled, model.even) is not None

    def others_off(self, place: int, counts: Whole) -> float:
        """The largest first-order |1 − ratio| in other cells when one has any of these counts."""
        moved = np.array([counts.min(), counts.max()]) - self.tilted.mean[0, place]
        tilts = self.tilted.shift[0] - moved[:, None] * self.response(place)
        others = np.arange(len(self.cells)) != place
        off = self.model.first_order(self.cells[others], tilts[:, others])
        return float(off.max(initial=0))

    def moved(self, place: int, counts: Whole) -> Floats:
        """The parameters to be expected when one cell has each of these counts."""
        equations = self.equations
        row = self.inverse[self.left[place]] + self.inverse[self.right[place]]
        raised = counts - self.tilted.mean[0, place]
        moved = np.repeat(self.tilted.parameters, len(counts), axis=0)
        step = row[:-1] / (1 - self.leverage[place])
        moved[:, equations.free] -= raised[:, None] * step
        return moved
