"""What PxWebApi v2 sends and answers: forms, shapes and formats by the names they have there."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from .. import __version__, formats
from .problems import documented
from .requests import Form, Name
from .responses import Shape

FORMATS = {
    "json-stat2": "json-stat",
    "csv": "csv",
    "px": "px",
    "xlsx": "xlsx",
    "parquet": "parquet",
}
"""The names of formats here, and our own."""
JSON_STAT = "json-stat2"
CONTENTS = "ContentsCode"
"""What a table counts, as PxWeb's readers want it: a dimension of one category."""


class _Form(Form):
    """A body of PxWebApi v2; what it may hold besides means nothing here."""

    model_config = ConfigDict(extra="ignore", strict=True)


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
        "content": {
            "application/json": {"schema": {"type": "object"}},
            **{
                formats.by_name(ours).media_type: {}
                for here, ours in FORMATS.items()
                if here != JSON_STAT
            },
        },
    },
    **documented(409, 415),
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
