"""`tables:check` and `tables`: what would a table cost and say, and the table itself."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Header, Query, Request, Response
from fastapi.responses import JSONResponse

from ... import arrangement, formats, recipe, rules
from ...errors import InputError
from ...formats import csvw
from ...formats.views import VIEWS, View, to_bytes
from ...languages import told
from ...recipe import Recipe
from ...release import Standing
from ...workspace import DataSet
from .. import option_lists, refusals, responses, table_answers, table_jobs
from ..answer_cache import request_key
from ..asking import Asking, Wish, understood
from ..auth import ASKERS, EVERYONE, CurrentAsker, GuardedRoute, Handler, guarded
from ..negotiation import BYTES, chosen_language, documented_files, spoken_in
from ..problems import Problem, documented
from ..requests import RecipeForm, project_name
from ..service import Serving
from .catalogue import DataSetId
from .table_parameters import (
    ChartKind,
    Decimals,
    Empty,
    Epsilon,
    FirstRow,
    FormatName,
    Free,
    Heat,
    Intervals,
    LanguageName,
    MethodName,
    NoPlan,
    Percent,
    Project,
    RowsMost,
    SortBy,
    Text,
    Theme,
    Totals,
    Where,
)


class TableRoute(GuardedRoute):
    """The one way to a table; a request known by its bytes is answered before it is read."""

    async def answer(self, request: Request, read: Handler) -> Response:
        """The kept answer, or the route's own."""
        key = request.state.key = request_key(request.scope, await request.body())
        kept = None
        if key is not None:
            kept = table_answers.known(request.app.state.service, request, key)
        return kept or await read(request)


checking = guarded(EVERYONE, "read", "tables")
asking = guarded(ASKERS, "tables", "tables", TableRoute)
describing = guarded(ASKERS, "tables", "tables")
ROUTERS = [asking, checking, describing]

CSVW = "application/csvm+json"
TABLE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The table, in the wished format.",
        "content": documented_files(BYTES, *formats.FORMATS.values(), *VIEWS.values()),
    },
    202: {"description": "A job was made; see Location.", "model": responses.JobShape},
    304: {"description": "The same as the client has."},
    **documented(406, 409, 410, 415),
}


@checking.post(
    "/datasets/{dataset}/tables:check",
    response_model=responses.CheckShape,
    responses=documented(409, 415),
)
def check(
    request: Request,
    response: Response,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    body: RecipeForm,
    project: Project = None,
    free: NoPlan = False,
    ladder: Annotated[
        bool, Query(description="Also the same question at other accuracies.")
    ] = False,
    language: LanguageName = None,
) -> dict[str, Any]:
    """The verdict on a question from public facts only: nothing is read or spent."""
    with service.dataset(asker, dataset) as data:
        question = understood(asker, data, body.mapping())
        wished = language or body.language
        accepted = request.headers.get("accept-language")
        spoken = chosen_language(wished, accepted, data.description)
        request.state.language = spoken
        wish = Wish(project=project_name(project), language=spoken)
        asked = Asking(service, asker, data, question, wish, request)
        response.headers.update(spoken_in(asked.language))
        # planning a table nobody may have could take long; its verdict needs no plan
        hopeless = not asked.verdict.allowed and asked.verdict.cells > rules.DEFAULT_MOST_CELLS
        if free or hopeless:
            return dict(told(_without_plan(asked) | _judgement(asked), spoken))
        with refusals.with_alternatives(asked, counts=False):
            seen = asked.asked.to_json(look_back=False) | _judgement(asked)
            seen["alternatives"] = seen["alternatives"] or refusals.unaffordable(asked)
            seen["guarantee"] = asked.asked.plan.guarantee.to_json(spoken)
            if ladder:
                seen["ladder"] = [vars(rung) for rung in asked.asked.ladder()]
            return dict(told(seen, spoken))


