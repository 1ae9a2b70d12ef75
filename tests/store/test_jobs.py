"""Jobs: claimed once, resumed after a crash, stopped on request."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from discreet.errors import InputError
from discreet.store import Hold, Jobs
from discreet.store.jobs import LeaseLost

from .ledger_stores import STORES, shared_workspace


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=STORES, ids=lambda kind: kind.name)
def workspace(request, tmp_path):
    """A workspace that keeps its rows in files of its own, or in the tests' Postgres."""
    if request.param.needs_server:
        shared_workspace(tmp_path, request.getfixturevalue("postgres"))
    return tmp_path


@pytest.fixture
def jobs(workspace, clock):
    opened = Jobs(workspace, clock=clock)
    yield opened
    opened.close()


def test_a_job_from_birth_to_result(jobs):
    made = jobs.create("release", {"recipe": "r"}, user="ana")
    assert made.state == "waiting"
    job, lease = jobs.claim()
    assert (job.id, job.state, job.attempts, job.request) == (
        made.id,
        "running",
        1,
        {"recipe": "r"},
    )
    assert jobs.claim() is None
    assert jobs.progress(job.id, lease, 0.5, "fitting") is False
    assert (jobs.get(job.id).share, jobs.get(job.id).doing) == (0.5, "fitting")
    assert jobs.finish(job.id, lease, "question abc").result == "question abc"
    assert [j.state for j in jobs.list()] == ["done"]
    assert jobs.unended() == []
    assert jobs.list(user="ben") == []


def test_a_silent_worker_loses_its_job(jobs, clock):
    """After a crash the lease runs out, another worker takes over, the first may not finish."""
    made = jobs.create("release", {})
    _, old = jobs.claim(seconds=10)
    clock.now += 9
    jobs.heartbeat(made.id, old, seconds=10)
    clock.now += 9
    assert jobs.claim() is None
    clock.now += 2
    again, new = jobs.claim()
    assert (again.id, again.attempts) == (made.id, 2)
    with pytest.raises(LeaseLost):
        jobs.finish(made.id, old, "late")
    jobs.fail(made.id, new, "The disk is full.")
    assert jobs.get(made.id).error == "The disk is full."


def test_what_an_ended_job_held_is_found_until_it_is_let_go(jobs, clock):
    """Whoever ends a job may die before its hold is given up: the next one finds it."""
    ends = {
        "waiting": jobs.create("a", {}, hold="h1"),
        "failed": jobs.create("b", {}, hold="h2"),
        "dead": jobs.create("c", {}, hold="h3"),
        "none": jobs.create("d", {}),
    }
    jobs.request_cancel(ends["waiting"].id)
    jobs.fail(ends["failed"].id, jobs.claim(kind="b")[1], "{}")
    jobs.claim(kind="c", seconds=5)
    jobs.request_cancel(ends["dead"].id)
    jobs.request_cancel(ends["none"].id)
    assert {job.hold for job in jobs.ended_holding()} == {"h1", "h2"}
    clock.now += 6
    jobs.end_cancelled()
    assert {job.hold for job in jobs.ended_holding()} == {"h1", "h2", "h3"}
    for job in jobs.ended_holding():
        jobs.let_go(job.id)
    assert not jobs.ended_holding()


def test_cancel(jobs, clock):
    waiting, running = jobs.create("a", {}), None
    assert jobs.request_cancel(waiting.id).state == "cancelled"
    running = jobs.create("a", {})
    job, lease = jobs.claim(kind="a", seconds=5)
    assert job.id == running.id
    jobs.request_cancel(job.id)
    assert jobs.heartbeat(job.id, lease, seconds=5) is True
    assert jobs.cancelled(job.id, lease).state == "cancelled"
    dead = jobs.create("a", {})
    jobs.claim(seconds=5)
    jobs.request_cancel(dead.id)
    assert not jobs.end_cancelled()
    clock.now += 6
    assert jobs.claim() is None
    assert [job.id for job in jobs.end_cancelled()] == [dead.id]
    assert not jobs.end_cancelled()
    assert jobs.get(dead.id).state == "cancelled"
    with pytest.raises(InputError, match="There is no job"):
        jobs.get("nothing")


def test_a_job_names_the_hold_of_its_budget(jobs):
    """From birth to end, for whoever has to renew it or give it up."""
    made = jobs.create("release", {}, hold=Hold("h1", 1060.0))
    assert made.hold == "h1"
    assert jobs.claim()[0].hold == "h1"
    assert jobs.request_cancel(made.id).hold == "h1"
    assert jobs.create("release", {}).hold is None


def test_jobs_of_an_older_file_are_carried_over(tmp_path):
    """A file from before jobs had holds: its jobs are there, waiting, without one."""
    raw = sqlite3.connect(tmp_path / "jobs.sqlite3")
    raw.execute(
        "CREATE TABLE jobs (id TEXT PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, "
        "request TEXT NOT NULL, user TEXT NOT NULL, created REAL NOT NULL, "
        "lease_until REAL NOT NULL, heartbeat REAL NOT NULL, share REAL NOT NULL, "
        "doing TEXT NOT NULL, cancel_requested INTEGER NOT NULL, result TEXT, error TEXT, "
        "attempts INTEGER NOT NULL, lease TEXT) STRICT"
    )
    raw.execute(
        "INSERT INTO jobs VALUES ('j', 'release', 'waiting', '{\"a\":1}', 'ana', 5, 0, 0, 0, '', 0, "
        "NULL, NULL, 0, NULL)"
    )
    raw.commit()
    raw.close()
    for _ in range(2):  # the second opening finds the column
        jobs = Jobs(tmp_path)
        assert jobs.get("j").hold is None
        assert jobs.get("j").request == {"a": 1}
        jobs.close()
    jobs = Jobs(tmp_path)
    assert jobs.claim()[0].id == "j"
    assert jobs.create("release", {}, hold="h2").hold == "h2"
    jobs.close()


def test_each_job_is_claimed_once(workspace):
    """20 jobs, 4 workers with connections of their own: each job is claimed exactly once."""
    first = Jobs(workspace)
    for i in range(20):
        first.create("release", {"number": i})
    claimed = []

    def work():
        mine = Jobs(workspace)
        while (got := mine.claim()) is not None:
            claimed.append(got[0].request["number"])
        mine.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first.close()
    assert sorted(claimed) == list(range(20))


def test_lists_come_in_pages_newest_first(jobs):
    made = [jobs.create("table", {"question": f"q{i % 2}"}, user="ana").id for i in range(5)]
    first = jobs.list(user="ana", most=2)
    assert [job.id for job in first] == made[:2:-1]
    rest = jobs.list(user="ana", before=first[-1].id)
    assert [job.id for job in rest] == made[2::-1]
    assert jobs.list(user="ben", before=first[-1].id) == []
    assert [job.id for job in jobs.asking("q1", user="ana")] == [made[3], made[1]]
    assert jobs.asking("q1", user="ben") == []


def test_only_ended_jobs_are_forgotten_in_time(jobs, clock):
    ended, waiting = jobs.create("table", {}), jobs.create("table", {})
    claimed = jobs.claim()
    assert claimed[0].id == ended.id
    clock.now += 10
    jobs.progress(ended.id, claimed[1], 0.5, "counting")
    jobs.finish(ended.id, claimed[1], "there")
    assert jobs.forget(before=clock.now - 5) == 0  # it was heard of later
    assert jobs.forget(before=clock.now + 5) == 1
    assert [job.id for job in jobs.list()] == [waiting.id]
