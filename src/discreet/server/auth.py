"""Who is asking, and what a role may do. Deny by default: a route without a guard does not start.

    public      no login; sees data sets the settings make public
    analyst     asks for tables, keeps saved tables and jobs
    custodian   what an analyst may, and accounts, budgets, releases
    auditor     reads ledger, audit log and policies, never data

A token counts with its scopes: it can do less than its role, never more.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeAlias

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute

from ..languages import say
from ..store.accounts import SCOPES, Accounts, Role
from .problems import Problem, documented
from .requests import StrictRequest
from .settings import Settings

EVERYONE: tuple[Role, ...] = ("public", "analyst", "custodian", "auditor")
ASKERS: tuple[Role, ...] = ("public", "analyst", "custodian")
ACCOUNTS: tuple[Role, ...] = ("analyst", "custodian", "auditor")
OVERSEERS: tuple[Role, ...] = ("custodian", "auditor")
CUSTODIANS: tuple[Role, ...] = ("custodian",)
KEEPERS: tuple[Role, ...] = ("analyst", "custodian")

UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}


@dataclass(frozen=True)
class Asker:
    """Who asks: role, scopes, and how that is known."""

    name: str
    role: Role
    scopes: tuple[str, ...]
    via: str
    session: str = ""

    @property
    def user(self) -> str:
        """The name charges and jobs are kept under."""
        return self.name or "public"


PUBLIC = Asker("", "public", SCOPES, "")


def cookie_name(settings: Settings) -> str:
    """The session cookie; browsers keep a __Host- cookie to this host and to https."""
    return "__Host-discreet" if settings.secure else "discreet"


def identify(
    accounts: Accounts,
    settings: Settings,
    method: str,
    headers: Mapping[str, str],
    *,
    form: bool = False,
) -> Asker:
    """The asker behind a request's headers; raises 401 for a bad token, 403 for a forged post.

    A `form` of our own pages cannot set headers: its CSRF token is checked where its body is read.
    """
    sent = headers.get("authorization")
    if sent is not None:
        kind, _, text = sent.partition(" ")
        account = accounts.by_token(text.strip()) if kind.lower() == "bearer" else None
        if account is None:
            raise unknown(say("This token is unknown, expired or revoked. Ask for a new one."))
        return Asker(account.name, account.role, account.scopes, account.via)
    secret = _cookie(headers.get("cookie", ""), cookie_name(settings))
    if not secret:
        return PUBLIC
    account = accounts.by_session(secret)
    if account is None:
        return PUBLIC
    if method in UNSAFE:
        same_site(headers, settings)
        sent_token = headers.get("x-csrf-token", "")
        if not form and not equal(sent_token, accounts.csrf(secret)):
            raise Problem(
                403,
                "csrf",
                say(
                    "A change made with a session needs the header X-CSRF-Token, as GET "
                    "/api/v1/session gives it."
                ),
            )
    return Asker(account.name, account.role, account.scopes, account.via, secret)


def same_site(headers: Mapping[str, str], settings: Settings) -> None:
    """Refuse a change that a browser makes for another site's page."""
    origin = headers.get("origin")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        origin = origin or "unsaid"  # a browser that says itself it comes from elsewhere
    if origin is None:
        return
    scheme = "https" if settings.secure else "http"
    if origin not in (f"{scheme}://{headers.get('host', '')}", *settings.origins):
        raise Problem(403, "csrf", say("This change comes from another site and was not made."))


def _cookie(text: str, name: str) -> str:
    for part in text.split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""


def masked(csrf: str) -> str:
    """A CSRF token in other bytes each time, for pages: their packed length tells nothing of it.

    >>> equal(masked("00ff" * 16), "00ff" * 16), masked("00ff" * 16) == masked("00ff" * 16)
    (True, False)
    """
    pad = secrets.token_bytes(len(csrf) // 2)
    mixed = bytes(a ^ b for a, b in zip(pad, bytes.fromhex(csrf), strict=True))
    return pad.hex() + mixed.hex()


def equal(first: str, second: str) -> bool:
    """Whether two secrets are the same, in a time that does not tell where they differ.

    The first one may be masked.
    """
    sent = first
    if len(first) == 2 * len(second) and _HEX.fullmatch(first):
        pad, mixed = bytes.fromhex(first[: len(second)]), bytes.fromhex(first[len(second) :])
        sent = bytes(a ^ b for a, b in zip(pad, mixed, strict=True)).hex()
    return hmac.compare_digest(sent.encode(errors="replace"), second.encode())


_HEX = re.compile(r"[0-9a-f]+")


def unknown(detail: str) -> Problem:
    """401: log in or send a token."""
    return Problem(401, "login", detail, headers={"WWW-Authenticate": 'Bearer realm="discreet"'})


async def asker(request: Request) -> Asker:
    """Who the gate found."""
    current: Asker = request.state.asker
    return current


@dataclass(frozen=True)
class Guard:
    """Lets some roles through, with a scope."""

    roles: tuple[Role, ...]
    scope: str

    def admit(self, request: Request) -> None:
        """Let a request through, or raise 401 or 403."""
        current: Asker = request.state.asker
        if current.role not in self.roles:
            if current.role == "public":
                raise unknown(say("This needs an account. Log in or send a token."))
            raise Problem(
                403,
                "role",
                say(
                    "The role {role} may not do this; {names} may.",
                    role=current.role,
                    names=" or ".join(r for r in self.roles if r != "public"),
                ),
            )
        if self.scope not in current.scopes:
            raise Problem(
                403, "scope", say("This token lacks the scope {scope}.", scope=self.scope)
            )
        request.state.guarded = True


Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]


class GuardedRoute(APIRoute):
    """A route behind a guard: nothing of a body is read before the guard let the request in."""

    guard: ClassVar[Guard]

    def get_route_handler(self) -> Handler:
        """Guard, then a JSON body read strictly, then the route's function."""
        framework = super().get_route_handler()

        names = {field.alias for field in self.dependant.query_params}

        async def read(request: Request) -> Response:
            if request.method != "GET":
                _only(names, request)
            if self.body_field is not None and int(request.headers.get("content-length") or 0):
                await request.json()  # refuses other media types with one sentence
            return await framework(request)

        async def handle(request: Request) -> Response:
            self.guard.admit(request)
            return await self.answer(StrictRequest(request.scope, request.receive), read)

        return handle

    async def answer(self, request: Request, read: Handler) -> Response:
        """What a request gets that was let in; `read` is the ordinary way to it."""
        return await read(request)


def _only(names: set[str], request: Request) -> None:
    """What an address says beside a body and would be ignored is refused."""
    stray = sorted(set(request.query_params) - names)
    if stray:
        words = say(
            "{stray} is not known in this address. Say it in the body.", stray=repr(stray[0][:60])
        )
        raise Problem(422, "form", words, where=stray[0][:200])


def guarded(
    roles: tuple[Role, ...], scope: str, tag: str, route: type[GuardedRoute] = GuardedRoute
) -> APIRouter:
    """A router whose every route lets only these roles through."""
    guard = Guard(roles, scope)
    return APIRouter(
        route_class=type(route.__name__, (route,), {"guard": guard}),
        responses=documented(),
        tags=[tag],
    )


CurrentAsker: TypeAlias = Annotated[Asker, Depends(asker)]
