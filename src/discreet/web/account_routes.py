"""A reader's own page: tokens, language and theme, signing in and out."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from ..languages import known, say
from ..server.auth import ACCOUNTS, EVERYONE, Asker, CurrentAsker, guarded
from ..server.problems import Problem
from ..server.requests import TokenForm
from ..server.routes import accounts
from ..server.service import Service, Serving
from .frame import LANGUAGE, THEME, THEMES, PageRoute, fields, first, local, page

pages = guarded(EVERYONE, "read", "pages", PageRoute)
own = guarded(ACCOUNTS, "read", "pages", PageRoute)
ROUTERS = [pages, own]

KEYS = (
    ("/", say("find a variable, category or place")),
    ("THNK", say("table, chart, notes, code")),
    ("RCL", say("on a chip: to rows, columns, layers")),
    ("O", say("on a chip: only some categories")),
    ("+−", say("on a chip: a finer or a coarser level")),
    ("←→", say("on a chip: earlier, later")),
    ("X", say("swap rows and columns")),
    ("PI", say("percentages, intervals")),
    ("CS", say("on a cell: compare, sort by its column")),
    ("G", say("to the verdict; with Shift and Enter, release")),
    ("DY", say("download, copy the link")),
    ("[]", say("earlier and later rows")),
    ("?", say("this list")),
)
"""Keys of the builder and what they do."""

Onward = Annotated[str, Query(max_length=8000)]


@pages.get("/account", include_in_schema=False)
def account(request: Request, service: Serving, asker: CurrentAsker) -> HTMLResponse:
    """Language and theme for everybody; tokens for those who have an account."""
    return page(request, "account.html", _facts(service, asker))


def _facts(service: Service, asker: Asker, fresh: str = "") -> dict[str, Any]:
    listed = []
    if asker.name:
        now = service.database.clock()
        for token in service.accounts.tokens(asker.name):
            if token.revoked is None and token.expires > now:
                ends = datetime.datetime.fromtimestamp(token.expires, datetime.UTC).date()
                listed.append(
                    {"id": token.id, "label": token.label, "scopes": token.scopes, "ends": ends}
                )
    return {"tokens": listed, "fresh": fresh, "scopes": asker.scopes, "keymap": KEYS}


@own.post("/account/tokens", include_in_schema=False)
async def add_token(request: Request, service: Serving, asker: CurrentAsker) -> Response:
    """A new token, shown this once."""
    said = await fields(request)
    form = TokenForm(label=first(said, "label")[:100])
    return await run_in_threadpool(_made, request, service, asker, form)


def _made(request: Request, service: Service, asker: Asker, form: TokenForm) -> Response:
    made = accounts.make(service, asker, form)
    return page(request, "account.html", _facts(service, asker, made.token), 201)


@own.post("/account/tokens/{token}/end", include_in_schema=False)
async def end_token(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    token: Annotated[str, Path(max_length=64)],
) -> Response:
    """Revoke a token of one's own."""
    await fields(request)
    await run_in_threadpool(accounts.revoke, service, asker, token)
    return RedirectResponse("/account", 303)


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
        await run_in_threadpool(accounts.logged_in, request, service, name, password, response)
    except Problem as found:
        if found.status not in (401, 429):
            raise
        facts = {"next": onward, "wrong": found.detail, "name": name, "kept": False}
        answer = await run_in_threadpool(page, request, "login.html", facts, found.status)
        answer.headers.update(found.headers)
        return answer
    return response


@pages.post("/logout", include_in_schema=False)
async def log_out(request: Request, service: Serving, asker: CurrentAsker) -> Response:
    """End the session from a page."""
    await fields(request)
    out = RedirectResponse("/", 303)
    return await run_in_threadpool(accounts.logged_out, service, asker, out)


@own.post("/account/stay", include_in_schema=False)
async def stay(request: Request, service: Serving, asker: CurrentAsker) -> Response:
    """Stay signed in, and go back to where one was."""
    said = await fields(request)
    if asker.session:
        await run_in_threadpool(service.accounts.keep_session, asker.session)
    return RedirectResponse(local(first(said, "next", "/")), 303)


@pages.post("/look", include_in_schema=False)
async def look(request: Request, service: Serving) -> Response:
    """Keep language and theme in this browser."""
    said = await fields(request)
    response = RedirectResponse(local(first(said, "next", "/")), 303)
    secure = service.settings.secure
    for cookie, allowed in ((LANGUAGE, known()), (THEME, THEMES)):
        value = first(said, cookie.removeprefix("discreet-"))
        if value in allowed:
            response.set_cookie(
                cookie, value, max_age=31536000, secure=secure, httponly=True, samesite="lax"
            )
        else:
            response.delete_cookie(cookie, secure=secure, httponly=True)
    return response
