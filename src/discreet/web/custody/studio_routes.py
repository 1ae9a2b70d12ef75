"""The addresses of the policy studio and of rehearsals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields as fields_of
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from ...errors import DiscreetError
from ...languages import say
from ...server import rehearsal_jobs
from ...server.auth import CUSTODIANS, Asker, CurrentAsker, guarded
from ...server.problems import Problem
from ...server.requests import AttackRehearsal, ProposalForm, SimulateRehearsal
from ...server.routes import oversight, rehearsals
from ...server.routes.catalogue import DataSetId
from ...server.routes.rehearsals import RehearsalId
from ...server.service import Service, Serving
from ..frame import PageRoute, fields, first, page, voice
from . import forms, studio
from .studio import Answers

custody = guarded(CUSTODIANS, "manage", "pages", PageRoute)
ROUTERS = [custody]

Field = Annotated[str, Query(max_length=40)]
_NAMES = tuple(one.name for one in fields_of(Answers))


def plain_number(text: str) -> str:
    """A number as people write it, without its thousands' marks.

    >>> plain_number(" 1,000,000 ")
    '1000000'
    """
    return text.strip().replace(",", "").replace("\u202f", "").replace(" ", "")


@custody.get("/custodian/{dataset}/policy", include_in_schema=False)
def policy(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    within: Field = "10",
    tables: Field = "3",
    prior: Field = "10",
    most: Field = "25",
    records: Field = "",
    variables: Field = "",
    cells: Field = "",
    each: Field = "",
    budget: Field = "",
    perturbation: Field = "",
    variance: Field = "",
) -> HTMLResponse:
    """Four questions and what follows: floor and ceiling, law, rules, every table, what changes."""
    given = locals()
    said = _read(given)
    with service.dataset(asker, dataset) as data:
        facts = studio.facts(service, data, _filled(said, studio.in_force(data)))
        return page(request, "custody/studio.html", facts, 400 if facts["wrong"] else 200)


def _read(given: Mapping[str, Any]) -> Answers:
    """The fields of the form; one that is empty or missing is not said, on every way here."""
    said = {name: plain_number(given.get(name, "")) for name in _NAMES}
    return Answers(**{name: value for name, value in said.items() if value})


def _filled(said: Answers, now: Answers) -> Answers:
    """The answers; what was left empty as in the policy in force."""
    empty = {name: getattr(now, name) for name in _NAMES if not getattr(said, name)}
    return replace(said, **{name: value for name, value in empty.items() if value})


@custody.post("/custodian/{dataset}/policy", include_in_schema=False)
async def propose(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId
) -> Response:
    """Propose what the answers describe: another policy, another budget, or both."""
    said = await fields(request)
    reason = forms.reason(said)
    answers = _read({name: first(said, name)[:40] for name in _NAMES})
    await run_in_threadpool(_proposed, request, service, asker, dataset, answers, reason)
    return RedirectResponse("/custodian", 303)


def _proposed(
    request: Request, service: Service, asker: Asker, dataset: str, said: Answers, reason: str
) -> None:
    with service.dataset(asker, dataset) as data:
        draft, now = studio.draft_of(data, said), studio.in_force(data)
        kind = "rho" if data.policy.budget is not None and data.policy.budget.kind == "zcdp" else ""
    other = bool(said.budget) and said.budget != now.budget
    if not draft and not other:
        raise Problem(
            400, "input", say("This is the policy in force already; there is nothing to propose.")
        )
    if draft:
        form = forms.read(ProposalForm, dataset=dataset, policy=draft, reason=reason)
        oversight.propose(request, service, asker, form, Response())
    if other:
        budget = {kind or "epsilon": said.budget}
        form = forms.read(ProposalForm, dataset=dataset, reason=reason, **budget)
        oversight.propose(request, service, asker, form, Response())


# -- rehearsals -----------------------------------------------------------------------------


@custody.post("/custodian/{dataset}/rehearse", include_in_schema=False)
async def rehearse(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId
) -> Response:
    """Begin a rehearsal; that somebody looked is recorded, and only this custodian reads it."""
    said = await fields(request)
    answers = _read({name: first(said, name)[:40] for name in _NAMES})
    job = await run_in_threadpool(_begun, request, service, asker, dataset, said, answers)
    return RedirectResponse(f"/custodian/{dataset}/rehearsals/{job}", 303)


def _begun(
    request: Request,
    service: Service,
    asker: Asker,
    dataset: str,
    said: dict[str, list[str]],
    answers: Answers,
) -> str:
    body: Any
    if first(said, "what") == "attack":
        body = forms.read(AttackRehearsal, what="attack")
    else:
        try:
            wishes = answers.wishes
        except DiscreetError as error:
            raise Problem(400, "input", error.message) from None
        risk = [list(pair) for pair in wishes.pop("risk")]
        body = forms.read(SimulateRehearsal, what="simulate", risk=risk, **wishes)
    request.state.language = voice(request).language
    started = rehearsals.rehearse(request, service, asker, dataset, body)
    return str(json.loads(bytes(started.body))["id"])


@custody.get("/custodian/{dataset}/rehearsals/{rehearsal}", include_in_schema=False)
def rehearsal(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    rehearsal: RehearsalId,
) -> HTMLResponse:
    """How far a rehearsal is, and what it found: for the custodian who asked, and nobody else."""
    job = rehearsal_jobs.mine(service, asker.user, rehearsal)
    known = rehearsal_jobs.facts(service, job)
    said: list[str] = []
    if known["report"] is not None:
        report = json.loads(rehearsal_jobs.report(service, job, "json"))
        said = list(report.get("custodian_only") or report.get("sentences") or ())
    facts = {"known": known, "said": said, "name": known["dataset"], "title": known["dataset"]}
    answer = page(request, "custody/rehearsal.html", facts)
    answer.headers["Cache-Control"] = "private, no-store"
    if known["state"] in ("waiting", "running"):
        answer.headers["Refresh"] = "3"
    return answer


@custody.post("/custodian/{dataset}/rehearsals/{rehearsal}/delete", include_in_schema=False)
async def delete(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    rehearsal: RehearsalId,
) -> Response:
    """Stop it, or delete what it found."""
    await fields(request)
    await run_in_threadpool(rehearsals.stop, service, asker, rehearsal, Response())
    return RedirectResponse(f"/custodian/{dataset}/policy", 303)
