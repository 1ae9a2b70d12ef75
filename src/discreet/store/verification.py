"""Is a ledger whole? Chain, sums, anchor and measurements; and the making of a new one."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ..errors import LedgerDamaged, StoreError
from ..file_names import ANCHOR, STORE
from .base import DATASET, Verified
from .chain import START, Account, Anchor, canonical, damaged, digest, follow, link, moment
from .database import FORM, check_tables, connect, create_tables, form_of, in_words, transaction
from .ledger_transaction import loss_text
from .measurement_files import MeasurementFiles


def verify(folder: str | Path, *, anchor: str | Path | None = None) -> Verified:
    """Check chain, sums, anchor and every measurement of the ledger in `folder`, or raise."""
    folder = Path(folder)
    path = folder / STORE
    noted_in = folder / ANCHOR if anchor is None else Path(anchor)
    with in_words(f"The ledger in {folder.name}"):
        noted = Anchor.read(noted_in)
        if not path.exists():
            if noted is not None:
                raise _gone(noted)
            raise StoreError(f"There is no ledger in {folder.name}. Nothing has been charged yet.")
        with closing(connect(path)) as connection:
            files = MeasurementFiles(folder)
            (seq, head), account = checked(connection, noted, None, files)
            for question, name, content in connection.execute(
                "SELECT question, digest, measurements FROM answers"
            ):
                whole = files.read(name) if content is None else content
                if whole is None or digest(whole) != name:
                    raise LedgerDamaged(
                        "The ledger is damaged: the measurements of entry "
                        f"{account.answers[question][0]} are missing or are not those that were "
                        "charged. Nothing is answered; restore them from a copy."
                    )
            whole_file = connection.execute("PRAGMA integrity_check").fetchone()[0]
            if whole_file != "ok":
                raise LedgerDamaged("The ledger is damaged: SQLite finds the file inconsistent.")
    anchored, spent = noted.seq if noted else 0, account.spent.get(DATASET)
    return Verified(account.dataset, seq, len(account.answers), head, anchored, spent)


def create_if_new(
    path: Path, anchor_path: Path, dataset: str, clock: Callable[[], float], synchronous: str
) -> None:
    """Make the database with its first entry, unless there is or was one; holds the lock."""
    noted = Anchor.read(anchor_path)
    if noted is not None:
        if not path.exists() or path.stat().st_size == 0:
            raise _gone(noted)
        return
    anchor_path.parent.mkdir(parents=True, exist_ok=True)
    with closing(connect(path, create=True, synchronous=synchronous)) as connection:
        with transaction(connection):
            if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                create_tables(connection)
                opened = {"kind": "open", "dataset": dataset, "at": moment(clock())}
                body = canonical({**opened, "ledger": secrets.token_hex(16)})
                first = (1, body, link(START, body))
                connection.execute("INSERT INTO log VALUES (?, ?, ?)", first)
            check_tables(connection)
            rows = connection.execute("SELECT seq, body, hash FROM log ORDER BY seq LIMIT 2")
            first_two = rows.fetchall()
        if len(first_two) != 1:
            raise LedgerDamaged(
                f"The ledger's anchor {anchor_path.name} is missing. Nothing is answered; put the "
                "anchor back from a copy."
            )
        account = Account()
        seq, head = follow(first_two, 0, START, account)
        Anchor(account.dataset, account.ledger, seq, head).write(anchor_path)


def checked(
    connection: sqlite3.Connection,
    noted: Anchor | None,
    dataset: str | None,
    files: MeasurementFiles,
    form: int = FORM,
) -> tuple[tuple[int, str], Account]:
    """Chain, sums, anchor, and that every answer is where the log says."""
    connection.execute("BEGIN")
    try:
        check_tables(connection, form)
        account = Account()
        rows = connection.execute("SELECT seq, body, hash FROM log ORDER BY seq").fetchall()
        seq, head = follow(rows, 0, START, account)
        if noted is None:
            raise LedgerDamaged(
                "The ledger's anchor is missing. Nothing is answered; put it back from a copy."
            )
        if dataset is not None and account.dataset != dataset:
            raise LedgerDamaged(
                f"This is the ledger of {account.dataset}, not of {dataset}. "
                "Nothing is answered; put the right files back."
            )
        if (noted.dataset, noted.ledger) != (account.dataset, account.ledger):
            raise LedgerDamaged(
                "The ledger and its anchor belong to different ledgers. "
                "Nothing is answered; put the right files back."
            )
        if noted.seq > seq or rows[noted.seq - 1][2] != noted.hash:
            raise LedgerDamaged(
                f"The ledger was rolled back or rewritten: its anchor knows entry {noted.seq}, "
                f"the ledger ends at {seq} or has another entry there. Nothing is answered; "
                "restore the newest copy."
            )
        _compare(connection, account, files)
    finally:
        connection.execute("ROLLBACK")
    return (seq, head), account


def _compare(connection: sqlite3.Connection, account: Account, files: MeasurementFiles) -> None:
    """The tables beside the log must say what the log adds up to."""
    rows = connection.execute("SELECT scope, cap, spent FROM scopes")
    scopes = {scope: (cap, spent) for scope, cap, spent in rows}
    added = {s: (loss_text(cap), loss_text(account.spent[s])) for s, cap in account.caps.items()}
    answers = {}
    for question, seq, name, size, inline in connection.execute(
        "SELECT question, seq, digest, size, length(measurements) FROM answers"
    ):
        on_disk = files.size(name) if inline is None else inline
        answers[question] = (seq, name, size if on_disk == size else on_disk)
    rows = connection.execute("SELECT user, key, request FROM requests")
    requests = {(user, key): request for user, key, request in rows}
    carried = {}
    if form_of(connection) == FORM:
        rows = connection.execute("SELECT answer, question, form FROM carried")
        carried = {answer: (question, form) for answer, question, form in rows}
    for what, stored, logged in (
        ("sums", scopes, added),
        ("answers", answers, account.answers),
        ("requests", requests, account.requests),
        ("answers carried over", carried, account.carried),
    ):
        if stored != logged:
            raise damaged(f"its {what} do not agree with its log")


def _gone(noted: Anchor) -> LedgerDamaged:
    return LedgerDamaged(
        f"The ledger is gone, but its anchor knows {noted.seq} entries. Nothing is answered; "
        "restore the newest copy."
    )
