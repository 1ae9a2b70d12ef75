"""The ledger in SQLite: files, triggers, the anchor, forks. What every ledger does: test_contract."""

from __future__ import annotations

import os
import sqlite3

import pytest

from discreet.core.loss import PureLoss
from discreet.errors import LedgerDamaged, StoreError
from discreet.store import Ledger, verify

from .test_contract import commit


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path, dataset="people") as opened:
        opened.set_cap(PureLoss(1), who="ana", reason="agreed")
        yield opened


def test_large_measurements_lie_in_a_file_named_by_their_digest(ledger, tmp_path):
    content = os.urandom(1_500_000)
    commit(ledger, "large", "0.1", content=content)
    (file,) = (tmp_path / "measurements").iterdir()
    assert ledger.find("large").measurements == content
    (tmp_path / "measurements" / "left over").write_bytes(b"x")
    os.utime(tmp_path / "measurements" / "left over", (0, 0))
    assert ledger.tidy() == 1
    assert verify(tmp_path).answers == 1
    file.write_bytes(content[:-1] + b"?")
    with pytest.raises(LedgerDamaged, match="are not those that were charged"):
        ledger.find("large")
    with pytest.raises(LedgerDamaged):
        verify(tmp_path)
    file.unlink()
    with pytest.raises(LedgerDamaged):
        ledger.find("large")
    with pytest.raises(LedgerDamaged):
        Ledger(tmp_path, dataset="people")


def test_the_log_is_only_added_to(ledger, tmp_path):
    commit(ledger, "q")
    with sqlite3.connect(tmp_path / "store.sqlite3") as raw:
        raw.execute("PRAGMA recursive_triggers = ON")
        for statement in (
            "UPDATE log SET body = '{}'",
            "DELETE FROM log",
            "INSERT OR REPLACE INTO log VALUES (3, '{}', '', NULL)",
            "INSERT INTO log VALUES (9, '{}', '', NULL)",
            "DELETE FROM answers",
            "UPDATE requests SET request = ''",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                raw.execute(statement)
    raw.close()


def test_reopened_it_knows_everything(ledger, tmp_path):
    answer = commit(ledger, "q", user="ana")
    ledger.close()
    with Ledger(tmp_path, dataset="people") as again:
        assert again.find("q").measurements == answer.measurements
        assert again.spent() == PureLoss("0.5")
        assert not commit(again, "q", content=b"new", user="ana").fresh
    with pytest.raises(LedgerDamaged, match="ledger of people, not of others"):
        Ledger(tmp_path, dataset="others")


def test_the_anchor_may_lie_elsewhere(tmp_path):
    anchor = tmp_path / "safe" / "people.anchor"
    with Ledger(tmp_path / "data", dataset="people", anchor=anchor) as ledger:
        ledger.set_cap(PureLoss(1), who="a", reason="r")
        commit(ledger, "q")
    assert verify(tmp_path / "data", anchor=anchor).anchored == 3
    assert not (tmp_path / "data" / "ledger.anchor").exists()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_closed_ledger_and_one_carried_through_a_fork_say_so(ledger):
    child = os.fork()
    if child == 0:
        try:
            ledger.spent()
        except StoreError as error:
            os._exit(0 if "forked" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    commit(ledger, "q")
    ledger.close()
    with pytest.raises(StoreError):
        commit(ledger, "r")
