"""Search, choosing categories, and choosing two cells: pages that lead back to the builder."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from ..errors import RecipeError
from ..server.auth import EVERYONE, CurrentAsker, guarded
from ..server.problems import not_found
from ..server.routes.catalogue import DataSetId
from ..server.service import Serving, told
from ..workspace import DataSet
from .address import Place, read
from .axes import PRIVATE, Axes
from .builder import recipe_of
from .finding import choices, results
from .frame import PageRoute, page, voice

pages = guarded(EVERYONE, "read", "pages", PageRoute)
picking = guarded(EVERYONE, "read", "pages")
ROUTERS = [pages, picking]

Words = Annotated[str, Query(max_length=200)]
At = Annotated[str, Query(max_length=8000)]


def _place(
    request: Request, asker: CurrentAsker, data: DataSet, pairs: list[tuple[str, str]]
) -> Place:
    mapping, view = read(pairs)
    recipe = recipe_of(asker, data, mapping, voice(request).language)
    description = told(asker, data)
    return Place.of(data.folder.name, recipe, data.policy.method, description, view)


@pages.get("/search", include_in_schema=False)
def search(
    request: Request, service: Serving, asker: CurrentAsker, query: Words = ""
) -> HTMLResponse:
    """Variables, categories and ready tables of all data sets one may see."""
    found = results(service, asker, query, voice(request).language)
    return page(request, "search.html", {"found": found, "query": query, "within": ""})


@pages.get("/build/{dataset}/find", include_in_schema=False)
def find(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    query: Words = "",
    at: At = "",
) -> HTMLResponse:
    """The same in one data set; what is chosen joins the table one came from."""
    with service.dataset(asker, dataset) as data:
        place = _place(request, asker, data, parse_qsl(at, keep_blank_values=True))
        found = results(service, asker, query, voice(request).language, place)
        facts = {"found": found, "query": query, "within": place.address}
        return page(request, "search.html", facts)


@picking.get("/build/{dataset}/pick/{level}", include_in_schema=False)
def pick(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    level: Annotated[str, Path(max_length=300)],
) -> HTMLResponse:
    """The categories of a level, to choose from; 200 on a page."""
    said = request.query_params.multi_items()
    own = {name: text for name, text in said if name in ("find", "offset")}
    offset = own.get("offset", "0")
    if not offset.isdecimal() or len(offset) > 6:
        raise RecipeError(f"offset must be a whole number, got {offset[:40]!r}.")
    with service.dataset(asker, dataset) as data:
        rest = [pair for pair in said if pair[0] not in own]
        place = _place(request, asker, data, rest)
        axes = Axes(place, told(asker, data), voice(request).language)
        if level not in {
            n for v in axes.description.variables for n in axes.names_of(v) if v.role != PRIVATE
        }:
            raise not_found("level")
        facts = choices(axes, level, own.get("find", "")[:200], int(offset))
        return page(request, "pick.html", facts | {"place": place, "dataset": dataset})


@picking.get("/build/{dataset}/chosen", include_in_schema=False)
def chosen(request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId) -> Response:
    """Back to the builder with the categories that were ticked."""
    said = request.query_params
    stray = sorted(set(said) - {"at", "level", "code", "paste"})
    if stray:
        raise RecipeError(f"{stray[0][:60]!r} is not known in this address.")
    with service.dataset(asker, dataset) as data:
        place = _place(request, asker, data, parse_qsl(said.get("at", ""), keep_blank_values=True))
        axes = Axes(place, told(asker, data))
        try:
            variable, level = axes.found(said.get("level", ""))
        except KeyError:
            raise not_found("level") from None
        pasted = said.get("paste", "").replace("\n", ",").replace(";", ",").split(",")
        codes = dict.fromkeys(
            [*said.getlist("code"), *(text.strip() for text in pasted if text.strip())]
        )
        unknown = [code for code in codes if code not in level.index]
        if unknown:
            raise RecipeError(f"{level.name} has no category {unknown[0][:60]!r}.")
        only = sorted(codes, key=level.index.__getitem__)
        everything = len(only) == len(level)
        there = place.only(
            said.get("level", ""), () if everything else only, axes.names_of(variable)
        )
        return RedirectResponse(there.address, 303)


@picking.get("/build/{dataset}/compare", include_in_schema=False)
def compare(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId
) -> Response:
    """Back to the builder with two cells side by side."""
    said = request.query_params
    cells = said.getlist("cell")
    if set(said) - {"at", "cell"} or len(cells) != 2:
        raise RecipeError(f"Tick two cells to compare them, got {len(cells)}. Go back and choose.")
    with service.dataset(asker, dataset) as data:
        place = _place(request, asker, data, parse_qsl(said.get("at", ""), keep_blank_values=True))
        return RedirectResponse(place.seen(a=cells[0], b=cells[1], choose="").address, 303)
