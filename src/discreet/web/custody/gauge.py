"""A budget as a picture: one segment a charge, what is left, and a scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, log10

from ...core.exact import plain
from ...core.loss import Loss
from ...server.charges_so_far import Segment

WIDTH, HEIGHT = 760, 94
_GAP = 1.5
_LEAST = 0.8
"""So many points wide is the smallest charge, that it can be seen."""


@dataclass(frozen=True)
class Bar:
    """A segment where it is drawn."""

    x: float
    width: float
    number: int


@dataclass(frozen=True)
class Tick:
    """A mark of the scale."""

    x: float
    words: str
    anchor: str


@dataclass(frozen=True)
class Gauge:
    """Segments and scale, ready to draw."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    sign: str


def gauge(parts: Sequence[Segment], cap: Loss) -> Gauge:
    """The picture of a budget and its charges."""
    name, whole = next(iter(cap.parts.items()))
    bars, at = [], 0.0
    for part in parts:
        width = float(part.share) * WIDTH
        shown = max(width - _GAP, min(_LEAST, width))
        bars.append(Bar(round(at, 2), round(max(shown, 0.2), 2), part.number))
        at += width
    return Gauge(tuple(bars), tuple(_ticks(whole)), "ρ" if name == "rho" else "ε")


def _ticks(whole: Fraction) -> list[Tick]:
    """Four to eight round marks, and the end.

    >>> [tick.words for tick in _ticks(Fraction(10))]
    ['0', '2', '4', '6', '8', '10']
    """
    if whole <= 0:
        return []
    step = _step(whole)
    marks = [step * n for n in range(int(whole / step) + 1)]
    if whole - marks[-1] < step / 2:
        marks.pop()
    found = [Tick(_at(mark, whole), plain(mark), "middle" if mark else "start") for mark in marks]
    return [*found, Tick(WIDTH - 1.0, plain(whole) if len(plain(whole)) < 9 else "", "end")]


def _at(mark: Fraction, whole: Fraction) -> float:
    return round(max(1.0, float(mark / whole) * WIDTH), 1)


def _step(whole: Fraction) -> Fraction:
    """The largest of 1, 2, 5 times a power of ten that divides the whole into at least four."""
    power = floor(log10(float(whole)))
    for place in (power, power - 1):
        for lead in (5, 2, 1):
            step = lead * Fraction(10) ** place
            if whole / step >= 4:
                return step
    return whole
