"""Budgets, the public loss register, ledger, policies, audit log and proposals, by role.

A change of a data set's budget needs two custodians: one proposes, another accepts. Where there
is only one custodian the change is made at once, and ledger and answer say that one sufficed.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from ... import api
from ...core.exact import exact
from ...core.loss import ApproxLoss, Loss, PureLoss, ZcdpLoss
from ...errors import InputError
from ...store.keeping import Proposal
from ...workspace import DataSet
from .. import budget_file, shapes
from ..auth import CUSTODIANS, EVERYONE, OVERSEERS, Asking, guarded
from ..bodies import BudgetForm, ProposalForm
from ..problems import Problem, documented, not_found
from ..service import Service, Serving
from .catalogue import DataSetId

public = guarded(EVERYONE, "read", "budgets")
overseeing = guarded(OVERSEERS, "audit", "oversight")
custody = guarded(CUSTODIANS, "manage", "budgets")
ROUTERS = [public, overseeing, custody]

ProposalId = Annotated[str, Path(max_length=64)]


@public.get("/datasets/{dataset}/budget", response_model=shapes.Standings)
def budget(
    service: Serving,
    asker: Asking,
    dataset: DataSetId,
    project: Annotated[str, Query(max_length=100)] = "",
) -> dict[str, Any]:
    """What is left of the data set's budget and of one's own share; empty where none is charged."""
    with service.dataset(asker, dataset) as data:
        if data.policy.budget is None:
            return {"standings": []}
        found = data.ledger().standing(user=asker.user, project=project)
        return {
            "standings": [
                {"scope": s.scope, "cap": str(s.cap), "spent": str(s.spent), "left": str(s.left)}
                for s in found
            ]
        }


@public.get("/datasets/{dataset}/register", response_model=dict[str, Any])
def register(service: Serving, asker: Asking, dataset: DataSetId) -> dict[str, Any]:
    """The public loss register: every charge, the budget and the sum; no names."""
    with service.dataset(asker, dataset) as data:
        if data.policy.budget is None:
            return {"dataset": data.name, "budget": None, "spent": None, "charges": []}
        return data.ledger().export_register()


@overseeing.get("/datasets/{dataset}/ledger", response_model=dict[str, Any])
def ledger(service: Serving, asker: Asking, dataset: DataSetId) -> dict[str, Any]:
    """Every entry of the ledger: who was charged what, and each change of a budget."""
    with service.dataset(asker, dataset) as data:
        if data.policy.budget is None:
            raise not_found("ledger")
        return api.DataSet(data).ledger_facts()


@overseeing.get("/datasets/{dataset}/policies", response_model=dict[str, Any])
def policies(service: Serving, asker: Asking, dataset: DataSetId) -> dict[str, Any]:
    """Every policy this data set was served under, newest first."""
    with service.dataset(asker, dataset) as data:
        return {
            "current": data.policy.version,
            "policies": list(service.keeping.policies(dataset)),
        }


@overseeing.get("/audit", response_model=dict[str, Any])
def audit(
    service: Serving,
    asker: Asking,
    before: Annotated[int | None, Query(ge=1, le=2**60)] = None,
    dataset: Annotated[str, Query(max_length=200)] = "",
    user: Annotated[str, Query(max_length=64)] = "",
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """The audit log, newest first; `next` says where to go on."""
    rows = service.audit.page(before=before, dataset=dataset, user=user, most=most)
    return {"rows": rows, "next": rows[-1]["number"] if len(rows) == most else None}


@overseeing.get("/proposals", response_model=shapes.ProposalList)
def proposals(service: Serving) -> dict[str, Any]:
    """Changes of budgets: waiting, made and rejected."""
    return {"proposals": [asdict(one) for one in service.keeping.proposals()]}


@custody.post(
    "/proposals",
    response_model=shapes.ProposalShape,
    status_code=201,
    responses=documented(409, 415),
)
def propose(
    request: Request, service: Serving, asker: Asking, body: ProposalForm, response: Response
) -> dict[str, Any]:
    """Propose a budget; made at once only where there is no second custodian to ask."""
    request.state.notes |= {"dataset": body.dataset, "reason": body.reason}
    loss = _loss(body)
    if loss is None:
        raise InputError("A budget needs epsilon or rho. The budget of a data set cannot be none.")
    with service.dataset(asker, body.dataset) as data:
        _charged(data)
        made = service.keeping.propose(body.dataset, _change(body), body.reason, asker.name)
        if service.accounts.custodians() == [asker.name]:
            note = "one custodian sufficed, because there is only one"
            made = _apply(service, data, made, asker.name, asker.name, note)
    response.headers["Location"] = f"/api/v1/proposals/{made.id}"
    return asdict(made)


@overseeing.get("/proposals/{proposal}", response_model=shapes.ProposalShape)
def one(service: Serving, proposal: ProposalId) -> dict[str, Any]:
    """One proposal."""
    return asdict(_find(service, proposal))


@custody.post(
    "/proposals/{proposal}/accept", response_model=shapes.ProposalShape, responses=documented(409)
)
def accept(
    request: Request, service: Serving, asker: Asking, proposal: ProposalId
) -> dict[str, Any]:
    """Accept what another custodian proposed; the budget changes and the ledger names both."""
    found = _find(service, proposal)
    request.state.notes |= {"dataset": found.dataset, "reason": found.reason}
    if found.by == asker.name:
        raise Problem(
            403, "two-custodians", "Another custodian must accept this; you proposed it yourself."
        )
    with service.dataset(asker, found.dataset) as data:
        _charged(data)
        who = f"{found.by} and {asker.name}"
        return asdict(_apply(service, data, found, asker.name, who, "two custodians agreed"))


@custody.post(
    "/proposals/{proposal}/reject", response_model=shapes.ProposalShape, responses=documented(409)
)
def reject(service: Serving, asker: Asking, proposal: ProposalId) -> dict[str, Any]:
    """Reject a proposal, or take one's own back."""
    found = _find(service, proposal)
    if not service.keeping.decide(found.id, "rejected", asker.name, ""):
        raise Problem(409, "decided", f"This proposal is {found.state} already.")
    return asdict(_find(service, proposal))


