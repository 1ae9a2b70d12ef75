"""The ledger of a data set in SQLite: what may be spent, what was, and the answers it paid for.

    ledger = Ledger(folder, dataset="deaths")
    ledger.set_cap(PureLoss("10"), who="ana", reason="agreed by the board")
    answer = ledger.find(question) or ledger.commit(charge, measurements, idempotency_key=…)

What it promises is in `ledger_store.py`.

The budget belongs to the people in the data: all versions, policies and key epochs of the data set
are charged to the one cap. Two files, `store.sqlite3` and the anchor, and an anchor outside of the
workspace (see `anchors.py`).
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path

from ...durable import make_folder
from ...errors import LedgerDamaged, StoreError
from ...file_names import ANCHOR, LEDGER_LOCK, STORE
from ..anchored_ledger import AnchoredLedger
from ..anchors import Anchor
from ..base import Verified
from ..chain import START, Account, canonical, damaged, follow, link, moment
from ..commit_request import CommitRequest
from ..ledger_rows import LedgerRows
from ..ledger_state import LedgerState, Needs
from ..lock import FairLock
from ..measurement_files import INLINE_BYTES, MeasurementFiles
from ..verification import checked, gone, verified
from .database import connect, in_words, transaction
from .ledger_rows import SqliteRows
from .ledger_tables import FORM, check_tables, create_tables


class Ledger(AnchoredLedger):
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
        self._reading_lock = threading.Lock()
        self._files = MeasurementFiles(folder)
        with in_words(self._name), ExitStack() as on_failure:
            make_folder(folder)
            self._lock = on_failure.enter_context(closing(FairLock(folder / LEDGER_LOCK)))
            with self._lock:
                _create_if_new(folder / STORE, anchor, dataset, clock, synchronous)
            self._writing, self._reading = (
                on_failure.enter_context(closing(connect(folder / STORE, synchronous=synchronous)))
                for _ in range(2)
            )
            noted = Anchor.read(anchor)  # before the log, which may only be ahead of it
            rows = SqliteRows(self._reading, dataset, self._files, clock)
            with reading(self._reading):
                end, account = checked_file(rows, noted, dataset)
            self._open_outer(rows, account)
            on_failure.pop_all()  # all is well: they stay open
        self._start(end, account)

    def close(self) -> None:
        """Finish queued commits and let go of the files."""
        if os.getpid() == self._process:
            self._writer.close()
            with self._reading_lock:
                self._reading.close()
            self._writing.close()
            self._lock.close()
            self._outer.close()

    def verify(self) -> Verified:
        """Check everything again, all measurements included."""
        return verify(self.folder, anchor=self.anchor_path)

    def tidy(self) -> int:
        """Delete measurement files that no charge names; returns how many."""

        def tidied(state: LedgerState) -> int:
            named = self._writing.execute("SELECT digest FROM answers WHERE measurements IS NULL")
            return self._files.tidy({row[0] for row in named})

        return self._write(Needs(), tidied)

    # Inside

    @contextmanager
    def _read(self) -> Iterator[LedgerRows]:
        self._same_process()
        with self._reading_lock, in_words(self._name), reading(self._reading):
            yield SqliteRows(self._reading, self.dataset, self._files, self._clock)

    @contextmanager
    def _group(self, needs: Needs) -> Iterator[tuple[LedgerRows, LedgerState]]:
        with transaction(self._writing) as connection:
            rows = SqliteRows(connection, self.dataset, self._files, self._clock)
            state = rows.state(needs, after=self._end[0])
            yield rows, state
            rows.write(state)

    def _in_words(self) -> AbstractContextManager[None]:
        return in_words(self._name)

    def _is_inline(self, request: CommitRequest) -> bool:
        return len(request.measurements) <= INLINE_BYTES

    def _keep(self, request: CommitRequest) -> None:
        with in_words(self._name):
            self._files.keep(request.measurements, request.measurements_digest)


@contextmanager
def reading(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction in which everything is as it was at one moment."""
    try:
        connection.execute("BEGIN")
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def checked_file(
    rows: SqliteRows,
    noted: Anchor | None,
    dataset: str | None,
    form: int = FORM,
    *,
    behind: bool = False,
) -> tuple[tuple[int, str], Account]:
    """Tables, chain, sums, inner anchor and indexes, in a transaction of the caller's."""
    check_tables(rows.connection, form, rows.name)
    end, account = checked(rows, noted, dataset, behind=behind)
    # scans do not look at indexes, and questions are found by them
    if rows.connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise damaged("SQLite finds its tables and indexes inconsistent", rows.name)
    return end, account


def verify(
    folder: str | Path, *, anchor: str | Path | None = None, copy: str | Path | None = None
) -> Verified:
    """Check chain, sums, anchors and every measurement of the ledger in `folder`, or raise.

    `anchor` is where the inner anchor lies; `copy` is an anchor, or many one below the other, that
    was kept elsewhere.
    """
    folder = Path(folder)
    path = folder / STORE
    name = f"The ledger of {folder.resolve().name}"
    with in_words(name):
        noted = Anchor.read(folder / ANCHOR if anchor is None else Path(anchor))
        if not path.exists():
            if noted is not None:
                raise gone(noted, name)
            raise StoreError(f"There is no ledger in {folder.name}. Nothing has been charged yet.")
        with closing(connect(path)) as connection, reading(connection):
            files = MeasurementFiles(folder)
            rows = SqliteRows(connection, folder.resolve().name, files, time.time, name)
            return verified(rows, noted, checked_file(rows, noted, None), folder, copy)


def _create_if_new(
    path: Path, anchor_path: Path, dataset: str, clock: Callable[[], float], synchronous: str
) -> None:
    """Make the database with its first entry, unless there is or was one; holds the lock."""
    noted = Anchor.read(anchor_path)
    if noted is not None:
        if not path.exists() or path.stat().st_size == 0:
            raise gone(noted, f"The ledger of {dataset}")
        return
    make_folder(anchor_path.parent)
    with closing(connect(path, create=True, synchronous=synchronous)) as connection:
        with transaction(connection):
            if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                create_tables(connection)
                opened = {"kind": "open", "dataset": dataset, "at": moment(clock())}
                body = canonical({**opened, "ledger": secrets.token_hex(16)})
                first = (1, body, link(START, body))
                connection.execute("INSERT INTO log VALUES (?, ?, ?, NULL)", first)
            check_tables(connection)
            rows = connection.execute("SELECT seq, body, hash FROM log ORDER BY seq LIMIT 2")
            first_two = rows.fetchall()
        if len(first_two) != 1:
            raise LedgerDamaged(
                f"The ledger of {dataset} has lost its anchor {anchor_path.name}. Nothing is "
                "answered; put the anchor back from a copy."
            )
        account = Account()
        seq, head = follow(first_two, 0, START, account)
        Anchor(account.dataset, account.ledger, seq, head, "").write(anchor_path)
