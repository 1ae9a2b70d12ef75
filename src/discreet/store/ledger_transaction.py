"""A ledger inside one transaction: who may spend, what it leaves, and the row that says so.

Who makes one has begun a transaction on its connection, and ends it; see `ledger.py`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from ..core.charge import Charge, has_loss, sum_of
from ..core.loss import (
    Loss,
    loss_from_json,
    loss_to_json,
    zero,
)
from ..errors import (
    HistoryMoved,
    InputError,
    KeyReused,
    LedgerDamaged,
    Refusal,
)
from .base import DATASET, Hold, LedgerHistory, Standing, StoredAnswer
from .budget_words import exceeded
from .chain import START, Account, canonical, damaged, digest, follow, link, moment, scopes_of
from .commit_request import CommitRequest, question_of
from .measurement_files import INLINE_BYTES, MeasurementFiles

_HOLDS = {
    DATASET: "SELECT id, charges FROM holds WHERE expires > ?",
    "user": "SELECT id, charges FROM holds WHERE expires > ? AND user = ?",
    "project": "SELECT id, charges FROM holds WHERE expires > ? AND project = ?",
}
"""The holds that count against each kind of scope."""


_AS_ASKED = ("question", "user", "project", "data_version", "policy_version", "key")
_ANSWERS = (
    "SELECT coalesce(c.question, a.question), a.digest, a.measurements, l.seq, l.body, l.hash, c.form "
    "FROM answers a JOIN log l ON l.seq = a.seq LEFT JOIN carried c ON c.answer = a.question "
)
_NAMED = (
    "WHERE a.question = coalesce((SELECT question FROM answers WHERE question = ?1), "
    "(SELECT n.answer FROM carried n JOIN answers b "
    "ON b.question = n.answer WHERE n.question = ?1 ORDER BY b.seq LIMIT 1))"
)
"""An answer by the name it was charged under; else, of those that an upgrade gave it, the first."""


class LedgerTransaction:
    """What may be asked of the tables of one ledger within a transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        dataset: str,
        files: MeasurementFiles,
        clock: Callable[[], float],
    ) -> None:
        self.connection = connection
        self.dataset = dataset
        self.files = files
        self.clock = clock

    def append(self, body: dict[str, Any]) -> tuple[int, str]:
        """Add a row to the chain; returns its number and hash."""
        row = self.connection.execute(
            "SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        text = canonical(body)
        seq, stored = row[0] + 1, link(row[1], text)
        self.connection.execute(
            "INSERT INTO log VALUES (?, ?, ?, ?)", (seq, text, stored, body.get("question"))
        )
        return seq, stored

    def now(self) -> str:
        """The time, as the log writes it."""
        return moment(self.clock())

    def note_rehearsal(self, who: str, about: str, policy_version: str) -> None:
        """Note that a custodian looked at true data to choose parameters."""
        body = {"who": who, "about": about, "policy_version": policy_version}
        self.append({"kind": "rehearsal", "at": self.now(), **body})

    def set_cap(self, scope: str, budget: Loss | None, who: str, reason: str) -> None:
        """Set, change or (None) take away a cap; what was spent before counts against it."""
        account = Account()
        rows = self.connection.execute("SELECT seq, body, hash FROM log ORDER BY seq").fetchall()
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
            self._held(scope, budget.kind, None, None)  # or raise: it must count holds
        stored = None if budget is None else loss_to_json(budget)
        account.set_cap(scope, stored)
        body = {"scope": scope, "budget": stored, "who": who, "reason": reason}
        self.append({"kind": "cap", "at": self.now(), **body})
        self.connection.execute("DELETE FROM scopes WHERE scope = ?", (scope,))
        if budget is not None:
            self.connection.execute(
                "INSERT INTO scopes VALUES (?, ?, ?)",
                (scope, loss_text(account.caps[scope]), loss_text(account.spent[scope])),
            )

    def standing(
        self, user: str, project: str, *, without: str | None = None, question: str | None = None
    ) -> list[Standing]:
        """Where each scope with a cap stands.

        Not counted as held: the hold `without`, and holds for `question` itself.
        """
        standings = []
        for scope in scopes_of(user, project):
            row = self.connection.execute(
                "SELECT cap, spent FROM scopes WHERE scope = ?", (scope,)
            ).fetchone()
            if row is not None:
                cap, spent = (loss_from_json(json.loads(text)) for text in row)
                held = self._held(scope, cap.kind, without, question)
                standings.append(Standing(scope, cap, spent, held, cap - (spent + held)))
        return standings

    def _held(self, scope: str, kind: str, without: str | None, question: str | None) -> Loss:
        """What holds reserve: each question once, and none that is answered and so is free."""
        kind_of_scope, _, name = scope.partition(":")
        values = (self.clock(),) if scope == DATASET else (self.clock(), name)
        held = set()
        for identity, stored in self.connection.execute(_HOLDS[kind_of_scope], values).fetchall():
            charges = [Charge.from_json(charge) for charge in json.loads(stored)["charges"]]
            asked = charges[0].question
            if identity != without and asked != question and not self.is_answered(asked):
                held.add((asked, sum_of(kind, charges)))
        total = zero(kind)
        for _, loss in held:
            total += loss
        return total

    def check(
        self, charges: Sequence[Charge], user: str, project: str, without: str | None
    ) -> None:
        """Raise where the charges would not fit now; a record or an answered question fits."""
        question = question_of(charges)
        if not has_loss(charges) or self.is_answered(question):
            return
        for standing in self._budgets(user, project, without, question):
            cost = sum_of(standing.cap.kind, charges)
            if not (standing.spent + standing.held + cost).fits(standing.cap):
                raise exceeded(self.dataset, standing, cost)

    def hold(self, hold: Hold, charges: Sequence[Charge], user: str, project: str) -> Hold:
        """Reserve the charges, or raise where they do not fit; a hold of the same id is replaced."""
        self.connection.execute("DELETE FROM holds WHERE expires <= ?", (self.clock(),))
        self.check(charges, user, project, without=hold.id)
        stored = canonical({"charges": [charge.to_json() for charge in charges]})
        self.connection.execute(
            "INSERT OR REPLACE INTO holds VALUES (?, ?, ?, ?, ?)",
            (hold.id, user, project, stored, hold.expires),
        )
        return hold

    def renew(self, hold: Hold) -> Hold:
        """Extend a hold that lives to `hold.expires`."""
        changed = self.connection.execute(
            "UPDATE holds SET expires = ? WHERE id = ? AND expires > ?",
            (hold.expires, hold.id, self.clock()),
        )
        if changed.rowcount != 1:
            raise Refusal(
                "The hold has lapsed. Ask for a new one before anything is drawn.", rule="hold"
            )
        return hold

    def lapse(self, held: str | None) -> None:
        """Give up a hold; one that is gone already is no matter."""
        self.connection.execute("DELETE FROM holds WHERE id = ?", (held,))

    def _budgets(
        self, user: str, project: str, without: str | None, question: str
    ) -> list[Standing]:
        standings = self.standing(user, project, without=without, question=question)
        if not standings or standings[0].scope != DATASET:
            raise Refusal(
                f"{self.dataset} has no budget yet, so nothing may be spent. "
                "Ask the custodian to set one.",
                rule="budget",
            )
        return standings

    def ready(self, request: CommitRequest) -> StoredAnswer | None:
        """The answer where this request, or another one, has charged it before."""
        row = self.connection.execute(
            "SELECT request FROM requests WHERE user = ? AND key = ?", (request.user, request.key)
        ).fetchone()
        if row is not None and row[0] != request.digest:
            raise KeyReused(
                "This idempotency key came before with another request. "
                "Use a new key for a new request; nothing was charged."
            )
        return self.answer(request.question)

    def commit(self, request: CommitRequest, held: str | None, after: str | None) -> StoredAnswer:
        """Charge the request and store it, unless it was before; in the caller's transaction."""
        self.lapse(held)
        ready = self.ready(request)
        if ready is not None:
            return ready
        self.check_unmoved(after)
        self._spend(request)
        at, question, size = self.now(), request.question, len(request.measurements)
        body = {
            "kind": "charge",
            **{name: getattr(request, name) for name in _AS_ASKED},
            "charges": [charge.to_json() for charge in request.charges],
            "request": request.digest,
            "measurements": request.measurements_digest,
            "size": size,
            "at": at,
        }
        try:
            seq, stored = self.append(body)
        except sqlite3.IntegrityError:
            what = "its log has charged a question that its table of answers does not find"
            raise damaged(what, f"The ledger of {self.dataset}") from None
        inline = request.measurements if size <= INLINE_BYTES else None
        self.connection.execute(
            "INSERT INTO answers VALUES (?, ?, ?, ?, ?)",
            (question, seq, request.measurements_digest, size, inline),
        )
        self.connection.execute(
            "INSERT INTO requests VALUES (?, ?, ?, ?)",
            (request.user, request.key, request.digest, json.dumps([question])),
        )
        return StoredAnswer(
            question,
            request.measurements,
            request.charges,
            request.data_version,
            request.policy_version,
            at,
            {"entry": seq, "hash": stored},
            fresh=True,
        )

    def check_unmoved(self, after: str | None) -> None:
        """Raise where anything was committed after the head `after`."""
        if after is not None and self.head() != after:
            raise HistoryMoved(
                f"Something else was released from {self.dataset} while this was decided. "
                "Nothing was stored; decide again on the newer history."
            )

    def head(self) -> str:
        """The hash of the last row that answers something; empty where there is none."""
        row = self.connection.execute(
            "SELECT hash FROM log WHERE seq = (SELECT max(seq) FROM answers)"
        ).fetchone()
        return "" if row is None else str(row[0])

    def history(self, data_version: str | None) -> LedgerHistory:
        """Every answer, or those of one data version, oldest first."""
        rows = self.connection.execute(_ANSWERS + "ORDER BY a.seq").fetchall()
        answers = (
            self.stored(row)
            for row in rows
            if data_version in (None, json.loads(row[4])["data_version"])
        )
        return LedgerHistory(self.head(), tuple(answers))

    def questions(self, data_version: str, most: int | None) -> list[str]:
        """The questions answered on a data version by the names they have now, newest first."""
        rows = self.connection.execute(
            "SELECT coalesce(c.question, l.question) FROM log l "
            "LEFT JOIN carried c ON c.answer = l.question WHERE l.question IS NOT NULL "
            "AND json_extract(l.body, '$.data_version') = ? ORDER BY l.seq DESC LIMIT ?",
            (data_version, -1 if most is None else most),
        )
        return list(dict.fromkeys(row[0] for row in rows))

    def data_versions(self, after: int) -> tuple[int, list[str]]:
        """The last row, and the data versions that questions were answered on after row `after`."""
        rows = self.connection.execute(
            "SELECT json_extract(body, '$.data_version') FROM log "
            "WHERE question IS NOT NULL AND seq > ? ORDER BY seq",
            (after,),
        )
        versions = list(dict.fromkeys(row[0] for row in rows))
        return self.connection.execute("SELECT max(seq) FROM log").fetchone()[0], versions

    def scopes(self) -> list[str]:
        """The scopes that have a cap now, by name."""
        rows = self.connection.execute("SELECT scope FROM scopes ORDER BY scope")
        return [row[0] for row in rows]

    def tidy(self) -> int:
        """Delete measurement files that no charge names; returns how many."""
        named = self.connection.execute("SELECT digest FROM answers WHERE measurements IS NULL")
        return self.files.tidy({row[0] for row in named})

    def _spend(self, request: CommitRequest) -> None:
        charges = request.charges
        if not has_loss(charges):
            return
        user, project = request.user, request.project
        for standing in self._budgets(user, project, None, request.question):
            cost = loss_text(sum_of(standing.cap.kind, charges))
            changed = self.connection.execute(
                "UPDATE scopes SET spent = loss_plus(spent, :cost) "
                "WHERE scope = :scope AND loss_fits(spent, :held, :cost, cap)",
                {"cost": cost, "scope": standing.scope, "held": loss_text(standing.held)},
            )
            if changed.rowcount != 1:
                raise exceeded(self.dataset, standing, loss_from_json(json.loads(cost)))

    def answer(self, question: str) -> StoredAnswer | None:
        """The stored answer to a question, checked against its digest."""
        row = self.connection.execute(_ANSWERS + _NAMED, (question,)).fetchone()
        return None if row is None else self.stored(row)

    def stored(self, row: tuple[Any, ...]) -> StoredAnswer:
        """An answer from its row, its measurements checked against their digest."""
        question, name, content, seq, text, stored, form = row
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
            fresh=False,
            form=None if form is None else json.loads(form),
        )

    def is_answered(self, question: str) -> bool:
        """Whether a question was charged, under this name or one that an upgrade gave it."""
        known = (
            "SELECT 1 FROM answers WHERE question = ?1 "
            "UNION SELECT 1 FROM carried WHERE question = ?1"
        )
        return self.connection.execute(known, (question,)).fetchone() is not None


def loss_text(loss: Loss) -> str:
    """A loss as the canonical text that is stored."""
    return canonical(loss_to_json(loss))
