"""Faults inside a commit: all or nothing, one sentence, nothing answered."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from discreet.core.charge import Charge
from discreet.core.loss import PureLoss
from discreet.errors import LedgerDamaged, StoreError
from discreet.store import Ledger, verify
from discreet.store.lock import FAIR, FairLock

from ..patience import PATIENCE

WORKER = [sys.executable, str(Path(__file__).with_name("ledger_worker.py"))]


def commit(ledger, question, content=b"x" * 64, **more):
    return ledger.commit(
        Charge.laplace("0.5", cells=2, neighbours="add-remove", question=question),
        content,
        idempotency_key=question,
        user="ana",
        project="health",
        data_version="1",
        policy_version="1",
        **more,
    )


def prepare(folder, budget=50):
    with Ledger(folder, dataset="people") as ledger:
        ledger.set_cap(PureLoss(budget), who="ana", reason="test")


def interrupted_everywhere(ledger, step, question="q"):
    """Interrupt the n-th operation of SQLite's machine inside a commit, for n = step, 2·step, …

    Returns how many places were tried until one commit came through untouched.
    """
    writer = ledger._writing
    tried = 0
    while True:
        tried += 1
        left = [tried * step]

        def tick(left=left):
            left[0] -= 1
            return int(left[0] == 0)

        writer.set_progress_handler(tick, 1)
        try:
            return tried, commit(ledger, question)
        except StoreError:
            writer.set_progress_handler(None, 0)
            if ledger.find(question) is not None:
                # Stopped after the commit took effect: charged in full, and there when asked again.
                return tried, commit(ledger, question)
            assert ledger.spent() == PureLoss(0)
            assert [entry.kind for entry in ledger.entries()] == ["open", "cap", "cap", "cap"]
            with ledger._read() as rows:
                assert rows.beside().requests == {}
        finally:
            writer.set_progress_handler(None, 0)


@pytest.mark.parametrize("step", [1, 7])
def test_a_fault_at_every_point_of_the_transaction_leaves_all_or_nothing(tmp_path, step):
    """Stopped at every (and every seventh) machine operation, no row is left, and it works on."""
    with Ledger(tmp_path, dataset="people") as ledger:
        ledger.set_cap(PureLoss(50), who="a", reason="r")
        for scope in ("user:ana", "project:health"):
            ledger.set_subcap(scope, PureLoss(20), who="a", reason="r")
        tried, answer = interrupted_everywhere(ledger, step)
        assert tried > 100 / step
        assert answer.measurements == b"x" * 64
        assert [s.spent for s in ledger.standing(user="ana", project="health")] == [PureLoss(1)] * 3
        assert ledger.verify().answers == 1


def test_a_fault_spares_nobody_in_a_shared_transaction(tmp_path):
    """Requests that shared the transaction all fail with it, and all succeed when asked again."""
    prepare(tmp_path)
    with Ledger(tmp_path, dataset="people") as ledger:
        outcomes = {}

        def ask(i):
            try:
                outcomes[i] = commit(ledger, f"q{i}").fresh
            except StoreError as error:
                outcomes[i] = str(error)

        count = [0]

        def tick():
            count[0] += 1
            return int(count[0] % 900 == 899)

        ledger._writing.set_progress_handler(tick, 1)
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ledger._writing.set_progress_handler(None, 0)
        granted = [i for i, outcome in outcomes.items() if outcome is True]
        assert len(granted) < 30
        assert ledger.spent() == PureLoss(len(granted))
        assert all(ledger.find(f"q{i}") is not None for i in granted)
        assert all(commit(ledger, f"q{i}").measurements for i in range(30))
        assert ledger.spent() == PureLoss(30)


def once(folder, size=64, before=None, cwd=None):
    done = subprocess.run(
        [*WORKER, "once", str(folder), str(size)],
        capture_output=True,
        text=True,
        preexec_fn=before,
        cwd=cwd,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("size", [400_000, 3_000_000])
def test_no_room_to_write_answers_nothing(tmp_path, size):
    """A limit on file size below what the commit needs, inline or in a file of its own."""
    prepare(tmp_path)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    report = once(tmp_path, size, before=limit)
    assert report["error"] == "StoreError"
    assert "Nothing was answered" in report["message"]
    found = verify(tmp_path)
    assert found.answers == 0
    assert once(tmp_path, size) == {"answered": found.entries + 1}


@pytest.fixture
def small_disk(mount):
    return mount("size=1m")


def test_a_full_disk_answers_nothing(small_disk):
    """ENOSPC for real: refused in words, nothing lost, and served again once there is room."""
    prepare(small_disk, 1000)
    with Ledger(small_disk, dataset="people") as ledger:
        kept, said = 0, ""
        while not said and kept < 1000:
            try:
                commit(ledger, f"q{kept}", os.urandom(20_000))
                kept += 1
            except StoreError as error:
                said = str(error)
        assert "disk is full" in said or "no space left" in said
        assert kept > 5
        assert ledger.spent() == PureLoss(kept)
        assert ledger.find(f"q{kept}") is None
        assert ledger.find("q0") is not None
        subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
        assert commit(ledger, f"q{kept}").fresh
    assert verify(small_disk).answers == kept + 1


def set_writable(folder, yes):
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755 if yes else 0o555)


def set_mounted_writable(folder, yes):
    subprocess.run(["mount", "-o", f"remount,{'rw' if yes else 'ro'}", str(folder)], check=True)


if os.geteuid():

    @pytest.fixture
    def lockable(tmp_path):
        return tmp_path, set_writable

else:  # whom rights do not bind

    @pytest.fixture
    def lockable(small_disk):
        return small_disk, set_mounted_writable


def test_a_folder_that_may_only_be_read_answers_nothing(lockable):
    """No right to write: one sentence, no traceback, no charge."""
    folder, writable = lockable
    prepare(folder)
    writable(folder, False)
    report = once(folder)
    writable(folder, True)
    assert report["error"] == "StoreError"
    assert "Nothing was answered" in report["message"]
    assert verify(folder).answers == 0


def test_locked_by_another_program(tmp_path, monkeypatch):
    """A shell that keeps the database locked: an error in words after the waiting time."""
    monkeypatch.setattr("discreet.store.sqlite.database.BUSY_SECONDS", 0.2)
    prepare(tmp_path)
    with Ledger(tmp_path, dataset="people") as ledger:
        shell = sqlite3.connect(tmp_path / "store.sqlite3", isolation_level=None)
        shell.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program keeps it locked"):
            commit(ledger, "q")
        shell.execute("ROLLBACK")
        shell.close()
        assert commit(ledger, "q").fresh


@pytest.mark.skipif(not FAIR, reason="no open-file locks on this system")
def test_a_stopped_process_in_front_of_the_queue(tmp_path):
    """Waiting ends after `wait_seconds`, uncharged; the request is out of the queue for good."""
    prepare(tmp_path)
    with Ledger(tmp_path, dataset="people", wait_seconds=0.2) as ledger:
        other = FairLock(tmp_path / "ledger.lock")
        other.acquire()
        with pytest.raises(StoreError, match="locked by another process"):
            commit(ledger, "q")
        other.release()
        other.close()
        ledger._wait_seconds = PATIENCE  # a busy machine may need longer than what was tested
        assert commit(ledger, "r").fresh
        assert ledger.find("q") is None


def test_an_anchor_that_cannot_be_written_answers_nothing(tmp_path):
    """The charge stands (never given back), the error is said, and a retry gets the answer."""
    anchor = tmp_path / "away" / "people.anchor"
    with Ledger(tmp_path / "data", dataset="people", anchor=anchor) as ledger:
        ledger.set_cap(PureLoss(5), who="a", reason="r")
        anchor.parent.rename(tmp_path / "moved")
        with pytest.raises(StoreError, match="Nothing was answered"):
            commit(ledger, "q", b"drawn")
        (tmp_path / "moved").rename(anchor.parent)
        assert commit(ledger, "q", b"other").measurements == b"drawn"
        commit(ledger, "r")
        assert ledger.spent() == PureLoss(2)
        assert ledger.verify().anchored == 4


def test_not_a_database(tmp_path):
    prepare(tmp_path)
    (tmp_path / "store.sqlite3").write_bytes(b"these are not the bytes of a database" * 200)
    with pytest.raises(LedgerDamaged, match="not a whole SQLite file"):
        Ledger(tmp_path, dataset="people")


def test_verify_without_a_ledger(tmp_path):
    with pytest.raises(StoreError, match="There is no ledger"):
        verify(tmp_path)
