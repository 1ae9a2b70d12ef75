"""Further starts where a fit may have stopped at a local maximum.

Which rows or columns are estimated empty is a question of combinations once means are near the
noise or below: one start then misses the best in some tables, a dozen in few. Starts are drawn from a
fixed seed, so the same tables give the same fit.
"""

from __future__ import annotations

import numpy as np

from .channel import Reals, Whole
from .likelihood import Cells
from .maximum import GAIN, Fit, Flags, maximise, rises_from_empty

STARTS = 12
_SPREAD = 1.2
_SEED = 20260


def maximise_globally(
    cells: Cells,
    design: Reals,
    offset: Reals | None = None,
    starts: int = STARTS,
    *,
    gain: float = GAIN,
) -> Fit:
    """The best of several starts where one may not do; `starts` and `maxima` say how many."""
    fit = maximise(cells, design, offset, gain=gain)
    (rows,) = np.nonzero(_doubtful(cells, design, fit))
    if len(rows) and starts > 1:
        _try_others(cells, design, offset, starts, fit, rows)
        for row in np.flatnonzero(fit.boundary & fit.converged):
            fit.converged[row] = not rises_from_empty(design, fit.means[row], fit.expected[row])
    return fit


def _try_others(
    cells: Cells, design: Reals, offset: Reals | None, starts: int, fit: Fit, rows: Whole
) -> None:
    """Put the best of further starts into a fit."""
    some, there = cells.take(rows), offset
    if offset is not None and np.ndim(offset) == 2 and len(offset) == cells.shape[0]:
        there = offset[rows]
    random = np.random.default_rng(_SEED)
    level = np.log(np.maximum(some.guesses().mean(1), 0.3))
    logs = np.repeat(level[:, None], cells.shape[1], axis=1)
    logs = logs - (0.0 if there is None else there)
    middle = logs @ np.linalg.pinv(design).T
    found = [fit.loglik[rows].copy()]
    for number in range(starts - 1):
        moved = random.normal(0.0, _SPREAD, middle.shape) if number else 0.0
        other = maximise(some, design, there, middle + moved)
        found.append(other.loglik)
        better = other.loglik > fit.loglik[rows] + 1e-12
        fit.put(rows[better], other.take(better))
    fit.starts[rows] = starts
    ranked = np.sort(np.array(found), axis=0)
    fit.maxima[rows] = 1 + (np.diff(ranked, axis=0) > 1e-5).sum(0)


def _doubtful(cells: Cells, design: Reals, fit: Fit) -> Flags:
    """Where the mean of a row or column, say, is near the noise: several maxima are possible."""
    doubtful = fit.boundary | ~fit.converged
    groups = design[:, ((design == 0) | (design == 1)).all(0)]
    groups = groups[:, groups.sum(0) < len(design)] if groups.shape[1] > 1 else groups[:, :0]
    if groups.shape[1]:
        share = groups / groups.sum(0)
        doubtful |= (fit.means @ share < 2 * (np.sqrt(cells.variance) @ share) + 1).any(1)
    return np.asarray(doubtful)
