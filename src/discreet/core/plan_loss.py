"""What a plan fixed before its first draw costs in all: privacy-loss convolution, as a bound.

Sums of ε and δ (`charge.py`) hold whatever is asked next. A plan whose laws are all fixed before
anything is drawn can be counted more closely: the privacy loss of the whole is the sum of
independent losses, one for each cell a unit touches. `FixedPlan` convolves them once and gives an
upper bound of δ at any ε, and of ε at any δ, over both directions of neighbours, for any mix of
laws and of mechanisms of which only the loss is known.

Every step rounds outwards. An exact loss is spread on its two neighbouring grid points so that its
mass under both data sets is kept (a dominating pair, so the composition dominates too); masses are
rounded up; the float convolution of non-negative numbers is enlarged by more than its rounding
error; far tails are moved to a higher loss. The result is never below the truth.

It must not be used to cap questions chosen by looking at earlier answers: choosing which law comes
next by what was seen breaks it (`tests/core/test_plan_loss.py` shows a sequence that does).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..errors import InputError, LawError
from .brackets import exp_bracket, ln_bracket
from .exact import Exact, exact, float_up, whole
from .loss import ApproxLoss, PureLoss
from .noise_law import Floats

_TAIL = 1e-30
_MOST_POINTS = 1 << 17
_UNIT = 2.0**-52


@dataclass(frozen=True)
class _Atom:
    """A mass and an interval that holds its privacy loss; `high` None means infinite."""

    mass: Fraction
    low: Fraction
    high: Fraction | None


@dataclass(frozen=True)
class Part:
    """One law of a plan and how many of a unit's cells it is drawn for.

    Make one with `of_law`, `of_weights` or `of_loss`.
    """

    gained: tuple[_Atom, ...]
    lost: tuple[_Atom, ...]
    times: int

    @classmethod
    def of_law(cls, law: Mapping[int, Fraction], *, times: int = 1, shift: int = 1) -> Part:
        """Noise with the probabilities `law`, on cells that one unit moves by `shift`.

        Under replace-one neighbours give the cell a unit leaves `shift=-1`.

        >>> coin = {0: Fraction(1, 2), 1: Fraction(1, 2)}
        >>> FixedPlan([Part.of_law(coin)]).delta("0") >= Fraction(1, 2)
        True
        """
        if any(p < 0 for p in law.values()) or sum(law.values()) != 1:
            raise LawError("The probabilities of a law must be ≥ 0 and add to exactly 1.")
        if shift == 0:
            raise LawError("shift must not be 0: a cell that no unit moves costs nothing.")
        whole(times, "times", 1, error=InputError)
        return cls(_atoms(law, shift), _atoms(law, -shift), times)

    @classmethod
    def of_weights(
        cls, start: int, weights: Sequence[int], key_bits: int, *, times: int = 1, shift: int = 1
    ) -> Part:
        """Noise with integer `weights` over 2^key_bits, the first of them at `start`."""
        law = {start + i: Fraction(int(w), 1 << key_bits) for i, w in enumerate(weights) if w}
        return cls.of_law(law, times=times, shift=shift)

    @classmethod
    def of_loss(cls, loss: PureLoss | ApproxLoss, *, times: int = 1) -> Part:
        """Any mechanism with this loss; exact for untruncated discrete Laplace noise.

        The worst pair of an (ε, δ) mechanism (Kairouz, Oh and Viswanath 2015) has loss ∞ with
        probability δ, else +ε and −ε with odds e^ε.
        """
        whole(times, "times", 1, error=InputError)
        epsilon = loss.epsilon
        delta = min(loss.delta, Fraction(1)) if isinstance(loss, ApproxLoss) else Fraction(0)
        odds_low, odds_high = exp_bracket(epsilon)
        atoms = [
            _Atom((1 - delta) * odds_high / (1 + odds_high), epsilon, epsilon),
            _Atom((1 - delta) / (1 + odds_low), -epsilon, -epsilon),
        ]
        if delta:
            atoms.append(_Atom(delta, Fraction(0), None))
        both = tuple(atoms)
        return cls(both, both, times)


class FixedPlan:
    """The parts of a plan together. Bounds, never below the truth; both directions.

    >>> plan = FixedPlan([Part.of_loss(PureLoss("0.1"), times=20)])
    >>> plan.epsilon("1e-6") < 2          # the sum of epsilon is 2
    True
    """

    def __init__(self, parts: Sequence[Part], *, grid_bits: int = 12) -> None:
        if not parts:
            raise InputError("A plan needs at least one part.")
        self.parts = tuple(parts)
        self._grid_bits = grid_bits

    def delta(self, epsilon: Exact) -> Fraction:
        """An upper bound of δ at `epsilon`; at most 1."""
        at = exact(epsilon, "epsilon", least=0, most=4000)
        return max(curve.delta(at) for curve in self._curves)

    def epsilon(self, delta: Exact) -> Fraction:
        """An upper bound of the smallest ε with δ(ε) ≤ `delta`, on a grid of 2^-30."""
        allowed = exact(delta, "delta", least=0, most=1)
        unit = 1 << 30
        high = max(int(curve.most * unit) + 1 for curve in self._curves)
        if self.delta(Fraction(high, unit)) > allowed:
            raise InputError(
                f"No epsilon keeps delta at {float(allowed):g}: the laws of this plan fail with a "
                "larger probability on their own. Ask for a larger delta or use laws with a "
                "larger max_perturbation."
            )
        steps = bisect_left(
            range(high), True, key=lambda step: self.delta(Fraction(step, unit)) <= allowed
        )
        return Fraction(steps, unit)

    @cached_property
    def _curves(self) -> list[_Curve]:
        sides = [[(part.gained, part.times) for part in self.parts]]
        other = [(part.lost, part.times) for part in self.parts]
        if other != sides[0]:
            sides.append(other)
        return [_curve(side, self._grid_bits) for side in sides]


@dataclass(frozen=True)
class _Curve:
    """Masses on the grid: `masses[i]` at loss (first + i)·2^-bits, and `infinite` beyond."""

    first: int
    masses: Floats
    infinite: float
    bits: int
    most: Fraction  # no finite loss is above this: beyond it δ is exactly `failing`
    failing: Fraction

    def delta(self, epsilon: Fraction) -> Fraction:
        if epsilon >= self.most:
            return self.failing
        # δ falls with ε, so ε may be rounded down; the differences below are then exact floats.
        at = int(epsilon * (1 << 40)) / (1 << 40)
        losses = (self.first + np.arange(len(self.masses))) * 2.0**-self.bits
        above = losses > at
        excess = self.masses[above] * -np.expm1(at - losses[above])
        bound = Fraction(float(excess.sum())) + Fraction(self.infinite)
        return min(Fraction(1), bound * (1 + Fraction(1, 1 << 30)) + Fraction(1, 10**300))


def _atoms(law: Mapping[int, Fraction], shift: int) -> tuple[_Atom, ...]:
    atoms = []
    for value, mass in sorted(law.items()):
        if mass == 0:
            continue
        other = law.get(value - shift, Fraction(0))
        if other == 0:
            atoms.append(_Atom(mass, Fraction(0), None))
        elif other == mass:
            atoms.append(_Atom(mass, Fraction(0), Fraction(0)))
        else:
            atoms.append(_Atom(mass, *ln_bracket(mass / other)))
    return tuple(atoms)


def _on_grid(atoms: Sequence[_Atom], bits: int) -> tuple[int, Floats, float]:
    """Spread each atom over its two neighbouring grid points, masses rounded up."""
    points: dict[int, Fraction] = {}
    infinite = Fraction(0)
    step_low, step_high = (1 - bound for bound in reversed(exp_bracket(Fraction(-1, 1 << bits))))
    for atom in atoms:
        if atom.high is None:
            infinite += atom.mass
            continue
        below = (atom.low.numerator << bits) // atom.low.denominator
        if atom.low == atom.high == Fraction(below, 1 << bits):
            points[below] = points.get(below, Fraction(0)) + atom.mass
            continue
        if atom.high > Fraction(below + 1, 1 << bits):  # the interval straddles a grid point
            points[below + 2] = points.get(below + 2, Fraction(0)) + atom.mass
            continue
        base = Fraction(below, 1 << bits)
        up = (1 - exp_bracket(base - atom.high)[0]) / step_low
        down = 1 - max(Fraction(0), (1 - exp_bracket(base - atom.low)[1]) / step_high)
        for point, share in ((below + 1, up), (below, down)):
            spread = atom.mass * min(max(share, Fraction(0)), Fraction(1))
            points[point] = points.get(point, Fraction(0)) + spread
    first = min(points, default=0)
    masses = np.zeros(max(points, default=0) - first + 1)
    for point, mass in points.items():
        masses[point - first] = float_up(mass)
    return first, masses, float_up(infinite)


def _curve(side: Sequence[tuple[tuple[_Atom, ...], int]], bits: int) -> _Curve:
    curve: _Curve | None = None
    while curve is None:
        curve = _convolved(side, bits)
        bits -= 1
    return curve


def _convolved(side: Sequence[tuple[tuple[_Atom, ...], int]], bits: int) -> _Curve | None:
    """The convolution on a grid of 2^-bits, or None where it takes too many points."""
    first, masses, infinite = 0, np.ones(1), 0.0
    most, whole = Fraction(0), Fraction(1)
    for atoms, times in side:
        start, part, endless = _on_grid(atoms, bits)
        places = np.flatnonzero(part)
        most += times * max((a.high for a in atoms if a.high is not None), default=Fraction(0))
        whole *= (1 - sum((a.mass for a in atoms if a.high is None), Fraction(0))) ** times
        for _ in range(times):
            if len(masses) + len(part) > _MOST_POINTS and bits > 2:
                return None
            wider = np.zeros(len(masses) + len(part) - 1)
            for place in places:
                wider[place : place + len(masses)] += part[place] * masses
            wider *= 1 + (len(places) + 8) * _UNIT  # more than the rounding error of the sums
            infinite = (infinite + endless * max(0.0, 1 - infinite)) * (1 + 8 * _UNIT)
            first, masses, infinite = _trimmed(first + start, wider, infinite)
    return _Curve(first, masses, infinite, bits, max(most, Fraction(0)), 1 - whole)


def _trimmed(first: int, masses: Floats, infinite: float) -> tuple[int, Floats, float]:
    """Move a high tail below 1e-30 to infinity, and a low tail up to where the rest begins."""
    from_top = np.cumsum(masses[::-1])
    high = len(masses) - int(np.searchsorted(from_top, _TAIL, side="right"))
    if high < len(masses):
        infinite += float(masses[high:].sum()) * (1 + 2.0**-30) + 1e-300
        masses = masses[:high]
    from_bottom = np.cumsum(masses)
    low = int(np.searchsorted(from_bottom, _TAIL, side="right"))
    if 0 < low < len(masses):
        moved = float(masses[:low].sum()) * (1 + 2.0**-30)
        masses = masses[low:].copy()
        masses[0] += moved * (1 + 2.0**-30)
        masses[0] = np.nextafter(masses[0], np.inf)
        first += low
    return first, masses if len(masses) else np.zeros(1), infinite
