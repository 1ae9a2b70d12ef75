"""The addresses of pages. What reads is a GET and never spends; what spends or keeps is a form."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from ..errors import RecipeError, Refusal
from ..languages import known
from ..server import table_answers, table_jobs
from ..server.asking import Asking, Wish
from ..server.auth import ASKERS, EVERYONE, Asker, CurrentAsker, GuardedRoute, Handler, guarded
from ..server.negotiation import chosen_format
from ..server.problems import Problem
from ..server.routes.accounts import logged_in, logged_out
from ..server.routes.catalogue import DataSetId
from ..server.service import Service, Serving
from . import assets, views
from .address import Place, read
from .builder import Builder, recipe_of
from .frame import LANGUAGE, THEME, THEMES, fields, first, local, page, voice
from .front import catalogue_facts, dataset_facts, front_facts


class PageRoute(GuardedRoute):
    """A page whose address may say what it declares, and nothing else."""

    async def answer(self, request: Request, read: Handler) -> Response:
        """The page; what it would ignore in its address is refused by name."""
        names = {field.alias for field in self.dependant.query_params}
        stray = sorted(set(request.query_params) - names)
        if stray:
            words = f"{stray[0][:60]!r} is not known in this address."
            if names:
                words += f" It may say {', '.join(sorted(names))}."
            raise Problem(400, "input", words)
        return await read(request)


pages = guarded(EVERYONE, "read", "pages", PageRoute)
building = guarded(EVERYONE, "read", "pages")
spending = guarded(ASKERS, "tables", "pages")
ROUTERS = [pages, building, spending]

Onward = Annotated[str, Query(max_length=8000)]


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
        wish = Wish(chosen_format(wished[0], None), recipe.layouts[0].language)
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
        wish = Wish(language=recipe.layouts[0].language)
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


# -- signing in and out, language and theme -------------------------------------------------


@pages.get("/login", include_in_schema=False)
def login(request: Request, next: Onward = "/") -> HTMLResponse:
    """The form to sign in with."""
    onward = local(next)
    facts = {"next": onward, "wrong": "", "name": "", "kept": onward.startswith("/build/")}
    return page(request, "login.html", facts)


@pages.post("/login", include_in_schema=False)
async def log_in(request: Request, service: Serving) -> Response:
    """Sign in from the form, and go on to where one wanted to be."""
    said = await fields(request, signing_in=True)
    name, onward = first(said, "name")[:64], local(first(said, "next", "/"))
    response = RedirectResponse(onward, 303)
    try:
        password = first(said, "password")
        await run_in_threadpool(logged_in, request, service, name, password, response)
    except Problem as found:
        if found.status not in (401, 429):
            raise
        facts = {"next": onward, "wrong": found.detail, "name": name, "kept": False}
        answer = page(request, "login.html", facts, found.status)
        answer.headers.update(found.headers)
        return answer
    return response


@pages.post("/logout", include_in_schema=False)
async def log_out(request: Request, service: Serving, asker: CurrentAsker) -> Response:
    """End the session from a page."""
    await fields(request)
    return logged_out(service, asker, RedirectResponse("/", 303))


@pages.post("/look", include_in_schema=False)
async def look(request: Request, service: Serving) -> Response:
    """Keep language and theme in this browser."""
    said = await fields(request)
    response = RedirectResponse(local(first(said, "next", "/")), 303)
    for cookie, value, allowed in (
        (LANGUAGE, first(said, "language"), known()),
        (THEME, first(said, "theme"), THEMES),
    ):
        secure = service.settings.secure
        if value in allowed:
            response.set_cookie(
                cookie, value, max_age=31536000, secure=secure, httponly=True, samesite="lax"
            )
        else:
            response.delete_cookie(cookie, secure=secure, httponly=True)
    return response
