"""What a released value loses: how far it is from the truth on average, and how often it is right.

The losses of rinott §5.6.1 and the shares of rinott Table 2, with negatives kept or clipped to 0.
Exact fractions wherever the law's probabilities are; floats for the discrete Gaussian.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from ..errors import LawError
from .count_law import CountLaw
from .exact import whole
from .law import WholeWeights
from .noise_law import AnyLaw, NoiseLaw, Probability
from .pure_laplace import PureLaplace

MOST_CLIPPED = 10_000
"""The largest count for which clipping is computed: powers of a rational grow with it."""


@dataclass(frozen=True)
class Losses:
    """Of a released value b of a true count a.

    `absolute` is E|b − a|, `squared` E(b − a)², `bias` E(b − a) and `unchanged` P(b = a).
    """

    absolute: Probability
    squared: Probability
    bias: Probability
    unchanged: Probability

    def to_dict(self) -> dict[str, float]:
        """Plain numbers."""
        return {name: float(value) for name, value in vars(self).items()}


def losses(law: AnyLaw, count: int | None = None, *, clip: bool = False) -> Losses:
    """The losses of one released value; with `clip`, of a true count whose negatives become 0.

    A law that depends on the count needs the count, and so does clipping. rinott prints half of
    the untruncated E|b − a|.

    >>> from discreet.core.law_builders import laplace
    >>> found = losses(laplace("1"))
    >>> round(float(found.absolute), 6), round(float(found.squared), 6), found.bias
    (0.850918, 1.841347, Fraction(0, 1))
    >>> round(float(losses(laplace("1"), 0, clip=True).bias), 6)
    0.425459
    """
    one = _of_count(law, count, clip)
    if isinstance(one, PureLaplace):
        return _of_laplace(one, count if clip else None)
    floor = -count if clip and count is not None else None
    absolute = squared = bias = unchanged = _nothing(one)
    for z, p in _probabilities(one):
        moved = z if floor is None else max(z, floor)
        absolute += abs(moved) * p
        squared += moved * moved * p
        bias += moved * p
        unchanged += p if moved == 0 else 0
    return Losses(absolute, squared, bias, unchanged)


def within(
    law: AnyLaw, half_width: int, count: int | None = None, *, clip: bool = False
) -> Probability:
    """P(a released value is within ±half_width of the true count): rinott Table 2 with `clip`.

    law       any law; one that depends on the count needs `count`, and so does clipping
    clip      negatives become 0

    >>> from discreet.core.law_builders import laplace
    >>> round(float(within(laplace("0.5", 7), 0, 0, clip=True)), 2)
    0.63
    """
    whole(half_width, "half_width", 0)
    one = _of_count(law, count, clip)
    above = one.cumulative(half_width)
    if clip and count is not None and half_width >= count:
        return above  # whatever falls below 0 is shown as 0, and that is near enough
    return above - one.cumulative(-half_width - 1)


def root_loss(law: AnyLaw, count: int) -> float:
    """E|√b − √a| with negatives clipped to 0: rinott's ℓ3 of one cell, to float precision."""
    one = _of_count(law, count, clip=True)
    start, masses = one.masses()
    here = sqrt(count)
    return float(
        sum(p * abs(sqrt(max(count + z, 0)) - here) for z, p in enumerate(masses.tolist(), start))
    )


@dataclass(frozen=True)
class TableLosses:
    """Expected losses summed over the cells of a table: rinott's ℓ1, ℓ2 and ℓ3."""

    absolute: float
    squared: float
    root: float | None
    """Defined for values that are not negative, so with negatives clipped only."""
    unchanged: float
    """The expected share of cells that are published as they are."""


def table_losses(law: AnyLaw, counts: Iterable[int], *, clip: bool = False) -> TableLosses:
    """What noise is expected to cost over a whole table of known counts, rinott §4.2 and §5.6.

    law       any law; counts: the true counts of the table
    clip      negatives become 0

    >>> from discreet.core.law_builders import laplace
    >>> found = table_losses(laplace("1"), [0, 3, 12], clip=True)
    >>> round(found.absolute, 3), round(found.unchanged, 3)
    (2.106, 0.552)
    """
    numbers = [whole(count, "count", 0) for count in counts]
    if not numbers:
        raise LawError("A table needs at least one cell, got none.")
    by_count = {n: losses(law, n, clip=clip) for n in set(numbers)}
    roots = {n: root_loss(law, n) for n in by_count} if clip else {}
    return TableLosses(
        sum(float(by_count[n].absolute) for n in numbers),
        sum(float(by_count[n].squared) for n in numbers),
        sum(roots[n] for n in numbers) if clip else None,
        sum(float(by_count[n].unchanged) for n in numbers) / len(numbers),
    )


def _of_count(law: AnyLaw, count: int | None, clip: bool) -> NoiseLaw:
    if count is not None:
        hint = " Noise hardly ever turns a larger count negative." if clip else ""
        whole(count, "count", 0, MOST_CLIPPED if clip else None, hint=hint)
    elif clip or isinstance(law, CountLaw):
        raise LawError(
            "Say the true count: what is clipped, and a law of its own for each count, depend on it."
        )
    return law.for_count(count or 0)


def _nothing(law: NoiseLaw) -> Probability:
    return Fraction(0) if isinstance(law, WholeWeights) else 0.0


def _probabilities(law: NoiseLaw) -> Iterator[tuple[int, Probability]]:
    if isinstance(law, WholeWeights):
        total = law.total
        return ((z, Fraction(w, total)) for z, w in enumerate(law.dense, law.start) if w)
    start, masses = law.masses()
    return enumerate(masses.tolist(), start)


def _of_laplace(law: PureLaplace, clipped_at: int | None) -> Losses:
    """The untruncated law in closed form; what lies below −a is shown as −a.

    With r the ratio, Σ over z > a of (z − a) p(z) is r^(a + 1) / (1 − r²), and of (z² − a²) p(z)
    it is r^(a + 1) (2a / (1 − r²) + 1 / (1 − r)²).
    """
    r, a = law.ratio, clipped_at
    absolute = 2 * r / (1 - r**2)
    if a is None:
        return Losses(absolute, law.variance, Fraction(0), law.probability(0))
    beyond = r ** (a + 1)
    saved = beyond / (1 - r**2)
    squares = beyond * (2 * a / (1 - r**2) + 1 / (1 - r) ** 2)
    stays = law.probability(0) if a else law.cumulative(0)
    return Losses(absolute - saved, law.variance - squares, saved, stays)
