"""PxWebApi v2 as its official OpenAPI document says it, written down in words of our own.

Addresses, parameters, statuses and shapes are the official ones (PxTools/PxApiSpecs, PxAPI-2.yml, version
2.0); `FAULTS` lists where that document cannot be held to, each with the reason, and `document()`
is the official one with these set right. `document(as_published=True)` leaves them in.
"""

from __future__ import annotations

from typing import Any

FAULTS = {
    "updated is a date": "Its pattern allows a date only, its format and the reference server's "
    "answers are date-times.",
    "data are text": "The data of a table are typed as text in every format, JSON-stat too; the "
    "reference server answers with an object, and names media types that the document lacks "
    "(text/csv, and those of px, xlsx and parquet).",
    "a selection requires values": "VariableSelection requires `values`, and its property is "
    "`valueCodes`.",
    "tables have no faults": "/tables documents the status 200 only; parameters that are no numbers "
    "are 400 on the reference server.",
    "numbers without bounds": "pageNumber and pageSize may be any integer, 0 and below too.",
    "any text is a code": "valuecodes takes any text as valid, also a code that no table has, which "
    "is 400; so do codelist, lang and the names of formats.",
    "no status for methods and forms": "405, 406, 413 and 415 are documented nowhere.",
}

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_COUNT = {"type": "integer", "minimum": 0}
_SOME = {"type": "integer", "minimum": 1}
_DATE = r"^((19|20)\d\d)\-(0?[1-9]|1[012])\-(0?[1-9]|[12][0-9]|3[01])$"
FORMATS = ["px", "json-stat2", "csv", "xlsx", "html", "json-px", "parquet"]
PARAMETERS = [
    *("UseCodes", "UseTexts", "UseCodesAndTexts", "IncludeTitle"),
    *("SeparatorTab", "SeparatorSpace", "SeparatorSemicolon"),
]
MEDIA_TYPES = [
    "text/csv",
    "text/html",
    "text/x-px",
    "application/vnd.apache.parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
]


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _many(name: str) -> dict[str, Any]:
    return {"type": "array", "items": _ref(name)}


def _shape(required: str, *, closed: bool = False, **parts: Any) -> dict[str, Any]:
    """An object; `required` names parts, separated by spaces."""
    shape: dict[str, Any] = {"type": "object", "properties": parts}
    if required:
        shape["required"] = required.split()
    return shape | ({"additionalProperties": False} if closed else {})


