"""Budgets, the public loss register, ledger, policies, audit log and proposals, by role.

A change of a data set's budget, a new custodian and the end of one need two: one proposes, another
accepts. Where there is only one custodian, as far as accounts tell, the change is made at once, and
ledger and answer say that one sufficed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from fastapi import Header, Path, Query, Request, Response

from ... import api
from ...core.exact import plain
from ...core.loss import Loss, PureLoss, loss_to_json, read_as
from ...errors import InputError, LedgerDamaged, did_you_mean
from ...languages import say
from ...methods.declaration import Spends
from ...store.base import Standing
from ...store.catalogue import Proposal
from ...workspace import DataSet, policy_change
from ...workspace.dataset import loss_written
from ...workspace.policy_draft import drafted
from .. import charges_so_far, oversight_responses, responses, two_custodians
from ..auth import CUSTODIANS, EVERYONE, OVERSEERS, Asker, CurrentAsker, guarded
from ..problems import Problem, documented, not_found
from ..proposed_changes import BEFORE, changes, edition, kept
from ..requests import BudgetForm, ProposalForm, project_name
from ..service import Service, Serving
from .catalogue import DataSetId

public = guarded(EVERYONE, "read", "budgets")
overseeing = guarded(OVERSEERS, "audit", "oversight")
custody = guarded(CUSTODIANS, "manage", "budgets")
ROUTERS = [public, overseeing, custody]

_EPSILONS = ("0.1", "0.5", "1")
"""For which ε it is said how many more tables would fit."""
ProposalId = Annotated[str, Path(max_length=64)]
Seen = Annotated[
    str | None,
    Header(max_length=40, alias="If-Match", description="The ETag of the proposal as it was read."),
]
AfterEntry = Annotated[int, Query(ge=0, le=2**60, description="Entries after this number.")]
MostEntries = Annotated[int, Query(ge=1, le=10_000, description="How many entries at most.")]


@public.get("/datasets/{dataset}/budget", response_model=oversight_responses.BudgetShape)
def budget(
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    project: Annotated[str, Query(max_length=100)] = "",
) -> dict[str, Any]:
    """What is left of the data set's budget and of one's own share; empty where none is charged."""
    with service.dataset(asker, dataset) as data:
        if data.policy.budget is None:
            return {"standings": []}
        ledger = data.ledger()
        standings = ledger.standing(user=asker.user, project=project_name(project))
        overseer = asker.role in OVERSEERS
        return {
            **_standings(standings),
            "shares": _standings(ledger.shares())["standings"] if overseer else [],
            "worst_case": api.DataSet(data).worst_case,
            "more": more_tables(ledger.left(user=asker.user, project=project_name(project))),
            **(_learnt(data) if overseer else {}),
        }


def _learnt(data: DataSet) -> dict[str, Any]:
    """What charges took of the budget one by one, and how often the best guesser is right."""
    assert data.policy.budget is not None
    parts = charges_so_far.segments(data.ledger(), data.policy.budget)
    return {
        "best_guesser": charges_so_far.best_guesser(data),
        "charges": [asdict(one) | {"share": plain(one.share)} for one in parts],
    }


def more_tables(left: Loss | None) -> list[dict[str, Any]]:
    """How many more tables of one ε each would fit into what is left."""
    if left is None:
        return []
    counted = []
    for epsilon in _EPSILONS:
        each = read_as(PureLoss(epsilon), left.kind)
        part = next(name for name in ("epsilon", "rho") if name in each.parts)
        counted.append({"epsilon": epsilon, "tables": int(left.parts[part] // each.parts[part])})
    return counted


@overseeing.get(
    "/datasets/{dataset}/ledger:verify", response_model=oversight_responses.VerifiedShape
)
def verify(service: Serving, asker: CurrentAsker, dataset: DataSetId) -> dict[str, Any]:
    """Check the whole ledger again: chain, sums, every stored answer, and the anchors beside it."""
    with service.dataset(asker, dataset) as data:
        if data.spends is Spends.NOTHING:
            raise not_found("ledger")
        said = {"dataset": dataset, "at": service.database.clock()}
        try:
            found = data.ledger().verify()
        except LedgerDamaged as damaged:
            return said | {"sound": False, "problem": damaged.message}
        names = ("entries", "answers", "head", "anchored", "anchored_outside")
        facts = {name: getattr(found, name) for name in names}
        spent = None if found.spent is None else str(found.spent)
        return said | facts | {"sound": True, "spent": spent}


@public.get("/datasets/{dataset}/register", response_model=dict[str, Any])
def register(
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    after: AfterEntry = 0,
    most: MostEntries = 1000,
) -> dict[str, Any]:
    """The public loss register: charges, the budget and the sum; no names. `next` says where to go on."""
    with service.dataset(asker, dataset) as data:
        if data.spends is Spends.NOTHING:
            return {
                "dataset": data.name,
                "budget": None,
                "spent": None,
                "charges": [],
                "next": None,
            }
        return data.ledger().export_register(after, most)


@overseeing.get("/datasets/{dataset}/ledger", response_model=dict[str, Any])
def ledger(service: Serving, asker: CurrentAsker, dataset: DataSetId) -> dict[str, Any]:
    """Every entry of the ledger: who was charged what, and each change of a budget."""
    with service.dataset(asker, dataset) as data:
        if data.spends is Spends.NOTHING:
            raise not_found("ledger")
        return api.DataSet(data).ledger_facts()


@overseeing.get("/datasets/{dataset}/policies", response_model=dict[str, Any])
def policies(service: Serving, asker: CurrentAsker, dataset: DataSetId) -> dict[str, Any]:
    """Every policy this data set was served under, newest first."""
    with service.dataset(asker, dataset) as data:
        return {
            "current": data.policy.version,
            "policies": list(service.catalogue.policies(dataset)),
        }


@overseeing.get("/audit", response_model=dict[str, Any])
def audit(
    service: Serving,
    asker: CurrentAsker,
    before: Annotated[int | None, Query(ge=1, le=2**60)] = None,
    dataset: Annotated[str, Query(max_length=200)] = "",
    user: Annotated[str, Query(max_length=64)] = "",
    rule: Annotated[str, Query(max_length=64, description="Only what this rule refused.")] = "",
    group: Annotated[
        Literal["", "rule", "question"],
        Query(description="Refusals counted by rule, or by question with its recipe."),
    ] = "",
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """The audit log, newest first; `next` says where to go on. Or what was asked and refused."""
    if group == "rule":
        counted = service.audit.refusals(dataset=dataset, user=user)
        return {"groups": [one for one in counted if not rule or one["rule"] == rule][:most]}
    if group == "question":
        refused = service.inbox.refused(dataset=dataset, rule=rule, most=most)
        return {"groups": [asdict(one) for one in refused]}
    rows = service.audit.page(before=before, dataset=dataset, user=user, rule=rule, most=most)
    return {"rows": rows, "next": rows[-1]["number"] if len(rows) == most else None}


@overseeing.get("/proposals", response_model=responses.ProposalList)
def proposals(service: Serving) -> dict[str, Any]:
    """Changes of budgets, policies and custodians: waiting, made and rejected."""
    return {"proposals": [_shown(service, one) for one in service.catalogue.proposals()]}


@custody.post("/proposals", status_code=201, responses=documented(409, 415))
def propose(
    request: Request, service: Serving, asker: CurrentAsker, body: ProposalForm, response: Response
) -> responses.Settled:
    """Propose a budget, a policy or a custodian; made at once where there is nobody else to ask."""
    request.state.notes |= {"dataset": body.dataset or "", "reason": body.reason}
    settled = _proposed(service, asker, body)
    response.headers["Location"] = f"/api/v1/proposals/{settled.id}"
    return settled


def _proposed(service: Service, asker: Asker, body: ProposalForm) -> responses.Settled:
    account = {"add_custodian": body.add_custodian, "end_custodian": body.end_custodian}
    if body.policy is not None:
        return _policy_proposed(service, asker, body, body.policy)
    change = _change(body) | {name: value for name, value in account.items() if value}
    subjects = [name for name in ("dataset", *account) if getattr(body, name)]
    if len(subjects) != 1 or (subjects != ["dataset"] and len(change) > 1):
        raise InputError(
            "Propose one thing: dataset with a budget or a policy, add_custodian or end_custodian."
        )
    alone = two_custodians.nobody_else(service.accounts, asker.name)
    if body.dataset is None:
        two_custodians.can_be_settled(service.accounts, change)
        proposal = service.catalogue.propose("", change, body.reason, asker.name)
        return (
            _settled(service, proposal, asker.name, two_custodians.ALONE)
            if alone
            else _as_is(service, proposal)
        )
    if loss_written(change) is None:
        raise InputError("A budget needs epsilon or rho. The budget of a data set cannot be none.")
    with service.dataset(asker, body.dataset) as data:
        _charged(data)
        proposal = service.catalogue.propose(body.dataset, change, body.reason, asker.name)
        if alone:
            proposal = _apply(service, data, proposal, asker.name, two_custodians.ALONE)
    return _as_is(service, proposal)


def _policy_proposed(
    service: Service, asker: Asker, body: ProposalForm, policy: dict[str, Any]
) -> responses.Settled:
    """A policy is read as it would be served before anybody is asked to agree to it."""
    if body.dataset is None or _change(body) or body.add_custodian or body.end_custodian:
        raise InputError("Propose a policy with its dataset and a reason, and nothing beside them.")
    stray = [key for key in policy if key not in policy_change.KEYS]
    if stray or not policy:
        raise InputError(
            f"A policy that is proposed says {', '.join(policy_change.KEYS)}, got "
            f"{stray[0][:40] if stray else 'nothing'}."
        )
    with service.dataset(asker, body.dataset) as data:
        drafted(data, policy)
        change = kept(data, policy)
        proposal = service.catalogue.propose(body.dataset, change, body.reason, asker.name)
        if two_custodians.nobody_else(service.accounts, asker.name):
            proposal = _apply(service, data, proposal, asker.name, two_custodians.ALONE)
    return _as_is(service, proposal)


def _as_is(service: Service, proposal: Proposal) -> responses.Settled:
    return responses.Settled(**vars(_shown(service, proposal)))


def _shown(service: Service, proposal: Proposal) -> responses.ProposalShape:
    """A proposal with what it changes; the policy of the day it was made is told by that."""
    change = {key: value for key, value in proposal.change.items() if key != BEFORE}
    own = vars(proposal) | {"change": change}
    return responses.ProposalShape(**own, changes=changes(service, proposal))


def _settled(service: Service, proposal: Proposal, by: str, note: str) -> responses.Settled:
    """Make or end a custodian; the first token of a new one is shown to who accepted, this once."""
    if not service.catalogue.decide(proposal.id, "applying", by, note):
        raise _decided(service, proposal)
    token = two_custodians.settle(service.catalogue, service.accounts, proposal, by)
    return replace(_as_is(service, find(service, proposal.id)), token=token)


@overseeing.get("/proposals/{proposal}")
def one(service: Serving, proposal: ProposalId, response: Response) -> responses.ProposalShape:
    """One proposal, with the values it changes as they are at this moment."""
    shown = _shown(service, find(service, proposal))
    response.headers["ETag"] = f'"{edition(shown.changes)}"'
    return shown


def _as_seen(service: Service, proposal: Proposal, seen: str | None) -> None:
    """Raise where a proposal would by now change something else than its reader saw."""
    if seen is not None and seen.strip('"') != edition(changes(service, proposal)):
        raise Problem(
            412,
            "changed",
            say("What this proposal changes is no longer what you saw. Look at it again."),
        )


@custody.post("/proposals/{proposal}/accept", responses=documented(409, 412))
def accept(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    proposal: ProposalId,
    seen: Seen = None,
) -> responses.Settled:
    """Accept what another custodian proposed; it is done, and the ledger names both."""
    proposed = find(service, proposal)
    _as_seen(service, proposed, seen)
    request.state.notes |= {"dataset": proposed.dataset, "reason": proposed.reason}
    two_custodians.may_accept(service.accounts, proposed, asker.name)
    if not proposed.dataset:
        return _settled(service, proposed, asker.name, two_custodians.AGREED)
    with service.dataset(asker, proposed.dataset) as data:
        if "policy" not in proposed.change:
            _charged(data)
        made = _apply(service, data, proposed, asker.name, two_custodians.AGREED)
        return _as_is(service, made)


@custody.post("/proposals/{proposal}/reject", responses=documented(409))
def reject(service: Serving, asker: CurrentAsker, proposal: ProposalId) -> responses.ProposalShape:
    """Reject a proposal, or take one's own back."""
    proposed = find(service, proposal)
    if not service.catalogue.decide(proposed.id, "rejected", asker.name, ""):
        raise _decided(service, proposed)
    return _shown(service, find(service, proposal))


