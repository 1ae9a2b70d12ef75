"""The ledger against a model of thirty lines: hold, commit, lapse, crash, restart, two writers."""

from __future__ import annotations

import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from discreet.core.charge import Charge
from discreet.core.loss import PureLoss
from discreet.errors import BudgetExceeded, KeyReused
from discreet.store import Ledger, verify

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # what is shown here needs no disk


class Model:
    """What a ledger should say."""

    def __init__(self):
        self.cap, self.subcaps, self.now = Fraction(2), {}, 0.0
        self.answers, self.requests, self.holds = {}, {}, {}

    def spent(self, user=None):
        return sum((e for e, u, _ in self.answers.values() if user in (None, u)), Fraction(0))

    def held(self, user=None, but=None):
        live = {h: v for h, v in self.holds.items() if v[2] > self.now and h != but}
        return sum((e for e, u, _ in live.values() if user in (None, u)), Fraction(0))

    def fits(self, epsilon, user, but=None):
        if self.spent() + self.held(None, but) + epsilon > self.cap:
            return False
        share = self.subcaps.get(user)
        return share is None or self.spent(user) + self.held(user, but) + epsilon <= share

    def commit(self, question, epsilon, user, key, content, hold):
        if self.requests.get((user, key), (question, epsilon)) != (question, epsilon):
            return "reused"
        if question not in self.answers:
            if not self.fits(epsilon, user, hold):
                return "refused"
            self.requests[user, key] = (question, epsilon)
            self.answers[question] = (epsilon, user, content)
        self.holds.pop(hold, None)
        return "answer"


AMOUNTS = st.sampled_from(["1/3", "0.25", "0.5", "1"])
USERS = st.sampled_from(["ana", "ben"])
WRITERS = st.sampled_from([0, 1])


class LedgerAgainstModel(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=MEMORY))
        self.folder, self.crashes, self.draws = self.root / "0", 0, 0
        self.model = Model()
        self.open_holds = []
        first = self.open()
        first.set_cap(PureLoss(2), who="ana", reason="start")
        self.ledgers = [first, self.open()]

    def open(self):
        return Ledger.open(self.folder, dataset="people", clock=lambda: self.model.now)

    def charge(self, question, epsilon):
        return Charge.laplace(epsilon, cells=1, neighbours="add-remove", question=question)

    @rule(
        writer=WRITERS,
        number=st.integers(0, 5),
        epsilon=AMOUNTS,
        user=USERS,
        key=st.sampled_from(["own", "k1", "k2"]),
        pick=st.integers(0, 3),
    )
    def commit(self, writer, number, epsilon, user, key, pick):
        question = f"q{number}-{epsilon}"  # ε is part of a question
        key = question if key == "own" else key
        self.draws += 1
        content = b"draw %d" % self.draws
        hold = self.open_holds[pick] if pick < len(self.open_holds) else None
        expected = self.model.commit(
            question, Fraction(epsilon), user, key, content, hold.id if hold else None
        )
        try:
            answer = self.ledgers[writer].commit(
                self.charge(question, epsilon),
                content,
                idempotency_key=key,
                user=user,
                data_version="1",
                policy_version="1",
                hold=hold,
            )
        except BudgetExceeded:
            assert expected == "refused"
        except KeyReused:
            assert expected == "reused"
        else:
            assert expected == "answer"
            assert answer.measurements == self.model.answers[question][2]

    @rule(writer=WRITERS, epsilon=AMOUNTS, user=USERS, seconds=st.sampled_from([5, 50]))
    def hold(self, writer, epsilon, user, seconds):
        fits = self.model.fits(Fraction(epsilon), user)
        try:
            made = self.ledgers[writer].hold(
                self.charge("long", epsilon), user=user, seconds=seconds
            )
        except BudgetExceeded:
            assert not fits
        else:
            assert fits
            self.model.holds[made.id] = (Fraction(epsilon), user, self.model.now + seconds)
            self.open_holds.append(made)

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
        self.ledgers[writer] = self.open()

    @rule()
    def crash(self):
        """What a killed process leaves: the files as they are, nothing closed or tidied."""
        self.crashes += 1
        after = self.root / str(self.crashes)
        shutil.copytree(self.folder, after, ignore=shutil.ignore_patterns("*-shm"))
        for ledger in self.ledgers:
            ledger.close()
        shutil.rmtree(self.folder)
        self.folder = after
        self.ledgers = [self.open(), self.open()]

    @invariant()
    def agrees(self):
        for ledger in self.ledgers:
            standing = ledger.standing()[0]
            assert standing.spent.epsilon == self.model.spent()
            assert standing.cap.epsilon == self.model.cap
            assert standing.held.epsilon == self.model.held()

    def teardown(self):
        for ledger in self.ledgers:
            ledger.close()
        found = verify(self.folder)
        assert found.answers == len(self.model.answers)
        assert found.spent == PureLoss(self.model.spent())
        shutil.rmtree(self.root)


def run(examples, steps):
    run_state_machine_as_test(
        LedgerAgainstModel,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )


@pytest.mark.slow
def test_agrees_with_the_model():
    """100 random sequences of up to 20 steps: no divergence."""
    run(100, 20)


@pytest.mark.proof
def test_agrees_with_the_model_over_five_thousand_sequences():
    run(5000, 20)
