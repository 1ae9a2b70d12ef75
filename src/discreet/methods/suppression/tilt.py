"""Exponential tilting: the laws of cells given their sums do not change when every cell's law is
multiplied by exp(s·count), s = a(left sum) + b(right sum). The tilt chosen here makes the residual
sums the means, so that what is conditioned on is the likeliest and a saddlepoint is accurate.

    minimise  Σ K(a + b) − a·left sums − b·right sums,    K the cumulant of a cell, s in [−60, 60]

by damped Newton steps, for many vectors of sums at once. One right sum of each connected part follows
from the others and is left out (`grounded`), which makes the equations regular.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .board import Board, Whole, components
from .cell_weights import CellLaw, Floats

STEPS = 60
FURTHEST = 60.0
CLOSE = 1e-8


class Cumulants:
    """Means, variances and cumulants of tilted cells, for a fixed list of cells."""

    def __init__(self, laws: list[CellLaw]) -> None:
        rests = [len(law.counts) == 1 and not law.checked for law in laws]
        people = [law for law, rest in zip(laws, rests, strict=True) if not rest]
        types = max([len(law.counts) for law in people] + [1])
        values = max([law.laws.shape[1] for law in people if len(law.counts)] + [2])
        self.counts = np.zeros((len(laws), types))
        self.laws = np.zeros((len(laws), types, values))
        self.laws[:, :, 0] = 1
        self.rests = np.array(rests, dtype=bool)
        """Numbers of which only the bounds are known: uniform from 0 to the largest."""
        self.most = np.array([law.most for law in laws], dtype=np.float64)
        for place, law in enumerate(laws):
            many, width = law.laws.shape
            if many and not rests[place]:
                self.counts[place, :many] = law.counts
                self.laws[place, :many] = 0
                self.laws[place, :many, :width] = law.laws
        self.boolean = values == 2
        self.values = np.arange(values)
        self.largest_step = max([law.laws.shape[1] - 1 for law in laws if len(law.counts)] + [1])
        """The largest value of one person, or of one rest."""

    def at(self, tilts: Floats, cells: Whole) -> tuple[Floats, Floats, Floats]:
        """Mean and variance of each cell and the sum of cumulants; `tilts` is (…, cells)."""
        mean, variance, cumulant = self._people(tilts, cells)
        rests = np.flatnonzero(self.rests[cells])
        if len(rests):
            mean[..., rests], variance[..., rests], more = _uniform(
                tilts[..., rests], self.most[cells[rests]]
            )
            cumulant = cumulant + more.sum(-1)
        return mean, variance, cumulant

    def _people(self, tilts: Floats, cells: Whole) -> tuple[Floats, Floats, Floats]:
        counts = self.counts[cells]
        if self.boolean:
            return self._boolean(tilts, counts, self.laws[cells, :, 1])
        grown = tilts[..., None] * self.values
        most = grown.max(axis=-1, keepdims=True)
        parts = self.laws[cells] * np.exp(grown - most)[..., None, :]
        whole = parts.sum(-1)
        first = (parts * self.values).sum(-1) / whole
        second = (parts * self.values**2).sum(-1) / whole
        variance = (counts * (second - first**2)).sum(-1)
        cumulant = (counts * (np.log(whole) + most)).sum((-1, -2))
        return (counts * first).sum(-1), variance, cumulant

    def _boolean(self, tilts: Floats, counts: Floats, p: Floats) -> tuple[Floats, Floats, Floats]:
        """The same for values 0 and 1, one type after the other: sums over a short axis are slow."""
        raised = np.expm1(tilts)
        mean, variance, cumulant = (np.zeros(tilts.shape) for _ in range(3))
        for many, chance in zip(counts.T, p.T, strict=True):
            if not many.any():
                continue
            whole = 1 + chance * raised
            q = (chance * raised + chance) / whole
            expected = many * q
            mean += expected
            variance += expected * (1 - q)
            cumulant += many * np.log(whole)
        return mean, variance, cumulant.sum(-1)


def _uniform(tilts: Floats, most: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and cumulant of a tilted number that is uniform from 0 to `most`.

    >>> [round(float(one), 6) for one in _uniform(np.array(0.3), np.array(2.0))]
    [1.197057, 0.637615, 0.329778]
    """
    size = most + 1
    near = np.abs(size * tilts) < 0.02
    half = np.where(near, 1.0, tilts / 2)
    wide = size * half
    mean = most / 2 + size / (2 * np.tanh(wide)) - 1 / (2 * np.tanh(half))
    variance = (_csch_squared(half) - size**2 * _csch_squared(wide)) / 4
    cumulant = most * half + _log_sinh(wide) - _log_sinh(half) - np.log(size)
    even = (size**2 - 1) / 12  # the variance without a tilt
    higher = (size**4 - 1) / 240
    mean = np.where(near, most / 2 + even * tilts, mean)
    variance = np.where(near, even - higher * tilts**2, variance)
    cumulant = np.where(near, most * tilts / 2 + even * tilts**2 / 2, cumulant)
    return mean, variance, cumulant


