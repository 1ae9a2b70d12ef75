"""The audit log outlives those who wait for their rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import StoreError
from discreet.store.audit_log import AuditLog

from ..patience import PATIENCE, wait_until


def test_whoever_goes_away_is_in_the_log_and_stops_nothing(tmp_path: Path) -> None:
    """Rows whose futures are cancelled at any moment are written all the same."""
    log = AuditLog(tmp_path)
    waits = [log.add({"event": f"row {number}"}) for number in range(2000)]
    for wait in waits[::2]:
        wait.cancel()
    log.add({"event": "the last"}).result(timeout=PATIENCE)
    assert log.alive
    assert log.verify() == 2001
    log.close()


def test_a_row_that_cannot_be_written_is_said_to_its_caller(tmp_path: Path) -> None:
    """The log is there again when its place is."""
    log = AuditLog(tmp_path)
    log.add({"event": "first"}).result(timeout=PATIENCE)
    log._insert, insert = _failing, log._insert  # type: ignore[method-assign]
    refused, gone = log.add({"event": "second"}), log.add({"event": "third"})
    gone.cancel()
    with pytest.raises(StoreError, match="full"):
        refused.result(timeout=PATIENCE)
    log._insert = insert  # type: ignore[method-assign]
    log.add({"event": "fourth"}).result(timeout=PATIENCE)
    assert log.verify() == 2
    log.close()


def test_a_thread_that_ended_is_begun_again(tmp_path: Path) -> None:
    """By the next row."""
    log = AuditLog(tmp_path)
    log._queue.put(None)
    wait_until(lambda: not log.alive, "the thread to end")
    log.add({"event": "later"}).result(timeout=PATIENCE)
    assert log.alive
    log.close()


def _failing(bodies: list[str]) -> None:
    raise StoreError("The audit log cannot be written: the disk is full.")
