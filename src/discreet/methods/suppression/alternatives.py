"""Coarser tables whose totals are safe, where those of the table asked for are not: each is checked.

A coarser level that the description has, one axis left out, or categories joined to groups at the
medians of prior mass (nabar §5.1, binning), which the custodian may declare as a level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...core.description import Description
from ...core.domain import AxisRef
from ...core.question import TableSpec
from ...errors import Refusal
from ...languages import Sentence, say
from .cell_weights import CellPeople, Law
from .past import Past
from .public_people import PublicPeople
from .settings import Settings
from .table_plan import TablePlan, margin_charges

BINS = (8, 4, 2)
"""How many groups are tried, the most first."""
MOST_NAMED = 12
"""Groups of more categories than this are not proposed: no sentence holds their names."""


def safe_alternatives(
    spec: TableSpec,
    people: PublicPeople,
    settings: Settings,
    before: Past,
    noted: dict[str, str],
    description: Description,
) -> list[Sentence]:
    """What could be asked for instead, in words."""
    found, kept = [], False
    for said, other in coarser(spec, description):
        try:
            TablePlan.made(other, people, settings, before, noted, description)
        except Refusal:
            continue
        found.append(said)
        kept |= len(other.axes) == len(spec.axes)
    if not kept:  # no level has all variables in the table
        found = [*grouped(spec, people, settings, before, description), *found]
    return found


def coarser(spec: TableSpec, description: Description) -> Iterator[tuple[Sentence, TableSpec]]:
    """Tables with one axis at a coarser level, or without it, in words."""
    for position, ref in enumerate(spec.axes):
        levels = [level.name for level in description.variable(ref.variable).levels]
        for name in levels[levels.index(ref.level) + 1 :]:
            axis = AxisRef(ref.variable, name)
            axes = (*spec.axes[:position], axis, *spec.axes[position + 1 :])
            yield (
                say("use {name} instead of {level}", name=name, level=ref.level),
                replace(spec, axes=axes),
            )
    for position, ref in enumerate(spec.axes):
        axes = spec.axes[:position] + spec.axes[position + 1 :]
        yield say("leave out {level}", level=ref.level), replace(spec, axes=axes)


def grouped(
    spec: TableSpec,
    people: PublicPeople,
    settings: Settings,
    before: Past,
    description: Description,
) -> Iterator[Sentence]:
    """For each axis the most groups of its categories whose totals are safe, if any are."""
    shape = tuple(len(description.axis(ref)) for ref in spec.axes)
    inside = people.in_cells(spec, description)
    epsilon, delta = float(settings.epsilon), float(settings.delta)
    for axis, ref in enumerate(spec.axes):
        mass = axis_mass(inside[0], shape, axis)
        for bins in BINS:
            if not bins < shape[axis] <= MOST_NAMED:
                continue
            groups = median_groups(mass, bins)
            made = [joined(cells, shape, axis, groups) for cells in inside]
            smaller = tuple(bins if a == axis else n for a, n in enumerate(shape))
            try:
                margin_charges(made, smaller, epsilon, delta, before.spent)
            except Refusal:
                continue
            codes = description.axis(ref).level.codes
            yield say(
                "have the custodian declare a level of {level} with these groups: {groups}",
                level=ref.level,
                groups=" | ".join(
                    ", ".join(code for code, of in zip(codes, groups, strict=True) if of == one)
                    for one in range(bins)
                ),
            )
            break


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


def median_groups(mass: Sequence[float], bins: int) -> list[int]:
    """The group of each category: the group with the most mass is split at its median, again and again.

    >>> median_groups([1, 1, 1, 1, 4], 2), median_groups([1, 1, 1, 1, 4], 3)
    ([0, 0, 0, 0, 1], [0, 0, 1, 1, 2])
    """
    ends = [(0, len(mass))]
    while len(ends) < bins:
        wide = [part for part in ends if part[1] - part[0] > 1]
        if not wide:
            break
        first, last = max(wide, key=lambda part: (sum(mass[slice(*part)]), -part[0]))
        sums = np.cumsum(mass[first:last])[:-1]
        middle = first + 1 + int(np.argmin(np.abs(sums - sum(mass[first:last]) / 2)))
        ends.remove((first, last))
        ends += [(first, middle), (middle, last)]
    groups = [0] * len(mass)
    for number, (first, last) in enumerate(sorted(ends)):
        groups[first:last] = [number] * (last - first)
    return groups


def joined(
    cells: Sequence[CellPeople], shape: tuple[int, ...], axis: int, groups: Sequence[int]
) -> list[CellPeople]:
    """The people of a table whose categories on one axis are joined."""
    smaller = tuple(max(groups) + 1 if a == axis else n for a, n in enumerate(shape))
    found: list[dict[Law, int]] = [{} for _ in range(int(np.prod(smaller)))]
    for cell, place in zip(cells, np.ndindex(*shape), strict=True):
        at = tuple(groups[k] if a == axis else k for a, k in enumerate(place))
        into = found[int(np.ravel_multi_index(at, smaller))]
        for law, many in zip(cell.laws, cell.counts, strict=True):
            into[law] = into.get(law, 0) + many
    return [CellPeople.of(one) for one in found]
