"""Accounts: who there is, added and ended; what concerns a custodian is settled by two."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from ...errors import InputError
from ...methods.declaration import Spends
from ...server.auth import CUSTODIANS, Asker, CurrentAsker, guarded
from ...server.problems import Problem, not_found
from ...server.requests import ProposalForm, UserForm
from ...server.routes import accounts, oversight
from ...server.service import Service, Serving
from ...store.accounts import User
from ..amounts import amount
from ..frame import PageRoute, fields, first, page
from . import forms

custody = guarded(CUSTODIANS, "manage", "pages", PageRoute)
ROUTERS = [custody]

UserName = Annotated[str, Path(max_length=64)]
TokenId = Annotated[str, Path(max_length=64)]
Role = Annotated[Literal["", "analyst", "custodian", "auditor"], Query()]


@custody.get("/custodian/people", include_in_schema=False)
def people(
    request: Request,
    service: Serving,
    role: Role = "",
    ended: Annotated[bool, Query(description="Accounts that were ended, too.")] = False,
) -> HTMLResponse:
    """Every account, and a form for another one."""
    return page(request, "custody/people.html", _facts(service, role, ended=ended))


def _facts(
    service: Service, role: str = "", *, ended: bool = False, wrong: str = "", said: Any = None
) -> dict[str, Any]:
    now = service.database.clock()
    listed = []
    for user in service.accounts.users():
        if (role and user.role != role) or (user.revoked is not None and not ended):
            continue
        active = [
            one
            for one in service.accounts.tokens(user.name)
            if one.revoked is None and one.expires > now
        ]
        listed.append(_line(user) | {"tokens": len(active)})
    waiting = [
        one for one in service.catalogue.proposals() if one.state == "waiting" and not one.dataset
    ]
    return {
        "people": listed,
        "role": role,
        "ended": ended,
        "waiting": waiting,
        "wrong": wrong,
        "said": said or {"name": "", "role": "analyst", "reason": ""},
    }


def _line(user: User) -> dict[str, Any]:
    return {
        "name": user.name,
        "role": user.role,
        "since": _day(user.created),
        "ended": None if user.revoked is None else _day(user.revoked),
        "password": user.has_password,
        "made_by": user.made_by,
    }


def _day(seconds: float) -> date:
    return datetime.fromtimestamp(seconds, UTC).date()


@custody.post("/custodian/people", include_in_schema=False)
async def add(request: Request, service: Serving, asker: CurrentAsker) -> Response:
    """A new account; a custodian's is proposed, and another custodian accepts it."""
    said = await fields(request)
    return await run_in_threadpool(_added, request, service, asker, said)


def _added(
    request: Request, service: Service, asker: Asker, said: dict[str, list[str]]
) -> Response:
    written = {key: first(said, key).strip() for key in ("name", "role", "reason")}
    try:
        if written["role"] == "custodian":
            form = forms.read(
                ProposalForm, add_custodian=written["name"], reason=forms.reason(said)
            )
            made = oversight.propose(request, service, asker, form, Response())
            return RedirectResponse(f"/custodian/proposals/{made.id}", 303)
        account = forms.read(
            UserForm,
            name=written["name"],
            role=written["role"],
            password=first(said, "password"),
        )
        accounts.add(request, service, asker, account)
    except (InputError, Problem) as error:
        status = getattr(error, "status", 400)
        words = getattr(error, "detail", "") or getattr(error, "message", "")
        return page(
            request, "custody/people.html", _facts(service, wrong=words, said=written), status
        )
    return RedirectResponse(f"/custodian/people/{written['name']}", 303)


@custody.get("/custodian/people/{user}", include_in_schema=False)
def person(request: Request, service: Serving, asker: CurrentAsker, user: UserName) -> HTMLResponse:
    """One account: its tokens, its shares, and how to end it."""
    known = {one.name: one for one in service.accounts.users()}
    if user not in known:
        raise not_found("account")
    now = service.database.clock()
    tokens = [
        {
            "id": one.id,
            "label": one.label or one.id,
            "scopes": one.scopes,
            "ends": _day(one.expires),
        }
        for one in service.accounts.tokens(user)
        if one.revoked is None and one.expires > now
    ]
    shares = [
        {"dataset": name, "cap": amount(one.cap, left=True), "left": amount(one.left, left=True)}
        for name, data in service.readable(asker)
        if data.spends is Spends.LOSS and data.policy.budget is not None
        for one in data.ledger().shares()
        if one.scope == f"user:{user}"
    ]
    facts = {
        "person": _line(known[user]),
        "tokens": tokens,
        "shares": shares,
        "own": user == asker.name,
        "may_end_tokens": known[user].role != "custodian" or user == asker.name,
    }
    return page(request, "custody/person.html", facts)


@custody.post("/custodian/people/{user}/end", include_in_schema=False)
async def end(request: Request, service: Serving, asker: CurrentAsker, user: UserName) -> Response:
    """End an account with its tokens and sessions; a custodian's end is proposed."""
    said = await fields(request)
    return await run_in_threadpool(_ended, request, service, asker, user, said)


def _ended(
    request: Request, service: Service, asker: Asker, user: str, said: dict[str, list[str]]
) -> Response:
    if user in service.accounts.custodians():
        form = forms.read(ProposalForm, end_custodian=user, reason=forms.reason(said))
        made = oversight.propose(request, service, asker, form, Response())
        return RedirectResponse(f"/custodian/proposals/{made.id}", 303)
    accounts.end(request, service, user)
    return RedirectResponse("/custodian/people?ended=true", 303)


@custody.post("/custodian/people/{user}/tokens/{token}/end", include_in_schema=False)
async def end_token(
    request: Request, service: Serving, asker: CurrentAsker, user: UserName, token: TokenId
) -> Response:
    """Revoke a token of an account."""
    await fields(request)
    await run_in_threadpool(accounts.end_token_of, request, service, asker, user, token)
    return RedirectResponse(f"/custodian/people/{user}", 303)
