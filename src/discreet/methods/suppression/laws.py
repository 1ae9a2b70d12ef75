"""The law of one cell given what is public, and the chance that its count would be unsafe.

    exact        sums over everything (`exact_law`); where few sums are on one side
    look-ahead   all other cells taken as normal (`outlook`); decides only far from any doubt
    saddlepoint  the tilt solved again for each count (`saddlepoint`); where variances allow (`carriers`)
    draws        tables drawn for each count (`drawn_law`); where nothing else serves

Each gives a chance with a bracket: what is charged is the unsafe end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .beliefs import Model, look_ahead
from .board import Board, Whole
from .cell_weights import TIE, Flags, Floats
from .drawn_law import drawn_risk
from .exact_law import Undecided, effort, marginals, parts
from .outlook import BRIDGE, LEAST_VARIANCE, NEGLIGIBLE, Outlook, guard
from .saddlepoint import Refit
from .tilt import Equations, Tilted

EXACT_ALWAYS = 3e6
"""Up to so many products the exact law is as quick as any other."""
EXACT_AT_MOST = 2e8
"""Beyond this it is not tried even where nothing else serves."""
CHARGE_SADDLEPOINT = 1.05
CHARGE_LOOK_AHEAD = 2.0
CHARGE_MORE = 1e-9
"""What chances are multiplied with, and what is added, before they are charged."""
MOST_DRAWN = 150
"""Of more unknown cells no tables are drawn: it takes too long."""
SURE, APART = 0.7, 0.05
"""Beliefs within this part of ε at first order, and this far inside it, are not looked at again."""
IN_NO_DOUBT = 0.25
"""The look-ahead releases where the same charge for every cell left would use this part of δ."""


def sure(epsilon: float) -> float:
    """How far beliefs may be off at first order without a closer look.

    >>> sure(0.5), round(sure(0.1), 3)
    (0.35, 0.05)
    """
    return min(SURE * epsilon, epsilon - APART)


@dataclass(frozen=True)
class Risk:
    """The chance that releasing a cell breaks ε, as it is charged, and the counts that would."""

    charge: float
    unsafe: Flags
    solver: str


def risk(board: Board, model: Model, cell: int, outlook: Outlook, left: float, cells: int) -> Risk:
    """The risk of one cell; `left` is what may be spent, `cells` how many are still to decide."""
    part = next(some for some in parts(board, board.unknown) if cell in some)
    need = effort(board, part) * float(model.most[cell] + 1)
    if need <= EXACT_ALWAYS:
        return _exact(board, model, cell, part)
    if outlook.carry is not None and outlook.carries_without(board, cell):
        quick = _screen(outlook, model, cell, left, cells)
        return quick if quick is not None else _saddlepoint(board, model, cell, outlook)
    if need <= EXACT_AT_MOST:
        return _exact(board, model, cell, part)
    if outlook.carry is not None or len(outlook.cells) > MOST_DRAWN:
        raise Undecided  # a cell that thin ones need, or too many to draw
    chance, unsafe = drawn_risk(board, model, cell, outlook, left)
    return Risk(chance + CHARGE_MORE, unsafe, "draws")


def _exact(board: Board, model: Model, cell: int, part: Whole) -> Risk:
    law = marginals(board, part, model.laws, model.cumulants)[cell]
    unsafe = ~model.safe[cell]
    law = law[: len(unsafe)]
    for count in np.flatnonzero(~unsafe & (law > 0)).tolist():
        unsafe[count] = law[count] < NEGLIGIBLE or not _others_safe(board, model, part, cell, count)
    return Risk(float(law[unsafe].sum()), unsafe, "exact")


def _others_safe(board: Board, model: Model, part: Whole, cell: int, count: int) -> bool:
    """Whether everybody in the other cells of a part is within ε once a cell has this count."""
    after = board.copy()
    after.fix(cell, count)
    for some in parts(after, part[part != cell]):
        for other, law in marginals(after, some, model.laws, model.cumulants).items():
            if model.off(other, law) > model.epsilon + TIE:
                return False
    return True


def _screen(outlook: Outlook, model: Model, cell: int, left: float, cells: int) -> Risk | None:
    """The look-ahead's verdict, where a factor of two in its chance does not matter."""
    place = int(outlook.place[cell])
    law = outlook.law(place)
    unsafe = ~model.safe[cell]
    chance = float(outlook.own_risk[place])
    if chance > CHARGE_LOOK_AHEAD * left + CHARGE_MORE:
        return Risk(chance / CHARGE_LOOK_AHEAD, unsafe, "look-ahead")
    charge = CHARGE_LOOK_AHEAD * chance + CHARGE_MORE
    if charge * cells > IN_NO_DOUBT * left or (outlook.leverage_without(place) > BRIDGE).any():
        return None
    likely = np.flatnonzero(law > NEGLIGIBLE)
    if outlook.others_off(place, likely) > sure(model.epsilon):
        return None
    return Risk(charge, unsafe | (law <= NEGLIGIBLE), "look-ahead")


