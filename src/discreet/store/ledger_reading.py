"""What a ledger tells: where it stands, what it was charged with, what it has answered.

Everything here reads, on a connection of its own, and changes nothing; `ledger.py` writes.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from ..core.charge import Charge, as_dp_accounting_event, as_register, sum_of
from ..core.loss import (
    ApproxLoss,
    Loss,
    PureLoss,
    ZcdpLoss,
    largest_epsilon,
    loss_to_json,
    plus,
    zero,
)
from ..errors import Refusal, StoreError
from .base import Entry, Hold, Standing, StoredAnswer
from .books import Books
from .chain import START
from .database import in_words


class LedgerReading:
    """The questions a ledger answers; `Ledger` adds what may change it."""

    dataset: str
    _name: str
    _books: Books
    _process: int
    _reading: sqlite3.Connection
    _reading_lock: threading.Lock

    def standing(self, *, user: str = "", project: str = "") -> list[Standing]:
        """Where the data set stands, then the user and the project where they have a sub-cap."""
        with self._read() as connection:
            return self._books.standing(connection, user, project, without=None)

    def cap(self) -> Loss | None:
        """The budget of the data set, or None before one was set."""
        found = self.standing()
        return found[0].cap if found else None

    def spent(self) -> Loss:
        """The loss of the data set so far; zero of pure kind before a budget was set."""
        found = self.standing()
        return found[0].spent if found else PureLoss(0)

    def left(self, *, user: str = "", project: str = "") -> Loss:
        """What may still be asked for: the least over the scopes, holds of others taken off."""
        found = self.standing(user=user, project=project)
        if not found:
            return PureLoss(0)
        left = found[0].left
        for standing in found[1:]:
            left = _least(left, standing.left)
        return left

    def largest_affordable(self, *, user: str = "", project: str = "") -> Fraction:
        """The largest pure epsilon that fits everywhere; rounded down for zCDP."""
        return largest_epsilon(self.left(user=user, project=project))

    def affords(
        self, charges: Charge | Sequence[Charge], *, user: str = "", project: str = ""
    ) -> bool:
        """Would these charges fit now? Says nothing about a moment later."""
        try:
            self.require(charges, user=user, project=project)
        except Refusal:
            return False
        return True

    def require(
        self,
        charges: Charge | Sequence[Charge],
        *,
        user: str = "",
        project: str = "",
        hold: Hold | str | None = None,
    ) -> None:
        """Raise `BudgetExceeded` where these charges would not fit now; reserves nothing."""
        with self._read() as connection:
            self._books.check(connection, as_charges(charges), user, project, without=hold_id(hold))

    def loss_by_version(self) -> dict[str, Loss]:
        """The loss by data version; the versions add up to `spent` (the same people, one cap)."""
        kind = self.spent().kind
        losses: dict[str, Loss] = {}
        for entry in self.entries():
            if entry.kind == "charge":
                version = entry.body["data_version"]
                cost = sum_of(kind, [Charge.from_json(c) for c in entry.body["charges"]])
                losses[version] = plus(losses.get(version, zero(kind)), cost)
        return losses

    def entries(self) -> Iterator[Entry]:
        """Every row of the log, oldest first."""
        after = 0
        while True:
            with self._read() as connection:
                rows = connection.execute(
                    "SELECT seq, body, hash FROM log WHERE seq > ? ORDER BY seq LIMIT 500", (after,)
                ).fetchall()
            if not rows:
                return
            for seq, text, stored in rows:
                body = json.loads(text)
                yield Entry(seq, body["kind"], body["at"], body, stored)
            after = rows[-1][0]

    def find(self, question: str) -> StoredAnswer | None:
        """The answer already charged for this question, whoever asked; costs nothing."""
        with self._read() as connection:
            return self._books.answer(connection, question, fresh=False)

    def export_register(self) -> dict[str, Any]:
        """The public loss register: every charge, the cap and the sum; no users, no projects."""
        rows: list[dict[str, Any]] = []
        end = START
        for entry in self.entries():
            end = entry.hash
            if entry.kind == "charge":
                charges = [Charge.from_json(stored) for stored in entry.body["charges"]]
                for row in as_register(charges):
                    rows.append(
                        {
                            "entry": entry.seq,
                            "at": entry.at,
                            "data_version": entry.body["data_version"],
                            "policy_version": entry.body["policy_version"],
                            **row,
                        }
                    )
        cap = self.cap()
        return {
            "dataset": self.dataset,
            "budget": None if cap is None else loss_to_json(cap),
            "spent": loss_to_json(self.spent()),
            "head": end,
            "charges": rows,
        }

    def export_events(self) -> Any:
        """All charges as one dp-accounting event (needs the extra `accounting`)."""
        return as_dp_accounting_event(
            Charge.from_json(stored)
            for entry in self.entries()
            if entry.kind == "charge"
            for stored in entry.body["charges"]
        )

    # Inside

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        self._same_process()
        with self._reading_lock, in_words(self._name):
            try:
                self._reading.execute("BEGIN")
                yield self._reading
            finally:
                if self._reading.in_transaction:
                    self._reading.execute("ROLLBACK")

    def _same_process(self) -> None:
        if os.getpid() != self._process:
            raise StoreError(
                f"{self._name} was opened before this process was forked. Open it again here."
            )


def as_charges(charges: Charge | Sequence[Charge]) -> tuple[Charge, ...]:
    """One charge or more, as a tuple."""
    return (charges,) if isinstance(charges, Charge) else tuple(charges)


def hold_id(hold: Hold | str | None) -> str | None:
    """The identity of a hold, given itself or its identity."""
    return hold.id if isinstance(hold, Hold) else hold


def _least(first: Loss, second: Loss) -> Loss:
    if isinstance(first, PureLoss) and isinstance(second, PureLoss):
        return PureLoss(min(first.epsilon, second.epsilon))
    if isinstance(first, ApproxLoss) and isinstance(second, ApproxLoss):
        return ApproxLoss(min(first.epsilon, second.epsilon), min(first.delta, second.delta))
    if isinstance(first, ZcdpLoss) and isinstance(second, ZcdpLoss):
        return ZcdpLoss(min(first.rho, second.rho))
    raise StoreError("Sub-caps and the cap of a data set are of different kinds.")