def _by_name(kind: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": kind}


def _either(kind: dict[str, Any]) -> dict[str, Any]:
    return kind | {"nullable": True}


def _schemas(as_published: bool) -> dict[str, Any]:
    updated = {"type": "string", "format": "date-time", "nullable": True}
    if as_published:
        updated["pattern"] = _DATE
    selected = "variableCode values" if as_published else "variableCode valueCodes"
    table = _shape(
        "type id label updated firstPeriod lastPeriod variableNames links",
        type={"type": "string", "enum": ["Heading", "FolderInformation", "Table"]},
        id=_TEXT,
        label=_either(_TEXT),
        description=_either(_TEXT),
        sortCode=_TEXT,
        tags=_TEXTS,
        updated=updated,
        firstPeriod=_either(_TEXT),
        lastPeriod=_either(_TEXT),
        category={"type": "string", "enum": ["internal", "public", "private", "section"]},
        variableNames=_TEXTS,
        discontinued={"type": "boolean", "nullable": True},
        source=_TEXT,
        subjectCode=_TEXT,
        timeUnit={
            "type": "string",
            "enum": ["Annual", "Quarterly", "Monthly", "Weekly", "Other"],
        },
        paths={"type": "array", "items": _many("PathElement")},
        links=_either(_many("Link")),
    )
    language = {"allOf": [_ref("Table"), _shape("language", language=_TEXT)]}
    return {
        "Table": table,
        "TableResponse": language,
        "PathElement": _shape("id label", id=_TEXT, label=_TEXT),
        "Link": _shape("rel hreflang href", rel=_TEXT, hreflang=_TEXT, href=_TEXT),
        "PageInfo": _shape(
            "pageNumber pageSize totalElements totalPages",
            pageNumber=_SOME,
            pageSize=_SOME,
            totalElements=_COUNT,
            totalPages=_SOME,
            links=_many("Link"),
        ),
        "TablesResponse": _shape(
            "language tables page",
            language=_TEXT,
            tables=_many("Table"),
            page=_ref("PageInfo"),
            links=_many("Link"),
        ),
        "ConfigResponse": _shape(
            "apiVersion appVersion languages defaultLanguage maxDataCells maxCallsPerTimeWindow "
            "timeWindow license defaultDataFormat dataFormats",
            apiVersion=_TEXT,
            appVersion=_TEXT,
            languages={"type": "array", "items": _shape("id label", id=_TEXT, label=_TEXT)},
            defaultLanguage=_TEXT,
            maxDataCells=_COUNT,
            maxCallsPerTimeWindow=_SOME,
            timeWindow=_SOME,
            license=_TEXT,
            sourceReferences={
                "type": "array",
                "items": _shape("language text", language=_TEXT, text=_TEXT),
            },
            defaultDataFormat=_TEXT,
            dataFormats=_TEXTS,
            features={
                "type": "array",
                "items": _shape(
                    "id",
                    id=_TEXT,
                    params={
                        "type": "array",
                        "items": _shape("key value", key=_TEXT, value=_TEXT),
                    },
                ),
            },
        ),
        "VariableSelection": _shape(
            selected, variableCode=_TEXT, codeList=_either(_TEXT), valueCodes=_TEXTS
        ),
        "VariablesSelection": _shape(
            "selection",
            selection=_many("VariableSelection"),
            placement=_shape("", heading=_TEXTS, stub=_TEXTS),
        ),
        "SelectionResponse": {
            "allOf": [
                _ref("VariablesSelection"),
                _shape("language links", language=_TEXT, links=_many("Link")),
            ]
        },
        "SavedQuery": _shape(
            "selection language tableId",
            id=_TEXT,
            selection=_ref("VariablesSelection"),
            language=_TEXT,
            tableId=_TEXT,
            outputFormat={"type": "string", "enum": FORMATS},
            outputFormatParams={
                "type": "array",
                "items": {"type": "string", "enum": PARAMETERS},
            },
        ),
        "CodeListInformation": _shape(
            "id label type links",
            id=_TEXT,
            label=_TEXT,
            type={"type": "string", "enum": ["Aggregation", "Valueset"]},
            links=_many("Link"),
        ),
        "CodeListResponse": _shape(
            "id label language languages type values links",
            id=_TEXT,
            label=_TEXT,
            language=_TEXT,
            languages=_TEXTS,
            elimination={"type": "boolean"},
            eliminationValueCode=_TEXT,
            type={"type": "string", "enum": ["Aggregation", "Valueset"]},
            values={
                "type": "array",
                "items": _shape(
                    "code label valueMap", code=_TEXT, label=_TEXT, valueMap=_TEXTS, notes={}
                ),
            },
            links=_many("Link"),
        ),
        "Problem": _shape(
            "",
            type={"type": "string", "format": "uri"},
            title=_TEXT,
            status={"type": "integer", "minimum": 100, "maximum": 599},
            detail=_TEXT,
            instance={"type": "string", "format": "uri"},
        ),
        **_dataset(),
    }


def _dataset() -> dict[str, Any]:
    names = {**_TEXTS, "uniqueItems": True}
    category = _shape(
        "",
        closed=True,
        index=_by_name({"type": "integer"}),
        label={**_by_name(_TEXT), "minProperties": 1},
        note=_by_name(_TEXTS),
        child=_by_name(names),
        unit=_by_name(_shape("", base=_TEXT, decimals={"type": "integer"})),
    )
    dimension = _shape(
        "",
        closed=True,
        label=_TEXT,
        note=_TEXTS,
        category=category,
        extension=_shape(
            "",
            elimination={"type": "boolean"},
            eliminationValueCode=_TEXT,
            noteMandatory=_by_name({"type": "boolean"}),
            refperiod=_by_name(_TEXT),
            show=_TEXT,
            codeLists=_many("CodeListInformation"),
        ),
        link=_shape("", describedby={"type": "array"}),
    )
    px = _shape(
        "",
        tableid=_TEXT,
        decimals={"type": "integer"},
        aggregallowed={"type": "boolean"},
        language=_TEXT,
        contents=_TEXT,
        heading=_TEXTS,
        stub=_TEXTS,
        matrix=_TEXT,
        **{
            "subject-code": _TEXT,
            "subject-area": _TEXT,
            "official-statistics": {"type": "boolean"},
        },
    )
    whole = _shape(
        "version class value id size dimension",
        closed=True,
        version={"type": "string", "enum": ["2.0"]},
        **{"class": {"type": "string", "enum": ["dataset"]}},
        href={"type": "string", "format": "uri"},
        label=_TEXT,
        source=_TEXT,
        updated=_TEXT,
        link=_by_name({"type": "array"}),
        note=_TEXTS,
        role=_shape("", closed=True, time=names, geo=names, metric=names),
        id=names,
        size={"type": "array", "items": {"type": "integer"}},
        dimension=_by_name(_ref("Dimension")),
        extension=_shape("", px=px, noteMandatory=_by_name({"type": "boolean"})),
        value=_either({"type": "array", "items": {"type": "number", "nullable": True}}),
        status=_by_name(_TEXT),
    )
    return {"Dimension": dimension, "Dataset": whole}


def _query(name: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, **more}


def _deep(name: str, kind: dict[str, Any]) -> dict[str, Any]:
    return _query(name, _by_name(kind), style="deepObject", explode=True)


def document(
    ids: dict[str, list[str]] | None = None, *, as_published: bool = False
) -> dict[str, Any]:
    """The document; `ids` are names that are there, by table, codelist and query."""
    known = ids or {}
    lang = _query("lang", _either(_TEXT) if as_published else {**_TEXT, "enum": ["en", "de", "xx"]})
    placed = [_query(side, _TEXTS, style="form", explode=False) for side in ("heading", "stub")]
    formats = [
        _query("outputFormat", {"type": "string", "enum": FORMATS}),
        _query(
            "outputFormatParams",
            {"type": "array", "items": {"type": "string", "enum": PARAMETERS}},
        ),
    ]
    count = {"type": "integer"} if as_published else _SOME

    def named(what: str) -> dict[str, Any]:
        some = {**_TEXT, "enum": [*known[what], "none"]} if known.get(what) else _TEXT
        return {"name": "id", "in": "path", "required": True, "schema": some}

    def answers(schema: dict[str, Any], *statuses: int, good: int = 200) -> dict[str, Any]:
        found = {str(good): _sent(schema)}
        for status in statuses:
            found[str(status)] = _problem(status)
        if not as_published:
            for status in (400, 405, 406, 413, 415, 429):
                found.setdefault(str(status), _problem(status))
        return found

    data = _ref("Dataset") if not as_published else _TEXT
    whole = answers(data, 400, 403, 404, 429)
    kinds = ["text/plain", "application/xml", "application/octet-stream"]
    for kind in kinds if as_published else MEDIA_TYPES:
        whole["200"]["content"][kind] = {}
    usual = (400, 404, 429)

    def get(name: str, parameters: list[Any], responses: dict[str, Any]) -> dict[str, Any]:
        return {"get": {"operationId": name, "parameters": parameters, "responses": responses}}

    def posting(name: str, parameters: list[Any], body: str, responses: Any) -> dict[str, Any]:
        sent = {"content": {"application/json": {"schema": _ref(body)}}}
        return {
            "post": {
                "operationId": name,
                "parameters": parameters,
                "requestBody": sent,
                "responses": responses,
            }
        }

    table = [lang, named("table")]
    listed = [
        lang,
        _query("query", _TEXT),
        _query("pastDays", _SOME),
        _query("includeDiscontinued", {"type": "boolean"}),
        _query("pageNumber", count),
        _query("pageSize", count),
    ]
    selecting = [_deep("valuecodes", _TEXTS), _deep("codelist", _TEXT)]
    paths = {
        "/config": get("GetApiConfiguration", [], answers(_ref("ConfigResponse"), *usual)),
        "/tables": get("ListAllTables", listed, answers(_ref("TablesResponse"))),
        "/tables/{id}": get("GetTableById", table, answers(_ref("TableResponse"), *usual)),
        "/tables/{id}/metadata": get(
            "GetMetadataById",
            [*table, _query("defaultSelection", {"type": "boolean"}), selecting[1]],
            answers(_ref("Dataset"), *usual),
        ),
        "/tables/{id}/defaultselection": get(
            "GetDefaultSelection", table, answers(_ref("SelectionResponse"), *usual)
        ),
        "/codelists/{id}": get(
            "GetTableCodeListById",
            [lang, named("codelist")],
            answers(_ref("CodeListResponse"), *usual),
        ),
        "/tables/{id}/data": {
            **get("GetTableData", [*table, *selecting, *formats, *placed], whole),
            **posting("GetTableDataByPost", [*table, *formats], "VariablesSelection", whole),
        },
        "/savedqueries": posting(
            "CreateSaveQuery",
            [],
            "SavedQuery",
            answers(_ref("SavedQuery"), 400, 429, good=201),
        ),
        "/savedqueries/{id}": get(
            "GetSaveQuery", [named("query")], answers(_ref("SavedQuery"), *usual)
        ),
        "/savedqueries/{id}/data": get("RunSaveQuery", [lang, named("query"), *formats], whole),
    }
    return {
        "openapi": "3.0.2",
        "info": {"title": "PxWebApi", "version": "2.0"},
        "paths": paths,
        "components": {"schemas": _schemas(as_published)},
    }


def _sent(schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "Success", "content": {"application/json": {"schema": schema}}}


def _problem(status: int) -> dict[str, Any]:
    content = {"application/problem+json": {"schema": _ref("Problem")}}
    return {"description": f"Error {status}", "content": content}
