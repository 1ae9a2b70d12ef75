"""Maximum likelihood of log-linear models behind noise, many tables at once.

Newton's method on the parameters of log μ = offset + X b, with step halving. The log likelihood is
not concave in b where noise dominates, so a direction that does not rise is replaced by one from
an information that is positive definite. A certificate says what was reached: a point from which
Newton's method expects to gain less than 10^-10, with positive definite information; that is a
local maximum, and where several are possible `starts` looks for others.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from .channel import Reals, Whole
from .design_matrix import Informed
from .likelihood import Cells

GAIN = 1e-10
_STEPS = 120
_HALVINGS = 40
_LONGEST = 3.0
"""No cell's log mean moves further in one step."""
EMPTY = 1e-6
"""A fitted mean below it is on the boundary: the cell is estimated to be empty."""
_RIDGE = 1e-13

Flags = npt.NDArray[np.bool_]


@dataclass
class Fit:
    """One row a table: parameters, means, log likelihood, and how far the maximum is certain."""

    parameters: Reals
    means: Reals
    loglik: Reals
    expected: Reals
    """The conditional mean of each true count."""
    variance: Reals
    """The conditional variance of each true count."""
    decrement: Reals
    """What one more Newton step would be expected to gain."""
    slope: Reals
    """The largest derivative by a parameter, beside its scale."""
    eigenvalue: Reals
    """The least eigenvalue of the scaled information."""
    converged: Flags
    boundary: Flags
    starts: Whole
    maxima: Whole

    def take(self, rows: Whole | Flags) -> Fit:
        """Some of the tables."""
        return Fit(**{part.name: getattr(self, part.name)[rows] for part in fields(self)})

    def put(self, rows: Whole, other: Fit) -> None:
        """Replace some tables by another fit of them."""
        for part in fields(self):
            if part.name not in ("starts", "maxima"):
                getattr(self, part.name)[rows] = getattr(other, part.name)


def maximise(
    cells: Cells,
    design: Reals,
    offset: Reals | None = None,
    start: Reals | None = None,
    *,
    gain: float = GAIN,
) -> Fit:
    """The fit of every table from one start: `start`, or what least squares of logarithms gives.

    It ends where one more step is expected to gain less than `gain` in log likelihood.
    """
    return _Ascent(cells, design, offset, start).run(gain)


