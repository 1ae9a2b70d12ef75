"""What all charges tell together, read once, is what a look at all entries at once would say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.core.charge import Charge
from discreet.core.loss import Loss, PureLoss, ZcdpLoss
from discreet.server import charges_so_far
from discreet.server.charges_so_far import Segment, segments
from discreet.server.ledger_lines import total_of
from discreet.store import LedgerStore, open_ledger
from discreet.store.base import Entry


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[LedgerStore]:
    with open_ledger(tmp_path, dataset="people") as opened:
        opened.set_cap(PureLoss(7), who="ana", reason="agreed")
        yield opened


def charge(ledger: LedgerStore, number: int) -> None:
    epsilon = Fraction(1, 10 + number)
    made = Charge.laplace(epsilon, cells=1, neighbours="add-remove", question=f"q{number}")
    ledger.commit(made, b"x", idempotency_key=f"k{number}", data_version="1", policy_version="1")


def at_once(ledger: LedgerStore, cap: Loss, most: int) -> list[Segment]:
    """Every charge by itself, the oldest put together where there are more than so many."""
    whole = next(iter(cap.parts.values()))
    found = []
    for entry in ledger.entries():
        total = total_of(entry.charges, cap.kind)
        if total is not None:
            found.append(Segment(entry.seq, next(iter(total.parts.values())) / whole))
    if len(found) <= most:
        return found
    old, new = found[: 1 - most], found[1 - most :]
    return [Segment(old[-1].number, sum((one.share for one in old), Fraction(0)), len(old)), *new]


def test_asked_after_each_charge(ledger: LedgerStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """After any number of charges, of caps that change, and in another kind of loss."""
    monkeypatch.setattr(charges_so_far, "MOST_SEGMENTS", 4)
    assert segments(ledger, PureLoss(7)) == []
    for number in range(9):
        charge(ledger, number)
        if number == 5:
            ledger.set_cap(PureLoss(9), who="ana", reason="more")
        for cap in (PureLoss(7), PureLoss(9), ZcdpLoss(2)):
            assert segments(ledger, cap) == at_once(ledger, cap, 4)
    assert sum(one.charges for one in segments(ledger, PureLoss(7))) == 9


def test_each_entry_is_read_once(ledger: LedgerStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what was read before only the last is, so a page costs what came since."""
    for number in range(3):
        charge(ledger, number)
    first = segments(ledger, PureLoss(7))
    read: list[int] = []
    entries = ledger.entries
    monkeypatch.setattr(
        ledger, "entries", lambda after=0: (read.append(one.seq) or one for one in entries(after))
    )
    assert segments(ledger, PureLoss(7)) == first
    assert len(read) == 1
    charge(ledger, 3)
    assert len(segments(ledger, PureLoss(7))) == 4
    assert len(read) == 3


def test_a_database_that_was_put_back_is_read_anew(
    ledger: LedgerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that only looked may go on with it, once its loss was accepted elsewhere."""
    for number in range(5):
        charge(ledger, number)
    entries = list(ledger.entries())
    lost = [replace(one, hash="0" * 64) for one in entries[4:]]

    monkeypatch.setattr(charges_so_far, "MOST_SEGMENTS", 2)
    for another in ([*entries[:4], *lost], entries[:4]):

        def put_back(after: int = 0, another: list[Entry] = another) -> Iterator[Entry]:
            return iter([one for one in another if one.seq > after])

        with monkeypatch.context() as patch:
            patch.setattr(ledger, "entries", put_back)
            assert segments(ledger, PureLoss(7)) == at_once(ledger, PureLoss(7), 2)
        assert segments(ledger, PureLoss(7)) == at_once(ledger, PureLoss(7), 2)
