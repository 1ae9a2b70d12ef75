"""What a plan fixed before its first draw costs in all: its privacy loss, convolved.

Sums of ε and δ (`charge.py`) hold whatever is asked next. Where all laws are fixed before anything
is drawn, the loss of the whole is a sum of independent losses, one for each cell a unit moves, and
its law can be computed. `FixedPlan` does, and gives δ at any ε, ε at any δ, and how often the best
guesser is right. It must not be used to cap questions chosen by looking at earlier answers:
choosing the next law by what was seen breaks it (`tests/core/test_plan_loss.py` has a sequence).

**The worst unit.** Every law here is symmetric and log-concave (up to the rounding of its weights,
which is added). Then a cell moved farther tells more, and one cell moved by a + b tells at least as
much as two moved by a and by b: thresholds are the best tests of a shift, so the errors of a shift
by a + b follow from those of a and b exactly as group privacy bounds them, and the same two steps
bound the two cells (Dong, Roth and Su 2022, Theorem 2.14). So a unit with all its records in one
cell is the worst, and both directions of neighbours are alike. Of a law for each count
(`count_losses`) every two neighbours are dominated by one pair.

**Rounding.** Cells with one law are added on the law's own lattice of losses. Several laws meet on a
fine grid, each loss spread on the two points beside it so that its mass under both neighbours is
kept: a pair that dominates, so their sum does too. Float errors and cut tails are added. A figure is
never below the truth; with one law it is above it by less than 10^-10, with several by less than
10^-5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, expm1, log2
from typing import TypeAlias

import numpy as np

from ..errors import Bug
from .brackets import ln_bracket
from .count_losses import worst_losses
from .exact import Exact, exact, float_up
from .gaussian import DiscreteGaussian
from .hellinger_law import HellingerLaw
from .law import Law
from .noise_law import Floats, NoiseLaw
from .pure_laplace import PureLaplace

_TAIL = 1e-32
_POINTS = 1 << 13
_MOST_ON_LATTICE = 1 << 13
_MOST_DIRECT = 1 << 26
_RELATIVE, _ABSOLUTE = 1e-11, 1e-14
"""Added to a δ computed with floats: far above their rounding error."""
_STEPS = 1 << 40
_FAR = 40.0
"""So many standard deviations hold all of a sum that is not cut away as a tail."""
_UNIT = 2.0**-52
_SLOPES = 1e-9
"""More than floats lose where masses are differences of slopes."""
_LIGHT = 1e-12
_PARTS = (27720, 2520, 840, 420, 60, 12, 6, 2, 1)
"""Into how many parts a gap may be cut: the more divisors, the more other gaps fit in."""
_MOST_STEPS = 1 << 21
_MOST_ON_GRID = 1 << 18
"""Rare losses far from all others must not make the grid of several laws endless."""


@dataclass(frozen=True)
class Move:
    """How far one unit moves a cell: each of its `records` by up to `step`."""

    law: NoiseLaw | HellingerLaw
    step: int = 1
    records: int = 1

    @property
    def shift(self) -> int:
        """All of its records together."""
        return self.step * self.records


@dataclass(frozen=True)
class _Losses:
    """Losses `top` − j · `gap` with these masses; `failing` is the mass of infinite loss.

    `spread`: how far spreading on a grid may have moved a loss.
    """

    top: float
    gap: float
    masses: Floats
    failing: float
    spread: float = 0.0

    @property
    def losses(self) -> Floats:
        return self.top - self.gap * np.arange(len(self.masses), dtype=np.float64)

    @property
    def variance(self) -> float:
        mean = float(np.dot(self.masses, self.losses))
        return float(np.dot(self.masses, (self.losses - mean) ** 2))


Moves: TypeAlias = tuple[tuple[Move, int], ...]
"""How one unit moves the cells of a plan, and how many cells each way."""


def moves_of(found: Iterable[tuple[Move, int]]) -> Moves:
    """Moves with those alike counted together."""
    counted: dict[Move, int] = {}
    for move, times in found:
        counted[move] = counted.get(move, 0) + times
    return tuple((move, times) for move, times in counted.items() if times)


class FixedPlan:
    """The cells that one unit moves, all laws fixed. Figures are never below the truth.

    >>> plan = FixedPlan(moves_of([(Move(PureLaplace.of("0.1")), 20)]))
    >>> plan.epsilon("1e-6") < 2 == plan.most, round(float(plan.rightly), 3)
    (True, 0.587)
    """

    def __init__(self, moves: Moves) -> None:
        if not moves:
            raise Bug("A plan that moves no cell has no loss.")
        self.moves = moves

    @cached_property
    def most(self) -> Fraction | None:
        """No loss that is finite is above this; None where there is no such bound."""
        total = Fraction(0)
        for move, times in self.moves:
            most = _most(move)
            if most is None:
                return None
            total += most * times
        return total

    @cached_property
    def failing(self) -> Fraction:
        """The share of releases that are impossible under a neighbour, exactly."""
        kept = Fraction(1)
        for move, times in self.moves:
            kept *= (1 - _impossible(move)) ** times
        return 1 - kept

    @property
    def rightly(self) -> Fraction:
        """How often the best guesser between two neighbours is right, erring equally both ways."""
        return (1 + self.delta(0)) / 2

    def delta(self, epsilon: Exact) -> Fraction:
        """δ at this ε; at most 1."""
        at = exact(epsilon, "epsilon", least=0)
        if self.most is not None and at >= self.most:
            return self.failing
        found = self._curve
        below = int(at * _STEPS) / _STEPS  # δ falls with ε, so ε may be rounded down
        losses = found.losses
        above = losses > below
        excess = float((found.masses[above] * -np.expm1(below - losses[above])).sum())
        bound = (excess + found.failing) * (1 + _RELATIVE) + _ABSOLUTE
        return min(Fraction(bound), Fraction(1))

    def epsilon(self, delta: Exact) -> Fraction | None:
        """The least ε, in steps of 2^-40, that keeps this δ; None where none does."""
        allowed = exact(delta, "delta", least=0, most=1)
        if self.failing > allowed:
            return None
        if self.most is not None and self.delta(self.most * (1 - Fraction(1, 10**9))) > allowed:
            return self.most
        low, high = 0, ceil((self.most or Fraction(max(self._curve.top, 0.0))) * _STEPS) + 1
        if self.delta(Fraction(high, _STEPS)) > allowed:
            return None
        while low < high:
            middle = (low + high) // 2
            if self.delta(Fraction(middle, _STEPS)) <= allowed:
                high = middle
            else:
                low = middle + 1
        found = Fraction(high, _STEPS)
        return found if self.most is None else min(found, self.most)

    def exceeded(self, share: Exact) -> Fraction:
        """A loss that at most this share of releases exceed, infinite ones counted."""
        allowed = float(exact(share, "share", above=0, below=1)) * (1 - _RELATIVE) - _ABSOLUTE
        found = self._curve
        beyond = found.failing + np.cumsum(found.masses)  # of this loss and all above it
        place = min(int(np.searchsorted(beyond, allowed, side="right")), len(beyond) - 1)
        loss = float(found.losses[place]) + found.spread
        return Fraction(max(loss, 0.0) * (1 + 1e-12))

    @cached_property
    def _curve(self) -> _Losses:
        return _convolved(self.moves)


MOST_PROFILES = 16


def worst_rows(rows: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """The rows of whole numbers that no other row reaches in every place.

    Where they are many, the one row that reaches them all: a bound.

    >>> worst_rows([(1, 0), (1, 1), (0, 2)])
    [(0, 2), (1, 1)]
    """
    kept: list[tuple[int, ...]] = []
    for row in sorted(set(map(tuple, rows)), key=lambda row: (-sum(row), row)):
        if not any(all(a <= b for a, b in zip(row, other, strict=True)) for other in kept):
            kept.append(row)
        if len(kept) > MOST_PROFILES:
            return [tuple(map(max, zip(*rows, strict=True)))]
    return sorted(kept)


@lru_cache(maxsize=256)
def _convolved(moves: Moves) -> _Losses:
    parts = [_summed(move, times) for move, times in moves]
    if len(parts) == 1:
        return parts[0]
    widest = sum(len(part.masses) * part.gap for part in parts)
    reach = min(widest, _FAR * sum(part.variance for part in parts) ** 0.5)
    gap = _common_gap([part.gap for part in parts], reach)
    gap = max(gap, widest / _MOST_ON_GRID)
    out = _on_grid(parts[0], gap)
    for part in parts[1:]:
        out = _added(out, _on_grid(part, gap))
    return out


def _common_gap(gaps: Sequence[float], reach: float) -> float:
    """A gap for all: the smallest divided so that others in small proportions to it fit too."""
    least = min(gaps)
    parts = next((n for n in _PARTS if reach * n / least <= 4 * _POINTS), None)
    return reach / _POINTS if parts is None else least / parts


@lru_cache(maxsize=1024)
def _summed(move: Move, times: int) -> _Losses:
    """The losses of so many cells that are moved alike."""
    out: _Losses | None = None
    square = _losses(move)
    if len(square.masses) > _MOST_ON_LATTICE:
        square = _on_grid(square, square.gap * len(square.masses) / _MOST_ON_LATTICE)
    while times:
        if times & 1:
            out = square if out is None else _added(out, square)
        times >>= 1
        if times:
            square = _added(square, square)
    assert out is not None
    return out


def _added(one: _Losses, two: _Losses) -> _Losses:
    """The loss of both; their gaps are alike."""
    sizes = len(one.masses), len(two.masses)
    failing = (one.failing + two.failing * max(0.0, 1 - one.failing)) * (1 + 4 * _UNIT)
    tail = _TAIL
    if sizes[0] * sizes[1] <= _MOST_DIRECT or min(sizes) <= 64:
        masses = np.convolve(one.masses, two.masses) * (1 + _UNIT * (min(sizes) + 8))
    else:
        length = 1 << (sum(sizes) - 1).bit_length()
        product = np.fft.rfft(one.masses, length) * np.fft.rfft(two.masses, length)
        masses = np.maximum(np.fft.irfft(product, length)[: sum(sizes) - 1], 0.0)
        norms = float(np.linalg.norm(one.masses) * np.linalg.norm(two.masses))
        tail = 6 * log2(length) * _UNIT * length**0.5 * norms  # what its rounding adds up to
        failing += tail
    spread = one.spread + two.spread
    return _trimmed(_Losses(one.top + two.top, one.gap, masses, failing, spread), tail)


def _trimmed(found: _Losses, tail: float = _TAIL) -> _Losses:
    """Losses without their tails: high ones counted as infinite, low ones moved up."""
    masses = found.masses
    first = int(np.searchsorted(np.cumsum(masses), tail, side="right"))
    last = len(masses) - int(np.searchsorted(np.cumsum(masses[::-1]), tail, side="right"))
    if first >= last:
        return found
    kept = masses[first:last].copy()
    kept[-1] += float(masses[last:].sum())
    failing = found.failing + float(masses[:first].sum())
    return replace(found, top=found.top - first * found.gap, masses=kept, failing=failing)


def _on_grid(found: _Losses, gap: float) -> _Losses:
    """The same with another gap; the largest loss stays where it is."""
    made = _spread(found.losses, found.masses, found.top, gap)
    return replace(made, failing=found.failing, spread=found.spread + gap)


def _spread(losses: Floats, masses: Floats, top: float, gap: float) -> _Losses:
    """Losses at any place, each spread on the two places `top` − j · `gap` beside it.

    Its mass under both neighbours is kept: p, and p · e^−loss.
    """
    near = np.rint((losses - top) / gap)
    places = np.where(
        np.abs(top + near * gap - losses) < gap * 1e-9, near, np.floor((losses - top) / gap)
    )
    below = places.astype(np.int64)
    up = np.clip(np.expm1(top + below * gap - losses) / expm1(-gap), 0.0, 1.0)
    highest, lowest = int(below.max()) + 1, int(below.min())
    out = np.zeros(highest - lowest + 1)
    np.add.at(out, highest - below - 1, masses * up)
    np.add.at(out, highest - below, masses * (1 - up))
    return _trimmed(_Losses(top + highest * gap, gap, out, 0.0))


def _losses(move: Move) -> _Losses:
    """The losses of one cell, the largest first."""
    law, shift = move.law, move.shift
    if isinstance(law, PureLaplace):
        return _of_laplace(law, shift)
    if isinstance(law, DiscreteGaussian):
        variance = float(law.sigma2)
        start, masses = law.masses()
        top = shift * (shift - 2 * start) / (2 * variance)
        return _trimmed(_Losses(top, shift / variance, masses, 1e-36))
    if isinstance(law, Law):
        return _of_weights(law, move)
    if isinstance(law, HellingerLaw):
        return _of_counts(law, move)
    raise Bug(f"The loss of a {law.name} law is not known.")


def _of_laplace(law: PureLaplace, shift: int) -> _Losses:
    """Losses rate · (shift, shift − 2, …, −shift); beyond the two counts they stay the same."""
    rate, ratio = float_up(ln_bracket(1 / law.ratio)[1]), float(law.ratio)
    if shift > _MOST_STEPS:  # no law that costs as much tells more than the two ends
        shift, rate = 1, rate * shift
        ratio = float(np.exp(-rate))
    masses = ratio ** np.arange(shift + 1, dtype=np.float64) / (1 + ratio)
    masses[1:-1] *= 1 - ratio
    return _trimmed(_Losses(rate * shift, 2 * rate, masses, 0.0))


def _of_weights(law: Law, move: Move) -> _Losses:
    """Losses of whole weights on a grid of their own."""
    shift, total = move.shift, law.total
    weights = np.array([float(w) for w in law.weights])
    if shift >= len(weights):
        return _Losses(0.0, 1.0, np.zeros(1), 1.0)
    here, there = weights[shift:], weights[:-shift]
    both = (here > 0) & (there > 0)
    losses, masses = np.log(here[both] / there[both]), here[both] / total
    failing = float_up(_impossible(move))
    if move.records > 1 or move.step > 1:  # rounded weights are log-concave but for their last unit
        failing += 4.0 * len(weights) / total
    heavy = np.unique(losses[masses >= min(_LIGHT, float(masses.max()))])
    steps = np.diff(heavy)
    steps = steps[steps > 1e-9]
    least = float(steps.min()) if len(steps) else 1.0
    reach = float(np.ptp(losses)) + least
    gap = _common_gap([least], reach)
    made = _spread(losses, masses, float(heavy[-1]), gap)
    return replace(made, failing=failing, spread=gap)


def _of_counts(law: HellingerLaw, move: Move) -> _Losses:
    """Losses of a law for each count; of several records, the worst that cost as much."""
    most = float_up(law.step_loss * move.shift)
    if move.shift > 1:
        return _of_laplace(PureLaplace.of(law.step_loss * move.shift), 1)
    gap, masses = worst_losses(law, most)
    return _trimmed(_Losses(most, gap, masses, _SLOPES, gap))


def _most(move: Move) -> Fraction | None:
    """The largest finite loss of a cell, not rounded down."""
    law = move.law
    if isinstance(law, PureLaplace):
        return law.epsilon / law.sensitivity * move.shift
    if isinstance(law, HellingerLaw):
        return law.step_loss * move.shift
    if not isinstance(law, Law):
        return None
    return _steepest(law, move.step) * move.records


@lru_cache(maxsize=1024)
def _steepest(law: Law, step: int) -> Fraction:
    """ln of the largest ratio between two possible weights up to `step` apart, not rounded down."""
    weights = [w for w in law.weights if w]
    ratio = Fraction(1)
    for shift in {1, min(step, len(weights) // 2)}:  # beyond half the width ratios fall again
        for one, two in zip(weights, weights[shift:], strict=False):
            if max(one, two) * ratio.denominator > min(one, two) * ratio.numerator:
                ratio = Fraction(max(one, two), min(one, two))
    return ln_bracket(ratio)[1]


def _impossible(move: Move) -> Fraction:
    """The mass of one cell that is impossible once it is moved."""
    law = move.law
    if not isinstance(law, Law):
        return Fraction(0)
    weights = [w for w in law.weights if w]
    return Fraction(sum(weights[-move.shift :]), law.total)
