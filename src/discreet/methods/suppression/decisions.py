"""Cells decided one after the other: released, derived or suppressed (nabar, Algorithm 3).

Each decision is a function of what is public: prior, populations, sums and counts that are out. The
true count of a cell is read only after it was decided to release it, so that a star tells nothing, and
anybody can work out every star in advance (`simulatable`). The chance that a release breaks ε is
charged to δ: a cell is released if what is left of δ bears it (the spending rule), or if it is at most
δ/T (the paper's). By the tower rule the chance that anything published breaks ε is at most what is
spent, on average, which is at most δ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from ...core.control import Control
from .beliefs import Model
from .board import Board, Whole
from .drawn_law import drawn_safe
from .exact_law import Undecided, effort, parts
from .laws import EXACT_AT_MOST, MOST_DRAWN, Risk, beliefs_off, risk
from .outlook import Outlook, guard


class Decided(IntEnum):
    """What became of a cell."""

    OPEN = 0
    RELEASED = 1
    DERIVED = 2
    SUPPRESSED = 3


@dataclass(frozen=True)
class Step:
    """One decision, as it is kept: which cell, its charge under each prior, whether it came out."""

    cell: int
    charges: tuple[float, ...]
    released: bool
    solver: str


@dataclass
class Progress:
    """Where the deciding of a table stands; everything in it is public."""

    board: Board
    decided: npt.NDArray[np.uint8]
    spent: list[float]
    """What was spent of δ, by prior."""
    broken: bool = False
    """A count that came out is outside ε: nothing more of this table is released."""
    steps: list[Step] = field(default_factory=list)


@dataclass(frozen=True)
class Rule:
    """How cells are decided: δ, order and the most one cell may be charged."""

    delta: float
    order: str = "smallest risk"
    most: float = 1.0
    """δ/T under the paper's rule, 1 under the spending rule."""
    priority: tuple[int, ...] = ()
    """A public rank of every cell, smaller first; empty: none."""


def is_safe(board: Board, model: Model) -> bool:
    """Whether everything public is within ε; where it cannot be decided it is not."""
    if not model.known_safe(board):
        return False
    for part in parts(board, board.unknown):
        only = board.copy()
        if effort(only, part) <= EXACT_AT_MOST / 10:
            try:
                fine = model.safe_exactly(_of_part(only, part))
            except Undecided:
                return False
        else:
            fine = _safe_by_tilt(board, model)
        if not fine:
            return False
    return True


def _of_part(board: Board, part: npt.NDArray[np.int64]) -> Board:
    """The same board with cells of other parts left aside."""
    keep = np.isin(np.arange(len(board.left)), part)
    board.known = np.where(keep, board.known, np.where(board.known >= 0, board.known, -2))
    return board


def _safe_by_tilt(board: Board, model: Model) -> bool:
    outlook = Outlook(model, board)
    if outlook.carry is None:
        return len(outlook.cells) <= MOST_DRAWN and drawn_safe(board, model)
    closer = model.epsilon - guard(outlook.carry)
    return bool((beliefs_off(model, board, outlook.tilted) <= closer).all())


def decide(
    progress: Progress,
    models: Sequence[Model],
    rule: Rule,
    read: Callable[[int], int],
    control: Control | None = None,
) -> None:
    """Decide every open cell. `read` is asked for a cell's true count after its release is decided."""
    board, open_ = progress.board, progress.decided == Decided.OPEN
    total = max(int(open_.sum()), 1)
    starts: list[npt.NDArray[np.float64] | None] = [None] * len(models)
    outlooks: list[Outlook] = []
    moved = True
    while True:
        if moved:
            outlooks = _looked(progress, models, starts)
            moved = False
        rest = board.unknown[progress.decided[board.unknown] == int(Decided.OPEN)]
        if not len(rest):
            return
        if control is not None:
            control.step(1 - len(rest) / total, "deciding cells")
        cell = _next(rest, outlooks, rule)
        step, risks = _step(progress, models, outlooks, rule, cell, len(rest))
        progress.steps.append(step)
        if not step.released:
            progress.decided[cell] = Decided.SUPPRESSED
            continue
        _release(progress, step, risks, read(cell))
        moved = True


def attempt(
    progress: Progress,
    models: Sequence[Model],
    rule: Rule,
    cell: int,
    read: Callable[[], int],
) -> bool:
    """Decide one cell now; whether it is out, or follows from what is."""
    outlooks = _looked(progress, models, [None] * len(models))
    if progress.board.known[cell] >= 0:
        return True
    step, risks = _step(progress, models, outlooks, rule, cell, 1)
    progress.steps.append(step)
    if step.released:
        _release(progress, step, risks, read())
    else:
        progress.decided[cell] = Decided.SUPPRESSED
    return step.released


def _release(progress: Progress, step: Step, risks: Sequence[Risk], count: int) -> None:
    """A count comes out and is charged; whether it is outside ε is public from now on."""
    for place, charge in enumerate(step.charges):
        progress.spent[place] += charge
    progress.decided[step.cell] = Decided.RELEASED
    progress.board.fix(step.cell, count)
    progress.broken = any(bool(one.unsafe[count]) for one in risks)


def _looked(
    progress: Progress,
    models: Sequence[Model],
    starts: list[npt.NDArray[np.float64] | None],
) -> list[Outlook]:
    """The outlook under each prior, after everything that follows from the sums is known."""
    board = progress.board
    while True:
        outlooks = [
            Outlook(model, board, start) for model, start in zip(models, starts, strict=True)
        ]
        follows = board.implied(outlooks[0].suspects)
        for cell in follows:
            progress.decided[cell] = Decided.DERIVED
        if not follows:
            break
    for place, outlook in enumerate(outlooks):
        starts[place] = outlook.tilted.parameters[0] if outlook.solved else None
    return outlooks


def _next(rest: Whole, outlooks: Sequence[Outlook], rule: Rule) -> int:
    """The cell to decide next: by public rank, then in row order or the one with the least risk."""
    if rule.priority:
        ranks = np.array(rule.priority)[rest]
        rest = rest[ranks == ranks.min()]
    if rule.order == "rows" or not all(outlook.solved for outlook in outlooks):
        return int(rest[0])
    places = outlooks[0].place[rest]
    risks = np.max([outlook.own_risk[places] for outlook in outlooks], axis=0)
    return int(rest[np.argmin(risks)])


def _step(
    progress: Progress,
    models: Sequence[Model],
    outlooks: Sequence[Outlook],
    rule: Rule,
    cell: int,
    left: int,
) -> tuple[Step, list[Risk]]:
    """One decision, from what is public alone."""
    risks: list[Risk] = []
    if progress.broken:
        return Step(cell, (), False, "broken"), risks
    for model, outlook, spent in zip(models, outlooks, progress.spent, strict=True):
        bearable = min(rule.delta - spent, rule.most)
        try:
            one = risk(progress.board, model, cell, outlook, bearable, left)
        except Undecided:
            return Step(cell, (), False, "undecided"), []
        if one.charge > bearable:
            return Step(cell, (), False, one.solver), []
        risks.append(one)
    charges = tuple(one.charge for one in risks)
    return Step(cell, charges, True, risks[0].solver), risks
