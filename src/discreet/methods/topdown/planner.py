"""What to measure, and with which part of the budget: from public facts, before anything is counted.

Two kinds of plan are compared by the error they let expect:

*tables*: the tables asked for, each at the level where it is thick enough for its noise, and beside
them, as far as there is room, the totals of every level and every variable's own margin for the whole
(without it, small categories would inherit what non-negativity takes from many noisy cells). There is
room while the error to expect of the tables asked for is no larger than the noise they would have if
they alone were measured; where there is none, only what lets the least error be expected is measured;
*all cells*: the finest cells of all variables and nothing else, which is best where ε is so large
that hardly a cell changes.

How much children differ from their parent is not known. The planner supposes that a count about μ in
the parent's image varies by √μ and by a fifth of μ; the fit finds out, the plan only aims by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from ...core.neighbours import Neighbours
from ...core.product import Margin, Shape, size
from ...errors import InputError, RecipeError
from ..shared.drawn_noise import Noise
from .estimate import Estimates
from .invariants import Invariants
from .measured_tables import Measured, scaled_to
from .tree import Tree

Key = tuple[int, Margin]
MOST_CELLS = 1 << 24
"""All cells are measured only where they are no more than this."""
DIFFER = 0.2
"""The share of a count by which children are supposed to differ from their parent's image."""
_WORTH = 4.0
_OF_FINEST = (Fraction(0), Fraction(1), Fraction(3))
"""The weight of the finest level's totals: none of its tables moved up, up to half, more."""
_TOTAL, _OF_WHOLE, _ONE_WAY = (Fraction(1), Fraction(2)), Fraction(1, 4), Fraction(1, 2)
_PARTS = tuple(Fraction(n, 16) for n in (16, 8, 4, 2, 1, 0))
"""How much of their weight the totals and margins that nobody asked for may get."""
_MANY, _FEW = 50, 8
"""So many cells summed to one category, or to one area, are enough to measure its own count too."""
_ROUNDED = 0.1


@dataclass(frozen=True)
class Allocation:
    """One plan: what it measures, and the error a cell of the tables asked for is expected to have."""

    name: str
    measured: tuple[Measured, ...]
    error: float
    moved: Mapping[Key, int]
    """Tables too thin for their noise, with the level they are measured at instead; −1: at none."""


@dataclass(frozen=True)
class Aim:
    """What a plan is for: the tables asked for, over a tree and a product, and the budget."""

    tree: Tree
    shape: Shape
    asked: tuple[Key, ...]
    """Level and margin of each table."""
    budget: Fraction
    """For one record."""
    neighbours: Neighbours
    noise: Noise
    records: int | None
    """How many there are, exactly or roughly, where that is public."""
    total: int | None
    """The public number of records."""
    invariants: Invariants | None = None

    @property
    def only_tables(self) -> bool:
        """Whether margins are to be kept, for which a table is fitted from the whole down."""
        return self.invariants is not None

    @property
    def others(self) -> Margin:
        """All axes but the tree's."""
        return tuple(axis for axis in range(len(self.shape)) if axis != self.tree.axis)

    @property
    def every(self) -> Key:
        """All cells: the finest level by all other variables."""
        return self.tree.depth, self.others

    def cells(self, key: Key) -> int:
        """How many cells a table has at a level."""
        return self.tree.sizes[key[0]] * size(self.shape, key[1])

    def scaled(self, weights: Mapping[Key, Fraction]) -> tuple[Measured, ...]:
        """The tables of a plan with the rates that the budget allows."""
        order = dict(sorted(self.needed(weights).items()))
        return scaled_to(order, self.budget, self.tree, self.shape, self.neighbours, self.noise)

    def needed(self, weights: Mapping[Key, Fraction]) -> dict[Key, Fraction]:
        """Those that say more than what is public already."""
        return {key: w for key, w in weights.items() if w > 0 and not self._public(key)}

    def _public(self, key: Key) -> bool:
        """Whether a table says nothing but the number of records, which is public."""
        known = self.invariants is not None and self.invariants.holds(*key)
        return known or (self.total is not None and self.cells(key) == 1)

    def estimates(self, measured: Sequence[Measured]) -> Estimates:
        """What is known once these are measured."""
        public = None if self.invariants is None else self.invariants.residuals
        return Estimates(self.tree, self.shape, measured, total=self.total, public=public)


