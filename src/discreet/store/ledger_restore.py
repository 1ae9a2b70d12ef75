"""A ledger put back from a backup, accepted: what it forgot is counted as spent.

A ledger behind one of its anchors is refused. Its custodian may accept it, for a reason that stays
in the log: an entry of kind `restore` names every row that anchors know and the ledger lacks, and
charges the data set for them. What they cost stands in the anchors, between the last row that both
know and the newest; where no row is known to both, all that the anchor has noted counts, and where
the anchor does not say what was spent, or says it in a kind of loss that does not convert, all that
is left. Answers given meanwhile are lost: asked again, such a question gets new noise and is charged
again. Shares of users and projects do not know what was lost.

Pure; a store does it in one transaction: killed at any moment, the ledger is refused as before, or has the entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core.charge import Charge
from ..core.loss import Loss, loss_from_json, read_as, zero
from ..errors import InputError
from .anchors import Anchor, OuterAnchor
from .base import DATASET
from .chain import Account
from .ledger_rows import LedgerRows
from .ledger_state import LedgerState
from .verification import knows, read_copy


@dataclass(frozen=True)
class Restored:
    """What was accepted."""

    entry: int
    """The entry that says so."""
    lost: int
    """How many entries anchors know and the ledger lacks, at least."""
    counted: Loss | None
    """What is counted as spent for them; None where that is nothing."""
    exact: bool
    """The anchors say what was spent; else all that may have been is counted."""


def accept(
    rows: LedgerRows,
    state: LedgerState,
    noted: Anchor | None,
    outer: OuterAnchor,
    said: Mapping[str, str],
    copy: str | Path | None,
) -> Restored:
    """Decide on a ledger that is behind its anchors, in a transaction of the caller's.

    `said` has who, reason and the neighbours of the data set; `copy` is an anchor, or many one below
    the other, that was kept elsewhere. The caller writes what the state says and moves the anchors.
    """
    if not said["who"].strip() or not said["reason"].strip():
        raise InputError("Accepting a restored ledger needs who and reason: the ledger keeps both.")
    account = state.account
    assert account is not None
    witnesses = [outer.lines()]
    if copy is not None:
        witnesses.append(read_copy(Path(copy), account.ledger, rows.name))
    witnesses.append([noted] if noted else [])
    return _accept(rows, state, account, _separate(witnesses), said)


def _separate(witnesses: Sequence[Sequence[Anchor]]) -> list[Sequence[Anchor]]:
    """Those that end with a row which no other one before them knows."""
    told: set[tuple[int, str]] = set()
    separate = []
    for lines in witnesses:
        if lines and (lines[-1].seq, lines[-1].hash) not in told:
            separate.append(lines)
        told |= {(line.seq, line.hash) for line in lines}
    return separate


def _accept(
    rows: LedgerRows,
    state: LedgerState,
    account: Account,
    witnesses: Sequence[Sequence[Anchor]],
    said: Mapping[str, str],
) -> Restored:
    unknown = [line for lines in witnesses for line in lines if not knows(rows, line)]
    lost = sorted({(line.seq, line.hash) for line in unknown})
    if not lost:
        raise InputError(
            f"The ledger of {account.dataset} is not behind any anchor: there is nothing to accept."
        )
    counted, exact = _counted(rows, account, witnesses)
    charges = []
    if counted is not None:
        charge = Charge(
            "lost-entries",
            {"entries": str(len(lost))},
            cells=1,
            neighbours=said["neighbours"],
            question=f"lost-{lost[-1][1]}",
            loss=counted,
        )
        charges.append(charge.to_json())
    entry = {"who": said["who"], "reason": said["reason"], "lost": lost, "charges": charges}
    seq, _ = state.append({"kind": "restore", "at": state.at, **entry})
    cap = account.caps.get(DATASET)
    if counted is not None and cap is not None:
        state.set_sum(DATASET, (cap, account.spent[DATASET]))
    return Restored(seq, len(lost), counted, exact)


def _counted(
    rows: LedgerRows, account: Account, witnesses: Sequence[Sequence[Anchor]]
) -> tuple[Loss | None, bool]:
    """What counts as spent for lost rows, None for nothing; and whether the anchors say so."""
    cap = account.caps.get(DATASET)
    try:
        costs = [cost for lines in witnesses for cost in _costs(rows, lines)]
        if len({cost.kind for cost in costs}) > 1:
            raise _NotTold
        total = sum(costs[1:], costs[0]) if costs else None
        if total is not None and cap is not None:
            read_as(total, cap.kind)
    except (_NotTold, InputError):
        if cap is None:
            raise InputError(
                f"The ledger of {account.dataset} was restored from before it had a budget, and its "
                "anchors do not say what was spent since. Restore a newer copy."
            ) from None
        return cap - account.spent[DATASET], False
    return (None if total is None or total == zero(total.kind) else total), True


class _NotTold(Exception):
    """What was spent does not follow from the anchors."""


def _costs(rows: LedgerRows, lines: Iterable[Anchor]) -> Iterator[Loss]:
    """What each line that the ledger does not know adds to the one before.

    Where two copies were charged at once, the line before is the other's: then what it adds to the
    line that its writer had seen counts.
    """
    before: str | None = ""
    for line in lines:
        if not knows(rows, line):
            earlier = {before} if line.since is None else {before, line.since}
            added = [_added(line.spent, one) for one in earlier]
            costs = [one for one in added if one is not None]
            if costs:
                parts = zip(*(cost.parts.values() for cost in costs), strict=True)
                yield type(costs[0])(*map(max, parts))
        before = line.spent


def _added(spent: str | None, before: str | None) -> Loss | None:
    """What was spent since; None for nothing."""
    if spent is None or before is None:
        raise _NotTold
    if not spent:
        return None
    total = loss_from_json(json.loads(spent))
    less = loss_from_json(json.loads(before)) if before else zero(total.kind)
    if less.kind != total.kind:
        raise _NotTold
    return total - less
