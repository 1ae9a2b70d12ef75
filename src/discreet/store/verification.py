"""Is a ledger whole? Chain, sums, anchors, tables and measurements, wherever its rows lie."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Sequence
from pathlib import Path

from ..core.charge import Charge, sum_of
from ..core.loss import loss_from_json
from ..durable import plain_errors
from ..errors import InputError, LedgerDamaged
from .anchors import RECENT, Anchor, OuterAnchor, lines_in
from .base import DATASET, Verified
from .chain import Account, damaged, digest, follow, scopes_of
from .ledger_rows import LedgerRows
from .ledger_state import LedgerState, Sums, loss_text


def checked(
    rows: LedgerRows, noted: Anchor | None, dataset: str | None, *, behind: bool = False
) -> tuple[tuple[int, str], Account]:
    """Chain, sums, inner anchor, and that every answer is where the log says.

    With `behind` the ledger may lack the row that the inner anchor knows.
    """
    name = rows.name
    end, account = rows.account()
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
    if not behind and not knows(rows, noted):
        raise LedgerDamaged(
            f"{name} was rolled back or rewritten: its anchor knows entry {noted.seq}, "
            f"the ledger ends at {end[0]} or has another entry there. Nothing is answered; "
            "restore the newest copy."
        )
    _compare(rows, account)
    return end, account


def verified(
    rows: LedgerRows,
    noted: Anchor | None,
    whole: tuple[tuple[int, str], Account],
    folder: Path,
    copy: str | Path | None,
) -> Verified:
    """What `checked` found in order (`whole`); then the anchors outside, and every measurement."""
    (seq, head), account = whole
    outer = OuterAnchor(account.ledger, rows.name)
    outside = compare_outside(rows, outer, folder)
    if copy is not None:
        compare_copy(rows, account.ledger, Path(copy), folder)
    for question, said, content in rows.contents():
        if content is None or digest(content) != said:
            raise LedgerDamaged(
                f"{rows.name} is damaged: the measurements of entry "
                f"{account.answers[question][0]} are missing or are not those that were "
                "charged. Nothing is answered; restore them from a copy."
            )
    anchored, spent = noted.seq if noted else 0, account.spent.get(DATASET)
    return Verified(account.dataset, seq, len(account.answers), head, anchored, outside, spent)


def last_row(rows: LedgerRows, account: Account) -> Anchor:
    """The newest row, as anchors note it."""
    _, spent = rows.sums().get(DATASET, ("", ""))
    return Anchor(account.dataset, account.ledger, *rows.end(), spent)


def past_rows(rows: LedgerRows) -> list[Anchor]:
    """Rows with what was spent up to them: the last ones, and some of those before."""
    account, anchors, log = Account(), [], rows.log()
    early = max(0, len(log) - RECENT)
    chosen = {*range(0, early, early // RECENT + 1), *range(early, len(log))}
    for place, (seq, text, stored) in enumerate(log):
        account.add(seq, json.loads(text))
        if place in chosen:
            spent = account.spent.get(DATASET)
            said = "" if spent is None else loss_text(spent)
            anchors.append(Anchor(account.dataset, account.ledger, seq, stored, said))
    return anchors


def knows(rows: LedgerRows, noted: Anchor) -> bool:
    """Whether a ledger has a row, or has accepted that it lost it."""
    if rows.row(noted.seq) == noted.hash:
        return True
    return any([noted.seq, noted.hash] in json.loads(body)["lost"] for body in rows.restores())


def compare_outside(
    rows: LedgerRows,
    outer: OuterAnchor,
    folder: Path,
    seen: Container[tuple[int, str]] = (),
) -> int | None:
    """Raise where a line noted outside of the workspace is not of this ledger; the last entry.

    `seen` are rows that the caller has just read.
    """
    lines = [line for line in outer.unseen() if (line.seq, line.hash) not in seen]
    try:
        _compare_lines(rows, lines, f"{outer.path}", folder)
    except LedgerDamaged:
        outer.forget()
        raise
    return outer.last


def compare_copy(rows: LedgerRows, ledger: str, path: Path, folder: Path) -> None:
    """Raise where a line of a copy kept elsewhere is not of this ledger."""
    _compare_lines(rows, read_copy(path, ledger, rows.name), f"{path}", folder)


def read_copy(path: Path, ledger: str, name: str) -> list[Anchor]:
    """The lines of a copy of an anchor that are about this ledger; there must be one."""
    with plain_errors(f"Reading {path}"):
        lines = lines_in(path.read_bytes(), ledger)
    if not lines:
        raise InputError(f"{path} holds no anchor of this ledger. {name} has the id {ledger}.")
    return lines


def _compare_lines(rows: LedgerRows, lines: Sequence[Anchor], where: str, folder: Path) -> None:
    unknown = [line for line in lines if not knows(rows, line)]
    if not unknown:
        return
    newest = max(unknown, key=lambda line: line.seq)
    end, _ = rows.end()
    here = f"ends at entry {end}" if end < newest.seq else "has another entry there"
    raise LedgerDamaged(
        f"{rows.name} is not the newest: {where} knows entry {newest.seq}, and this one {here}. "
        f"{rows.restored_words} Nothing is answered; put "
        f"the newest {rows.whole} back, or, if it is lost or both are to go on, run `discreet ledger "
        f"accept-restore {folder} --reason …`, which counts what was spent there."
    )


def sums_of(account: Account) -> Sums:
    """Cap and loss of each scope, as they follow from the log."""
    return {s: (loss_text(cap), loss_text(account.spent[s])) for s, cap in account.caps.items()}


def caught_up(
    state: LedgerState,
    end: tuple[int, str],
    sums: Sums,
    whole: Callable[[], Account],
    name: str,
) -> None:
    """Rows others added since `end`: each must continue the chain, and the sums must follow.

    `whole` adds the whole log up again, for rows whose effect depends on those before.
    """
    seq, head = end
    rows = state.since
    if not rows or (rows[0][0], rows[0][2]) != end:
        raise damaged(f"entry {seq}, read earlier, is gone or another one", name)
    if follow(rows[1:], seq, head, name=name) != state.end:
        raise damaged("its end and its log disagree", name)
    if state.sums != _sums_after(sums, rows[1:], whole):
        raise damaged("its sums were changed by something other than a charge", name)


def _sums_after(
    sums: Sums, rows: Sequence[tuple[int, str, str]], whole: Callable[[], Account]
) -> Sums:
    """The sums once further rows have been counted."""
    bodies = [json.loads(text) for _, text, _ in rows]
    if any(body["kind"] != "charge" for body in bodies):  # a cap counts what was before it
        return sums_of(whole())
    after = dict(sums)
    for body in bodies:
        charges = [Charge.from_json(stored) for stored in body["charges"]]
        for scope in after.keys() & scopes_of(body["user"], body["project"]):
            cap, spent = after[scope]
            total = loss_from_json(json.loads(spent))
            after[scope] = (cap, loss_text(total + sum_of(total.kind, charges)))
    return after


def _compare(rows: LedgerRows, account: Account) -> None:
    """The tables beside the log must say what the log adds up to."""
    beside = rows.beside()
    charged = {seq: question for question, (seq, _, _) in account.answers.items()}
    for what, stored, logged in (
        ("sums", beside.sums, sums_of(account)),
        ("answers", beside.answers, account.answers),
        ("questions", beside.questions, charged),
        ("requests", beside.requests, account.requests),
        ("answers carried over", beside.carried, account.carried),
    ):
        if stored != logged:
            raise damaged(f"its {what} do not agree with its log", rows.name)


def gone(noted: Anchor, name: str) -> LedgerDamaged:
    """That an anchor is left of a ledger, and nothing else."""
    return LedgerDamaged(
        f"{name} is gone, but its anchor knows {noted.seq} entries. Nothing is answered; "
        "restore the newest copy."
    )
