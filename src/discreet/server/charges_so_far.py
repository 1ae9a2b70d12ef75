"""What all entries of a ledger tell together: parts of the budget, and how often a guesser is right.

A log is only added to, so each entry is read once a process: asked again, this goes on where it was.
Where a database was put back meanwhile, the last entry is gone or another one, and all are read anew.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from weakref import WeakKeyDictionary

from .. import earlier
from ..core.loss import Loss
from ..languages import say
from ..methods.declaration import Spends
from ..store.base import Entry
from ..store.ledger_store import LedgerStore
from ..workspace import DataSet
from .ledger_lines import plan_of, total_of

MOST_SEGMENTS = 400
"""A gauge draws so many charges one by one; all earlier ones are its first segment."""


@dataclass(frozen=True)
class Segment:
    """One charge in a gauge: which entry, and which part of the budget it took."""

    number: int
    """The entry; of several charges drawn as one, the last."""
    share: Fraction
    charges: int = 1


@dataclass
class ChargesSoFar:
    """What the entries read so far charged, those in one kind of loss also one by one."""

    kind: str
    last: Entry | None = None
    """The last entry that was read."""
    first: Entry | None = None
    """The first entry that charged something, in whatever kind."""
    count: int = 0
    """How many did."""
    older: Segment = Segment(0, Fraction(0), 0)
    """Those before the newest, as one; its share is an amount, as theirs are."""
    newest: deque[Segment] = field(default_factory=deque)
    reading: threading.Lock = field(default_factory=threading.Lock)

    def read(self, ledger: LedgerStore) -> None:
        """Take in the entries that came since."""
        entries = ledger.entries(0 if self.last is None else self.last.seq - 1)
        if self.last is not None:
            again = next(entries, None)
            if again is None or again.hash != self.last.hash:
                self._forget()
                entries = ledger.entries()
        for entry in entries:
            self.last = entry
            charges = entry.charges
            if not any(charge.loss is not None for charge in charges):
                continue
            self.first = self.first or entry
            self.count += 1
            total = total_of(charges, self.kind)
            if total is None:  # charged while the budget was of another kind
                continue
            self.newest.append(Segment(entry.seq, _first(total)))
            if len(self.newest) > MOST_SEGMENTS:
                self.older = self._with_older(self.newest.popleft())

    def segments(self, cap: Loss) -> list[Segment]:
        """Every charge as a part of the budget, oldest first; the oldest of very many are one."""
        whole = _first(cap)
        if not whole:
            return []
        parts = list(self.newest)
        if self.older.charges:
            parts = [self._with_older(parts[0]), *parts[1:]]
        return [Segment(one.number, one.share / whole, one.charges) for one in parts]

    def _forget(self) -> None:
        """Begin anew."""
        self.last = self.first = None
        self.count, self.older = 0, Segment(0, Fraction(0), 0)
        self.newest.clear()

    def _with_older(self, one: Segment) -> Segment:
        return Segment(one.number, self.older.share + one.share, self.older.charges + 1)


_KNOWN: WeakKeyDictionary[LedgerStore, dict[str, ChargesSoFar]] = WeakKeyDictionary()
_LOOKING = threading.Lock()


def segments(ledger: LedgerStore, cap: Loss) -> list[Segment]:
    """The parts of a budget that each charge took, the newest ones one by one."""
    with _so_far(ledger, cap.kind) as charged:
        return charged.segments(cap)


def best_guesser(data: DataSet) -> str:
    """How often the best guesser is right, where that can be told; else why not.

    It is known of laws fixed before anything was drawn. Of questions asked one after another it is
    not: each may have been chosen by what the earlier answers said.
    """
    if data.policy.budget is None or data.spends is not Spends.LOSS:
        return ""
    with _so_far(data.ledger(), data.policy.budget.kind) as charged:
        first, count = charged.first, charged.count
    if first is None:
        return ""
    if count == 1:
        question = str(first.body.get("question", ""))
        asked = earlier.question_named(data, question) if question else None
        plan = None if asked is None else plan_of(data, question, asked)
        if plan is not None and plan.guarantee.odds:
            return plan.guarantee.odds[0]
    return say(
        "How often the best guesser is right cannot be told of questions that were asked one after "
        "another: each may have been chosen by what the answers before it said. The worst case holds "
        "for any choice."
    )


@contextmanager
def _so_far(ledger: LedgerStore, kind: str) -> Iterator[ChargesSoFar]:
    """What a ledger has charged until now; nobody else reads meanwhile."""
    with _LOOKING:
        known = _KNOWN.setdefault(ledger, {}).setdefault(kind, ChargesSoFar(kind))
    with known.reading:
        known.read(ledger)
        yield known


def _first(loss: Loss) -> Fraction:
    """ε, or ρ where that is spent."""
    return next(iter(loss.parts.values()))
