"""The frame of every page: who reads, in which language and theme; errors as pages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, quote

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from ..languages import Voice, known, language_of, named, say, speaker
from ..server.auth import (
    ASKERS,
    CUSTODIANS,
    EVERYONE,
    KEEPERS,
    OVERSEERS,
    Asker,
    GuardedRoute,
    Handler,
    cookie_name,
    equal,
    masked,
    same_site,
)
from ..server.negotiation import accepted_languages, accepts
from ..server.problems import Problem
from ..server.service import Service
from ..store.accounts import Role
from . import assets, pseudo

THEMES = ("light", "dark")
LANGUAGE, THEME = "discreet-language", "discreet-theme"
RIGHT_TO_LEFT = frozenset(["ar", "fa", "he", "ur"])

Link = tuple[str, str, tuple[Role, ...]]
NAVIGATION: tuple[Link, ...] = (
    ("/data", say("Data sets"), EVERYONE),
    ("/releases", say("Releases"), ASKERS),
    ("/saved", say("Saved"), ASKERS),
    ("/jobs", say("Jobs"), KEEPERS),
    ("/audit", say("Oversight"), OVERSEERS),
    ("/custodian", say("Custodian"), CUSTODIANS),
)
"""The rooms of the site: where each begins, its name, and who may enter. Further ones are a line each."""
ROOMS = frozenset(
    [
        "build",
        "data",
        "search",
        "saved",
        "jobs",
        "releases",
        "login",
        "logout",
        "account",
        "look",
        "about",
        "audit",
        "custodian",
        "design",
    ]
)
"""First parts of addresses whose errors are pages."""

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
    path = request.url.path
    here = max((room for room, *_ in NAVIGATION if path.startswith(room)), key=len, default="")
    frame = {
        "say": speaks,
        "who": reader(request),
        "theme": theme if theme in THEMES else "",
        "direction": "rtl" if mirrored else "ltr",
        "rooms": [
            (address, words, address == here)
            for address, words, roles in NAVIGATION
            if request.state.asker.role in roles
        ],
        "languages": [(one, named(one)) for one in known()],
        "chosen_language": request.cookies.get(LANGUAGE, ""),
    }
    body = _environment().get_template(template).render(frame | (facts or {}))
    headers = {"Vary": "Accept-Language, Authorization, Cookie", "Content-Language": code}
    return HTMLResponse(body, status, headers)


def reader(request: Request) -> dict[str, Any]:
    """Who reads, and where."""
    asker: Asker = request.state.asker
    service: Service = request.app.state.service
    accounts = service.accounts
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return {
        "name": asker.name,
        "role": asker.role,
        "csrf": masked(accounts.csrf(asker.session)) if asker.session else "",
        "ends": _seconds_left(service, asker),
        "lapsed": not asker.session and not asker.name and _was_signed_in(request),
        "here": local(here),
        "path": request.url.path,
    }


def _seconds_left(service: Service, asker: Asker) -> int:
    """In how many seconds a session ends if nothing is asked; 0 where there is none."""
    ends = service.accounts.session_ends(asker.session) if asker.session else None
    return 0 if ends is None else max(1, int(ends[0] - service.database.clock()))


def _was_signed_in(request: Request) -> bool:
    """Whether the browser still sends the cookie of a session that has ended."""
    return cookie_name(request.app.state.service.settings) in request.cookies


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
    first, *rest = path.strip("/").split("/")
    if not first or (first in ROOMS and (rest or first != "build")):
        return True
    return not path.startswith(("/api/", "/pxweb/")) and accepts(accept, "text/html")


def problem(request: Request, problem: Problem) -> HTMLResponse:
    """An error as a page: what is wrong, what was spent, and the way on."""
    heading = _HEADINGS.get(problem.status, problem.body()["title"])
    facts = {
        "near": _near(request) if problem.status in (401, 404) else [],
        "status": problem.status,
        "title": heading,
        "detail": problem.detail,
        "request_id": getattr(request.state, "request_id", ""),
    }
    answer = page(request, "problem.html", facts, problem.status)
    answer.headers["Cache-Control"] = "no-store"
    answer.headers.update(problem.headers)
    return answer


def _near(request: Request) -> list[tuple[str, str]]:
    """Data sets whose names are like the one in an address, and the same page of each."""
    _, room, name, *_ = *request.url.path.split("/"), "", ""
    if room not in ("build", "data") or not name:
        return []
    seen = request.app.state.service.visible(request.state.asker)
    if name in seen:
        return []
    return [(one, f"/{room}/{quote(one)}") for one in get_close_matches(name, seen, 3, 0.6)]


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
