"""Pages of other origins may read what is public, where the server was told so; nothing else.

Only answers to GET and HEAD, and to selections of PxWebApi, which never spend; only where a request
carries no token and no cookie. Credentials are never allowed from elsewhere, so a page that sends
them gets no answer it can read.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Scope

from .problems import Problem

_SAFE_HEADERS = ("accept", "accept-language", "content-type", "if-none-match")
_SEEN_HEADERS = (
    "ETag, Content-Language, Link, Retry-After, RateLimit, X-Request-Id, Discreet-Question, "
    "Discreet-Cells, Discreet-Guarantee, Discreet-Charged"
)
_DAY = "86400"
_PXWEB = "/pxweb/"


def reads(scope: Scope, allowed: tuple[str, ...]) -> str | None:
    """The origin that may read the answer to a request, or None."""
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    if not origin or "authorization" in headers or "cookie" in headers:
        return None
    if not allowed or not _readable(scope["path"], scope["method"]):
        return None
    return "*" if "*" in allowed else origin if origin in allowed else None


def dress(headers: MutableHeaders, scope: Scope, allowed: tuple[str, ...]) -> None:
    """Let pages of an allowed origin read the answer.

    That it may differ by origin is said to everybody: who keeps it must not give it to a page of
    elsewhere as it was given to one of here.
    """
    if allowed and _readable(scope["path"], scope["method"]):
        headers.add_vary_header("Origin")
    origin = reads(scope, allowed)
    if origin is not None:
        headers["Access-Control-Allow-Origin"] = origin
        headers["Access-Control-Expose-Headers"] = _SEEN_HEADERS
        headers["Cross-Origin-Resource-Policy"] = "cross-origin"


def preflight(scope: Scope, allowed: tuple[str, ...]) -> Response | None:
    """The answer to a browser that asks before it asks; None where this is no such question."""
    if scope["method"] != "OPTIONS" or not allowed:
        return None
    headers = Headers(scope=scope)
    wanted = headers.get("access-control-request-method")
    if not wanted:
        return None
    meant = {**scope, "method": wanted.upper()}
    named = headers.get("access-control-request-headers", "").lower().split(",")
    other = sorted({name.strip() for name in named} - {"", *_SAFE_HEADERS})
    origin = reads(meant, allowed)
    if origin is None or other:
        return Problem(
            403,
            "cross-origin",
            "From pages of another origin only what is public may be read: GET, or a selection "
            "of PxWebApi, without token, cookie or other headers. Ask from a program instead.",
        ).response()
    return Response(
        status_code=204,
        headers={
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Methods": "GET, HEAD, POST"
            if _PXWEB in scope["path"]
            else "GET, HEAD",
            "Access-Control-Allow-Headers": ", ".join(_SAFE_HEADERS),
            "Access-Control-Max-Age": _DAY,
            "Vary": "Origin",
        },
    )


def _readable(path: str, method: str) -> bool:
    if path.startswith(_PXWEB):
        return method in ("GET", "HEAD", "POST")
    return path.startswith("/api/") and method in ("GET", "HEAD")
