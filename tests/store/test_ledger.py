"""The ledger in one process: caps, questions charged once, holds, versions, exports."""

from __future__ import annotations

import os
import sqlite3
import threading
from fractions import Fraction

import pytest

from discreet.core.charge import Charge
from discreet.core.loss import ApproxLoss, PureLoss, ZcdpLoss
from discreet.errors import (
    BudgetExceeded,
    InputError,
    KeyReused,
    LedgerDamaged,
    Refusal,
    StoreError,
)
from discreet.store import Draft, Ledger, verify


def laplace(question, epsilon="0.5", cells=1):
    return Charge.laplace(epsilon, cells=cells, neighbours="add-remove", question=question)


def commit(ledger, question, epsilon="0.5", content=b"drawn", key=None, version="1", **more):
    return ledger.commit(
        laplace(question, epsilon),
        content,
        idempotency_key=key or f"key of {question}",
        data_version=version,
        policy_version="p1",
        **more,
    )


class Clock:
    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(tmp_path, clock):
    with Ledger.open(tmp_path, dataset="people", clock=clock) as opened:
        opened.set_cap(PureLoss(1), who="ana", reason="agreed")
        yield opened


def test_one_question_one_answer_one_charge(ledger):
    """Asked again, by anyone, under any key: the same bytes, nothing charged."""
    first = commit(ledger, "q", content=b"first", user="ana")
    assert first.fresh
    assert ledger.spent() == PureLoss("0.5")
    for again in (
        commit(ledger, "q", content=b"second", user="ana"),
        commit(ledger, "q", content=b"third", user="ben", key="other"),
        ledger.find("q"),
    ):
        assert again.measurements == b"first"
        assert again.receipt == first.receipt
        assert not again.fresh
    assert ledger.spent() == PureLoss("0.5")
    assert ledger.find("unheard") is None


def test_refusal_says_spent_asked_left_and_the_largest(ledger):
    commit(ledger, "q1", "0.75")
    with pytest.raises(BudgetExceeded) as refused:
        commit(ledger, "q2", "0.5")
    assert str(refused.value) == (
        "The budget of people is epsilon = 1: spent epsilon = 0.75, asked epsilon = 0.5, "
        "left epsilon = 0.25. The largest epsilon that fits is 0.25."
    )
    assert refused.value.exit_code == 3
    (offer,) = refused.value.alternatives
    assert offer.words == "ask with epsilon at most 0.25"
    assert offer.change == {"epsilon": "0.25", "rho": None}
    assert ledger.find("q2") is None
    commit(ledger, "q2", "0.25")
    assert ledger.largest_affordable() == 0
    assert not ledger.affords(laplace("q3", "1e-9"))


def test_exact_thirds_fill_the_budget(ledger):
    for i in range(3):
        commit(ledger, f"q{i}", "1/3")
    assert ledger.left() == PureLoss(0)


def test_nothing_before_a_budget(tmp_path):
    with (
        Ledger.open(tmp_path, dataset="people") as ledger,
        pytest.raises(Refusal, match="has no budget yet"),
    ):
        commit(ledger, "q")


def test_a_key_with_another_request_is_refused(ledger):
    """409: no answer, no charge; keys of different users do not meet."""
    commit(ledger, "q1", "0.1", key="k", user="ana")
    with pytest.raises(KeyReused):
        commit(ledger, "q2", "0.1", key="k", user="ana")
    with pytest.raises(KeyReused):
        commit(ledger, "q1", "0.2", key="k", user="ana")
    assert commit(ledger, "q2", "0.1", key="k", user="ben").fresh
    assert ledger.spent() == PureLoss("0.2")


def test_sub_caps_bind_with_the_cap(ledger):
    """A user's and a project's share and the data set's budget are charged together or not."""
    ledger.set_subcap("user:ana", PureLoss("0.3"), who="c", reason="share")
    ledger.set_subcap("project:health", PureLoss("0.4"), who="c", reason="share")
    commit(ledger, "q1", "0.25", user="ana", project="health")
    with pytest.raises(BudgetExceeded, match="of people for user ana is epsilon"):
        commit(ledger, "q2", "0.1", user="ana", project="health")
    with pytest.raises(BudgetExceeded, match="for project health"):
        commit(ledger, "q2", "0.2", user="ben", project="health")
    assert [s.spent for s in ledger.standing(user="ana", project="health")] == [
        PureLoss("0.25")
    ] * 3
    assert ledger.left(user="ana", project="health") == PureLoss("0.05")
    assert ledger.largest_affordable(user="ben") == Fraction(3, 4)
    ledger.set_subcap("user:ana", None, who="c", reason="no longer")
    commit(ledger, "q3", "0.15", user="ana", project="health")
    ledger.set_subcap("user:ana", PureLoss("0.5"), who="c", reason="again")
    assert ledger.standing(user="ana")[1].spent == PureLoss("0.4")
    assert ledger.verify().entries == 8


