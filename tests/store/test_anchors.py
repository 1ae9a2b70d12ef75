"""The anchor outside of the workspace: restored and copied folders, accepting them, kills."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import stat
import subprocess
import sys

import pytest

from discreet.core.charge import Charge
from discreet.core.loss import ApproxLoss, PureLoss, ZcdpLoss
from discreet.errors import InputError, LedgerDamaged
from discreet.store import Ledger, accept_restore, anchors, verify


def opened(folder):
    return Ledger(folder, dataset="people")


def ask(ledger, question, epsilon="0.5", content=b"x", user=""):
    return ledger.commit(
        Charge.laplace(epsilon, cells=1, neighbours="add-remove", question=question),
        content,
        idempotency_key=f"{user}-{question}",
        user=user,
        data_version="1",
        policy_version="1",
    )


def begun(folder, budget=None):
    with opened(folder) as ledger:
        ledger.set_cap(budget or PureLoss(2), who="ana", reason="test")
        ask(ledger, "q1")
    return folder


def accept(folder, **more):
    given = {"neighbours": "add-remove", "who": "ana", "reason": "the disk failed"}
    return accept_restore(folder, **given, **more)


def restore(backup, folder):
    shutil.rmtree(folder)
    shutil.copytree(backup, folder)


@pytest.fixture
def restored(tmp_path):
    """Half the budget spent, a backup made, the rest spent, the backup put back."""
    folder, backup = begun(tmp_path / "people"), tmp_path / "backup"
    shutil.copytree(folder, backup)
    with opened(folder) as ledger:
        ask(ledger, "q2")
        ask(ledger, "q3", "1")
    restore(backup, folder)
    return folder


def line_file(folder):
    (path,) = folder.glob("*.anchor")
    return path


def test_a_restored_folder_is_refused_with_a_way_out(restored, anchors):
    for refused in (lambda: opened(restored), lambda: verify(restored)):
        with pytest.raises(
            LedgerDamaged, match="knows entry 5, and this one ends at entry 3"
        ) as no:
            refused()
        assert "restored from a backup" in str(no.value)
        assert f"discreet ledger accept-restore {restored} --reason" in str(no.value)
    assert line_file(anchors).read_bytes().count(b"\n") == 5


def test_accepting_counts_what_was_forgotten(restored):
    """Budget 2, all of it spent before the restore: nothing is left after it either."""
    accepted = accept(restored)
    assert (accepted.entry, accepted.lost) == (4, 2)
    assert (accepted.counted, accepted.exact) == (PureLoss("1.5"), True)
    with opened(restored) as ledger:
        assert ledger.spent() == PureLoss(2)
        with pytest.raises(Exception, match="left epsilon = 0"):
            ask(ledger, "q2", "0.1")
        assert ledger.loss_by_version() == {"1": PureLoss("0.5"), "lost": PureLoss("1.5")}
        entry = list(ledger.entries())[-1]
        assert (entry.kind, entry.body["who"], entry.body["reason"]) == (
            "restore",
            "ana",
            "the disk failed",
        )
        ledger.set_cap(ZcdpLoss(9), who="ana", reason="a kind that counts it otherwise")
        assert ledger.spent() == ZcdpLoss("1.25")  # 0.5²/2 + 1.5²/2
    assert verify(restored).anchored_outside == 5


def test_accepting_needs_something_to_accept_and_words(tmp_path):
    folder = begun(tmp_path / "people")
    with pytest.raises(InputError, match="nothing to accept"):
        accept(folder)
    with pytest.raises(InputError, match="needs who and reason"):
        accept_restore(folder, neighbours="add-remove", who="ana", reason=" ")
    assert verify(folder).entries == 3


def test_an_old_backup_after_an_accepted_one_is_found_again(restored, tmp_path):
    accept(restored)
    restore(tmp_path / "backup", restored)
    with pytest.raises(LedgerDamaged, match="not the newest"):
        opened(restored)
    assert accept(restored).counted == PureLoss("1.5")


def test_copies_that_both_go_on_are_counted_in_each(tmp_path):
    """The budget twice: each copy is refused once the other was charged, and then counts it."""
    first = begun(tmp_path / "people")
    second = tmp_path / "copy"
    shutil.copytree(first, second)
    with opened(first) as ledger:
        ask(ledger, "q2", "0.25")
    with pytest.raises(LedgerDamaged, match="a copy of it was charged meanwhile"):
        opened(second)
    accept(second)
    with opened(second) as ledger:
        assert ledger.spent() == PureLoss("0.75")
        ask(ledger, "q3", "0.5")
    with pytest.raises(LedgerDamaged, match="not the newest"):
        opened(first)
    assert accept(first).counted == PureLoss("0.5")
    with opened(first) as ledger:
        assert ledger.spent() == PureLoss("1.25")


def test_a_copy_charged_beside_an_open_ledger_stops_it(tmp_path):
    first = begun(tmp_path / "people")
    second = tmp_path / "copy"
    with opened(first) as ledger:
        shutil.copytree(first, second, ignore=shutil.ignore_patterns("*-shm"))
        with opened(second) as copy:
            ask(copy, "q2")
        for _ in range(2):
            with pytest.raises(LedgerDamaged, match="and this one ends at entry 3"):
                ask(ledger, "q3")
        assert ledger.spent() == PureLoss("0.5")
    verify(second)


def test_charges_at_the_same_moment_in_two_copies_are_both_counted(tmp_path, anchors):
    """Each has seen entry 3 only: the other's line is no reason to count less."""
    first = begun(tmp_path / "people")
    before = line_file(anchors).read_bytes()
    copies = [tmp_path / "a", tmp_path / "b"]
    lines = []
    for i, copy in enumerate(copies):
        line_file(anchors).write_bytes(before)
        shutil.copytree(first, copy)
        with opened(copy) as ledger:
            ask(ledger, f"q-{i}", "0.25")
        lines.append(line_file(anchors).read_bytes().removeprefix(before))
    for order in (lines, lines[::-1]):
        for copy in copies:
            line_file(anchors).write_bytes(before + b"".join(order))
            twin = copy.with_name("twin")
            shutil.copytree(copy, twin)
            assert accept(twin).counted == PureLoss("0.25")
            shutil.rmtree(twin)


