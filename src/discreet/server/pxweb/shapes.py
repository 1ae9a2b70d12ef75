"""What PxWebApi v2 sends and answers: forms, shapes and formats by the names they have there."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ... import __version__, formats
from ..negotiation import BYTES, documented_files
from ..problems import documented
from ..requests import Form, Name
from ..responses import Shape
from .any_case import as_spelt

PREFIX = "/pxweb/v2"
FORMATS = {
    "json-stat2": "json-stat",
    "csv": "csv",
    "px": "px",
    "xlsx": "xlsx",
    "parquet": "parquet",
    "html": "html",
}
"""The names of formats here, and our own."""
JSON_STAT = "json-stat2"
CONTENTS = "ContentsCode"
"""What a table counts, as PxWeb's readers want it: a dimension of one category."""


PARAMETERS = (
    *("UseCodes", "UseTexts", "UseCodesAndTexts", "IncludeTitle"),
    *("SeparatorTab", "SeparatorSpace", "SeparatorSemicolon"),
)

TableId = Annotated[str, Path(max_length=64, description="A saved table.")]
Lang = Annotated[str, Query(max_length=20, description="Language of labels.")]
OutputFormat = Annotated[str, Query(max_length=40, description="A format; see /config.")]
FormatParameters = Annotated[
    list[Annotated[str, Field(max_length=200)]] | None,
    Query(
        max_length=len(PARAMETERS),
        description="csv: its separator, and codes, texts or both; other formats hold both. One or "
        "several, between commas.",
    ),
]


def link(rel: str, path: str, lang: str) -> dict[str, str]:
    """A link to an address of this API."""
    return {"rel": rel, "hreflang": lang, "href": f"{PREFIX}/{path}?lang={quote(lang)}"}


class _Form(Form):
    """A body of PxWebApi v2; what it may hold besides means nothing here."""

    model_config = ConfigDict(extra="ignore", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _in_any_case(cls, said: Any) -> Any:
        if not isinstance(said, dict):
            return said
        spelt = {as_spelt(name, cls.model_fields): value for name, value in said.items()}
        return spelt if len(spelt) == len(said) else said


class SelectionForm(_Form):
    """What is wanted of one variable."""

    variableCode: Name
    valueCodes: Annotated[list[Name], Field(max_length=10_000)]
    codelist: Name | None = None


class PlacementForm(_Form):
    """Accepted and not used: JSON-stat has no headings."""

    heading: Annotated[list[Name], Field(max_length=64)] | None = None
    stub: Annotated[list[Name], Field(max_length=64)] | None = None


class DataForm(_Form):
    """A selection of a table, as PxWebApi v2 sends it."""

    selection: Annotated[list[SelectionForm], Field(max_length=64)] = Field(default_factory=list)
    placement: PlacementForm | None = None


class SavedQueryForm(_Form):
    """A query to keep: a table, what of it, and how it shall come."""

    id: Annotated[str, Field(max_length=4_000)] | None = None
    selection: DataForm
    language: Annotated[str, Field(max_length=20)]
    tableId: Annotated[str, Field(max_length=64)]
    outputFormat: Annotated[str, Field(max_length=40)] | None = None
    outputFormatParams: Annotated[
        list[Annotated[str, Field(max_length=40)]], Field(max_length=len(PARAMETERS))
    ] = Field(default_factory=list)


class SelectionPart(BaseModel):
    """What is selected of one variable."""

    variableCode: str
    codelist: str | None = None
    valueCodes: list[str]


class PlacementOut(BaseModel):
    """Which variables stand where."""

    heading: list[str] | None = None
    stub: list[str] | None = None


class VariablesSelection(BaseModel):
    """What is selected of a table."""

    selection: list[SelectionPart]
    placement: PlacementOut | None = None


class SelectionOut(VariablesSelection):
    """A selection, with where to go on."""

    language: str
    links: list[dict[str, str]]


class SavedQueryOut(BaseModel):
    """A saved query."""

    id: str
    selection: VariablesSelection
    language: str
    tableId: str
    outputFormat: str | None = None
    outputFormatParams: list[str]


class ValueMap(Shape):
    """A code of a code list, and the table's own codes that lie in it."""

    code: str
    label: str
    valueMap: list[str]


class CodeListOut(BaseModel):
    """A code list: a level that a variable can be read at."""

    id: str
    label: str
    language: str
    languages: list[str]
    elimination: bool
    eliminationValueCode: str | None = None
    type: str
    values: list[ValueMap]
    links: list[dict[str, str]]


class ConfigOut(Shape):
    """Limits and languages."""

    apiVersion: str = "2.0.0"
    appVersion: str = __version__
    languages: list[dict[str, str]]
    defaultLanguage: str = "en"
    maxDataCells: int
    maxCallsPerTimeWindow: int
    timeWindow: int = 60
    license: str = ""
    sourceReferences: list[dict[str, str]] = Field([])
    defaultDataFormat: str = JSON_STAT
    dataFormats: list[str] = Field(list(FORMATS))
    features: list[dict[str, Any]] = Field([])


class TableOut(Shape):
    """A table in the list."""

    type: str = "Table"
    id: str
    label: str
    description: str = ""
    updated: str
    firstPeriod: str
    lastPeriod: str
    category: str = "public"
    discontinued: bool = False
    source: str
    variableNames: list[str]
    paths: list[list[dict[str, str]]]
    links: list[dict[str, str]]
    language: str


class TablesOut(BaseModel):
    """A page of the list."""

    language: str
    tables: list[TableOut]
    page: dict[str, Any]
    links: list[dict[str, str]]


DATA: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "JSON-stat 2.0, or the format that was asked for.",
        "content": documented_files(
            BYTES, "application/json", *(formats.by_name(ours) for ours in FORMATS.values())
        ),
    },
    **documented(409, 415),
}
METADATA: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "JSON-stat 2.0 without its numbers.",
        "content": documented_files("application/json"),
    },
    **documented(409),
}
VALUE_CODES = {
    "name": "valuecodes",
    "in": "query",
    "required": False,
    "style": "deepObject",
    "explode": True,
    "description": "Codes or expressions by variable: valuecodes[sex]=F,M&valuecodes[month]=[range(1,3)].",
    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
}
CODE_LISTS = {
    "name": "codelist",
    "in": "query",
    "required": False,
    "style": "deepObject",
    "explode": True,
    "description": "A code list by variable, as the metadata name them: another level of it.",
    "schema": {"type": "object", "additionalProperties": {"type": "string"}},
}