def allocations(aim: Aim) -> list[Allocation]:
    """Plans compared, the best first."""
    found = [_all_cells(aim)] if _may_be_all(aim) else []
    tables = _tables(aim)
    if not found or tables.measured != found[0].measured:
        found.append(tables)
    return sorted(found, key=lambda one: one.error)


def _may_be_all(aim: Aim) -> bool:
    return not aim.only_tables and aim.cells(aim.every) <= MOST_CELLS


# -- tables ---------------------------------------------------------------------------------------


def _tables(aim: Aim) -> Allocation:
    """The tables asked for, each at a level where it says something, and what helps them."""
    if not aim.needed(_weights(aim, _as_asked(aim), _PARTS[0])):
        raise RecipeError(
            "Everything this question asks for is published already, and nothing is left to measure. "
            "Read it there, or ask for a table that is not public."
        )
    alone = None
    with suppress(InputError):  # a rate less than a law can have
        alone = _allocated(aim, _as_asked(aim), _PARTS[-1])
    enough = 0.0 if alone is None else _noise(aim, alone)
    found = [] if alone is None else [alone]
    refusals = []
    for part in _PARTS:
        try:
            one = _thick_enough(aim, part)
        except InputError as refusal:
            refusals.append(refusal)
            continue
        if one is not None and one.error <= enough:
            return one
        found += [] if one is None else [one]
    if not found:
        raise refusals[0]
    return min(found, key=lambda one: one.error)


def _noise(aim: Aim, alone: Allocation) -> float:
    """The noise of a cell of the tables asked for, on average over tables; of public ones 0."""
    deviations = {(m.level, m.margin): math.sqrt(m.variance) for m in alone.measured}
    return sum(deviations.get(key, 0.0) for key in aim.asked) / len(aim.asked)


def _as_asked(aim: Aim) -> dict[Key, int]:
    return {key: key[0] for key in aim.asked}


def _allocated(aim: Aim, at: Mapping[Key, int], part: Fraction) -> Allocation | None:
    """The plan that measures each table at its level; None where that would be nothing."""
    weights = _weights(aim, at, part)
    if not aim.needed(weights):
        return None
    measured = aim.scaled(weights)
    moved = {key: level for key, level in at.items() if level != key[0]}
    return Allocation("tables", measured, _expected(aim, aim.estimates(measured)), moved)


def _thick_enough(aim: Aim, part: Fraction) -> Allocation | None:
    """The plan in which every table is at a level where it is thick enough for its noise."""
    at = _as_asked(aim)
    if not aim.needed(_weights(aim, at, part)):
        return None
    while True:
        variance = {(m.level, m.margin): m.variance for m in aim.scaled(_weights(aim, at, part))}
        thin = _thinnest(aim, at, variance)
        if thin is None:
            break
        moved_up = {**at, thin: at[thin] - 1}
        if not aim.needed(_weights(aim, moved_up, part)):
            break  # further up all is public: a thin table says more than none
        at = moved_up
    return _allocated(aim, at, part)