@pytest.mark.parametrize("kept", [True, False])
def test_two_users_of_one_folder_have_anchors_of_their_own(restored, tmp_path, monkeypatch, kept):
    """One that ends at a row which another has accepted as lost goes on."""
    other = tmp_path / "anchors of another"
    own = os.environ["DISCREET_ANCHORS"]
    if kept:
        shutil.copytree(own, other)
    accept(restored)
    monkeypatch.setenv("DISCREET_ANCHORS", str(other))
    with opened(restored) as ledger:
        assert ledger.spent() == PureLoss(2)
    monkeypatch.setenv("DISCREET_ANCHORS", own)
    opened(restored).close()


def test_a_backup_from_before_the_ledger_was_first_opened_here(tmp_path, another_machine):
    """What a ledger had before is noted when the anchor begins."""
    folder, backup = begun(tmp_path / "people", PureLoss(5)), tmp_path / "backup"
    shutil.copytree(folder, backup)
    with opened(folder) as ledger:
        ask(ledger, "q2", "0.25")
    another_machine()
    opened(folder).close()
    restore(backup, folder)
    assert accept(folder).counted == PureLoss("0.25")


def test_a_backup_from_before_the_anchor_counts_all_of_it(tmp_path, anchors):
    """No row is known to both: nothing says what is common, so nothing is taken off."""
    folder, backup = begun(tmp_path / "people", PureLoss(5)), tmp_path / "backup"
    shutil.copytree(folder, backup)
    with opened(folder) as ledger:
        ask(ledger, "q2")
    path = line_file(anchors)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[-1])
    restore(backup, folder)
    assert accept(folder).counted == PureLoss(1)
    assert verify(folder).spent == PureLoss("1.5")


