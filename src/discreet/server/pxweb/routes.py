"""The addresses under /pxweb/v2: limits, tables, metadata and data.

They show saved tables that are shared and whose data set the asker may see, hold one table, and
cost nothing to read: cell-key tables, and tables whose question was answered before. Reading here
never spends: a table that would is not there.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import JSONResponse

from ...formats.reading import codes_of
from ...languages import ENGLISH, known
from ..auth import ASKERS, Asker, CurrentAsker, guarded
from ..service import Service, Serving
from . import code_lists
from .answers import Asked, answer
from .any_case import AnyCaseRoute
from .selection import named
from .shapes import (
    CODE_LISTS,
    DATA,
    JSON_STAT,
    METADATA,
    PREFIX,
    VALUE_CODES,
    ConfigOut,
    DataForm,
    FormatParameters,
    Lang,
    OutputFormat,
    SelectionOut,
    TableId,
    TableOut,
    TablesOut,
    link,
)
from .shared_tables import SharedTable, as_json_stat, found, levels_of, opened

router = guarded(ASKERS, "tables", "pxweb", AnyCaseRoute)
router.prefix = PREFIX

_DAY = 86_400.0
_PARTS = ("metadata", "data", "defaultselection")


@router.get("/config", response_model=ConfigOut)
def config(service: Serving, asker: CurrentAsker) -> dict[str, Any]:
    """Limits and languages, as PxWebApi v2 names them."""
    return {
        "languages": [{"id": code, "label": code} for code in _languages(service, asker)],
        "maxDataCells": service.settings.long_cells,
        "maxCallsPerTimeWindow": service.buckets.limit,
        "features": [
            {
                "id": "CORS",
                "params": [{"key": "enabled", "value": str(bool(service.settings.readable_from))}],
            }
        ],
    }


@router.get("/tables", response_model=TablesOut)
def tables(
    service: Serving,
    asker: CurrentAsker,
    lang: Lang = "en",
    query: Annotated[str, Query(max_length=200)] = "",
    pastDays: Annotated[int | None, Query(ge=0, le=36_500)] = None,
    includeDiscontinued: bool = False,
    pageNumber: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    pageSize: Annotated[int, Query(ge=0, le=10_000)] = 20,
) -> dict[str, Any]:
    """The tables that can be read here, newest first."""
    words = query.casefold().split()
    since = 0.0 if pastDays is None else time.time() - pastDays * _DAY
    listed = []
    seen = {name for name, _ in service.readable(asker)}
    for saved in service.catalogue.saved():
        if not saved.shared or saved.dataset not in seen:
            continue
        with opened(service, asker, saved) as table:
            if table is None or table.updated.timestamp() < since:
                continue
            facts = _facts(table, lang)
            text = " ".join([facts["label"], saved.id, saved.dataset, *facts["variableNames"]])
            if all(word in text.casefold() for word in words):
                listed.append(facts)
    told = named(lang, _languages(service, asker)) or ENGLISH
    size = pageSize or max(len(listed), 1)
    pages = max(1, -(-len(listed) // size))
    return {
        "language": told,
        "tables": listed[(pageNumber - 1) * size : pageNumber * size],
        "page": {
            "pageNumber": pageNumber,
            "pageSize": size,
            "totalElements": len(listed),
            "totalPages": pages,
            "links": [],
        },
        "links": [link("self", "tables", told)],
    }


@router.get("/tables/{table}", response_model=TableOut)
def one(service: Serving, asker: CurrentAsker, table: TableId, lang: Lang = "en") -> dict[str, Any]:
    """One table."""
    with found(service, asker, table) as shown:
        return _facts(shown, lang)


@router.get(
    "/tables/{table}/metadata",
    response_class=JSONResponse,
    responses=METADATA,
    openapi_extra={"parameters": [CODE_LISTS]},
)
def metadata(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    table: TableId,
    lang: Lang = "en",
    defaultSelection: Annotated[
        bool, Query(description="As nothing selected gives it: all of it, either way.")
    ] = False,
) -> JSONResponse:
    """Variables, codes and code lists: the JSON-stat table without its numbers."""
    with found(service, asker, table) as shown:
        asked = Asked.of(request)
        whole = as_json_stat(shown, lang, request, levels_of(shown, asked.code_lists))
        for name in shown.dimensions:
            offered = code_lists.offered(shown, name, lang)
            extension = whole["dimension"][name]["extension"]
            # one name is the document's, the other what readers of older servers look for
            extension["codeLists"] = extension["codelists"] = offered
    whole["value"] = []
    whole.pop("status", None)
    for name in ("noise", "percent", "extra", "layout"):
        whole["extension"].pop(name, None)
    return JSONResponse(whole)


@router.get(
    "/tables/{table}/defaultselection",
    response_model=SelectionOut,
    response_model_exclude_none=True,
)
def default_selection(
    request: Request, service: Serving, asker: CurrentAsker, table: TableId, lang: Lang = "en"
) -> dict[str, Any]:
    """What is answered where nothing is selected: all of it."""
    with found(service, asker, table) as shown:
        whole = as_json_stat(shown, lang, request, {})
        told = shown.language(lang)
    px = whole["extension"]["px"]
    return {
        "language": told,
        "selection": [
            {"variableCode": name, "codelist": None, "valueCodes": codes_of(whole, name)}
            for name in whole["id"]
        ],
        "placement": {"heading": px["heading"], "stub": px["stub"]},
        "links": [
            link("self", f"tables/{table}/defaultselection", told),
            link("data", f"tables/{table}/data", told),
        ],
    }


@router.get(
    "/tables/{table}/data",
    response_class=Response,
    responses=DATA,
    openapi_extra={"parameters": [VALUE_CODES, CODE_LISTS]},
)
def data(
    request: Request,
    table: TableId,
    lang: Lang = "en",
    outputFormat: OutputFormat = JSON_STAT,
    outputFormatParams: FormatParameters = None,
) -> Response:
    """The table or, with `valuecodes[variable]=…`, a part of it; nothing is added up."""
    return answer(request, table, lang, Asked.of(request), outputFormat, outputFormatParams)


@router.post("/tables/{table}/data", response_class=Response, responses=DATA)
def post_data(
    request: Request,
    table: TableId,
    body: DataForm | None = None,
    lang: Lang = "en",
    outputFormat: OutputFormat = JSON_STAT,
    outputFormatParams: FormatParameters = None,
) -> Response:
    """The same with the selection in the body; without one, all of it."""
    asked = Asked.posted(body.selection if body is not None else ())
    return answer(request, table, lang, asked, outputFormat, outputFormatParams)


def _languages(service: Service, asker: Asker) -> list[str]:
    """The languages there are: of sentences, and of the labels of what the asker may see."""
    languages: dict[str, None] = dict.fromkeys(known())
    for _, data in service.readable(asker):
        languages |= dict.fromkeys(data.description.languages)
    return list(languages)


def _facts(table: SharedTable, asked: str) -> dict[str, Any]:
    lang = table.language(asked)
    description, saved = table.asking.data.description, table.saved
    names = [axis.level.label.says(lang) or axis.name for axis in table.axes]
    periods = table.periods
    return {
        "id": saved.id,
        "label": table.title(lang),
        "updated": table.updated.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "firstPeriod": periods[0] if periods else "",
        "lastPeriod": periods[-1] if periods else "",
        "source": description.source,
        "variableNames": names,
        "paths": [[{"id": saved.dataset, "label": description.title.says(lang)}]],
        "links": [
            link("self", f"tables/{saved.id}", lang),
            *(link(part, f"tables/{saved.id}/{part}", lang) for part in _PARTS),
        ],
        "language": lang,
    }
