"""Pages for people, without scripts: what there is, and a table built from a form.

Thin on purpose: every number comes through the one flow, as over the API. A page asks by GET, so it
never spends: on a data set with a budget it shows cost and expected error, and the table only
where it costs nothing (asked before, or following from an earlier release).
"""

from __future__ import annotations

import shlex
from importlib.resources import files
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from .. import formats, rules
from ..earlier import NEWEST
from ..errors import DiscreetError, Refusal
from ..formats import html
from ..methods import registry
from ..recipe import Recipe
from ..workspace import DataSet
from . import table_answers
from .asking import Asking, spends, understood
from .auth import EVERYONE, Asker, CurrentAsker, equal, guarded
from .negotiation import accepts
from .problems import Problem
from .routes.accounts import logged_in, logged_out
from .routes.catalogue import DataSetId
from .service import Serving, told

router = guarded(EVERYONE, "read", "pages")

Names = Annotated[list[str], Query(max_length=6)]
Word = Annotated[str, Query(max_length=200)]


_HEADINGS = {401: "Log in to see this", 403: "Not allowed", 404: "Nothing here", 429: "Too often"}


def _page(
    request: Request, template: str, facts: dict[str, Any], status: int = 200
) -> HTMLResponse:
    asker: Asker = request.state.asker
    csrf = request.app.state.service.accounts.csrf(asker.session) if asker.session else ""
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    who = {"name": asker.name, "csrf": csrf, "here": _local(here)}
    page = html.template("discreet.server", template)
    return HTMLResponse(page.render(facts, who=who), status)


def asks_for_page(path: str, accept: str) -> bool:
    """Whether an error is shown as a page: on pages, and to browsers that lost their way.

    >>> asks_for_page("/tables", "text/html,*/*;q=0.8"), asks_for_page("/tables", "*/*")
    (True, False)
    """
    if path in ("/", "/login", "/logout") or path.startswith("/build/"):
        return True
    return not path.startswith(("/api/", "/pxweb/")) and accepts(accept, "text/html")


def problem(request: Request, problem: Problem) -> HTMLResponse:
    """An error as a page: what is wrong, and the way on."""
    heading = _HEADINGS.get(problem.status, problem.body()["title"])
    facts = {"status": problem.status, "title": heading, "detail": problem.detail}
    page = _page(request, "problem.html", facts, problem.status)
    page.headers["Cache-Control"] = "no-store"
    page.headers.update(problem.headers)
    return page


def _local(address: str) -> str:
    """An address of this server to go on to; anything else is the first page."""
    safe = address.startswith("/") and not address.startswith("//") and address.isprintable()
    return address if safe and "\\" not in address and len(address) <= 2000 else "/"


@router.get("/login", include_in_schema=False)
def login(request: Request, next: Annotated[str, Query(max_length=2000)] = "/") -> HTMLResponse:
    """The form to log in with."""
    return _page(request, "login.html", {"next": _local(next), "wrong": "", "name": ""})


@router.post("/login", include_in_schema=False)
async def log_in(request: Request, service: Serving) -> Response:
    """Log in from the form, and go on to where one wanted to be."""
    fields = await _form_fields(request)
    name, onward = fields.get("name", "")[:64], _local(fields.get("next", "/"))
    response = RedirectResponse(onward, 303)
    try:
        await run_in_threadpool(
            logged_in, request, service, name, fields.get("password", ""), response
        )
    except Problem as found:
        if found.status not in (401, 429):
            raise
        facts = {"next": onward, "wrong": found.detail, "name": name}
        page = _page(request, "login.html", facts, found.status)
        page.headers.update(found.headers)
        return page
    return response


@router.post("/logout", include_in_schema=False)
async def log_out(request: Request, service: Serving, asker: CurrentAsker) -> Response:
    """End the session from a page."""
    fields = await _form_fields(request)
    right = asker.session and equal(fields.get("csrf", ""), service.accounts.csrf(asker.session))
    if asker.session and not right:
        raise Problem(403, "csrf", "This did not come from a page of this server.")
    return logged_out(service, asker, RedirectResponse("/", 303))


async def _form_fields(request: Request) -> dict[str, str]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Problem(415, "media-type", "Send this from its form.")
    try:
        text = (await request.body()).decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise Problem(400, "input", "The form cannot be read. Fill it in again.") from None


@router.get("/", include_in_schema=False)
def home(request: Request, service: Serving, asker: CurrentAsker) -> HTMLResponse:
    """The data sets this reader may see."""
    datasets = []
    for name in service.visible(asker):
        with service.dataset(asker, name) as data:
            datasets.append((name, told(asker, data), data.policy))
    return _page(request, "home.html", {"datasets": datasets, "methods": registry.names()})


