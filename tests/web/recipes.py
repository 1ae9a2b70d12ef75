"""Recipes drawn at random over what a data set has, in the words of every way to ask for them."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import urlencode

from discreet.core.description import Description
from discreet.core.domain import Variable
from discreet.recipe import query_of

Spoken = dict[str, Any]


def drawn(
    draw: random.Random, description: Description, more: Spoken, *, filters: bool = True
) -> Spoken:
    """A table of one to three variables somewhere on its sides, filtered, laid out in some way."""
    variables = [v for v in description.variables if v.role != "private"]
    draw.shuffle(variables)
    used = variables[: draw.randint(1, min(3, len(variables)))]
    sides: dict[str, list[str]] = {"rows": [], "columns": [], "layers": []}
    for number, variable in enumerate(used):
        level = draw.choice([one for one in variable.levels if len(one) <= 40])
        side = draw.choice(["rows", "columns"] if number < 2 else ["rows", "columns", "layers"])
        sides[side].append(_name(variable, level.name))
    spoken: Spoken = {side: names for side, names in sides.items() if names}
    if filters and draw.random() < 0.5 and len(variables) > len(used):
        other = variables[len(used)]
        level = draw.choice(other.levels)
        codes = draw.sample(level.codes, draw.randint(1, min(3, len(level) - 1)))
        spoken["where"] = {
            _name(other, level.name): sorted(codes, key=level.codes.index),
        }
    return spoken | _layout(draw, sides) | more


def _name(variable: Variable, level: str) -> str:
    return level if len(variable.levels) > 1 else variable.name


def _layout(draw: random.Random, sides: dict[str, list[str]]) -> Spoken:
    """Percentages, decimals and an order of rows, where the sides allow them."""
    spoken: Spoken = {}
    allowed = ["all"]
    allowed += ["rows"] if sides["columns"] else []
    allowed += ["columns"] if sides["rows"] else []
    if draw.random() < 0.6:
        spoken["percent"] = draw.choice(allowed)
        spoken["decimals"] = draw.choice(["0", "1", "2"])
    if len(sides["rows"]) == 1 and draw.random() < 0.4:
        spoken["sort"] = draw.choice(["total,down", "total,up"])
    return spoken


def address(spoken: Spoken) -> str:
    """The recipe as the part of an address after its question mark."""
    return query_of(spoken)


def options(spoken: Spoken) -> list[str]:
    """The recipe as options of `discreet table`."""
    words: list[str] = []
    for name, value in spoken.items():
        if name == "where":
            for level, codes in value.items():
                words += ["--where", f"{level}={','.join(codes)}"]
        else:
            words += [f"--{name}", ",".join(value) if isinstance(value, list) else value]
    return words


def form(**fields: str) -> str:
    """Fields of a form as its body."""
    return urlencode(fields)
