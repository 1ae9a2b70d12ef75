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


def test_pages_are_found_by_an_index(tmp_path: Path) -> None:
    """By data set or person no row is looked at that is not asked for, however long the log."""
    log = AuditLog(tmp_path)
    for number in range(200):
        row = {"dataset": f"d{number % 20}", "user": f"u{number % 10}", "status": 200}
        waits = log.add(row | ({"rule": "budget"} if number % 50 == 0 else {}))
    waits.result()
    assert [row["number"] for row in log.page(dataset="d3", most=3)] == [184, 164, 144]
    assert [row["number"] for row in log.page(user="u3", before=100, most=2)] == [94, 84]
    assert [row["number"] for row in log.page(rule="budget")] == [151, 101, 51, 1]
    assert [row["number"] for row in log.page(dataset="d0", user="u0", rule="budget")] == [101, 1]
    assert len(log.page(most=7)) == 7
    with log._database.reading() as connection:
        for condition in ("dataset = 'd3'", "user = 'u3'"):
            plan = connection.execute(
                f"EXPLAIN QUERY PLAN SELECT seq FROM log WHERE {condition} ORDER BY seq DESC LIMIT 9"
            ).fetchall()
            assert "INDEX log_by_" in str(plan), plan
            assert "TEMP B-TREE" not in str(plan), plan
    log.close()
