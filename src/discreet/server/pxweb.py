"""A read-only PxWebApi v2 face over saved tables, so that tools made for PxWeb read them.

The app includes `router` (the paths begin with /pxweb/v2). It shows saved tables that are shared
and whose data set the asker may see, hold one table, and cost nothing to read: cell-key tables, and
tables whose question was answered before. Reading here never spends: a table that would is not
there. Numbers come through the same flow as everywhere.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Path, Query, Request, Response
from fastapi.responses import JSONResponse

from .. import formats
from ..core.domain import TOTAL
from ..core.table import ProtectedTable
from ..errors import DiscreetError, InputError
from ..formats import reading
from ..formats.reading import codes_of
from ..store.catalogue import Saved
from . import table_answers
from .asking import Asking, Wish, understood
from .auth import ASKERS, Asker, CurrentAsker, guarded
from .problems import Problem, not_found
from .pxweb_selection import cut, split
from .pxweb_shapes import (
    CONTENTS,
    DATA,
    FORMATS,
    JSON_STAT,
    VALUE_CODES,
    ConfigOut,
    DataForm,
    TableOut,
    TablesOut,
)
from .service import Service, Serving

PREFIX = "/pxweb/v2"
router = guarded(ASKERS, "tables", "PxWebApi v2")
router.prefix = PREFIX

_DAY = 86_400.0
_PARTS = ("metadata", "data", "defaultselection")

TableId = Annotated[str, Path(max_length=64, description="A saved table.")]
Lang = Annotated[str, Query(max_length=20, description="Language of labels.")]


@dataclass(frozen=True)
class _Ready:
    """A saved table that can be read here, with its data set open."""

    saved: Saved
    asking: Asking

    @property
    def updated(self) -> datetime:
        """When its figures changed last: with the data they are of, or when it was saved."""
        loaded = datetime.fromisoformat(self.asking.data.manifest.loaded)
        return max(datetime.fromtimestamp(self.saved.created, UTC), loaded)

    def language(self, asked: str) -> str:
        """The language that labels come in where this one is asked for."""
        known = self.asking.data.description.languages
        alike = [name for name in known if name.casefold() == asked.casefold()]
        return alike[0] if alike else next(iter(known), "en")


@router.get("/config", response_model=ConfigOut)
def config(service: Serving, asker: CurrentAsker) -> dict[str, Any]:
    """Limits and languages, as PxWebApi v2 names them."""
    languages: dict[str, None] = {"en": None}
    for name in service.visible(asker):
        with service.dataset(asker, name) as data:
            languages |= dict.fromkeys(data.description.languages)
    return {
        "languages": [{"id": code, "label": code} for code in languages],
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
    seen = set(service.visible(asker))
    for saved in service.catalogue.saved():
        if not saved.shared or saved.dataset not in seen:
            continue
        with _open(service, asker, saved) as ready:
            if ready is None or ready.updated.timestamp() < since:
                continue
            facts = _facts(ready, lang)
            text = " ".join([facts["label"], saved.id, saved.dataset, *facts["variableNames"]])
            if all(word in text.casefold() for word in words):
                listed.append(facts)
    size = pageSize or max(len(listed), 1)
    pages = max(1, -(-len(listed) // size))
    return {
        "language": lang,
        "tables": listed[(pageNumber - 1) * size : pageNumber * size],
        "page": {
            "pageNumber": pageNumber,
            "pageSize": size,
            "totalElements": len(listed),
            "totalPages": pages,
            "links": [],
        },
        "links": [_link("self", "tables", lang)],
    }


@router.get("/tables/{table}", response_model=TableOut)
def one(service: Serving, asker: CurrentAsker, table: TableId, lang: Lang = "en") -> dict[str, Any]:
    """One table."""
    with _must_open(service, asker, table) as ready:
        return _facts(ready, lang)


@router.get("/tables/{table}/metadata", response_class=JSONResponse, responses=DATA)
def metadata(
    request: Request, service: Serving, asker: CurrentAsker, table: TableId, lang: Lang = "en"
) -> JSONResponse:
    """Variables and codes: the JSON-stat table without its numbers."""
    with _must_open(service, asker, table) as ready:
        whole = _whole(ready, lang, request)
    whole["value"] = []
    whole.pop("status", None)
    for name in ("noise", "percent", "extra", "layout"):
        whole["extension"].pop(name, None)
    return JSONResponse(whole)


@router.get("/tables/{table}/defaultselection", response_class=JSONResponse, responses=DATA)
def default_selection(
    request: Request, service: Serving, asker: CurrentAsker, table: TableId, lang: Lang = "en"
) -> JSONResponse:
    """What is answered where nothing is selected: all of it."""
    with _must_open(service, asker, table) as ready:
        whole = _whole(ready, lang, request)
        told = ready.language(lang)
    px = whole["extension"]["px"]
    return JSONResponse(
        {
            "language": told,
            "selection": [
                {"variableCode": name, "codelist": None, "valueCodes": codes_of(whole, name)}
                for name in whole["id"]
            ],
            "placement": {"heading": px["heading"], "stub": px["stub"]},
            "links": [
                _link("self", f"tables/{table}/defaultselection", told),
                _link("data", f"tables/{table}/data", told),
            ],
        }
    )


@router.get(
    "/tables/{table}/data",
    response_class=Response,
    responses=DATA,
    openapi_extra={"parameters": [VALUE_CODES]},
)
def data(
    request: Request,
    table: TableId,
    lang: Lang = "en",
    outputFormat: Annotated[str, Query(max_length=40)] = "json-stat2",
) -> Response:
    """The table or, with `valuecodes[variable]=…`, a part of it; nothing is added up."""
    selection: dict[str, list[str]] = {}
    for key, value in request.query_params.multi_items():
        name = _named(key)
        if name is not None:
            selection.setdefault(name, []).extend(split(value))
    return _answer(request, table, lang, outputFormat, selection)


@router.post("/tables/{table}/data", response_class=Response, responses=DATA)
def post_data(
    request: Request,
    table: TableId,
    body: DataForm | None = None,
    lang: Lang = "en",
    outputFormat: Annotated[str, Query(max_length=40)] = "json-stat2",
) -> Response:
    """The same with the selection in the body; without one, all of it."""
    selection: dict[str, list[str]] = {}
    for part in body.selection if body is not None else ():
        if part.variableCode in selection:
            raise InputError(f"{part.variableCode[:60]!r} is selected twice. Select it once.")
        if part.codelist:
            raise InputError(
                f"There is no codelist {part.codelist[:60]!r}: each level is a table of its own."
            )
        selection[part.variableCode] = list(part.valueCodes)
    return _answer(request, table, lang, outputFormat, selection)


def _answer(
    request: Request, table: str, lang: str, output: str, selection: Mapping[str, list[str]]
) -> Response:
    form = FORMATS.get(output.casefold())
    if form is None:
        raise InputError(
            f"Here tables come as {', '.join(FORMATS)}, got outputFormat={output[:40]!r}. Choose "
            "one of them."
        )
    with _must_open(request.app.state.service, request.state.asker, table) as ready:
        part = cut(_whole(ready, lang, request), selection)
    if output.casefold() != JSON_STAT:
        told = formats.by_name(form)
        name = f"{table}{told.extension}"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(formats.to_bytes(_as_table(part), form), 200, headers, told.media_type)
    part["extension"] = {n: v for n, v in part["extension"].items() if n != "layout"}
    return JSONResponse(part)


def _named(key: str) -> str | None:
    """The variable of a `valuecodes[variable]` parameter; other parameters mean nothing here."""
    folded = key.casefold()
    if folded.startswith("valuecodes[") and key.endswith("]"):
        return key[len("valuecodes[") : -1]
    if folded.startswith("codelist["):
        raise InputError("There are no codelists here: each level is a table of its own.")
    return None


@contextmanager
def _open(service: Service, asker: Asker, saved: Saved) -> Iterator[_Ready | None]:
    """A saved table that can be read for nothing; None where it cannot."""
    with service.dataset(asker, saved.dataset) as opened:
        ready = None
        with contextlib.suppress(DiscreetError):  # its description or policy may have changed since
            asking = Asking(service, asker, opened, understood(asker, opened, saved.recipe))
            short = len(asking.recipe.question.tables) == 1 and not asking.must_be_job
            if short and asking.verdict.allowed and asking.costs_nothing:
                ready = _Ready(saved, asking)
        yield ready


@contextmanager
def _must_open(service: Service, asker: Asker, identity: str) -> Iterator[_Ready]:
    """The same, or 404; a table that is not shared is as if it were not there."""
    shared = [one for one in service.catalogue.saved(identity) if one.shared]
    if not shared or shared[0].dataset not in service.visible(asker):
        raise not_found("table")
    with _open(service, asker, shared[0]) as ready:
        if ready is None:
            raise Problem(
                404,
                "not-found",
                "This table cannot be read here: it would spend budget, has several tables or too "
                f"many cells, or is not allowed any more. See /api/v1/saved/{identity}.",
            )
        yield ready


def _whole(ready: _Ready, asked: str, request: Request) -> dict[str, Any]:
    """The whole table as JSON-stat, with what PxWeb's readers look for."""
    asking, lang = ready.asking, ready.language(asked)
    if lang in asking.data.description.languages:
        asking = replace(asking, wish=Wish(language=lang))
    answer = table_answers.respond(asking)
    request.state.notes.update(asking.notes)
    whole: dict[str, Any] = json.loads(bytes(answer.body))
    whole["label"] = ready.saved.title or whole["label"]
    labels = [whole["dimension"][name]["label"] for name in whole["id"]]
    for name, label in zip(whole["id"], labels, strict=True):
        dimension = whole["dimension"][name]
        codes = dimension["category"]["index"]
        dimension["category"]["index"] = {code: i for i, code in enumerate(codes)}
        if labels.count(label) > 1:
            dimension["label"] = f"{label} ({name})"  # readers name their columns by label
        total = codes[-1] == TOTAL
        dimension["extension"] = {
            "elimination": total,
            **({"eliminationValueCode": TOTAL} if total else {}),
            "show": "value",
            "codelists": [],
        }
    if "metric" not in whole.get("role", {}):
        _add_contents(whole)
    sides = whole["extension"]["layout"]
    stub = [*sides["layers"], *sides["rows"]]
    whole["extension"]["px"] = {
        "tableid": ready.saved.id,
        "decimals": 0,
        "aggregallowed": False,
        "contents": whole["extension"]["measure"],
        "language": lang,
        "subject-code": ready.saved.dataset,
        "stub": stub,
        "heading": [name for name in whole["id"] if name not in stub],
    }
    return whole


