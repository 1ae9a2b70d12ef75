"""The rows of a ledger in SQLite, within a transaction of the caller's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...errors import StoreError
from ..base import StoredAnswer
from ..chain import damaged
from ..ledger_rows import Beside, LedgerRows
from ..ledger_state import HeldBudget, LedgerState, Needs, Sums
from ..measurement_files import MeasurementFiles
from .ledger_tables import FORM, OLDEST_FORM, form_of

_ANSWERS = (
    "SELECT coalesce(c.question, a.question), a.digest, a.measurements, l.seq, l.body, l.hash, c.form "
    "FROM answers a JOIN log l ON l.seq = a.seq LEFT JOIN carried c ON c.answer = a.question "
)
_NAMED = (
    "WHERE a.question = coalesce((SELECT question FROM answers WHERE question = ?1), "
    "(SELECT n.answer FROM carried n JOIN answers b "
    "ON b.question = n.answer WHERE n.question = ?1 ORDER BY b.seq LIMIT 1))"
)
"""An answer by the name it was charged under; else, of those that an upgrade gave it, the first."""
_CHARGED = (
    "SELECT 1 FROM answers WHERE question = ?1 UNION SELECT 1 FROM carried WHERE question = ?1"
)
MOVED = "this ledger was moved"
"""What a trigger of a file says whose ledger lies in a shared database now."""


class SqliteRows(LedgerRows):
    """What is read and written of the tables of one ledger within a transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        dataset: str,
        files: MeasurementFiles,
        clock: Callable[[], float],
        name: str = "",
    ) -> None:
        self.connection = connection
        self.dataset = dataset
        self.name = name or f"The ledger of {dataset}"
        self.files = files
        self.clock = clock

    def state(self, needs: Needs, *, after: int | None = None, content: bool = True) -> LedgerState:
        """What decisions need, each row found by an index."""
        rows = self.connection.execute("SELECT id, user, project, charges, expires FROM holds")
        holds = {row[0]: HeldBudget.read(*row) for row in rows.fetchall()}
        asked = {*needs.questions, *(hold.charges[0].question for hold in holds.values())}
        answered = self.answered(asked)
        answers = {}
        for question in answered.intersection(needs.questions) if content else ():
            answer = self.answer(question)
            if answer is not None:
                answers[question] = answer
        requests = {}
        for key in needs.requests:
            row = self.connection.execute(
                "SELECT request FROM requests WHERE user = ? AND key = ?", key
            ).fetchone()
            if row is not None:
                requests[key] = row[0]
        return LedgerState(
            self.dataset,
            self.clock(),
            self.end(),
            self.head(),
            self.sums(),
            holds,
            answers,
            answered,
            requests,
            since=[] if after is None else self.log(after - 1),
            account=self.account()[1] if needs.account else None,
        )

    def write(self, state: LedgerState) -> None:
        """Write what was decided on a state that was read in this transaction."""
        connection, changes = self.connection, state.changes
        try:
            connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?)", changes.log)
        except sqlite3.IntegrityError as error:
            if MOVED in str(error):
                raise StoreError(
                    f"{self.name} was moved into a shared database. Start this process again."
                ) from None
            what = "its log has charged a question that its table of answers does not find"
            raise damaged(what, self.name) from None
        connection.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", changes.answers)
        connection.executemany("INSERT INTO requests VALUES (?, ?, ?, ?)", changes.requests)
        for scope in changes.scopes:
            connection.execute("DELETE FROM scopes WHERE scope = ?", (scope,))
            if scope in state.sums:
                connection.execute(
                    "INSERT INTO scopes VALUES (?, ?, ?)", (scope, *state.sums[scope])
                )
        for identity in changes.holds:
            connection.execute("DELETE FROM holds WHERE id = ?", (identity,))
            if identity in state.holds:
                hold = state.holds[identity]
                connection.execute(
                    "INSERT INTO holds VALUES (?, ?, ?, ?, ?)",
                    (hold.id, hold.user, hold.project, hold.stored, hold.expires),
                )

    def log(self, after: int = 0, most: int | None = None) -> list[tuple[int, str, str]]:
        """Rows of the log in order."""
        return self.connection.execute(
            "SELECT seq, body, hash FROM log WHERE seq > ? ORDER BY seq LIMIT ?",
            (after, -1 if most is None else most),
        ).fetchall()

    def row(self, seq: int) -> str | None:
        """The hash of one row."""
        row = self.connection.execute("SELECT hash FROM log WHERE seq = ?", (seq,)).fetchone()
        return None if row is None else str(row[0])

    def restores(self) -> list[str]:
        """The texts of all rows of kind `restore`."""
        rows = self.connection.execute(
            "SELECT body FROM log WHERE json_extract(body, '$.kind') = 'restore'"
        )
        return [row[0] for row in rows]

    def end(self) -> tuple[int, str]:
        """Number and hash of the last row."""
        last: tuple[int, str] = self.connection.execute(
            "SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        return last

    def head(self) -> str:
        """The hash of the last row that answers something; empty where there is none."""
        row = self.connection.execute(
            "SELECT hash FROM log WHERE seq = (SELECT max(seq) FROM answers)"
        ).fetchone()
        return "" if row is None else str(row[0])

    def sums(self) -> Sums:
        """Cap and loss of each scope, as they are stored."""
        rows = self.connection.execute("SELECT scope, cap, spent FROM scopes")
        return {scope: (cap, spent) for scope, cap, spent in rows}

    def answer(self, question: str) -> StoredAnswer | None:
        """The stored answer to a question, checked against its digest."""
        row = self.connection.execute(_ANSWERS + _NAMED, (question,)).fetchone()
        return None if row is None else self.stored(row)

    def answers(self, data_version: str | None) -> Iterator[StoredAnswer]:
        """Every answer, or those of one data version, oldest first."""
        for row in self.connection.execute(_ANSWERS + "ORDER BY a.seq").fetchall():
            if data_version in (None, json.loads(row[4])["data_version"]):
                yield self.stored(row)

    def answered(self, questions: Iterable[str]) -> set[str]:
        """Of these questions the ones that were charged."""
        known = self.connection.execute
        return {one for one in questions if known(_CHARGED, (one,)).fetchone() is not None}

    def questions(self, data_version: str, most: int | None) -> list[str]:
        """The questions answered on a data version by the names they have now, newest first."""
        rows = self.connection.execute(
            "SELECT coalesce(c.question, l.question) FROM log l "
            "LEFT JOIN carried c ON c.answer = l.question WHERE l.question IS NOT NULL "
            "AND json_extract(l.body, '$.data_version') = ? ORDER BY l.seq DESC LIMIT ?",
            (data_version, -1 if most is None else most),
        )
        return list(dict.fromkeys(row[0] for row in rows))

    def data_versions(self, after: int) -> tuple[int, list[str]]:
        """The last row, and the data versions that questions were answered on after row `after`."""
        rows = self.connection.execute(
            "SELECT json_extract(body, '$.data_version') FROM log "
            "WHERE question IS NOT NULL AND seq > ? ORDER BY seq",
            (after,),
        )
        versions = list(dict.fromkeys(row[0] for row in rows))
        return self.end()[0], versions

    def beside(self) -> Beside:
        """All tables beside the log; older forms lack some."""
        execute, form = self.connection.execute, form_of(self.connection)
        answers = {}
        for question, seq, said, size, inline in execute(
            "SELECT question, seq, digest, size, length(measurements) FROM answers"
        ):
            on_disk = self.files.size(said) if inline is None else inline
            answers[question] = (seq, said, size if on_disk == size else on_disk)
        requests = {
            (user, key): request
            for user, key, request in execute("SELECT user, key, request FROM requests")
        }
        questions, carried = {seq: question for question, (seq, _, _) in answers.items()}, {}
        if form == FORM:
            rows = execute("SELECT seq, question FROM log WHERE question IS NOT NULL")
            questions = dict(rows.fetchall())
        if form != OLDEST_FORM:
            rows = execute("SELECT answer, question, form FROM carried")
            carried = {answer: (question, form) for answer, question, form in rows}
        return Beside(self.sums(), answers, questions, requests, carried)

    def contents(self) -> Iterator[tuple[str, str, bytes | None]]:
        """Question, digest and measurements of every answer; None where those are missing."""
        for question, name, content in self.connection.execute(
            "SELECT question, digest, measurements FROM answers"
        ):
            yield question, name, self.files.read(name) if content is None else content

    def stored(self, row: tuple[Any, ...]) -> StoredAnswer:
        """An answer from its row."""
        question, name, content, *rest = row
        if content is None:
            content = self.files.read(name)
        return self.stored_answer((question, name, *rest), content)
