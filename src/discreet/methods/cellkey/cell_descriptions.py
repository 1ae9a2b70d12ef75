"""The canonical description of every cell of a table, as 64-bit numbers.

A cell is described, variable by variable, by the *set* of finest categories its records may have:
from its category, from filters, from both. A variable that may be anything says nothing. So the
same cell has the same description whether it is reached as a cell, as a margin of a larger table,
through a filter, or at another level. Each set has a pseudo-random 64-bit name; a cell's
description is the sum of the names of its sets, mod 2^64.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...core.description import Description
from ...core.domain import Condition, Count, Variable
from .keys import Keys, StrongKeys


@dataclass(frozen=True)
class Part:
    """What one variable adds: the axes it spans, and for each position the set's text or None."""

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    texts: tuple[bytes | None, ...] = field(repr=False)


@dataclass(frozen=True)
class CellTexts:
    """The descriptions of a table before they are named: public, the same on any data."""

    shape: tuple[int, ...]
    parts: tuple[Part, ...]

    def numbers(self, keys: StrongKeys) -> Keys:
        """The description of every cell, dense over the table with its totals."""
        total = np.zeros((1,) * len(self.shape), dtype=np.uint64)
        for part in sorted(self.parts, key=lambda part: len(part.texts)):
            names = np.array(
                [0 if text is None else keys.name(text) for text in part.texts], dtype=np.uint64
            )
            shape = [1] * len(self.shape)
            for axis, length in zip(part.axes, part.shape, strict=True):
                shape[axis] = length
            total = total + names.reshape(shape)
        return np.broadcast_to(total, self.shape)


def cell_texts(description: Description, count: Count, totals: Sequence[bool]) -> CellTexts:
    """The descriptions of every cell of a count, with a total last on each axis that has one."""
    by_variable: dict[str, list[int]] = {}
    for position, ref in enumerate(count.axes):
        by_variable.setdefault(ref.variable, []).append(position)
    for condition in count.where:
        by_variable.setdefault(condition.variable, [])
    parts, lengths = [], [0] * len(count.axes)
    for name, positions in by_variable.items():
        variable = description.variable(name)
        filters = tuple(condition for condition in count.where if condition.variable == name)
        sides = tuple((count.axes[at].level, totals[at]) for at in positions)
        shape = tuple(len(variable.level(level)) + total for level, total in sides)
        for position, length in zip(positions, shape, strict=True):
            lengths[position] = length
        parts.append(Part(tuple(positions), shape, _texts(variable, sides, filters)))
    return CellTexts(tuple(lengths), tuple(parts))


def _texts(
    variable: Variable, sides: tuple[tuple[str, bool], ...], filters: tuple[Condition, ...]
) -> tuple[bytes | None, ...]:
    """The sets one variable says; without filters they are the same in every question."""
    key = ("cell texts", sides)
    if not filters and key in variable.kept:
        kept: tuple[bytes | None, ...] = variable.kept[key]
        return kept
    allowed = _allowed(variable, filters)
    codes = variable.finest.codes
    within = [_sides(variable, level, total) for level, total in sides]
    found = tuple(
        _text(variable.name, codes, allowed.intersection(*sets))
        for sets in itertools.product(*within)
    )
    if not filters:
        variable.kept[key] = found
    return found


def _sides(variable: Variable, level_name: str, total: bool) -> list[frozenset[int]]:
    """For each category of a level, and for the total, the finest categories within it."""
    level = variable.level(level_name)
    sides: list[list[int]] = [[] for _ in range(len(level))]
    for finest, category in enumerate(level.of_finest):
        sides[category].append(finest)
    if total:
        sides.append(list(range(len(level.of_finest))))
    return [frozenset(side) for side in sides]


def _allowed(variable: Variable, filters: Sequence[Condition]) -> frozenset[int]:
    allowed = np.ones(len(variable.finest), dtype=bool)
    for condition in filters:
        allowed &= variable.level(condition.level).within(condition.codes)
    return frozenset(np.flatnonzero(allowed).tolist())


def _text(name: str, codes: Sequence[str], inside: frozenset[int]) -> bytes | None:
    if len(inside) == len(codes):
        return None
    return json.dumps([name, [codes[i] for i in sorted(inside)]]).encode()