def test_cap_changes_are_entries_and_count_what_was_spent(ledger):
    commit(ledger, "q1", "0.5")
    ledger.set_cap(PureLoss("0.25"), who="ben", reason="less")
    assert ledger.left() == PureLoss(0)
    ledger.set_cap(ApproxLoss("2", "1e-6"), who="ben", reason="another kind")
    assert ledger.spent() == ApproxLoss("0.5", 0)
    assert [e.body["reason"] for e in ledger.entries() if e.kind == "cap"] == [
        "agreed",
        "less",
        "another kind",
    ]
    with pytest.raises(InputError, match="needs reason"):
        ledger.set_cap(PureLoss(1), who="ben", reason=" ")
    with pytest.raises(InputError, match="cannot stand together"):
        ledger.set_subcap("user:ana", PureLoss(1), who="ben", reason="share")
    with pytest.raises(InputError, match="must be user:NAME"):
        ledger.set_subcap("ana", PureLoss(1), who="ben", reason="share")


def test_zcdp_cap_reads_pure_and_gaussian_charges(tmp_path):
    with Ledger.open(tmp_path, dataset="people") as ledger:
        ledger.set_cap(ZcdpLoss("0.5"), who="a", reason="r")
        commit(ledger, "q1", "0.5")
        normal = Charge.gaussian("4", cells=1, neighbours="add-remove", question="q2")
        ledger.commit(normal, b"x", idempotency_key="k", data_version="1", policy_version="1")
        assert ledger.spent() == ZcdpLoss("0.25")
        assert ledger.largest_affordable() ** 2 <= Fraction(1, 2)
        law = Charge.law("0.1", "1e-6", cells=1, neighbours="add-remove", question="q3")
        with pytest.raises(InputError, match="cannot be charged to a budget of kind zcdp"):
            ledger.commit(law, b"x", idempotency_key="l", data_version="1", policy_version="1")


def test_the_budget_covers_all_versions(ledger):
    commit(ledger, "q of 1", "0.5", version="1")
    commit(ledger, "q of 2", "0.25", version="2")
    commit(ledger, "r of 2", "0.125", version="2")
    with pytest.raises(BudgetExceeded):
        commit(ledger, "q of 3", "0.25", version="3")
    assert ledger.loss_by_version() == {"1": PureLoss("0.5"), "2": PureLoss("0.375")}


def test_a_hold_reserves_lapses_and_expires(ledger, clock):
    held = ledger.hold(laplace("long job", "0.75"), user="ana", seconds=60)
    with pytest.raises(BudgetExceeded, match="held epsilon"):
        commit(ledger, "q1", "0.5")
    assert ledger.spent() == PureLoss(0)
    ledger.lapse(held)
    commit(ledger, "q1", "0.25")
    held = ledger.hold(laplace("long job", "0.75"), seconds=60)
    clock.now += 59
    held = ledger.renew(held, seconds=60)
    clock.now += 59
    assert not ledger.affords(laplace("q2", "0.1"))
    clock.now += 2
    assert ledger.affords(laplace("q2", "0.1"))
    with pytest.raises(Refusal, match="has lapsed"):
        ledger.renew(held)


def test_a_commit_uses_its_hold_and_a_lapsed_hold_gives_no_right(ledger, clock):
    held = ledger.hold(laplace("q1", "0.75"), seconds=60)
    assert commit(ledger, "q1", "0.75", hold=held).fresh
    assert ledger.left() == PureLoss("0.25")
    held = ledger.hold(laplace("q2", "0.25"), seconds=60)
    clock.now += 61
    commit(ledger, "q3", "0.25")
    with pytest.raises(BudgetExceeded):
        commit(ledger, "q2", "0.25", hold=held)