@custody.put(
    "/datasets/{dataset}/budgets/{scope}",
    response_model=oversight_responses.Standings,
    responses=documented(409, 415),
)
def share(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    scope: Annotated[str, Path(max_length=120, description="user:NAME or project:NAME")],
    body: BudgetForm,
) -> dict[str, Any]:
    """Give a user or a project a share of the budget, change it, or take it away."""
    request.state.notes |= {"dataset": dataset, "reason": f"{scope}: {body.reason}"}
    with service.dataset(asker, dataset) as data:
        _charged(data)
        kind, _, name = scope.partition(":")
        change = _change(body)
        if kind == "project":
            project_name(name)
        names = ["public", *(u.name for u in service.accounts.users() if u.revoked is None)]
        if kind == "user" and name and change and name not in names:
            raise InputError(
                f"There is no account {name[:80]!r} to give a share to.{did_you_mean(name, names)}"
            )
        api.DataSet(data).share(scope, **change, who=asker.name, reason=body.reason)
        return _standings(data.ledger().standing(**{kind: name}))


def _standings(standings: Sequence[Standing]) -> dict[str, Any]:
    names, parts = ("scope", "cap", "spent", "left"), ("cap", "spent", "held", "left")
    return {
        "standings": [
            {name: str(getattr(one, name)) for name in names}
            | {"figures": {name: loss_to_json(getattr(one, name)) for name in parts}}
            for one in standings
        ]
    }


