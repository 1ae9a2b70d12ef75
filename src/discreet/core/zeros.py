"""Cells that cannot hold a record, from public facts alone, at any levels.

Three things empty a cell: a category of it that holds no finest one (or two levels of one variable
that do not meet), the count's own filter, and a declared structural zero. A structural zero is a
*rule*, conditions that no record meets all at once; it empties a cell if every finest cell within
the cell, as far as the filter lets records in, meets all of them. Rules are used in their largest
form (`largest_rules`), so it does not matter how they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import prod

import numpy as np

from .domain import Axis, Condition, Flags, Level, Variable

Side = tuple[tuple[int, ...], Flags]
"""Positions of the axes of one variable, and a flag for each combination of their categories."""
Box = tuple[int, ...]
"""For each variable of some rules its finest categories, one bit each: a rule, whatever its levels."""
_MOST_SEEN = 10_000
Ruled = dict[int, tuple[str, ...]]
"""For the position of an axis, codes of its level."""


@dataclass(frozen=True)
class Span:
    """The axes and the filter of a count, with the variables its rules may speak of."""

    axes: tuple[Axis, ...]
    where: tuple[Condition, ...]
    variable: Callable[[str], Variable]

    @property
    def shape(self) -> tuple[int, ...]:
        """Categories along each axis."""
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def positions(self) -> dict[str, tuple[int, ...]]:
        """Which axes are of which variable."""
        names = [axis.variable.name for axis in self.axes]
        return {name: tuple(i for i, other in enumerate(names) if other == name) for name in names}

    def passing(self, name: str) -> Flags | None:
        """The finest categories of a variable that the filter lets in; None: all."""
        parts = [part for part in self.where if part.variable == name]
        return _within(self.variable(name), parts) if parts else None

    def side(self, name: str, finest: Flags) -> Side:
        """Where in the axes of a variable these finest categories lie."""
        positions = self.positions.get(name, ())
        return positions, _reached([self.axes[at].level for at in positions], finest)


def largest_rules(
    rules: Sequence[Sequence[Condition]], variable: Callable[[str], Variable]
) -> tuple[tuple[Condition, ...], ...]:
    """Every largest rule that follows from these: the same however one rule was cut into several.

    A cell that holds nobody by all rules together is then emptied by one of them. Two rules that
    agree in all variables but one make a third, with both of their categories of that one; what a
    larger rule says is left out. Where they are too many to find, rules stay as they were written.
    """
    names = sorted({part.variable for rule in rules for part in rule})
    full = tuple((1 << len(variable(name).finest)) - 1 for name in names)
    written: dict[Box, tuple[Condition, ...]] = {}
    for rule in rules:
        parts = [[part for part in rule if part.variable == name] for name in names]
        flags = [_within(variable(name), here) for name, here in zip(names, parts, strict=True)]
        box = tuple(sum(1 << int(i) for i in np.flatnonzero(inside)) for inside in flags)
        if all(box):  # else it speaks of nobody
            written.setdefault(box, tuple(rule))
    found = _largest(list(written))
    if found is None:
        return tuple(dict.fromkeys(tuple(rule) for rule in rules))
    return tuple(written.get(box) or _conditions(box, full, names, variable) for box in found)


def _largest(boxes: Sequence[Box]) -> list[Box] | None:
    """All largest boxes within the union of these, wide ones first; None where they are too many."""
    kept: list[Box] = []
    waiting = [(_narrow(box), box) for box in _merged(boxes)]
    heapify(waiting)
    seen = set(boxes)
    while waiting:
        if len(seen) > _MOST_SEEN + 10 * len(boxes):
            return None
        new = heappop(waiting)[1]
        if any(_holds(other, new) for other in kept):
            continue
        kept = [other for other in kept if not _holds(new, other)]
        for both in {both for other in kept for both in _joined(new, other)} - seen:
            seen.add(both)
            heappush(waiting, (_narrow(both), both))
        kept.append(new)
    return sorted(kept)


def _narrow(box: Box) -> int:
    return -prod(bits.bit_count() for bits in box)


def _merged(boxes: Sequence[Box]) -> Sequence[Box]:
    """The same union in fewer boxes: those that differ in one variable only are one."""
    for at in range(len(boxes[0]) if boxes else 0):
        alike: dict[Box, int] = {}
        for box in boxes:
            rest = (*box[:at], *box[at + 1 :])
            alike[rest] = alike.get(rest, 0) | box[at]
        boxes = [(*rest[:at], bits, *rest[at:]) for rest, bits in alike.items()]
    return boxes


def _joined(one: Box, other: Box) -> Iterator[Box]:
    """What both say together, for each variable: all its categories of either, where all else meets."""
    common = tuple(a & b for a, b in zip(one, other, strict=True))
    for at, both in enumerate(a | b for a, b in zip(one, other, strict=True)):
        if both not in (one[at], other[at]) and all((*common[:at], *common[at + 1 :])):
            yield (*common[:at], both, *common[at + 1 :])


def _holds(large: Box, small: Box) -> bool:
    return all(a & b == b for a, b in zip(large, small, strict=True))


def _conditions(
    box: Box, full: Box, names: Sequence[str], variable: Callable[[str], Variable]
) -> tuple[Condition, ...]:
    conditions = []
    for name, bits, every in zip(names, box, full, strict=True):
        if bits != every:
            finest = variable(name).finest
            codes = sorted(code for i, code in enumerate(finest.codes) if bits >> i & 1)
            conditions.append(Condition(name, finest.name, tuple(codes)))
    return tuple(conditions)


def mask(span: Span, rules: Iterable[Sequence[Condition]]) -> Flags | None:
    """Which cells cannot hold a record; None where all can."""
    empty: Flags | None = None
    for here in _empty_cells(span, rules):
        wide = np.broadcast_to(_product(here, range(len(span.axes)), span.shape), span.shape)
        if wide.any():
            empty = wide.copy() if empty is None else empty | wide
    return empty


def tables(span: Span, rules: Iterable[Sequence[Condition]]) -> dict[tuple[int, ...], Flags]:
    """The cells that cannot hold a record as tables over few axes each, by their positions."""
    by_axes: dict[tuple[int, ...], Flags] = {}
    for here in _empty_cells(span, rules):
        axes = tuple(sorted(at for positions, _ in here for at in positions))
        table = _product(here, axes, span.shape)
        if axes and table.any():
            by_axes[axes] = by_axes[axes] | table if axes in by_axes else table
    return by_axes


def ruled_codes(span: Span, rule: Sequence[Condition]) -> Ruled | None:
    """A rule said by codes of the axes, each of a variable of its own; None where it cannot be."""
    sides = _ruled(span, rule)
    if not sides:
        return None
    codes: Ruled = {}
    for (at,), ruled in sides:
        level = span.axes[at].level
        codes[at] = tuple(level.codes[i] for i in np.flatnonzero(ruled & level.held))
    return codes if all(codes.values()) else None


def filtered(span: Span) -> tuple[Flags | None, ...]:
    """For each axis, which categories the filter lets records into; None where all."""
    sides: list[Flags | None] = []
    for axis in span.axes:
        passing = span.passing(axis.variable.name)
        side = None if passing is None else _reached([axis.level], passing)
        sides.append(None if side is None or side.all() else side)
    return tuple(sides)


def _empty_cells(span: Span, rules: Iterable[Sequence[Condition]]) -> Iterator[list[Side]]:
    """Sets of cells that hold nobody, each a product of sides."""
    for name in dict.fromkeys([*span.positions, *(part.variable for part in span.where)]):
        positions, passing = span.positions.get(name, ()), span.passing(name)
        if len(positions) == 1 and passing is None:
            possible = span.axes[positions[0]].level.held
        else:
            every = np.ones(len(span.variable(name).finest), dtype=bool)
            _, possible = span.side(name, every if passing is None else passing)
        if not possible.all():
            yield [(positions, ~possible)]
    for rule in rules:
        if (sides := _ruled(span, rule)) is not None:
            yield sides


def _ruled(span: Span, rule: Sequence[Condition]) -> list[Side] | None:
    """Where a rule empties cells; None where its variables outside the axes leave records."""
    sides: list[Side] = []
    for name in dict.fromkeys(part.variable for part in rule):
        free = ~_within(span.variable(name), [part for part in rule if part.variable == name])
        passing = span.passing(name)
        positions, outside = span.side(name, free if passing is None else free & passing)
        if positions:
            sides.append((positions, ~outside))
        elif outside:
            return None
    return sides


def _within(variable: Variable, parts: Iterable[Condition]) -> Flags:
    """The finest categories that meet all of these conditions on one variable."""
    inside = np.ones(len(variable.finest), dtype=bool)
    for part in parts:
        inside &= variable.level(part.level).within(part.codes)
    return inside


def _reached(levels: Sequence[Level], finest: Flags) -> Flags:
    """Which combinations of categories of levels of one variable hold some of these finest ones."""
    flags = np.zeros([len(level) for level in levels], dtype=bool)
    flags[tuple(level.places[finest] for level in levels)] = bool(finest.any())
    return flags


def _product(sides: Iterable[Side], onto: Iterable[int], shape: Sequence[int]) -> Flags:
    """The cells flagged on every side, with length 1 along axes no side has."""
    onto = tuple(onto)
    out = np.ones((1,) * len(onto), dtype=bool)
    for positions, flags in sides:
        out = out & flags.reshape([shape[at] if at in positions else 1 for at in onto])
    return out