@custody.put(
    "/datasets/{dataset}/budgets/{scope}",
    response_model=shapes.Standings,
    responses=documented(409, 415),
)
def share(
    request: Request,
    service: Serving,
    asker: Asking,
    dataset: DataSetId,
    scope: Annotated[str, Path(max_length=120, description="user:NAME or project:NAME")],
    body: BudgetForm,
) -> dict[str, Any]:
    """Give a user or a project a share of the budget, change it, or take it away."""
    request.state.notes |= {"dataset": dataset, "reason": f"{scope}: {body.reason}"}
    with service.dataset(asker, dataset) as data:
        _charged(data)
        kept = data.ledger()
        kept.set_subcap(scope, _loss(body), who=asker.name, reason=body.reason)
        kind, _, name = scope.partition(":")
        found = kept.standing(**{kind: name})
        return {
            "standings": [
                {"scope": s.scope, "cap": str(s.cap), "spent": str(s.spent), "left": str(s.left)}
                for s in found
            ]
        }


def _apply(
    service: Service, data: DataSet, proposal: Proposal, by: str, who: str, note: str
) -> Proposal:
    """Change the budget in ledger and discreet.yaml; the proposal is settled first, so only once."""
    if not service.keeping.decide(proposal.id, "accepted", by, note):
        raise Problem(409, "decided", f"This proposal is {proposal.state} already.")
    loss = _loss_of(proposal.change)
    assert loss is not None
    data.ledger().set_cap(loss, who=who, reason=f"{proposal.reason}; {note}")
    budget_file.write(data.folder, proposal.change)
    return service.keeping.proposals(proposal.id)[0]


def _find(service: Service, identity: str) -> Proposal:
    found = service.keeping.proposals(identity)
    if not found:
        raise not_found("proposal")
    return found[0]


def _charged(data: DataSet) -> None:
    if data.policy.budget is None:
        raise InputError(f"{data.name} has no budget: its family charges nothing.")


def _change(body: BudgetForm) -> dict[str, str]:
    given = {"epsilon": body.epsilon, "delta": body.delta, "rho": body.rho}
    return {name: value.strip() for name, value in given.items() if value is not None}


def _loss(body: BudgetForm) -> Loss | None:
    return _loss_of(_change(body))


def _loss_of(change: Any) -> Loss | None:
    if not change:
        return None
    numbers = {name: exact(value, name, above=0, most=10**6) for name, value in change.items()}
    if "rho" in numbers:
        if len(numbers) > 1:
            raise InputError("A budget is ε, (ε, δ) or ρ, got ρ with another. Give one kind.")
        return ZcdpLoss(numbers["rho"])
    if "epsilon" not in numbers:
        raise InputError("A budget with delta needs epsilon.")
    if "delta" in numbers:
        exact(change["delta"], "delta", above=0, below=1)
        return ApproxLoss(numbers["epsilon"], numbers["delta"])
    return PureLoss(numbers["epsilon"])
