"""The books inside one transaction: who may spend, what it leaves, and the row that says so.

Every method here works on a connection with an open transaction; `ledger.py` decides which.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from ..core.charge import Charge, sum_of
from ..core.exact import plain, rounded_down
from ..core.loss import (
    Loss,
    ZcdpLoss,
    fits,
    in_words,
    largest_epsilon,
    loss_from_json,
    loss_to_json,
    minus,
    plus,
    zero,
)
from ..errors import Alternative, BudgetExceeded, InputError, KeyReused, LedgerDamaged, Refusal
from .base import DATASET, Draft, Standing, StoredAnswer
from .chain import START, Account, canonical, digest, follow, link, scopes_of
from .measurement_files import INLINE_BYTES, MeasurementFiles

_HOLDS = {
    DATASET: "SELECT id, charges FROM holds WHERE expires > ?",
    "user": "SELECT id, charges FROM holds WHERE expires > ? AND user = ?",
    "project": "SELECT id, charges FROM holds WHERE expires > ? AND project = ?",
}
"""The holds that count against each kind of scope."""


class Request:
    """What was asked, apart from what was drawn: a retry draws anew and is the same request."""

    def __init__(
        self,
        drafts: tuple[Draft, ...],
        key: str,
        user: str,
        project: str,
        data_version: str,
        policy_version: str,
    ) -> None:
        if not drafts or any(not draft.charges for draft in drafts):
            raise InputError("A commit needs at least one charge for each question.")
        if not key or len(key) > 200:
            raise InputError("An idempotency key must be text of 1 to 200 characters.")
        self.drafts, self.key, self.user, self.project = drafts, key, user, project
        self.data_version, self.policy_version = data_version, policy_version
        self.questions = [draft.charges[0].question for draft in drafts]
        if any(c.question != d.charges[0].question for d in drafts for c in d.charges):
            raise InputError("All charges of one answer must name the same question.")
        if len(set(self.questions)) != len(self.questions):
            raise InputError("A commit names the same question twice.")
        self.digests = [digest(draft.measurements) for draft in drafts]
        said = {
            "charges": [[charge.to_json() for charge in draft.charges] for draft in drafts],
            "project": project,
            "data_version": data_version,
            "policy_version": policy_version,
        }
        self.digest = digest(canonical(said).encode())

    def charges_of_new(self, connection: sqlite3.Connection) -> list[Charge]:
        """The charges of questions that have no answer yet."""
        known = "SELECT 1 FROM answers WHERE question = ?"
        return [
            charge
            for draft, question in zip(self.drafts, self.questions, strict=True)
            if connection.execute(known, (question,)).fetchone() is None
            for charge in draft.charges
        ]


class Books:
    """The tables of one ledger, for the length of a transaction."""

    def __init__(self, dataset: str, files: MeasurementFiles, clock: Callable[[], float]) -> None:
        self.dataset = dataset
        self.files = files
        self.clock = clock

    def append(self, connection: sqlite3.Connection, body: dict[str, Any]) -> tuple[int, str]:
        """Add a row to the chain; returns its number and hash."""
        row = connection.execute("SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1").fetchone()
        text = canonical(body)
        seq, stored = row[0] + 1, link(row[1], text)
        connection.execute("INSERT INTO log VALUES (?, ?, ?)", (seq, text, stored))
        return seq, stored

    def now(self) -> str:
        """The time, as the log writes it."""
        return datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="milliseconds")

    def set_cap(
        self,
        connection: sqlite3.Connection,
        scope: str,
        budget: Loss | None,
        who: str,
        reason: str,
    ) -> None:
        """Set, change or (None) take away a cap; what was spent before counts against it."""
        account = Account()
        rows = connection.execute("SELECT seq, body, hash FROM log ORDER BY seq").fetchall()
        follow(rows, 0, START, account)
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
        stored = None if budget is None else loss_to_json(budget)
        account.set_cap(scope, stored)
        body = {"scope": scope, "budget": stored, "who": who, "reason": reason}
        self.append(connection, {"kind": "cap", "at": self.now(), **body})
        connection.execute("DELETE FROM scopes WHERE scope = ?", (scope,))
        if budget is not None:
            connection.execute(
                "INSERT INTO scopes VALUES (?, ?, ?)",
                (scope, loss_text(account.caps[scope]), loss_text(account.spent[scope])),
            )

    def standing(
        self, connection: sqlite3.Connection, user: str, project: str, without: str | None
    ) -> list[Standing]:
        """Where each scope with a cap stands; the hold `without` is not counted as held."""
        found = []
        for scope in scopes_of(user, project):
            row = connection.execute(
                "SELECT cap, spent FROM scopes WHERE scope = ?", (scope,)
            ).fetchone()
            if row is not None:
                cap, spent = (loss_from_json(json.loads(text)) for text in row)
                held = self._held(connection, scope, cap.kind, without)
                found.append(Standing(scope, cap, spent, held, minus(cap, plus(spent, held))))
        return found

    def _held(
        self, connection: sqlite3.Connection, scope: str, kind: str, without: str | None
    ) -> Loss:
        kind_of_scope, _, name = scope.partition(":")
        values = (self.clock(),) if scope == DATASET else (self.clock(), name)
        rows = connection.execute(_HOLDS[kind_of_scope], values).fetchall()
        total = zero(kind)
        for identity, stored in rows:
            if identity != without:
                charges = [Charge.from_json(charge) for charge in json.loads(stored)["charges"]]
                total = plus(total, sum_of(kind, charges))
        return total

    def check(
        self,
        connection: sqlite3.Connection,
        charges: Sequence[Charge],
        user: str,
        project: str,
        without: str | None,
    ) -> None:
        """Raise where the charges would not fit now."""
        for standing in self._budgets(connection, user, project, without):
            cost = sum_of(standing.cap.kind, charges)
            if not fits(plus(plus(standing.spent, standing.held), cost), standing.cap):
                raise self._exceeded(standing, cost)

    def _budgets(
        self, connection: sqlite3.Connection, user: str, project: str, without: str | None
    ) -> list[Standing]:
        standings = self.standing(connection, user, project, without)
        if not standings or standings[0].scope != DATASET:
            raise Refusal(
                f"{self.dataset} has no budget yet, so nothing may be spent. "
                "Ask the custodian to set one.",
                rule="budget",
            )
        return standings

    def _exceeded(self, standing: Standing, cost: Loss) -> BudgetExceeded:
        whose = "" if standing.scope == DATASET else f" for {standing.scope.replace(':', ' ')}"
        held = (
            "" if standing.held == zero(standing.held.kind) else f", held {in_words(standing.held)}"
        )
        best = largest_epsilon(standing.left)
        shown = plain(best) if len(plain(best)) <= 12 else rounded_down(best, 8)
        rho = ""
        if isinstance(standing.left, ZcdpLoss):
            rho = f"rho at most {in_words(standing.left, left=True).removeprefix('rho = ')}, or "
        offer = Alternative(
            f"ask with {rho}epsilon at most {shown}", {"epsilon": shown, "rho": None}
        )
        return BudgetExceeded(
            f"The budget of {self.dataset}{whose} is {in_words(standing.cap)}: spent "
            f"{in_words(standing.spent)}{held}, asked {in_words(cost)}, left "
            f"{in_words(standing.left, left=True)}. The largest epsilon that fits is {shown}.",
            rule="budget",
            alternatives=[offer] if best else [],
        )

    def ready(self, connection: sqlite3.Connection, request: Request) -> list[StoredAnswer] | None:
        """The answers where this request, or others, have charged all of it before."""
        row = connection.execute(
            "SELECT request, questions FROM requests WHERE user = ? AND key = ?",
            (request.user, request.key),
        ).fetchone()
        questions = request.questions
        if row is not None:
            if row[0] != request.digest:
                raise KeyReused(
                    "This idempotency key came before with another request. "
                    "Use a new key for a new request; nothing was charged."
                )
            questions = json.loads(row[1])
        found = [self.answer(connection, question, fresh=False) for question in questions]
        return None if any(a is None for a in found) else [a for a in found if a is not None]

    def commit(
        self, connection: sqlite3.Connection, request: Request, held: str | None
    ) -> list[StoredAnswer]:
        """Charge what is new in the request and store it; inside the caller's transaction."""
        if held is not None:
            connection.execute("DELETE FROM holds WHERE id = ?", (held,))
        ready = self.ready(connection, request)
        if ready is not None:
            return ready
        at = self.now()
        answers = []
        for draft, name in zip(request.drafts, request.digests, strict=True):
            question = draft.charges[0].question
            earlier = self.answer(connection, question, fresh=False)
            if earlier is not None:
                answers.append(earlier)
                continue
            self._spend(connection, draft.charges, request.user, request.project)
            size = len(draft.measurements)
            seq, stored = self.append(
                connection,
                {
                    "kind": "charge",
                    "question": question,
                    "charges": [charge.to_json() for charge in draft.charges],
                    "user": request.user,
                    "project": request.project,
                    "data_version": request.data_version,
                    "policy_version": request.policy_version,
                    "key": request.key,
                    "request": request.digest,
                    "measurements": name,
                    "size": size,
                    "at": at,
                },
            )
            inline = draft.measurements if size <= INLINE_BYTES else None
            connection.execute(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?)", (question, seq, name, size, inline)
            )
            answers.append(
                StoredAnswer(
                    question,
                    draft.measurements,
                    draft.charges,
                    request.data_version,
                    request.policy_version,
                    at,
                    {"entry": seq, "hash": stored},
                    fresh=True,
                )
            )
        connection.execute(
            "INSERT INTO requests VALUES (?, ?, ?, ?)",
            (request.user, request.key, request.digest, json.dumps(request.questions)),
        )
        return answers

    def _spend(
        self, connection: sqlite3.Connection, charges: Sequence[Charge], user: str, project: str
    ) -> None:
        for standing in self._budgets(connection, user, project, without=None):
            cost = loss_text(sum_of(standing.cap.kind, charges))
            changed = connection.execute(
                "UPDATE scopes SET spent = loss_plus(spent, :cost) "
                "WHERE scope = :scope AND loss_fits(spent, :held, :cost, cap)",
                {"cost": cost, "scope": standing.scope, "held": loss_text(standing.held)},
            )
            if changed.rowcount != 1:
                raise self._exceeded(standing, loss_from_json(json.loads(cost)))

    def answer(
        self, connection: sqlite3.Connection, question: str, *, fresh: bool
    ) -> StoredAnswer | None:
        """The stored answer to a question, checked against its digest."""
        row = connection.execute(
            "SELECT a.digest, a.measurements, l.seq, l.body, l.hash "
            "FROM answers a JOIN log l ON l.seq = a.seq WHERE a.question = ?",
            (question,),
        ).fetchone()
        if row is None:
            return None
        name, content, seq, text, stored = row
        body = json.loads(text)
        if content is None:
            content = self.files.read(name)
        if content is None or body["measurements"] != name or digest(content) != name:
            raise LedgerDamaged(
                f"The ledger of {self.dataset} is damaged: the measurements of entry {seq} are missing or are not "
                "those that were charged. Nothing is answered; restore them from a copy."
            )
        return StoredAnswer(
            question,
            content,
            tuple(Charge.from_json(charge) for charge in body["charges"]),
            body["data_version"],
            body["policy_version"],
            body["at"],
            {"entry": seq, "hash": stored},
            fresh,
        )


def loss_text(loss: Loss) -> str:
    """A loss as the canonical text that is stored."""
    return canonical(loss_to_json(loss))
