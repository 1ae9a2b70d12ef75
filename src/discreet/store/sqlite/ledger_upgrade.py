"""A ledger of an older form, brought to today's in one transaction.

Version 0.1 knew an answer by the words of its question. An upgrade gives answers the names they are
asked by now; where two meet in one name, the earlier one answers and both stay charged. The log is not
rewritten: an entry of kind `upgrade` says which answer has which name, and the table `carried` follows
from it as sums and answers follow from charges. Killed at any moment, the ledger is of the old form or
of the new one. Version 0.1 refuses the new form with a sentence when it opens it; where it had the
ledger open, its rows lack a column of the new form and are refused. Nothing is spent here: the anchor
outside of the workspace is compared when the ledger is next opened.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...file_names import ANCHOR, LEDGER_LOCK, STORE
from ...version import __version__
from ..anchors import Anchor
from ..base import StoredAnswer
from ..chain import Account, canonical, link, moment
from ..lock import FairLock
from ..measurement_files import MeasurementFiles
from ..place import place_of
from ..verification import last_row
from .database import connect, in_words, transaction
from .ledger import checked_file, reading
from .ledger_rows import SqliteRows
from .ledger_tables import FORM, OLD_FORMS, form_of, upgrade_tables

_CHARGED = (
    "SELECT a.question, a.digest, a.measurements, l.seq, l.body, l.hash, NULL "
    "FROM answers a JOIN log l ON l.seq = a.seq WHERE a.question = ?"
)


@dataclass(frozen=True)
class Carried:
    """The name an answer has now, and its question in canonical form, before and now."""

    answer: str
    question: str
    form: Mapping[str, Any]
    old_form: Mapping[str, Any]


class OldLedger:
    """A ledger that may be of an older form, while nobody else writes to it."""

    def __init__(self, folder: Path, connection: sqlite3.Connection, account: Account) -> None:
        self.old = form_of(connection) in OLD_FORMS
        self._folder, self._connection, self._account = folder, connection, account
        files = MeasurementFiles(folder)
        self._rows = SqliteRows(connection, account.dataset, files, time.time)

    @property
    def names(self) -> dict[str, str]:
        """The names of answers that answer by them: of two that meet the earlier one."""
        first: dict[str, str] = {}
        for answer in self._account.answers:
            if answer in self._account.carried:
                first.setdefault(self._account.carried[answer][0], answer)
        return {answer: question for question, answer in first.items()}

    def answers(self) -> Iterator[StoredAnswer]:
        """The answers that have no name of today yet, oldest first."""
        for question in [*self._account.answers]:
            if question not in self._account.carried:
                row = self._connection.execute(_CHARGED, (question,)).fetchone()
                yield self._rows.stored(row)

    def carry(self, carried: Sequence[Carried]) -> None:
        """Give answers their names; durable when this returns."""
        with transaction(self._connection) as connection:
            if self.old:
                charged = self._account.answers.items()
                upgrade_tables(connection, {seq: question for question, (seq, _, _) in charged})
            body = {
                "kind": "upgrade",
                "at": moment(time.time()),
                "software": f"discreet {__version__}",
                "carried": [asdict(one) for one in carried],
            }
            (seq, head), text = self._rows.end(), canonical(body)
            row = (seq + 1, text, link(head, text), None)
            connection.execute("INSERT INTO log VALUES (?, ?, ?, ?)", row)
            connection.executemany(
                "INSERT INTO carried VALUES (?, ?, ?)",
                [(one.answer, one.question, canonical(one.form)) for one in carried],
            )
            anchor = last_row(self._rows, self._account)
        self._account.add(anchor.seq, body)
        anchor.write(self._folder / ANCHOR)


@contextmanager
def old_ledger(folder: Path) -> Iterator[OldLedger | None]:
    """The ledger in `folder`, verified and locked; None where there is none."""
    shared = place_of(folder.resolve().parent) is not None
    if not (folder / STORE).exists() and (shared or not (folder / ANCHOR).exists()):
        yield None
        return
    name = f"The ledger of {folder.name}"
    with in_words(name):
        lock = closing(FairLock(folder / LEDGER_LOCK))
        with lock as taken, taken, closing(connect(folder / STORE)) as connection:
            noted, files = Anchor.read(folder / ANCHOR), MeasurementFiles(folder)
            form = form_of(connection)
            expected = form if form in OLD_FORMS else FORM
            rows = SqliteRows(connection, folder.name, files, time.time, name)
            with reading(connection):
                _, account = checked_file(rows, noted, None, expected)
            yield OldLedger(folder, connection, account)
