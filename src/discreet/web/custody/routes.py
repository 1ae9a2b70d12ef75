"""Home, proposals and requests: what waits for a custodian, and deciding it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from ...core.neighbours import Neighbours
from ...core.odds import worst_case
from ...errors import DiscreetError
from ...server import decisions, proposed_changes
from ...server.auth import CUSTODIANS, Asker, CurrentAsker, guarded
from ...server.problems import Problem, not_found
from ...server.requests import AnswerForm
from ...server.routes import oversight, questions
from ...server.routes.catalogue import DataSetId
from ...server.service import Service, Serving
from ...store.catalogue import Proposal
from ...workspace.dataset import loss_written
from ..frame import PageRoute, fields, first, page
from . import books, forms, home, people, publishing, studio_routes

custody = guarded(CUSTODIANS, "manage", "pages", PageRoute)

ProposalId = Annotated[str, Path(max_length=64)]
RequestId = Annotated[str, Path(max_length=64)]


@custody.get("/custodian", include_in_schema=False)
def at_home(request: Request, service: Serving, asker: CurrentAsker) -> HTMLResponse:
    """What waits for a decision, what people have learnt, what they asked and did not get."""
    return page(request, "custody/home.html", home.facts(service, asker))


# -- proposals ------------------------------------------------------------------------------


@custody.get("/custodian/proposals/{proposal}", include_in_schema=False)
def proposal(
    request: Request, service: Serving, asker: CurrentAsker, proposal: ProposalId
) -> HTMLResponse:
    """One proposal: what it says, what it would mean, and the two ways to decide it."""
    one = oversight.find(service, proposal)
    return page(request, "custody/proposal.html", _proposal_facts(service, asker, one))


def _proposal_facts(
    service: Service, asker: Asker, one: Proposal, token: str = ""
) -> dict[str, Any]:
    found = proposed_changes.changes(service, one)
    return {
        "proposal": one,
        "words": decisions.proposal_words(service, one, values=False),
        "changes": [
            (part := one.part, *(proposed_changes.in_words(part, v) for v in (one.now, one.then)))
            for one in found
        ],
        "seen": proposed_changes.edition(found),
        "lost": proposed_changes.lost(service, one),
        "meaning": _meaning(service, asker, one),
        "day": datetime.fromtimestamp(one.created, UTC).date(),
        "decided": None
        if one.decided_at is None
        else datetime.fromtimestamp(one.decided_at, UTC).date(),
        "own": one.by == asker.name,
        "token": token,
    }


def _meaning(service: Service, asker: Asker, one: Proposal) -> str:
    """What a reader could conclude at worst, were all of a proposed budget spent."""
    try:
        budget = loss_written({key: str(value) for key, value in one.change.items()})
        with service.dataset(asker, one.dataset) as data:
            about = data.description
            alike = about.neighbours is Neighbours.ADD_REMOVE
            return (budget and worst_case(budget, about.unit, add_remove=alike)) or ""
    except (DiscreetError, Problem):
        return ""


@custody.post("/custodian/proposals/{proposal}/accept", include_in_schema=False)
async def accept(
    request: Request, service: Serving, asker: CurrentAsker, proposal: ProposalId
) -> Response:
    """Accept what another custodian proposed; the first token of a new one is shown this once."""
    seen = first(await fields(request), "seen") or None
    settled = await run_in_threadpool(oversight.accept, request, service, asker, proposal, seen)
    if settled.token:
        return await run_in_threadpool(_handed, request, service, asker, proposal, settled.token)
    return RedirectResponse("/custodian", 303)


def _handed(
    request: Request, service: Service, asker: Asker, proposal: str, token: str
) -> Response:
    facts = _proposal_facts(service, asker, oversight.find(service, proposal), token)
    answer = page(request, "custody/proposal.html", facts)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@custody.post("/custodian/proposals/{proposal}/reject", include_in_schema=False)
async def reject(
    request: Request, service: Serving, asker: CurrentAsker, proposal: ProposalId
) -> Response:
    """Reject a proposal, or take one's own back."""
    await fields(request)
    await run_in_threadpool(oversight.reject, service, asker, proposal)
    return RedirectResponse("/custodian", 303)


# -- requests -------------------------------------------------------------------------------


@custody.get("/custodian/{dataset}/requests/{request_id}", include_in_schema=False)
def asked(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    request_id: RequestId,
) -> HTMLResponse:
    """What somebody asks of the custodian, with the table it is about, and a field to answer."""
    with service.dataset(asker, dataset) as data:
        for one in service.inbox.requests(dataset, identity=request_id):
            facts = {
                "one": one,
                "name": dataset,
                "title": data.description.title,
                "table": home.title_of(data, one.recipe) if one.recipe else "",
                "day": datetime.fromtimestamp(one.created, UTC).date(),
            }
            return page(request, "custody/request.html", facts)
    raise not_found("request")


@custody.post("/custodian/{dataset}/requests/{request_id}", include_in_schema=False)
async def answer(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    request_id: RequestId,
) -> Response:
    """Answer it; who asked reads the answer."""
    said = await fields(request)
    form = forms.read(AnswerForm, words=first(said, "words").strip())
    await run_in_threadpool(questions.answer, request, service, asker, dataset, request_id, form)
    return RedirectResponse("/custodian", 303)


ROUTERS = [
    *publishing.ROUTERS,
    *studio_routes.ROUTERS,
    *people.ROUTERS,
    *books.ROUTERS,
    custody,
]
