"""Margins that are public already, at any level of the tree: kept exactly by the whole table.

    methods:
      topdown:
        published:
          region: {north: 190000, south: 339655}
          sex: {F: 268000, M: 261655}

The numbers come from the policy, never from the data (`shared.invariants`). A margin of a level holds,
summed up, for every level above it too. For the whole any margins are kept that have a table of whole
counts in common; below it one margin a level, so that whatever a parent has can always be shared out
among its children: several at one level are refused, to be published as one wider margin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...core.description import Description
from ...core.domain import Domain
from ...core.names import find_axis
from ...core.product import Margin, Whole, subsets
from ...core.public_margins import parts_of
from ...core.question import digest
from ...errors import InputError
from ..shared.invariants.public_margins import Published, public_tables, read_published
from ..shared.workload import Workload
from .tree import Tree, level_axis


@dataclass(frozen=True)
class Invariants:
    """What is public of every level, free of contradictions; axes by place in the whole product."""

    whole: Published | None
    """Over the product without the tree."""
    levels: Mapping[int, tuple[Margin, Whole]]
    """Below the whole: the other axes of the margin, and its counts, nodes first."""
    others: Margin
    total: int

    @property
    def tables(self) -> dict[tuple[int, Margin], Whole]:
        """Every public margin by level and axes; for the whole with one node first."""
        found = {(level, margin): counts for level, (margin, counts) in self.levels.items()}
        for margin, counts in ({} if self.whole is None else self.whole.tables).items():
            found[0, tuple(self.others[axis] for axis in margin)] = counts[None]
        return found

    def holds(self, level: int, margin: Margin) -> bool:
        """Whether all of a table is public."""
        return any(at == level and set(margin) <= set(wide) for at, wide in self.tables) or (
            level == 0 and not margin
        )

    @property
    def residuals(self) -> dict[tuple[int, Margin], tuple[Margin, Whole]]:
        """For every residual that is public, by level: a margin it is part of."""
        found = {}
        for (level, wide), counts in self.tables.items():
            for kept in subsets(wide):
                found[level, kept] = wide, counts
        return found

    @property
    def digest(self) -> str:
        """All of it in short, for the name of a question."""
        form = {
            f"{level} {margin}": c.ravel().tolist() for (level, margin), c in self.tables.items()
        }
        return digest({"total": self.total, "margins": form})[:16]


def read_invariants(
    given: Any, workload: Workload, tree: Tree, description: Description
) -> Invariants | None:
    """What is public over a question's variables at every level of its tree; checked."""
    if not given:
        return None
    others = tuple(axis for axis in range(len(workload.refs)) if axis != tree.axis)
    whole, total = read_published(given, _without_tree(workload, others, description), description)
    levels: dict[int, tuple[Margin, Whole]] = {}
    for level in range(1, tree.depth + 1):
        named = {
            name: counts
            for name, counts in given.items()
            if _refines(str(name), tree, level, description)
        }
        if not named:
            continue
        here = _at_level(workload, tree, level, description)
        tables, _ = public_tables(named, here, description)
        if len(tables) > 1:
            raise InputError(
                f"At level {tree.names[level]} of {tree.variable} {len(tables)} published margins "
                f"meet ({', '.join(named)}); one a level can be kept below the whole. Publish their "
                "joint margin instead."
            )
        ((margin, counts),) = tables.items()
        rest = tuple(axis for axis in margin if axis != tree.axis)
        levels[level] = (
            rest,
            counts.transpose([margin.index(tree.axis), *(margin.index(axis) for axis in rest)]),
        )
    if levels and any(tree.axis in margin for margin in workload.forbidden):
        raise InputError(
            f"Structural zeros of {tree.variable} and published margins of its levels cannot be kept "
            "together. Publish margins of the whole only."
        )
    return Invariants(whole, levels, others, total or 0)


def _refines(name: str, tree: Tree, level: int, description: Description) -> bool:
    """Whether a margin has the tree's variable at a level that can be summed to this one."""
    for part in parts_of(name):
        ref = find_axis(description, part)
        if ref.variable != tree.variable:
            continue
        own = description.variable(ref.variable).level(ref.level)
        if all(own.map_to(one) is None for one in tree.levels):
            raise InputError(
                f"published.{name} is at level {ref.level}, which is not part of the tree "
                f"({', '.join(tree.names[1:])}). Publish one of these levels."
            )
        return own.map_to(tree.levels[level - 1]) is not None
    return False


def _without_tree(workload: Workload, others: Margin, description: Description) -> Workload:
    domain = workload.domain.project(others)
    return replace(
        workload,
        refs=tuple(workload.refs[axis] for axis in others),
        domain=domain,
        forbidden=_forbidden(domain, description),
    )


def _at_level(workload: Workload, tree: Tree, level: int, description: Description) -> Workload:
    axes = list(workload.domain.axes)
    axes[tree.axis] = level_axis(tree, workload, level)
    domain, refs = Domain(tuple(axes)), list(workload.refs)
    refs[tree.axis] = axes[tree.axis].ref
    return replace(
        workload, refs=tuple(refs), domain=domain, forbidden=_forbidden(domain, description)
    )


def _forbidden(domain: Domain, description: Description) -> dict[Margin, Any]:
    return {m: t.astype(float) for m, t in description.zero_tables(domain.axes).items()}
