"""Titles that tables get from their own variables and filters."""

from __future__ import annotations

from ..languages import Sentence, listed, say, together
from .description import Description
from .question import TableSpec


def title_of(spec: TableSpec, description: Description, counted: str = "") -> Sentence:
    """A title from the table's own variables: 'Deaths by region and sex (age: 0–17)'.

    `counted` is what its numbers are where they do not count records; it comes last.
    """
    own = description.language
    axes = [description.axis(ref).level.label.within(own) for ref in spec.axes]
    title = description.title.sentence()
    if axes:
        title = say("{title} by {axes}", title=title, axes=listed(axes))
    title = _with_filters(title, spec, description)
    return together(title, counted, between=": ") if counted else title


def short_title_of(spec: TableSpec, description: Description) -> Sentence:
    """A table among others of its data set: 'Region × Sex (age: 0–17)'."""
    labels = [description.axis(ref).level.label for ref in spec.axes]
    title = together(*labels, between=" × ") if labels else say("Total")
    return _with_filters(title, spec, description)


def _with_filters(title: Sentence, spec: TableSpec, description: Description) -> Sentence:
    only = []
    for condition in spec.where:
        level = description.variable(condition.variable).level(condition.level)
        labels = [level.categories[level.index[code]].label for code in condition.codes]
        shown = together(*labels[:3], between=", ")
        if len(labels) > 3:
            shown = say("{labels} and {n} more", labels=shown, n=len(labels) - 3)
        only.append(together(level.label.within(description.language), shown, between=": "))
    if not only:
        return title
    return say("{title} ({only})", title=title, only=together(*only, between="; "))
