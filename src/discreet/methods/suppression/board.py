"""What is public about a table while it is decided: sums that are out, counts that are out.

Cells are edges of a bipartite graph: each has a left and a right sum it is part of (its row's and its
column's). Sums are public from the start of a board. What is left of them after the released counts
are taken off is the *residual*. A cell alone in a sum, and more generally a *bridge* of the graph of
unknown cells, follows from the sums, as does one whose bounds meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

UNKNOWN = -1


@dataclass
class Board:
    """A table while it is decided; everything in it is public."""

    left: Whole
    """For each cell the left sum it is part of."""
    right: Whole
    most: Whole
    """The largest count each cell can have."""
    left_sums: Whole
    right_sums: Whole
    """What is left of each sum for unknown cells."""
    known: Whole = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The count of each cell that is out or follows; UNKNOWN elsewhere."""

    def __post_init__(self) -> None:
        if not len(self.known):
            self.known = np.full(len(self.left), UNKNOWN, dtype=np.int64)

    @classmethod
    def of_grid(cls, most: Whole, rows: Whole, columns: Whole) -> Board:
        """A two-way table whose row and column sums are out."""
        shape = most.shape
        left, right = (place.ravel().astype(np.int64) for place in np.indices(shape))
        return cls(left, right, most.ravel().astype(np.int64), rows.copy(), columns.copy())

    def copy(self) -> Board:
        """The same, to be changed apart."""
        return Board(
            self.left,
            self.right,
            self.most,
            self.left_sums.copy(),
            self.right_sums.copy(),
            self.known.copy(),
        )

    @property
    def unknown(self) -> Whole:
        """The cells whose count is not public."""
        return np.flatnonzero(self.known == UNKNOWN)

    def fix(self, cell: int, count: int) -> None:
        """A count becomes public."""
        self.known[cell] = count
        self.left_sums[self.left[cell]] -= count
        self.right_sums[self.right[cell]] -= count

    def implied(self, suspects: Sequence[int] | None = None) -> dict[int, int]:
        """Unknown cells whose count follows from the sums, with it; they become known.

        Where `suspects` are given, only these are looked at as bridges.
        """
        counts: dict[int, int] = {}
        while True:
            cells = self.unknown
            low, high = self._bounds(cells)
            meet = np.flatnonzero(low == high)
            if not len(meet):
                break
            for place in meet.tolist():
                counts[int(cells[place])] = int(low[place])
                self.fix(int(cells[place]), int(low[place]))
        for cell in self.unknown.tolist() if suspects is None else suspects:
            if self.known[cell] == UNKNOWN and (count := self.bridge(cell)) is not None:
                counts[cell] = count
                self.fix(cell, count)
        return counts

    def _bounds(self, cells: Whole) -> tuple[Whole, Whole]:
        """Bounds of unknown counts from the residual sums, repeated until they stand."""
        left, right = self.left[cells], self.right[cells]
        low, high = np.zeros(len(cells), np.int64), self.most[cells].copy()
        for _ in range(2 * (len(self.left_sums) + len(self.right_sums)) + 2):
            before = low.copy(), high.copy()
            for side, sums in ((left, self.left_sums), (right, self.right_sums)):
                lows = np.bincount(side, low, len(sums)).astype(np.int64)
                highs = np.bincount(side, high, len(sums)).astype(np.int64)
                high = np.minimum(high, sums[side] - (lows[side] - low))
                low = np.maximum(low, sums[side] - (highs[side] - high))
            if (low > high).any() or (
                np.array_equal(low, before[0]) and np.array_equal(high, before[1])
            ):
                break
        return low, high

    def span(self, cell: int) -> tuple[int, int]:
        """Between which counts an unknown cell lies, by the residual sums."""
        cells = self.unknown
        low, high = self._bounds(cells)
        place = int(np.searchsorted(cells, cell))
        return int(low[place]), int(high[place])

    def bridge(self, cell: int) -> int | None:
        """The count of a cell without which its two sums fall apart; None where they do not."""
        cells = self.unknown
        others = cells[cells != cell]
        labels = components(self, others)
        mine, other = labels[self.left[cell]], labels[len(self.left_sums) + self.right[cell]]
        if mine == other:
            return None
        lefts = labels[: len(self.left_sums)] == mine
        rights = labels[len(self.left_sums) :] == mine
        return int(self.left_sums[lefts].sum() - self.right_sums[rights].sum())


def components(board: Board, cells: Whole) -> Whole:
    """Which sums hang together through these cells: a label for each left, then each right sum."""
    lefts, rights = len(board.left_sums), len(board.right_sums)
    left, right = board.left[cells], board.right[cells]
    near, far = np.arange(lefts), np.arange(lefts, lefts + rights)
    while True:
        before = near.copy()
        np.minimum.at(far, right, near[left])
        np.minimum.at(near, left, far[right])
        if np.array_equal(before, near):
            return np.concatenate([near, far])
