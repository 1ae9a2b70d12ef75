"""What a loaded version says of itself: how its records were coded, held against a description."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..core.description import Description
from ..core.domain import Level
from ..errors import EngineError
from .coding import Coding

LAYOUT = 1
"""How columns are named and what they hold; an engine opens no other."""

Place = tuple[int, int]
"""A variable's number, and that of its level; 0 for the finest."""


def about(coding: Coding, records: int) -> dict[str, Any]:
    """How records were coded, as plain values to keep beside them."""
    weight = coding.description.weight
    return {
        "layout": LAYOUT,
        "records": records,
        "keys": "own" if coding.key_column else "id" if coding.id_column else "drawn",
        "weight_scale": weight.scale if weight else None,
        "variables": [
            {
                "name": variable.name,
                "finest": level_digest(variable.finest),
                "levels": [
                    {"name": level.name, "digest": level_digest(level)}
                    for level in variable.levels[1:]
                ],
            }
            for variable in coding.variables
        ],
    }


def places(
    said: Mapping[str, Any], version: str, description: Description
) -> dict[tuple[str, str], Place]:
    """Where every variable lies at every level; refuses what was loaded under other categories."""
    if said["layout"] != LAYOUT:
        raise EngineError(f"{version} was loaded by another version of discreet. Load again.")
    loaded = {variable["name"]: (i, variable) for i, variable in enumerate(said["variables"])}
    found: dict[tuple[str, str], Place] = {}
    for variable in description.variables:
        if variable.name not in loaded:
            raise EngineError(f"{variable.name} is not in the loaded data. Load again.")
        i, as_loaded = loaded[variable.name]
        digests = {
            level["name"]: (j, level["digest"]) for j, level in enumerate(as_loaded["levels"], 1)
        }
        digests[variable.finest.name] = 0, as_loaded["finest"]
        for level in variable.levels:
            j, digest = digests.get(level.name, (0, ""))
            if level_digest(level) != digest:
                raise EngineError(
                    f"The categories of {variable.name} at level {level.name} are not those the "
                    "data were loaded under. Load again."
                )
            found[variable.name, level.name] = i, j
    return found


def column(place: Place) -> str:
    """The name of the column of a variable at a level.

    >>> column((3, 0)), column((3, 1))
    ('v3', 'v3_1')
    """
    i, j = place
    return f"v{i}_{j}" if j else f"v{i}"


def level_digest(level: Level) -> str:
    """A digest of a level's codes and map: two descriptions that agree on it code alike."""
    text = json.dumps([level.codes, level.of_finest], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
