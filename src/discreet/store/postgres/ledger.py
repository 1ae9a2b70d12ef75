"""The ledger of a data set in Postgres, for several hosts; its anchors stay on each host.

A group of commits takes two round trips: (1) begin, lock the ledger's row, read what the rules need;
(2) write what they decided and commit. The lock is the row of `ledger_heads`, which is also the end of
the chain; within a host the fair lock decides whose turn it is before that. A host keeps its anchors
beside `discreet.yaml` and in the user's state folder, as for SQLite, and moves both before anything is
answered, also from what another host charged: a database that was put back, or a standby that lacks
entries, is refused by every host that answered from them. A host that opens a ledger for the first
time trusts what it finds.

Where the connection is lost in the second round trip nobody knows whether the commit took place:
nothing is answered, and whoever asks again with the same key gets the one answer, charged once.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...durable import make_folder
from ...errors import LedgerDamaged, StoreError
from ...file_names import ANCHOR, LEDGER_LOCK, STORE
from ..anchored_ledger import AnchoredLedger
from ..anchors import Anchor, OuterAnchor
from ..base import LedgerHistory, StoredAnswer, Verified
from ..chain import START, canonical, damaged, link, moment
from ..commit_request import CommitRequest
from ..ledger_restore import Restored, accept
from ..ledger_rows import LedgerRows
from ..ledger_state import LedgerState, Needs
from ..lock import FairLock
from ..place import Place
from ..verification import checked, gone, last_row, verified
from .connection import BEGIN, SETTINGS, Connection, NotDurable, driver, in_words, is_lost
from .ledger_rows import PostgresRows
from .tables import check_tables, loose_rights

if TYPE_CHECKING:
    import psycopg

MOST_BYTES = 500_000_000
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresLedger(AnchoredLedger):
    """A ledger in Postgres; may be shared by threads, not carried into a forked child.

    Opens or creates the one of `dataset`; `folder` is where this host keeps its anchor. Holds lapse
    by the server's clock unless `clock` is given.
    """

    _looks_first = False

    def __init__(
        self,
        place: Place,
        folder: str | Path,
        *,
        dataset: str,
        clock: Callable[[], float] | None = None,
        wait_seconds: float = 60.0,
    ) -> None:
        self.place, self.folder, self.dataset = place, Path(folder), dataset
        self.anchor_path = self.folder / ANCHOR
        self._name = f"The ledger of {dataset}"
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._reading_lock = threading.Lock()
        self._unsure = False  # whether a commit was not confirmed, so that reading waits for one
        self._sure = 0  # the last row that is known to be durable and was noted here
        with in_words(self._name), ExitStack() as on_failure:
            make_folder(self.folder)
            self._lock = on_failure.enter_context(closing(FairLock(self.folder / LEDGER_LOCK)))
            self._writing, self._reading = (
                on_failure.enter_context(closing(Connection(place, self._name))) for _ in range(2)
            )
            check_tables(self._reading.get(), place.schema, self._name)
            with self._lock:
                noted = Anchor.read(self.anchor_path)  # before the log, which may be ahead of it
                noted = self._create_if_new(noted)
            connection = self._reading.get()
            with snapshot(connection):
                rows = self._rows(connection)
                end, account = checked(rows, noted, dataset)
            self._open_outer(rows, account)
            on_failure.pop_all()  # all is well: they stay open
        self._start(end, account)
        self._anchored = noted.seq, noted.hash

    def find(self, question: str) -> StoredAnswer | None:
        """The answer already charged for this question, whoever asked and on whichever host."""
        stored = super().find(question)
        self._make_sure(() if stored is None else (stored,))
        return stored

    def history(self, data_version: str | None = None) -> LedgerHistory:
        """All answers so far, oldest first, as they were at one moment, and the head to commit after."""
        history = super().history(data_version)
        self._make_sure(history.answers)
        return history

    def _make_sure(self, answers: Sequence[StoredAnswer]) -> None:
        """What another host charged is durable and noted here before anything is answered from it."""
        if any(answer.receipt["entry"] > self._sure for answer in answers[-1:]):
            self._write(Needs(), lambda state: None)

    def close(self) -> None:
        """Finish queued commits and let go of the connections."""
        if os.getpid() == self._process:
            self._writer.close()
            with self._reading_lock:
                self._reading.close()
            self._writing.close()
            self._lock.close()
            self._outer.close()

    def verify(self) -> Verified:
        """Check everything again, all measurements included."""
        return verify(self.place, self.folder, self.dataset)

    def tidy(self) -> int:
        """Measurements lie in the rows that charge them: there are never any others."""
        return 0

    @property
    def rights_problem(self) -> str:  # type: ignore[override]
        """Why this role could rewrite the ledger, in a sentence; empty where it could not."""
        with self._reading_lock, in_words(self._name):
            return loose_rights(self._reading.get(), self.place.schema)

    # Inside

    def _rows(self, connection: psycopg.Connection[Any]) -> PostgresRows:
        return PostgresRows(connection, self.place.schema, self.dataset, self._clock, self._name)

    def _create_if_new(self, noted: Anchor | None) -> Anchor:
        """Begin the ledger where the database has none and this host knows of none; its anchor."""
        connection = self._writing.get()
        rows = self._rows(connection)
        if not rows.run("SELECT 1 FROM {s}.ledger_heads WHERE dataset = %(d)s").fetchone():
            if (self.folder / STORE).exists():
                raise StoreError(
                    f"{self._name} still lies in {self.folder / STORE}, and store.yaml names a shared "
                    f"database. Run `discreet store move {self.folder.parent}`, which carries it over."
                )
            if noted is not None:
                raise gone(noted, self._name)
            self._begin_chain(rows)
        if noted is None:
            with snapshot(connection):
                _, account = rows.account()
                noted = last_row(rows, account)
            noted.write(self.anchor_path)
        return noted

    def _begin_chain(self, rows: PostgresRows) -> None:
        at = moment(_now(rows.connection) if self._clock is None else self._clock())
        identity = secrets.token_hex(16)
        opened = {"kind": "open", "dataset": self.dataset, "at": at, "ledger": identity}
        body = canonical(opened)
        with rows.connection.transaction():
            new = rows.run(
                "INSERT INTO {s}.ledger_heads VALUES (%(d)s, %(l)s, 1, %(h)s) ON CONFLICT DO NOTHING",
                l=identity,
                h=link(START, body),
            )
            if new.rowcount == 1:  # else another host was quicker
                row = "INSERT INTO {s}.ledger_log VALUES (%(d)s, 1, %(b)s, %(h)s, NULL)"
                rows.run(row, b=body, h=link(START, body))

    @contextmanager
    def _read(self) -> Iterator[LedgerRows]:
        self._same_process()
        with self._reading_lock, self._in_words():
            if self._unsure:
                self._confirm()
            connection = self._reading.alive()
            with connection.pipeline(), snapshot(connection):
                yield self._rows(connection)

    @contextmanager
    def _group(self, needs: Needs) -> Iterator[tuple[LedgerRows, LedgerState]]:
        connection, state, rows, pipeline = self._begun(needs)
        writing = False
        try:
            with pipeline:
                yield rows, state
                writing = bool(state.changes)
                if writing:
                    self._writing.warned = False
                    rows.write(state)
                ended = connection.execute("COMMIT" if writing else "ROLLBACK")
            if writing:
                self._check_committed(ended.statusmessage)
            elif self._unsure or state.end[0] > self._sure:
                self._confirm()  # what is answered from may not be durable yet, whoever committed it
            self._sure = state.end[0]
        except BaseException as error:
            if writing:
                self._unsure = True  # a connection lost in COMMIT: it may have been done
            self._end_badly(connection, error)
            raise

    def _begun(
        self, needs: Needs
    ) -> tuple[psycopg.Connection[Any], LedgerState, PostgresRows, ExitStack]:
        """A transaction with what it needs; tried once more where the connection was lost before."""
        for again in (True, False):
            connection = self._writing.get()
            try:
                with ExitStack() as stack:  # leaving a pipeline may itself raise
                    stack.enter_context(connection.pipeline())
                    connection.execute(BEGIN)
                    rows = self._rows(connection)
                    state = rows.state(needs, after=self._end[0])
                    return connection, state, rows, stack.pop_all()
            except BaseException as error:
                lost = is_lost(error)
                self._end_badly(connection, error)
                if not (again and lost):
                    raise
        raise AssertionError("unreachable")

    def _check_committed(self, status: str | None) -> None:
        if status != "COMMIT":
            raise StoreError(f"{self._name} did not commit. Nothing was charged; ask again.")
        if self._writing.warned:
            self._unsure = True
            raise NotDurable(
                f"{self._name}: the server committed without waiting for its standby, so the charge may "
                "be lost with it. Nothing is answered; ask again once replication works."
            )
        self._unsure = False

    def _end_badly(self, connection: psycopg.Connection[Any], error: BaseException) -> None:
        """Leave no transaction behind; a connection in doubt is given up."""
        psycopg = driver()
        if isinstance(error, psycopg.Error) or connection.closed or connection.broken:
            self._writing.close()
            return
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            self._writing.close()

    def _confirm(self) -> None:
        """Wait until what was committed without confirmation is durable."""
        with closing(Connection(self.place, self._name)) as fresh:
            connection = fresh.get()
            rows = self._rows(connection)
            rows.run("UPDATE {s}.ledger_heads SET seq = seq WHERE dataset = %(d)s")
            if fresh.warned:
                raise NotDurable(
                    f"{self._name}: the server does not wait for its standby. Nothing is answered."
                )
        self._unsure = False

    def _in_words(self) -> AbstractContextManager[None]:
        return _in_words(self._name)

    def _is_inline(self, request: CommitRequest) -> bool:
        if len(request.measurements) > MOST_BYTES:
            raise StoreError(
                f"{self._name} keeps at most {MOST_BYTES:,} bytes for one question. Ask for fewer cells."
            )
        return True

    def _keep(self, request: CommitRequest) -> None:
        raise AssertionError("all measurements lie in their rows")


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    """As elsewhere; a row that was not as it had been read a moment ago is damage."""
    psycopg = driver()
    with in_words(name):
        try:
            yield
        except (psycopg.errors.DivisionByZero, psycopg.errors.UniqueViolation):
            raise damaged("a row changed while its ledger was locked", name) from None


@contextmanager
def snapshot(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """A transaction in which everything is as it was at one moment."""
    connection.execute(_SNAPSHOT)
    try:
        yield
    except BaseException:
        if not connection.closed:
            connection.close()  # simplest: the next reader opens another one
        raise
    connection.execute("ROLLBACK")


def _now(connection: psycopg.Connection[Any]) -> float:
    row = connection.execute(SETTINGS).fetchone()
    assert row is not None
    return float(row[0])


def verify(place: Place, folder: Path, dataset: str, *, copy: str | Path | None = None) -> Verified:
    """Check chain, sums, anchors and every measurement of a ledger, or raise."""
    name = f"The ledger of {dataset}"
    with in_words(name), closing(Connection(place, name)) as opened:
        connection = opened.get()
        check_tables(connection, place.schema, name)
        noted = Anchor.read(folder / ANCHOR)
        with snapshot(connection):
            rows = PostgresRows(connection, place.schema, dataset, None, name)
            if not rows.run("SELECT 1 FROM {s}.ledger_heads WHERE dataset = %(d)s").fetchone():
                if noted is not None:
                    raise gone(noted, name)
                raise StoreError(
                    f"There is no ledger of {dataset} in the database. Nothing has been charged yet."
                )
            return verified(rows, noted, checked(rows, noted, dataset), folder, copy)


def accept_restore(
    place: Place,
    folder: Path,
    dataset: str,
    *,
    neighbours: str,
    who: str,
    reason: str,
    copy: str | Path | None = None,
) -> Restored:
    """Let a ledger that is behind this host's anchors go on; durable when this returns."""
    name = f"The ledger of {dataset}"
    said = {"who": who, "reason": reason, "neighbours": neighbours}
    with _in_words(name), ExitStack() as stack:
        lock = stack.enter_context(closing(FairLock(folder / LEDGER_LOCK)))
        stack.enter_context(lock)
        opened = stack.enter_context(closing(Connection(place, name)))
        connection = opened.get()
        check_tables(connection, place.schema, name)
        noted = Anchor.read(folder / ANCHOR)
        with connection.transaction():
            rows = PostgresRows(connection, place.schema, dataset, None, name)
            state = rows.state(Needs(account=True), after=1)
            _, account = checked(rows, noted, dataset, behind=True)
            outer = OuterAnchor(account.ledger, name)
            restored = accept(rows, state, noted, outer, said, copy)
            opened.warned = False
            rows.write(state)
            anchor = last_row(rows, account)
        if opened.warned:
            raise LedgerDamaged(
                f"{name}: the server did not wait for its standby. Accept it again."
            )
        anchor.write(folder / ANCHOR)
        outer.unseen()
        outer.add(anchor)
    return restored


def exists(place: Place, dataset: str) -> bool:
    """Whether the database has a ledger of this data set."""
    name = f"The ledger of {dataset}"
    with in_words(name), closing(Connection(place, name)) as opened:
        connection = opened.get()
        check_tables(connection, place.schema, name)
        rows = PostgresRows(connection, place.schema, dataset, None, name)
        found = rows.run("SELECT 1 FROM {s}.ledger_heads WHERE dataset = %(d)s").fetchone()
        return found is not None