class _Ascent:
    """The state of the search: all tables, and those still moving."""

    def __init__(
        self, cells: Cells, design: Reals, offset: Reals | None, start: Reals | None
    ) -> None:
        self.cells, self.design = cells, design
        self._information = Informed(design)
        tables, count = cells.shape
        self.offset = np.zeros((1, count)) if offset is None else np.atleast_2d(offset)
        self.offset = np.broadcast_to(self.offset, (tables, count))
        self.parameters = self._first() if start is None else np.array(start, dtype=np.float64)
        self.means = self._means(self.parameters, np.arange(tables))
        logs, self.expected, self.variance = cells.moments(self.means)
        self.loglik = logs.sum(1)
        self.decrement = np.full(tables, np.inf)

    def _means(self, parameters: Reals, rows: Whole) -> Reals:
        logs = parameters @ self.design.T + self.offset[rows]
        return np.asarray(np.exp(np.clip(logs, -60, 40)))

    def _first(self) -> Reals:
        guesses = self.cells.guesses()
        weights = guesses**2 / (guesses + self.cells.variance)
        left = self._information(weights) + 1e-10 * np.eye(self.design.shape[1])
        right = (weights * (np.log(guesses) - self.offset)) @ self.design
        return np.asarray(np.linalg.solve(left, right[..., None])[..., 0])

    def run(self, least: float) -> Fit:
        """Steps until no table moves any more."""
        active = np.arange(len(self.loglik))
        for number in range(_STEPS):
            direction, gain = self._direction(active, careful=number < 2)
            self.decrement[active] = gain / 2
            moving = gain / 2 >= least
            active, direction, gain = active[moving], direction[moving], gain[moving]
            if not len(active):
                break
            active = self._step(active, direction, gain)
            if not len(active):
                break
        return self._certified(least)

    def _direction(self, active: Whole, *, careful: bool) -> tuple[Reals, Reals]:
        """Where to go, and twice what Newton's method expects to gain there."""
        means, observed = self.means[active], self.means[active] - self.variance[active]
        slope = (self.expected[active] - means) @ self.design
        scale = self._scale(means)
        slope = slope / scale
        squares = scale[:, :, None] * scale[:, None, :]
        ridge = _RIDGE * np.eye(self.design.shape[1])

        def solved(weights: Reals, rows: Flags) -> Reals:
            left = self._information(weights[rows]) / squares[rows] + ridge
            return np.asarray(np.linalg.solve(left, slope[rows][..., None])[..., 0])

        floor = 0.05 * means**2 / (means + self.cells.variance)
        every = np.ones(len(active), dtype=bool)
        if careful:
            direction = solved(np.maximum(observed, floor), every)
            gain = (slope * direction).sum(1)
        else:
            direction = solved(observed, every)
            gain = (slope * direction).sum(1)
            wrong = ~(gain > 0) | ~np.isfinite(gain)
            if wrong.any():
                direction[wrong] = solved(np.maximum(observed, floor), wrong)
                gain[wrong] = (slope[wrong] * direction[wrong]).sum(1)
        return direction / scale, np.maximum(gain, 0.0)

    def _scale(self, means: Reals) -> Reals:
        return np.asarray(np.sqrt(np.maximum(means @ self.design**2, 1e-300)))

    def _step(self, active: Whole, direction: Reals, gain: Reals) -> Whole:
        """Move, halving steps that do not gain enough; tables that cannot move leave."""
        longest = np.abs(direction @ self.design.T).max(1)
        direction = direction * np.minimum(1.0, _LONGEST / np.maximum(longest, 1e-300))[:, None]
        lengths, left = np.ones(len(active)), np.arange(len(active))
        for _ in range(_HALVINGS):
            rows = active[left]
            trial = self.parameters[rows] + lengths[left, None] * direction[left]
            means = self._means(trial, rows)
            logs, expected, variance = self.cells.take(rows).moments(means)
            total, before = logs.sum(1), self.loglik[rows]
            slack = 1e-11 * np.abs(before) + 1e-12
            enough = total >= before + 1e-4 * lengths[left] * gain[left] - slack
            there = rows[enough]
            self.parameters[there], self.means[there] = trial[enough], means[enough]
            self.loglik[there] = total[enough]
            self.expected[there], self.variance[there] = expected[enough], variance[enough]
            left = left[~enough]
            if not len(left):
                break
            lengths[left] *= 0.5
        return np.delete(active, left)

    def _certified(self, least: float) -> Fit:
        means = self.means
        scale = self._scale(means)
        slope = np.abs((self.expected - means) @ self.design / scale).max(1)
        scaled = self._information(means - self.variance)
        scaled = scaled / scale[:, :, None] / scale[:, None, :]
        eigenvalue = np.full(len(means), np.nan)
        fine = np.isfinite(scaled).all((1, 2))
        if fine.any():
            eigenvalue[fine] = np.linalg.eigvalsh(scaled[fine])[:, 0]
        boundary = np.asarray((means < EMPTY).any(1))
        converged = (self.decrement < 100 * least) & ((eigenvalue > 0) | boundary)
        ones = np.ones(len(means), dtype=np.int64)
        return Fit(
            parameters=self.parameters,
            means=means,
            loglik=self.loglik,
            expected=self.expected,
            variance=self.variance,
            decrement=self.decrement,
            slope=slope,
            eigenvalue=eigenvalue,
            converged=converged,
            boundary=boundary,
            starts=ones,
            maxima=ones.copy(),
        )


def rises_from_empty(design: Reals, means: Reals, expected: Reals) -> bool:
    """Whether a part of one table that is estimated empty would gain by leaving 0.

    In logarithms the slope vanishes towards 0 and looks flat; by the mean itself it is E/μ − 1 a
    cell. Cells go to 0 together as the directions allow that leave all other means alone.
    """
    empty = means < EMPTY
    others = design[~empty]
    _, sizes, directions = np.linalg.svd(others, full_matrices=True)
    rank = int((sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-300)).sum())
    ways = np.round(design[empty] @ directions[rank:].T, 6)
    _, group = np.unique(ways, axis=0, return_inverse=True)
    size = np.bincount(group.ravel(), means[empty])
    pull = np.bincount(group.ravel(), (expected - means)[empty])
    large = size > 1e-3 * size.max()
    return bool((pull > 1e-3 * size)[large].any())
