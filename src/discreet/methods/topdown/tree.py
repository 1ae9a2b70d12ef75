"""The tree: one variable's levels, from the whole down to the finest level a question uses.

Level 0 is the whole, one node. Every node of a lower level lies in exactly one node of the level
above; nodes may have any number of children, one included. Public facts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...core.description import Description
from ...core.domain import Axis, Level, Variable
from ...core.names import find_axis
from ...core.product import Whole
from ...errors import RecipeError
from ...languages import say
from ..shared.workload import Workload

WHOLE = "total"
"""What the level of the whole is called."""


@dataclass(frozen=True)
class Tree:
    """Nodes by level, each with its parent in the level above."""

    variable: str
    levels: tuple[Level, ...]
    """From just below the whole to the finest, without categories that hold nothing."""
    axis: int
    """The place of the variable in the product of the question's variables; −1 where it has none."""

    @property
    def depth(self) -> int:
        """How many levels lie below the whole."""
        return len(self.levels)

    @property
    def names(self) -> tuple[str, ...]:
        """The levels' names, the whole first."""
        return (WHOLE, *(level.name for level in self.levels))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has."""
        return (1, *(len(level) for level in self.levels))

    @cached_property
    def parents(self) -> tuple[Whole, ...]:
        """For each level the node of the level above that holds each of its nodes."""
        found = [np.zeros(0, dtype=np.int64)]
        for number, level in enumerate(self.levels):
            above = None if number == 0 else self.levels[number - 1]
            found.append(np.zeros(len(level), np.int64) if above is None else _into(level, above))
        return tuple(found)

    @cached_property
    def of_finest(self) -> tuple[Whole, ...]:
        """For each level the node that holds each node of the finest level."""
        at = [np.arange(self.sizes[-1])]
        for parents in self.parents[:0:-1]:
            at.append(parents[at[-1]])
        return tuple(reversed(at))

    def children(self, level: int, node: int) -> Whole:
        """The nodes of the level below that lie in one of this level."""
        return self._children[level + 1][node]

    @cached_property
    def _children(self) -> tuple[tuple[Whole, ...], ...]:
        found: list[tuple[Whole, ...]] = [()]
        for level in range(1, self.depth + 1):
            parents = self.parents[level]
            order = np.argsort(parents, kind="stable")
            ends = np.searchsorted(parents[order], np.arange(1, self.sizes[level - 1]))
            found.append(tuple(np.split(order, ends)))
        return tuple(found)


def _into(level: Level, above: Level) -> Whole:
    places = level.map_to(above)
    assert places is not None
    return np.asarray(places)


def tree_of(workload: Workload, description: Description, name: str = "", levels: str = "") -> Tree:
    """The tree of a question: the variable named, or the one with most levels, geography first.

    A question none of whose variables has levels has a tree of the whole alone.
    """
    variable = _named(workload, description, name)
    if variable is None:
        return Tree("", (), -1)
    place = [ref.variable for ref in workload.refs].index(variable.name)
    chain = _chain(variable, workload.domain.axes[place].level, levels)
    return Tree(variable.name, chain, place) if chain else Tree("", (), -1)


def _named(workload: Workload, description: Description, name: str) -> Variable | None:
    used = [description.variable(ref.variable) for ref in workload.refs]
    if name:
        own = {one.name.casefold(): one.name for one in description.variables}
        known = own.get(name.casefold()) or find_axis(description, name).variable
        variable = description.variable(known)
        if variable.name not in {one.name for one in used}:
            raise RecipeError(
                say(
                    "The tree is {name}, which no table of this question uses. Name one of "
                    "{names}, or leave tree out.",
                    name=variable.name,
                    names=", ".join(one.name for one in used),
                )
            )
        return variable
    axes = dict(zip((ref.variable for ref in workload.refs), workload.domain.axes, strict=True))

    def order(variable: Variable) -> tuple[bool, int, str]:
        chain = _chain(variable, axes[variable.name].level, "")
        return variable.kind != "geography", -len(chain), variable.name

    deep = [
        one
        for one in used
        if (one.kind == "geography" or len(one.levels) > 1) and len(axes[one.name]) > 1
    ]
    return min(deep, key=order) if deep else None


def _chain(variable: Variable, finest: Level, levels: str) -> tuple[Level, ...]:
    """The levels of a variable that lie in one another, coarsest first; those named, where named."""
    asked = [text.strip() for text in levels.split(",") if text.strip()]
    if not asked:
        chain = [finest]
        for level in _above(variable, finest):
            into = chain[0].map_to(level)
            if into is not None and 1 < len(level) < len(chain[0]):
                chain.insert(0, level)
        return tuple(level for level in chain if len(level) > 1)
    chosen = [_level(variable, text) for text in asked]
    if len({level.name for level in chosen}) < len(chosen):
        raise RecipeError(
            say("levels names one level twice, got {levels}. Name each once.", levels=levels)
        )
    if finest.name not in {level.name for level in chosen}:
        chosen.append(finest)
    chosen = [finest if level.name == finest.name else level.compact for level in chosen]
    for level in chosen:
        if finest.map_to(level) is None:
            raise RecipeError(
                say(
                    "The level {name} of {name_2} is not made of whole categories of {name_3}, the "
                    "finest level this question uses: that is no tree. Leave it out of levels.",
                    name=level.name,
                    name_2=variable.name,
                    name_3=finest.name,
                )
            )
    chosen.sort(key=len)
    for above, level in pairwise(chosen):
        if level.map_to(above) is None:
            raise RecipeError(
                say(
                    "The levels {name} and {name_2} of {name_3} cut through one another: that is "
                    "no tree. Name levels that lie in one another.",
                    name=above.name,
                    name_2=level.name,
                    name_3=variable.name,
                )
            )
    return tuple(level for level in chosen if len(level) > 1)


def _above(variable: Variable, finest: Level) -> list[Level]:
    names = [level.name for level in variable.levels]
    return [level.compact for level in variable.levels[names.index(finest.name) + 1 :]]


def _level(variable: Variable, text: str) -> Level:
    by_form = {level.name.casefold(): level for level in variable.levels}
    found = by_form.get(text.casefold())
    if found is None:
        raise RecipeError(
            say(
                "{name} has no level {text}; it has {names}.",
                name=variable.name,
                text=repr(text[:40]),
                names=", ".join(level.name for level in variable.levels),
            )
        )
    return found


def level_axis(tree: Tree, workload: Workload, level: int) -> Axis:
    """The tree's variable at one of its levels, as a side of the product."""
    return Axis(workload.domain.axes[tree.axis].variable, tree.levels[level - 1])


def level_for(tree: Tree, needed: Sequence[Level]) -> int:
    """The coarsest level of the tree from which all these levels can be summed."""
    if not needed:
        return 0
    for number, level in enumerate(tree.levels, start=1):
        if all(level.map_to(one) is not None for one in needed):
            return number
    return tree.depth
