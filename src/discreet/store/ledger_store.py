"""What a ledger does, wherever it lies, and what follows from it.

What may be spent is decided by `ledger_rules.py`; a store (`sqlite/`, `postgres/`) only reads and writes
rows, in transactions of its own kind. `tests/store/test_contract.py` is the suite each store must pass.

A ledger promises: (1) No scope is ever spent beyond its cap, whatever the number of threads and
processes. (2) When `commit` returns, charge and measurements are durable; when it raises, nothing
may be answered. (3) One question is charged once and has one answer, for whoever asks. (4) A
charge is never given back; only a hold may lapse. (5) Of two commits decided on the same history
exactly one is stored. (6) A ledger that was edited, cut, swapped or rolled back is refused when it
is opened, one whose sums are changed while it is open at its next commit; measurements are checked
against their digest each time they are read.
"""

from __future__ import annotations

import itertools
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import reduce
from typing import Any, Self, TypeAlias, TypeVar

from ..core.charge import Charge, as_dp_accounting_event, as_register, sum_of
from ..core.loss import Loss, in_words, loss_to_json, zero
from ..errors import InputError, Refusal, StoreError
from . import ledger_rules as rules
from .base import DATASET, Entry, Held, Hold, LedgerHistory, Standing, StoredAnswer, Verified
from .commit_request import CommitRequest, question_of
from .ledger_rows import LedgerRows
from .ledger_state import LedgerState, Needs

T = TypeVar("T")
Charges: TypeAlias = Charge | Sequence[Charge]


