"""How far off a perturbed number may be: exact losses, noise intervals, gaps one can trust.

Noise intervals are not sampling error. Figures for one cell are exact. Sums of the untruncated
Laplace leave out tails below 2^-34 a cell, counted as outside: an interval is never too narrow.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

from ..errors import LawError
from .brackets import power_bracket
from .composition import check_cells
from .convolution import Masses
from .exact import Exact, exact, plain
from .law import Law
from .pure_laplace import PureLaplace

_SUM_TAIL_BITS = 34
_SUM_REACH_MOST = 30_000
_CAP_BITS = 128


def expected_losses(law: Law | PureLaplace) -> tuple[Fraction, Fraction]:
    """E|z| and E z² exactly: rinott 5.6.1 (untruncated: twice what is printed there).

    >>> from discreet.core.law_builders import laplace
    >>> [round(float(loss), 6) for loss in expected_losses(laplace("1"))]
    [0.850918, 1.841347]
    """
    if isinstance(law, PureLaplace):
        return 2 * law.ratio / (1 - law.ratio**2), law.variance
    weights = enumerate(law.weights, law.start)
    absolute = Fraction(sum(abs(z) * w for z, w in weights), law.total)
    return absolute, law.variance + law.mean**2


def interval_probability(
    law: Law | PureLaplace, count: int, half_width: int, *, clamp: bool = False
) -> Fraction:
    """P(released within ±half_width of a true count); `clamp` turns negatives into 0 (rinott Table 2).

    >>> from discreet.core.law_builders import laplace
    >>> round(float(interval_probability(laplace("0.5", 7), 0, 0, clamp=True)), 2)
    0.63
    """
    if count < 0 or half_width < 0:
        raise LawError(f"count and half_width must be ≥ 0, got {count} and {half_width}.")
    whole_lower_side = clamp and half_width >= count
    below = Fraction(0) if whole_lower_side else law.cumulative(-half_width - 1)
    return law.cumulative(half_width) - below


def half_width(law: Law | PureLaplace, level: Exact = "0.95", *, cells: int = 1) -> int:
    """The least h with P(|sum of `cells` independent perturbations| ≤ h) ≥ level.

    >>> from discreet.core.law_builders import laplace
    >>> half_width(laplace("0.5"), "0.95"), half_width(laplace("0.5"), "0.95", cells=40)
    (6, 35)
    """
    share = exact(level, "level", above=0, below=1, error=LawError)
    check_cells(cells)
    if cells == 1:
        return law.half_width(share)
    sums = masses_of(law).power(cells, _CAP_BITS)
    needed = share * (1 << sums.scale)
    inside = _weight(sums, 0)
    h = 0
    widest = max(abs(sums.start), abs(sums.start + len(sums.coefficients) - 1))
    while inside < needed:
        h += 1
        if h > widest:
            raise LawError(
                f"level {plain(share)} is closer to 1 than the tails of this sum are known. "
                "Use a smaller level."
            )
        inside += _weight(sums, h) + _weight(sums, -h)
    return h


def wrong_order(law: Law | PureLaplace, gap: int) -> Fraction:
    """P(two cells whose true gap is `gap` are released in the wrong order), ties half; not rounded down."""
    if gap < 0:
        raise LawError(f"gap must be ≥ 0, got {gap}.")
    difference = _difference(law)
    rightly = sum(_weight(difference, j) for j in range(1 - gap, _last(difference) + 1))
    tie = Fraction(_weight(difference, -gap), 1 << difference.scale)
    return 1 - Fraction(rightly, 1 << difference.scale) - tie / 2


def trust_gap(law: Law | PureLaplace, confidence: Exact = "0.95") -> int:
    """The least gap between two true counts that noise hides or turns with chance ≤ 1 − confidence.

    >>> from discreet.core.law_builders import laplace
    >>> trust_gap(laplace("0.5"))
    7
    """
    allowed = 1 - exact(confidence, "confidence", above=0, below=1, error=LawError)
    difference = _difference(law)
    whole = 1 << difference.scale
    for gap, above in enumerate(_upper_tails(difference)):
        if whole - above <= allowed * whole:
            return gap
    raise LawError("No gap is sure at this confidence. Use a smaller confidence.")


def masses_of(law: Law | PureLaplace) -> Masses:
    """A law as masses to convolve: exact if finite, else lower bounds without the far tails."""
    if isinstance(law, Law):
        return Masses(law.start, law.weights, law.key_bits)
    reach, limit = 1, 1 << (256 - _SUM_TAIL_BITS)
    while power_bracket(law.ratio, reach, 256)[1] > limit:
        reach = reach * 5 // 4 + 1
        if reach > _SUM_REACH_MOST:
            raise LawError(
                f"Sums of Laplace noise are computed for epsilon / sensitivity ≥ 0.001, got "
                f"{plain(law.epsilon / law.sensitivity)}. Raise epsilon."
            )
    share = (1 - law.ratio) / (1 + law.ratio)
    one = 1 << _CAP_BITS
    side = [share.numerator * one // share.denominator]
    low = one * law.ratio.numerator // law.ratio.denominator
    for _ in range(reach):
        side.append(side[-1] * low >> _CAP_BITS)
    return Masses(-reach, (*side[:0:-1], *side), _CAP_BITS, exact=False)


def _weight(masses: Masses, value: int) -> int:
    index = value - masses.start
    return masses.coefficients[index] if 0 <= index < len(masses.coefficients) else 0


def _last(masses: Masses) -> int:
    return masses.start + len(masses.coefficients) - 1


def _difference(law: Law | PureLaplace) -> Masses:
    one = masses_of(law)
    turned = Masses(-_last(one), one.coefficients[::-1], one.scale, one.exact)
    return one.times(turned, 2 * _CAP_BITS)


def _upper_tails(masses: Masses) -> list[int]:
    """Weights of differences above −gap, for gap = 0, 1, …"""
    above_zero = sum(_weight(masses, j) for j in range(1, _last(masses) + 1))
    down = (_weight(masses, -gap) for gap in range(-masses.start + 1))
    return list(accumulate(down, initial=above_zero))
