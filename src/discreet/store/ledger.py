"""The ledger of a data set: what may be spent, what was, and the answers it paid for.

    ledger = Ledger.open(folder, dataset="deaths")
    ledger.set_cap(PureLoss("10"), who="ana", reason="agreed by the board")
    answer = ledger.find(question) or ledger.commit(charge, measurements, idempotency_key=…)

Promises. (1) No scope is ever spent beyond its cap, whatever the number of threads and processes.
(2) When `commit` returns, charge and measurements are on disk; when it raises, nothing may be
answered. (3) One question is charged once and has one answer, for whoever asks. (4) A charge is
never given back; only a hold may lapse. (5) A ledger that was edited, cut, swapped or rolled back
is refused at `open`; measurements are checked against their digest each time they are read.

The budget belongs to the people in the data: all versions, policies and key epochs of the data set
are charged to the one cap. Two files: `store.sqlite3` and the anchor (see `chain.py`).
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from ..core.charge import Charge
from ..core.loss import (
    Loss,
)
from ..errors import InputError, LedgerDamaged, Refusal
from ..file_names import ANCHOR, LEDGER_LOCK, STORE
from .base import DATASET, Draft, Hold, StoredAnswer, Verified
from .books import Books, Request
from .chain import Anchor, canonical, follow
from .database import connect, in_words
from .ledger_reading import LedgerReading, as_charges, hold_id
from .lock import FairLock
from .measurement_files import INLINE_BYTES, MeasurementFiles
from .verification import checked, create_if_new, verify
from .writer import Writer

T = TypeVar("T")


class Ledger(LedgerReading):
    """Open one with `Ledger.open`; may be shared by threads, not carried into a forked child."""

    def __init__(
        self,
        folder: Path,
        dataset: str,
        anchor: Path,
        writing: sqlite3.Connection,
        reading: sqlite3.Connection,
        lock: FairLock,
        end: tuple[int, str],
        ledger_id: str,
        clock: Callable[[], float],
        wait_seconds: float,
    ) -> None:
        self.folder = folder
        self.dataset = dataset
        self.anchor_path = anchor
        self._name = f"The ledger of {dataset}"
        self._end = self._ending = self._anchored = end
        self._ledger_id = ledger_id
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._process = os.getpid()
        self._reading = reading
        self._reading_lock = threading.Lock()
        self._lock = lock
        self._files = MeasurementFiles(folder)
        self._books = Books(dataset, self._files, clock)
        self._writer = Writer(
            self._name,
            writing,
            lock,
            before=self._catch_up,
            ending=self._note_end,
            after=self._move_anchor,
        )

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        dataset: str,
        anchor: str | Path | None = None,
        clock: Callable[[], float] = time.time,
        wait_seconds: float = 30.0,
        synchronous: str = "FULL",
    ) -> Ledger:
        """Open or create the ledger in `folder`; refuses one whose chain, sums or anchor disagree.

        `synchronous` is for tests that show why it must be FULL.
        """
        folder = Path(folder)
        anchor_path = folder / ANCHOR if anchor is None else Path(anchor)
        path = folder / STORE
        name = f"The ledger of {dataset}"
        connections: list[sqlite3.Connection] = []
        with in_words(name):
            folder.mkdir(parents=True, exist_ok=True)
            lock = FairLock(folder / LEDGER_LOCK)
            try:
                with lock:
                    create_if_new(path, anchor_path, dataset, clock, synchronous)
                for _ in range(2):
                    connections.append(connect(path, synchronous=synchronous))
                noted = Anchor.read(anchor_path)  # before the log, which may only be ahead of it
                end, account = checked(connections[1], noted, dataset, MeasurementFiles(folder))
            except BaseException:
                for connection in connections:
                    connection.close()
                lock.close()
                raise
        writing, reading = connections
        return cls(
            folder,
            dataset,
            anchor_path,
            writing,
            reading,
            lock,
            end,
            account.ledger,
            clock,
            wait_seconds,
        )

    def close(self) -> None:
        """Finish queued commits and let go of the files."""
        if os.getpid() == self._process:
            self._writer.close()
            with self._reading_lock:
                self._reading.close()
            self._lock.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # What may be spent

    def set_cap(self, budget: Loss, *, who: str, reason: str) -> None:
        """Set or change the budget of the data set; an entry of the log like any other.

        What was spent before counts against it, also below a lowered cap.
        """
        self._set_cap(DATASET, budget, who, reason)

    def set_subcap(self, scope: str, budget: Loss | None, *, who: str, reason: str) -> None:
        """Set, change or (None) take away the share of `user:NAME` or `project:NAME`."""
        kind, _, name = scope.partition(":")
        if kind not in ("user", "project") or not name:
            raise InputError(f"A sub-cap's scope must be user:NAME or project:NAME, got {scope}.")
        self._set_cap(scope, budget, who, reason)

    # Asking

    def hold(
        self,
        charges: Charge | Sequence[Charge],
        *,
        user: str = "",
        project: str = "",
        seconds: float = 600.0,
    ) -> Hold:
        """Reserve budget for a job that has drawn nothing yet; lapses by itself after `seconds`."""
        several = as_charges(charges)
        made = Hold(secrets.token_hex(16), self._clock() + seconds)
        stored = canonical({"charges": [charge.to_json() for charge in several]})

        def work(connection: sqlite3.Connection) -> Hold:
            connection.execute("DELETE FROM holds WHERE expires <= ?", (self._clock(),))
            self._books.check(connection, several, user, project, without=None)
            connection.execute(
                "INSERT INTO holds VALUES (?, ?, ?, ?, ?)",
                (made.id, user, project, stored, made.expires),
            )
            return made

        return self._write(work)

    def renew(self, hold: Hold, *, seconds: float = 600.0) -> Hold:
        """Extend a hold that has not lapsed; one that has must be asked for again."""
        longer = Hold(hold.id, self._clock() + seconds)

        def work(connection: sqlite3.Connection) -> Hold:
            changed = connection.execute(
                "UPDATE holds SET expires = ? WHERE id = ? AND expires > ?",
                (longer.expires, hold.id, self._clock()),
            )
            if changed.rowcount != 1:
                raise Refusal(
                    "The hold has lapsed. Ask for a new one before anything is drawn.", rule="hold"
                )
            return longer

        return self._write(work)

    def lapse(self, hold: Hold | str) -> None:
        """Give up a hold whose job ended before anything was drawn."""
        self._write(
            lambda connection: connection.execute(
                "DELETE FROM holds WHERE id = ?", (hold_id(hold),)
            )
        )

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
    ) -> StoredAnswer:
        """Charge one question and store what was drawn for it; on disk when this returns.

        Where the question was charged before, by this request or by another one that came first,
        that answer comes back, nothing is charged and `measurements` is dropped.
        """
        return self.commit_all(
            [Draft(as_charges(charges), measurements)],
            idempotency_key=idempotency_key,
            user=user,
            project=project,
            data_version=data_version,
            policy_version=policy_version,
            hold=hold,
        )[0]

    def commit_all(
        self,
        drafts: Sequence[Draft],
        *,
        idempotency_key: str,
        user: str = "",
        project: str = "",
        data_version: str,
        policy_version: str,
        hold: Hold | str | None = None,
    ) -> list[StoredAnswer]:
        """Commit several questions together: all of them, or none."""
        request = Request(
            tuple(drafts), idempotency_key, user, project, data_version, policy_version
        )
        held = hold_id(hold)
        with self._read() as connection:
            ready = self._books.ready(connection, request)
            if ready is None:
                new = request.charges_of_new(connection)
                self._books.check(connection, new, user, project, without=held)
        if ready is not None:
            if held is not None:
                self.lapse(held)
            return ready
        with in_words(self._name):
            for draft, name in zip(request.drafts, request.digests, strict=True):
                if len(draft.measurements) > INLINE_BYTES:
                    self._files.keep(draft.measurements, name)
        return self._write(lambda connection: self._books.commit(connection, request, held))

    # Checking and tidying

    def verify(self) -> Verified:
        """Check everything again, all measurements included."""
        return verify(self.folder, anchor=self.anchor_path)

    def tidy(self) -> int:
        """Delete measurement files that no charge names; returns how many."""

        def work(connection: sqlite3.Connection) -> int:
            named = connection.execute("SELECT digest FROM answers WHERE measurements IS NULL")
            return self._files.tidy({row[0] for row in named})

        return self._write(work)

    # Inside

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._same_process()
        return self._writer.run(work, wait_seconds=self._wait_seconds)

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Rows others added since: each must continue the chain this process has verified."""
        seq, head = self._end
        rows = connection.execute(
            "SELECT seq, body, hash FROM log WHERE seq >= ? ORDER BY seq", (seq,)
        ).fetchall()
        if not rows or (rows[0][0], rows[0][2]) != (seq, head):
            raise LedgerDamaged(
                f"{self._name} is damaged: entry {seq}, read earlier, is gone or another one. "
                "Nothing is answered; restore it from a copy that verifies."
            )
        self._end = follow(rows[1:], seq, head)

    def _note_end(self, connection: sqlite3.Connection) -> None:
        """The last look before the commit: after it nothing is asked of the database."""
        self._ending = connection.execute(
            "SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1"
        ).fetchone()

    def _move_anchor(self) -> None:
        self._end = self._ending
        if self._end != self._anchored:
            Anchor(self.dataset, self._ledger_id, *self._end).write(self.anchor_path)
            self._anchored = self._end

    def _set_cap(self, scope: str, budget: Loss | None, who: str, reason: str) -> None:
        for name, value in (("who", who), ("reason", reason)):
            if not value.strip():
                raise InputError(
                    f"A change of a budget needs {name}: the ledger keeps it for ever. "
                    f"Give {name}=…"
                )
        self._write(lambda connection: self._books.set_cap(connection, scope, budget, who, reason))
