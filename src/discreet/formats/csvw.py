"""CSVW: the metadata that lies beside a CSV file and says what its columns are.

The apostrophe before a text that begins like a formula is announced in the column it occurs in.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from ..core.table import ProtectedTable
from ..languages import ENGLISH, Sentence, say, together
from .escape import escaped
from .flat import Flat, FlatAxis, flatten
from .footnote import about

_APOSTROPHE = say(
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
        "@context": ["http://www.w3.org/ns/csvw", {"@language": table.layout.language or ENGLISH}],
        "url": quote(file_name),
        "dialect": {"encoding": "utf-8", "header": True, "delimiter": ",", "doubleQuote": True},
        "dc:title": facts["title"],
        "dc:identifier": table.provenance.question_hash,
        "dc:bibliographicCitation": facts["citation"],
        "dc:description": facts["guarantee"]["sentence"],
        "rdfs:comment": [note["words"] for note in facts["notes"]],
    }
    for key, value in (
        ("dc:source", table.provenance.source),
        ("dc:license", table.provenance.licence),
        ("dc:publisher", table.provenance.contact),
        ("dc:temporal", table.provenance.period),
    ):
        if value:
            described[key] = table.tells(value)
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
        columns.append(_text(table, axis.name, axis.codes, axis))
        columns.append(_text(table, axis.label_name, axis.labels, axis))
    words = say("Published {measure}; empty: not published.", measure=flat.measure_words)
    every = bool(flat.shown.all())
    columns.append(_column(flat.measure, table.tells(words), "integer", required=every))
    meanings = "; ".join(f"{letter}: {words}" for letter, words in about(table)["status"].items())
    told = together(say("Empty: published as it is."), meanings)
    columns.append(_column("status", table.tells(told)))
    for name, numbers in flat.numbers.items():
        kind = "integer" if numbers.dtype.kind == "i" else "double"
        words = describe_number(name, flat)
        every = bool(flat.shown_in(name).all())
        columns.append(_column(name, table.tells(words), kind, required=every))
    return columns


def describe_number(name: str, flat: Flat) -> Sentence:
    """What a column of numbers holds."""
    if name == "percent" and flat.percent is not None:
        return say("Percentage of {what}, as published.", what=flat.percent.words)
    return _DESCRIBED.get(name, say("A further column of the method; see the notes."))


_DESCRIBED = {
    "noise_sd": say("Standard deviation of the noise in the published number."),
    "lower": say("Lower end of the noise interval."),
    "upper": say("Upper end of the noise interval."),
    "percent_lower": say("Lower end of the noise interval of the percentage."),
    "percent_upper": say("Upper end of the noise interval of the percentage."),
}


def _text(
    table: ProtectedTable, name: str, texts: tuple[str, ...], axis: FlatAxis
) -> dict[str, Any]:
    if texts is not axis.codes:
        words = say("{label}: label", label=axis.label)
    elif axis.total:
        words = say("{label}: code; _T is the total", label=axis.label)
    else:
        words = say("{label}: code", label=axis.label)
    if any(escaped(text) != text for text in texts):
        words = together(words, _APOSTROPHE, between=". ")
    return _column(name, table.tells(words)) | {"null": []}


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