@checking.post(
    "/datasets/{dataset}/tables:options",
    response_model=responses.Options,
    responses=documented(415),
)
def options(
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    body: RecipeForm,
    language: LanguageName = None,
) -> dict[str, Any]:
    """For each level: may it be put into this table, or filter it, and if not which rule says so.

    In rows, columns and layers a level is judged alike. From public facts only, all in one go.
    """
    with service.dataset(asker, dataset) as data:
        asked = understood(asker, data, body.mapping())
        language = chosen_language(language or body.language, None, data.description)
        if len(asked.question.tables) > 1:
            raise InputError(
                f"Options are of one table, this recipe has {len(asked.question.tables)}. "
                "Send one table at a time."
            )
        return option_lists.listed(Asking(service, asker, data, asked), language)


def _without_plan(asked: Asking) -> dict[str, Any]:
    """What can be said from names and rules; nothing of cost and error."""
    return {
        "standing": Standing.FREE if asked.verdict.allowed else Standing.REFUSED,
        "allowed": asked.verdict.allowed,
        "affordable": asked.verdict.allowed,
        "settings": dict(asked.recipe.question.settings),
        "treatment": dict(asked.recipe.treatment.settings),
        "cells": asked.verdict.cells,
        "method": asked.recipe.question.method,
    }


def _judgement(asked: Asking) -> dict[str, Any]:
    """The rest of what `tables:check` says; the same on two data sets that differ in one record."""
    single = len(asked.recipe.question.tables) == 1
    return {
        "breaches": [vars(breach) for breach in asked.verdict.breaches],
        "alternatives": refusals.alternatives(asked),
        "expected_seconds": asked.expected_seconds,
        "as_job": asked.must_be_job,
        "query": recipe.to_query(asked.recipe) if single else None,
        "recipe": recipe.to_mapping(asked.recipe),
    }


@asking.post("/datasets/{dataset}/tables", response_class=Response, responses=TABLE)
def ask(
    request: Request,
    dataset: DataSetId,
    body: RecipeForm,
    format: FormatName = None,
    language: LanguageName = None,
    project: Project = None,
    free: Free = False,
    prefer: Annotated[str | None, Header(max_length=200)] = None,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
    first: FirstRow = 1,
    rows_most: RowsMost = None,
    intervals: Intervals = False,
    heat: Heat = False,
    chart: ChartKind = "",
    theme: Theme = "page",
) -> Response:
    """A table, or several: answered at once where it is short, else a job (202)."""
    asker = request.state.asker
    with request.app.state.service.dataset(asker, dataset) as data:
        question, language = understood(asker, data, body.mapping()), language or body.language
        asked = Asking.of(
            request,
            data,
            question,
            format=format,
            language=language,
            project=project,
            view=View(first, rows_most, intervals, heat, chart, theme),
        )
        return answer(asked, free=free, prefer=prefer, idempotency_key=idempotency_key)


@asking.get("/datasets/{dataset}/tables", response_class=Response, responses=TABLE)
def ask_short(
    request: Request,
    dataset: DataSetId,
    rows: Text = None,
    columns: Text = None,
    layers: Text = None,
    where: Where = None,
    totals: Totals = None,
    percent: Percent = None,
    sort: SortBy = None,
    decimals: Decimals = None,
    empty: Empty = None,
    method: MethodName = None,
    epsilon: Epsilon = None,
    format: FormatName = None,
    language: LanguageName = None,
    project: Project = None,
    free: Free = False,
    prefer: Annotated[str | None, Header(max_length=200)] = None,
    first: FirstRow = 1,
    rows_most: RowsMost = None,
    intervals: Intervals = False,
    heat: Heat = False,
    chart: ChartKind = "",
    theme: Theme = "page",
) -> Response:
    """A table by its short form: rows=region&columns=sex&where=age:0; other parameters as in POST."""
    with request.app.state.service.dataset(request.state.asker, dataset) as data:
        question = _short_form(request, data)
        asked = Asking.of(
            request,
            data,
            question,
            format=format,
            language=language,
            project=project,
            view=View(first, rows_most, intervals, heat, chart, theme),
        )
        return answer(asked, free=free, prefer=prefer)


