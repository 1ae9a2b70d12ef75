"""Planning help from public facts: how many people a cell needs, stars to expect, room of the prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .beliefs import Model
from .board import Board
from .cell_weights import CellPeople, Law, cell_law, pooled
from .outlook import Outlook

MOST_NEEDED = 100_000


@lru_cache(maxsize=1000)
def people_needed(law: Law, epsilon: float, chance: float = 1e-3) -> int | None:
    """The fewest people of one type whose count is unsafe with at most this chance; None: too many.

    From there on it holds up to a count more or less: chances of whole counts are not monotone.

    >>> people_needed((0.5, 0.5), 0.5)
    40
    """
    few, many = 1, 1
    while unsafe_chance(CellPeople((law,), (many,)), epsilon) > chance:
        few, many = many, 2 * many
        if many > MOST_NEEDED:
            return None
    while few + 1 < many:
        middle = (few + many) // 2
        fine = unsafe_chance(CellPeople((law,), (middle,)), epsilon) <= chance
        few, many = (few, middle) if fine else (middle, many)
    return many


def extreme_laws(cells: Sequence[CellPeople]) -> list[Law]:
    """Of the Boolean types in these cells the one that needs fewest people alone, and the one that
    needs most; the nearer p is to 0 or 1, the more. None of whole numbers, or whose value is certain.

    >>> extreme_laws([CellPeople.of({(0.8, 0.2): 3, (0.6, 0.4): 1}), CellPeople.of({(0.3, 0.7): 2})])
    [(0.6, 0.4), (0.8, 0.2)]
    """
    every = {law for cell in cells for law in cell.laws}
    laws = [law for law in every if len(law) < 3 and min(law) > 0]
    order = sorted(laws, key=lambda law: (min(law), law), reverse=True)
    return [order[0], order[-1]] if len(order) > 1 else order


def unsafe_chance(people: CellPeople, epsilon: float) -> float:
    """The chance that a cell's count alone is unsafe."""
    law = cell_law(people)
    return float(np.exp(law.log_weight)[~law.safe(epsilon)].sum())


@dataclass(frozen=True)
class Room:
    """How far off a prior may be, all types moved by the same log odds."""

    mean: float
    """The mean value of one person under the stated prior."""
    low: float
    high: float
    """Between these means the grand total breaks ε with at most the chance δ."""


def prior_room(cells: Sequence[CellPeople], epsilon: float, delta: float) -> Room:
    """Between which means the grand total alone stays within δ, for readers of the stated prior.

    A shift of all log odds tilts the law of the total, so this is exact.
    """
    law = pooled(cells)
    people = sum(cell.size for cell in cells)
    counts = np.arange(law.most + 1)
    unsafe = ~law.safe(epsilon)

    def at(shift: float) -> tuple[float, float]:
        logged = law.log_weight + shift * counts
        weight = np.exp(logged - logged.max())
        weight /= weight.sum()
        mean = (float(weight @ counts) + law.shift) / max(people, 1)
        return float(weight[unsafe].sum()), mean

    ends = []
    for sign in (-1.0, 1.0):
        near, far = 0.0, 8.0
        for _ in range(40):
            middle = (near + far) / 2
            near, far = (middle, far) if at(sign * middle)[0] <= delta else (near, middle)
        ends.append(at(sign * near)[1])
    return Room(at(0.0)[1], ends[0], ends[1])


@dataclass(frozen=True)
class Expected:
    """About how a table will come out, at the totals one expects."""

    stars: int
    cells: int
    spent: float


def expected(
    cells: Sequence[CellPeople], shape: tuple[int, ...], epsilon: float, left: float
) -> Expected:
    """Stars to expect under the spending rule: an estimate, from the look-ahead at expected totals."""
    model = Model.of(cells, epsilon)
    everybody = np.arange(len(model.most))
    mean, _, _ = model.cumulants.at(np.zeros(len(model.most)), everybody)
    rounded = np.rint(mean).astype(np.int64)
    if len(shape) == 2:
        grid = rounded.reshape(shape)
        board = Board.of_grid(model.most.reshape(shape), grid.sum(axis=1), grid.sum(axis=0))
    else:
        total = np.array([rounded.sum()], dtype=np.int64)
        none = np.zeros(len(rounded), np.int64)
        board = Board(none, none, model.most, total, total.copy())
    board.implied()
    open_ = len(board.unknown)
    if not open_:
        return Expected(0, len(cells), 0.0)
    outlook = Outlook(model, board)
    if not outlook.solved:
        return Expected(open_, len(cells), 0.0)
    risks = np.sort(outlook.own_risk)
    spent = np.cumsum(risks)
    released = int((spent <= left).sum())
    stars = open_ - released
    if stars:  # totals give one alone in its row or column away: two a row, four a table
        stars = min(max(stars, 2 ** len(shape)), open_)
    return Expected(stars, len(cells), float(spent[released - 1]) if released else 0.0)
