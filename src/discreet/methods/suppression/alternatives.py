"""Coarser tables whose totals are safe, where those of the table asked for are not: each is checked.

A coarser level that the description has, one axis left out, or categories joined to groups at the
medians of prior mass (nabar §5.1, binning), which the custodian may declare as a level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...core.description import Description
from ...core.domain import AxisRef
from ...core.question import TableSpec
from ...errors import Refusal
from ...languages import Sentence, say
from .groups import axis_mass, joined, median_groups
from .margins import margin_charges
from .past import Past
from .public_people import PublicPeople
from .settings import Settings
from .table_plan import TablePlan

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
        found = [
            *binned(spec, people, settings, before, noted, description),
            *grouped(spec, people, settings, before, description),
            *found,
        ]
    return found


def binned(
    spec: TableSpec,
    people: PublicPeople,
    settings: Settings,
    before: Past,
    noted: dict[str, str],
    description: Description,
) -> Iterator[Sentence]:
    """The same table with bins, where at the sums that the prior expects one split would be made."""
    if "bins" in noted or before.earlier is not None or noted["cells"] != "yes":
        return
    limit = ",".join(f"{ref.variable}={len(description.axis(ref))}" for ref in spec.axes)
    try:
        plan = TablePlan.made(spec, people, settings, before, noted | {"bins": limit}, description)
    except Refusal:
        return
    if plan.expected_rows() > 1:
        yield say(
            "ask for bins={bins}: categories stay joined where a split would not be safe",
            bins=max(plan.shape),
        )


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
            every = tuple(groups if a == axis else tuple(range(n)) for a, n in enumerate(shape))
            made = [joined(cells, every) for cells in inside]
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
