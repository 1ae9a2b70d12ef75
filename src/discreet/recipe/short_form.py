"""The short form of a recipe, a query string: `rows=region&columns=cause&where=sex:F&epsilon=0.5`."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl

from ..core.description import Description, Policy
from ..core.question import Recipe
from ..errors import RecipeError
from ..languages import say
from .parse import from_mapping

_CODE = re.compile(r'"((?:[^"]|"")*)"')
_QUOTED = re.compile(
    rf"(?P<name>[^\"]*):(?P<codes>{_CODE.pattern}(?:,{_CODE.pattern})*)", re.DOTALL
)


def from_query(text: str, description: Description, policy: Policy) -> Recipe:
    """A recipe from its short form."""
    return from_mapping(query_mapping(text), description, policy)


def query_mapping(text: str) -> dict[str, Any]:
    """A recipe's short form as the mapping it stands for, names not yet looked up.

    >>> query_mapping("rows=region&where=sex:F,M&epsilon=0.5")
    {'rows': 'region', 'where': {'sex': 'F,M'}, 'epsilon': '0.5'}
    >>> query_mapping('rows=sex&where=age:"0-17:a","65, 66"')
    {'rows': 'sex', 'where': {'age': ['0-17:a', '65, 66']}}
    """
    recipe: dict[str, Any] = {}
    for key, value in parse_qsl(text.lstrip("?"), keep_blank_values=True, max_num_fields=200):
        if key == "where":
            name, codes = _condition(value)
            conditions = recipe.setdefault("where", {})
            if name.strip() in conditions:
                raise RecipeError(
                    say(
                        "where names {name} twice. Name it once, codes joined by commas.",
                        name=name.strip()[:60],
                    )
                )
            conditions[name.strip()] = codes
        elif key in recipe:
            raise RecipeError(
                say("{key} is given twice. Write it once, values joined by commas.", key=key)
            )
        else:
            recipe[key] = _tables(value) if key == "tables" else value
    return recipe


def _condition(value: str) -> tuple[str, str | list[str]]:
    """A variable and its codes; they are in double quotes where one holds a comma or a colon."""
    if quoted := _QUOTED.fullmatch(value):
        return quoted["name"], [one.replace('""', '"') for one in _CODE.findall(quoted["codes"])]
    name, mark, codes = value.rpartition(":")
    if not mark:
        raise RecipeError(
            say("where must look like where=sex:F,M, got {value}.", value=repr(value))
        )
    return name, codes


def _tables(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise RecipeError(
            'tables must be a list in JSON, such as [{"rows":["region"]},{"rows":["sex"]}].'
        ) from None
