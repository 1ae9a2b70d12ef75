"""The addresses under /pxweb/v2 of code lists and saved queries."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Request, Response

from ...errors import InputError
from ..auth import ASKERS, CurrentAsker, guarded
from ..problems import Problem, documented
from ..service import Serving
from . import code_lists, saved_queries
from .answers import Asked, answer
from .any_case import AnyCaseRoute
from .saved_queries import MOST_NAME
from .shapes import (
    DATA,
    JSON_STAT,
    PREFIX,
    CodeListOut,
    FormatParameters,
    Lang,
    OutputFormat,
    SavedQueryForm,
    SavedQueryOut,
    SelectionOut,
    link,
)
from .shared_tables import found

router = guarded(ASKERS, "tables", "pxweb", AnyCaseRoute)
router.prefix = PREFIX

QueryId = Annotated[str, Path(max_length=MOST_NAME, description="A saved query.")]


@router.get("/codelists/{codelist}", response_model=CodeListOut, response_model_exclude_none=True)
def code_list(
    service: Serving,
    asker: CurrentAsker,
    codelist: Annotated[str, Path(max_length=700, description="A code list of a table.")],
    lang: Lang = "en",
) -> dict[str, Any]:
    """The codes of another level of a variable, and which of the table's own lie in each."""
    with found(service, asker, codelist.partition(":")[0]) as table:
        return code_lists.code_list(table, codelist, lang)


@router.post(
    "/savedqueries",
    status_code=201,
    responses=documented(409, 415),
    response_model_exclude_none=True,
)
def save(request: Request, response: Response, body: SavedQueryForm) -> SavedQueryOut:
    """A name for a query that can be read now; nothing is kept, the name holds the query."""
    name = saved_queries.named(body)
    try:
        _answer(request, body)
    except Problem as problem:
        if problem.status != 404:
            raise
        raise InputError(f"There is no table {body.tableId[:64]!r} here.") from None
    response.headers["Location"] = f"{PREFIX}/savedqueries/{name}"
    return SavedQueryOut(**body.model_copy(update={"id": name}).model_dump())


@router.get("/savedqueries/{query}", response_model_exclude_none=True)
def saved(query: QueryId) -> SavedQueryOut:
    """What a saved query asks for."""
    return SavedQueryOut(**saved_queries.read(query).model_dump())


@router.get("/savedqueries/{query}/selection", response_model_exclude_none=True)
def selection(query: QueryId) -> SelectionOut:
    """The selection of a saved query alone."""
    saved = saved_queries.read(query)
    links = [
        link("self", f"savedqueries/{query}/selection", saved.language),
        link("data", f"savedqueries/{query}/data", saved.language),
    ]
    facts = saved.selection.model_dump()
    return SelectionOut(**facts, language=saved.language, links=links)


@router.get("/savedqueries/{query}/data", response_class=Response, responses=DATA)
def run(
    request: Request,
    query: QueryId,
    lang: Lang | None = None,
    outputFormat: OutputFormat | None = None,
    outputFormatParams: FormatParameters = None,
) -> Response:
    """The data of a saved query, on today's figures."""
    saved = saved_queries.read(query)
    changes = {
        "language": lang or saved.language,
        "outputFormat": outputFormat or saved.outputFormat,
        "outputFormatParams": outputFormatParams or saved.outputFormatParams,
    }
    return _answer(request, saved.model_copy(update=changes))


def _answer(request: Request, query: SavedQueryForm) -> Response:
    return answer(
        request,
        query.tableId,
        query.language,
        Asked.posted(query.selection.selection),
        query.outputFormat or JSON_STAT,
        query.outputFormatParams,
    )