@pytest.mark.parametrize("loss", [None, {"kind": "zcdp", "rho": "1"}])
def test_where_the_anchor_does_not_tell_the_sum_nothing_is_left(restored, anchors, loss):
    """An anchor of a version that noted no sums, or a sum that the budget cannot count."""
    path = line_file(anchors)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line.pop("since", None)
        line.pop("spent")
        if loss is not None:
            line["spent"] = loss if line is lines[-1] else {**loss, "rho": "0"}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    accepted = accept(restored)
    assert (accepted.counted, accepted.exact) == (PureLoss("1.5"), False)
    assert verify(restored).spent == PureLoss(2)


def test_both_parts_of_a_loss_are_counted(tmp_path):
    folder, backup = begun(tmp_path / "people", ApproxLoss(2, "1e-3")), tmp_path / "backup"
    shutil.copytree(folder, backup)
    with opened(folder) as ledger:
        charge = Charge.law("0.5", "1e-5", cells=2, neighbours="add-remove", question="q2")
        ledger.commit(charge, b"x", idempotency_key="k", data_version="1", policy_version="1")
    restore(backup, folder)
    assert accept(folder).counted == ApproxLoss(1, "2e-5")


def test_a_database_put_back_alone_can_be_accepted_too(tmp_path):
    """The anchor beside it is ahead then, as well as the one outside."""
    folder, backup = begun(tmp_path / "people"), tmp_path / "backup"
    shutil.copytree(folder, backup)
    with opened(folder) as ledger:
        ask(ledger, "q2", "1")
    shutil.copy(backup / "store.sqlite3", folder / "store.sqlite3")
    with pytest.raises(LedgerDamaged, match="rolled back"):
        opened(folder)
    assert accept(folder).counted == PureLoss(1)
    assert verify(folder).spent == PureLoss("1.5")


def test_a_copy_of_the_anchor_kept_elsewhere_is_compared(tmp_path, monkeypatch):
    """On another machine, where nothing was noted: lines kept one below the other tell."""
    folder, backup, copy = begun(tmp_path / "people"), tmp_path / "backup", tmp_path / "copy.anchor"
    shutil.copytree(folder, backup)
    copy.write_bytes((folder / "ledger.anchor").read_bytes())
    with opened(folder) as ledger:
        ask(ledger, "q2", "1")
    with copy.open("ab") as stream:
        stream.write((folder / "ledger.anchor").read_bytes())
    verify(folder, copy=copy)
    restore(backup, folder)
    monkeypatch.setenv("DISCREET_ANCHORS", str(tmp_path / "new machine"))
    opened(folder).close()
    with pytest.raises(LedgerDamaged, match=r"copy\.anchor knows entry 4"):
        verify(folder, copy=copy)
    assert accept(folder, copy=copy).counted == PureLoss(1)
    verify(folder, copy=copy)


def test_a_copy_of_something_else_is_refused(tmp_path):
    folder = begun(tmp_path / "people")
    with pytest.raises(InputError, match="holds no anchor of this ledger"):
        verify(folder, copy=folder / "store.sqlite3")
    with pytest.raises(Exception, match="does not exist"):
        verify(folder, copy=tmp_path / "nowhere")


def test_only_the_owner_may_read_the_anchor(tmp_path, anchors):
    begun(tmp_path / "people")
    assert stat.S_IMODE(line_file(anchors).stat().st_mode) == 0o600
    assert stat.S_IMODE(anchors.stat().st_mode) == 0o700