def _weights(aim: Aim, at: Mapping[Key, int], part: Fraction) -> dict[Key, Fraction]:
    """Every table the same, those moved to where a wider one is measured left out.

    What was not asked for gets a `part` of its weight. The more tables of the finest level are shared
    out by its totals, the better those must be known.
    """
    finest = [at[key] for key in at if key[0] == aim.tree.depth and key[1]]
    gone = sum(level < aim.tree.depth for level in finest)
    totals = _OF_FINEST[0 if not gone and finest else 1 if 2 * gone <= len(finest) else 2]
    own = {(level, key[1]) for key, level in at.items() if level == key[0]}
    moved = {(level, key[1]) for key, level in at.items() if 0 <= level != key[0]}
    wide = own | moved
    kept = own | {
        one
        for one in moved - own
        if not any(one[0] == other[0] and set(one[1]) < set(other[1]) for other in wide)
    }
    weights = dict.fromkeys(kept, Fraction(1))
    for level in sorted({key[0] for key in aim.asked if key[0]} | {aim.tree.depth}):
        narrow = min((size(aim.shape, m) for at, m in kept if at == level), default=_FEW + 1)
        least = _TOTAL[narrow > _FEW]
        if more := part * (totals if level == aim.tree.depth else least):
            weights[level, ()] = max(more, weights.get((level, ()), more))
    if totals:
        weights.setdefault((0, ()), part * _OF_WHOLE)
    for axis in aim.others:
        narrow = min((_summed(aim, key, axis) for key in kept if axis in key[1]), default=_MANY + 1)
        if narrow > _MANY and aim.shape[axis] > 1:
            weights.setdefault((0, (axis,)), part * _ONE_WAY)
    return weights


def _summed(aim: Aim, key: Key, axis: int) -> int:
    """How many cells of a table are summed to one category of an axis."""
    return aim.cells(key) // aim.shape[axis]


def _thinnest(aim: Aim, at: Mapping[Key, int], variance: Mapping[Key, float]) -> Key | None:
    """The table that most needs a coarser level: its noise drowns what it could say."""
    if aim.records is None:
        return None
    worst: tuple[float, Key] | None = None
    for key, level in sorted(at.items()):
        noise = variance.get((level, key[1]))
        if level < 0 or not key[1] or noise is None:
            continue
        mean = aim.records / aim.cells((level, key[1]))
        says = _varies(mean) * _WORTH if level else (2 * mean) ** 2
        worth = says / noise
        if worth < 1 and (level or len(key[1]) > 1) and (worst is None or worth < worst[0]):
            worst = worth, key
    return None if worst is None else worst[1]


def _varies(mean: float, differ: float = DIFFER) -> float:
    """How much a child's count of about this size varies about its parent's image."""
    return mean + (differ * mean) ** 2


def _expected(aim: Aim, estimates: Estimates) -> float:
    """The expected error of a cell, on average over the tables asked for."""
    every = [math.sqrt(predicted(estimates, aim.records, key)) for key in aim.asked]
    return sum(every) / len(every)


def predicted(estimates: Estimates, records: int | None, key: Key, differ: float = DIFFER) -> float:
    """The variance to expect of a fitted cell: of its estimate and of its parent's image, joined.

    Supposing that children differ from their parent's image by chance and by this share of a count.
    """
    (level, margin), tree = key, estimates.tree
    own = estimates.mean_variance(level, margin)
    if records is None:
        return own + _ROUNDED if math.isfinite(own) else 1e18
    cells = size(estimates.shape, margin)
    mean = records / (tree.sizes[level] * cells)
    if level == 0:
        image = mean**2 + 1
    else:
        share = tree.sizes[level - 1] / tree.sizes[level]
        of_total = estimates.mean_variance(level, ()) / cells**2
        if not margin:
            return own + _ROUNDED
        image = _varies(mean, differ) + of_total
        image += predicted(estimates, records, (level - 1, margin), differ) * share**2
    if math.isinf(own):
        return image + _ROUNDED
    return own * image / max(own + image, 1e-300) + _ROUNDED


# -- all cells ------------------------------------------------------------------------------------


def _all_cells(aim: Aim) -> Allocation:
    """The finest cells alone: noise adds up in wide sums, and in empty cells it cannot go down."""
    every = aim.every
    measured = aim.scaled({every: Fraction(1)})
    (one,) = measured
    up = (1 - float(one.law.probability(0))) / 2
    mean = 0.0 if aim.records is None else aim.records / aim.cells(every)
    false = up / (1 + mean)
    errors = []
    for key in aim.asked:
        summed = aim.cells(every) / aim.cells(key)
        errors.append(0.8 * math.sqrt(summed * one.variance) + summed * false)
    return Allocation("all cells", measured, sum(errors) / len(errors), {})
