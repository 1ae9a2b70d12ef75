"""The hash chain, and what the log adds up to.

Row i holds a canonical text and h_i = SHA-256(h_(i-1) ‖ text). Whoever edits, drops, swaps or
inserts a row without redoing all later hashes is found by `link`; whoever redoes them, or puts an
older copy back, is found by the anchors (`anchors.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..core.charge import Charge, sum_of
from ..core.loss import Loss, loss_from_json
from ..errors import DiscreetError, InputError, LedgerDamaged
from .base import DATASET

START = hashlib.sha256(b"discreet ledger, form 1").hexdigest()


def canonical(body: Mapping[str, Any]) -> str:
    """One text for one body: sorted names, no spaces.

    >>> canonical({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def link(previous: str, text: str) -> str:
    """The hash of a row after the row with hash `previous`."""
    return hashlib.sha256(bytes.fromhex(previous) + text.encode()).hexdigest()


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def moment(seconds: float) -> str:
    """A time, as the log writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def scopes_of(user: str, project: str) -> list[str]:
    """The scopes a charge counts against, the data set first."""
    named = (("user", user), ("project", project))
    return [DATASET, *(f"{kind}:{name}" for kind, name in named if name)]


@dataclass
class Account:
    """What a log adds up to: caps and losses by scope, computed from the rows alone."""

    dataset: str = ""
    ledger: str = ""
    caps: dict[str, Loss] = field(default_factory=dict)
    spent: dict[str, Loss] = field(default_factory=dict)
    answers: dict[str, tuple[int, str, int]] = field(default_factory=dict)
    requests: dict[tuple[str, str], str] = field(default_factory=dict)
    carried: dict[str, tuple[str, str]] = field(default_factory=dict)
    _charged: list[tuple[tuple[Charge, ...], list[str]]] = field(default_factory=list)

    def add(self, seq: int, body: Mapping[str, Any]) -> None:
        """Take in the next row."""
        kind = body["kind"]
        if kind == "open":
            self.dataset, self.ledger = body["dataset"], body["ledger"]
        elif kind == "cap":
            self.set_cap(body["scope"], body["budget"])
        elif kind == "charge":
            charges = tuple(Charge.from_json(stored) for stored in body["charges"])
            scopes = scopes_of(body["user"], body["project"])
            if body["question"] in self.answers:
                before = self.answers[body["question"]][0]
                raise InputError(f"its question was charged before, in entry {before}")
            self._spend(charges, scopes)
            self.answers[body["question"]] = (seq, body["measurements"], body["size"])
            self.requests[body["user"], body["key"]] = body["request"]
        elif kind == "restore":
            self._spend(tuple(Charge.from_json(stored) for stored in body["charges"]), [DATASET])
        elif kind == "upgrade":
            for one in body["carried"]:
                self.carried[one["answer"]] = (one["question"], canonical(one["form"]))
        elif kind == "rehearsal":
            pass  # somebody looked: nothing is spent
        else:
            raise InputError(f"entries of kind {kind!r} are of a newer version of discreet")

    def _spend(self, charges: tuple[Charge, ...], scopes: list[str]) -> None:
        self._charged.append((charges, scopes))
        for scope in self.caps.keys() & scopes:
            self.spent[scope] += sum_of(self.caps[scope].kind, charges)

    def set_cap(self, scope: str, budget: Mapping[str, Any] | None) -> None:
        """A cap set, changed or (None) taken away; what was spent before counts."""
        if budget is None:
            self.caps.pop(scope, None)
            self.spent.pop(scope, None)
            return
        cap = loss_from_json(budget)
        self.caps[scope], self.spent[scope] = cap, self.spent_of(scope, cap.kind)

    def spent_of(self, scope: str, kind: str) -> Loss:
        """What a scope has spent, read as a loss of this kind; raises where it cannot be."""
        total = sum_of(kind, ())
        for charges, scopes in self._charged:
            if scope in scopes:
                total += sum_of(kind, charges)
        return total


def damaged(what: str, ledger: str = "The ledger") -> LedgerDamaged:
    """Why nothing is answered from a ledger any more."""
    return LedgerDamaged(
        f"{ledger} is damaged: {what}. Nothing is answered; restore it from a copy that verifies."
    )


def follow(
    rows: list[tuple[int, str, str]],
    seq: int,
    head: str,
    account: Account | None = None,
    name: str = "The ledger",
) -> tuple[int, str]:
    """Check rows that come after row `seq` with hash `head`; returns the new end."""
    for number, text, stored in rows:
        if number != seq + 1:
            gap = f"entry {number} follows entry {seq}, so rows are missing or were put in"
            raise damaged(gap, name)
        if link(head, text) != stored:
            raise damaged(f"the hash of entry {number} does not match its content", name)
        if account is not None:
            try:
                account.add(number, json.loads(text))
            except (KeyError, TypeError, ValueError, AttributeError, DiscreetError) as error:
                raise damaged(f"entry {number} cannot be read ({error})", name) from None
        seq, head = number, stored
    return seq, head
