"""Is a ledger whole? Chain, sums, anchors, indexes, measurements; and the making of a new one."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from ..core.charge import Charge, sum_of
from ..core.loss import loss_from_json
from ..durable import make_folder, plain_errors
from ..errors import InputError, LedgerDamaged, StoreError
from ..file_names import ANCHOR, STORE
from .anchors import RECENT, Anchor, OuterAnchor, lines_in
from .base import DATASET, Verified
from .chain import START, Account, canonical, damaged, digest, follow, link, moment, scopes_of
from .database import (
    FORM,
    OLDEST_FORM,
    check_tables,
    connect,
    create_tables,
    form_of,
    in_words,
    transaction,
)
from .ledger_transaction import loss_text
from .measurement_files import MeasurementFiles


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
                raise _gone(noted, name)
            raise StoreError(f"There is no ledger in {folder.name}. Nothing has been charged yet.")
        with closing(connect(path)) as connection:
            files = MeasurementFiles(folder)
            (seq, head), account = checked(connection, noted, None, files, name)
            outer = OuterAnchor(account.ledger, name)
            outside = compare_outside(connection, outer, name, folder)
            if copy is not None:
                compare_copy(connection, account.ledger, Path(copy), name, folder)
            for question, digest_said, content in connection.execute(
                "SELECT question, digest, measurements FROM answers"
            ):
                whole = files.read(digest_said) if content is None else content
                if whole is None or digest(whole) != digest_said:
                    raise LedgerDamaged(
                        f"{name} is damaged: the measurements of entry "
                        f"{account.answers[question][0]} are missing or are not those that were "
                        "charged. Nothing is answered; restore them from a copy."
                    )
    anchored, spent = noted.seq if noted else 0, account.spent.get(DATASET)
    return Verified(account.dataset, seq, len(account.answers), head, anchored, outside, spent)


def create_if_new(
    path: Path, anchor_path: Path, dataset: str, clock: Callable[[], float], synchronous: str
) -> None:
    """Make the database with its first entry, unless there is or was one; holds the lock."""
    noted = Anchor.read(anchor_path)
    if noted is not None:
        if not path.exists() or path.stat().st_size == 0:
            raise _gone(noted, f"The ledger of {dataset}")
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


def checked(
    connection: sqlite3.Connection,
    noted: Anchor | None,
    dataset: str | None,
    files: MeasurementFiles,
    name: str,
    form: int = FORM,
    *,
    behind: bool = False,
) -> tuple[tuple[int, str], Account]:
    """Chain, sums, inner anchor, indexes, and that every answer is where the log says.

    With `behind` the ledger may lack the row that the inner anchor knows.
    """
    connection.execute("BEGIN")
    try:
        check_tables(connection, form, name)
        account = Account()
        rows = connection.execute("SELECT seq, body, hash FROM log ORDER BY seq").fetchall()
        seq, head = follow(rows, 0, START, account, name)
        if noted is None:
            raise LedgerDamaged(
                f"{name} has lost its anchor. Nothing is answered; put it back from a copy."
            )
        if dataset is not None and account.dataset != dataset:
            raise LedgerDamaged(
                f"This is the ledger of {account.dataset}, not of {dataset}. "
                "Nothing is answered; put the right files back."
            )
        if (noted.dataset, noted.ledger) != (account.dataset, account.ledger):
            raise LedgerDamaged(
                f"{name} and its anchor belong to different ledgers. "
                "Nothing is answered; put the right files back."
            )
        if not behind and not knows(connection, noted):
            raise LedgerDamaged(
                f"{name} was rolled back or rewritten: its anchor knows entry {noted.seq}, "
                f"the ledger ends at {seq} or has another entry there. Nothing is answered; "
                "restore the newest copy."
            )
        _compare(connection, account, files, name)
        # scans do not look at indexes, and questions are found by them
        if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
            raise damaged("SQLite finds its tables and indexes inconsistent", name)
    finally:
        connection.execute("ROLLBACK")
    return (seq, head), account


def last_row(connection: sqlite3.Connection, account: Account) -> Anchor:
    """The newest row, as anchors note it."""
    end = connection.execute("SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1").fetchone()
    _, spent = stored_sums(connection).get(DATASET, ("", ""))
    return Anchor(account.dataset, account.ledger, end[0], end[1], spent)


def past_rows(connection: sqlite3.Connection) -> list[Anchor]:
    """Rows with what was spent up to them: the last ones, and some of those before."""
    account, anchors = Account(), []
    rows = connection.execute("SELECT seq, body, hash FROM log ORDER BY seq").fetchall()
    early = max(0, len(rows) - RECENT)
    chosen = {*range(0, early, early // RECENT + 1), *range(early, len(rows))}
    for place, (seq, text, stored) in enumerate(rows):
        account.add(seq, json.loads(text))
        if place in chosen:
            spent = account.spent.get(DATASET)
            said = "" if spent is None else loss_text(spent)
            anchors.append(Anchor(account.dataset, account.ledger, seq, stored, said))
    return anchors


def knows(connection: sqlite3.Connection, noted: Anchor) -> bool:
    """Whether a ledger has a row, or has accepted that it lost it."""
    row = connection.execute("SELECT hash FROM log WHERE seq = ?", (noted.seq,)).fetchone()
    if row == (noted.hash,):
        return True
    restores = connection.execute(
        "SELECT body FROM log WHERE json_extract(body, '$.kind') = 'restore'"
    )
    return any([noted.seq, noted.hash] in json.loads(body)["lost"] for (body,) in restores)


def compare_outside(
    connection: sqlite3.Connection, outer: OuterAnchor, name: str, folder: Path
) -> int | None:
    """Raise where a line noted outside of the workspace is not of this ledger; the last entry."""
    lines = outer.unseen()
    try:
        _compare_lines(connection, lines, f"{outer.path}", name, folder)
    except LedgerDamaged:
        outer.forget()
        raise
    return outer.last


def compare_copy(
    connection: sqlite3.Connection, ledger: str, path: Path, name: str, folder: Path
) -> None:
    """Raise where a line of a copy kept elsewhere is not of this ledger."""
    _compare_lines(connection, read_copy(path, ledger, name), f"{path}", name, folder)


def read_copy(path: Path, ledger: str, name: str) -> list[Anchor]:
    """The lines of a copy of an anchor that are about this ledger; there must be one."""
    with plain_errors(f"Reading {path}"):
        lines = lines_in(path.read_bytes(), ledger)
    if not lines:
        raise InputError(f"{path} holds no anchor of this ledger. {name} has the id {ledger}.")
    return lines


def _compare_lines(
    connection: sqlite3.Connection, lines: Sequence[Anchor], where: str, name: str, folder: Path
) -> None:
    unknown = [line for line in lines if not knows(connection, line)]
    if not unknown:
        return
    newest = max(unknown, key=lambda line: line.seq)
    end = connection.execute("SELECT max(seq) FROM log").fetchone()[0]
    here = f"ends at entry {end}" if end < newest.seq else "has another entry there"
    raise LedgerDamaged(
        f"{name} is not the newest: {where} knows entry {newest.seq}, and this one {here}. The folder "
        "was restored from a backup, or a copy of it was charged meanwhile. Nothing is answered; put "
        "the newest folder back, or, if it is lost or both are to go on, run `discreet ledger "
        f"accept-restore {folder} --reason …`, which counts what was spent there."
    )


def stored_sums(connection: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Cap and loss of each scope, as they are stored."""
    rows = connection.execute("SELECT scope, cap, spent FROM scopes")
    return {scope: (cap, spent) for scope, cap, spent in rows}


