"""Sums and differences of cells: which draws they share, and the exact law of what is left.

A total that is a sum of shown cells has their draws, so what two cells have in common cancels before
anything is convolved. Cells of a p-table have draws of their own but share keys where one holds
the other's records: such pairs are refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import CannotConclude
from ..languages import say
from .channel import Additive, ByCount, Channel, Reals, trimmed
from .evidence import Place, Reading


@dataclass(frozen=True)
class Combination:
    """A sum of cells times whole numbers: what it shows, and the law of its noise."""

    value: int
    start: int
    masses: Reals

    @property
    def sd(self) -> float:
        """The standard deviation of the noise."""
        noise = np.arange(self.start, self.start + len(self.masses))
        total = self.masses.sum()
        mean = noise @ self.masses / total
        return float(np.sqrt((noise - mean) ** 2 @ self.masses / total))


def combination(reading: Reading, cells: Mapping[Place, int]) -> Combination:
    """The sum of these cells, each times its factor, with the exact law of its noise."""
    value = sum(factor * reading.symbol(place) for place, factor in cells.items())
    parts: dict[tuple[object, Place], int] = {}
    channels: dict[tuple[object, Place], Channel] = {}
    for place, factor in cells.items():
        reading.channel(place).require(reading.symbol(place))
        if not factor:
            continue
        for key, channel in _draws(reading, place).items():
            parts[key] = parts.get(key, 0) + factor
            channels[key] = channel
    if reading.law.shared == "keys":
        _require_apart(reading, list(cells))
    _require_known(reading, [key for key, factor in parts.items() if factor])
    start, masses = 0, np.ones(1)
    for key, factor in parts.items():
        if factor:
            first, spread = _scaled(additive(reading, key[1], channels[key]), factor)
            start, masses = trimmed(start + first, np.convolve(masses, spread))
    return Combination(value, start, masses)


def additive(reading: Reading, place: Place, channel: Channel) -> Additive:
    """The law of a cell whose value is its count plus noise that does not depend on it."""
    if not channel.treatment.plain and channel.variance > 0:
        raise CannotConclude(
            say(
                "Small numbers of this table are shown as 0 or hidden, which makes sums of its "
                "cells too large or unknown. Use a published total, or a table that keeps "
                "negatives."
            )
        )
    if isinstance(channel, ByCount):
        least = reading.symbol(place) - channel.reach
        if least < channel.law.max_count or channel.law.cycle != 1:
            raise CannotConclude(
                say(
                    "The noise of {place} depends on its small true count, so sums with it have "
                    "no exact law. Use a published total.",
                    place=reading.cell_label(place),
                )
            )
        return Additive(-channel.reach, channel.rows[-1])
    assert isinstance(channel, Additive)
    return channel


def _draws(reading: Reading, place: Place) -> dict[tuple[object, Place], Channel]:
    """The independent draws behind a cell: its own, or those of the cells it is a sum of."""
    part, summed = reading.margin(place)
    channel = reading.channel(place)
    if None not in place or reading.law.shared == "keys" or part.source is None:
        return {(part.source, place): channel}
    cells = cells_of(reading, place, _finest(reading, part.source))
    draws = {cell: reading.margin(cell) for cell in cells}
    same = all(inside.source == part.source for inside, _ in draws.values())
    if not same or sum(many for _, many in draws.values()) != summed:
        return {(part.source, place): channel}
    return {(part.source, cell): reading.channel(cell) for cell, (_, many) in draws.items() if many}


def _finest(reading: Reading, source: int) -> list[int]:
    """The axes of the finest part of the table that has draws of a source: all others are its sums."""
    named = [part.axes for part in reading.law.cells if part.source == source]
    if None in named:
        return list(range(len(reading.names)))
    known = {name for axes in named for name in axes or ()}
    return [axis for axis, name in enumerate(reading.names) if name in known]


def cells_of(reading: Reading, place: Place, axes: Sequence[int]) -> list[Place]:
    """The cells over these axes, at the totals of all others, that a total holds."""
    sides: list[Iterable[int | None]] = [
        range(reading.shape[axis]) if at is None and axis in axes else (at,)
        for axis, at in enumerate(place)
    ]
    return list(itertools.product(*sides))


def nested(one: Place, other: Place) -> bool:
    """Whether one cell holds all records of the other."""
    return all(a is None or a == b for a, b in zip(one, other, strict=True)) or all(
        b is None or a == b for a, b in zip(one, other, strict=True)
    )


def overlapping(one: Place, other: Place) -> bool:
    """Whether two cells may have records in common."""
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def _require_apart(reading: Reading, places: list[Place]) -> None:
    for one, other in itertools.combinations(places, 2):
        if overlapping(one, other):
            raise CannotConclude(
                say(
                    "{one} and {other} share records, and so may share their cell keys: they "
                    "cannot be compared. Compare cells without common records.",
                    one=reading.cell_label(one),
                    other=reading.cell_label(other),
                )
            )


def _require_known(reading: Reading, keys: Sequence[tuple[object, Place]]) -> None:
    """Refuse cells of two margins of one measured table whose common draws no margin shows."""
    named = {part.source for part in reading.law.cells if part.axes is not None}
    margins: dict[object, dict[tuple[int, ...], list[Place]]] = {}
    for source, place in keys:
        kept = tuple(axis for axis, at in enumerate(place) if at is not None)
        margins.setdefault(source, {}).setdefault(kept, []).append(place)
    for source, places in margins.items():
        if source is None or source not in named or reading.law.shared == "keys":
            continue
        for some, others in itertools.combinations(places.values(), 2):
            for one, other in itertools.product(some, others):
                if overlapping(one, other):
                    raise CannotConclude(
                        say(
                            "{one} and {other} have draws of a table that is not shown in common, "
                            "so what they make together has no known law. Use a published total.",
                            one=reading.cell_label(one),
                            other=reading.cell_label(other),
                        )
                    )


def _scaled(channel: Additive, factor: int) -> tuple[int, Reals]:
    """First value and masses of a draw times a whole number."""
    start, end = channel.ends
    masses = np.zeros(abs(factor) * (end - start) + 1)
    masses[:: abs(factor)] = channel.masses
    if factor < 0:
        return factor * end, masses[::-1]
    return factor * start, masses
