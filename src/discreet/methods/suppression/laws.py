"""The law of one cell given what is public, and the chance that its count would be unsafe.

    exact        sums over everything (`exact_law`); where few sums are on one side
    look-ahead   all other cells taken as normal (`outlook`); decides only far from any doubt
    saddlepoint  the tilt solved again for each count: log q(v) = log weight(v) + least(v)
                 − ½ log det(v); where every tilted variance is at least LEAST_VARIANCE

Each gives a chance with a bracket: what is charged is the unsafe end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .beliefs import Model, look_ahead
from .board import Board, Whole
from .cell_weights import TIE, Flags, Floats
from .exact_law import Undecided, effort, marginals, parts
from .outlook import BRIDGE, Outlook
from .tilt import Equations, Tilted

EXACT_ALWAYS = 3e6
"""Up to so many products the exact law is as quick as any other."""
EXACT_AT_MOST = 2e8
"""Beyond this it is not tried even where nothing else serves."""
LEAST_VARIANCE = 4.0
"""The saddlepoint's gate: there its law is within 1e-3 of the exact one in total variation."""
CHARGE_SADDLEPOINT = 1.05
CHARGE_LOOK_AHEAD = 2.0
CHARGE_MORE = 1e-9
"""What chances are multiplied with, and what is added, before they are charged."""
GUARD = 0.02
"""How far inside ε beliefs about other cells must be where they are not computed exactly."""
SURE, APART = 0.7, 0.05
"""Beliefs within this part of ε at first order, and this far inside it, are not looked at again."""
NEGLIGIBLE = 1e-11
"""Counts less likely than this are taken as unsafe without a look."""
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
    if outlook.solved and float(outlook.tilted.variance[0].min()) >= LEAST_VARIANCE:
        quick = _screen(outlook, model, cell, left, cells)
        return quick if quick is not None else _saddlepoint(board, model, cell, outlook)
    if need <= EXACT_AT_MOST:
        return _exact(board, model, cell, part)
    raise Undecided


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
    place = outlook.place[cell]
    law = outlook.law[place][: len(model.safe[cell])]
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


def saddlepoint_law(
    board: Board, model: Model, cell: int, outlook: Outlook
) -> tuple[Floats, Tilted, Whole, Flags]:
    """The law of a cell by the saddlepoint, the tilts of the others for each count, and these counts.

    Cells that follow once this one is known have their exact weights; the last flags say for which
    counts they would have safe ones.
    """
    place = outlook.place[cell]
    first = outlook.law[place][: model.laws[cell].most + 1]
    counts = np.flatnonzero(first > NEGLIGIBLE)
    suspects = outlook.cells[outlook.leverage_without(place) > BRIDGE].tolist()
    follow = _following(board, cell, suspects, counts)
    sums = np.concatenate([board.left_sums, board.right_sums]).astype(np.float64)
    wanted = np.repeat(sums[None], len(counts), axis=0)
    logged = model.laws[cell].log_weight[counts]
    fine = np.ones(len(counts), dtype=bool)
    for known, values in {cell: counts, **follow}.items():
        wanted[:, board.left[known]] -= values
        wanted[:, len(board.left_sums) + board.right[known]] -= values
        if known != cell:
            law = model.laws[known]
            possible = (values >= 0) & (values <= law.most)
            clipped = np.clip(values, 0, law.most)
            logged = logged + np.where(possible, law.log_weight[clipped], -np.inf)
            fine &= possible & model.allowed[known, clipped]
    others = outlook.cells[~np.isin(outlook.cells, [cell, *follow])]
    equations = Equations(board, others, model.cumulants)
    start = outlook.moved(place, counts) if not follow else outlook.tilted.parameters[0]
    tilted = equations.solve(wanted, start)
    sign, determinant = np.linalg.slogdet(tilted.matrix)
    impossible = np.isneginf(logged)
    solved = (tilted.solved & (sign > 0)) | impossible
    logged = np.where(solved, logged + tilted.least - 0.5 * determinant, -np.inf)
    if not np.isfinite(logged).any() or first[counts[~solved]].sum() > 1e-6:
        raise Undecided
    law_of_counts = np.zeros(len(first))
    weight = np.exp(logged - logged.max())
    law_of_counts[counts] = weight / weight.sum()
    law_of_counts[counts[~solved]] = 10 * first[counts[~solved]]
    return law_of_counts, tilted, counts, fine


def _saddlepoint(board: Board, model: Model, cell: int, outlook: Outlook) -> Risk:
    law, tilted, counts, fine = saddlepoint_law(board, model, cell, outlook)
    unsafe = ~model.safe[cell]
    unsafe[law <= NEGLIGIBLE] = True
    unsafe[counts[~fine]] = True
    unsafe[counts[~_others_within(board, model, cell, tilted, ~unsafe[counts])]] = True
    chance = float(law[unsafe].sum())
    return Risk(CHARGE_SADDLEPOINT * chance + CHARGE_MORE, unsafe, "saddlepoint")


def _others_within(board: Board, model: Model, cell: int, tilted: Tilted, wanted: Flags) -> Flags:
    """For each count of a cell, whether beliefs about all other cells stay within ε − GUARD."""
    within: Flags = np.asarray(tilted.solved & wanted)
    off = model.first_order(tilted.cells, tilted.shift)
    large = tilted.variance.min(axis=1, initial=np.inf) >= LEAST_VARIANCE / 4
    for k in np.flatnonzero(within & (off.max(axis=1, initial=0) > sure(model.epsilon))).tolist():
        doubtful = np.flatnonzero(off[k] > sure(model.epsilon))
        within[k] = bool(large[k]) and _refined(model, tilted, board, cell, k, doubtful)
    return within


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


def _refined(
    model: Model, tilted: Tilted, board: Board, cell: int, k: int, doubtful: Whole
) -> bool:
    """Beliefs about some cells from their look-ahead law at one count, within ε − GUARD."""
    one = tilted.only(k)
    return bool((beliefs_off(model, board, one)[doubtful] <= model.epsilon - GUARD).all())


def beliefs_off(model: Model, board: Board, tilted: Tilted) -> Floats:
    """The largest |1 − ratio| of each unknown cell by its look-ahead law."""
    equations = Equations(board, tilted.cells, model.cumulants)
    free = len(equations.free)
    inverse = np.zeros((free + 1, free + 1))
    try:
        inverse[:free, :free] = np.linalg.inv(tilted.matrix[0])
    except np.linalg.LinAlgError:
        return np.full(len(tilted.cells), math.inf)
    left, right = equations.place[equations.left], equations.place[equations.right]
    resistance = inverse[left, left] + inverse[right, right] + 2 * inverse[left, right]
    law = look_ahead(model, tilted, resistance)
    return np.array(
        [model.off(cell, law[place]) for place, cell in enumerate(tilted.cells.tolist())]
    )
