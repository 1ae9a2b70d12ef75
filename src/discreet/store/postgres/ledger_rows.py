"""The rows of a ledger in Postgres, within a transaction of the caller's.

A caller in a pipeline gets all that a decision needs in one round trip: every statement of `state` is
sent before the first answer is waited for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..base import StoredAnswer
from ..chain import START, Account, damaged, follow
from ..ledger_rows import Beside, LedgerRows
from ..ledger_state import HeldBudget, LedgerState, Needs, Sums
from .connection import SETTINGS, check_durable

if TYPE_CHECKING:
    import psycopg

_ANSWERS = (
    "SELECT coalesce(c.question, a.question), a.digest, a.measurements, l.seq, l.body, l.hash, c.form "
    "FROM {s}.ledger_answers a JOIN {s}.ledger_log l ON l.dataset = a.dataset AND l.seq = a.seq "
    "LEFT JOIN {s}.ledger_carried c ON c.dataset = a.dataset AND c.answer = a.question "
    "WHERE a.dataset = %(d)s "
)
_NAMED = (
    "AND a.question = coalesce((SELECT question FROM {s}.ledger_answers WHERE dataset = %(d)s AND "
    "question = %(q)s), (SELECT n.answer FROM {s}.ledger_carried n JOIN {s}.ledger_answers b "
    "ON b.dataset = n.dataset AND b.question = n.answer WHERE n.dataset = %(d)s AND "
    "n.question = %(q)s ORDER BY b.seq LIMIT 1))"
)
_CHARGED = (
    "SELECT question FROM {s}.ledger_answers WHERE dataset = %(d)s AND question = ANY(%(q)s) "
    "UNION SELECT question FROM {s}.ledger_carried WHERE dataset = %(d)s AND question = ANY(%(q)s)"
)
_CHARGED_OR_HELD = (
    "WITH asked AS (SELECT unnest(%(q)s::text[]) AS question UNION SELECT question FROM "
    "{s}.ledger_holds WHERE dataset = %(d)s) SELECT question FROM asked WHERE EXISTS (SELECT 1 FROM "
    "{s}.ledger_answers a WHERE a.dataset = %(d)s AND a.question = asked.question) OR EXISTS (SELECT "
    "1 FROM {s}.ledger_carried c WHERE c.dataset = %(d)s AND c.question = asked.question)"
)
_HEAD = (
    "SELECT hash FROM {s}.ledger_log WHERE dataset = %(d)s AND seq = (SELECT max(seq) FROM "
    "{s}.ledger_answers WHERE dataset = %(d)s)"
)
_HOLDS = "SELECT id, who, project, charges, expires FROM {s}.ledger_holds WHERE dataset = %(d)s"
_SUMS = "SELECT scope, cap, spent FROM {s}.ledger_scopes WHERE dataset = %(d)s"
_LOG = (
    "SELECT seq, body, hash FROM {s}.ledger_log WHERE dataset = %(d)s AND seq > %(a)s "
    "ORDER BY seq LIMIT %(m)s"
)
_REQUESTS = (
    "SELECT r.who, r.key, r.request FROM {s}.ledger_requests r JOIN unnest(%(w)s::text[], "
    "%(k)s::text[]) AS asked (who, key) ON r.who = asked.who AND r.key = asked.key "
    "WHERE r.dataset = %(d)s"
)
_LOCK = "SELECT seq, hash FROM {s}.ledger_heads WHERE dataset = %(d)s FOR UPDATE"
"""A statement of its own: what a statement that waits for a row reads elsewhere is of before the wait."""
_END = "SELECT seq, hash FROM {s}.ledger_heads WHERE dataset = %(d)s"
_INSERT_LOG = "INSERT INTO {s}.ledger_log VALUES (%(d)s, %(seq)s, %(body)s, %(hash)s, %(question)s)"
# A body as JSON of Postgres, which has no \u0000: a reason that holds one must not stop reading.
_RESTORES = (
    "SELECT body FROM {s}.ledger_log WHERE dataset = %(d)s AND question IS NULL AND "
    r"replace(body, '\u0000', '\ufffd')::jsonb ->> 'kind' = 'restore'"
)
_QUESTIONS = (
    "SELECT coalesce(c.question, l.question) FROM {s}.ledger_log l LEFT JOIN {s}.ledger_carried c "
    "ON c.dataset = l.dataset AND c.answer = l.question WHERE l.dataset = %(d)s AND l.question IS "
    r"NOT NULL AND replace(l.body, '\u0000', '\ufffd')::jsonb ->> 'data_version' = %(v)s "
    "ORDER BY l.seq DESC LIMIT %(m)s"
)
_VERSIONS = (
    r"SELECT replace(body, '\u0000', '\ufffd')::jsonb ->> 'data_version' FROM {s}.ledger_log WHERE "
    "dataset = %(d)s AND question IS NOT NULL AND seq > %(a)s ORDER BY seq"
)
# Dividing fails, before anything is committed, where no row was changed.
_SPEND = (
    "WITH changed AS (UPDATE {s}.ledger_scopes SET cap = %(cap)s, spent = %(spent)s WHERE "
    "dataset = %(d)s AND scope = %(scope)s AND cap = %(was_cap)s AND spent = %(was_spent)s "
    "RETURNING 1) SELECT 1 / count(*) FROM changed"
)
_MOVE = (
    "WITH changed AS (UPDATE {s}.ledger_heads SET seq = %(seq)s, hash = %(hash)s WHERE "
    "dataset = %(d)s AND seq = %(was)s RETURNING 1) SELECT 1 / count(*) FROM changed"
)


class PostgresRows(LedgerRows):
    """What is read and written of one ledger's rows within a transaction."""

    restored_words = (
        "The database was restored from a backup or failed over to a copy that lacks entries."
    )
    whole = "database"

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        schema: str,
        dataset: str,
        clock: Callable[[], float] | None,
        name: str = "",
    ) -> None:
        self.connection = connection
        self.dataset = dataset
        self.name = name or f"The ledger of {dataset}"
        self.clock = clock
        self._schema = f'"{schema}"'
        self._was: tuple[tuple[int, str], Sums] = ((0, ""), {})

    def run(self, sql: str, /, *, binary: Any = False, **values: Any) -> psycopg.Cursor[Any]:
        """One statement about this ledger; within a pipeline nothing is waited for."""
        text = sql.replace("{s}", self._schema).encode()
        return self.connection.execute(text, {"d": self.dataset, **values}, binary=binary)

    def state(self, needs: Needs, *, after: int | None = None, content: bool = True) -> LedgerState:
        """What decisions need, in one round trip; with `after` under the lock, to write."""
        writing = after is not None
        end = self.run(_LOCK if writing else _END)
        settings = self.connection.execute(SETTINGS)
        sums, holds = self.run(_SUMS), self.run(_HOLDS)
        charged = self.run(_CHARGED_OR_HELD, q=list(needs.questions))
        users, keys = [list(part) for part in zip(*needs.requests, strict=True)] or ([], [])
        requests = self.run(_REQUESTS, w=users, k=keys)
        head = self.run(_HEAD)
        since = self.run(_LOG, a=(after or 1) - 1, m=None) if writing else None
        row, facts = end.fetchone(), settings.fetchone()
        assert facts is not None
        if row is None:
            raise damaged("its rows are gone from the database", self.name)
        if writing:
            check_durable(facts, self.name)
        answered = {question for (question,) in charged.fetchall()}
        answers = {}
        for question in answered.intersection(needs.questions) if content else ():
            answer = self.answer(question)
            if answer is not None:
                answers[question] = answer
        last = head.fetchone()
        stored = {scope: (cap, spent) for scope, cap, spent in sums.fetchall()}
        self._was = (row, dict(stored))
        return LedgerState(
            self.dataset,
            facts[0] if self.clock is None else self.clock(),
            row,
            "" if last is None else last[0],
            stored,
            {row[0]: HeldBudget.read(*row) for row in holds.fetchall()},
            answers,
            answered,
            {(who, key): request for who, key, request in requests.fetchall()},
            since=[] if since is None else since.fetchall(),
            account=self.account()[1] if needs.account else None,
        )

    def write(self, state: LedgerState) -> None:
        """Send what was decided on the state read last; a row that is not as it was stops it all."""
        changes, (end, sums) = state.changes, self._was
        for seq, body, stored, question in changes.log:
            self.run(_INSERT_LOG, seq=seq, body=body, hash=stored, question=question)
        for answer in changes.answers:
            self.run(
                "INSERT INTO {s}.ledger_answers VALUES (%(d)s, %(q)s, %(seq)s, %(n)s, %(b)s, %(m)b)",
                **dict(zip(["q", "seq", "n", "b", "m"], answer, strict=True)),
            )
        for request in changes.requests:
            self.run(
                "INSERT INTO {s}.ledger_requests VALUES (%(d)s, %(w)s, %(k)s, %(r)s, %(q)s)",
                **dict(zip("wkrq", request, strict=True)),
            )
        for scope in changes.scopes:
            self._write_sum(scope, sums.get(scope), state.sums.get(scope))
        for identity in changes.holds:
            self.run(
                "DELETE FROM {s}.ledger_holds WHERE dataset = %(d)s AND id = %(i)s", i=identity
            )
            if identity in state.holds:
                self._write_hold(state.holds[identity])
        if state.end != end:
            self.run(_MOVE, seq=state.end[0], hash=state.end[1], was=end[0])

    def _write_sum(
        self, scope: str, before: tuple[str, str] | None, now: tuple[str, str] | None
    ) -> None:
        if before is None and now is not None:
            insert = "INSERT INTO {s}.ledger_scopes VALUES (%(d)s, %(scope)s, %(cap)s, %(spent)s)"
            self.run(insert, scope=scope, cap=now[0], spent=now[1])
        elif now is None:
            delete = "DELETE FROM {s}.ledger_scopes WHERE dataset = %(d)s AND scope = %(scope)s"
            self.run(delete, scope=scope)
        elif before is not None:
            was = {"was_cap": before[0], "was_spent": before[1]}
            self.run(_SPEND, scope=scope, cap=now[0], spent=now[1], **was)

    def _write_hold(self, hold: HeldBudget) -> None:
        self.run(
            "INSERT INTO {s}.ledger_holds VALUES (%(d)s, %(i)s, %(w)s, %(p)s, %(q)s, %(c)s, %(e)s)",
            i=hold.id,
            w=hold.user,
            p=hold.project,
            q=hold.charges[0].question,
            c=hold.stored,
            e=hold.expires,
        )

    def log(self, after: int = 0, most: int | None = None) -> list[tuple[int, str, str]]:
        """Rows of the log in order."""
        return self.run(_LOG, a=after, m=most).fetchall()

    def row(self, seq: int) -> str | None:
        """The hash of one row."""
        one = "SELECT hash FROM {s}.ledger_log WHERE dataset = %(d)s AND seq = %(n)s"
        row = self.run(one, n=seq).fetchone()
        return None if row is None else str(row[0])

    def restores(self) -> list[str]:
        """The texts of all rows of kind `restore`."""
        return [body for (body,) in self.run(_RESTORES).fetchall()]

    def end(self) -> tuple[int, str]:
        """Number and hash of the last row; that of the log and the noted one must agree."""
        row = self.run(_END).fetchone()
        if row is None:
            raise damaged("its rows are gone from the database", self.name)
        return row[0], row[1]

    def head(self) -> str:
        """The hash of the last row that answers something; empty where there is none."""
        row = self.run(_HEAD).fetchone()
        return "" if row is None else str(row[0])

    def sums(self) -> Sums:
        """Cap and loss of each scope, as they are stored."""
        return {scope: (cap, spent) for scope, cap, spent in self.run(_SUMS).fetchall()}

    def answer(self, question: str) -> StoredAnswer | None:
        """The stored answer to a question, checked against its digest."""
        row = self.run(_ANSWERS + _NAMED, binary=True, q=question).fetchone()
        return None if row is None else self._stored(row)

    def answers(self, data_version: str | None) -> Iterator[StoredAnswer]:
        """Every answer, or those of one data version, oldest first."""
        for row in self.run(_ANSWERS + "ORDER BY a.seq", binary=True).fetchall():
            if data_version in (None, json.loads(row[4])["data_version"]):
                yield self._stored(row)

    def answered(self, questions: Iterable[str]) -> set[str]:
        """Of these questions the ones that were charged."""
        return {row[0] for row in self.run(_CHARGED, q=list(questions)).fetchall()}

    def questions(self, data_version: str, most: int | None) -> list[str]:
        """The questions answered on a data version by the names they have now, newest first."""
        rows = self.run(_QUESTIONS, v=data_version, m=most)
        return list(dict.fromkeys(row[0] for row in rows.fetchall()))

    def data_versions(self, after: int) -> tuple[int, list[str]]:
        """The last row, and the data versions that questions were answered on after row `after`."""
        rows = self.run(_VERSIONS, a=after)
        versions = list(dict.fromkeys(row[0] for row in rows.fetchall()))
        return self.end()[0], versions

    def account(self) -> tuple[tuple[int, str], Account]:
        """The end of the log, which must be the noted one, and what the log adds up to."""
        account = Account()
        end = follow(self.log(), 0, START, account, self.name)
        if end != self.end():
            raise damaged("its end and its log disagree", self.name)
        return end, account

    def beside(self) -> Beside:
        """All tables beside the log."""
        answers = self.run(
            "SELECT question, seq, digest, size, length(measurements) FROM {s}.ledger_answers "
            "WHERE dataset = %(d)s"
        ).fetchall()
        requests = self.run(
            "SELECT who, key, request FROM {s}.ledger_requests WHERE dataset = %(d)s"
        ).fetchall()
        questions = self.run(
            "SELECT seq, question FROM {s}.ledger_log WHERE dataset = %(d)s AND question IS NOT NULL"
        ).fetchall()
        carried = self.run(
            "SELECT answer, question, form FROM {s}.ledger_carried WHERE dataset = %(d)s"
        ).fetchall()
        return Beside(
            self.sums(),
            {
                q: (seq, said, size if there == size else there)
                for q, seq, said, size, there in answers
            },
            dict(questions),
            {(who, key): request for who, key, request in requests},
            {answer: (question, form) for answer, question, form in carried},
        )

    def contents(self) -> Iterator[tuple[str, str, bytes | None]]:
        """Question, digest and measurements of every answer."""
        some, after = 100, 0
        while True:
            rows = self.run(
                "SELECT question, digest, measurements, seq FROM {s}.ledger_answers WHERE "
                "dataset = %(d)s AND seq > %(a)s ORDER BY seq LIMIT %(m)s",
                binary=True,
                a=after,
                m=some,
            ).fetchall()
            for question, name, content, _ in rows:
                yield question, name, bytes(content)
            if len(rows) < some:
                return
            after = rows[-1][3]

    def _stored(self, row: tuple[Any, ...]) -> StoredAnswer:
        question, name, content, *rest = row
        return self.stored_answer((question, name, *rest), bytes(content))
