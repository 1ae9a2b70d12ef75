"""Errors as `application/problem+json` (RFC 9457): one sentence, a rule where one refused.

    400  what was asked cannot be understood        401  no account, or a token that is no longer good
    403  a lawful no (rule, alternatives), or a role that may not do this
    404  there is no such thing, or it is not yours: the same answer for both
    406  no such format       408  body too slow    409  key used before, or things have moved on
    410  withdrawn            413  too large        415  not JSON         422  not of the right form
    429  too often            431  too many headers 500  our bug          503  busy, or a store failed

A spent budget is 403 with rule `budget`, not 402: no payment would help.
"""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from .. import errors
from ..errors import DiscreetError
from ..languages import language_of, say, told
from . import logs

MEDIA_TYPE = "application/problem+json"


class Problem(Exception):
    """An error on its way to the client."""

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers = dict(headers or {})
        self.more = more

    def body(self, language: str = "") -> dict[str, Any]:
        """The document, its words in a language."""
        document: dict[str, Any] = told(
            {
                "type": f"urn:discreet:{self.kind}",
                "title": _TITLES.get(self.status, HTTPStatus(self.status).phrase),
                "status": self.status,
                "detail": self.detail,
                **self.more,
            },
            language,
        )
        return document

    def response(self, language: str = "") -> Response:
        """The document as a response."""
        said = {"Content-Language": language_of(language), "Vary": "Accept-Language"}
        return Response(
            json.dumps(self.body(language), ensure_ascii=False).encode(errors="replace"),
            self.status,
            {"Cache-Control": "no-store", **said, **self.headers},
            MEDIA_TYPE,
        )


_TITLES = {
    400: say("Bad Request"),
    401: say("Unauthorized"),
    403: say("Forbidden"),
    404: say("Not Found"),
    405: say("Method Not Allowed"),
    406: say("Not Acceptable"),
    409: say("Conflict"),
    410: say("Gone"),
    415: say("Unsupported Media Type"),
    429: say("Too Many Requests"),
    500: say("Internal Server Error"),
    503: say("Service Unavailable"),
}


class Alternative(BaseModel):
    """What would work instead of a refused question."""

    words: str
    title: str = ""
    """The same by the labels a reader sees."""
    steps: list[dict[str, str | None]] = []
    """What is done to a table: coarsen, drop, unfilter or add, at which level, to which one."""
    change: dict[str, str | None] | None = None
    """What to change in the recipe, by name; null takes a setting away."""
    checked: bool
    """True: judged, and passes. False: likely."""
    recipe: dict[str, Any] | None = None
    query: str | None = None
    """The short form of that recipe."""
    cells: int | None = None
    within_95: int | None = None
    """95 % of its cells would be within ± this."""
    as_job: bool | None = None


class ProblemDocument(BaseModel):
    """Every error, as RFC 9457 writes it."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    rule: str | None = None
    alternatives: list[Alternative] | None = None


def not_found(what: str) -> Problem:
    """No such thing, or not yours: nobody can tell which."""
    return Problem(404, "not-found", f"There is no such {what}.")


def of(error: DiscreetError, alternatives: Sequence[Mapping[str, Any]] | None = None) -> Problem:
    """The problem a discreet error is."""
    if isinstance(error, errors.Refusal):
        if alternatives is None:
            alternatives = [
                {"words": each.words, "change": each.change, "checked": False, "recipe": None}
                for each in error.alternatives
            ]
        return Problem(
            403, "refusal", error.message, rule=error.rule, alternatives=list(alternatives)
        )
    if isinstance(error, errors.KeyReused | errors.HistoryMoved):
        kind = "key-reused" if isinstance(error, errors.KeyReused) else "history-moved"
        return Problem(409, kind, error.message)
    if isinstance(error, errors.InputError):
        return Problem(400, "input", error.message, error=type(error).__name__)
    if isinstance(error, errors.Cancelled):
        return Problem(
            503,
            "too-long",
            say(
                "This took longer than one request may. Ask again with the header "
                "`Prefer: respond-async` and it becomes a job."
            ),
            headers={"Retry-After": "5"},
        )
    if isinstance(error, errors.EngineError | errors.StoreError):
        logs.say("error", event="unavailable", error=type(error).__name__)
        kind = "engine" if isinstance(error, errors.EngineError) else "store"
        return Problem(503, kind, error.message, headers={"Retry-After": "10"})
    return bug(error)


def bug(error: BaseException) -> Problem:
    """Our mistake: its place is logged, its values are not."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    logs.say("error", event="bug", error=type(error).__name__, place=place)
    said = errors.Bug("Something failed that should not.")
    return Problem(500, "bug", said.message)


def behind(error: Exception) -> Problem:
    """The problem behind whatever a route or a job raised."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, DiscreetError):
        return of(error)
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    return _http(error) if isinstance(error, HTTPException) else bug(error)


def _http(error: HTTPException) -> Problem:
    """Errors of the framework: unknown paths, wrong methods."""
    words = {
        404: say("There is nothing at this address. See /api/v1/docs."),
        405: say("This address does not take that method. See /api/v1/docs."),
        400: say("The request cannot be read: the body must be JSON."),
    }
    kind = {404: "not-found", 405: "method"}.get(error.status_code, "input")
    detail = words.get(error.status_code, say("The request cannot be served."))
    return Problem(error.status_code, kind, detail, headers=error.headers)


_FORMS = ("compare", "attack", "simulate")


def _invalid(error: RequestValidationError) -> Problem:
    """Bodies and parameters not of the documented form: the first fault, in words."""
    faults = error.errors()
    first = faults[0] if faults else {"loc": ("body",), "msg": "cannot be read", "type": ""}
    if first["type"] == "json_invalid":
        return Problem(400, "input", say("The body is not JSON. Send one JSON object."))
    place = [str(part) for part in first["loc"]]
    place = place[1:] if place[:1] in (["body"], ["query"], ["path"], ["header"]) else place
    if len(place) > 1 and place[0] in _FORMS:
        place = place[1:]  # which of several forms it was read as
    named = [part for part in place if not part.isdigit()] or ["The body"]
    name = named[-1] if first["type"] == "missing" else named[0]
    return Problem(422, "form", _sentence(name, first), where=".".join(place)[:200])


def _sentence(name: str, fault: Mapping[str, Any]) -> str:
    got = fault.get("input")
    shown = json.dumps(got, ensure_ascii=False, default=str)[:60] if got is not None else "null"
    if name in ("epsilon", "delta", "rho", "share"):
        return say(
            "{name} must be a number written as text, got {shown}. Write digits in quotes, such as "
            '"{name}": "0.5" or "1/3".',
            name=name,
            shown=shown,
        )
    if fault["type"] == "missing":
        return say("{name} is missing.", name=name[:60])
    if fault["type"] == "extra_forbidden":
        return say("{name} is not known here. See /api/v1/docs for what is.", name=repr(name[:60]))
    return say("{name}: {fault}, got {shown}.", name=name[:60], fault=fault["msg"], shown=shown)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI entries of the errors a route may answer with."""
    always = {400, 401, 403, 404, 408, 413, 422, 429, 431, 500, 503}
    schema = {"$ref": "#/components/schemas/ProblemDocument"}
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        for status in sorted(always | set(statuses))
    }
