"""Pictures of the studio: floor and ceiling of ε on one bar, and the law that is recommended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log

from ...core.pure_laplace import PureLaplace

WIDTH, START, END = 690, 20.0, 670.0
_ROOM = 150.0
"""So many points wide must a part of the bar be for words in it."""
_MARKS = (
    "0.001",
    "0.01",
    "0.02",
    "0.05",
    "0.1",
    "0.2",
    "0.5",
    "1",
    "2",
    "5",
    "10",
    "20",
    "50",
    "100",
)


@dataclass(frozen=True)
class ScaleBar:
    """Floor, ceiling and a chosen ε on a logarithmic scale, in points."""

    floor: float
    ceiling: float
    chosen: float | None
    ticks: tuple[tuple[float, str], ...]
    crossed: bool

    @property
    def zones(self) -> tuple[bool, bool]:
        """Whether the parts below the floor and above the ceiling have room for their words."""
        return self.floor - START > _ROOM, END - self.ceiling > _ROOM and not self.crossed

    @property
    def floor_words(self) -> float:
        """Where the floor's words end: they stay on the picture."""
        return max(self.floor, START + 70)

    @property
    def ceiling_words(self) -> float:
        """Where the ceiling's words begin."""
        return min(self.ceiling, END - 90)


def scale_bar(floor: Fraction, ceiling: Fraction, chosen: Fraction | None) -> ScaleBar:
    """The bar; it reaches from a quarter of the least to four times the largest of them."""
    known = [floor, ceiling, *([chosen] if chosen else [])]
    low, high = float(min(known)) / 4, float(max(known)) * 4

    def at(value: Fraction) -> float:
        share = (log(float(value)) - log(low)) / (log(high) - log(low))
        return round(START + share * (END - START), 1)

    marks = [(at(Fraction(text)), text) for text in _MARKS if low <= float(text) <= high]
    placed = None if chosen is None else at(chosen)
    return ScaleBar(at(floor), at(ceiling), placed, tuple(marks), floor > ceiling)


@dataclass(frozen=True)
class LawBar:
    """How often one perturbation comes, as a bar."""

    x: float
    height: float
    value: int
    inside: bool


def law_bars(epsilon: Fraction, sensitivity: int, within: int) -> Sequence[LawBar]:
    """The law of one table's noise; bars inside ± `within` are those that are near enough."""
    law = PureLaplace.of(epsilon, sensitivity)
    reach = min(max(2 * within, 4), 60)
    start, masses = law.masses()
    shown = {z: float(masses[z - start]) for z in range(-reach, reach + 1)}
    highest, step = max(shown.values()), 300 / (2 * reach + 1)
    return [
        LawBar(round((z + reach) * step, 2), round(80 * mass / highest, 2), z, abs(z) <= within)
        for z, mass in shown.items()
    ]
