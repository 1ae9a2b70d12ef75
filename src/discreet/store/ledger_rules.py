"""The rules of a ledger: who may spend, what it leaves, and the row that says so. Pure.

Each is a function of a `LedgerState`. It raises and changes nothing, or records in the state what a
store must write. SQLite and Postgres decide by these same rules.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from ..core.charge import Charge, has_loss, sum_of
from ..core.loss import Loss, loss_to_json, zero
from ..errors import HistoryMoved, InputError, KeyReused, Refusal
from .base import DATASET, Hold, Standing, StoredAnswer
from .budget_words import exceeded
from .chain import damaged, scopes_of
from .commit_request import CommitRequest, question_of
from .ledger_state import AnswerRow, HeldBudget, LedgerState

_AS_ASKED = ("question", "user", "project", "data_version", "policy_version", "key")


def note_rehearsal(state: LedgerState, who: str, about: str, policy_version: str) -> None:
    """Note that a custodian looked at true data to choose parameters."""
    body = {"who": who, "about": about, "policy_version": policy_version}
    state.append({"kind": "rehearsal", "at": state.at, **body})


def set_cap(state: LedgerState, scope: str, budget: Loss | None, who: str, reason: str) -> None:
    """Set, change or (None) take away a cap; what was spent before counts against it.

    Needs the whole log added up (`Needs.account`).
    """
    account = state.account
    assert account is not None
    if budget is not None:
        others = {s: cap for s, cap in account.caps.items() if s != scope}
        if scope != DATASET and DATASET not in others:
            raise InputError("Set the budget of the data set before any sub-cap.")
        for other, cap in others.items():
            if cap.kind != budget.kind:
                raise InputError(
                    f"A budget of kind {budget.kind} for {scope} and one of kind {cap.kind} "
                    f"for {other} cannot stand together. Use one kind, or take the sub-caps "
                    "away first."
                )
        _held(state, scope, budget.kind, None, None)  # or raise: it must count holds
        account.spent_of(scope, budget.kind)  # or raise: it must count what was spent
    stored = None if budget is None else loss_to_json(budget)
    body = {"scope": scope, "budget": stored, "who": who, "reason": reason}
    state.append({"kind": "cap", "at": state.at, **body})
    losses = None if budget is None else (account.caps[scope], account.spent[scope])
    state.set_sum(scope, losses)


def standing(
    state: LedgerState,
    user: str,
    project: str,
    *,
    without: str | None = None,
    question: str | None = None,
) -> list[Standing]:
    """Where each scope with a cap stands.

    Not counted as held: the hold `without`, and holds for `question` itself.
    """
    standings = []
    for scope in scopes_of(user, project):
        losses = state.losses(scope)
        if losses is not None:
            cap, spent = losses
            held = _held(state, scope, cap.kind, without, question)
            standings.append(Standing(scope, cap, spent, held, cap - (spent + held)))
    return standings


def _held(
    state: LedgerState, scope: str, kind: str, without: str | None, question: str | None
) -> Loss:
    """What holds reserve: each question once, and none that is answered and so is free."""
    held = set()
    for hold in state.holds.values():
        asked = hold.charges[0].question
        counts = scope in scopes_of(hold.user, hold.project) and hold.expires > state.now
        if counts and hold.id != without and asked != question and asked not in state.answered:
            held.add((asked, sum_of(kind, hold.charges)))
    total = zero(kind)
    for _, loss in held:
        total += loss
    return total


def check(
    state: LedgerState, charges: Sequence[Charge], user: str, project: str, without: str | None
) -> list[tuple[Standing, Loss]]:
    """Raise where the charges would not fit now; what they cost each scope.

    A record costs nothing, and so does a question that is answered.
    """
    question = question_of(charges)
    if not has_loss(charges) or question in state.answered:
        return []
    standings = standing(state, user, project, without=without, question=question)
    if not standings or standings[0].scope != DATASET:
        raise Refusal(
            f"{state.dataset} has no budget yet, so nothing may be spent. "
            "Ask the custodian to set one.",
            rule="budget",
        )
    costs = [(each, sum_of(each.cap.kind, charges)) for each in standings]
    for each, cost in costs:
        if not (each.spent + each.held + cost).fits(each.cap):
            raise exceeded(state.dataset, each, cost)
    return costs


def hold(
    state: LedgerState,
    identity: str,
    charges: tuple[Charge, ...],
    user: str,
    project: str,
    seconds: float,
) -> Hold:
    """Reserve the charges, or raise where they do not fit; a hold of the same id is replaced."""
    check(state, charges, user, project, without=identity)
    for old in [one.id for one in state.holds.values() if one.expires <= state.now]:
        state.drop_hold(old)
    taken = HeldBudget(identity, user, project, charges, state.now + seconds)
    state.set_hold(taken)
    return Hold(identity, taken.expires)


def renew(state: LedgerState, identity: str, seconds: float) -> Hold:
    """Extend a hold that lives."""
    held = state.holds.get(identity)
    if held is None or held.expires <= state.now:
        raise Refusal(
            "The hold has lapsed. Ask for a new one before anything is drawn.", rule="hold"
        )
    longer = held._replace(expires=state.now + seconds)
    state.set_hold(longer)
    return Hold(identity, longer.expires)


def ready(state: LedgerState, request: CommitRequest) -> StoredAnswer | None:
    """The answer where this request, or another one, has charged it before."""
    before = state.requests.get((request.user, request.key))
    if before is not None and before != request.digest:
        raise KeyReused(
            "This idempotency key came before with another request. "
            "Use a new key for a new request; nothing was charged."
        )
    return state.answers.get(request.question)


def commit(
    state: LedgerState, request: CommitRequest, held: str | None, after: str | None, *, inline: bool
) -> StoredAnswer:
    """Charge the request and store it, unless it was before; its hold is used up."""
    stored = ready(state, request)
    if stored is not None:
        state.drop_hold(held)
        return stored
    check_unmoved(state, after)
    if request.question in state.answered:
        what = "its log has charged a question that its table of answers does not find"
        raise damaged(what, f"The ledger of {state.dataset}")
    for each, cost in check(state, request.charges, request.user, request.project, held):
        state.set_sum(each.scope, (each.cap, each.spent + cost))
    state.drop_hold(held)
    return _append(state, request, inline)


def check_unmoved(state: LedgerState, after: str | None) -> None:
    """Raise where anything was committed after the head `after`."""
    if after is not None and state.head != after:
        raise HistoryMoved(
            f"Something else was released from {state.dataset} while this was decided. "
            "Nothing was stored; decide again on the newer history."
        )


def _append(state: LedgerState, request: CommitRequest, inline: bool) -> StoredAnswer:
    """The rows of a charge that fits."""
    question, size = request.question, len(request.measurements)
    body = {
        "kind": "charge",
        **{name: getattr(request, name) for name in _AS_ASKED},
        "charges": [charge.to_json() for charge in request.charges],
        "request": request.digest,
        "measurements": request.measurements_digest,
        "size": size,
        "at": state.at,
    }
    seq, head = state.append(body)
    content = request.measurements if inline else None
    changes = state.changes
    changes.answers.append(AnswerRow(question, seq, request.measurements_digest, size, content))
    key = (request.user, request.key)
    changes.requests.append((*key, request.digest, json.dumps([question])))
    answer = StoredAnswer(
        question,
        request.measurements,
        request.charges,
        request.data_version,
        request.policy_version,
        state.at,
        {"entry": seq, "hash": head},
        fresh=True,
    )
    state.head = head
    state.answered.add(question)
    state.requests[key] = request.digest
    state.answers[question] = replace(answer, fresh=False)  # to whoever asks next
    return answer
