"""What every ledger store keeps, each claim over every store of `ledger_stores.py`.

Single claims first; at the end the ledger against a model of sixty lines: hold, renew, commit after
a history, lapse, crash, restart, two writers.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import threading
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from discreet.core.charge import Charge
from discreet.core.loss import ApproxLoss, PureLoss, ZcdpLoss, largest_epsilon
from discreet.errors import BudgetExceeded, HistoryMoved, InputError, KeyReused, Refusal
from discreet.store import LedgerStore, anchored_ledger

from .ledger_stores import STORES

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # what the model shows needs no disk


def largest_affordable(ledger: LedgerStore, **payer: str) -> Fraction:
    """The largest pure epsilon that fits everywhere; rounded down for zCDP."""
    left = ledger.left(**payer)
    return Fraction(0) if left is None else largest_epsilon(left)


def laplace(question, epsilon="0.5", cells=1):
    return Charge.laplace(epsilon, cells=cells, neighbours="add-remove", question=question)


def record(question, **parameters):
    return Charge.record("suppression", parameters, question=question)


def commit(ledger, question, epsilon="0.5", content=b"drawn", key=None, version="1", **more):
    """A charge of `epsilon`, or a record where it is None."""
    return ledger.commit(
        record(question) if epsilon is None else laplace(question, epsilon),
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


def server_of(request, kind):
    """The tests' Postgres, for a store that needs one."""
    return request.getfixturevalue("postgres") if kind.needs_server else None


@pytest.fixture(params=STORES, ids=lambda kind: kind.name)
def store(request, tmp_path, clock):
    ledgers = request.param(tmp_path, clock, server_of(request, request.param))
    yield ledgers
    ledgers.close()


@pytest.fixture
def ledger(store):
    opened = store.open()
    assert isinstance(opened, LedgerStore)
    opened.set_cap(PureLoss(1), who="ana", reason="agreed")
    return opened


