"""Further tables read off a release's synthetic table, at no cost: any table over its variables.

The numbers are sums of the synthetic table. Standard errors are said where the variables a table
uses were measured together; elsewhere the numbers follow from the model only, and that is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...core.description import Description
from ...core.product import Margin, closure
from ...core.question import Question
from ..shared.invariants.public_margins import known_exactly
from ..shared.residuals import mean_variance, precisions
from ..shared.workload import Wanted, wanted_within

if TYPE_CHECKING:
    from .design import Design


def derived(design: Design, question: Question, description: Description) -> Design | None:
    """The design that reads `question` off what `design` fitted; None where it does not follow."""
    workload = design.workload
    tables = []
    for spec in question.tables:
        wanted = wanted_within(workload, spec, description)
        if wanted is None:
            return None
        tables.append(wanted)
    made = replace(design, workload=replace(workload, tables=tuple(tables)), source=design)
    known = _known(made, measured_margins(made))
    return replace(made, allocation=replace(made.allocation, known=known))


def _known(design: Design, margins: Sequence[Margin]) -> dict[Margin, float]:
    """How well these margins are known from what was measured or is public."""
    known = precisions(
        design.shape,
        design.allocation.measured,
        closure(margins),
        total=design.total is not None,
    )
    known_exactly(known, design.published)
    return known


def measured_margins(design: Design) -> list[Margin]:
    """The margins of those tables whose variables were measured together, in the measured space."""
    return [
        design.space(wanted.margin)
        for wanted in design.workload.tables
        if measured_together(design, wanted)
    ]


def all_measured(design: Design) -> bool:
    """Whether every table of a design is one whose variables were measured together."""
    return all(measured_together(design, wanted) for wanted in design.workload.tables)


def measured_together(design: Design, wanted: Wanted) -> bool:
    """Whether an unbiased estimate of a table can be made of what was measured or is public."""
    as_coded = not wanted.passes and all(ref in design.workload.refs for ref in wanted.spec.axes)
    if design.coding is not None and not as_coded:
        return False  # bits say nothing simple of coarser levels and filters
    needed = set(design.space(wanted.margin))
    public = design.published is not None and design.published.table(tuple(needed)) is not None
    return not needed or public or any(needed <= set(m.margin) for m in design.allocation.measured)


def fitted_together(design: Design, wanted: Wanted) -> bool:
    """Whether the release's table was fitted to these variables together."""
    source = design.source or design
    needed = set(design.space(wanted.margin))
    return source.exact or any(needed <= set(margin) for margin in source.kept)


def standard_errors(design: Design) -> list[tuple[tuple[str, ...], float]]:
    """For all variables measured and fitted together: their names, the standard error of a cell."""
    known = _known(design, design.kept)
    found = []
    for margin in closure(design.kept if design.coding is None else design.workload.margins):
        variance = mean_variance(design.shape, known, design.space(margin))
        if variance < 1e30:
            names = tuple(design.workload.refs[axis].variable for axis in margin)
            found.append((names, math.sqrt(variance)))
    if design.exact:  # all variables are, and none of their margins need be listed
        names = tuple(ref.variable for ref in design.workload.refs)
        found.append((names, math.sqrt(design.allocation.measured[0].variance)))
    return found
