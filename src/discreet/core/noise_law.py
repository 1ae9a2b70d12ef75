"""What every law keeps, so that nobody who uses one asks which it is.

A `NoiseLaw` is the law of one perturbation, whatever the true count. An `AnyLaw` may depend on the
count: `for_count(count)` is the law of one perturbation of that count. `law_kinds` reads any of them back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from .exact import Exact
from .portrait import Portrait, Portrayed, asked
from .random_source import RandomSource

Probability: TypeAlias = Fraction | float
"""Exact wherever the law's probabilities are rational; a float for the discrete Gaussian."""
Floats = npt.NDArray[np.float64]
Draws = npt.NDArray[np.signedinteger]


_WIDEST = 200.0
"""A law with a larger standard deviation is not drawn."""


class AnyLaw(Portrayed):
    """A law of perturbations: for every count the same, or one for each."""

    kind: ClassVar[str]
    """Under which `law_kinds` knows it."""

    if TYPE_CHECKING:  # what each law has; declared at run time it would hide fields of dataclasses

        @property
        def name(self) -> str:
            """What the law is called."""

        @property
        def parameters(self) -> Mapping[str, str]:
            """What was asked for, as exact text."""

        def to_dict(self) -> dict[str, Any]:
            """The law as plain data, every whole number exact."""

        def for_count(self, count: int) -> NoiseLaw:
            """The law of one perturbation of this true count."""

    def to_json(self) -> str:
        """The one canonical text of this law."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text: two laws with one digest are the same law."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


class NoiseLaw(AnyLaw):
    """The law of one perturbation, and of sums of independent ones."""

    if TYPE_CHECKING:

        @property
        def mean(self) -> Fraction:
            """The exact mean."""

        @property
        def variance(self) -> Probability:
            """The variance."""

        @property
        def continuous_variance(self) -> float:
            """What the continuous namesake would have; the variance where there is none."""

        @property
        def ends(self) -> tuple[int, int] | None:
            """The least and the largest perturbation; None where every whole number can happen."""

        def probability(self, perturbation: int, cells: int = 1) -> Probability:
            """P(the sum of so many draws is this)."""

        def cumulative(self, perturbation: int, cells: int = 1) -> Probability:
            """P(the sum of so many draws is this or smaller)."""

        def half_width(self, level: Exact = "0.95", cells: int = 1) -> int:
            """The least h with P(|sum of so many draws| ≤ h) ≥ level."""

        def draw(self, count: int, source: RandomSource | None = None) -> Draws:
            """So many independent draws, exactly from the law."""

        def masses(self) -> tuple[int, Floats]:
            """A first perturbation and probabilities from it on, as floats, to beyond 10^-18."""

        def reach(self, cells: int) -> int:
            """Beyond this less than 10^-12 of the sum of so many draws is left."""

    def for_count(self, count: int) -> Self:
        """Itself: the count does not matter."""
        return self

    def interval(self, level: Exact = "0.95", cells: int = 1) -> tuple[int, int]:
        """The least and the largest perturbation that so many releases stay within, at any level."""
        half = self.half_width(level, cells)
        return -half, half

    def portrait(self) -> Portrait:
        """Ends, spread, how many cells stay as they are, and a bar for each perturbation."""
        sd = float(self.variance) ** 0.5
        ends = self.ends
        facts = [
            (
                "perturbations",
                "any whole number" if ends is None else f"{ends[0]:+d} … {ends[1]:+d}",
            ),
            ("mean", "0, exactly" if not self.mean else f"{float(self.mean):.4g}"),
            ("standard deviation", f"{sd:.4g}"),
            ("unchanged", f"{100 * float(self.probability(0)):.1f} % of cells"),
        ]
        if not self.mean:
            facts.append(("within", ", ".join(self._reaches())))
        return Portrait(asked(f"{self.name} law", self.parameters), facts, self._drawn(sd))

    def _reaches(self) -> list[str]:
        """How far draws go in 50, 90, 95 and 99 of 100 releases."""
        levels = {"50": "0.5", "90": "0.9", "95": "0.95", "99": "0.99"}
        return [f"± {self.half_width(level)} in {name} %" for name, level in levels.items()]

    def _drawn(self, sd: float) -> dict[int, Fraction] | None:
        """The law as it is drawn; nothing where it is too wide for a picture."""
        if sd > _WIDEST:
            return None
        low, high = self.ends or (-int(6 * sd) - 3, int(6 * sd) + 3)
        if high - low > 20 * _WIDEST:
            low, high = max(low, -int(6 * sd) - 3), min(high, int(6 * sd) + 3)
        return {z: Fraction(self.probability(z)) for z in range(low, high + 1)}

    def tail(self, size: int, cells: int = 1) -> Probability:
        """P(the sum of so many draws is larger than `size` either way)."""
        return 1 - self.cumulative(size, cells) + self.cumulative(-size - 1, cells)

    def transform(self, points: int, coarse: int) -> npt.NDArray[np.complexfloating]:
        """The characteristic function on a grid; coarse > 1: each value at the nearest multiple.

        Ties go outwards.
        """
        start, masses = self.masses()
        places = np.arange(start, start + len(masses))
        if coarse > 1:
            places = np.sign(places) * ((np.abs(places) + coarse // 2) // coarse)
        row = np.zeros(points)
        np.add.at(row, places % points, masses)
        return np.asarray(np.fft.rfft(row))