@pytest.mark.parametrize("last", [b'{"dataset":"peo', b"\0" * 60, b"\xff\n", b"[]\n"])
def test_a_torn_line_is_passed_over(tmp_path, anchors, last):
    folder, backup = begun(tmp_path / "people"), tmp_path / "backup"
    shutil.copytree(folder, backup)
    with line_file(anchors).open("ab") as stream:
        stream.write(last)
    with opened(folder) as ledger:
        ask(ledger, "q2")
    assert verify(folder).anchored_outside == 4
    restore(backup, folder)
    with pytest.raises(LedgerDamaged, match="knows entry 4"):
        opened(folder)


def test_an_anchor_that_lags_or_is_gone_stops_nobody(tmp_path, anchors):
    folder = begun(tmp_path / "people")
    path = line_file(anchors)
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    opened(folder).close()
    assert verify(folder).anchored_outside == 3
    with opened(folder) as ledger:
        path.unlink()
        ask(ledger, "q2")
    assert verify(folder).anchored_outside == 4


def test_where_nothing_can_be_noted_it_is_said_once(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").touch()
    monkeypatch.setenv("DISCREET_ANCHORS", str(tmp_path / "file" / "anchors"))
    with caplog.at_level(logging.WARNING):
        folder = begun(tmp_path / "people")
        with opened(folder) as ledger:
            ask(ledger, "q2")
            assert "goes unnoticed. Set DISCREET_ANCHORS to a folder" in ledger.anchor_problem
    said = [r for r in caplog.records if "goes unnoticed" in r.getMessage()]
    assert len(said) == 1
    assert verify(folder).anchored_outside is None


def test_the_anchor_lies_in_the_state_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("DISCREET_ANCHORS")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert anchors.anchors_folder() == tmp_path / "discreet" / "anchors"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert anchors.anchors_folder() == tmp_path / ".local" / "state" / "discreet" / "anchors"


def test_a_long_past_is_thinned(tmp_path, anchors, monkeypatch):
    monkeypatch.setattr("discreet.store.anchors._LONG", 2000)
    monkeypatch.setattr("discreet.store.anchors.RECENT", 4)
    folder, backup = begun(tmp_path / "people", PureLoss(50)), tmp_path / "backup"
    shutil.copytree(folder, backup)
    for i in range(12):
        with opened(folder) as ledger:
            ask(ledger, f"more {i}")
    assert len(line_file(anchors).read_bytes().splitlines()) < 10
    restore(backup, folder)
    assert accept(folder).counted in (PureLoss(6), PureLoss("6.5"))


def test_a_damaged_index_is_found_at_opening(tmp_path):
    """One bit of a question in any index: found, though no scan of a table looks there."""
    folder = begun(tmp_path / "people")
    path = folder / "store.sqlite3"
    whole = path.read_bytes()
    starts = range(0, len(whole), 4096)
    index_pages = [i for i in starts if whole[i] in (2, 10) and b"q1" in whole[i : i + 4096]]
    assert len(index_pages) == 3  # of answers, of requests, of the log
    for start in index_pages:
        page = whole[start : start + 4096].replace(b"q1", b"q0")
        path.write_bytes(whole[:start] + page + whole[start + 4096 :])
        with pytest.raises(LedgerDamaged, match="The ledger of people is damaged"):
            opened(folder)
    path.write_bytes(whole)
    opened(folder).close()


def test_a_question_is_charged_once_where_an_index_is_damaged_meanwhile(tmp_path):
    """Neither the index of answers nor that of requests finds it; that of the log does."""
    folder = begun(tmp_path / "people")
    with opened(folder) as ledger:
        raw = sqlite3.connect(folder / "store.sqlite3", isolation_level=None)
        raw.execute("DROP TRIGGER answers_DELETE")
        raw.execute("DELETE FROM answers")
        raw.close()
        with pytest.raises(LedgerDamaged, match="does not find"):
            ask(ledger, "q1", user="another")
        assert ledger.spent() == PureLoss("0.5")


def test_a_question_charged_twice_in_the_log_is_damage(tmp_path):
    from discreet.store.chain import Account

    folder = begun(tmp_path / "people")
    with opened(folder) as ledger:
        entries = list(ledger.entries())
    account = Account()
    for entry in entries:
        account.add(entry.seq, entry.body)
    with pytest.raises(InputError, match="was charged before, in entry 3"):
        account.add(4, entries[-1].body)


@pytest.mark.parametrize("others", [0, 3])
def test_a_sum_changed_under_an_open_ledger_stops_it(tmp_path, others):
    """Also after charges, caps and shares of other processes, which are counted."""
    folder = begun(tmp_path / "people", PureLoss(20))
    with opened(folder) as ledger:
        with opened(folder) as other:
            for i in range(others):
                ask(other, f"other {i}", user="ben")
                other.set_subcap("user:ben", PureLoss(5 + i), who="ana", reason="test")
                ask(other, f"another {i}", user="ben")
                ask(ledger, f"own {i}", user="ben")
        ask(ledger, "q2")
        raw = sqlite3.connect(folder / "store.sqlite3", isolation_level=None)
        raw.execute("""UPDATE scopes SET spent = '{"epsilon":"0.1","kind":"pure"}'""")
        raw.close()
        for _ in range(2):
            with pytest.raises(LedgerDamaged, match="sums were changed by something other"):
                ask(ledger, "q3")


KILLED = """
import os, sys
from discreet.core.charge import Charge
from discreet.store import Ledger, accept_restore
import discreet.store.anchors as anchors
folder, place, nth, what = sys.argv[1:]
left = int(nth)
def die_at(function):
    def dying(*given, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
        return function(*given, **named)
    return dying
def arm():
    if place == "outer":
        anchors.OuterAnchor.add = die_at(anchors.OuterAnchor.add)
    elif place == "torn":
        def torn(self, handle, line):
            os.write(handle, line[: len(line) // 2])
            os.kill(os.getpid(), 9)
        anchors.OuterAnchor._append = torn
    elif place == "synced":
        os.fdatasync = die_at(os.fdatasync)
    else:
        anchors.Anchor.write = die_at(anchors.Anchor.write)
if what == "accept":
    arm()
    accept_restore(folder, neighbours="add-remove", who="ana", reason="killed")
else:
    ledger = Ledger(folder, dataset="people")
    arm()
    for i in range(5):
        charge = Charge.laplace("0.25", cells=1, neighbours="add-remove", question=f"k{i}")
        ledger.commit(charge, b"x", idempotency_key=str(i), data_version="1", policy_version="1")
        print(i, flush=True)
"""


def killed(folder, place, nth, what):
    command = [sys.executable, "-c", KILLED, str(folder), place, str(nth), what]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    return done.stdout.count("\n")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["inner", "outer", "synced", "torn"])
