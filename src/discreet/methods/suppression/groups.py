"""Categories of a table joined to groups: by public medians of prior mass, and the people of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .board import Whole
from .cell_weights import CellPeople, Law

Part = tuple[int, int]
"""The first category of a group and the one after its last."""
Groups = tuple[tuple[int, ...], ...]
"""By axis for each category the group it is in."""


def axis_mass(cells: Sequence[CellPeople], shape: tuple[int, ...], axis: int) -> list[float]:
    """The sum that the prior expects in each category of an axis."""
    expected = [
        sum(
            many * sum(a * chance for a, chance in enumerate(law))
            for law, many in zip(cell.laws, cell.counts, strict=True)
        )
        for cell in cells
    ]
    others = tuple(a for a in range(len(shape)) if a != axis)
    mass: list[float] = np.array(expected).reshape(shape).sum(axis=others).tolist()
    return mass


def heaviest(mass: Sequence[float], some: Sequence[Part]) -> Part:
    """The group with the most mass, the first of several."""
    return max(some, key=lambda part: (sum(mass[slice(*part)]), -part[0]))


def median(mass: Sequence[float], part: Part) -> int:
    """Where a group is split so that both sides have nearly the same mass."""
    first, last = part
    sums = np.cumsum(mass[first:last])[:-1]
    return first + 1 + int(np.argmin(np.abs(sums - sum(mass[first:last]) / 2)))


def median_groups(mass: Sequence[float], bins: int) -> tuple[int, ...]:
    """The group of each category: the group with the most mass is split at its median, again and again.

    >>> median_groups([1, 1, 1, 1, 4], 2), median_groups([1, 1, 1, 1, 4], 3)
    ((0, 0, 0, 0, 1), (0, 0, 1, 1, 2))
    """
    ends = [(0, len(mass))]
    while len(ends) < bins:
        wide = [part for part in ends if part[1] - part[0] > 1]
        if not wide:
            break
        part = heaviest(mass, wide)
        middle = median(mass, part)
        ends.remove(part)
        ends += [(part[0], middle), (middle, part[1])]
    return numbered(ends, len(mass))


def numbered(ends: Sequence[Part], size: int) -> tuple[int, ...]:
    """The number of each category's group, in the order of categories."""
    groups = [0] * size
    for number, (first, last) in enumerate(sorted(ends)):
        groups[first:last] = [number] * (last - first)
    return tuple(groups)


def joined_shape(groups: Groups) -> tuple[int, ...]:
    """How many groups there are along each axis."""
    return tuple(max(of, default=-1) + 1 for of in groups)


def places(groups: Groups) -> Whole:
    """For each cell of a table its place in the joined one, last axis fastest."""
    place = np.zeros((), dtype=np.int64)
    for of, size in zip(groups, joined_shape(groups), strict=True):
        place = place[..., None] * size + np.array(of, dtype=np.int64)
    return place.ravel()


def joined(cells: Sequence[CellPeople], groups: Groups) -> list[CellPeople]:
    """The people of a table whose categories are joined."""
    found: list[dict[Law, int]] = [{} for _ in range(int(np.prod(joined_shape(groups))))]
    for cell, place in zip(cells, places(groups).tolist(), strict=True):
        into = found[place]
        for law, many in zip(cell.laws, cell.counts, strict=True):
            into[law] = into.get(law, 0) + many
    return [CellPeople.of(one) for one in found]