def together(count, work):
    """`work(i)` in `count` threads at once."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


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
    assert largest_affordable(ledger) == 0
    assert not ledger.affords(laplace("q3", "1e-9"))


def test_exact_thirds_fill_the_budget(ledger):
    for i in range(3):
        commit(ledger, f"q{i}", "1/3")
    assert ledger.left() == PureLoss(0)


def test_nothing_is_spent_before_a_budget(store):
    with pytest.raises(Refusal, match="has no budget yet"):
        commit(store.open(), "q")


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
    assert largest_affordable(ledger, user="ben") == Fraction(3, 4)
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


def test_that_somebody_looked_is_an_entry_that_spends_nothing(ledger):
    """Sums, answers and the head of the history stay; it is in the chain, and verified with it."""
    commit(ledger, "first")
    spent, head = ledger.spent(), ledger.history().head
    ledger.note_rehearsal(who="ana", about="compare", policy_version="p1")
    assert (ledger.spent(), ledger.history().head) == (spent, head)
    assert [entry.body["who"] for entry in ledger.rehearsals()] == ["ana"]
    ledger.verify()
    commit(ledger, "second")
    assert ledger.verify().answers == 2
    assert [row["entry"] for row in ledger.export_register()["charges"]] != []


def test_zcdp_cap_reads_pure_and_gaussian_charges(store):
    ledger = store.open()
    ledger.set_cap(ZcdpLoss("0.5"), who="a", reason="r")
    commit(ledger, "q1", "0.5")
    normal = Charge.gaussian("4", cells=1, neighbours="add-remove", question="q2")
    ledger.commit(normal, b"x", idempotency_key="k", data_version="1", policy_version="1")
    assert ledger.spent() == ZcdpLoss("0.25")
    assert largest_affordable(ledger) ** 2 <= Fraction(1, 2)
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
    again = ledger.hold(laplace("long job", "0.75"), seconds=60, again=held)
    assert again.id == held.id
    commit(ledger, "long job", "0.75", hold=held.id)
    assert ledger.standing()[0].held == PureLoss(0)


def test_a_commit_uses_its_hold_and_a_lapsed_hold_gives_no_right(ledger, clock):
    held = ledger.hold(laplace("q1", "0.75"), seconds=60)
    assert commit(ledger, "q1", "0.75", hold=held).fresh
    assert ledger.left() == PureLoss("0.25")
    held = ledger.hold(laplace("q2", "0.25"), seconds=60)
    clock.now += 61
    commit(ledger, "q3", "0.25")
    with pytest.raises(BudgetExceeded):
        commit(ledger, "q2", "0.25", hold=held)


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


def test_a_register_is_read_by_pages(ledger):
    """The pages together are the register; each says where to go on, the last that there is no more."""
    for number in range(5):
        commit(ledger, f"q{number}", "0.1")
    whole, pages, after = ledger.export_register(), [], 0
    while after is not None:
        pages.append(ledger.export_register(after, 2))
        after = pages[-1]["next"]
    assert [row for page in pages for row in page["charges"]] == whole["charges"]
    assert all(page["spent"] == whole["spent"] for page in pages)
    assert all(len(page["charges"]) <= 2 for page in pages)


@pytest.mark.parametrize("part", [1, 3, 200])
def test_the_newest_rows_come_first(ledger, monkeypatch, part):
    """Read from its end, in parts of any size, a log has the rows that it has from its beginning."""
    monkeypatch.setattr(anchored_ledger, "_A_PART", part)
    for number in range(6):
        commit(ledger, f"q{number}", "0.1")
    rows = list(ledger.entries())
    assert ledger.length() == len(rows) == 8  # the opening and the budget are rows too
    assert list(ledger.newest()) == rows[::-1]
    for before in range(1, len(rows) + 3):
        older = [row for row in rows if row.seq < before]
        assert list(ledger.newest(before)) == older[::-1]


def test_few_rows_are_read_for_the_newest(ledger, monkeypatch):
    """Who looks at the newest rows does not read those before."""
    monkeypatch.setattr(anchored_ledger, "_A_PART", 2)
    for number in range(6):
        commit(ledger, f"q{number}", "0.1")
    read = []
    one = anchored_ledger._entry
    monkeypatch.setattr(anchored_ledger, "_entry", lambda row: read.append(row) or one(row))
    assert [entry.seq for entry in itertools.islice(ledger.newest(), 2)] == [8, 7]
    assert len(read) == 2


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


def test_an_adaptive_overspend_is_stopped(store):
    """The sequence of tests/core/test_loss.py that cheats a fixed composition is refused here."""
    ledger = store.open()
    ledger.set_cap(ApproxLoss("1.2", "0.5"), who="a", reason="r")
    commit(ledger, "first", "1")
    with pytest.raises(BudgetExceeded, match=r"The largest epsilon that fits is 0\.2"):
        commit(ledger, "chosen by looking", "1")


# Records: releases without a loss


def test_records_need_no_budget_and_make_no_sum(store):
    """A ledger that only records: answers kept, no cap, no sum, no epsilon claimed."""
    ledger = store.open()
    ledger.require(record("q1"))
    assert ledger.affords(record("q1"))
    assert commit(ledger, "q1", None, content=b"first", user="ana").fresh
    assert not commit(ledger, "q1", None, content=b"second", user="ben", key="other").fresh
    assert ledger.find("q1").measurements == b"first"
    assert ledger.find("q1").charges == (record("q1"),)
    decided_anew = record("q1", released="7")  # the same request: a record tells what was decided
    again = ledger.commit(
        decided_anew,
        b"third",
        idempotency_key="key of q1",
        user="ana",
        data_version="1",
        policy_version="p1",
    )
    assert (again.measurements, again.charges) == (b"first", (record("q1"),))
    assert (ledger.cap(), ledger.spent(), ledger.left(), ledger.left_in_words()) == (None,) * 4
    assert largest_affordable(ledger) == 0
    assert ledger.loss_by_version() == {}
    register = ledger.export_register()
    assert (register["budget"], register["spent"]) == (None, None)
    assert [row["loss_kind"] for row in register["charges"]] == ["none"]
    checked = ledger.verify()
    assert (checked.answers, checked.spent) == (1, None)
    with pytest.raises(InputError, match="before any sub-cap"):
        ledger.set_subcap("user:ana", PureLoss(1), who="ana", reason="share")


def test_a_record_beside_charges_changes_no_sum(ledger):
    """Before and after a cap, within it and above it: only losses count."""
    commit(ledger, "q1", "1")
    commit(ledger, "r1", None, user="ana")
    ledger.set_cap(PureLoss("0.5"), who="ana", reason="less")
    ledger.set_subcap("user:ana", PureLoss("0.1"), who="ana", reason="share")
    assert commit(ledger, "r2", None, user="ana", version="2").fresh
    both = [record("r3"), laplace("r3", "0.1")]
    with pytest.raises(BudgetExceeded):
        ledger.require(both)
    assert [s.spent for s in ledger.standing(user="ana")] == [PureLoss(1), PureLoss(0)]
    assert ledger.loss_by_version() == {"1": PureLoss(1), "2": PureLoss(0)}
    assert ledger.verify().spent == PureLoss(1)


# Histories


def test_the_history_is_every_answer_in_order(ledger):
    """The head moves with answers only: not with caps, shares, holds or questions asked again."""
    assert (ledger.history().head, ledger.history().answers) == ("", ())
    first = commit(ledger, "q1", "0.1", content=b"1", version="1")
    commit(ledger, "r2", None, content=b"2", version="2")
    last = commit(ledger, "q3", "0.1", content=b"3", version="1")
    before = ledger.history()
    assert [(a.question, a.measurements) for a in before.answers] == [
        ("q1", b"1"),
        ("r2", b"2"),
        ("q3", b"3"),
    ]
    assert before.head == last.receipt["hash"]
    assert before.answers[0].receipt == first.receipt
    ledger.set_cap(PureLoss(2), who="ana", reason="more")
    ledger.set_subcap("user:ana", PureLoss(1), who="ana", reason="share")
    ledger.hold(laplace("q4", "0.1"))
    commit(ledger, "q1", "0.1", key="again")
    assert ledger.history() == before
    of_version = ledger.history("1")
    assert [a.question for a in of_version.answers] == ["q1", "q3"]
    assert of_version.head == before.head
    assert ledger.history("unheard").answers == ()


def test_of_two_decisions_on_one_history_one_is_stored(store):
    """Two openings decide on the same history: the second is refused and leaves no trace."""
    one, two = store.open(), store.open()
    head = one.history().head
    assert two.history().head == head
    assert commit(one, "q1", None, after=head).fresh
    entries = len(list(two.entries()))
    with pytest.raises(HistoryMoved) as moved:
        commit(two, "q2", None, content=b"late", after=head)
    assert "Nothing was stored" in str(moved.value)
    assert two.find("q2") is None
    assert len(list(two.entries())) == entries
    assert commit(two, "q2", None, after=two.history().head).fresh
    assert two.verify().answers == 2


def test_an_answered_question_does_not_ask_for_the_history(ledger):
    """A retry after a crash gets its answer, though its own commit has moved the head."""
    head = ledger.history().head
    first = commit(ledger, "q1", "0.1", content=b"first", after=head)
    again = commit(ledger, "q1", "0.1", content=b"again", after=head)
    assert (again.measurements, again.receipt) == (b"first", first.receipt)


def test_a_refused_decision_keeps_its_hold(ledger):
    """After `HistoryMoved` the budget is still held for the next try."""
    held = ledger.hold(laplace("q1", "0.75"), seconds=60)
    commit(ledger, "q2", "0.25")
    with pytest.raises(HistoryMoved):
        commit(ledger, "q1", "0.75", hold=held, after="")
    assert ledger.standing()[0].held == PureLoss("0.75")
    assert commit(ledger, "q1", "0.75", hold=held, after=ledger.history().head).fresh


def test_threads_that_decide_on_histories_make_one_line(store):
    """12 threads on two openings, each deciding until stored: every answer knew the one before."""
    ledgers = [store.open(), store.open()]

    def decide(i):
        while True:
            head = ledgers[i % 2].history().head
            try:
                commit(ledgers[i % 2], f"q{i}", None, content=head.encode(), after=head)
            except HistoryMoved:
                continue
            return

    together(12, decide)
    answers = ledgers[0].history().answers
    heads = ["", *(answer.receipt["hash"] for answer in answers)]
    assert [answer.measurements.decode() for answer in answers] == heads[:12]


# Holds of jobs


def test_a_hold_does_not_stand_in_the_way_of_its_own_question(ledger):
    """Charged once: others may ask or hold the same question, which is reserved once."""
    first = ledger.hold(laplace("q", "0.75"), user="ana", seconds=60)
    second = ledger.hold(laplace("q", "0.75"), user="ben", seconds=60)
    assert ledger.standing()[0].held == PureLoss("0.75")
    assert not ledger.affords(laplace("other", "0.5"))
    assert ledger.affords(laplace("q", "0.75"))
    commit(ledger, "q", "0.75", user="cas")
    assert ledger.standing()[0].held == PureLoss(0)
    assert ledger.affords(laplace("other", "0.25"))
    assert not commit(ledger, "q", "0.75", user="ana", hold=first).fresh
    ledger.hold(laplace("q", "0.75"), user="ben", again=second)  # free by now
    ledger.lapse(second)
    ledger.lapse(second)
    assert ledger.spent() == PureLoss("0.75")


def test_a_hold_counts_against_its_user_and_project(ledger):
    ledger.set_subcap("user:ana", PureLoss("0.5"), who="c", reason="share")
    ledger.hold(laplace("job", "0.4"), user="ana", project="health", seconds=60)
    with pytest.raises(BudgetExceeded, match="for user ana"):
        ledger.hold(laplace("other job", "0.4"), user="ana", seconds=60)
    ledger.hold(laplace("other job", "0.4"), user="ben", seconds=60)


def test_a_lapsed_hold_is_taken_again_only_where_it_fits(ledger, clock):
    """The worker of a job that waited too long asks again, and may be refused by then."""
    held = ledger.hold(laplace("job", "0.75"), user="ana", seconds=60)
    clock.now += 61
    commit(ledger, "q", "0.5", user="ben")
    with pytest.raises(BudgetExceeded):
        ledger.hold(laplace("job", "0.75"), user="ana", again=held.id)
    ledger.set_cap(PureLoss(2), who="c", reason="more")
    assert ledger.hold(laplace("job", "0.75"), user="ana", again=held.id).id == held.id
    assert ledger.renew(held.id, seconds=90).expires == clock.now + 90
    assert ledger.left() == PureLoss("0.75")


def test_a_hold_survives_a_crash_and_then_lapses(store, clock):
    """Reserved budget is there for whoever does the job over, and free when nobody does."""
    ledger = store.open()
    ledger.set_cap(PureLoss(1), who="ana", reason="agreed")
    held = ledger.hold(laplace("job", "0.75"), seconds=60)
    store.crash()
    ledger = store.open()
    assert not ledger.affords(laplace("q", "0.5"))
    ledger.renew(held.id, seconds=60)
    store.crash()
    ledger = store.open()
    clock.now += 61
    assert ledger.affords(laplace("q", "0.5"))


def test_a_budget_counts_what_is_held(ledger):
    """A cap of a kind that cannot read a hold is refused, as it is for what was spent."""
    ledger.set_cap(ApproxLoss(1, "1e-6"), who="c", reason="other kind")
    law = Charge.law("0.1", "1e-7", cells=1, neighbours="add-remove", question="job")
    held = ledger.hold(law, seconds=60)
    with pytest.raises(InputError, match="cannot be charged to a budget of kind zcdp"):
        ledger.set_cap(ZcdpLoss(1), who="c", reason="other kind")
    ledger.lapse(held)
    ledger.set_cap(ZcdpLoss(1), who="c", reason="other kind")
    record_held = ledger.hold(record("job"), seconds=60)
    assert ledger.standing()[0].held == ZcdpLoss(0)
    assert ledger.commit(
        record("job"),
        b"x",
        idempotency_key="k",
        data_version="1",
        policy_version="1",
        hold=record_held,
    ).fresh


# Against a model


class Model:
    """What a ledger should say."""

    def __init__(self):
        self.cap, self.subcaps, self.now = Fraction(2), {}, 0.0
        self.answers, self.requests, self.holds = {}, {}, {}
        self.head = ""

    def spent(self, user=None):
        return sum((e for e, u, _ in self.answers.values() if user in (None, u)), Fraction(0))

    def held(self, user=None, but=None, question=None):
        live = {
            (asked, epsilon)
            for hold, (epsilon, holder, expires, asked) in self.holds.items()
            if expires > self.now and hold != but and user in (None, holder)
        }
        counted = {pair for pair in live if pair[0] != question and pair[0] not in self.answers}
        return sum((epsilon for _, epsilon in counted), Fraction(0))

    def fits(self, question, epsilon, user, but=None):
        if epsilon == 0 or question in self.answers:
            return True
        if self.spent() + self.held(None, but, question) + epsilon > self.cap:
            return False
        share = self.subcaps.get(user)
        return share is None or (
            self.spent(user) + self.held(user, but, question) + epsilon <= share
        )

    def commit(self, question, epsilon, user, key, content, hold, after):
        if self.requests.get((user, key), (question, epsilon)) != (question, epsilon):
            return "reused"
        if question not in self.answers:
            if after not in (None, self.head):
                return "moved"
            if not self.fits(question, epsilon, user, hold):
                return "refused"
            self.requests[user, key] = (question, epsilon)
            self.answers[question] = (epsilon, user, content)
        self.holds.pop(hold, None)
        return "answer"


AMOUNTS = st.sampled_from(["1/3", "0.25", "0.5", "1", "0"])
"""Zero stands for a record."""
USERS = st.sampled_from(["ana", "ben"])
WRITERS = st.sampled_from([0, 1])
NUMBERS = st.integers(0, 5)


class LedgerAgainstModel(RuleBasedStateMachine):
    kind = STORES[0]
    server = None

    def __init__(self):
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=MEMORY))
        self.draws, self.open_holds, self.heads = 0, [], [""]
        self.model = Model()
        self.store = self.kind(self.root, lambda: self.model.now, self.server)
        self.ledgers = [self.store.open(), self.store.open()]
        self.ledgers[0].set_cap(PureLoss(2), who="ana", reason="start")

    def asked(self, number, epsilon):
        """A question and its charge; ε is part of a question."""
        question = f"q{number}-{epsilon}"
        return question, record(question) if epsilon == "0" else laplace(question, epsilon)

    def picked(self, pick):
        return self.open_holds[pick] if pick < len(self.open_holds) else None

    @rule(
        writer=WRITERS,
        number=NUMBERS,
        epsilon=AMOUNTS,
        user=USERS,
        key=st.sampled_from(["own", "k1", "k2"]),
        pick=st.integers(0, 3),
        back=st.sampled_from([None, 1, 1, 2]),
    )
    def commit(self, writer, number, epsilon, user, key, pick, back):
        question, charge = self.asked(number, epsilon)
        key = question if key == "own" else key
        self.draws += 1
        content = b"draw %d" % self.draws
        hold = self.picked(pick)
        after = None if back is None else self.heads[-back:][0]
        expected = self.model.commit(
            question, Fraction(epsilon), user, key, content, hold.id if hold else None, after
        )
        try:
            answer = self.ledgers[writer].commit(
                charge,
                content,
                idempotency_key=key,
                user=user,
                data_version=str(number % 2),
                policy_version="1",
                hold=hold,
                after=after,
            )
        except BudgetExceeded:
            assert expected == "refused"
        except HistoryMoved:
            assert expected == "moved"
        except KeyReused:
            assert expected == "reused"
        else:
            assert expected == "answer"
            assert answer.measurements == self.model.answers[question][2]
            assert answer.fresh == (answer.measurements == content)
            if answer.fresh:
                self.model.head = answer.receipt["hash"]
                self.heads.append(self.model.head)

    @rule(
        writer=WRITERS,
        number=NUMBERS,
        epsilon=AMOUNTS,
        user=USERS,
        seconds=st.sampled_from([5, 50]),
        pick=st.integers(0, 6),
    )
    def hold(self, writer, number, epsilon, user, seconds, pick):
        question, charge = self.asked(number, epsilon)
        again = self.picked(pick)
        fits = self.model.fits(question, Fraction(epsilon), user, again.id if again else None)
        try:
            taken = self.ledgers[writer].hold(charge, user=user, seconds=seconds, again=again)
        except BudgetExceeded:
            assert not fits
        else:
            assert fits
            until = self.model.now + seconds
            self.model.holds[taken.id] = (Fraction(epsilon), user, until, question)
            if again is None:
                self.open_holds.append(taken)

    @rule(writer=WRITERS, pick=st.integers(0, 3), seconds=st.sampled_from([5, 50]))
    def renew(self, writer, pick, seconds):
        hold = self.picked(pick)
        if hold is not None:
            kept = self.model.holds.get(hold.id)
            lives = kept is not None and kept[2] > self.model.now
            try:
                longer = self.ledgers[writer].renew(hold.id, seconds=seconds)
            except Refusal:
                assert not lives
            else:
                assert lives
                assert longer.expires == self.model.now + seconds
                self.model.holds[hold.id] = (*kept[:2], longer.expires, kept[3])

    @rule(writer=WRITERS, pick=st.integers(0, 3))
    def lapse(self, writer, pick):
        if pick < len(self.open_holds):
            hold = self.open_holds.pop(pick)
            self.ledgers[writer].lapse(hold)
            self.model.holds.pop(hold.id, None)

    @rule(seconds=st.sampled_from([1, 20]))
    def wait(self, seconds):
        self.model.now += seconds

    @rule(writer=WRITERS, amount=st.sampled_from(["1", "2", "5/2"]))
    def change_cap(self, writer, amount):
        self.ledgers[writer].set_cap(PureLoss(amount), who="ana", reason="changed")
        self.model.cap = Fraction(amount)

    @rule(writer=WRITERS, user=USERS, amount=st.sampled_from(["0.5", "1", None]))
    def change_share(self, writer, user, amount):
        budget = None if amount is None else PureLoss(amount)
        self.ledgers[writer].set_subcap(f"user:{user}", budget, who="ana", reason="changed")
        self.model.subcaps[user] = None if amount is None else Fraction(amount)

    @rule(writer=WRITERS)
    def restart(self, writer):
        self.ledgers[writer].close()
        self.ledgers[writer] = self.store.open()

    @rule()
    def crash(self):
        self.store.crash()
        self.ledgers = [self.store.open(), self.store.open()]

    @invariant()
    def agrees(self):
        for ledger in self.ledgers:
            standing = ledger.standing()[0]
            assert standing.spent.epsilon == self.model.spent()
            assert standing.cap.epsilon == self.model.cap
            assert standing.held.epsilon == self.model.held()
            history = ledger.history()
            assert history.head == self.model.head
            assert {a.question: a.measurements for a in history.answers} == {
                question: content for question, (_, _, content) in self.model.answers.items()
            }
            assert [a.receipt["hash"] for a in history.answers] == self.heads[1:]

    def teardown(self):
        checked = self.store.open().verify()
        self.store.close()
        assert checked.answers == len(self.model.answers)
        assert checked.spent == PureLoss(self.model.spent())
        shutil.rmtree(self.root)


def run(request, kind, examples, steps):
    of_kind = {"kind": kind, "server": server_of(request, kind)}
    run_state_machine_as_test(
        type(f"Against{kind.__name__}", (LedgerAgainstModel,), of_kind),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", STORES, ids=lambda kind: kind.name)
def test_agrees_with_the_model(request, kind):
    """60 random sequences of up to 20 steps (12 where each opening is a connection)."""
    run(request, kind, 12 if kind.needs_server else 60, 20)


@pytest.mark.proof
@pytest.mark.parametrize("kind", STORES, ids=lambda kind: kind.name)
def test_agrees_with_the_model_over_five_thousand_sequences(request, kind):
    """Over 5,000 random sequences of up to 20 steps (1,000 where each opening is a connection) each
    store does what a simple model does."""
    run(request, kind, 1000 if kind.needs_server else 5000, 20)
