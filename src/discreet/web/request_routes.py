"""Asking the custodian: a wish in words, the question that goes with it, and what was answered."""

from __future__ import annotations

import datetime
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from ..core.table_titles import title_of
from ..errors import DiscreetError, InputError
from ..languages import say
from ..recipe import Recipe, to_mapping
from ..server.auth import KEEPERS, Asker, CurrentAsker, guarded
from ..server.routes.catalogue import DataSetId
from ..server.service import Service, Serving, told
from ..workspace import DataSet
from .address import Place, read
from .builder import recipe_of
from .frame import PageRoute, fields, first, page, voice

asking = guarded(KEEPERS, "tables", "pages", PageRoute)
ROUTERS = [asking]

At = Annotated[str, Query(max_length=8000)]
LONGEST = 2000


@asking.get("/build/{dataset}/ask", include_in_schema=False)
def wish(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    at: At = "",
    sent: Annotated[bool, Query()] = False,
) -> HTMLResponse:
    """The form, and one's earlier wishes with their answers."""
    with service.dataset(asker, dataset) as data:
        return _form(request, service, asker, data, at, sent=sent)


@asking.post("/build/{dataset}/ask", include_in_schema=False)
async def send(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId
) -> Response:
    """Send the wish; what cannot be sent comes back with its words."""
    said = await fields(request)
    return await run_in_threadpool(_sent, request, service, asker, dataset, said)


def _sent(
    request: Request, service: Service, asker: Asker, dataset: str, said: dict[str, list[str]]
) -> Response:
    at, words = first(said, "at")[:8000], first(said, "words").strip()
    request.state.notes["dataset"] = dataset
    with service.dataset(asker, dataset) as data:
        try:
            if not 1 <= len(words) <= LONGEST:
                raise InputError(
                    say("Say in up to {most} letters what you need, and why.", most=LONGEST)
                )
            recipe = _recipe(request, asker, data, at)
            wanted = {} if recipe is None else to_mapping(recipe)
            service.inbox.ask(dataset, wanted, words, asker.user)
        except InputError as error:
            return _form(request, service, asker, data, at, words=words, wrong=error.message)
    return RedirectResponse(f"/build/{dataset}/ask?sent=true", 303)


def _recipe(request: Request, asker: Asker, data: DataSet, at: str) -> Recipe | None:
    """The question a wish is about, whether or not the rules allow it."""
    mapping, _ = read(parse_qsl(at, keep_blank_values=True))
    return recipe_of(asker, data, mapping, voice(request).language) if mapping else None


def _form(
    request: Request,
    service: Service,
    asker: Asker,
    data: DataSet,
    at: str,
    *,
    words: str = "",
    wrong: str = "",
    sent: bool = False,
) -> HTMLResponse:
    name = data.folder.name
    try:
        recipe = _recipe(request, asker, data, at)
    except DiscreetError:
        recipe, at = None, ""
    facts: dict[str, Any] = {
        "name": name,
        "title": told(asker, data).title,
        "about": "" if recipe is None else title_of(recipe.question.tables[0], data.description),
        "back": _back(data, recipe),
        "at": at,
        "words": words,
        "wrong": wrong,
        "sent": sent,
        "longest": LONGEST,
        "wishes": [_told(one) for one in service.inbox.requests(name, by=asker.user, most=50)],
    }
    return page(request, "ask.html", facts, 400 if wrong else 200)


def _back(data: DataSet, recipe: Recipe | None) -> str:
    if recipe is None:
        return f"/build/{data.folder.name}"
    method = data.policy.method
    return Place.of(data.folder.name, recipe, method, data.description, {}).address


def _told(one: Any) -> dict[str, Any]:
    return {
        "words": one.words,
        "day": datetime.datetime.fromtimestamp(one.created, datetime.UTC).date(),
        "answer": one.answer,
    }