def _add_contents(whole: dict[str, Any]) -> None:
    measure = whole["extension"]["measure"]
    whole["id"] = [*whole["id"], CONTENTS]
    whole["size"] = [*whole["size"], 1]
    whole["role"] = {**whole.get("role", {}), "metric": [CONTENTS]}
    whole["dimension"][CONTENTS] = {
        "label": "contents",
        "category": {
            "index": {"count": 0},
            "label": {"count": measure},
            "unit": {"count": {"base": measure, "decimals": 0}},
        },
        "extension": {"elimination": True, "show": "value", "codelists": []},
    }


def _as_table(part: dict[str, Any]) -> ProtectedTable:
    """The same as a table that any format writes."""
    left = [name for name in part["id"] if name != CONTENTS]
    plain = {**part, "id": left, "size": part["size"][: len(left)]}
    if part["role"].get("metric") == [CONTENTS]:
        plain["role"] = {role: names for role, names in part["role"].items() if role != "metric"}
    sides = part["extension"]["layout"]
    kept = {side: [n for n in sides[side] if n in left] for side in ("layers", "rows", "columns")}
    plain["extension"] = {**part["extension"], "layout": {**sides, **kept}}
    (table,) = reading.tables(plain)
    return table


def _facts(ready: _Ready, asked: str) -> dict[str, Any]:
    lang = ready.language(asked)
    description, saved = ready.asking.data.description, ready.saved
    spec = ready.asking.recipe.question.tables[0]
    axes = [description.axis(ref) for ref in spec.axes]
    times = [axis.level.codes for axis in axes if axis.variable.kind == "time"]
    title = saved.title or f"{description.title.says(lang)}: " + " and ".join(
        axis.name for axis in axes
    )
    return {
        "id": saved.id,
        "label": title,
        "updated": ready.updated.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "firstPeriod": times[0][0] if times and times[0] else "",
        "lastPeriod": times[0][-1] if times and times[0] else "",
        "source": description.source,
        "variableNames": [axis.level.label.says(lang) or axis.name for axis in axes],
        "paths": [[{"id": saved.dataset, "label": description.title.says(lang)}]],
        "links": [
            _link("self", f"tables/{saved.id}", lang),
            *(_link(part, f"tables/{saved.id}/{part}", lang) for part in _PARTS),
        ],
        "language": lang,
    }


def _link(rel: str, path: str, lang: str) -> dict[str, str]:
    return {"rel": rel, "hreflang": lang, "href": f"{PREFIX}/{path}?lang={quote(lang)}"}