def _apply(service: Service, data: DataSet, proposal: Proposal, by: str, note: str) -> Proposal:
    """Change discreet.yaml, and the ledger's budget; the proposal is decided first, so only once."""
    two_custodians.finish(service.catalogue, data, proposal.dataset)
    if not service.catalogue.decide(proposal.id, "applying", by, note):
        raise _decided(service, proposal)
    (decided,) = service.catalogue.proposals(proposal.id)
    return two_custodians.make(service.catalogue, data, decided)


def find(service: Service, identity: str) -> Proposal:
    """One proposal; 404 where there is none."""
    for proposal in service.catalogue.proposals(identity):
        return proposal
    raise not_found("proposal")


def _decided(service: Service, proposal: Proposal) -> Problem:
    """What became of a proposal; another custodian may have been quicker, on another host too."""
    now = find(service, proposal.id)
    return Problem(409, "decided", f"This proposal is {now.state} already.")


def _charged(data: DataSet) -> None:
    if data.policy.budget is None:
        raise InputError(f"{data.name} has no budget: its family charges nothing.")


def _change(body: BudgetForm) -> dict[str, str]:
    given = {"epsilon": body.epsilon, "delta": body.delta, "rho": body.rho}
    return {name: value.strip() for name, value in given.items() if value is not None}
