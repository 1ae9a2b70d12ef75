"""The frame of every page: who reads, in which language and theme; errors as pages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from ..languages import Voice, known, language_of, named, say, speaker
from ..server.auth import Asker, GuardedRoute, Handler, equal, masked, same_site
from ..server.negotiation import accepted_languages, accepts
from ..server.problems import Problem
from . import assets, pseudo

THEMES = ("light", "dark")
LANGUAGE, THEME = "discreet-language", "discreet-theme"
RIGHT_TO_LEFT = frozenset(["ar", "fa", "he", "ur"])

_HEADINGS = {
    401: say("Sign in to see this"),
    403: say("Not allowed"),
    404: say("Nothing here"),
    409: say("Things have moved on"),
    410: say("Withdrawn"),
    429: say("Too many requests"),
    500: say("Something broke on our side"),
    503: say("Busy"),
}


@pass_context
def _spoken(context: Context, value: Any) -> Any:
    """Sentences made elsewhere, in the language of the page."""
    return context["say"].of(value) if hasattr(value, "says") else value


@pass_context
def _all_spoken(context: Context, values: Iterable[Any]) -> list[str]:
    """Those of several words that say something, in the language of the page."""
    return [words for value in values if (words := context["say"].of(value))]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("discreet.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_spoken,
    )
    environment.globals["asset"] = assets.address
    environment.filters["spoken"] = _all_spoken
    return environment


def voice(request: Request) -> Voice:
    """Who speaks to this reader: in the language chosen, else in the first one wished for."""
    chosen = request.cookies.get(LANGUAGE, "")
    if chosen == pseudo.LANGUAGE:
        return pseudo.Mirrored()
    if chosen in known():
        return speaker(chosen)
    for wish in accepted_languages(request.headers.get("accept-language", "")):
        base = wish.casefold().partition("-")[0]
        if base in known():
            return speaker(language_of(wish))
    return speaker("")


def page(
    request: Request, template: str, facts: dict[str, Any] | None = None, status: int = 200
) -> HTMLResponse:
    """A page from its template."""
    speaks = voice(request)
    theme = request.cookies.get(THEME, "")
    code = speaks.language.partition("-")[0]
    mirrored = code in RIGHT_TO_LEFT or isinstance(speaks, pseudo.Mirrored)
    frame = {
        "say": speaks,
        "who": reader(request),
        "theme": theme if theme in THEMES else "",
        "direction": "rtl" if mirrored else "ltr",
        "languages": [(one, named(one)) for one in known()],
        "chosen_language": request.cookies.get(LANGUAGE, ""),
    }
    body = _environment().get_template(template).render(frame | (facts or {}))
    headers = {"Vary": "Accept-Language, Authorization, Cookie", "Content-Language": code}
    return HTMLResponse(body, status, headers)


def reader(request: Request) -> dict[str, Any]:
    """Who reads, and where."""
    asker: Asker = request.state.asker
    accounts = request.app.state.service.accounts
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return {
        "name": asker.name,
        "role": asker.role,
        "csrf": masked(accounts.csrf(asker.session)) if asker.session else "",
        "here": local(here),
        "path": request.url.path,
    }


def local(address: str) -> str:
    """An address of this server to go on to; anything else is the first page.

    >>> local("/build/deaths?rows=sex"), local("//elsewhere.example/")
    ('/build/deaths?rows=sex', '/')
    """
    safe = address.startswith("/") and not address.startswith("//") and address.isprintable()
    return address if safe and "\\" not in address and len(address) <= 8000 else "/"


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


# -- errors ---------------------------------------------------------------------------------


def asks_for_page(path: str, accept: str) -> bool:
    """Whether an error is shown as a page: on pages, and to browsers that lost their way.

    >>> asks_for_page("/tables", "text/html,*/*;q=0.8"), asks_for_page("/tables", "*/*")
    (True, False)
    """
    pages = ("/build/", "/data/", "/jobs/", "/saved/", "/releases/", "/audit/", "/account/")
    alone = ("/", "/login", "/logout", "/data", "/search", "/saved", "/jobs", "/releases")
    if path in (*alone, "/account", "/audit", "/look") or path.startswith(pages):
        return True
    return not path.startswith(("/api/", "/pxweb/")) and accepts(accept, "text/html")


def problem(request: Request, problem: Problem) -> HTMLResponse:
    """An error as a page: what is wrong, what was spent, and the way on."""
    heading = _HEADINGS.get(problem.status, problem.body()["title"])
    facts = {
        "status": problem.status,
        "title": heading,
        "detail": problem.detail,
        "request_id": getattr(request.state, "request_id", ""),
    }
    answer = page(request, "problem.html", facts, problem.status)
    answer.headers["Cache-Control"] = "no-store"
    answer.headers.update(problem.headers)
    return answer


# -- forms ----------------------------------------------------------------------------------


async def fields(request: Request, *, signing_in: bool = False) -> dict[str, list[str]]:
    """The fields of a form of our own page; one that another site sends is refused.

    A session's form carries the session's own token, because a browser sends its cookie with any form.
    """
    service, asker = request.app.state.service, request.state.asker
    same_site(request.headers, service.settings)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Problem(415, "media-type", "Send this from its form.")
    try:
        text = (await request.body()).decode("utf-8")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=6_000)
    except ValueError:
        raise Problem(400, "input", "The form cannot be read. Fill it in again.") from None
    said: dict[str, list[str]] = {}
    for name, value in pairs:
        said.setdefault(name, []).append(value)
    if asker.session and not signing_in:
        sent = said.get("csrf", [""])[0]
        if not equal(sent, service.accounts.csrf(asker.session)):
            raise Problem(403, "csrf", "This did not come from a page of this server.")
    return said


def first(said: dict[str, list[str]], name: str, default: str = "") -> str:
    """The first value of a field."""
    return said.get(name, [default])[0]