def _log_sinh(number: Floats) -> Floats:
    size = np.abs(number)
    logged: Floats = size + np.log1p(-np.exp(-2 * size)) - np.log(2)
    return logged


def _csch_squared(number: Floats) -> Floats:
    """1 ÷ sinh², where sinh would overflow too."""
    small = np.exp(-2 * np.abs(number))
    squared: Floats = 4 * small / (1 - small) ** 2
    return squared


@dataclass
class Tilted:
    """A solved tilt of the unknown cells, for one or many vectors of sums (the first axis)."""

    cells: Whole
    shift: Floats
    """s of every cell."""
    mean: Floats
    variance: Floats
    least: Floats
    """The least value of what was minimised: the exponent of the saddlepoint."""
    matrix: Floats
    """The covariance of the sums that are not grounded."""
    solved: npt.NDArray[np.bool_]
    parameters: Floats

    def only(self, k: int) -> Tilted:
        """The tilt of one vector of sums."""
        one = slice(k, k + 1)
        return Tilted(
            self.cells,
            self.shift[one],
            self.mean[one],
            self.variance[one],
            self.least[one],
            self.matrix[one],
            self.solved[one],
            self.parameters[one],
        )

    def of_cells(self, places: Whole) -> Tilted:
        """The tilts of some of the cells."""
        return replace(
            self,
            cells=self.cells[places],
            shift=self.shift[:, places],
            mean=self.mean[:, places],
            variance=self.variance[:, places],
        )


