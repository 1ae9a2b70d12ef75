"""Code lists: the levels a variable of a table can be read at.

A code list here is a level of the variable's hierarchy. Reading a table with one is asking for that
level, by the same flow: its numbers are protected by themselves, and are no sums of others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.domain import TOTAL, Axis, Level
from ..problems import not_found
from .shapes import link
from .shared_tables import SharedTable, code_list_id


def offered(table: SharedTable, name: str, lang: str) -> list[dict[str, Any]]:
    """The code lists that a variable of a table can be read with, its own level left out."""
    told, axis = table.language(lang), table.dimensions[name]
    return [
        {
            "id": code_list_id(table, name, level.name),
            "label": level.label.says(told) or level.name,
            "type": _kind(axis, level),
            "links": [_link(table, name, level, told)],
        }
        for level in axis.variable.levels
        if level.name != axis.level.name and table.offers(axis, level.name)
    ]


def code_list(table: SharedTable, identity: str, lang: str) -> dict[str, Any]:
    """A code list by its name; 404 where this table has none of that name."""
    for name, axis in table.dimensions.items():
        for level in axis.variable.levels:
            if identity == code_list_id(table, name, level.name):
                return _facts(table, name, level, lang)
    raise not_found("code list")


def _facts(table: SharedTable, name: str, level: Level, lang: str) -> dict[str, Any]:
    told, axis = table.language(lang), table.dimensions[name]
    own = {category.code for category in table.categories(name, axis.level.name)}
    inside = _inside(axis.level, level)
    return {
        "id": code_list_id(table, name, level.name),
        "label": level.label.says(told) or level.name,
        "language": told,
        "languages": list(table.asking.data.description.languages) or [told],
        "elimination": table.totals,
        **({"eliminationValueCode": TOTAL} if table.totals else {}),
        "type": _kind(axis, level),
        "values": [
            {
                "code": category.code,
                "label": category.label.says(told),
                "valueMap": [code for code in inside[level.index[category.code]] if code in own],
            }
            for category in table.categories(name, level.name)
        ],
        "links": [
            _link(table, name, level, told),
            link("metadata", f"tables/{table.saved.id}/metadata", told),
        ],
    }


def _inside(own: Level, level: Level) -> list[list[str]]:
    """For each category of a level, those of the table's own level that share a finest one with it."""
    pairs = np.unique(np.stack([level.places, own.places]), axis=1)
    inside: list[list[str]] = [[] for _ in level.codes]
    for place, at in pairs.T.tolist():
        if place >= 0 and at >= 0:
            inside[place].append(own.codes[at])
    return inside


def _kind(axis: Axis, level: Level) -> str:
    """PxWeb's word: a coarser level groups the table's codes, any other is a set of its own."""
    coarser = axis.level.map_to(level) is not None and level.name != axis.level.name
    return "Aggregation" if coarser else "Valueset"


def _link(table: SharedTable, name: str, level: Level, lang: str) -> dict[str, str]:
    return link("codelist", f"codelists/{code_list_id(table, name, level.name)}", lang)
