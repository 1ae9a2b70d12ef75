"""`/session`, `/tokens`, `/users`: logging in, one's own tokens, and a custodian's accounts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Path, Request, Response

from ...errors import InputError
from ...languages import say
from ...store.accounts import User
from .. import auth, responses, two_custodians
from ..auth import ACCOUNTS, CUSTODIANS, EVERYONE, Asker, CurrentAsker, guarded
from ..problems import Problem, documented, not_found
from ..requests import LoginForm, TokenForm, UserForm
from ..service import Service, Serving

sessions = guarded(EVERYONE, "read", "session")
tokens = guarded(ACCOUNTS, "read", "tokens")
users = guarded(CUSTODIANS, "manage", "users")
ROUTERS = [sessions, tokens, users]

_HOURS = 12


@sessions.get("/session")
def who(service: Serving, asker: CurrentAsker) -> responses.SessionShape:
    """Who is asking, and the token that changes made with a session need."""
    return _facts(service, asker)


@sessions.post("/session", responses=documented(415))
def log_in(
    request: Request, service: Serving, body: LoginForm, response: Response
) -> responses.SessionShape:
    """Log in with name and password; sets a cookie that scripts cannot read."""
    secret = logged_in(request, service, body.name, body.password, response)
    session = service.accounts.by_session(secret)
    assert session is not None
    return _facts(service, Asker(session.name, session.role, session.scopes, "session", secret))


def logged_in(
    request: Request, service: Service, name: str, password: str, response: Response
) -> str:
    """Open a session and put its cookie into the response; the same for the API and the page."""
    settings = service.settings
    # a login from another site's page would put a visitor into somebody else's account
    auth.same_site(request.headers, settings)
    address = request.client.host if request.client else ""
    tries = (service.logins, f"{name} from {address}"), (service.logins_by_name, name)
    for bucket, key in (*tries, (service.logins_by_name, f"ip {address}")):
        allowance = bucket.take(key)
        if not allowance.allowed:
            raise Problem(
                429,
                "too-often",
                f"Too many logins. Wait {allowance.wait_seconds} s.",
                headers=allowance.headers(),
            )
    user = service.accounts.check_password(name, password)
    if user is None:
        raise auth.unknown("Name and password do not belong together.")
    if request.state.asker.session:
        service.accounts.close_session(request.state.asker.session)
    secret = service.accounts.open_session(user.name, hours=_HOURS)
    response.set_cookie(
        auth.cookie_name(settings),
        secret,
        max_age=_HOURS * 3600,
        path="/",
        secure=settings.secure,
        httponly=True,
        samesite="lax",
    )
    request.state.notes["reason"] = f"login of {user.name}"
    return secret


@sessions.post("/session/keep")
def keep(service: Serving, asker: CurrentAsker) -> responses.SessionShape:
    """Stay logged in: the session is idle from now on anew; its end stays where it is."""
    if asker.session:
        service.accounts.keep_session(asker.session)
    return _facts(service, asker)


@sessions.delete("/session", status_code=204, response_class=Response)
def log_out(service: Serving, asker: CurrentAsker) -> Response:
    """End the session."""
    return logged_out(service, asker, Response(status_code=204))


def logged_out(service: Service, asker: Asker, response: Response) -> Response:
    """End the session and take its cookie away."""
    if asker.session:
        service.accounts.close_session(asker.session)
    response.delete_cookie(
        auth.cookie_name(service.settings), path="/", secure=service.settings.secure, httponly=True
    )
    return response


@tokens.get("/tokens", response_model=responses.TokenList)
def own(service: Serving, asker: CurrentAsker) -> dict[str, Any]:
    """One's own tokens; never their text."""
    return {"tokens": service.accounts.tokens(asker.name)}


