"""δ(ε) of all the cells one person touches, together.

The privacy loss of d independent cells is a sum of d losses. Three ways to add them, the first
that fits is taken:

1. exactly, by ratio: when few distinct ratios P/Q arise;
2. on the law's own lattice: the losses of Laplace and normal laws are evenly spaced up to rounding
   of the weights. P and Q are added up, in whole numbers, over outcomes with one lattice sum. In a
   group that lies wholly on one side of ε the sum is exact; a group that straddles ε is bracketed;
3. on a fine grid, the same with a wider bracket.

The answer is a bracket that holds; δ is its upper end. `exact` says the ends agree to 10^-12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, comb, floor, prod

from ..errors import LawError
from .brackets import exp_bracket, floor_to, ln_bracket
from .convolution import Masses
from .exact import Exact, exact, whole
from .law import WholeWeights
from .neighbours import Neighbours
from .pure_laplace import PureLaplace

_EXACT_RATIOS, _EXACT_RATIOS_MOST = 2_000, 30_000
_EXACT_CELLS = 24
_GRID_POINTS = 16_384
_CAP_BITS = 192
_LIGHT = Fraction(1, 1 << 40)
_AGREE = Fraction(1, 10**12)
Pairs = list[tuple[int, int]]
"""Weights (P, Q) of one outcome under two neighbouring counts, over one total."""


@dataclass(frozen=True)
class Bracket:
    """Two ends with the exact figure between them."""

    low: Fraction
    high: Fraction

    @property
    def exact(self) -> bool:
        """Whether the ends agree to 10^-12."""
        return self.high - self.low <= _AGREE


@dataclass(frozen=True)
class _Atoms:
    """Outcomes of one cell: finite (P, Q) pairs over `total`, and the P mass where Q is 0."""

    pairs: Pairs
    infinite: int
    total: int

    @classmethod
    def of(cls, pairs: Pairs, total: int) -> _Atoms:
        merged: dict[Fraction, tuple[int, int]] = {}
        for p, q in pairs:
            if p and q:
                ratio = Fraction(p, q)
                old = merged.get(ratio, (0, 0))
                merged[ratio] = (old[0] + p, old[1] + q)
        return cls(list(merged.values()), sum(p for p, q in pairs if not q), total)


def delta_of_cells(
    law: WholeWeights | PureLaplace,
    epsilon: Exact,
    cells: int,
    *,
    neighbours: str = Neighbours.ADD_REMOVE,
) -> Bracket:
    """δ(ε) when one person touches `cells` cells, each perturbed independently by `law`.

    Under *replace one* the person leaves `cells` cells and enters as many others.

    >>> from discreet.core.law_builders import max_entropy_for
    >>> round(float(delta_of_cells(max_entropy_for("0.5", 25), "0.5", 16).high), 4)
    0.0759
    """
    asked = exact(epsilon, "epsilon", least=0, most=10**6, error=LawError)
    check_cells(cells)
    alike = Neighbours.read(neighbours)
    if isinstance(law, PureLaplace):
        if asked >= law.epsilon * cells * alike.moved:
            return Bracket(Fraction(0), Fraction(0))
        pairs, total, tight = _two_outcomes(law)
    else:
        (pairs, total), tight = pairs_of(law), True
    forward = _Atoms.of(pairs, total)
    backward = _Atoms.of([(q, p) for p, q in pairs], total)
    if alike is Neighbours.REPLACE_ONE:
        both = _compose([(forward, cells), (backward, cells)], asked)
    else:
        one, two = _compose([(forward, cells)], asked), _compose([(backward, cells)], asked)
        both = Bracket(max(one.low, two.low), max(one.high, two.high))
    high = min(both.high, Fraction(1))
    return Bracket(max(both.low, Fraction(0)) if tight else Fraction(0), high)


def pairs_of(
    law: WholeWeights, other: WholeWeights | None = None, shift: int | None = None
) -> tuple[Pairs, int]:
    """Weights of every outcome y under count n (P) and n + shift (Q), and their total.

    `other` is the law of the count n + shift; the same law if left out. Without `shift` it is how
    far one record moves a cell under this law: 1 unless it was built for weights.
    """
    shift = int(law.parameters.get("sensitivity", "1")) if shift is None else shift
    second = law if other is None else other
    if law.total != second.total:
        raise LawError(
            f"Rows of one p-table must share their keys, got {law.total} and {second.total}."
        )
    first, last = min(law.start, second.start + shift), max(law.end, second.end + shift)
    return [(law.weight(z), second.weight(z - shift)) for z in range(first, last + 1)], law.total


def check_cells(cells: object) -> int:
    """A number of cells one person touches, or `LawError`."""
    return whole(cells, "cells", 1, 1_000_000)


def _two_outcomes(law: PureLaplace) -> tuple[Pairs, int, bool]:
    """The untruncated Laplace as seen by a loss: e^ε one way or the other.

    Exact for counts. For weights the ratios in between are replaced by the two ends, which every
    ε-differentially private law is dominated by: a bound.
    """
    ratio = law.ratio if law.sensitivity == 1 else 1 / exp_bracket(law.epsilon)[1]
    p, q = ratio.numerator, ratio.denominator
    return [(q, p), (p, q)], p + q, law.sensitivity == 1


def _compose(parts: Sequence[tuple[_Atoms, int]], epsilon: Fraction) -> Bracket:
    product = prod(comb(len(a.pairs) + d - 1, d) if a.pairs else 1 for a, d in parts)
    touched = sum(d for _, d in parts)
    if product <= _EXACT_RATIOS and touched <= _EXACT_CELLS:  # exact ratios grow with each cell
        return _by_ratio(parts, epsilon)
    bracket = _by_grid(parts, epsilon)
    if not bracket.exact and product <= _EXACT_RATIOS_MOST and touched <= _EXACT_CELLS:
        return _by_ratio(parts, epsilon)
    return bracket


def _finite_share(parts: Sequence[tuple[_Atoms, int]]) -> Fraction:
    finite = (Fraction(a.total - a.infinite, a.total) ** d for a, d in parts)
    return prod(finite, start=Fraction(1))


def _by_ratio(parts: Sequence[tuple[_Atoms, int]], epsilon: Fraction) -> Bracket:
    masses: dict[Fraction, int] = {Fraction(1): 1}
    total = 1
    for atoms, d in parts:
        ratios = [(Fraction(p, q), p) for p, q in atoms.pairs]
        for _ in range(d):
            grown: dict[Fraction, int] = {}
            for ratio, mass in masses.items():
                for step, p in ratios:
                    key = ratio * step
                    grown[key] = grown.get(key, 0) + mass * p
            masses = grown
        total *= atoms.total**d
    infinite = 1 - _finite_share(parts)
    ends = []
    for factor in exp_bracket(epsilon)[::-1]:
        over = (m * (1 - factor / r) for r, m in masses.items() if r > factor)
        ends.append(infinite + sum(over, Fraction(0)) / total)
    return Bracket(ends[0], ends[1])


@dataclass(frozen=True)
class _Lattice:
    """Losses as offset + k · step + rest, rest within [low, high]; strays lie off it."""

    offset: Fraction
    step: Fraction
    steps: list[int]
    low: Fraction
    high: Fraction
    strays: frozenset[int]
    own: bool


def _lattice(atoms: _Atoms, step: Fraction | None, points: int, *, own: bool = True) -> _Lattice:
    """Losses on their own lattice, or on the one given; on a fine grid where there is none."""
    losses = [_loss(p, q) for p, q in atoms.pairs]
    heavy = [i for i, (p, _) in enumerate(atoms.pairs) if Fraction(p, atoms.total) >= _LIGHT]
    heavy = heavy or list(range(len(losses)))
    given = step is not None
    if step is None:
        ordered = sorted(losses[i] for i in heavy)
        gaps = [b - a for a, b in pairwise(ordered) if b - a > _AGREE]
        step = min(gaps, default=Fraction(1))
        count = round((ordered[-1] - ordered[0]) / step)
        step = (ordered[-1] - ordered[0]) / count if count else step
    offset = losses[heavy[0]]
    steps = [round((loss - offset) / step) for loss in losses]
    rest = [loss - offset - k * step for loss, k in zip(losses, steps, strict=True)]
    near = step / 10**5
    light = set(range(len(losses))).difference(heavy) if own else set()
    strays = frozenset(i for i in light if abs(rest[i]) > near)
    rests = [rest[i] for i in range(len(losses)) if i not in strays]
    spread = max(losses) - min(losses)
    if not given and max(map(abs, rests)) > near and spread > 0:
        return _lattice(atoms, spread / points, points, own=False)
    return _Lattice(offset, step, steps, min(rests), max(rests), strays, own)


def _loss(p: int, q: int) -> Fraction:
    """ln(P/Q) to 60 digits; what is left out is less than `_SLACK`."""
    return floor_to(ln_bracket(Fraction(p, q))[0], 60)


_SLACK = Fraction(1, 10**59)


def _by_grid(parts: Sequence[tuple[_Atoms, int]], epsilon: Fraction) -> Bracket:
    touched = sum(d for _, d in parts)
    points = max(64, _GRID_POINTS // touched)
    first = _lattice(parts[0][0], None, points)
    lattices = [
        first,
        *(_lattice(atoms, first.step, points, own=first.own) for atoms, _ in parts[1:]),
    ]
    masses, wholes = [Masses(0, (1,), 0)] * 2, [Fraction(1)] * 2  # of P and of Q
    offset = low = high = Fraction(0)
    for (atoms, d), lattice in zip(parts, lattices, strict=True):
        on_lattice = [i for i in range(len(atoms.pairs)) if i not in lattice.strays]
        for which in (0, 1):
            power = _spread(atoms, lattice, on_lattice, which).power(d, _CAP_BITS)
            masses[which] = masses[which].times(power, _CAP_BITS)
            weight = sum(atoms.pairs[i][which] for i in on_lattice)
            wholes[which] *= Fraction(weight, atoms.total) ** d
        offset += d * lattice.offset
        low += d * (lattice.low - _SLACK)
        high += d * (lattice.high + 2 * _SLACK)
    mass_p, mass_q = masses
    lost_p, lost_q = wholes[0] - mass_p.total, wholes[1] - mass_q.total
    factor_low, factor_high = exp_bracket(epsilon)
    unit_p, unit_q = Fraction(1, 1 << mass_p.scale), Fraction(1, 1 << mass_q.scale)
    # Groups from `open_from` may pass ε, those from `full_from` do so with every outcome.
    size = len(mass_p.coefficients)
    place = (epsilon - offset) / first.step - mass_p.start
    open_from = min(max(floor(place - high / first.step) + 1, 0), size)
    full_from = min(max(ceil(place - low / first.step), open_from), size)
    full_p = sum(mass_p.coefficients[full_from:]) * unit_p
    full_q = sum(mass_q.coefficients[full_from:]) * unit_q
    below, above = full_p - factor_high * full_q, full_p - factor_low * full_q
    for index in range(open_from, full_from):
        p, q = mass_p.coefficients[index] * unit_p, mass_q.coefficients[index] * unit_q
        loss = offset + (mass_p.start + index) * first.step
        below += max(Fraction(0), p - factor_high * q)
        above += p * min(Fraction(1), loss + high - epsilon)
    # Strays and what truncation lost: counted in full above, not at all below.
    certain = 1 - _finite_share(parts)
    return Bracket(
        certain + below - factor_high * lost_q,
        certain + above + lost_p + (_finite_share(parts) - wholes[0]),
    )


def _spread(atoms: _Atoms, lattice: _Lattice, kept: list[int], which: int) -> Masses:
    first = min(lattice.steps[i] for i in kept)
    last = max(lattice.steps[i] for i in kept)
    power_of_two = atoms.total & (atoms.total - 1) == 0  # the weights are then exact as they are
    scale = atoms.total.bit_length() - 1 if power_of_two else 128
    values = [0] * (last - first + 1)
    for i in kept:
        values[lattice.steps[i] - first] += (atoms.pairs[i][which] << scale) // atoms.total
    return Masses(first, tuple(values), scale, power_of_two)
