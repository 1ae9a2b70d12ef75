"""What stands over a table on a page: short enough for a telephone; its filters stand below it.

A table's own title is for files, where it stands alone. On a page the data set and the chips are
beside it, so labels lose what they say in brackets and filters are a sentence of the deck.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core.description import Description
from ..core.domain import Condition
from ..core.question import TableSpec
from ..core.table_titles import title_of
from ..languages import Sentence, Voice, listed, say, together
from ..recipe import Recipe
from .axes import brief

_MOST = 3
"""So many categories of a filter are named."""


def spec_of(recipe: Recipe) -> TableSpec:
    """The one table of a recipe, its variables in the order of the layout."""
    return recipe.layouts[0].as_titled(recipe.question.tables[0])


@dataclass(frozen=True)
class Headed:
    """A table's heading, what it counts where that is not people, and whom it is about."""

    heading: str
    counted: str
    only: Sentence | None


def headed(recipe: Recipe, title: object, description: Description, voice: Voice) -> Headed:
    """What stands over a table whose own title is `title`; a title somebody gave stays as it is."""
    spec = spec_of(recipe)
    full, own = voice.of(title), voice.of(title_of(spec, description))
    only = _filters(spec, description, voice)
    if not full.startswith(own):
        return Headed(full, "", only)
    counted = full.removeprefix(own).removeprefix(": ")
    return Headed(_heading(spec, description, voice), counted[:1].upper() + counted[1:], only)


def _heading(spec: TableSpec, description: Description, voice: Voice) -> str:
    """The data set by the table's variables."""
    title, own = voice.of(description.title), description.language
    if not spec.axes:
        return title
    labels = [brief(voice.of(description.axis(ref).level.label.within(own))) for ref in spec.axes]
    return voice.of(say("{title} by {axes}", title=title, axes=listed(labels)))


def _filters(spec: TableSpec, description: Description, voice: Voice) -> Sentence | None:
    if not spec.where:
        return None
    named = [_condition(condition, description, voice) for condition in spec.where]
    return say("Only {conditions}.", conditions=together(*named, between="; "))


def _condition(condition: Condition, description: Description, voice: Voice) -> str:
    level = description.variable(condition.variable).level(condition.level)
    shown_codes = condition.codes[:_MOST]
    labels = [level.categories[level.index[code]].brief(voice.language) for code in shown_codes]
    shown = ", ".join(labels)
    if len(condition.codes) > _MOST:
        more = len(condition.codes) - _MOST
        shown = voice.of(say("{labels} and {n} more", labels=shown, n=more))
    label = brief(voice.of(level.label.within(description.language)))
    return voice.of(say("{variable}: {categories}", variable=label, categories=shown))
