"""From a table or a recipe to a release: price, make, look, approve, embargo, publish, withdraw."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from ...errors import DiscreetError, InputError, RecipeError
from ...file_names import PUBLISHED
from ...formats import html, reading
from ...languages import say
from ...recipe.short_form import query_mapping
from ...server import publishing
from ...server.asking import Asking, Wish, understood
from ...server.auth import CUSTODIANS, Asker, CurrentAsker, guarded
from ...server.problems import Problem, not_found
from ...server.publishing import STATES
from ...server.requests import (
    ApproveForm,
    PublishForm,
    RecipeForm,
    ReleaseForm,
    WithdrawForm,
)
from ...server.routes import releases
from ...server.routes.catalogue import DataSetId
from ...server.routes.releases import ReleaseId
from ...server.service import Service, Serving
from ...store.published import NO_TIME, Published
from ...workspace import DataSet
from ...workspace.yaml_reader import read_text
from ..amounts import amount
from ..frame import PageRoute, fields, first, page
from . import forms

custody = guarded(CUSTODIANS, "manage", "pages", PageRoute)
ROUTERS = [custody]

MOST_TABLES = 3
"""So many tables of a release are shown on its page."""
MOST_ROWS = 40

Text = Annotated[str, Query(max_length=6000)]
Words = Annotated[str, Query(max_length=1000)]
_STEPS = ("ready", "approved", "published")


@custody.get("/custodian/releases", include_in_schema=False)
def every(
    request: Request, service: Serving, asker: CurrentAsker, dataset: Words = ""
) -> HTMLResponse:
    """Every release of every data set, with its state; those that wait first."""
    listed = [
        _line(service, one)
        for one in publishing.readable(service, asker)
        if not dataset or one.dataset == dataset
    ]
    order = {"making": 0, "ready": 0, "approved": 1}
    listed.sort(key=lambda one: order.get(one["state"], 2))
    facts = {"releases": listed, "datasets": service.visible(asker), "dataset": dataset}
    return page(request, "custody/releases.html", facts)


def _line(service: Service, one: Published) -> dict[str, Any]:
    state = service.releases.state(one)
    return {
        "id": one.id,
        "title": one.title or one.dataset,
        "dataset": one.dataset,
        "state": state,
        "words": STATES[state],
        "by": one.by,
        "made": _day(one.created),
        "time": None if one.publish_at >= NO_TIME else _day(one.publish_at),
    }


def _day(seconds: float) -> date:
    return datetime.fromtimestamp(seconds, UTC).date()


# -- making ---------------------------------------------------------------------------------


@custody.get("/custodian/{dataset}/publish", include_in_schema=False)
def prepare(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    recipe: Text = "",
    title: Words = "",
    supersedes: Words = "",
) -> HTMLResponse:
    """A recipe and a title; with both, what the release would cost, and the button that makes it."""
    with service.dataset(asker, dataset) as data:
        facts = _prepared(service, asker, data, {"recipe": recipe, "title": title})
        facts |= {"supersedes": supersedes}
        status = 400 if facts["wrong"] else 200
        return page(request, "custody/publish.html", facts, status)


def _prepared(
    service: Service, asker: Asker, data: DataSet, said: Mapping[str, str], wrong: str = ""
) -> dict[str, Any]:
    name, price = data.folder.name, None
    if said["recipe"].strip() and not wrong:
        try:
            price = _price(service, asker, data, said)
        except DiscreetError as error:
            wrong = error.message
        except Problem as problem:
            wrong = problem.detail
    earlier = [one for one in publishing.readable(service, asker) if one.dataset == name]
    return {
        "name": name,
        "title": data.description.title,
        "said": said,
        "price": price,
        "wrong": wrong,
        "two": data.policy.approval == "two",
        "earlier": [_line(service, one) for one in earlier if one.withdrawn_at is None],
    }


def read_recipe(text: str) -> dict[str, Any]:
    """A recipe as people have it: the address of a table, its short form, YAML or JSON."""
    text = text.strip()
    if "\n" not in text and "=" in text.partition(":")[0].partition("{")[0]:
        return query_mapping(text.partition("?")[2] if "?" in text else text)
    mapping = read_text(text, "the recipe").plain()
    mapping.pop("title", None)
    return mapping


def _price(
    service: Service, asker: Asker, data: DataSet, said: Mapping[str, str]
) -> dict[str, Any]:
    form = forms.read(RecipeForm, **read_recipe(said["recipe"]))
    recipe = understood(asker, data, form.mapping())
    asking = Asking(service, asker, data, recipe, Wish(), None, scope="manage")
    asking.asked.require()
    plan = asking.asked.plan
    charge = plan.charge.loss if plan.charge is not None and asking.asked.spends else None
    return {
        "tables": len(recipe.question.tables),
        "cells": asking.cells,
        "cost": None if charge is None else amount(charge),
        "recorded": plan.charge is not None and asking.asked.spends and charge is None,
        "within": [error.half_width for error in plan.errors if error.noise_sd > 0][:1],
        "guarantee": plan.guarantee.sentence(),
        "warnings": plan.warnings,
    }


@custody.post("/custodian/{dataset}/publish", include_in_schema=False)
async def make(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId
) -> Response:
    """Make the release: charged now, seen by custodians alone until it is approved and published."""
    said = await fields(request)
    return await run_in_threadpool(_made, request, service, asker, dataset, said)


def _made(
    request: Request, service: Service, asker: Asker, dataset: str, said: dict[str, list[str]]
) -> Response:
    written = {"recipe": first(said, "recipe"), "title": first(said, "title").strip()}
    try:
        recipe = forms.read(RecipeForm, **read_recipe(written["recipe"]))
        body = forms.read(
            ReleaseForm,
            dataset=dataset,
            recipe=recipe,
            title=written["title"],
            supersedes=first(said, "supersedes"),
            draft=True,
        )
        made = releases.publish(request, service, asker, body, Response())
    except (InputError, RecipeError, Problem) as error:
        status = getattr(error, "status", 400)
        if status not in (400, 403, 422):
            raise
        with service.dataset(asker, dataset) as data:
            words = getattr(error, "detail", "") or getattr(error, "message", "")
            facts = _prepared(service, asker, data, written, words)
        facts["supersedes"] = first(said, "supersedes")
        return page(request, "custody/publish.html", facts, status)
    return RedirectResponse(f"/custodian/{dataset}/publish/{made['id']}", 303)


# -- one release ----------------------------------------------------------------------------


@custody.get("/custodian/{dataset}/publish/{release}", include_in_schema=False)
def look(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId, release: ReleaseId
) -> HTMLResponse:
    """A release as it would be read, and what may be done with it now."""
    one = _of(service, asker, dataset, release)
    return page(request, "custody/release.html", _facts(service, asker, one))


def _of(service: Service, asker: Asker, dataset: str, release: str) -> Published:
    one = publishing.find(service, asker, release)
    if one.dataset != dataset:
        raise not_found("release")
    return one


def _facts(service: Service, asker: Asker, one: Published) -> dict[str, Any]:
    known = publishing.facts(service, one)
    state = known["state"]
    with service.dataset(asker, one.dataset) as data:
        two, title = data.policy.approval == "two", data.description.title
    reached = 3 if state == "superseded" else _STEPS.index(state) + 1 if state in _STEPS else 0
    return {
        "release": _line(service, one),
        "known": known,
        "name": one.dataset,
        "title": title,
        "steps": [(STATES[step], place < reached) for place, step in enumerate(_STEPS)],
        "own": one.by == asker.user,
        "two": two,
        "approved_day": None if not one.approved_at else _day(one.approved_at),
        "withdrawn_day": None if one.withdrawn_at is None else _day(one.withdrawn_at),
        "tables": [] if state in ("making", "withdrawn") else _tables(service, one),
        "question": one.question,
        "recipe": json.dumps(dict(one.recipe), ensure_ascii=False, indent=1),
    }


def _tables(service: Service, one: Published) -> list[str]:
    """The first tables, as they were written when the release was made."""
    try:
        file = service.blobs.root / PUBLISHED / one.id / one.files["json-stat"]
        read = reading.tables(json.loads(file.read_bytes()))
    except (KeyError, OSError, ValueError, InputError):
        return []
    window = html.Window(most=MOST_ROWS, intervals=True)
    return [html.fragment(table, window) for table in read[:MOST_TABLES]]


@custody.post("/custodian/{dataset}/publish/{release}/approve", include_in_schema=False)
async def approve(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId, release: ReleaseId
) -> Response:
    """Approve it, with a reason that stays; a time may be chosen with it."""
    said = await fields(request)
    one = await run_in_threadpool(_of, service, asker, dataset, release)
    form = forms.read(ApproveForm, reason=forms.reason(said), publish_at=_time(said))
    await run_in_threadpool(releases.approve, request, service, asker, one.id, form)
    return _back(one)


@custody.post("/custodian/{dataset}/publish/{release}/publish", include_in_schema=False)
async def publish(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId, release: ReleaseId
) -> Response:
    """Publish what is approved, now or at a time."""
    said = await fields(request)
    one = await run_in_threadpool(_of, service, asker, dataset, release)
    form = forms.read(PublishForm, publish_at=_time(said))
    await run_in_threadpool(releases.publish_approved, request, service, asker, one.id, form)
    return _back(one)


@custody.get("/custodian/{dataset}/publish/{release}/withdraw", include_in_schema=False)
def before_withdrawing(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId, release: ReleaseId
) -> HTMLResponse:
    """What withdrawing means, and a field for the reason."""
    one = _of(service, asker, dataset, release)
    return page(request, "custody/withdraw.html", _facts(service, asker, one))


@custody.post("/custodian/{dataset}/publish/{release}/withdraw", include_in_schema=False)
async def withdraw(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId, release: ReleaseId
) -> Response:
    """Withdraw it; the reason stays for everybody to read."""
    said = await fields(request)
    one = await run_in_threadpool(_of, service, asker, dataset, release)
    form = forms.read(WithdrawForm, reason=forms.reason(said))
    await run_in_threadpool(releases.withdraw, request, service, asker, one.id, form)
    return _back(one)


def _back(one: Published) -> Response:
    return RedirectResponse(f"/custodian/{one.dataset}/publish/{one.id}", 303)


def _time(said: dict[str, list[str]]) -> str:
    """A day and an hour of a form, in UTC; nothing where no day was chosen."""
    day, hour = first(said, "day").strip(), first(said, "hour").strip() or "09:00"
    if not day:
        return ""
    try:
        chosen = datetime.fromisoformat(f"{day}T{hour}").replace(tzinfo=UTC)
    except ValueError:
        words = say(
            "Write the day as 2030-01-31 and the hour as 09:30, got {day} {hour}.",
            day=day[:20],
            hour=hour[:20],
        )
        raise Problem(400, "input", words) from None
    return chosen.isoformat()
