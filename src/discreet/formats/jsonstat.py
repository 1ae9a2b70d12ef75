"""JSON-stat 2.0: a dataset whose totals are categories `_T`, so that nobody has to add.

Unpublished numbers are null; `status` has a letter for each cell that needs one, explained in
`extension.status.label`. Several tables are a collection that holds its datasets. A grand total
has no variables, and JSON-stat asks for a dimension: it gets one of role metric.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from ..core.exact import plain
from ..core.table import ProtectedTable
from ..recipe import Layout
from .flat import STATUS_LETTERS, Flat, flatten
from .footnote import about


def save(
    tables: Sequence[ProtectedTable],
    stream: BinaryIO,
    layouts: Sequence[Layout | None],
    language: str = "",
) -> None:
    """Write one table as a dataset, several as a collection."""
    made = [dataset(t, layout, language) for t, layout in zip(tables, layouts, strict=True)]
    whole = made[0] if len(made) == 1 else collection(made)
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    stream.write(text.encode(errors="replace"))


def collection(datasets: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several datasets in one document."""
    return {
        "version": "2.0",
        "class": "collection",
        "label": f"{len(datasets)} tables",
        "link": {"item": list(datasets)},
    }


def dataset(
    table: ProtectedTable, layout: Layout | None = None, language: str = ""
) -> dict[str, Any]:
    """The table as a JSON-stat dataset, in plain values."""
    flat = flatten(table, layout, language)
    facts = about(table, language)
    made: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": table.title,
        "source": table.provenance.source or table.provenance.dataset_title,
        "id": [axis.name for axis in flat.axes],
        "size": list(flat.shape),
        "dimension": {
            axis.name: {
                "label": axis.label,
                "category": {
                    "index": list(axis.codes),
                    "label": dict(zip(axis.codes, axis.labels, strict=True)),
                },
            }
            for axis in flat.axes
        },
        "role": _roles(flat),
        "value": _with_null(flat.values, flat),
        "note": facts["footnote"],
        "extension": _extension(table, flat, facts),
    }
    if not flat.axes:
        made["id"], made["size"] = ["measure"], [1]
        category = {"index": [flat.measure], "label": {flat.measure: flat.measure}}
        made["dimension"] = {"measure": {"label": "Measure", "category": category}}
        made["role"] = {"metric": ["measure"]}
    marked = np.flatnonzero(flat.status)
    if marked.size:
        letters = np.array(STATUS_LETTERS, dtype=object)[flat.status[marked]].tolist()
        made["status"] = dict(zip(map(str, marked.tolist()), letters, strict=True))
    if not made["role"]:
        del made["role"]
    return made


def _extension(table: ProtectedTable, flat: Flat, facts: dict[str, Any]) -> dict[str, Any]:
    extension = {key: value for key, value in facts.items() if key not in ("status", "footnote")}
    extension["measure"] = flat.measure
    extension["status"] = {"label": facts["status"]}
    if table.noise is not None and flat.numbers:
        extension["noise"] = {
            "coverage": plain(table.noise.coverage),
            "sd": _with_null(flat.numbers["noise_sd"], flat),
            "lower": _with_null(flat.numbers["lower"], flat),
            "upper": _with_null(flat.numbers["upper"], flat),
        }
    if flat.extra:
        extension["extra"] = {
            name: _with_null(numbers, flat) for name, numbers in flat.extra.items()
        }
    return extension


def _with_null(numbers: Any, flat: Flat) -> list[Any]:
    listed: list[Any] = numbers.tolist()
    for i in np.flatnonzero(~flat.shown).tolist():
        listed[i] = None
    return listed


def _roles(flat: Flat) -> dict[str, list[str]]:
    names = {"geography": "geo", "time": "time"}
    roles: dict[str, list[str]] = {}
    for axis in flat.axes:
        if axis.kind in names:
            roles.setdefault(names[axis.kind], []).append(axis.name)
    return roles
