"""The law of one cell, and beliefs about all others, by drawn tables: where nothing else serves.

For every count the cell may have, tables of the other cells are drawn (`draws`). Their mean weight is
how likely the count is, their weighted means are the beliefs. Draws are from a public seed. What is
charged is the chance with every estimate at its unsafe end, SURE standard errors away; where draws are
not worth enough, nothing is decided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .beliefs import Model
from .board import Board
from .cell_weights import Flags, Floats
from .draws import Draws, Sampler
from .exact_law import Undecided
from .outlook import NEGLIGIBLE, Outlook

PATHS = 600
SURE = 5.0
LEAST_EFFECTIVE, MOST_OF_ONE = 0.3, 0.05
"""At least this part of the draws must count, and none may have more of the weight than the second."""
LIKELY = 1e-6
"""Only counts at least this likely must be estimated well; others are taken as unsafe where not."""
HOPELESS = 4.0
"""A look-ahead chance this many times what may be spent is not looked at closer."""
SEED = 20_100_406


@dataclass(frozen=True)
class _Count:
    """What tables with one count of the cell tell: their weight, how sure, whether all is safe."""

    logged: float = -math.inf
    error: float = 0.0
    """Of the weight, as a part of it."""
    safe: bool = False
    sound: bool = True


def drawn_risk(
    board: Board, model: Model, cell: int, outlook: Outlook, left: float
) -> tuple[float, Flags]:
    """The chance, at its unsafe end, that a cell's count is unsafe, and the counts that are."""
    if not outlook.solved or outlook.own_risk[outlook.place[cell]] > HOPELESS * left:
        raise Undecided
    near = outlook.law(int(outlook.place[cell]))
    unsafe = np.ones(len(near), dtype=bool)
    least, most = board.span(cell)
    counts = least + np.flatnonzero(near[least : most + 1] > NEGLIGIBLE)
    found = [_with_count(board, model, cell, int(count)) for count in counts.tolist()]
    logged = np.array([one.logged for one in found])
    if not np.isfinite(logged).any():
        raise Undecided
    weight = np.exp(logged - logged.max())
    error = np.array([one.error for one in found])
    sound = np.array([one.sound for one in found])
    if (~sound & (weight > LIKELY * weight.sum())).any():
        raise Undecided
    safe = np.array([one.safe for one in found]) & sound & model.safe[cell][counts]
    unsafe[counts[safe]] = False
    much = float((weight * (1 + SURE * error))[~safe].sum())
    rest = float((weight * np.maximum(1 - SURE * error, 0.0))[safe].sum())
    return (much / (much + rest) if much + rest else 1.0), unsafe


def drawn_safe(board: Board, model: Model) -> bool:
    """Whether beliefs about all unknown cells are within ε, by draws; in doubt not."""
    try:
        draws = Sampler(board, model).draw(PATHS, _random(board, -1, 0))
    except Undecided:
        return False
    return _sound(draws) and _within(model, draws)


def _with_count(board: Board, model: Model, cell: int, count: int) -> _Count:
    after = board.copy()
    after.fix(cell, count)
    follow = after.implied()
    logged = float(model.laws[cell].log_weight[count])
    for other, value in follow.items():
        if not 0 <= value <= model.laws[other].most:
            return _Count()
        logged += float(model.laws[other].log_weight[value])
    safe = all(bool(model.safe[other][value]) for other, value in follow.items())
    if not len(after.unknown):
        return _Count(logged, 0.0, safe)
    try:
        draws = Sampler(after, model).draw(PATHS, _random(board, cell, count))
    except Undecided:
        return _Count(logged, 0.0, False, sound=False)
    mean = float(draws.weight.mean())
    error = float(draws.weight.std()) / mean / math.sqrt(PATHS)
    logged += math.log(mean) + draws.scale
    return _Count(logged, error, safe and _within(model, draws), _sound(draws))


def _random(board: Board, cell: int, count: int) -> np.random.Generator:
    """A public source: the same for everybody who looks at this board."""
    return np.random.default_rng([SEED, len(board.unknown), cell + 1, count])


def _sound(draws: Draws) -> bool:
    share = float(draws.weight.max() / draws.weight.sum())
    return draws.effective >= LEAST_EFFECTIVE and share <= MOST_OF_ONE


def _within(model: Model, draws: Draws) -> bool:
    """Whether everybody's belief is within ε, SURE standard errors included."""
    whole = float(draws.weight.sum())
    for place, cell in enumerate(draws.cells.tolist()):
        ratios: Floats = model.laws[cell].ratios[:, draws.counts[:, place]]
        if not len(ratios):
            continue
        mean = ratios @ draws.weight / whole
        error = np.sqrt(((ratios - mean[:, None]) ** 2) @ draws.weight**2) / whole
        if (np.abs(1 - mean) + SURE * error > model.epsilon).any():
            return False
    return True