def sums_of(account: Account) -> dict[str, tuple[str, str]]:
    """Cap and loss of each scope, as they follow from the log."""
    return {s: (loss_text(cap), loss_text(account.spent[s])) for s, cap in account.caps.items()}


def sums_after(
    connection: sqlite3.Connection,
    sums: dict[str, tuple[str, str]],
    rows: list[tuple[int, str, str]],
) -> dict[str, tuple[str, str]]:
    """The sums once further rows have been counted."""
    bodies = [json.loads(text) for _, text, _ in rows]
    if any(body["kind"] != "charge" for body in bodies):  # a cap counts what was before it
        account = Account()
        log = connection.execute("SELECT seq, body, hash FROM log ORDER BY seq").fetchall()
        follow(log, 0, START, account)
        return sums_of(account)
    after = dict(sums)
    for body in bodies:
        charges = [Charge.from_json(stored) for stored in body["charges"]]
        for scope in after.keys() & scopes_of(body["user"], body["project"]):
            cap, spent = after[scope]
            total = loss_from_json(json.loads(spent))
            after[scope] = (cap, loss_text(total + sum_of(total.kind, charges)))
    return after


def _compare(
    connection: sqlite3.Connection, account: Account, files: MeasurementFiles, name: str
) -> None:
    """The tables beside the log must say what the log adds up to."""
    answers = {}
    for question, seq, said, size, inline in connection.execute(
        "SELECT question, seq, digest, size, length(measurements) FROM answers"
    ):
        on_disk = files.size(said) if inline is None else inline
        answers[question] = (seq, said, size if on_disk == size else on_disk)
    rows = connection.execute("SELECT user, key, request FROM requests")
    requests = {(user, key): request for user, key, request in rows}
    charged = {seq: question for question, (seq, _, _) in account.answers.items()}
    questions, carried = charged, {}
    if form_of(connection) == FORM:
        rows = connection.execute("SELECT seq, question FROM log WHERE question IS NOT NULL")
        questions = dict(rows.fetchall())
    if form_of(connection) != OLDEST_FORM:
        rows = connection.execute("SELECT answer, question, form FROM carried")
        carried = {answer: (question, form) for answer, question, form in rows}
    for what, stored, logged in (
        ("sums", stored_sums(connection), sums_of(account)),
        ("answers", answers, account.answers),
        ("questions", questions, charged),
        ("requests", requests, account.requests),
        ("answers carried over", carried, account.carried),
    ):
        if stored != logged:
            raise damaged(f"its {what} do not agree with its log", name)


def _gone(noted: Anchor, name: str) -> LedgerDamaged:
    return LedgerDamaged(
        f"{name} is gone, but its anchor knows {noted.seq} entries. Nothing is answered; "
        "restore the newest copy."
    )
