"""What would work in place of a refused table: changes of one or two steps, each of which was judged.

A change coarsens a level, leaves out a variable or a filter, or adds a variable that every table
must have. Of those that pass, the ones that keep most of the table come first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from .core.description import Description
from .core.domain import AxisRef
from .core.question import TableSpec
from .languages import say

MOST = 5
"""How many changes of a table are offered at most."""
_MOST_STEPS = 40
"""A table with more that could be changed is far from passing: pairs of changes are not tried."""


@dataclass(frozen=True)
class Change:
    """One step: a level made coarser, left out, not filtered by any more, or added."""

    kind: Literal["coarsen", "drop", "unfilter", "add"]
    level: AxisRef
    to: AxisRef | None = None
    """The coarser level."""

    @property
    def words(self) -> str:
        """What to do, by the names a recipe uses."""
        return self._said(self.level.level, "" if self.to is None else self.to.level)

    def in_labels(self, description: Description, language: str = "") -> str:
        """What to do, by the labels a reader sees."""
        here = description.axis(self.level).level.label.says(language)
        to = "" if self.to is None else description.axis(self.to).level.label.says(language)
        return self._said(here, to)

    def _said(self, here: str, to: str) -> str:
        if self.kind == "coarsen":
            return say("use {name} instead of {level}", name=to, level=here)
        if self.kind == "drop":
            return say("leave out {level}", level=here)
        if self.kind == "unfilter":
            return say("leave out the filter on {level}", level=here)
        return say("add {level}", level=here)


@dataclass(frozen=True)
class Offer:
    """A change of one table that makes it pass: in words, and the table itself."""

    words: str
    table: int
    """Which table of the question, from 0."""
    spec: TableSpec = field(repr=False, compare=False)
    changes: tuple[Change, ...] = ()


Step = tuple[tuple[Change, ...], TableSpec]


def passing(
    spec: TableSpec,
    public: Description,
    passes: Callable[[TableSpec], bool],
    lacking: Collection[str],
) -> tuple[Step, ...]:
    """Up to five changes, in public variables, that make a table pass; best kept first.

    Of `lacking` variables each may be added. Two steps are tried where no single one passes.
    """
    steps = [*_less(spec, public), *_more(spec, public, lacking)]
    once = [step for step in steps if passes(step[1])]
    if once or len(steps) > _MOST_STEPS:
        return tuple(sorted(once, key=lambda step: _lost(step, public))[:MOST])
    twice: dict[tuple[object, ...], Step] = {}
    for first, changed in _less(spec, public):
        for second, further in _less(changed, public):
            pair = (*first, *second)
            if len({change.level for change in pair}) == 2 and passes(further):
                twice.setdefault((further.axes, further.where), (pair, further))
    if twice:
        return tuple(sorted(twice.values(), key=lambda step: _lost(step, public))[:MOST])
    mixed = (
        ((*first, *second), further)
        for first, changed in steps
        for second, further in (*_less(changed, public), *_more(changed, public, lacking))
        if passes(further)
    )
    return tuple(islice(mixed, 1))


def _lost(step: Step, description: Description) -> tuple[int, int, int]:
    """How much of a table a change loses: what must be added, variables and filters, then cells."""
    changes, spec = step
    cells = 1
    for ref in spec.axes:
        cells *= len(description.axis(ref)) + spec.totals
    gone = sum(change.kind in ("drop", "unfilter") for change in changes)
    return sum(change.kind == "add" for change in changes), gone, -cells


def _less(spec: TableSpec, description: Description) -> Iterator[Step]:
    for position, ref in enumerate(spec.axes):
        variable = description.variable(ref.variable)
        here = [level.name for level in variable.levels].index(ref.level)
        for level in variable.levels[here + 1 :]:
            coarser = AxisRef(ref.variable, level.name)
            axes = (*spec.axes[:position], coarser, *spec.axes[position + 1 :])
            yield (Change("coarsen", ref, coarser),), replace(spec, axes=axes)
    for position, ref in enumerate(spec.axes):
        axes = spec.axes[:position] + spec.axes[position + 1 :]
        yield (Change("drop", ref),), replace(spec, axes=axes)
    for part in spec.where:
        where = tuple(other for other in spec.where if other != part)
        gone = Change("unfilter", AxisRef(part.variable, part.level))
        yield (gone,), replace(spec, where=where)


def _more(spec: TableSpec, description: Description, lacking: Collection[str]) -> Iterator[Step]:
    used = {ref.variable for ref in spec.axes}
    for variable in description.variables:
        if variable.name in lacking and variable.name not in used:
            coarsest = AxisRef(variable.name, variable.levels[-1].name)
            axes = tuple(sorted((*spec.axes, coarsest)))
            yield (Change("add", coarsest),), replace(spec, axes=axes)
