"""Tables a custodian puts in front of readers: `featured:` in discreet.yaml, and whether they work.

    featured:
      - title: What people die of changes with age
        says: Between 15 and 24 about two deaths in three have an external cause.
        recipe: {rows: [cause], columns: [age], percent: columns}

Title and words are the custodian's own: they are declared, never computed, so they must be true of
what is published.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .. import rules
from ..core.description import Featured
from ..errors import DiscreetError
from ..file_names import DESCRIPTION
from ..recipe import from_mapping
from .category_file import text_of
from .finding import Finding
from .yaml_reader import Block

if TYPE_CHECKING:
    from .description_file import DescribedData

KEYS = ("title", "says", "recipe")
MOST = 50
_LONGEST = 400


def read_featured(top: Block) -> tuple[Featured, ...]:
    """The block `featured:`; what a recipe means `check` looks at."""
    featured = []
    for entry in top.blocks("featured"):
        entry.name = "featured"
        entry.only(KEYS)
        title, says, recipe = text_of(entry, "title"), text_of(entry, "says"), entry.block("recipe")
        if title is None or recipe is None:
            raise entry.error(
                "a featured table needs a title and a recipe: `{title: …, recipe: {rows: [sex]}}`."
            )
        for text in (title, says):
            if text is not None and any(len(words) > _LONGEST for _, words in text.by_language):
                raise entry.error(
                    f"title and says of a featured table have at most {_LONGEST} characters."
                )
        written = json.dumps(recipe.plain(), sort_keys=True, ensure_ascii=False)
        featured.append(Featured(title, says, written))
    if len(featured) > MOST:
        raise top.error(f"{len(featured)} tables are featured, at most {MOST} may be.", "featured")
    return tuple(featured)


def featured_findings(described: DescribedData) -> Iterator[Finding]:
    """Featured tables that nobody could be shown."""
    description, policy = described.description, described.policy
    public = description.public(policy.family)
    for number, one in enumerate(description.featured, 1):
        try:
            question = from_mapping(one.mapping, public, policy).question
            verdict = rules.judge(question, description, policy)
        except DiscreetError as problem:
            words = problem.message
        else:
            if verdict.allowed and len(question.tables) == 1:
                continue
            words = verdict.breaches[0].sentence if verdict.breaches else "It has several tables."
        yield Finding(
            "warning",
            f"featured table {number} ({str(one.title)[:60]}) cannot be shown: {words}",
            DESCRIPTION,
            "Change its recipe, or leave it out.",
        )
