"""`…/questions/{hash}` and `…/requests`: what a hash stands for, and what people ask of a custodian."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Request

from ... import earlier, recipe, rules
from ...core.question import Question
from ...core.table_titles import title_of
from ...errors import RecipeError
from ...store.inbox import CustodianRequest
from ...workspace import DataSet
from .. import oversight_responses
from ..asking import understood
from ..auth import CUSTODIANS, EVERYONE, KEEPERS, OVERSEERS, Asker, CurrentAsker, guarded
from ..ledger_lines import recipe_of
from ..negotiation import chosen_language
from ..problems import Problem, documented, not_found
from ..requests import AnswerForm, RequestForm
from ..service import Service, Serving, told
from .catalogue import DataSetId, Language, Wishes

reading = guarded(EVERYONE, "read", "questions")
asking = guarded(KEEPERS, "tables", "requests")
custody = guarded(CUSTODIANS, "manage", "requests")
ROUTERS = [reading, asking, custody]

QuestionHash = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$", description="As the ledger has it.")]
RequestId = Annotated[str, Path(max_length=64)]


@reading.get(
    "/datasets/{dataset}/questions/{question}", response_model=oversight_responses.QuestionShape
)
def question(
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    question: QuestionHash,
    language: Language = "",
    wishes: Wishes = "",
) -> dict[str, Any]:
    """What was asked, in words and as a recipe, by the hash that ledger, register and log have.

    No number of its answer. What waits for its publication is not there yet; what was refused is
    shown to custodians and auditors.
    """
    with service.dataset(asker, dataset) as data:
        spoken = chosen_language(language, wishes, told(asker, data))
        if question in service.withheld(asker, dataset):
            raise not_found("question")
        asked = earlier.question_named(data, question)
        if asked is not None:
            return _facts(asker, data, question, asked, spoken) | {"answered": True}
        if asker.role in OVERSEERS:
            for one in service.inbox.refused(dataset=dataset, question=question, most=1):
                refused = understood(asker, data, one.recipe)
                facts = _facts(asker, data, question, refused.question, spoken)
                return facts | {"recipe": dict(one.recipe), "answered": False, "rule": one.rule}
        raise not_found("question")


def _facts(
    asker: Asker, data: DataSet, name: str, asked: Question, language: str
) -> dict[str, Any]:
    description = told(asker, data)
    whole = recipe_of(asked)
    try:
        titles = [title_of(table, description).says(language) for table in asked.tables]
        cells = sum(rules.cells_of(table, description) for table in asked.tables)
    except RecipeError:  # of a variable that is not there any more
        raise not_found("question") from None
    single = len(asked.tables) == 1
    return {
        "question": name,
        "dataset": data.folder.name,
        "title": "; ".join(titles[:3]) + (f" (+{len(titles) - 3})" if len(titles) > 3 else ""),
        "titles": titles,
        "method": asked.method,
        "cells": cells,
        "recipe": recipe.to_mapping(whole),
        "query": recipe.to_query(whole) if single else None,
    }


@asking.get("/datasets/{dataset}/requests", response_model=oversight_responses.RequestList)
def requests(service: Serving, asker: CurrentAsker, dataset: DataSetId) -> dict[str, Any]:
    """Requests to the custodian: one's own, or all of them for a custodian; open ones first."""
    with service.dataset(asker, dataset):
        mine = "" if asker.role == "custodian" else asker.user
        return {"requests": service.inbox.requests(dataset, by=mine)}


@asking.post("/datasets/{dataset}/requests", status_code=201, responses=documented(415))
def ask(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId, body: RequestForm
) -> CustodianRequest:
    """Ask the custodian for something, in words and with the recipe it is about."""
    request.state.notes["dataset"] = dataset
    with service.dataset(asker, dataset) as data:
        wanted: dict[str, Any] = {}
        if body.recipe is not None:
            wanted = recipe.to_mapping(understood(asker, data, body.recipe.mapping()))
        return service.inbox.ask(dataset, wanted, body.words, asker.user)


@custody.post("/datasets/{dataset}/requests/{request_id}/answer", responses=documented(409, 415))
def answer(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    request_id: RequestId,
    body: AnswerForm,
) -> CustodianRequest:
    """Answer a request; who asked reads it in the list."""
    request.state.notes["dataset"] = dataset
    with service.dataset(asker, dataset):
        before = _one(service, dataset, request_id)
        if not service.inbox.answer(dataset, request_id, body.words, asker.user):
            raise Problem(409, "decided", f"{before.answered_by} has answered this already.")
        return _one(service, dataset, request_id)


def _one(service: Service, dataset: str, identity: str) -> CustodianRequest:
    for found in service.inbox.requests(dataset, identity=identity):
        return found
    raise not_found("request")
