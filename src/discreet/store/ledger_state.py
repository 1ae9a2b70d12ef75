"""What a ledger's rules look at, and what they leave to be written; no database in sight.

A store reads a `LedgerState` inside a transaction, the rules (`ledger_rules.py`) decide on it and
collect `Changes`, and the store writes those rows. A rule that refuses changes nothing, so several
requests may be decided one after another on one state.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ..core.charge import Charge
from ..core.loss import Loss, loss_from_json, loss_to_json
from .base import StoredAnswer
from .chain import Account, canonical, link, moment

Sums: TypeAlias = dict[str, tuple[str, str]]
"""Cap and loss of each scope, as they are stored."""


class Needs(NamedTuple):
    """Which rows a decision looks at, besides sums, holds and the end of the log."""

    questions: tuple[str, ...] = ()
    requests: tuple[tuple[str, str], ...] = ()
    """User and idempotency key."""
    account: bool = False
    """The whole log, added up."""

    def together(self, other: Needs) -> Needs:
        """What both need."""
        return Needs(
            self.questions + other.questions,
            self.requests + other.requests,
            self.account or other.account,
        )


class LogRow(NamedTuple):
    """A row of the chain."""

    seq: int
    text: str
    hash: str
    question: str | None


class AnswerRow(NamedTuple):
    """Where the measurements of a charge lie; inline or, where those are None, by their digest."""

    question: str
    seq: int
    digest: str
    size: int
    measurements: bytes | None


class HeldBudget(NamedTuple):
    """Budget reserved for a job until `expires`."""

    id: str
    user: str
    project: str
    charges: tuple[Charge, ...]
    expires: float

    @property
    def stored(self) -> str:
        """Its charges, as they are stored."""
        return canonical({"charges": [charge.to_json() for charge in self.charges]})

    @classmethod
    def read(
        cls, identity: str, user: str, project: str, stored: str, expires: float
    ) -> HeldBudget:
        """Read back what was stored."""
        charges = tuple(Charge.from_json(charge) for charge in json.loads(stored)["charges"])
        return cls(identity, user, project, charges, expires)


@dataclass
class Changes:
    """Rows to write."""

    log: list[LogRow] = field(default_factory=list)
    answers: list[AnswerRow] = field(default_factory=list)
    requests: list[tuple[str, str, str, str]] = field(default_factory=list)
    """User, key, digest of the request, and the question as JSON."""
    scopes: set[str] = field(default_factory=set)
    """Scopes whose cap or loss is another one now, or that have none any more."""
    holds: set[str] = field(default_factory=set)
    """Holds that were taken, renewed, used up or given up."""

    def __bool__(self) -> bool:
        return bool(self.log or self.scopes or self.holds)


@dataclass
class LedgerState:
    """What is stored, as far as it is needed, and what has been decided on top of it."""

    dataset: str
    now: float
    end: tuple[int, str]
    """Number and hash of the last row of the log."""
    head: str
    """The hash of the last row that answers something; empty where there is none."""
    sums: Sums
    holds: dict[str, HeldBudget]
    answers: dict[str, StoredAnswer]
    """The answers there are to the questions that were needed, by the name they were asked by."""
    answered: set[str]
    """Of the questions needed and of those held, the ones that were charged."""
    requests: dict[tuple[str, str], str]
    """Digests of requests that came before, of those needed."""
    since: list[tuple[int, str, str]] = field(default_factory=list)
    """Rows of the log from the last one on that the reader knew."""
    account: Account | None = None
    """What the whole log adds up to, where it was needed."""
    changes: Changes = field(default_factory=Changes)

    @property
    def at(self) -> str:
        """The time, as the log writes it."""
        return moment(self.now)

    def losses(self, scope: str) -> tuple[Loss, Loss] | None:
        """Cap and loss of a scope; None where it has no cap."""
        stored = self.sums.get(scope)
        if stored is None:
            return None
        cap, spent = (loss_from_json(json.loads(text)) for text in stored)
        return cap, spent

    def set_sum(self, scope: str, losses: tuple[Loss, Loss] | None) -> None:
        """Another cap or loss of a scope, or (None) no cap any more."""
        if losses is None:
            self.sums.pop(scope, None)
        else:
            cap, spent = losses
            self.sums[scope] = (loss_text(cap), loss_text(spent))
        self.changes.scopes.add(scope)

    def set_hold(self, hold: HeldBudget) -> None:
        """A hold taken or renewed."""
        self.holds[hold.id] = hold
        self.changes.holds.add(hold.id)

    def drop_hold(self, identity: str | None) -> None:
        """A hold used up or given up; one that is gone already is no matter."""
        if identity is not None and self.holds.pop(identity, None) is not None:
            self.changes.holds.add(identity)

    def append(self, body: Mapping[str, Any]) -> tuple[int, str]:
        """Add a row to the chain; its number and hash."""
        text = canonical(body)
        self.end = (self.end[0] + 1, link(self.end[1], text))
        self.changes.log.append(LogRow(*self.end[:1], text, self.end[1], body.get("question")))
        if self.account is not None:
            self.account.add(self.end[0], body)
        return self.end


def loss_text(loss: Loss) -> str:
    """A loss as the canonical text that is stored."""
    return canonical(loss_to_json(loss))
