"""`/decisions` and `…/ledger/lines`: what waits for a custodian, and the ledger in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import Query

from ...core.description import Description
from ...languages import told as in_language
from ...methods.declaration import Spends
from ...store.base import Entry
from ...workspace import DataSet
from ...workspace.policy_draft import drafted
from .. import decisions, ledger_lines, oversight_responses
from ..auth import CUSTODIANS, OVERSEERS, CurrentAsker, guarded
from ..ledger_lines import LedgerLine
from ..negotiation import chosen_language
from ..policy_effects import effects
from ..problems import documented, not_found
from ..requests import PolicyDraftForm
from ..service import Serving, told
from .catalogue import DataSetId, Language, Wishes

custody = guarded(CUSTODIANS, "manage", "custody")
overseeing = guarded(OVERSEERS, "audit", "oversight")
ROUTERS = [custody, overseeing]


@custody.post(
    "/datasets/{dataset}/policies:effects",
    response_model=oversight_responses.EffectsShape,
    responses=documented(415),
)
def effects_of(
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    body: PolicyDraftForm,
    language: Language = "",
    wishes: Wishes = "",
) -> dict[str, Any]:
    """Which answered questions a draft of the policy would refuse, or have asked and paid anew."""
    with service.dataset(asker, dataset) as data:
        spoken = chosen_language(language, wishes, told(asker, data))
        found = effects(data, drafted(data, body.draft))
        facts: dict[str, Any] = asdict(found) | {"sentences": found.sentences()}
        return dict(in_language(facts, spoken))


Kind = Literal["", "charge", "cap", "rehearsal", "open", "restore"]


@custody.get("/decisions", response_model=oversight_responses.DecisionList)
def waiting(service: Serving, asker: CurrentAsker) -> dict[str, Any]:
    """What waits for a decision: proposals, releases, requests, found variables, new sources."""
    return {"decisions": [asdict(one) for one in decisions.waiting(service, asker)]}


@overseeing.get("/datasets/{dataset}/ledger/lines", response_model=oversight_responses.LedgerLines)
def lines(
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    kind: Annotated[Kind, Query(description="Only entries of this kind.")] = "",
    user: Annotated[str, Query(max_length=64, description="Only of this account.")] = "",
    before: Annotated[int | None, Query(ge=1, le=2**60)] = None,
    most: Annotated[int, Query(ge=1, le=200)] = 50,
    language: Language = "",
    wishes: Wishes = "",
) -> dict[str, Any]:
    """Entries of the ledger in words, newest first: what was asked, how exact, at which loss."""
    with service.dataset(asker, dataset) as data:
        if data.spends is Spends.NOTHING:
            raise not_found("ledger")
        spoken = chosen_language(language, wishes, told(asker, data))
        page, onward = page_of(
            data, told(asker, data), kind=kind, user=user, before=before, most=most
        )
        return {"lines": in_language([asdict(one) for one in page], spoken), "next": onward}


def page_of(
    data: DataSet,
    description: Description,
    *,
    kind: str = "",
    user: str = "",
    before: int | None = None,
    most: int = 50,
) -> tuple[list[LedgerLine], int | None]:
    """The newest entries that a filter lets through, and where to go on."""
    passed = filtered(data.ledger().newest(before), kind, user)
    chosen = list(islice(passed, most + 1))
    shown = ledger_lines.lines(data, description, chosen[:most])
    return shown, shown[-1].number if len(chosen) > most else None


def filtered(entries: Iterable[Entry], kind: str, user: str) -> Iterable[Entry]:
    """Entries of a kind and of an account."""
    for entry in entries:
        who = entry.body.get("user") or entry.body.get("who") or ""
        if (not kind or entry.kind == kind) and (not user or who == user):
            yield entry