class LedgerStore(ABC):
    """The ledger of a data set, wherever it lies; may be shared by threads."""

    dataset: str
    _looks_first = True
    """Whether a commit is tried on a reading transaction before it waits for its turn to write."""
    _versions: tuple[int, tuple[str, ...]] = (0, ())
    """Data versions that were answered on, as far as the log was read for them."""

    anchor_problem = ""
    """Why this ledger has no anchor outside of its workspace, in a sentence; empty where it has."""
    rights_problem = ""
    """Why whoever serves could rewrite this ledger, in a sentence; empty where it could not."""

    # What may be spent

    def set_cap(self, budget: Loss, *, who: str, reason: str) -> None:
        """Set or change the budget of the data set; an entry of the log like any other.

        What was spent before counts against it, also below a lowered cap. A data set whose method
        only records what it released needs no budget.
        """
        self._set_cap(DATASET, budget, who, reason)

    def set_subcap(self, scope: str, budget: Loss | None, *, who: str, reason: str) -> None:
        """Set, change or (None) take away the share of `user:NAME` or `project:NAME`."""
        kind, _, name = scope.partition(":")
        if kind not in ("user", "project") or not name:
            raise InputError(f"A sub-cap's scope must be user:NAME or project:NAME, got {scope}.")
        self._set_cap(scope, budget, who, reason)

    def note_rehearsal(self, *, who: str, about: str, policy_version: str) -> None:
        """Note for ever that somebody looked at true data to choose parameters; spends nothing."""
        self._write(Needs(), lambda state: rules.note_rehearsal(state, who, about, policy_version))

    def rehearsals(self) -> list[Entry]:
        """Every such note, oldest first."""
        return [entry for entry in self.entries() if entry.kind == "rehearsal"]

    def standing(self, *, user: str = "", project: str = "") -> list[Standing]:
        """Where the data set stands, then the user and the project where they have a sub-cap.

        Empty before a budget was set. A hold counts once for each question, and not at all once
        the question is answered.
        """
        with self._read() as rows:
            return rules.standing(rows.state(Needs()), user, project)

    def require(
        self, charges: Charges, *, user: str = "", project: str = "", hold: Held = None
    ) -> None:
        """Raise `BudgetExceeded` where these charges would not fit now; reserves nothing.

        A record and a question that is answered always fit. Holds for the same question do not
        stand in its way: it is charged once, whoever comes first.
        """
        several = _several(charges)
        with self._read() as rows:
            state = rows.state(Needs((question_of(several),)), content=False)
        rules.check(state, several, user, project, _hold_id(hold))

    # Holding budget for a job

    def hold(
        self,
        charges: Charges,
        *,
        user: str = "",
        project: str = "",
        seconds: float = 600.0,
        again: Held = None,
    ) -> Hold:
        """Reserve budget for a job that has drawn nothing yet; lapses by itself after `seconds`.

        With `again` the hold taken before keeps its id: it is extended, or, where it lapsed,
        taken again if the charges still fit.
        """
        several = _several(charges)
        identity = _hold_id(again) or secrets.token_hex(16)
        return self._write(
            Needs((question_of(several),)),
            lambda state: rules.hold(state, identity, several, user, project, seconds),
        )

    def renew(self, hold: Hold | str, *, seconds: float = 600.0) -> Hold:
        """Extend a hold that has not lapsed; for one that has, ask with `hold(again=…)`."""
        identity = _hold_id(hold) or ""
        return self._write(Needs(), lambda state: rules.renew(state, identity, seconds))

    def lapse(self, hold: Hold | str) -> None:
        """Give up a hold; one that lapsed, was given up or was used is gone already."""
        self._write(Needs(), lambda state: state.drop_hold(_hold_id(hold)))

    # Answers

    def find(self, question: str) -> StoredAnswer | None:
        """The answer already charged for this question, whoever asked; costs nothing."""
        with self._read() as rows:
            return rows.answer(question)

    def answered(self, question: str) -> bool:
        """Whether a question was charged before; reads no measurements."""
        with self._read() as rows:
            return bool(rows.answered({question}))

    def history(self, data_version: str | None = None) -> LedgerHistory:
        """All answers so far, oldest first, as they were at one moment, and the head to commit after.

        With `data_version` only the answers of that version; the head is that of the whole ledger.
        """
        with self._read() as rows:
            return LedgerHistory(rows.head(), tuple(rows.answers(data_version)))

    def commit(
        self,
        charges: Charges,
        measurements: bytes,
        *,
        idempotency_key: str,
        user: str = "",
        project: str = "",
        data_version: str,
        policy_version: str,
        hold: Held = None,
        after: str | None = None,
    ) -> StoredAnswer:
        """Charge one question and store what was drawn for it; durable when this returns.

        Where the question was charged before, by this request or by another one that came first,
        that answer comes back, nothing is charged and `measurements` is dropped. With `after`, the
        head of the history the measurements were decided on, `HistoryMoved` is raised and nothing
        stored when anything was committed since. `hold` is used up when the commit is stored.
        """
        several, held = _several(charges), _hold_id(hold)
        versions = (data_version, policy_version)
        request = CommitRequest(several, measurements, idempotency_key, user, project, *versions)
        needs = Needs((request.question,), ((user, idempotency_key),))
        inline = self._is_inline(request)
        if self._looks_first or not inline:
            with self._read() as rows:
                state = rows.state(needs)
            ready = rules.ready(state, request)
            if ready is not None:
                if held is not None:
                    self.lapse(held)
                return ready
            rules.check_unmoved(state, after)
            rules.check(state, several, user, project, held)
        if not inline:
            self._keep(request)
        return self._write(
            needs, lambda state: rules.commit(state, request, held, after, inline=inline)
        )

    # What a store writes

    @abstractmethod
    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The rows of the log after row `after`, oldest first; all where nothing is said."""

    @abstractmethod
    def newest(self, before: int | None = None) -> Iterator[Entry]:
        """The rows of the log, newest first; with `before` those of a smaller number."""

    @abstractmethod
    def length(self) -> int:
        """How many rows the log has."""

    @abstractmethod
    def verify(self) -> Verified:
        """Check everything again, all measurements included, or raise `LedgerDamaged`."""

    @abstractmethod
    def close(self) -> None:
        """Finish queued commits and let go of files or connections."""

    @abstractmethod
    def tidy(self) -> int:
        """Delete stored measurements that no charge names; returns how many."""

    @abstractmethod
    def _read(self) -> AbstractContextManager[LedgerRows]:
        """The rows, all as they were at one moment."""

    @abstractmethod
    def _write(self, needs: Needs, decide: Callable[[LedgerState], T]) -> T:
        """What `decide` returns, once all it changed is durable; on the rows that it needs."""

    @abstractmethod
    def _is_inline(self, request: CommitRequest) -> bool:
        """Whether measurements lie in the rows; if not, `_keep` has made them durable before."""

    @abstractmethod
    def _keep(self, request: CommitRequest) -> None:
        """Make measurements that are too large for a transaction durable before it begins."""

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
        return reduce(_least, (each.left for each in standings)) if standings else None

    def left_in_words(self, *, user: str = "", project: str = "") -> str | None:
        """What may still be asked for, as people read it, rounded down; None without a budget."""
        left = self.left(user=user, project=project)
        return None if left is None else in_words(left, left=True)

    def affords(self, charges: Charges, *, user: str = "", project: str = "") -> bool:
        """Would these charges fit now? Says nothing about a moment later."""
        try:
            self.require(charges, user=user, project=project)
        except Refusal:
            return False
        return True

    def loss_by_version(self, entries: Iterable[Entry] | None = None) -> dict[str, Loss]:
        """The loss by data version; the versions add up to `spent` (the same people, one cap).

        What a restored ledger had forgotten is under `lost`. `entries`, where they are read.
        """
        cap = self.cap()
        losses: dict[str, Loss] = {}
        for entry in self.entries() if entries is None else entries:
            if entry.charges and cap is not None:
                version = entry.body.get("data_version", "lost")
                before = losses.get(version, zero(cap.kind))
                losses[version] = before + sum_of(cap.kind, entry.charges)
        return losses

    def questions(self, data_version: str, newest: int | None = None) -> list[str]:
        """The last questions answered on a data version, newest first, by the names they have now."""
        with self._read() as rows:
            return rows.questions(data_version, newest)

    def data_versions(self) -> list[str]:
        """The data versions that questions were answered on, in order of their first answer."""
        seen, known = self._versions
        with self._read() as rows:
            end, later = rows.data_versions(seen)
        known = tuple(dict.fromkeys([*known, *later]))
        self._versions = (end, known)
        return list(known)

    def shares(self) -> list[Standing]:
        """Where every user and project with a share of the budget stands, by name."""
        with self._read() as rows:
            state = rows.state(Needs())
        named = [scope.partition(":") for scope in sorted(state.sums) if scope != DATASET]
        return [
            held
            for kind, _, name in named
            for held in rules.standing(state, **{"user": "", "project": "", kind: name})
            if held.scope == f"{kind}:{name}"
        ]

    def export_register(self, after: int = 0, most: int | None = None) -> dict[str, Any]:
        """The public loss register: every charge, the cap and the sum; no users, no projects.

        Budget and sum are None where the data set has no budget. With `most`, only so many rows of
        the log after row `after`; `head` is the hash of the last of them.
        """
        rows: list[dict[str, Any]] = []
        end, last, read = "", after, 0
        for entry in itertools.islice(self.entries(after), most):
            end, last, read = entry.hash, entry.seq, read + 1
            versions = {name: entry.body.get(name) for name in ("data_version", "policy_version")}
            of_entry = {"entry": entry.seq, "at": entry.at, **versions}
            rows += [{**of_entry, **row} for row in as_register(entry.charges)]
        cap, spent = self.cap(), self.spent()
        return {
            "dataset": self.dataset,
            "budget": None if cap is None else loss_to_json(cap),
            "spent": None if spent is None else loss_to_json(spent),
            "head": end,
            "charges": rows,
            **({} if most is None else {"next": last if read == most else None}),
        }

    def export_events(self) -> Any:
        """All charges as one dp-accounting event (needs the extra `accounting`)."""
        return as_dp_accounting_event(
            charge for entry in self.entries() for charge in entry.charges
        )

    def _set_cap(self, scope: str, budget: Loss | None, who: str, reason: str) -> None:
        for name, value in (("who", who), ("reason", reason)):
            if not value.strip():
                raise InputError(
                    f"A change of a budget needs {name}: the ledger keeps it for ever. "
                    f"Give {name}=…"
                )
        self._write(
            Needs(account=True), lambda state: rules.set_cap(state, scope, budget, who, reason)
        )


def _several(charges: Charges) -> tuple[Charge, ...]:
    return (charges,) if isinstance(charges, Charge) else tuple(charges)


def _hold_id(hold: Held) -> str | None:
    return hold.id if isinstance(hold, Hold) else hold


def _least(first: Loss, second: Loss) -> Loss:
    if first.kind != second.kind:
        raise StoreError("Sub-caps and the cap of a data set are of different kinds.")
    return type(first)(*map(min, first.parts.values(), second.parts.values()))
