"""What ledgers of every store have in common: commits in groups, and anchors moved before answers.

A group is one transaction: the rows it needs are read, rows of others are checked to continue the
chain, each request is decided by the rules, what they changed is written, and the transaction is made
durable. Then both anchors of this machine move, and only then does anybody get an answer.
"""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import reduce
from pathlib import Path
from typing import Any

from ..errors import StoreError
from .anchors import Anchor, OuterAnchor
from .base import DATASET, Entry
from .chain import Account
from .ledger_rows import LedgerRows
from .ledger_state import LedgerState, Needs
from .ledger_store import LedgerStore, T
from .lock import FairLock
from .verification import caught_up, compare_outside, last_row, past_rows, sums_of
from .writer import Task, Writer

_A_PART = 200
"""Rows that are read at once where the newest ones are asked for."""


class AnchoredLedger(LedgerStore):
    """A ledger with an anchor in its folder and one outside; not carried into a forked child."""

    folder: Path
    anchor_path: Path
    _name: str
    _lock: FairLock
    _wait_seconds: float

    def _start(self, end: tuple[int, str], account: Account) -> None:
        """Begin with a ledger that was just verified."""
        self._process = os.getpid()
        self._ledger_id = account.ledger
        self._end = self._anchored = end
        self._sums = sums_of(account)
        self._writer = Writer(self._name, self._lock, self._together)

    @property
    def anchor_problem(self) -> str:  # type: ignore[override]
        """Why there is no anchor outside of the workspace, in a sentence; empty where there is."""
        return self._outer.problem

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The rows of the log after row `after`, oldest first; all where nothing is said."""
        while True:
            with self._read() as rows:
                some = rows.log(after, most=500)
            if not some:
                return
            yield from map(_entry, some)
            after = some[-1][0]

    def newest(self, before: int | None = None) -> Iterator[Entry]:
        """The rows of the log, newest first; with `before` those of a smaller number."""
        with self._read() as rows:
            end = rows.end()[0]
        if before is not None:
            end = min(end, before - 1)
        while end > 0:
            start = max(0, end - _A_PART)
            with self._read() as rows:
                some = rows.log(start, most=end - start)
            yield from map(_entry, reversed(some))
            end = start

    def length(self) -> int:
        """How many rows the log has."""
        with self._read() as rows:
            return rows.end()[0]

    # What a store writes

    @abstractmethod
    def _in_words(self) -> AbstractContextManager[None]:
        """Turns what a database or the system says into one sentence."""

    @abstractmethod
    def _group(self, needs: Needs) -> AbstractContextManager[tuple[LedgerRows, LedgerState]]:
        """A transaction that writes: the rows it needs, read after it got its turn.

        When the block ends well, what was decided is written and durable; else it never was.
        """

    # Inside

    def _write(self, needs: Needs, decide: Callable[[LedgerState], T]) -> T:
        self._same_process()
        return self._writer.run(Task(needs, decide), wait_seconds=self._wait_seconds)

    def _together(self, tasks: list[Task[Any]]) -> None:
        needs = reduce(Needs.together, (task.needs for task in tasks))
        with self._in_words():
            self._transact(tasks, needs)

    def _transact(self, tasks: list[Task[Any]], needs: Needs) -> None:
        with self._group(needs) as (rows, state):
            caught_up(state, self._end, self._sums, lambda: rows.account()[1], self._name)
            self._end, self._sums = state.end, dict(state.sums)
            known = {(seq, stored) for seq, _, stored in state.since}
            compare_outside(rows, self._outer, self.folder, known)
            for task in tasks:
                task.decide(state)
        self._end, self._sums = state.end, state.sums
        self._move_anchors()

    def _move_anchors(self) -> None:
        if self._end != self._anchored:
            _, spent = self._sums.get(DATASET, ("", ""))
            anchor = Anchor(self.dataset, self._ledger_id, *self._end, spent)
            with self._outer.adding(anchor):
                anchor.write(self.anchor_path)
            self._anchored = self._end

    def _open_outer(self, rows: LedgerRows, account: Account) -> None:
        """Compare with the anchor outside of the workspace; where it lags, it catches up."""
        self._outer = OuterAnchor(account.ledger, self._name)
        if not self._outer.path or not self._outer.path.exists():
            self._outer.begin(past_rows(rows))
        with self._lock:
            self._outer.thin()
            noted = compare_outside(rows, self._outer, self.folder)
            last = last_row(rows, account)
            if noted != last.seq:
                self._outer.add(last)

    def _same_process(self) -> None:
        if os.getpid() != self._process:
            raise StoreError(
                f"{self._name} was opened before this process was forked. Open it again here."
            )


def _entry(row: tuple[int, str, str]) -> Entry:
    seq, text, stored = row
    body = json.loads(text)
    return Entry(seq, body["kind"], body["at"], body, stored)
