"""`tables:check` and `tables`: what would a table cost and say, and the table itself."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

from fastapi import Header, Query, Request, Response
from fastapi.responses import JSONResponse

from ... import formats, recipe, release, rules
from ...errors import InputError, Refusal
from ...formats import csvw
from ...methods import registry
from ...recipe import Recipe
from ...workspace import DataSet
from .. import responses, table_answers, worker
from ..auth import ASKERS, EVERYONE, Asker, Asking, guarded
from ..negotiation import spoken
from ..problems import Problem, documented
from ..requests import RecipeForm, project_name
from ..service import Service, Serving
from ..table_answers import Wish
from .catalogue import DataSetId

checking = guarded(EVERYONE, "read", "tables")
asking = guarded(ASKERS, "tables", "tables")
ROUTERS = [checking, asking]

FormatName = Annotated[
    str | None, Query(max_length=40, description="A format; wins over the header Accept.")
]
LanguageName = Annotated[str | None, Query(max_length=20, description="Language of labels.")]
Project = Annotated[
    str | None, Query(max_length=100, description="The project a charge counts against.")
]
Free = Annotated[
    bool, Query(description="Answer from what was released before: charges nothing, or is refused.")
]
NoPlan = Annotated[
    bool,
    Query(description="Names and rules only: for a table that shall cost nothing and needs no ε."),
]
Text = Annotated[str | None, Query(max_length=4000)]

CSVW = "application/csvm+json"
MOST_LOOKED_AT = 200
"""How many of the last releases a free answer is looked for in."""
TABLE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The table, in the wished format.",
        "content": {
            made.media_type: {
                "schema": {"type": "object"}
                if made.media_type == "application/json"
                else {"type": "string"}
            }
            for made in formats.FORMATS.values()
        },
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
    service: Serving,
    asker: Asking,
    dataset: DataSetId,
    body: RecipeForm,
    project: Project = None,
    free: NoPlan = False,
) -> dict[str, Any]:
    """The verdict on a question from public facts only: nothing is read or spent."""
    with service.dataset(asker, dataset) as data:
        asked = table_answers.understood(data, body.mapping())
        request.state.notes["dataset"] = dataset
        if free:
            judged = rules.judge(asked.question, data.description, data.policy)
            return _without_plan(service, asker, data, asked, judged, project_name(project))
        return verdict(service, asker, data, asked, project_name(project))


def verdict(
    service: Service, asker: Asker, data: DataSet, asked: Recipe, project: str
) -> dict[str, Any]:
    """What `tables:check` says; the same bytes on two data sets that differ in one record."""
    judged = rules.judge(asked.question, data.description, data.policy)
    if not judged.allowed and judged.cells > rules.DEFAULT_MOST_CELLS:
        # planning a table nobody may have could take long; the verdict needs no plan
        return _without_plan(service, asker, data, asked, judged, project)
    try:
        seen = release.preview(data, asked, user=asker.user, project=project, earlier=False)
    except Refusal as refusal:
        raise table_answers.refused(data, asked, refusal, asker) from None
    return (
        seen.to_json()
        | _judgement(data, asked, seen.verdict, asker, project)
        | _size(service, asked, seen.verdict.cells)
    )


def _without_plan(
    service: Service,
    asker: Asker,
    data: DataSet,
    asked: Recipe,
    judged: rules.Verdict,
    project: str,
) -> dict[str, Any]:
    return {
        "allowed": judged.allowed,
        "affordable": judged.allowed,
        **_judgement(data, asked, judged, asker, project),
        "cells": judged.cells,
        "method": asked.question.method,
        "cost": None,
        "answered_before": False,
        "left": None,
        "guarantee": {},
        "errors": [],
        "plans": [],
        "warnings": [],
        **_size(service, asked, judged.cells),
    }


def _judgement(
    data: DataSet, asked: Recipe, judged: rules.Verdict, asker: Asker, project: str
) -> dict[str, Any]:
    return {
        "breaches": [{"rule": b.rule, "sentence": b.sentence} for b in judged.breaches],
        "alternatives": table_answers.alternatives(data, asked, judged, None, asker, project),
    }


def _size(service: Service, asked: Recipe, cells: int) -> dict[str, Any]:
    tables = len(asked.question.tables)
    return {
        "expected_seconds": table_answers.expected_seconds(min(cells, 10**12), tables),
        "as_job": table_answers.must_be_job(service, cells, tables),
        "query": recipe.to_query(asked) if tables == 1 else None,
        "recipe": table_answers.mapping(asked),
    }


@asking.post("/datasets/{dataset}/tables", response_class=Response, responses=TABLE)
def ask(
    request: Request,
    service: Serving,
    asker: Asking,
    dataset: DataSetId,
    body: RecipeForm,
    format: FormatName = None,
    language: LanguageName = None,
    project: Project = None,
    free: Free = False,
    prefer: Annotated[str | None, Header(max_length=200)] = None,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Response:
    """A table, or several: answered at once where it is short, else a job (202)."""
    with service.dataset(asker, dataset) as data:
        asked = table_answers.understood(data, body.mapping())
        language = language or body.language
        wish = Wish.of(request, data, format=format, language=language, project=project)
        if free:
            return _free(service, asker, data, asked, wish, request, dataset)
        return answer(service, asker, data, asked, wish, request, dataset, prefer, idempotency_key)


@asking.get("/datasets/{dataset}/tables", response_class=Response, responses=TABLE)
def ask_short(
    request: Request,
    service: Serving,
    asker: Asking,
    dataset: DataSetId,
    rows: Text = None,
    columns: Text = None,
    layers: Text = None,
    where: Annotated[
        list[str] | None, Query(max_length=50, description="variable:codes, once a variable.")
    ] = None,
    totals: Annotated[str | None, Query(max_length=10)] = None,
    percent: Annotated[
        str | None, Query(max_length=10, description="Of rows, columns, layers or all.")
    ] = None,
    method: Annotated[str | None, Query(max_length=40)] = None,
    epsilon: Annotated[str | None, Query(max_length=60)] = None,
    format: FormatName = None,
    language: LanguageName = None,
    project: Project = None,
    free: Free = False,
    prefer: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """A table by its short form: rows=region&columns=sex&where=age:0; other parameters as in POST."""
    with service.dataset(asker, dataset) as data:
        ours = {"format", "language", "project", "free"}
        kept = [(k, v) for k, v in request.query_params.multi_items() if k not in ours]
        asked = recipe.from_query(_encoded(kept), data.description, data.policy)
        wish = Wish.of(request, data, format=format, language=language, project=project)
        if free:
            return _free(service, asker, data, asked, wish, request, dataset)
        return answer(service, asker, data, asked, wish, request, dataset, prefer, None)


@asking.get(
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
    asker: Asking,
    dataset: DataSetId,
    rows: Text = None,
    columns: Text = None,
    layers: Text = None,
    language: LanguageName = None,
    project: Project = None,
) -> Response:
    """What the columns of a table's CSV file are (CSVW): asked as the table is, at its cost."""
    with service.dataset(asker, dataset) as data:
        request.state.notes["dataset"] = dataset
        ours = {"format", "language", "project"}
        kept = [(k, v) for k, v in request.query_params.multi_items() if k not in ours]
        asked = recipe.from_query(_encoded(kept), data.description, data.policy)
        wish = Wish.of(request, data, format="csv", language=language, project=project)
        table_answers.no_spending_by_link(request, asker, data, asked)
        _only_what_is_there(service, data, asked, request)
        made = table_answers.released(service, asker, data, asked, wish)
        facts = csvw.metadata(made.tables[0], "tables", made.recipe.layouts[0], wish.language)
        facts["url"] = table_answers.address(data, asked, wish, "tables", format="csv")
        headers = {"Vary": table_answers.VARY}
        if language := spoken(data.description, wish.language):
            headers["Content-Language"] = language
        return JSONResponse(facts, headers=headers, media_type=CSVW)


