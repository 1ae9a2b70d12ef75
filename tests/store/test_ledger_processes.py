"""Real processes: raced against a budget, killed under load, traced to the system call."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.core.charge import Charge
from discreet.core.loss import PureLoss
from discreet.store import open_ledger, verify

from ..patience import PATIENCE
from .ledger_stores import STORES, shared_workspace

WORKER = [sys.executable, str(Path(__file__).with_name("ledger_worker.py"))]


@pytest.fixture(params=STORES, ids=lambda kind: kind.name)
def people(request, tmp_path):
    """The folder of a data set whose ledger lies in it, or in the tests' Postgres."""
    if request.param.needs_server:
        shared_workspace(tmp_path / "workspace", request.getfixturevalue("postgres"))
        return tmp_path / "workspace" / "people"
    return tmp_path


def prepare(folder, budget):
    with open_ledger(folder, dataset="people") as ledger:
        ledger.set_cap(PureLoss(budget), who="ana", reason="test")


def raced(folder, processes, each, how="race"):
    """Everyone starts at once. Returns what each reports."""
    workers = [
        subprocess.Popen(
            [*WORKER, how, str(folder), str(i), str(each)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(processes)
    ]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    reports = [json.loads(worker.communicate()[0]) for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    return reports


def check_race(folder, processes, each, budget):
    prepare(folder, budget)
    reports = raced(folder, processes, each)
    assert sum(report["granted"] for report in reports) == budget
    assert sum(report["refused"] for report in reports) == processes * each - budget
    found = verify(folder)
    assert found.spent == PureLoss(budget)
    assert found.answers == budget


@pytest.mark.slow
def test_processes_never_overspend(people):
    """8 processes × 50 questions against a budget for 200: exactly 200 are answered."""
    check_race(people, 8, 50, 200)


@pytest.mark.proof
def test_sixteen_processes_ten_thousand_requests(people):
    """16 × 625 distinct questions, budget for 5,000: exactly 5,000 are answered."""
    check_race(people, 16, 625, 5000)


def check_scopes(folder, processes, each):
    caps = {
        "dataset": Fraction(20),
        "user:ana": Fraction(7),
        "user:ben": Fraction(9),
        "project:health": Fraction(8),
        "project:work": Fraction(31, 3),
    }
    with open_ledger(folder, dataset="people") as ledger:
        ledger.set_cap(PureLoss(caps["dataset"]), who="ana", reason="test")
        for scope in list(caps)[1:]:
            ledger.set_subcap(scope, PureLoss(caps[scope]), who="ana", reason="test")
    reports = raced(folder, processes, each, "mixed")
    verify(folder)
    with open_ledger(folder, dataset="people") as ledger:
        for user in ("ana", "ben"):
            for project in ("health", "work"):
                for standing in ledger.standing(user=user, project=project):
                    said = sum(Fraction(report.get(standing.scope, 0)) for report in reports)
                    assert said == standing.spent.epsilon <= caps[standing.scope]
        assert ledger.left().epsilon < Fraction(1, 2)  # the race was for scarce budget


@pytest.mark.slow
def test_no_scope_is_overspent(people):
    """4 processes, random costs, users and projects: each scope within its cap, sums exact."""
    check_scopes(people, 4, 60)


@pytest.mark.proof
def test_no_scope_is_overspent_with_more_of_everything(people):
    """16 processes make 300 random charges each: no user, project or data set is overspent."""
    check_scopes(people, 16, 300)


class Server:
    """A worker that answers requests until it is killed; keeps what it answered."""

    def __init__(self, folder, answers):
        self.process = subprocess.Popen(
            [*WORKER, "serve", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout.readline() == b"ready\n"
        self.answers = answers
        self.thread = threading.Thread(target=self._listen)
        self.thread.start()

    def _listen(self):
        for line in self.process.stdout:
            if line.endswith(b"\n"):  # a torn line was never received
                key, question, said = line.decode().split()
                self.answers.append((key, question, said))

    def send(self, key, question, size):
        try:
            self.process.stdin.write(f"{key} {question} {size}\n".encode())
            self.process.stdin.flush()
        except OSError:
            return

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except OSError:
            return


def killed(folder, kills, seed):
    """Two servers under load; one at a time is killed and started again; clients retry."""
    rng = random.Random(seed)
    prepare(folder, 10**6)
    answers: list[tuple[str, str, str]] = []
    servers = [Server(folder, answers), Server(folder, answers)]
    asked: dict[str, tuple[str, int]] = {}
    done: dict[str, str] = {}
    checked = 0
    for round_ in range(kills):
        open_keys = [key for key in asked if key not in done]
        for i in range(6):
            # A third of the questions is asked under two keys, on both servers at once.
            size = 1_100_000 if rng.random() < 0.02 else 40
            asked[f"k{round_}-{i}"] = (f"q{round_}-{i // 2 if i < 4 else i}", size)
            open_keys.append(f"k{round_}-{i}")
        retried = rng.sample(sorted(done), min(2, len(done)))
        for key in open_keys + retried:
            rng.choice(servers).send(key, *asked[key])
        time.sleep(rng.random() * 0.08)
        victim = rng.randrange(2)
        servers[victim].kill()
        servers[victim] = Server(folder, answers)
        checked = settle(answers, checked, done, asked)
        if round_ % 20 == 19:
            verify(folder)
    deadline = time.monotonic() + PATIENCE
    while len(done) < len(asked) and time.monotonic() < deadline:
        for key in [key for key in asked if key not in done]:
            servers[0].send(key, *asked[key])
        time.sleep(0.3)
        checked = settle(answers, checked, done, asked)
    for server in servers:
        server.kill()
    settle(answers, checked, done, asked)
    return asked, done, answers


def settle(answers, checked, done, asked):
    """0 different answers for one key."""
    end = len(answers)
    for key, question, said in answers[checked:end]:
        assert asked[key][0] == question
        assert done.setdefault(key, said) == said
    return end


def check_killed(folder, kills, seed):
    asked, done, answers = killed(folder, kills, seed)
    assert len(done) == len(asked)  # every key was answered in the end
    questions = {question for question, _ in asked.values()}
    found = verify(folder)
    assert found.answers == len(questions)  # charged once each
    assert found.spent == PureLoss(len(questions))
    import hashlib

    with open_ledger(folder, dataset="people") as ledger:
        for _, question, said in answers:  # 0 answers without a charge, 0 different ones
            stored = ledger.find(question)
            assert stored is not None
            assert hashlib.sha256(stored.measurements).hexdigest() == said


@pytest.mark.slow
def test_kill_minus_nine_loses_nothing(people):
    """40 kills under load with retrying clients: all answers charged, once, and the same."""
    check_killed(people, 40, seed=1)


@pytest.mark.proof
def test_a_thousand_kills(people):
    """1,000 kills under load with retrying clients: all answers charged, once, and the same."""
    check_killed(people, 1000, seed=2)


class Decider:
    """A process that decides on histories; keeps what it was told is stored."""

    def __init__(self, folder, name, count):
        self.process = subprocess.Popen(
            [*WORKER, "decide", str(folder), name, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "ready\n"
        self.said: list[str] = []

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        self.thread = threading.Thread(target=self._listen)
        self.thread.start()

    def _listen(self):
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.said.append(line)

    def end(self, *, kill):
        if kill:
            os.kill(self.process.pid, signal.SIGKILL)
        self.thread.join()
        self.process.wait()
        self.process.stdout.close()
        self.process.stdin.close()
        assert kill or self.process.returncode == 0


def check_one_line(folder, count, told):
    """Every answer was decided on the history right before it, and every one told is stored."""
    verify(folder)
    with open_ledger(folder, dataset="people") as ledger:
        answers = ledger.history().answers
    assert len(answers) == count
    head = ""
    for place, answer in enumerate(answers):
        assert json.loads(answer.measurements) == [head, place]
        head = answer.receipt["hash"]
    stored = {answer.question: answer.receipt["hash"] for answer in answers}
    for line in told:
        if line.startswith("q-"):
            question, entry = line.split()
            assert stored[question] == entry


def check_decisions(folder, processes, each):
    deciders = [Decider(folder, str(i), each) for i in range(processes)]
    for decider in deciders:
        decider.go()
    for decider in deciders:
        decider.end(kill=False)
    check_one_line(folder, processes * each, [line for d in deciders for line in d.said])
    moved = sum(json.loads(decider.said[-1])["moved"] for decider in deciders)
    assert moved >= 1  # or nobody was raced


@pytest.mark.slow
def test_processes_never_decide_twice_on_one_history(people):
    """4 processes × 15 decisions: each was stored right after the history it was decided on."""
    check_decisions(people, 4, 15)


@pytest.mark.proof
def test_many_processes_never_decide_twice_on_one_history(people):
    """12 processes make 60 decisions each: every one is stored right after the history it is from."""
    check_decisions(people, 12, 60)


def check_decisions_killed(folder, kills, seed):
    rng = random.Random(seed)
    told: list[str] = []
    for _ in range(kills):
        deciders = [Decider(folder, name, 8 * kills) for name in ("a", "b")]
        for decider in deciders:
            decider.go()
        time.sleep(rng.random() * 0.2)
        for decider in deciders:
            decider.end(kill=True)
            told += decider.said
    deciders = [Decider(folder, name, 8 * kills) for name in ("a", "b")]
    for decider in deciders:
        decider.go()
    for decider in deciders:
        decider.end(kill=False)
        told += decider.said
    check_one_line(folder, 16 * kills, told)


@pytest.mark.slow
def test_killed_deciders_leave_one_line_of_decisions(people):
    """6 kills of two deciding processes: done over, no decision is lost, doubled or out of line."""
    check_decisions_killed(people, 6, seed=3)


@pytest.mark.proof
def test_many_killed_deciders_leave_one_line_of_decisions(people):
    """Two deciding processes killed 60 times lose, double or misplace no decision."""
    check_decisions_killed(people, 60, seed=4)


def test_the_hold_of_a_killed_worker_lapses(people):
    """Its budget is nobody else's until then, is there for who does the job over, then free."""
    prepare(people, 1)
    worker = subprocess.Popen(
        [*WORKER, "hold", str(people)],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    held = worker.stdout.readline().strip()
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    charge = Charge.laplace("1/2", cells=1, neighbours="add-remove", question="other")
    with open_ledger(people, dataset="people") as ledger:
        assert not ledger.affords(charge)
        ledger.renew(held, seconds=3600)
    with open_ledger(people, dataset="people", clock=lambda: time.time() + 7200) as ledger:
        assert ledger.affords(charge)
        assert ledger.spent() == PureLoss(0)


CALL = re.compile(r"^(?:\[pid +)?(\d+)\]? +(\w+)\((.*)$")
RESUMED = re.compile(r"^(?:\[pid +)?(\d+)\]? +<\.\.\. (\w+) resumed>.*= 0")


def answers_before_sync(trace: str) -> tuple[int, int]:
    """(answers, answers written while the ledger, an anchor or a large file was not synced)."""
    unsynced: set[str] = set()
    pending: dict[str, str] = {}
    answers = wrong = wal_writes = large = 0
    for line in trace.splitlines():
        resumed = RESUMED.match(line)
        if resumed and resumed[2] in ("fdatasync", "fsync"):
            file = pending.pop(resumed[1], "")
            unsynced.discard(file)
            large += file.endswith("/measurements")
            continue
        call = CALL.match(line)
        if not call:
            continue
        process, name, rest = call.groups()
        path = re.match(r"\d+<([^>]*)>", rest)
        file = path[1].removesuffix(" (deleted)") if path else ""
        if name in ("fdatasync", "fsync"):
            if "unfinished" in rest:
                pending[process] = file
            elif rest.rstrip().endswith("= 0"):
                unsynced.discard(file)
                if file.endswith("/measurements"):
                    large += 1
        elif '"answer\\n"' in rest:
            answers += 1
            wrong += bool(unsynced) or not wal_writes
            wal_writes = 0
        elif name in ("pwrite64", "write"):
            if file.endswith("-wal"):
                wal_writes += 1
                # Large measurements are durable before the transaction that names them begins.
                wrong += any("/measurements" in other for other in unsynced)
            if file.endswith(("-wal", ".anchor.new", ".anchor")):
                unsynced.add(file)
            if "/measurements/" in file:  # the name must last too
                unsynced |= {file, file.rpartition("/")[0]}
    assert large >= answers // 10
    return answers, wrong


def traced(folder, count, synchronous):
    prepare(folder, count)
    output = folder / "trace"
    subprocess.run(
        [
            "strace",
            "-f",
            "-y",
            "-s",
            "32",
            "-o",
            str(output),
            "-e",
            "trace=pwrite64,write,fdatasync,fsync",
            *WORKER,
            "order",
            str(folder),
            str(count),
            synchronous,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return answers_before_sync(output.read_text(errors="replace"))


needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None
    or subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode != 0,
    reason="strace is not there or may not trace",
)


@needs_strace
@pytest.mark.slow
def test_on_disk_before_the_first_byte_of_the_answer(tmp_path):
    """Ledger, anchor and large files are synced before each of 100 answers is written."""
    assert traced(tmp_path, 100, "FULL") == (100, 0)


@needs_strace
@pytest.mark.slow
def test_the_trace_finds_a_ledger_that_does_not_sync(tmp_path):
    """The control: with synchronous=NORMAL answers leave before the log is on disk."""
    answers, wrong = traced(tmp_path, 30, "NORMAL")
    assert answers == 30
    assert wrong >= 25  # a checkpoint may sync by chance


@needs_strace
@pytest.mark.proof
def test_a_thousand_answers_in_order(tmp_path):
    """Before each of 1,000 answers leaves, ledger, anchor and large files are synced to disk."""
    assert traced(tmp_path, 1000, "FULL") == (1000, 0)


@needs_strace
@pytest.mark.slow
@pytest.mark.parametrize("call", ["fdatasync", "fsync", "pwrite64"])
def test_an_error_of_the_disk_answers_nothing(tmp_path, call):
    """EIO from each of the first system calls of a commit: an error or a durable answer."""
    errors = 0
    for nth in range(1, 13, 2):
        folder = tmp_path / str(nth)
        prepare(folder, 5)
        done = subprocess.run(
            [
                "strace",
                "-f",
                "-o",
                "/dev/null",
                "-e",
                f"trace={call}",
                "-e",
                f"inject={call}:error=EIO:when={nth}",
                *WORKER,
                "once",
                str(folder),
                "64",
            ],
            capture_output=True,
            text=True,
        )
        report = json.loads(done.stdout)
        errors += "error" in report
        if "error" in report:
            assert report["error"] == "StoreError"
            assert "Nothing was answered" in report["message"]
        else:
            assert verify(folder).answers == 1
        verify(folder)
    assert errors >= 1