@tokens.post("/tokens", status_code=201, responses=documented(415))
def make(service: Serving, asker: CurrentAsker, body: TokenForm) -> responses.NewToken:
    """A new token, shown this once; made with a token it can do no more and lives no longer."""
    scopes = list(body.scopes or asker.scopes)
    beyond = [scope for scope in scopes if scope not in asker.scopes]
    if beyond:
        raise Problem(403, "scope", f"This token lacks the scope {beyond[0]} and cannot give it.")
    now = service.database.clock()
    tokens = service.accounts.tokens(asker.name)
    active = [token for token in tokens if token.revoked is None and token.expires > now]
    if len(active) >= 100:
        raise InputError("You have 100 tokens, which is the most. Revoke some first.")
    text, made = service.accounts.add_token(
        asker.name,
        label=body.label,
        scopes=scopes,
        days=body.days,
        made_with=asker.via.removeprefix("token "),
    )
    return responses.NewToken(**asdict(made), token=text)


@tokens.delete("/tokens/{token}", status_code=204, response_class=Response)
def revoke(
    service: Serving, asker: CurrentAsker, token: Annotated[str, Path(max_length=64)]
) -> Response:
    """Revoke a token of one's own, at once, with those made with it."""
    own = {one.id: one for one in service.accounts.tokens(asker.name)}
    beyond = (
        [scope for scope in own[token].scopes if scope not in asker.scopes] if token in own else []
    )
    if beyond:
        raise Problem(
            403, "scope", f"This token lacks the scope {beyond[0]} and cannot end one that has it."
        )
    if not service.accounts.revoke_token(asker.name, token):
        raise not_found("token")
    return Response(status_code=204)


@users.get("/users", response_model=responses.UserList)
def everyone(service: Serving) -> dict[str, Any]:
    """Every account, revoked ones too."""
    return {"users": service.accounts.users()}


@users.post("/users", status_code=201, responses=documented(409, 415))
def add(request: Request, service: Serving, asker: CurrentAsker, body: UserForm) -> User:
    """A new account; a custodian's is proposed."""
    request.state.notes["reason"] = f"add {body.role} {body.name}"
    if body.role == "custodian":
        raise two_custodians.by_two("making", "add_custodian", body.name)
    return service.accounts.add_user(
        body.name, body.role, password=body.password, made_by=asker.name
    )


@users.delete("/users/{user}")
def end(request: Request, service: Serving, user: Annotated[str, Path(max_length=64)]) -> User:
    """Revoke an account with its tokens and sessions, for ever; a custodian's end is proposed."""
    account = _known(service, user)
    request.state.notes["reason"] = f"revoke {user}"
    if account.role == "custodian" and account.revoked is None:
        raise two_custodians.by_two("ending", "end_custodian", user)
    return service.accounts.revoke_user(user)


@users.get("/users/{user}/tokens", response_model=responses.TokenList)
def tokens_of(service: Serving, user: Annotated[str, Path(max_length=64)]) -> dict[str, Any]:
    """The tokens of an account; never their text."""
    _known(service, user)
    return {"tokens": service.accounts.tokens(user)}


@users.delete("/users/{user}/tokens/{token}", status_code=204, response_class=Response)
def end_token_of(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    user: Annotated[str, Path(max_length=64)],
    token: Annotated[str, Path(max_length=64)],
) -> Response:
    """Revoke a token of somebody else's, at once; not another custodian's."""
    request.state.notes["reason"] = f"revoke a token of {user}"
    if _known(service, user).role == "custodian" and user != asker.name:
        raise Problem(
            403,
            "two-custodians",
            say("The tokens of a custodian are their own; two can end the account."),
        )
    if not service.accounts.revoke_token(user, token):
        raise not_found("token")
    return Response(status_code=204)


def _known(service: Service, name: str) -> User:
    for user in service.accounts.users():
        if user.name == name:
            return user
    raise not_found("account")


def _facts(service: Service, asker: Asker) -> responses.SessionShape:
    csrf = service.accounts.csrf(asker.session) if asker.session else None
    ends = service.accounts.session_ends(asker.session) if asker.session else None
    idle_until, expires_at = ends or (None, None)
    return responses.SessionShape(
        asker.name or None, asker.role, list(asker.scopes), csrf, idle_until, expires_at
    )