def _encoded(pairs: list[tuple[str, str]]) -> str:
    from urllib.parse import urlencode

    if len(pairs) > 100:
        raise InputError(f"An address holds at most 100 parameters, got {len(pairs)}. Use POST.")
    return urlencode(pairs)


def answer(
    service: Service,
    asker: Asker,
    data: DataSet,
    asked: Recipe,
    wish: Wish,
    request: Request,
    dataset: str,
    prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Response:
    """The table or a job for it."""
    request.state.notes["dataset"] = dataset
    table_answers.no_spending_by_link(request, asker, data, asked)
    _only_what_is_there(service, data, asked, request)
    _holds_all(asked, wish)
    if idempotency_key is not None:
        _remember(service, asker, dataset, asked, wish, idempotency_key)
    cells = sum(rules.cells_of(spec, data.description) for spec in asked.question.tables)
    wanted = "respond-async" in (prefer or "")
    if not wanted and not table_answers.must_be_job(service, cells, len(asked.question.tables)):
        return table_answers.respond(service, asker, data, asked, wish, request)
    return _job(service, asker, data, asked, wish, request, dataset)


def _holds_all(asked: Recipe, wish: Wish) -> None:
    if len(asked.question.tables) > 1 and not wish.format.many:
        several = " or ".join(made.name for made in formats.FORMATS.values() if made.many)
        raise Problem(
            406,
            "format",
            f"A {wish.format.name} file holds one table, this recipe has "
            f"{len(asked.question.tables)}. Ask for each alone, or use {several}.",
        )


def _free(
    service: Service,
    asker: Asker,
    data: DataSet,
    asked: Recipe,
    wish: Wish,
    request: Request,
    dataset: str,
) -> Response:
    """A table from what was released before: nothing is read, drawn or charged."""
    request.state.notes |= {"dataset": dataset, "charged": False}
    _holds_all(asked, wish)
    try:
        # under an embargo nothing counts as released for whoever may not ask at a cost
        newest = 0 if service.withheld(asker, data.folder.name) else MOST_LOOKED_AT
        with service.slots.one():
            control = table_answers.within(service)
            made = release.derive(data, asked, newest=newest, control=control)
            return table_answers.as_response(service, asker, data, made, wish)
    except Refusal as refusal:
        request.state.notes["rule"] = refusal.rule
        raise table_answers.refused(data, asked, refusal, asker, wish) from None


def _only_what_is_there(service: Service, data: DataSet, asked: Recipe, request: Request) -> None:
    """HEAD promises to change nothing: it neither spends nor begins a job."""
    if not getattr(request.state, "head", False):
        return
    cells = sum(rules.cells_of(spec, data.description) for spec in asked.question.tables)
    if table_answers.must_be_job(service, cells, len(asked.question.tables)):
        raise Problem(403, "head", "This would begin a job, which HEAD does not do. Use GET.")
    drawn = registry.get(asked.question.method).drawn
    if drawn and data.ledger().find(table_answers.question_hash(data, asked)) is None:
        raise Problem(403, "head", "This would spend budget, which HEAD does not do. Use GET.")


def _remember(
    service: Service, asker: Asker, dataset: str, asked: Recipe, wish: Wish, key: str
) -> None:
    said = [dataset, table_answers.mapping(asked), wish.format.name, wish.language, wish.project]
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    if not service.accounts.same_request(asker.user, key, digest):
        raise Problem(
            409,
            "key-reused",
            "This idempotency key came before with another request. Use a new key for a new "
            "request; nothing was charged.",
        )


def _job(
    service: Service,
    asker: Asker,
    data: DataSet,
    asked: Recipe,
    wish: Wish,
    request: Request,
    dataset: str,
) -> Response:
    """A job for a question that would be answered; what would be refused is refused now."""
    try:
        rules.judge(asked.question, data.description, data.policy).enforce()
        table_answers.may_spend(service, asker, data, asked)
        seen = release.preview(data, asked, user=asker.user, project=wish.project, earlier=False)
        if not seen.affordable and seen.plan.charge is not None:
            data.ledger().require(seen.plan.charge, user=asker.user, project=wish.project)
    except Refusal as refusal:
        request.state.notes["rule"] = refusal.rule
        raise table_answers.refused(data, asked, refusal, asker, wish) from None
    waiting = [j for j in service.jobs.list(user=asker.user) if j.state in ("waiting", "running")]
    if len(waiting) >= 20:
        raise Problem(
            429,
            "too-many-jobs",
            "You have 20 jobs waiting or running, which is the most. Wait for one or cancel one.",
            headers={"Retry-After": "30"},
        )
    job = service.jobs.create(
        worker.KIND,
        {
            "dataset": dataset,
            "recipe": table_answers.mapping(asked),
            "format": wish.format.name,
            "language": wish.language,
            "project": wish.project,
            "question": seen.plan.question_hash,
        },
        user=asker.user,
    )
    service.job_waits.set()
    request.state.notes["question"] = seen.plan.question_hash
    return JSONResponse(
        worker.facts(job),
        202,
        {
            "Location": f"/api/v1/jobs/{job.id}",
            "Retry-After": "1",
            "Preference-Applied": "respond-async",
        },
    )