@pytest.mark.parametrize("nth", [1, 3])
def test_killed_between_the_commit_and_an_anchor_nobody_is_locked_out(tmp_path, place, nth):
    """The anchor lags, the ledger opens, goes on, and an older copy of it is still refused."""
    folder, backup = begun(tmp_path / "people", PureLoss(10)), tmp_path / "backup"
    shutil.copytree(folder, backup)
    answered = killed(folder, place, nth, "charge")
    with opened(folder) as ledger:
        charged = len(ledger.history().answers) - 1
        assert answered <= charged <= answered + 1
        ask(ledger, "after")
    total = verify(folder)
    assert total.anchored == total.anchored_outside == total.entries
    restore(backup, folder)
    with pytest.raises(LedgerDamaged, match="not the newest"):
        opened(folder)
    accept(folder)
    assert verify(folder).spent == total.spent


@pytest.mark.slow
@pytest.mark.parametrize("place", ["inner", "outer", "synced", "torn"])
def test_killed_while_accepting_it_is_accepted_or_refused(restored, place):
    killed(restored, place, 1, "accept")
    opened(restored).close()  # the entry was on disk before anything of an anchor
    assert verify(restored).spent == PureLoss(2)
    with pytest.raises(InputError, match="nothing to accept"):
        accept(restored)
