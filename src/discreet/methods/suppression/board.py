"""What is public about a table while it is decided: sums that are out, counts that are out.

Cells are edges of a bipartite graph: each has a left and a right sum it is part of (its row's and its
column's). Sums are public from the start of a board. What is left of them after the released counts
are taken off is the *residual*. A cell alone in a sum, and more generally a *bridge* of the graph of
unknown cells, follows from the sums, as does one that every table with these sums has at its largest
or at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

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

        Where `suspects` are given, only these are looked at as bridges, and none may be stuck at an
        end that bounds do not show.
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
        if suspects is None:
            for cell, end in self._stuck().items():
                counts[cell] = end
                self.fix(cell, end)
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

    def _stuck(self) -> dict[int, int]:
        """Unknown cells that have the same end, 0 or the largest count, in every table with these sums.

        In one such table a count can be moved from a left to a right sum by a cell with room, and back
        by one above 0. A cell at its end is not stuck if what it moves can come back by others.
        """
        cells = self.unknown
        lefts, rights = len(self.left_sums), len(self.right_sums)
        most, whole = self.most[cells], int(self.left_sums.sum())
        left, right = self.left[cells], lefts + self.right[cells]
        if max(whole, int(most.sum())) >= 2**31 or not len(cells):
            return {}
        if len(np.unique(left * (lefts + rights) + right)) < len(cells):
            return {}  # several cells in the same two sums: a table by one variable, where bounds say all
        size, ends = lefts + rights, np.arange(lefts + rights)
        source, sink = size, size + 1
        from_ends = np.where(ends < lefts, source, ends)
        to_ends = np.where(ends < lefts, ends, sink)
        room = _graph(
            np.concatenate([left, from_ends]),
            np.concatenate([right, to_ends]),
            np.concatenate([most, self.left_sums, self.right_sums]),
            size + 2,
        )
        found = maximum_flow(room, source, sink)
        if found.flow_value != whole:
            return {}
        counts = np.asarray(found.flow.toarray()[left, right], dtype=np.int64)
        out, back = counts < most, counts > 0
        tails, heads = (
            np.concatenate([left[out], right[back]]),
            np.concatenate([right[out], left[back]]),
        )
        ways = _graph(tails, heads, np.ones(len(tails), np.int64), size)
        _, label = connected_components(ways, connection="strong")
        stuck = np.flatnonzero(label[left] != label[right])
        return {int(cells[k]): int(counts[k]) for k in stuck}

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


def _graph(tails: Whole, heads: Whole, weights: Whole, size: int) -> Any:
    """A directed graph as scipy has it."""
    of_pairs = weights.astype(np.int32), (tails, heads)
    return csr_array(of_pairs, shape=(size, size))  # type: ignore[no-untyped-call]


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
