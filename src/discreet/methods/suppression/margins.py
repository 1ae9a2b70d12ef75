"""Whether all totals of a table may come out together: one decision, before any data are read.

The chance that they would break ε is computed exactly where the tables that are possible can be
listed, and where only one total is at stake. Elsewhere it is bounded from draws of the prior: draws are
public (a fixed seed, so that anybody gets the same), and what is charged is the upper confidence bound
at 1 − CONFIDENCE_LACKS, so that asking for many tables and picking a lucky one gains nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import betaincinv

from ...errors import Refusal
from ...languages import number, say
from .beliefs import Model
from .board import Board, Whole
from .cell_weights import TIE, CellPeople, Flags, Floats, pooled, possible_values
from .exact_law import Undecided, effort, parts
from .laws import EXACT_ALWAYS, beliefs_off, sure
from .outlook import LEAST_VARIANCE, THIN_GUARD, carriers, guard
from .tilt import Equations, Tilted

LISTED = 60_000
"""So many possible tables are listed one by one."""
CONFIDENCE_LACKS = 1e-9
PART = 0.02
"""With no unsafe draw the bound takes this part of what is left of δ, draws permitting."""
LEAST_DRAWS, MOST_DRAWS = 2_000, 60_000
SEED = 20_100_405
CHUNK = 500


def total_risk(people: Sequence[CellPeople], epsilon: float) -> float:
    """The chance that the sum of all cells is unsafe to know by itself; exact."""
    total = pooled(people)
    return float(np.exp(total.log_weight)[~total.safe(epsilon)].sum())


def margin_charges(
    people: Sequence[Sequence[CellPeople]],
    shape: tuple[int, ...],
    epsilon: float,
    delta: float,
    spent: Sequence[float],
) -> tuple[tuple[float, ...], str]:
    """What all totals together are charged under each prior; refused where δ does not bear it."""
    found = []
    for cells, before in zip(people, spent, strict=True):
        if len(shape) < 2:
            found.append((total_risk(cells, epsilon), "exact"))
        else:
            sides = shape[0], shape[1]
            found.append(margins_risk(tuple(cells), sides, epsilon, delta - before))
    charges = tuple(one for one, _ in found)
    _refuse_unsafe(charges, spent, delta)
    return charges, found[0][1]


def _refuse_unsafe(charges: Sequence[float], spent: Sequence[float], delta: float) -> None:
    for charge, before in zip(charges, spent, strict=True):
        if charge + before > delta:
            told = say(
                "The totals of this table cannot be released: the chance that they tell too "
                "much about somebody is more than δ = {delta} allows.",
                delta=number(f"{delta:.3g}"),
            )
            if before:
                told = say(
                    "The totals of this table cannot be released: the chance that they tell too "
                    "much about somebody is more than δ = {delta}, of which {delta_2} is left, "
                    "allows.",
                    delta=number(f"{delta:.3g}"),
                    delta_2=number(f"{delta - before:.3g}"),
                )
            raise Refusal(
                told,
                rule="unsafe-totals",
                alternatives=(
                    say("use fewer or broader categories, so that more people share each"),
                ),
            )


@lru_cache(maxsize=64)
def margins_risk(
    people: tuple[CellPeople, ...], shape: tuple[int, int], epsilon: float, left: float
) -> tuple[float, str]:
    """What publishing all totals of a two-way table is charged, and how that was found.

    `left` is what may be spent; once the bound must exceed it, no more is drawn and 1 is given.
    """
    model = Model.of(people, epsilon)
    tables = math.prod(int(most) + 1 for most in model.most)
    if tables <= LISTED:
        return listed_risk(model, shape), "listed"
    return _drawn_risk(model, people, shape, left), "drawn"


def listed_risk(model: Model, shape: tuple[int, int]) -> float:
    """The chance that the totals are unsafe, over every possible table."""
    grids = np.meshgrid(*[np.arange(most + 1) for most in model.most], indexing="ij")
    tables = np.stack([grid.ravel() for grid in grids], axis=1)
    weight = np.exp(sum(model.laws[e].log_weight[tables[:, e]] for e in range(tables.shape[1])))
    tables, weight = tables[weight > 0], weight[weight > 0]  # a prior may rule sums out
    cube = tables.reshape(-1, *shape)
    sums = np.concatenate([cube.sum(axis=2), cube.sum(axis=1)], axis=1)
    _, group = np.unique(sums, axis=0, return_inverse=True)
    group = group.ravel()
    mass = np.bincount(group, weight)
    unsafe = np.zeros(len(mass), dtype=bool)
    for cell, law in enumerate(model.laws):
        for ratio in law.ratios:
            mean = np.bincount(group, weight * ratio[tables[:, cell]]) / mass
            unsafe |= np.abs(1 - mean) > model.epsilon + TIE
    return float(mass[unsafe].sum())


def _drawn_risk(
    model: Model, people: Sequence[CellPeople], shape: tuple[int, int], left: float
) -> float:
    draws = int(np.clip(math.ceil(21 / max(PART * left, 1e-9)), LEAST_DRAWS, MOST_DRAWS))
    random = np.random.default_rng(SEED)
    screen = _Screen(model, shape)
    unsafe = drawn = 0
    while drawn < draws:
        tables = draw(random, people, min(CHUNK, draws - drawn))
        for some in np.split(tables, range(screen.quick, len(tables), screen.quick)):
            unsafe += int((~screen.safe(some)).sum())
            drawn += len(some)
            if upper_bound(unsafe, draws) > left or lower_bound(unsafe, drawn) > left:
                return 1.0
    return upper_bound(unsafe, draws)


def upper_bound(unsafe: int, draws: int) -> float:
    """The largest chance that so few unsafe draws leave possible, at the confidence asked."""
    if unsafe >= draws:
        return 1.0
    return float(betaincinv(unsafe + 1, draws - unsafe, 1 - CONFIDENCE_LACKS))


def lower_bound(unsafe: int, draws: int) -> float:
    """The smallest chance that so many unsafe draws leave possible: above what is left, no more help."""
    return float(betaincinv(unsafe, draws - unsafe + 1, CONFIDENCE_LACKS)) if unsafe else 0.0


def draw(random: np.random.Generator, people: Sequence[CellPeople], many: int) -> Whole:
    """Tables from the prior: (many, cells), each cell beyond its smallest sum."""
    tables = np.zeros((many, len(people)), dtype=np.int64)
    for cell, some in enumerate(people):
        for law, count in zip(some.laws, some.counts, strict=True):
            _, chances = possible_values(law)
            if len(chances) == 2:
                tables[:, cell] += random.binomial(count, chances[1], many)
            elif len(chances) > 2:
                values = random.multinomial(count, np.array(chances) / sum(chances), many)
                tables[:, cell] += values @ np.arange(len(chances))
    return tables


class _Screen:
    """Whether the totals of tables are safe: at first order, then by the tilt solved for them."""

    def __init__(self, model: Model, shape: tuple[int, int]) -> None:
        self.model, self.shape = model, shape
        most = model.most.reshape(shape)
        zero = np.zeros(1, np.int64)
        self.board = Board.of_grid(most, zero.repeat(shape[0]), zero.repeat(shape[1]))
        self.cells = np.flatnonzero(model.most > 0)
        self.equations = Equations(self.board, self.cells, model.cumulants)
        none = np.zeros(len(self.cells))
        mean, variance, _ = model.cumulants.at(none, self.cells)
        self.mean = np.zeros(len(model.most))
        self.mean[self.cells] = mean
        self.inverse = np.linalg.inv(self.equations.matrix(variance[None])[0])
        self.low, self.high = _band(model, self.cells)
        self.thick = self._carriers(variance) is not None
        self.quick = CHUNK if self.thick else CHUNK // 10
        """How many tables are looked at together."""

    def _carriers(self, variance: Floats) -> Flags | None:
        return carriers(self.board, self.cells, variance, even=self.model.even)

    def _sums(self, tables: Floats) -> Floats:
        cube = tables.reshape(-1, *self.shape)
        return np.concatenate([cube.sum(axis=2), cube.sum(axis=1)], axis=1)

    def safe(self, tables: Whole) -> Flags:
        """For each table whether its totals leave everybody within ε; in doubt not."""
        sums = self._sums(tables.astype(np.float64))
        off = (sums - self._sums(self.mean[None]))[:, self.equations.free]
        theta = np.zeros((len(tables), self.equations.size))
        theta[:, self.equations.free] = off @ self.inverse
        tilts = theta[:, self.equations.left] + theta[:, self.equations.right]
        fine = self._within(tilts) if self.thick else np.zeros(len(tables), dtype=bool)
        doubtful = np.flatnonzero(~fine)
        for first in range(0, len(doubtful), 50):
            some = doubtful[first : first + 50]
            fine[some] = self._solved_safe(sums[some], theta[some], tables[some])
        return fine

    def _within(self, tilts: Floats) -> Flags:
        inside: Flags = np.asarray(((tilts >= self.low) & (tilts <= self.high)).all(axis=1))
        return inside

    def _solved_safe(self, sums: Floats, start: Floats, tables: Whole) -> Flags:
        tilted = self.equations.solve(sums, start)
        near = self._within(tilted.shift)
        even = bool(self.model.even[self.cells].all())
        fine: Flags = np.zeros(len(sums), dtype=bool)
        for k in range(len(sums)):
            variance = tilted.variance[k]
            carry = self._carriers(variance) if tilted.solved[k] else None
            if carry is not None:
                fine[k] = near[k] or self._refined(tilted, k, guard(carry))
            elif even and tilted.solved[k] and variance.min() >= LEAST_VARIANCE / 2:
                fine[k] = self._refined(tilted, k, THIN_GUARD)
            else:
                fine[k] = self._exactly(tables[k])
        return fine

    def _refined(self, tilted: Tilted, k: int, guard: float) -> bool:
        off = beliefs_off(self.model, self.board, tilted.only(k))
        return bool((off <= self.model.epsilon - guard).all())

    def _exactly(self, table: Whole) -> bool:
        grid = table.reshape(self.shape)
        board = Board.of_grid(
            self.model.most.reshape(self.shape), grid.sum(axis=1), grid.sum(axis=0)
        )
        board.implied()
        if any(effort(board, part) > 10 * EXACT_ALWAYS for part in parts(board, board.unknown)):
            return False
        try:
            return self.model.safe_exactly(board)
        except Undecided:
            return False


def _band(model: Model, cells: Whole) -> tuple[Floats, Floats]:
    """The tilts of each cell within which everybody is well within ε at first order."""
    ends = []
    for sign in (-1.0, 1.0):
        near, far = np.zeros(len(cells)), np.full(len(cells), 10.0)
        for _ in range(40):
            middle = (near + far) / 2
            fine = model.first_order(cells, sign * middle) <= sure(model.epsilon)
            near, far = np.where(fine, middle, near), np.where(fine, far, middle)
        ends.append(sign * near)
    return ends[0], ends[1]
