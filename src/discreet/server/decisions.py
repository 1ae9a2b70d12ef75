"""What waits for a custodian: proposals, requests, releases, found variables, changed sources."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core.loss import Loss, in_words
from ..errors import DiscreetError
from ..languages import Sentence, counted, listed, say, together
from ..store.catalogue import Proposal
from ..workspace import DataSet
from ..workspace.dataset import loss_written
from ..workspace.source_checks import source_changed
from .auth import Asker
from .problems import Problem
from .proposed_changes import changes
from .responses import Change
from .service import Service, told

_AT_ONCE = 3
"""So many names of variables are said."""


@dataclass(frozen=True)
class Decision:
    """One thing that waits: what it is, about which data set, and where it is decided."""

    kind: str
    """proposal, request, release, found or source"""
    dataset: str
    id: str
    """Of the proposal, request or release; empty for found variables and sources."""
    words: str
    reason: str = ""
    by: str = ""
    at: float | None = None
    changes: tuple[Change, ...] = ()
    """What a proposal changes, value by value."""


def waiting(service: Service, asker: Asker) -> list[Decision]:
    """All that waits, what two custodians settle first."""
    found = [*_proposals(service), *_releases(service, asker)]
    for name, data in service.readable(asker):
        found += _requests(service, name)
        found += _of_data(name, data, told(asker, data).undeclared)
    return found


def _proposals(service: Service) -> Iterator[Decision]:
    for one in service.catalogue.proposals():
        if one.state == "waiting":
            found = changes(service, one)
            words = proposal_words(service, one)
            said = (words, one.reason, one.by, one.created)
            yield Decision("proposal", one.dataset, one.id, *said, found)


def proposal_words(service: Service, one: Proposal, *, values: bool = True) -> Sentence:
    """What somebody proposes, as one sentence: of a policy with every value it changes."""
    if name := one.change.get("add_custodian"):
        return say("{by} proposes {name} as a custodian.", by=one.by, name=name)
    if name := one.change.get("end_custodian"):
        return say(
            "{by} proposes to end the account of the custodian {name}.", by=one.by, name=name
        )
    if "policy" in one.change:
        about = {"by": one.by, "dataset": one.dataset}
        if not values:
            return say("{by} proposes another policy for {dataset}.", **about)
        found = changes(service, one)
        if not found:
            return say("{by} proposes a policy for {dataset} that changes nothing.", **about)
        parts = together(*(change.words for change in found), between="; ")
        return say("{by} proposes another policy for {dataset}: {parts}.", **about, parts=parts)
    wished = loss_written({key: str(value) for key, value in one.change.items()})
    now = _budget(service, one.dataset)
    return say(
        "{by} proposes to change the budget of {dataset} from {now} to {wished}.",
        by=one.by,
        wished=in_words(wished) if wished is not None else say("nothing"),
        dataset=one.dataset,
        now=in_words(now) if now is not None else say("nothing"),
    )


def _budget(service: Service, name: str) -> Loss | None:
    with contextlib.suppress(DiscreetError, Problem), service.datasets.use(name) as data:
        return data.policy.budget
    return None


def _releases(service: Service, asker: Asker) -> Iterator[Decision]:
    waiting = [one for name in service.visible(asker) for one in service.releases.undecided(name)]
    for one in sorted(waiting, key=lambda one: (-one.created, one.id)):
        if one.ready is None:
            words = say("The release “{title}” was not completed.", title=one.title)
        else:
            words = say("The release “{title}” waits to be approved.", title=one.title)
        yield Decision("release", one.dataset, one.id, words, "", one.by, one.created)


def _requests(service: Service, name: str) -> Iterator[Decision]:
    for one in service.inbox.requests(name):
        if one.answered_at is None:
            words = say("{by} asks about {dataset}.", by=one.by, dataset=name)
            yield Decision("request", name, one.id, words, one.words, one.by, one.created)


def _of_data(name: str, data: DataSet, found: Sequence[str]) -> Iterator[Decision]:
    if found:
        more = len(found) - _AT_ONCE
        shown = listed(found[:_AT_ONCE])
        if more > 0:
            shown = together(
                ", ".join(found[:_AT_ONCE]), counted("and {n} more", "and {n} more", more)
            )
        words = say(
            "{dataset}: categories found in the data wait to be declared: {variables}.",
            dataset=name,
            variables=shown,
        )
        yield Decision("found", name, "", words)
    if source_changed(data):
        words = say("The source of {dataset} was written to after it was loaded.", dataset=name)
        yield Decision("source", name, "", words)