@describing.get(
    "/datasets/{dataset}/tables/metadata",
    response_class=Response,
    responses={
        200: {"description": "CSVW metadata.", "content": {CSVW: {"schema": {"type": "object"}}}},
        **documented(406, 409),
    },
)
def metadata(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    rows: Text = None,
    columns: Text = None,
    layers: Text = None,
    where: Where = None,
    totals: Totals = None,
    percent: Percent = None,
    sort: SortBy = None,
    decimals: Decimals = None,
    empty: Empty = None,
    method: MethodName = None,
    epsilon: Epsilon = None,
    language: LanguageName = None,
    project: Project = None,
) -> Response:
    """What the columns of a table's CSV file are (CSVW): asked as the table is, at its cost."""
    with service.dataset(asker, dataset) as data:
        question = _short_form(request, data)
        asked = Asking.of(request, data, question, format="csv", language=language, project=project)
        asked.may_be_asked_so()
        release = table_answers.released(asked)
        facts = csvw.metadata(release.tables[0].in_language(asked.wish.language), "tables")
        facts["url"] = table_answers.address(asked, "tables", format="csv")
        return JSONResponse(facts, headers=spoken_in(asked.language), media_type=CSVW)


def _short_form(request: Request, data: DataSet) -> Recipe:
    """The question that the parameters of an address say."""
    parameters = request.query_params.multi_items()
    ours = {"format", "language", "project", "free", "from", "rows_most", "intervals", "heat"}
    ours |= {"chart", "theme"}
    pairs = [(name, text) for name, text in parameters if name not in ours]
    if len(pairs) > 100:
        raise InputError(f"An address holds at most 100 parameters, got {len(pairs)}. Use POST.")
    return understood(request.state.asker, data, recipe.query_mapping(urlencode(pairs)))


def answer(
    asked: Asking,
    *,
    free: bool = False,
    prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Response:
    """The table, or a job for it."""
    if free:
        _holds_all(asked)
        return table_answers.free(asked)
    asked.may_be_asked_so()
    _holds_all(asked)
    if idempotency_key is not None:
        _once(asked, idempotency_key)
    if asked.wish.format.name in VIEWS:
        _can_be_shown(asked)
    if asked.wish.format.name in VIEWS and asked.must_be_job:
        raise Problem(
            406,
            "format",
            f"A table of {asked.cells:,} cells is a job, and a job makes files. Ask for a file: "
            f"{', '.join(formats.FORMATS)}.",
        )
    if ("respond-async" in (prefer or "") and asked.wish.format.name not in VIEWS) or (
        asked.must_be_job
    ):
        return _job(asked)
    return table_answers.respond(asked)


def _can_be_shown(asked: Asking) -> None:
    """Raise where a view would fail, before anything is spent on it."""
    with refusals.with_alternatives(asked):
        asked.verdict.enforce()
        if asked.must_be_job or asked.costs_nothing:
            return
        guarantee = asked.asked.plan.guarantee
    empty = arrangement.outline(asked.recipe, asked.data.description, guarantee)
    to_bytes(empty.in_language(asked.wish.language), asked.wish.format.name, asked.wish.view)


def _holds_all(asked: Asking) -> None:
    form, tables = asked.wish.format, len(asked.recipe.question.tables)
    if tables > 1 and not form.many:
        several = " or ".join(each.name for each in formats.FORMATS.values() if each.many)
        raise Problem(
            406,
            "format",
            f"A {form.name} file holds one table, this recipe has {tables}. Ask for each alone, or "
            f"use {several}.",
        )


def _once(asked: Asking, key: str) -> None:
    """An idempotency key means one request for ever."""
    wish = asked.wish
    said = [asked.dataset, recipe.to_mapping(asked.recipe)]
    said += [wish.format.name, wish.language, wish.project]
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    if not asked.service.accounts.same_request(_owner(asked), key, digest):
        raise Problem(
            409,
            "key-reused",
            "This idempotency key came before with another request. Use a new key for a new "
            "request; nothing was charged.",
        )


def _owner(asked: Asking) -> str:
    """Whose keys are meant: an account's, or without login those of one address."""
    client = asked.request.client if asked.request else None
    public = asked.asker.role == "public"
    return f"public {client.host}" if public and client else asked.asker.user


def _job(asked: Asking) -> Response:
    """A job, and where to look for it."""
    return table_jobs.accepted(table_jobs.create(asked))
