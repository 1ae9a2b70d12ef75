"""The addresses of pages. What reads is a GET and never spends; what spends or keeps is a form."""

from __future__ import annotations

from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from ..errors import RecipeError, Refusal
from ..server import table_answers, table_jobs
from ..server.asking import Asking, Wish
from ..server.auth import ASKERS, EVERYONE, Asker, CurrentAsker, guarded
from ..server.negotiation import chosen_format
from ..server.problems import Problem
from ..server.routes.catalogue import DataSetId
from ..server.service import Service, Serving
from . import (
    account_routes,
    assets,
    draft_routes,
    finding_routes,
    keeping_routes,
    oversight_routes,
    release_routes,
    request_routes,
    views,
)
from .address import Place, read
from .builder import Builder, recipe_of, shown_language
from .custody.routes import ROUTERS as CUSTODY
from .frame import PageRoute, fields, first, page, voice
from .front import catalogue_facts, dataset_facts, front_facts

pages = guarded(EVERYONE, "read", "pages", PageRoute)
building = guarded(EVERYONE, "read", "pages")
spending = guarded(ASKERS, "tables", "pages")
ROUTERS = [
    pages,
    building,
    spending,
    *finding_routes.ROUTERS,
    *keeping_routes.ROUTERS,
    *release_routes.ROUTERS,
    *request_routes.ROUTERS,
    *oversight_routes.ROUTERS,
    *account_routes.ROUTERS,
    *draft_routes.ROUTERS,
    *CUSTODY,
]

# -- assets ---------------------------------------------------------------------------------


@pages.get("/assets/{name}", include_in_schema=False)
def asset(name: str) -> Response:
    """A file of the page, for ever the same under its name."""
    if name not in assets.named():
        raise Problem(404, "not-found", "There is no such file.")
    own, body = assets.named()[name]
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(body, 200, headers, assets.media_type(own))


# -- reading --------------------------------------------------------------------------------


@pages.get("/", include_in_schema=False)
def home(request: Request, service: Serving, asker: CurrentAsker) -> HTMLResponse:
    """A finished table with a headline, and where to go from it."""
    return page(request, "first.html", front_facts(request, service, asker, voice(request)))


@pages.get("/data", include_in_schema=False)
def catalogue(request: Request, service: Serving, asker: CurrentAsker) -> HTMLResponse:
    """The data sets this reader may see."""
    return page(request, "data.html", catalogue_facts(service, asker))


@pages.get("/data/{dataset}", include_in_schema=False)
def about(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId
) -> HTMLResponse:
    """What is public about one data set."""
    with service.dataset(asker, dataset) as data:
        request.state.notes["dataset"] = dataset
        return page(request, "dataset.html", dataset_facts(asker, data, voice(request)))


@pages.get("/about", include_in_schema=False)
def protection(request: Request) -> HTMLResponse:
    """How numbers are protected, in plain words."""
    return page(request, "about.html")


@building.get("/build/{dataset}", include_in_schema=False)
def build(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId
) -> HTMLResponse:
    """The builder: chips, verdict, and the table where it is free."""
    with service.dataset(asker, dataset) as data:
        request.state.notes["dataset"] = dataset
        pairs = request.query_params.multi_items()
        built = Builder(request, service, asker, data, pairs, voice(request))
        return page(request, "build.html", views.facts(built), built.status)


@building.get("/build/{dataset}/file", include_in_schema=False)
def file(request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId) -> Response:
    """The table of an address as a file; refused where it would spend."""
    pairs = request.query_params.multi_items()
    wished = [text for name, text in pairs if name == "format"]
    if len(wished) != 1:
        raise RecipeError("Name one format, such as format=csv.")
    with service.dataset(asker, dataset) as data:
        mapping, _ = read([pair for pair in pairs if pair[0] != "format"])
        recipe = recipe_of(asker, data, mapping, voice(request).language)
        language = shown_language(data, recipe, voice(request))
        wish = Wish(chosen_format(wished[0], None), language)
        asking = Asking(service, asker, data, recipe, wish, request)
        asking.may_ask()
        asking.verdict.enforce()
        if asking.must_be_job:
            raise Problem(403, "job", "This table is too large for one answer. Start it as a job.")
        if asking.costs_nothing:
            return table_answers.respond(asking)
        if asking.asked.follows_from is not None:
            return table_answers.free(asking)
        raise Problem(403, "spends", "This table is not released yet, and a link never spends.")


# -- what spends ----------------------------------------------------------------------------


@spending.post("/build/{dataset}/release", include_in_schema=False)
async def release(request: Request, service: Serving, dataset: DataSetId) -> Response:
    """Spend, and go back to the same address, which is answered now. Pressed twice it is one charge."""
    said = await fields(request)
    return await run_in_threadpool(_released, request, service, dataset, first(said, "at"))


def _released(request: Request, service: Service, dataset: str, at: str) -> Response:
    asker: Asker = request.state.asker
    with service.dataset(asker, dataset) as data:
        mapping, view = read(parse_qsl(at, keep_blank_values=True))
        recipe = recipe_of(asker, data, mapping, voice(request).language)
        place = Place.of(dataset, recipe, data.policy.method, data.description, view)
        wish = Wish(language=shown_language(data, recipe, voice(request)))
        asking = Asking(service, asker, data, recipe, wish, request)
        back = RedirectResponse(place.address, 303)
        try:
            asking.verdict.enforce()
            if asking.must_be_job:
                asking.may_ask()
                asking.may_spend()
                return RedirectResponse(f"/jobs/{table_jobs.create(asking).id}", 303)
            with service.slots.one():
                made = asking.release()
        except Refusal as refusal:
            asking.notes["rule"] = refusal.rule
            return back  # the page at that address says what stands in the way
        asking.notes.update(question=made.plan.question_hash, charged=made.charged)
        return back