def test_several_questions_commit_together_or_not_at_all(ledger):
    drafts = [Draft((laplace(f"q{i}", "0.3"),), b"%d" % i) for i in range(4)]
    shared = {"idempotency_key": "release", "data_version": "1", "policy_version": "p"}
    with pytest.raises(BudgetExceeded):
        ledger.commit_all(drafts, **shared)
    assert ledger.spent() == PureLoss(0)
    assert ledger.find("q0") is None
    commit(ledger, "q1", "0.3", content=b"came first")
    answers = ledger.commit_all(drafts[:3], **shared)
    assert [a.measurements for a in answers] == [b"0", b"came first", b"2"]
    assert [a.fresh for a in answers] == [True, False, True]
    again = ledger.commit_all(drafts[:3], **shared)
    assert [a.measurements for a in again] == [b"0", b"came first", b"2"]
    assert ledger.spent() == PureLoss("0.9")


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
        Ledger.open(tmp_path, dataset="people")


def test_threads_racing_for_one_question_pay_once(ledger):
    """100 threads, one key, each with its own draw: one charge, 100 identical answers."""
    answers = []

    def ask(i):
        answers.append(commit(ledger, "q", content=b"%d" % i, user="ana"))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 100
    assert len({answer.measurements for answer in answers}) == 1
    assert sum(answer.fresh for answer in answers) == 1
    assert ledger.spent() == PureLoss("0.5")


def test_threads_share_syncs_and_never_overspend(ledger):
    """40 threads against a budget for 30: exactly 30 granted."""
    outcomes = []

    def ask(i):
        try:
            outcomes.append(commit(ledger, f"q{i}", "1/30").fresh)
        except BudgetExceeded:
            outcomes.append(False)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(outcomes) == 30
    assert ledger.spent() == PureLoss(1)
    assert ledger.verify().answers == 30


def test_the_log_is_only_added_to(ledger, tmp_path):
    commit(ledger, "q")
    with sqlite3.connect(tmp_path / "store.sqlite3") as raw:
        raw.execute("PRAGMA recursive_triggers = ON")
        for statement in (
            "UPDATE log SET body = '{}'",
            "DELETE FROM log",
            "INSERT OR REPLACE INTO log VALUES (3, '{}', '')",
            "INSERT INTO log VALUES (9, '{}', '')",
            "DELETE FROM answers",
            "UPDATE requests SET request = ''",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                raw.execute(statement)
    raw.close()


def test_reopened_it_knows_everything(ledger, tmp_path):
    answer = commit(ledger, "q", user="ana")
    ledger.close()
    with Ledger.open(tmp_path, dataset="people") as again:
        assert again.find("q").measurements == answer.measurements
        assert again.spent() == PureLoss("0.5")
        assert not commit(again, "q", content=b"new", user="ana").fresh
    with pytest.raises(LedgerDamaged, match="ledger of people, not of others"):
        Ledger.open(tmp_path, dataset="others")


def test_the_anchor_may_lie_elsewhere(tmp_path):
    anchor = tmp_path / "safe" / "people.anchor"
    with Ledger.open(tmp_path / "data", dataset="people", anchor=anchor) as ledger:
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


def test_register_and_events(ledger):
    """The public register has every charge and no user; dp-accounting reads the events."""
    commit(ledger, "q1", "0.5", user="ana", project="health")
    commit(ledger, "q2", "0.25", user="ben")
    register = ledger.export_register()
    assert register["spent"] == {"kind": "pure", "epsilon": "0.75"}
    assert [row["question"] for row in register["charges"]] == ["q1", "q2"]
    assert "ana" not in str(register)
    assert "health" not in str(register)
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    accountant.compose(ledger.export_events())
    assert accountant.get_epsilon(1e-12) == pytest.approx(0.75, abs=1e-3)


def test_an_adaptive_overspend_is_stopped(tmp_path):
    """The sequence of tests/core/test_plan_loss.py that fits by convolution is refused here."""
    with Ledger.open(tmp_path, dataset="people") as ledger:
        ledger.set_cap(ApproxLoss("1.2", "0.5"), who="a", reason="r")
        commit(ledger, "first", "1")
        with pytest.raises(BudgetExceeded, match=r"The largest epsilon that fits is 0\.2"):
            commit(ledger, "chosen by looking", "1")
