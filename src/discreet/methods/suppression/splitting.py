"""A table that splits the rows (or columns) of one whose totals are out: SafeToSplit (nabar, Algorithm 2).

Of the new rows within an earlier one only their sum is known. A *rest* for each makes that an ordinary
board: new row + its rest = the earlier row's total, and the rests of its k new rows add up to k − 1 times
that total. A rest is a number of which nothing is known but its bounds, and deciding whether a new row's
total may come out is deciding its rest, with the same solvers and the same charge as a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from .beliefs import Model
from .board import Board, Whole
from .decisions import Decided, Progress, Rule, attempt
from .past import Split


@dataclass(frozen=True)
class SplitBoard:
    """A board with rests after its cells: whose rests they are, and how large each may be."""

    board: Board
    groups: tuple[tuple[int, ...], ...]
    """The new rows of each earlier one that has several."""
    rest_of: dict[int, int]
    """New row → the place of its rest."""
    most: tuple[int, ...]


def split_board(
    shape: tuple[int, int], split: Split, most: Whole, earlier: Whole, columns: Whole
) -> SplitBoard:
    """The board of a table that splits the rows of an earlier one.

    `earlier` are the sums of the earlier rows that are out, `columns` those of the other side; both of
    what goes beyond the smallest sums there can be.
    """
    places = np.indices(shape)
    left, right = (places[a].ravel() for a in (split.axis, 1 - split.axis))
    sides = shape[split.axis], shape[1 - split.axis]
    peopled = np.bincount(left, most, sides[0]) > 0
    sums = np.where(peopled, earlier[np.array(split.of)], 0).astype(np.int64)
    groups = [
        tuple(k for k, of in enumerate(split.of) if of == one and peopled[k])
        for one in sorted(set(split.of))
    ]
    groups = [group for group in groups if len(group) > 1]
    rest_of: dict[int, int] = {}
    lefts, rights, mosts = list(left), list(right), list(most)
    for number, group in enumerate(groups):
        total = int(sums[group[0]])
        for row in group:
            rest_of[row] = len(lefts)
            lefts.append(row)
            rights.append(sides[1] + number)
            mosts.append(total)
        columns = np.append(columns, (len(group) - 1) * total)
    board = Board(
        np.array(lefts, dtype=np.int64),
        np.array(rights, dtype=np.int64),
        np.array(mosts, dtype=np.int64),
        sums,
        columns.astype(np.int64),
    )
    return SplitBoard(board, tuple(groups), rest_of, tuple(int(m) for m in mosts[len(most) :]))


def _rest(total: int, row_total: Callable[[int], int], row: int) -> int:
    return total - row_total(row)


def split_rows(
    progress: Progress,
    made: SplitBoard,
    models: Sequence[Model],
    rule: Rule,
    row_total: Callable[[int], int],
) -> list[int]:
    """Decide the totals of the new rows, one after the other; which rows stay unsplit.

    `row_total` is asked for a true total only after its release is decided. If one of an earlier row
    cannot come out, none of its further ones does.
    """
    unsplit: list[int] = []
    for group in made.groups:
        for position, row in enumerate(group[:-1]):
            place = made.rest_of[row]
            if progress.board.known[place] >= 0:
                continue
            total = int(made.board.most[place])
            if not attempt(progress, models, rule, place, partial(_rest, total, row_total, row)):
                unsplit += group[position:] if position else group
                break
    for place in made.rest_of.values():
        if progress.decided[place] == Decided.OPEN:
            progress.decided[place] = Decided.SUPPRESSED
    return unsplit
