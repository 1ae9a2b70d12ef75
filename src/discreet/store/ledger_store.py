"""What every ledger store does, and what follows from it.

A store of another kind (SQLite is in `ledger.py`) writes the abstract methods; sums, exports and
words come from them. `tests/store/test_contract.py` is the suite each store must pass.

A ledger promises: (1) No scope is ever spent beyond its cap, whatever the number of threads and
processes. (2) When `commit` returns, charge and measurements are durable; when it raises, nothing
may be answered. (3) One question is charged once and has one answer, for whoever asks. (4) A
charge is never given back; only a hold may lapse. (5) Of two commits decided on the same history
exactly one is stored. (6) A ledger that was edited, cut, swapped or rolled back is refused when it
is opened; measurements are checked against their digest each time they are read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self

from ..core.charge import Charge, as_dp_accounting_event, as_register, sum_of
from ..core.loss import (
    ApproxLoss,
    Loss,
    PureLoss,
    ZcdpLoss,
    in_words,
    loss_to_json,
    zero,
)
from ..errors import Refusal, StoreError
from .base import Entry, History, Hold, Standing, StoredAnswer, Verified


class LedgerStore(ABC):
    """The ledger of a data set, wherever it lies; may be shared by threads."""

    dataset: str

    # What may be spent

    @abstractmethod
    def set_cap(self, budget: Loss, *, who: str, reason: str) -> None:
        """Set or change the budget of the data set; an entry of the log like any other.

        What was spent before counts against it, also below a lowered cap. A data set whose method
        only records what it released needs no budget.
        """

    @abstractmethod
    def set_subcap(self, scope: str, budget: Loss | None, *, who: str, reason: str) -> None:
        """Set, change or (None) take away the share of `user:NAME` or `project:NAME`."""

    @abstractmethod
    def standing(self, *, user: str = "", project: str = "") -> list[Standing]:
        """Where the data set stands, then the user and the project where they have a sub-cap.

        Empty before a budget was set. A hold counts once for each question, and not at all once
        the question is answered.
        """

    @abstractmethod
    def require(
        self,
        charges: Charge | Sequence[Charge],
        *,
        user: str = "",
        project: str = "",
        hold: Hold | str | None = None,
    ) -> None:
        """Raise `BudgetExceeded` where these charges would not fit now; reserves nothing.

        A record and a question that is answered always fit. Holds for the same question do not
        stand in its way: it is charged once, whoever comes first.
        """

    # Holding budget for a job

    @abstractmethod
    def hold(
        self,
        charges: Charge | Sequence[Charge],
        *,
        user: str = "",
        project: str = "",
        seconds: float = 600.0,
        again: Hold | str | None = None,
    ) -> Hold:
        """Reserve budget for a job that has drawn nothing yet; lapses by itself after `seconds`.

        With `again` the hold taken before keeps its id: it is extended, or, where it lapsed,
        taken again if the charges still fit.
        """

    @abstractmethod
    def renew(self, hold: Hold | str, *, seconds: float = 600.0) -> Hold:
        """Extend a hold that has not lapsed; for one that has, ask with `hold(again=…)`."""

    @abstractmethod
    def lapse(self, hold: Hold | str) -> None:
        """Give up a hold; one that lapsed, was given up or was used is gone already."""

    # Answers

    @abstractmethod
    def find(self, question: str) -> StoredAnswer | None:
        """The answer already charged for this question, whoever asked; costs nothing."""

    @abstractmethod
    def answered(self, question: str) -> bool:
        """Whether a question was charged before; reads no measurements."""

    @abstractmethod
    def history(self, data_version: str | None = None) -> History:
        """All answers so far, oldest first, as they were at one moment, and the head to commit after.

        With `data_version` only the answers of that version; the head is that of the whole ledger.
        """

    @abstractmethod
    def commit(
        self,
        charges: Charge | Sequence[Charge],
        measurements: bytes,
        *,
        idempotency_key: str,
        user: str = "",
        project: str = "",
        data_version: str,
        policy_version: str,
        hold: Hold | str | None = None,
        after: str | None = None,
    ) -> StoredAnswer:
        """Charge one question and store what was drawn for it; durable when this returns.

        Where the question was charged before, by this request or by another one that came first,
        that answer comes back, nothing is charged and `measurements` is dropped. With `after`, the
        head of the history the measurements were decided on, `HistoryMoved` is raised and nothing
        stored when anything was committed since. `hold` is used up when the commit is stored.
        """

    # The log

    @abstractmethod
    def entries(self) -> Iterator[Entry]:
        """Every row of the log, oldest first."""

    @abstractmethod
    def verify(self) -> Verified:
        """Check everything again, all measurements included, or raise `LedgerDamaged`."""

    @abstractmethod
    def tidy(self) -> int:
        """Delete stored measurements that no charge names; returns how many."""

    @abstractmethod
    def close(self) -> None:
        """Finish queued commits and let go of files or connections."""

    # What follows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def cap(self) -> Loss | None:
        """The budget of the data set, or None where none was set."""
        standings = self.standing()
        return standings[0].cap if standings else None

    def spent(self) -> Loss | None:
        """The loss of the data set so far; None where it has no budget, so nothing was spent."""
        standings = self.standing()
        return standings[0].spent if standings else None

    def left(self, *, user: str = "", project: str = "") -> Loss | None:
        """What may still be asked for: the least over the scopes, holds of others taken off.

        None where the data set has no budget.
        """
        standings = self.standing(user=user, project=project)
        if not standings:
            return None
        left = standings[0].left
        for standing in standings[1:]:
            left = _least(left, standing.left)
        return left

    def left_in_words(self, *, user: str = "", project: str = "") -> str | None:
        """What may still be asked for, as people read it, rounded down; None without a budget."""
        left = self.left(user=user, project=project)
        return None if left is None else in_words(left, left=True)

    def affords(
        self, charges: Charge | Sequence[Charge], *, user: str = "", project: str = ""
    ) -> bool:
        """Would these charges fit now? Says nothing about a moment later."""
        try:
            self.require(charges, user=user, project=project)
        except Refusal:
            return False
        return True

    def loss_by_version(self) -> dict[str, Loss]:
        """The loss by data version; the versions add up to `spent` (the same people, one cap)."""
        cap = self.cap()
        losses: dict[str, Loss] = {}
        for entry in self.entries():
            if entry.kind == "charge" and cap is not None:
                version = entry.body["data_version"]
                before = losses.get(version, zero(cap.kind))
                losses[version] = before + sum_of(cap.kind, entry.charges)
        return losses

    def questions(self, data_version: str) -> list[str]:
        """The questions answered on a data version by the names they have now, oldest first."""
        asked: list[str] = []
        names: dict[str, str] = {}
        for entry in self.entries():
            if entry.kind == "charge" and entry.body["data_version"] == data_version:
                asked.append(entry.body["question"])
            elif entry.kind == "upgrade":
                names |= {one["answer"]: one["question"] for one in entry.body["carried"]}
        return list(dict.fromkeys(names.get(question, question) for question in asked))

    def export_register(self) -> dict[str, Any]:
        """The public loss register: every charge, the cap and the sum; no users, no projects.

        Budget and sum are None where the data set has no budget.
        """
        rows: list[dict[str, Any]] = []
        end = ""
        for entry in self.entries():
            end = entry.hash
            for row in as_register(entry.charges):
                rows.append(
                    {
                        "entry": entry.seq,
                        "at": entry.at,
                        "data_version": entry.body["data_version"],
                        "policy_version": entry.body["policy_version"],
                        **row,
                    }
                )
        cap, spent = self.cap(), self.spent()
        return {
            "dataset": self.dataset,
            "budget": None if cap is None else loss_to_json(cap),
            "spent": None if spent is None else loss_to_json(spent),
            "head": end,
            "charges": rows,
        }

    def export_events(self) -> Any:
        """All charges as one dp-accounting event (needs the extra `accounting`)."""
        return as_dp_accounting_event(
            charge for entry in self.entries() for charge in entry.charges
        )


def _least(first: Loss, second: Loss) -> Loss:
    if isinstance(first, PureLoss) and isinstance(second, PureLoss):
        return PureLoss(min(first.epsilon, second.epsilon))
    if isinstance(first, ApproxLoss) and isinstance(second, ApproxLoss):
        return ApproxLoss(min(first.epsilon, second.epsilon), min(first.delta, second.delta))
    if isinstance(first, ZcdpLoss) and isinstance(second, ZcdpLoss):
        return ZcdpLoss(min(first.rho, second.rho))
    raise StoreError("Sub-caps and the cap of a data set are of different kinds.")
