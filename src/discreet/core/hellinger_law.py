"""Hellinger's law as a table draws from it: one law for each count up to a largest, larger ones as that.

rinott (5.4), p(b | a) ∝ exp(−ε |√b − √a| / 2). Every count is published as a number from 0 to
`max_value`, so no number rules a count out and δ is 0. A count above `max_count` is drawn as
`max_count` is: cutting a count moves two neighbours to neighbours or to the same, so whatever the
rows keep between neighbouring counts, the table keeps for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, log2
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import LawError
from .brackets import ceiling_to
from .count_law import CountLaw, Row
from .exact import Exact, exact
from .law_builders import hellinger
from .random_source import RandomSource, system_source, uniform_words

MOST_PAIRS = 200_000
"""Pairs of a count and a published number that one law may have."""
Counts = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class HellingerLaw(CountLaw):
    """A row for each count 0 … max_count, each over the published numbers 0 … max_value."""

    kind: ClassVar[str] = "hellinger"

    @classmethod
    def of(cls, epsilon: Exact, max_count: int, max_value: int) -> HellingerLaw:
        """The law of (5.4) with this ε; refused where its rounded rows do not keep ε with δ = 0.

        >>> law = HellingerLaw.of("1", 20, 60)
        >>> float(law.step_loss), law.row(50).ends
        (0.915415, (-50, 10))
        """
        return _made(exact(epsilon, "epsilon", above=0), max_count, max_value)

    @property
    def max_value(self) -> int:
        """The largest number that can be published."""
        return len(self.rows[0].uppers) - 1

    def row(self, count: int) -> Row:
        """The law of the perturbation of a count; beyond the last row, what is published stays."""
        row, beyond = self.rows[min(max(count, 0), self.max_count)], max(count - self.max_count, 0)
        return row if not beyond else Row(tuple(z - beyond for z in row.perturbations), row.uppers)

    for_count = row

    # -- what it costs and how far off it is --------------------------------------------------

    @cached_property
    def step_loss(self) -> Fraction:
        """The audited ε between two neighbouring counts, both ways, rounded up to six digits."""
        from .audit import audit

        found = audit(self)
        if found.epsilon is None or found.boundary_mass:
            raise LawError(
                "A number that this hellinger law publishes for one count is impossible for the "
                "next. Lower epsilon or max_value."
            )
        return six_digits_up(found.epsilon)

    @cached_property
    def errors(self) -> Reals:
        """The root mean square error of each count with a row."""
        return np.array([row.error for row in self.rows])

    @cached_property
    def biases(self) -> tuple[float, float]:
        """How far off on average a count of 0 and one of `max_count` come out."""
        return float(self.rows[0].mean), float(self.rows[-1].mean)

    @property
    def variance(self) -> float:
        """The mean square error of the worst count with a row."""
        return float(self.errors.max()) ** 2

    continuous_variance = variance

    def half_widths(self, level: Exact) -> Counts:
        """For each count, the least h that so many of its releases are within."""
        return _half_widths(self, exact(level, "level", above=0, below=1))

    def half_width(self, level: Exact = "0.95", cells: int = 1) -> int:
        """The least h that so many releases of every count with a row are within."""
        if cells > 1:
            raise LawError("Sums of cells of a law for each count have no law of their own.")
        return int(self.half_widths(level).max()) if cells else 0

    def intervals(self, level: Exact) -> tuple[Counts, Counts]:
        """For each published number the least and the largest count with a row it is near enough to.

        Whatever the count up to `max_count`, its interval holds it in so many releases. The number
        itself is always inside.
        """
        half = self.half_widths(level)
        shown, counts = np.arange(self.max_value + 1), np.arange(len(half))
        near = np.abs(shown[:, None] - counts) <= half
        lower = np.where(near.any(1), near.argmax(1), self.max_count)
        upper = np.where(near.any(1), self.max_count - near[:, ::-1].argmax(1), self.max_count)
        return np.minimum(lower, shown), np.maximum(upper, shown)

    # -- drawing ----------------------------------------------------------------------------

    def draw_for(self, counts: Counts, source: RandomSource | None = None) -> Counts:
        """What true counts are published as, exactly; the work done is the same for all counts."""
        chosen = system_source() if source is None else source
        words = uniform_words(chosen, counts.size).reshape(counts.shape)
        rows = np.clip(counts, 0, self.max_count)
        found = np.zeros(counts.shape, dtype=np.int64)
        for power in reversed(range(ceil(log2(self.max_value + 1)))):
            step = found + (1 << power)
            inside = step <= self.max_value
            passed = self._bounds[rows, np.where(inside, step, 1) - 1] <= words
            found = np.where(inside & passed, step, found)
        return found

    @cached_property
    def _bounds(self) -> npt.NDArray[np.uint64]:
        return np.array([row.uppers[:-1] for row in self.rows], dtype=np.uint64)

    # -- written and read -------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """What was asked for; the rows follow from it, and the digest says whether they did."""
        return {"name": self.name, "parameters": dict(self.parameters), "digest": self.digest}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> HellingerLaw:
        """Made again from what was asked for; refused where other rows come out."""
        said = data["parameters"]
        law = cls.of(said["epsilon"], int(said["max_count"]), int(said["max_value"]))
        if law.digest != data["digest"]:
            raise LawError("The rows of this hellinger law are not those of its digest.")
        return law


def six_digits_up(epsilon: Fraction) -> Fraction:
    """An ε with six digits, never rounded down.

    >>> six_digits_up(Fraction(2, 3)), six_digits_up(Fraction(1, 30000))
    (Fraction(666667, 1000000), Fraction(166667, 5000000000))
    """
    digits = 6
    while epsilon and epsilon * 10 ** (digits - 5) < 1:
        digits += 1
    return ceiling_to(epsilon, digits)


@lru_cache(maxsize=16)
def _made(epsilon: Fraction, max_count: int, max_value: int) -> HellingerLaw:
    if (max_count + 1) * (max_value + 1) > MOST_PAIRS:
        raise LawError(
            f"A hellinger law has at most {MOST_PAIRS:,} pairs of count and published number, got "
            f"{(max_count + 1) * (max_value + 1):,}. Lower max_count or max_value."
        )
    made = hellinger(epsilon, max_count, max_value)
    law = HellingerLaw(made.keys, made.rows, 0, made.name, made.parameters)
    if law.step_loss > six_digits_up(epsilon):
        raise LawError(
            f"The rows of this hellinger law lose {float(law.step_loss):.6g} by rounding, more than "
            "the epsilon asked for. Lower epsilon or max_value."
        )
    return law


@lru_cache(maxsize=64)
def _half_widths(law: HellingerLaw, level: Fraction) -> Counts:
    return np.array([row.half_width(level) for row in law.rows], dtype=np.int64)
