"""Published tables as pages: what they are, their files, and what became of them."""

from __future__ import annotations

import datetime
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from .. import formats
from ..errors import DiscreetError
from ..languages import say
from ..server import publishing as published
from ..server.asking import understood
from ..server.auth import ASKERS, Asker, CurrentAsker, guarded
from ..server.problems import Problem
from ..server.routes.parts import A_PAGE, Offset, part_of
from ..server.routes.releases import ReleaseId
from ..server.service import Service, Serving
from ..store.published import NO_TIME, Published
from .address import Place
from .frame import PageRoute, page

reading = guarded(ASKERS, "read", "pages", PageRoute)
ROUTERS = [reading]

_DOCUMENTS = {
    "report.html": say("Report, with pictures"),
    "manifest.json": say("Manifest, with checksums"),
    "register.json": say("Register of losses"),
}


def _day(seconds: float) -> datetime.date:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()


@reading.get("/releases", include_in_schema=False)
def releases(
    request: Request, service: Serving, asker: CurrentAsker, offset: Offset = 0
) -> HTMLResponse:
    """Published tables, the newest first."""
    newest = sorted(published.readable(service, asker), key=_published, reverse=True)
    part, onward = part_of(newest, offset, A_PAGE)
    listed = [_line(service, one) for one in part]
    return page(request, "releases.html", {"releases": listed, "offset": offset, "next": onward})


@reading.get("/releases/{release}", include_in_schema=False)
def release(
    request: Request, service: Serving, asker: CurrentAsker, release: ReleaseId
) -> HTMLResponse:
    """One release; where it was withdrawn the page says why, when, and what took its place."""
    one = published.find(service, asker, release)
    request.state.notes["dataset"] = one.dataset
    known = published.facts(service, one)
    there = one.withdrawn_at is None and one.ready is not None
    base = f"/api/v1/releases/{one.id}"
    facts = _line(service, one) | {
        "guarantee": one.guarantee,
        "question": one.question,
        "files": [
            (formats.FORMATS[name].title, f"{base}/tables?format={name}")
            for name in (known["formats"] if there else ())
            if name in formats.FORMATS
        ],
        "documents": [
            (_DOCUMENTS[name], f"{base}/documents/{name}")
            for name in (known["documents"] if there else ())
        ],
        "later": _named(service, asker, known["superseded_by"]),
        "earlier": _named(service, asker, one.supersedes),
        "withdrawn": None
        if one.withdrawn_at is None
        else {"day": _day(one.withdrawn_at), "reason": one.withdrawn_reason},
        "builder": _builder(service, asker, one) if there else "",
    }
    return page(request, "release.html", {"release": facts}, 410 if facts["withdrawn"] else 200)


def _published(one: Published) -> datetime.date:
    """The day it is public from; that it was made on while no such day is known."""
    return _day(one.created if one.publish_at >= NO_TIME else one.publish_at)


def _line(service: Service, one: Published) -> dict[str, Any]:
    state = service.releases.state(one)
    return {
        "id": one.id,
        "title": one.title or one.dataset,
        "dataset": one.dataset,
        "state": state,
        "words": published.STATES[state],
        "day": _published(one),
    }


def _named(service: Service, asker: Asker, identity: str | None) -> dict[str, Any] | None:
    """Another release that this one speaks of, where the reader may know of it."""
    if identity is None:
        return None
    try:
        return _line(service, published.find(service, asker, identity))
    except Problem:
        return None


def _builder(service: Service, asker: Asker, one: Published) -> str:
    """The same question on today's data; empty where it is no longer one table of the builder."""
    try:
        with service.dataset(asker, one.dataset) as data:
            recipe = understood(asker, data, dict(one.recipe))
            if len(recipe.layouts) != 1:
                return ""
            method = data.policy.method
            return Place.of(one.dataset, recipe, method, data.description, {}).address
    except (DiscreetError, Problem, KeyError):
        return ""
