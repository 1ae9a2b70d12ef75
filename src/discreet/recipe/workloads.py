"""Many tables in one line: "all 2-way", "all 3-way with region", "all 2-way of age, sex, work".

    all J-way [of NAME, NAME, …] [with NAME, NAME, …]

means every table over J of the named variables (all variables, at their finest level, if none is
named); `with` puts further ones, or some of those, into every table, J counting them.
"""

from __future__ import annotations

import itertools
import re

from ..core.description import Description
from ..core.domain import AxisRef
from ..core.names import find_axis
from ..errors import RecipeError
from ..languages import say

MOST_TABLES = 20_000
_FORM = re.compile(
    r"\s*all\s+(?P<order>\d+)\s*-?\s*way(?:\s+of\s+(?P<of>.+?))?(?:\s+with\s+(?P<with>.+?))?\s*",
    re.IGNORECASE,
)


def tables_of_workload(text: str, description: Description) -> list[tuple[AxisRef, ...]]:
    """The axes of every table a workload line means, each sorted, no table twice."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise RecipeError(
            say(
                "A workload reads like 'all 2-way' or 'all 3-way of age, sex, work with "
                "region', got {text}. For tables of your own write tables: in its place.",
                text=repr(text.strip()[:60]),
            )
        )
    order = int(match["order"])
    always = _refs(match["with"], description)
    chosen = _refs(match["of"], description) or [
        AxisRef(variable.name, variable.finest.name) for variable in description.variables
    ]
    fixed = {ref.variable for ref in always}
    free = [ref for ref in chosen if ref.variable not in fixed]
    more = order - len(always)
    if order < 1 or more < 0 or more > len(free):
        raise RecipeError(
            say(
                "'{text}' names no table: it wants {order} variables of {many}.",
                text=text.strip()[:60],
                order=order,
                many=len(free) + len(always),
            )
        )
    tables = [tuple(sorted((*always, *rest))) for rest in itertools.combinations(free, more)]
    if len(tables) > MOST_TABLES:
        raise RecipeError(
            say(
                "'{text}' means {many} tables; most is {most_tables}. Name fewer variables, or "
                "ask for fewer at a time.",
                text=text.strip()[:60],
                many=len(tables),
                most_tables=MOST_TABLES,
            )
        )
    return tables


def _refs(names: str | None, description: Description) -> list[AxisRef]:
    refs = [find_axis(description, name) for name in (names or "").split(",") if name.strip()]
    seen: set[str] = set()
    for ref in refs:
        if ref.variable in seen:
            raise RecipeError(
                say("{variable} is named twice in a workload. Name it once.", variable=ref.variable)
            )
        seen.add(ref.variable)
    return refs
