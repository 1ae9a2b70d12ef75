"""CSVW: the metadata that lies beside a CSV file and says what its columns are.

The apostrophe before a text that begins like a formula is announced in the column it occurs in.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from ..core.table import ProtectedTable
from .escape import escaped
from .flat import Flat, FlatAxis, flatten
from .footnote import about

_APOSTROPHE = (
    "A text that begins with = + - @, tab or a line end has one apostrophe in front, so that no "
    "spreadsheet runs it; it is not part of the text."
)


def companion(table: ProtectedTable, file_name: str) -> bytes:
    """The metadata file as bytes, for a CSV file of that name."""
    text = json.dumps(metadata(table, file_name), ensure_ascii=False, indent=2)
    return (text + "\n").encode(errors="replace")


def metadata(table: ProtectedTable, file_name: str) -> dict[str, Any]:
    """The CSVW description of the CSV file of that name."""
    flat = flatten(table)
    facts = about(table, flat)
    described: dict[str, Any] = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": table.layout.language or "en"}],
        "url": quote(file_name),
        "dialect": {"encoding": "utf-8", "header": True, "delimiter": ",", "doubleQuote": True},
        "dc:title": table.title,
        "dc:identifier": table.provenance.question_hash,
        "dc:bibliographicCitation": facts["citation"],
        "dc:description": table.guarantee.sentence(),
        "rdfs:comment": [note["words"] for note in facts["notes"]],
    }
    for key, value in (
        ("dc:source", table.provenance.source),
        ("dc:license", table.provenance.licence),
        ("dc:publisher", table.provenance.contact),
        ("dc:temporal", table.provenance.period),
    ):
        if value:
            described[key] = value
    schema: dict[str, Any] = {"columns": _columns(table, flat)}
    if flat.axes:
        schema["primaryKey"] = [_variable(axis.name) for axis in flat.axes]
    return described | {"tableSchema": schema, "notes": [facts]}


def _variable(name: str) -> str:
    """A column's name as CSVW allows it: letters, digits, `_` and percent signs."""
    safe = quote(name, safe="").replace("-", "%2D").replace("~", "%7E")
    return f"column{safe}" if safe.startswith("_") else safe


def _columns(table: ProtectedTable, flat: Flat) -> list[dict[str, Any]]:
    columns: list[dict[str, Any]] = []
    for axis in flat.axes:
        columns.append(_text(axis.name, f"{axis.label}: code", axis.codes, axis))
        columns.append(_text(axis.label_name, f"{axis.label}: label", axis.labels, axis))
    words = f"Published {flat.measure}; empty: not published."
    columns.append(_column(flat.measure, words, "integer", required=bool(flat.shown.all())))
    meanings = "; ".join(f"{letter}: {words}" for letter, words in about(table)["status"].items())
    columns.append(_column("status", f"Empty: published as it is. {meanings}".strip()))
    described = {
        "noise_sd": "Standard deviation of the noise in the published number.",
        "lower": "Lower end of the noise interval.",
        "upper": "Upper end of the noise interval.",
    }
    if flat.percent is not None:
        described |= {
            "percent": f"Percentage of {flat.percent.words}, as published.",
            "percent_lower": "Lower end of the noise interval of the percentage.",
            "percent_upper": "Upper end of the noise interval of the percentage.",
        }
    for name, numbers in flat.numbers.items():
        kind = "integer" if numbers.dtype.kind == "i" else "double"
        words = described.get(name, "A further column of the method; see the notes.")
        columns.append(_column(name, words, kind, required=bool(flat.shown_in(name).all())))
    return columns


def _text(name: str, words: str, texts: tuple[str, ...], axis: FlatAxis) -> dict[str, Any]:
    if axis.total:
        words += "; _T is the total" if texts is axis.codes else ""
    if any(escaped(text) != text for text in texts):
        words += f". {_APOSTROPHE}"
    return _column(name, words) | {"null": []}


def _column(
    name: str, words: str, datatype: str = "string", *, required: bool = False
) -> dict[str, Any]:
    return {
        "name": _variable(name),
        "titles": name,
        "datatype": datatype,
        "null": "",
        "required": required,
        "dc:description": words,
    }