class Equations:
    """The equations of a board's unknown cells."""

    def __init__(self, board: Board, cells: Whole, cumulants: Cumulants) -> None:
        self.cells, self.cumulants = cells, cumulants
        lefts, rights = len(board.left_sums), len(board.right_sums)
        self.left, self.right = board.left[cells], lefts + board.right[cells]
        labels = components(board, cells)
        grounded = np.zeros(lefts + rights, dtype=bool)
        used = np.zeros(lefts + rights, dtype=bool)
        used[self.left] = used[self.right] = True
        seen: set[int] = set()
        for vertex in range(lefts, lefts + rights):
            if used[vertex] and int(labels[vertex]) not in seen:
                seen.add(int(labels[vertex]))
                grounded[vertex] = True
        self.size = lefts + rights
        self.free = np.flatnonzero(used & ~grounded)
        self.place = np.full(self.size, -1)
        self.place[self.free] = np.arange(len(self.free))
        self._pairs = self.left * self.size + self.right

    def directions(self) -> Floats:
        """For each cell the free sums it is part of: (cells, free)."""
        d = np.zeros((len(self.cells), len(self.free)))
        rows = np.arange(len(self.cells))
        for side in (self.left, self.right):
            free = self.place[side] >= 0
            d[rows[free], self.place[side[free]]] = 1
        return d

    def matrix(self, variance: Floats) -> Floats:
        """The covariance of the free sums; `variance` is (many, cells)."""
        full = _summed(self._pairs, variance, self.size**2).reshape(-1, self.size, self.size)
        full += full.transpose(0, 2, 1)
        diagonal = np.arange(self.size)
        full[:, diagonal, diagonal] = self._all_sums(variance)
        return full[:, self.free[:, None], self.free]

    def _sums(self, cells: Floats) -> Floats:
        return self._all_sums(cells)[:, self.free]

    def _all_sums(self, cells: Floats) -> Floats:
        return _summed(self.left, cells, self.size) + _summed(self.right, cells, self.size)

    def solve(self, sums: Floats, start: Floats | None = None) -> Tilted:
        """The tilts for these residual sums, (many, left and right sums)."""
        many, goal = len(sums), sums[:, self.free]
        theta = np.zeros((many, self.size))
        if start is not None:
            theta += start
        theta[:, np.setdiff1d(np.arange(self.size), self.free)] = 0
        open_ = np.arange(many)
        value = np.zeros(many)
        mean = np.zeros((many, len(self.cells)))
        variance = np.zeros_like(mean)
        solved = np.zeros(many, dtype=bool)
        matrix = np.zeros((many, len(self.free), len(self.free)))
        for _ in range(STEPS):
            value[open_], mean[open_], variance[open_] = self._value(theta[open_], goal[open_])
            gradient = self._sums(mean[open_]) - goal[open_]
            matrix[open_] = self.matrix(variance[open_])
            done = np.abs(gradient).max(axis=1, initial=0) < CLOSE
            solved[open_[done]] = True
            open_, gradient = open_[~done], gradient[~done]
            if not len(open_):
                break
            theta[open_] = self._step(
                theta[open_], value[open_], gradient, matrix[open_], goal[open_]
            )
        tilts = theta[:, self.left] + theta[:, self.right]
        solved &= np.abs(tilts).max(axis=1, initial=0) < FURTHEST
        return Tilted(self.cells, tilts, mean, variance, value, matrix, solved, theta)

    def _value(self, theta: Floats, goal: Floats) -> tuple[Floats, Floats, Floats]:
        tilts = np.clip(theta[:, self.left] + theta[:, self.right], -FURTHEST, FURTHEST)
        mean, variance, cumulant = self.cumulants.at(tilts, self.cells)
        return cumulant - (theta[:, self.free] * goal).sum(1), mean, variance

    def _step(
        self, theta: Floats, before: Floats, gradient: Floats, matrix: Floats, goal: Floats
    ) -> Floats:
        """One damped Newton step of each."""
        ridge = 1e-12 * (1 + np.trace(matrix, axis1=1, axis2=2))[:, None, None]
        matrix = matrix + ridge * np.eye(matrix.shape[1])
        direction = np.zeros_like(theta)
        direction[:, self.free] = -np.linalg.solve(matrix, gradient[:, :, None])[:, :, 0]
        largest = np.abs(direction).max(axis=1)
        length = np.minimum(1.0, 2.0 / np.maximum(largest, 1e-300))[:, None]
        if largest.max() < 0.1:  # so close to the solution that a whole step is never worse
            return theta + direction
        for _ in range(30):
            worse = self._value(theta + length * direction, goal)[0] > before + 1e-9 * np.abs(
                before
            )
            if not worse.any():
                break
            length[worse] /= 2
        moved: Floats = theta + length * direction
        return moved


def _summed(places: Whole, numbers: Floats, size: int) -> Floats:
    """What falls on each place, for each row of numbers."""
    many = len(numbers)
    shifted = places + size * np.arange(many)[:, None]
    summed: Floats = np.bincount(shifted.ravel(), numbers.ravel(), many * size).astype(np.float64)
    return summed.reshape(many, size)
