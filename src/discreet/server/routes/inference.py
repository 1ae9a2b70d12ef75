"""`tables:infer` and `tables:difference`: what may be concluded from a table, beside the table itself.

The table is asked for as ever, at its cost, by the same rules and to the same people; what is
computed then sees the protected table only.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request

from ...core.table import ProtectedTable
from ...errors import Cancelled, InputError
from ...inference.questions import answer
from ...languages import say
from .. import elsewhere, responses, table_answers
from ..asking import Asking, understood
from ..auth import ASKERS, guarded
from ..problems import Problem, documented
from ..requests import DifferenceForm, InferForm
from .catalogue import DataSetId
from .table_parameters import Project

concluding = guarded(ASKERS, "tables", "tables")
ROUTERS = [concluding]

MOST_TESTED = 2_500
"""Cells of a table that is tested while its reader waits."""
LONG = frozenset({"independence", "goodness-of-fit", "loglinear", "regression", "ranking", "total"})
"""Questions about many cells: they may draw tables, fit again and again, or sum up wide noise."""


@concluding.post(
    "/datasets/{dataset}/tables:difference",
    response_model=responses.AnswerShape,
    responses=documented(406, 409, 415),
)
def difference(
    request: Request, dataset: DataSetId, body: DifferenceForm, project: Project = None
) -> dict[str, Any]:
    """Is the difference of two cells real: the same count? the same rate?"""
    exposures = None if body.exposures is None else tuple(body.exposures)
    arguments = {"a": body.a, "b": body.b, "exposures": exposures, "level": body.level}
    with request.app.state.service.dataset(request.state.asker, dataset) as data:
        asked = _asked(request, data, body.recipe, project)
        found = answer(_table(asked, body.table), "difference", arguments)
        return found.to_json(asked.wish.language)


@concluding.post(
    "/datasets/{dataset}/tables:infer",
    response_model=responses.AnswerShape,
    responses=documented(406, 409, 415),
)
def infer(
    request: Request, dataset: DataSetId, body: InferForm, project: Project = None
) -> dict[str, Any]:
    """A test, an interval or a comparison that knows the noise of a table."""
    with request.app.state.service.dataset(request.state.asker, dataset) as data:
        asked = _asked(request, data, body.recipe, project)
        table = _table(asked, body.table)
        if table.cells > MOST_TESTED:
            raise InputError(
                say(
                    "Up to {most} cells are tested here, got {cells}. Ask for fewer, or run `discreet "
                    "infer` on the table's file.",
                    most=MOST_TESTED,
                    cells=table.cells,
                )
            )
        with asked.service.slots.one():
            said = (table, body.question, body.arguments, asked.wish.language)
            return _in_time(asked, *said) if body.question in LONG else _concluded(*said)


def _concluded(
    table: ProtectedTable, question: str, arguments: dict[str, Any], language: str
) -> dict[str, Any]:
    return answer(table, question, arguments).to_json(language)


def _in_time(asked: Asking, *said: Any) -> dict[str, Any]:
    """The same in a process of its own, within the time that a request has."""
    more = say("Ask about fewer cells, or run `discreet infer` on the table's file.")
    try:
        return elsewhere.done(
            _concluded,
            *said,
            control=asked.deadline(),
            doing="concluding",
            lost=say("The test ended before it was done. {more}", more=more),
        )
    except Cancelled:
        raise Problem(
            503,
            "too-long",
            say("This test takes longer than one request may. {more}", more=more),
        ) from None


def _asked(request: Request, data: Any, recipe: Any, project: str | None) -> Asking:
    said = recipe.mapping()
    whole = {key: value for key, value in said.items() if key not in ("sort", "empty")}
    question = understood(request.state.asker, data, whole)
    asked = Asking.of(
        request, data, question, format=None, language=recipe.language, project=project
    )
    asked.may_be_asked_so()
    return asked


def _table(asked: Asking, number: int) -> ProtectedTable:
    tables = table_answers.tables(asked)
    if number > len(tables):
        raise InputError(
            say("table must be from 1 to {most}, got {number}.", most=len(tables), number=number)
        )
    return tables[number - 1].in_language(asked.wish.language)