def _saddlepoint(board: Board, model: Model, cell: int, outlook: Outlook) -> Risk:
    """The chance by the saddlepoint, with all beliefs about other cells well within ε."""
    assert outlook.carry is not None
    refit = Refit(board, model, cell, outlook)
    law, counts = refit.law(), refit.counts
    unsafe = ~model.safe[cell]
    unsafe[law <= NEGLIGIBLE] = True
    unsafe[counts[~refit.possible]] = True
    wanted = np.flatnonzero(~unsafe[counts])
    doubtful = wanted[~refit.sure_between(sure(model.epsilon))[wanted]]
    if len(doubtful):
        tilted = refit.tilts(doubtful)
        carry = outlook.carry[outlook.place[tilted.cells]]
        unsafe[counts[doubtful[~_others_within(board, model, tilted, carry)]]] = True
    chance = float(law[unsafe].sum())
    return Risk(CHARGE_SADDLEPOINT * chance + CHARGE_MORE, unsafe, "saddlepoint")


def _others_within(board: Board, model: Model, tilted: Tilted, carry: Flags) -> Flags:
    """For each vector of sums, whether beliefs about all unknown cells are well within ε."""
    closer = model.epsilon - guard(carry)
    within: Flags = tilted.solved.copy()
    off = model.first_order(tilted.cells, tilted.shift)
    large = tilted.variance[:, carry].min(axis=1, initial=np.inf) >= LEAST_VARIANCE / 4
    for k in np.flatnonzero(within & (off.max(axis=1, initial=0) > sure(model.epsilon))).tolist():
        doubtful = np.flatnonzero(off[k] > sure(model.epsilon))
        within[k] = bool(large[k]) and bool(
            (beliefs_off(model, board, tilted.only(k), doubtful) <= closer).all()
        )
    return within


def beliefs_off(model: Model, board: Board, tilted: Tilted, places: Whole | None = None) -> Floats:
    """The largest |1 − ratio| of unknown cells by their look-ahead laws; of all without `places`."""
    if places is None:
        places = np.arange(len(tilted.cells))
    equations = Equations(board, tilted.cells, model.cumulants)
    free = len(equations.free)
    inverse = np.zeros((free + 1, free + 1))
    try:
        inverse[:free, :free] = np.linalg.inv(tilted.matrix[0])
    except np.linalg.LinAlgError:
        return np.full(len(places), math.inf)
    left, right = equations.place[equations.left], equations.place[equations.right]
    resistance = inverse[left, left] + inverse[right, right] + 2 * inverse[left, right]
    near, _ = look_ahead(model, tilted.of_cells(places), resistance[places])
    cells = tilted.cells[places].tolist()
    laws = [near.full(k, model.laws[cell].most + 1) for k, cell in enumerate(cells)]
    return np.array([model.off(cell, law) for cell, law in zip(cells, laws, strict=True)])
