"""Bins on the axes of a table: what a question says of them, and the categories readers see."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.description import Description
from ...core.domain import Axis, Category, Domain, Level
from ...core.question import TableSpec
from ...core.text import Text
from ...errors import RecipeError
from ...languages import Sentence, say

LISTED = 4
"""Of so many categories a bin names each; of more the first and the last."""


def resolve(said: str, spec: TableSpec, cells: str, description: Description) -> str:
    """How many bins each axis may have, in the table's own order; refused where that makes no sense."""
    if not spec.axes:
        raise RecipeError(
            say("A grand total has no categories to join: leave bins out, or name a variable.")
        )
    if len(spec.axes) == 1 and cells == "no":
        raise RecipeError(
            say(
                "The bins of a table by one variable are its cells, so cells cannot be no. Leave "
                "cells out, or bins."
            )
        )
    parts = dict(part.rpartition("=")[::2] for part in said.split(","))
    names = [ref.variable for ref in spec.axes]
    by_form = {name.casefold(): name for name in names}
    for variable in parts:
        if variable and variable not in by_form:
            raise RecipeError(
                say(
                    "bins names {variable}, which is no variable of this table; it has {names}.",
                    variable=variable[:40],
                    names=", ".join(names),
                )
            )
    limits = {by_form[name]: int(many) for name, many in parts.items() if name}
    every = int(parts.get("", "0"))
    sizes = {ref.variable: len(description.axis(ref)) for ref in spec.axes}
    return ",".join(
        f"{name}={min(limits.get(name, every) or sizes[name], sizes[name])}" for name in names
    )


def joined_domain(domain: Domain, bins: Sequence[Sequence[int]]) -> Domain:
    """The domain of a table whose categories were joined; the same where they were not."""
    if not bins:
        return domain
    axes = tuple(_joined(axis, of) for axis, of in zip(domain.axes, bins, strict=True))
    return Domain(axes)


def _joined(axis: Axis, of: Sequence[int]) -> Axis:
    level = axis.level
    members: list[list[Category]] = [[] for _ in range(max(of) + 1)]
    for category, place in zip(level.categories, of, strict=True):
        members[place].append(category)
    taken = set(level.codes)
    categories = tuple(some[0] if len(some) == 1 else _bin(some, taken) for some in members)
    finest = tuple(of[place] if place >= 0 else -1 for place in level.of_finest)
    return Axis(axis.variable, Level(level.name, level.label, categories, finest))


def _bin(some: Sequence[Category], taken: set[str]) -> Category:
    """A category for several neighbours."""
    code = f"{some[0].code}..{some[-1].code}"
    while code in taken:
        code += "."
    languages = dict.fromkeys(name for one in some for name, _ in one.label.by_language)
    labels = {name: _label([one.label.says(name) for one in some]) for name in languages}
    return Category(code, Text.of(labels))


def _label(labels: Sequence[str]) -> str:
    if len(labels) <= LISTED:
        return ", ".join(labels)
    return f"{labels[0]} – {labels[-1]}"


def notes(bins: Sequence[Sequence[int]], spec: TableSpec) -> tuple[Sentence, ...]:
    """What readers are told of bins."""
    if not bins:
        return ()
    said = ", ".join(
        f"{ref.level} {max(of) + 1} / {len(of)}" for ref, of in zip(spec.axes, bins, strict=True)
    )
    return (
        say(
            "Categories are joined to bins ({bins}): each was split at the median of what the prior "
            "expects while δ bore it, decided before the sums of its halves were read.",
            bins=said,
        ),
    )
