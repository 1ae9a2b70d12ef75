"""A policy tried out: simulated from public facts, or rehearsed on true data by a custodian.

A simulation reads no record and may be shown to anybody; it is here for those who oversee, because
it is much work. A rehearsal is a job in a process of its own: its report is a file that the custodian
who asked can read for a day, and that somebody looked is in the ledger and under every later table.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any, Literal

from fastapi import Body, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from ... import trials
from ...core.control import Control
from ...errors import Cancelled
from ...languages import say, told
from ...quality.attacks import run as attacks
from ...workspace import DataSet
from ...workspace.policy_draft import drafted
from .. import rehearsal_jobs, rehearsal_responses
from ..auth import CUSTODIANS, OVERSEERS, CurrentAsker, guarded
from ..negotiation import reader_language
from ..problems import Problem, documented
from ..requests import (
    AttackRehearsal,
    CompareRehearsal,
    RehearsalForm,
    SimulateForm,
    SimulateRehearsal,
    WishesForm,
)
from ..service import Service, Serving
from ..table_jobs import ENDED
from .catalogue import DataSetId

overseeing = guarded(OVERSEERS, "audit", "policies")
custody = guarded(CUSTODIANS, "manage", "rehearsals")
ROUTERS = [overseeing, custody]

RehearsalId = Annotated[str, Path(max_length=64)]
OWN = {"Cache-Control": "private, no-store"}
_simulating = threading.BoundedSemaphore(2)
"""Simulations at once in each process: each is seconds of work."""


@overseeing.post(
    "/datasets/{dataset}/policies:simulate", response_model=rehearsal_responses.SimulationShape
)
def simulate(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId, body: SimulateForm
) -> dict[str, Any]:
    """What a policy makes possible, from public facts: ε, law, every table of up to three variables.

    The same as `discreet policy simulate --json`. With `draft` or `against` also what that changes.
    """
    if body.draft is not None and asker.role != "custodian":
        raise Problem(403, "role", say("A draft of a policy is tried by custodians only."))
    wanted = trials.wishes(**_wishes(body))
    with simulating(service, body.most) as control, ExitStack() as opened:
        data = opened.enter_context(service.dataset(asker, dataset))
        other = opened.enter_context(service.dataset(asker, body.against)) if body.against else None
        found, changes = trials.simulated(
            data, wanted, draft=body.draft, against=other, control=control
        )
    said = found.to_json() | ({} if changes is None else {"difference": list(changes)})
    return dict(told(said, reader_language(request)))


@contextmanager
def simulating(service: Service, most: int) -> Iterator[Control]:
    """A place among the few simulations that run at once, for as long as one request may take."""
    if not _simulating.acquire(timeout=10):
        raise Problem(
            503,
            "busy",
            say("Other simulations are running at this moment. Ask again in a few seconds."),
            headers={"Retry-After": "3"},
        )
    ends = time.monotonic() + service.settings.most_seconds
    try:
        yield Control(cancelled=lambda: time.monotonic() > ends)
    except Cancelled:
        raise Problem(
            503,
            "too-long",
            say(
                "{tables} tables take longer than one request may. Ask for fewer with `most`.",
                tables=most,
            ),
        ) from None
    finally:
        _simulating.release()


def _wishes(body: WishesForm) -> dict[str, Any]:
    """The words of `trials.wishes`."""
    said = body.model_dump(exclude={"draft", "against", "what"})
    return said | {"risk": [(prior, most) for prior, most in body.risk]}


@custody.post(
    "/datasets/{dataset}/rehearsals",
    status_code=202,
    response_model=rehearsal_responses.RehearsalShape,
    responses=documented(415),
)
def rehearse(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    body: Annotated[RehearsalForm, Body()],
) -> Response:
    """Begin a rehearsal: compare, attack or simulate. That somebody looked is said for ever."""
    request.state.notes |= {"dataset": dataset, "reason": f"rehearsal: {body.what}"}
    with service.dataset(asker, dataset) as data:
        options = _options(data, body)
    asked = {"dataset": dataset, "what": body.what, "options": options}
    asked["language"] = reader_language(request)
    job = rehearsal_jobs.create(service, asker.user, asked)
    headers = {"Location": f"/api/v1/rehearsals/{job.id}", "Retry-After": "1"}
    return JSONResponse(rehearsal_jobs.facts(service, job), 202, OWN | headers)


def _options(data: DataSet, body: Any) -> dict[str, Any]:
    """What is asked for, as `trials` reads it; what could not be done is refused now."""
    if isinstance(body, CompareRehearsal):
        trials.settings(data, body.methods, body.epsilons, body.p_tables)
        trials.table_specs(data, body.tables)
        return body.model_dump(exclude={"what"})
    if isinstance(body, AttackRehearsal):
        epsilon = attacks.checked(data, body.attacks, body.epsilon or "")
        return {"attacks": body.attacks, "epsilon": epsilon}
    assert isinstance(body, SimulateRehearsal)
    said = _wishes(body)
    trials.wishes(**said)
    if body.draft is not None:
        drafted(data, body.draft)
    return said | {"draft": body.draft}


@custody.get("/rehearsals", response_model=rehearsal_responses.RehearsalList)
def rehearsals(service: Serving, asker: CurrentAsker, response: Response) -> dict[str, Any]:
    """One's own rehearsals of the last days, newest first."""
    response.headers.update(OWN)
    rows = [job for job in service.jobs.list(user=asker.user) if job.kind == rehearsal_jobs.KIND]
    return {"rehearsals": [rehearsal_jobs.facts(service, job) for job in rows[:100]]}


@custody.get("/rehearsals/{rehearsal}", response_model=rehearsal_responses.RehearsalShape)
def rehearsal(
    service: Serving, asker: CurrentAsker, rehearsal: RehearsalId, response: Response
) -> dict[str, Any]:
    """State and progress of a rehearsal; another custodian's is as if it were not there."""
    response.headers.update(OWN)
    return rehearsal_jobs.facts(service, rehearsal_jobs.mine(service, asker.user, rehearsal))


@custody.delete("/rehearsals/{rehearsal}", response_model=rehearsal_responses.RehearsalShape)
def stop(
    service: Serving, asker: CurrentAsker, rehearsal: RehearsalId, response: Response
) -> dict[str, Any]:
    """Stop a rehearsal, or delete the report of one that has ended."""
    response.headers.update(OWN)
    rehearsal_jobs.mine(service, asker.user, rehearsal)
    stopped = service.jobs.request_cancel(rehearsal)
    if stopped.state in ENDED:
        rehearsal_jobs.delete(service, stopped)
    return rehearsal_jobs.facts(service, stopped)


@custody.get(
    "/rehearsals/{rehearsal}/report",
    response_class=Response,
    responses={
        200: {
            "description": "For the custodian who asked, for a day.",
            "content": {"application/json": {}, "text/html": {}},
        }
    },
)
def report(
    service: Serving,
    asker: CurrentAsker,
    rehearsal: RehearsalId,
    format: Annotated[Literal["json", "html"], Query(description="How it is written.")] = "json",
) -> Response:
    """What a rehearsal found: as JSON, or as the page that the command writes."""
    job = rehearsal_jobs.mine(service, asker.user, rehearsal)
    content = rehearsal_jobs.report(service, job, format)
    name = f"{job.request['what']}-custodian-only.{format}"
    headers = OWN | {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, 200, headers, rehearsal_jobs.FORMATS[format])
