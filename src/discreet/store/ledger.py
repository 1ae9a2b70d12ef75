"""The ledger of a data set: what may be spent, what was, and the answers it paid for.

    ledger = Ledger(folder, dataset="deaths")
    ledger.set_cap(PureLoss("10"), who="ana", reason="agreed by the board")
    answer = ledger.find(question) or ledger.commit(charge, measurements, idempotency_key=…)

What it promises is in `ledger_store.py`.

The budget belongs to the people in the data: all versions, policies and key epochs of the data set
are charged to the one cap. Two files, `store.sqlite3` and the anchor, and an anchor outside of the
workspace (see `anchors.py`).
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from ..durable import make_folder
from ..errors import StoreError
from ..file_names import ANCHOR, LEDGER_LOCK, STORE
from .anchors import Anchor, OuterAnchor
from .base import DATASET, Entry, Verified
from .chain import Account, damaged, follow
from .commit_request import CommitRequest
from .database import connect, in_words
from .ledger_store import LedgerStore, T
from .ledger_transaction import LedgerTransaction
from .lock import FairLock
from .measurement_files import INLINE_BYTES, MeasurementFiles
from .verification import (
    checked,
    compare_outside,
    create_if_new,
    last_row,
    past_rows,
    stored_sums,
    sums_after,
    sums_of,
    verify,
)
from .writer import Writer


class Ledger(LedgerStore):
    """A ledger in SQLite; may be shared by threads, not carried into a forked child.

    Opens or creates the one in `folder`; refuses one whose chain, sums or anchor disagree.
    `synchronous` is for tests that show why it must be FULL.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        dataset: str,
        anchor: str | Path | None = None,
        clock: Callable[[], float] = time.time,
        wait_seconds: float = 30.0,
        synchronous: str = "FULL",
    ) -> None:
        self.folder = folder = Path(folder)
        self.dataset = dataset
        self.anchor_path = anchor = folder / ANCHOR if anchor is None else Path(anchor)
        self._name = f"The ledger of {dataset}"
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._process = os.getpid()
        self._reading_lock = threading.Lock()
        self._files = MeasurementFiles(folder)
        with in_words(self._name), ExitStack() as on_failure:
            make_folder(folder)
            self._lock = on_failure.enter_context(closing(FairLock(folder / LEDGER_LOCK)))
            with self._lock:
                create_if_new(folder / STORE, anchor, dataset, clock, synchronous)
            writing, self._reading = (
                on_failure.enter_context(closing(connect(folder / STORE, synchronous=synchronous)))
                for _ in range(2)
            )
            noted = Anchor.read(anchor)  # before the log, which may only be ahead of it
            end, account = checked(self._reading, noted, dataset, self._files, self._name)
            self._ledger_id = account.ledger
            self._outer = OuterAnchor(account.ledger, self._name)
            if not self._outer.path or not self._outer.path.exists():
                self._outer.begin(past_rows(self._reading))
            with self._lock:
                self._catch_up_outside(account)
            on_failure.pop_all()  # all is well: they stay open
        self._end = self._ending = self._anchored = end
        self._sums = self._ending_sums = sums_of(account)
        self._writer = Writer(
            self._name,
            writing,
            self._lock,
            before=self._catch_up,
            ending=self._note_end,
            after=self._move_anchor,
        )

    def close(self) -> None:
        """Finish queued commits and let go of the files."""
        if os.getpid() == self._process:
            self._writer.close()
            with self._reading_lock:
                self._reading.close()
            self._lock.close()
            self._outer.close()

    @property
    def anchor_problem(self) -> str:
        """Why there is no anchor outside of the workspace, in a sentence; empty where there is."""
        return self._outer.problem

    # The log

    def entries(self) -> Iterator[Entry]:
        """Every row of the log, oldest first."""
        after = 0
        while True:
            with self._read() as transaction:
                rows = transaction.connection.execute(
                    "SELECT seq, body, hash FROM log WHERE seq > ? ORDER BY seq LIMIT 500", (after,)
                ).fetchall()
            if not rows:
                return
            for seq, text, stored in rows:
                body = json.loads(text)
                yield Entry(seq, body["kind"], body["at"], body, stored)
            after = rows[-1][0]

    def verify(self) -> Verified:
        """Check everything again, all measurements included."""
        return verify(self.folder, anchor=self.anchor_path)

    # Inside

    @contextmanager
    def _read(self) -> Iterator[LedgerTransaction]:
        self._same_process()
        with self._reading_lock, in_words(self._name):
            try:
                self._reading.execute("BEGIN")
                yield self._transaction(self._reading)
            finally:
                if self._reading.in_transaction:
                    self._reading.execute("ROLLBACK")

    def _same_process(self) -> None:
        if os.getpid() != self._process:
            raise StoreError(
                f"{self._name} was opened before this process was forked. Open it again here."
            )

    def _write(self, work: Callable[[LedgerTransaction], T]) -> T:
        self._same_process()
        return self._writer.run(
            lambda connection: work(self._transaction(connection)), wait_seconds=self._wait_seconds
        )

    def _keep(self, request: CommitRequest) -> None:
        if len(request.measurements) > INLINE_BYTES:
            with in_words(self._name):
                self._files.keep(request.measurements, request.measurements_digest)

    def _transaction(self, connection: sqlite3.Connection) -> LedgerTransaction:
        return LedgerTransaction(connection, self.dataset, self._files, self._clock)

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Rows others added since: each must continue the chain this process has verified."""
        seq, head = self._end
        rows = connection.execute(
            "SELECT seq, body, hash FROM log WHERE seq >= ? ORDER BY seq", (seq,)
        ).fetchall()
        if not rows or (rows[0][0], rows[0][2]) != (seq, head):
            raise damaged(f"entry {seq}, read earlier, is gone or another one", self._name)
        end = follow(rows[1:], seq, head, name=self._name)
        sums = sums_after(connection, self._sums, rows[1:])
        if stored_sums(connection) != sums:
            raise damaged("its sums were changed by something other than a charge", self._name)
        self._end, self._sums = end, sums
        compare_outside(connection, self._outer, self._name, self.folder)

    def _note_end(self, connection: sqlite3.Connection) -> None:
        """The last look before the commit: after it nothing is asked of the database."""
        self._ending = connection.execute(
            "SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        self._ending_sums = stored_sums(connection)

    def _move_anchor(self) -> None:
        self._end, self._sums = self._ending, self._ending_sums
        if self._end != self._anchored:
            _, spent = self._sums.get(DATASET, ("", ""))
            anchor = Anchor(self.dataset, self._ledger_id, *self._end, spent)
            with self._outer.adding(anchor):
                anchor.write(self.anchor_path)
            self._anchored = self._end

    def _catch_up_outside(self, account: Account) -> None:
        """Compare with the anchor outside of the workspace; where it lags, it catches up."""
        self._outer.thin()
        noted = compare_outside(self._reading, self._outer, self._name, self.folder)
        self._reading.execute("BEGIN")
        last = last_row(self._reading, account)
        self._reading.execute("ROLLBACK")
        if noted != last.seq:
            self._outer.add(last)