@router.get("/style.css", include_in_schema=False)
def style() -> Response:
    """The one style sheet."""
    text = files("discreet.server").joinpath("static", "pages.css").read_bytes()
    return Response(text, media_type="text/css", headers={"Cache-Control": "max-age=3600"})


@router.get("/build/{dataset}", include_in_schema=False)
def build(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    rows: Names = [],  # noqa: B006 - read only
    columns: Names = [],  # noqa: B006 - read only
    layers: Names = [],  # noqa: B006 - read only
    category: Word = "",
    percent: Word = "",
    epsilon: Word = "",
) -> HTMLResponse:
    """The form, and below it what was asked for: the table, or why not and what would work."""
    with service.dataset(asker, dataset) as data:
        request.state.notes["dataset"] = dataset
        asked = {
            "rows": [name for name in rows if name],
            "columns": [name for name in columns if name],
            "layers": [name for name in layers if name],
            "category": category.strip(),
            "percent": percent.strip(),
            "epsilon": epsilon.strip(),
        }
        facts = _form(asker, data, asked) | {"host": str(request.base_url).rstrip("/")}
        status = 200
        if any(asked[side] for side in ("rows", "columns", "layers")):
            try:
                question = _recipe(asker, data, asked)
                asking = Asking(service, asker, data, question, request=request)
                facts |= _answer(asking, asked)
            except Refusal as refusal:
                words = tuple(alternative.words for alternative in refusal.alternatives)
                status, facts["refused"] = 403, (refusal.message, words)
            except Problem as problem:
                status, facts["refused"] = problem.status, (problem.detail, ())
            except DiscreetError as error:
                status, facts["refused"] = 400, (error.message, ())
        return _page(request, "build.html", facts, status)


def _form(asker: Asker, data: DataSet, asked: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": data.folder.name,
        "about": told(asker, data),
        "shows_found": data.policy.family.shows_found,
        "rules": rules.in_words(data.policy),
        "budgeted": spends(data),
        "asked": asked,
        "refused": None,
        "table": None,
        "question": None,
        "downloads": [],
        "api": "",
        "command": "",
        "host": "",
    }


def _recipe(asker: Asker, data: DataSet, asked: dict[str, Any]) -> Recipe:
    """The question that the fields of the form say."""
    mapping: dict[str, Any] = {side: asked[side] for side in ("rows", "columns", "layers")}
    if asked["percent"]:
        mapping["percent"] = asked["percent"]
    if asked["category"]:
        level, code = _picked(asked["category"])
        mapping["where"] = {level: [code]}
    if spends(data):
        policy = data.policy.parameters(data.policy.method)
        if asked["epsilon"] or not {"epsilon", "rho", "within"} & set(policy):
            mapping["epsilon"] = asked["epsilon"] or "0.1"
    return understood(asker, data, mapping)


def _answer(asking: Asking, asked: dict[str, Any]) -> dict[str, Any]:
    """What the question would cost and say, and its table where that costs nothing."""
    question = asking.asked
    question.verdict.enforce()
    facts: dict[str, Any] = {
        "question": question,
        "plan": question.plan,
        "api": table_answers.address(asking, "tables"),
        "command": _terminal(asking.data, asked),
    }
    if asking.must_be_job:
        raise Refusal(
            f"A table of {asking.cells:,} cells is too long for a page. Ask over the API.",
            rule="page-size",
        )
    service = asking.service
    budgeted = spends(asking.data, asking.recipe.question.method)
    if not asking.may_have:
        return facts
    known = question.answered and not asking.withheld
    follows = question.follows_from is not None
    derived = budgeted and not known
    if derived and not follows:
        return facts
    with service.slots.one():
        release = asking.derive(NEWEST) if derived else asking.release()
        facts["table"] = html.fragment(release.tables[0])
    if derived:
        facts["api"] += "&free=true"
    if not (budgeted and known):
        facts["downloads"] = [
            (form.title, f"{facts['api']}&format={form.name}") for form in formats.FORMATS.values()
        ]
    return facts


def _picked(category: str) -> tuple[str, str]:
    """The level and the code that a choice of the form stands for; a code may hold any sign."""
    variable, _, rest = category.partition(":")
    level, _, code = rest.partition(":")
    return f"{variable}:{level}", code


def _terminal(data: DataSet, asked: dict[str, Any]) -> str:
    """The same question as a command."""
    words = [f"discreet table DIR/{data.folder.name}"]
    words += [
        f"--{side} {','.join(asked[side])}" for side in ("rows", "columns", "layers") if asked[side]
    ]
    if asked["category"]:
        words.append("--where " + shlex.quote("=".join(_picked(asked["category"]))))
    if asked["percent"]:
        words.append(f"--percent {asked['percent']}")
    return " ".join([*words, f"--epsilon {asked['epsilon'] or '0.1'}"])
