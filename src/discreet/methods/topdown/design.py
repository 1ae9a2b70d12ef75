"""What a top-down plan measures and how: decided from public facts, before anything is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...core.description import Description
from ...core.domain import Domain
from ...core.product import Margin, Reals, Shape, Whole, size
from ...core.question import Question
from ...errors import Bug, RecipeError
from ...languages import say
from ..base import Plan, own_part
from ..shared.counting import covers_of
from ..shared.workload import Wanted, Workload, wanted_over, wanted_within
from .estimate import Estimates
from .invariants import Invariants, read_invariants
from .measured_tables import cost, measured_facts
from .pilot_plan import pilot_allocation
from .planner import Aim, Allocation, allocations
from .settings import Settings
from .tree import Tree, level_axis, level_for, tree_of

MOST_BLOCK, MOST_ALL = 1 << 26, 1 << 31
"""Cells of one parent's children, which are in memory together, and of all; 24 bytes each at most."""


@dataclass(frozen=True)
class Asked:
    """One table asked for: off the synthetic table, and as sums over one level of the tree."""

    wanted: Wanted
    level: int
    at_level: Wanted
    """Over the product whose tree axis is at that level."""
    margin: Margin
    """Its axes of the product but the tree's."""


@dataclass(frozen=True)
class Design:
    """This method's own part of a plan."""

    settings: Settings
    workload: Workload
    tree: Tree
    tables: tuple[Asked, ...]
    allocation: Allocation
    records: int | None
    """How many records there are, exactly or roughly, where that is public."""
    total: int | None
    """The number of records, where it is public."""
    covers: tuple[Margin, ...]
    """The axes of each count."""
    invariants: Invariants | None = None
    """Margins that are public already."""
    source: Design | None = None
    """What was measured and fitted, where this design only reads further tables off it."""

    @property
    def shape(self) -> Shape:
        """The shape of the product of all variables."""
        return self.workload.shape

    @property
    def others(self) -> Margin:
        """All axes of the product but the tree's."""
        return tuple(axis for axis in range(len(self.shape)) if axis != self.tree.axis)

    @cached_property
    def known(self) -> Estimates:
        """How well everything is known once it is measured."""
        return self.estimates(())

    def estimates(self, tables: Sequence[Whole | Reals]) -> Estimates:
        """The unbiased estimates of what was measured."""
        measured = self.allocation.measured
        public = None if self.invariants is None else self.invariants.residuals
        return Estimates(self.tree, self.shape, measured, tables, self.total, public)

    def words(self, level: int, margin: Margin) -> str:
        """A table by the levels it keeps."""
        names = [self.workload.refs[axis].level for axis in margin]
        return " × ".join([self.tree.names[level], *names] if level else names) or say("total")


def design_of(plan: Plan) -> Design:
    """This method's own part of one of its plans."""
    return own_part(plan, Design)


def designed(
    settings: Settings, workload: Workload, description: Description
) -> tuple[Design, list[Allocation]]:
    """The design of least expected error, and the plans it was compared with."""
    tree = tree_of(workload, description, settings.tree, settings.levels)
    _check_size(tree, workload)
    about = settings.records_about or description.about
    records = description.records or about
    settings = replace(
        settings,
        tree=tree.variable,
        levels=", ".join(tree.names[1:]),
        records_about=None if description.records else about,
    )
    tables = tuple(asked_of(wanted, tree, workload, description) for wanted in workload.tables)
    invariants = read_invariants(settings.published, workload, tree, description)
    aim = Aim(
        tree,
        workload.shape,
        tuple(sorted({(one.level, one.margin) for one in tables})),
        settings.amount / settings.of_unit(Fraction(1), description.records_per_unit),
        description.neighbours,
        settings.noise,
        records,
        description.records,
        invariants,
    )
    if settings.mode == "pilot":
        settings, chosen = pilot_allocation(aim, settings)
        others: list[Allocation] = []
    else:
        chosen, *others = allocations(aim)
    if cost(chosen.measured, tree, workload.shape, description.neighbours) > aim.budget:
        raise Bug("A plan costs more than its budget.")
    covers = covers_of(workload.shape, (tuple(range(len(workload.shape))),))
    design = Design(
        settings, workload, tree, tables, chosen, records, description.records, covers, invariants
    )
    return design, others


def needed_settings(design: Design, description: Description) -> Settings:
    """The settings without a rough number of records that changes nothing about what is measured."""
    without = replace(design.settings, records_about=None)
    if design.settings.records_about is None or design.settings.mode == "pilot":
        return without
    plain_design, _ = designed(without, design.workload, replace(description, about=None))
    same = measured_facts(plain_design.allocation.measured) == measured_facts(
        design.allocation.measured
    )
    return without if same else design.settings


def asked_of(wanted: Wanted, tree: Tree, workload: Workload, description: Description) -> Asked:
    """A table with the coarsest level of the tree it can be summed from."""
    margin = tuple(axis for axis in wanted.margin if axis != tree.axis)
    if tree.axis not in wanted.margin:
        return Asked(wanted, 0, wanted, margin)
    spec, variable = wanted.spec, description.variable(tree.variable)
    names = [ref.level for ref in spec.axes if ref.variable == tree.variable]
    names += [part.level for part in spec.where if part.variable == tree.variable]
    level = level_for(tree, [variable.level(name) for name in names])
    axes = list(workload.domain.axes)
    axes[tree.axis] = level_axis(tree, workload, level)
    used = {axis.variable.name for axis in axes}
    where = tuple(part for part in spec.where if part.variable in used)
    at_level = wanted_over(replace(spec, where=where), description, Domain(tuple(axes)))
    return Asked(wanted, level, at_level, margin)


def derived(design: Design, question: Question, description: Description) -> Design | None:
    """The design that reads `question` off what `design` fitted; None where it does not follow."""
    tables = []
    for spec in question.tables:
        wanted = wanted_within(design.workload, spec, description)
        if wanted is None:
            return None
        tables.append(asked_of(wanted, design.tree, design.workload, description))
    return replace(design, tables=tuple(tables), source=design)


def all_spent(design: Design, description: Description) -> bool:
    """Whether the measurements cost exactly the loss."""
    spent = cost(design.allocation.measured, design.tree, design.shape, description.neighbours)
    unit = design.settings.of_unit(spent, description.records_per_unit)
    ruled_out = bool(design.workload.forbidden) and description.records is not None
    return unit == design.settings.amount and not ruled_out


def _check_size(tree: Tree, workload: Workload) -> None:
    """Refuse what would not fit into memory, saying how much it needs and what would do."""
    others = [axis for axis in range(len(workload.shape)) if axis != tree.axis]
    cells = size(workload.shape, others)
    widest = max([1, *(int(np.bincount(p).max()) for p in tree.parents[1:])])
    block, every = cells * widest, cells * tree.sizes[-1]
    if block <= MOST_BLOCK and every <= MOST_ALL:
        return
    names = [workload.refs[axis].level for axis in others]
    longest = max(others, key=lambda axis: workload.shape[axis])
    gigabytes = max(block, every * MOST_BLOCK // MOST_ALL) * 24 / 2**30
    raise RecipeError(
        f"All cells of {' × '.join(names)} for the {widest:,} children of one node are {block:,}, "
        f"about {gigabytes:,.0f} GB ({every:,} cells for the whole tree); "
        f"{MOST_BLOCK * 24 / 2**30:.1f} GB and {MOST_ALL:,} cells are the most. "
        f"Leave out {workload.refs[longest].level}, or use coarser levels."
    )
