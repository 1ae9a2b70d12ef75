"""A recipe written back: as a mapping, as its short form (a query string), as YAML.

Reading back what any of the three says gives the same recipe.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from ..core.exact import plain
from ..core.question import Layout, Recipe, TableSpec

_SPECIAL = frozenset(',:"')


def to_mapping(recipe: Recipe) -> dict[str, Any]:
    """A recipe as the mapping that reads back to it: one table at the top, several in a list."""
    question = recipe.question
    tables = [
        _table(spec, layout) for spec, layout in zip(question.tables, recipe.layouts, strict=True)
    ]
    one, *more = tables
    mapping: dict[str, Any] = {"tables": tables} if more else one or {"rows": []}
    mapping |= {"method": question.method, **question.settings, **recipe.treatment.settings}
    if recipe.title:
        mapping["title"] = recipe.title
    if language := recipe.layouts[0].language:
        mapping["language"] = language
    return mapping


def to_query(recipe: Recipe) -> str:
    """The short form of a recipe; several tables stand in it as JSON."""
    return query_of(to_mapping(recipe))


def query_of(mapping: Mapping[str, Any]) -> str:
    """The short form of a mapping as `to_mapping` writes it.

    >>> query_of({"rows": ["sex"], "where": {"age": ["65+", "a,b"]}, "epsilon": "0.1"})
    'rows=sex&where=age:%2265%2B%22,%22a,b%22&epsilon=0.1'
    """
    parts: list[tuple[str, str]] = []
    for key, value in mapping.items():
        if key == "where":
            parts += [(key, f"{name}:{_codes(codes)}") for name, codes in value.items()]
        elif key == "tables":
            parts.append((key, json.dumps(value, ensure_ascii=False, separators=(",", ":"))))
        elif isinstance(value, list):
            parts.append((key, ",".join(value)))
        else:
            parts.append((key, "yes" if value is True else str(value)))
    return urlencode(parts, safe=":,/")


def to_yaml(recipe: Recipe) -> str:
    """A recipe as a file that `discreet release` reads."""
    import yaml

    style: dict[str, Any] = {"sort_keys": False, "default_flow_style": None}
    return str(yaml.safe_dump(to_mapping(recipe), allow_unicode=True, **style))


def _table(spec: TableSpec, layout: Layout) -> dict[str, Any]:
    said = {
        "rows": list(layout.rows),
        "columns": list(layout.columns),
        "layers": list(layout.layers),
        "where": {f"{c.variable}:{c.level}": list(c.codes) for c in spec.where},
        "totals": "" if spec.totals else "none",
        "weighted": spec.weighted,
        "percent": layout.percent,
        "sort": "" if layout.sort is None else str(layout.sort),
        "decimals": "" if layout.decimals is None else str(layout.decimals),
        "empty": layout.empty,
        "share": "" if spec.share is None else plain(spec.share),
        "name": spec.name,
    }
    return {key: value for key, value in said.items() if value}


def _codes(codes: list[str]) -> str:
    """Codes joined by commas; all in double quotes where one could be read another way.

    >>> _codes(["F", "M"]), _codes(["65+", 'a "b", c'])
    ('F,M', '"65+","a ""b"", c"')
    """
    if all(code.strip() == code != "" and not _SPECIAL & set(code) for code in codes):
        return ",".join(codes)
    return ",".join('"' + code.replace('"', '""') + '"' for code in codes)
