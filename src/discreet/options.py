"""What a table could become: for every level, whether it may be put into it or filter it, and which
rule says no. From public facts in one go, so that a page can tell before anybody tries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from . import rules
from .core.description import Description, Policy
from .core.domain import AxisRef, Condition, Level
from .core.question import TableSpec


@dataclass(frozen=True)
class Possible:
    """Whether the changed table may be asked for; where not, the first rule it breaks."""

    cells: int
    rule: str = ""
    sentence: str = ""

    @property
    def allowed(self) -> bool:
        """Whether no rule is broken."""
        return not self.rule


@dataclass(frozen=True)
class Option:
    """What one level could do in a table.

    In rows, columns and layers a level is judged alike: rules look at what is in a table, not at
    where it stands. A level takes the place of another one of the same variable.
    """

    ref: AxisRef
    used: bool
    """Whether the table has it already."""
    filters: bool
    """Whether the table is filtered by it already."""
    in_table: Possible
    as_filter: Possible


def options(
    spec: TableSpec, description: Description, public: Description, policy: Policy
) -> Iterator[Option]:
    """Every level of every public variable, judged by the rules on the whole description."""
    filters = {AxisRef(part.variable, part.level) for part in spec.where}
    for variable in public.variables:
        for level in variable.levels:
            ref = AxisRef(variable.name, level.name)
            yield Option(
                ref,
                ref in spec.axes,
                ref in filters,
                _judged(_with_axis(spec, ref), description, policy),
                _judged(_with_filter(spec, ref, level), description, policy),
            )


def _judged(spec: TableSpec, description: Description, policy: Policy) -> Possible:
    cells = rules.cells_of(spec, description)
    breaches = rules.breaches(spec, description, policy)
    if not breaches:
        return Possible(cells)
    return Possible(cells, breaches[0].rule, breaches[0].sentence)


def _with_axis(spec: TableSpec, ref: AxisRef) -> TableSpec:
    others = (axis for axis in spec.axes if axis.variable != ref.variable)
    return replace(spec, axes=tuple(sorted((*others, ref))))


def _with_filter(spec: TableSpec, ref: AxisRef, level: Level) -> TableSpec:
    """Filtered by one category, whichever: rules look at the level, and at how many are joined."""
    others = tuple(part for part in spec.where if part.variable != ref.variable)
    one = Condition(ref.variable, ref.level, level.codes[:1])
    return replace(spec, where=(*others, one))
