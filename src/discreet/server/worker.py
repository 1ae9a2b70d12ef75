"""The threads that do jobs: claim one, keep its lease alive, make it, keep its result.

A job is done over when its worker died: its question is charged once, so doing it over costs
nothing and gives the same numbers. A job whose data set has changed since it was asked fails with
a sentence instead of answering another question.
"""

from __future__ import annotations

import json
import threading
import time
from types import ModuleType

from ..core.control import Control
from ..errors import Cancelled, StoreError
from ..file_names import JOB_RESULTS
from ..store import Job
from ..store.jobs import Jobs, LeaseLost
from . import draft_jobs, logs, problems, rehearsal_jobs, table_jobs
from .problems import Problem
from .service import Service

_IDLE_SECONDS = 1.0
_MOST_ATTEMPTS = 50
"""A job that takes its process down with it must not do so for ever."""


class Worker:
    """The job threads of one process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._stopping = threading.Event()
        self._tidied = self._renewed = float("-inf")
        # a rehearsal takes minutes, in a process of its own: tables do not wait for it
        lanes = [*[table_jobs] * service.settings.job_threads, rehearsal_jobs, draft_jobs]
        self._threads = [
            threading.Thread(
                target=self._run, args=(lane,), name=f"{lane.KIND} {number}", daemon=True
            )
            for number, lane in enumerate(lanes)
        ]

    def start(self) -> None:
        """Begin to take jobs."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Take no more jobs; one under way is left for another process to do over."""
        self._stopping.set()
        self._service.job_waits.set()
        for thread in self._threads:
            thread.join(timeout=5)

    @property
    def alive(self) -> bool:
        """Whether every thread that takes jobs lives."""
        return all(thread.is_alive() for thread in self._threads)

    def _run(self, lane: ModuleType) -> None:
        service = self._service
        while not self._stopping.is_set():
            try:
                for job in service.jobs.end_cancelled():
                    if job.kind == draft_jobs.KIND:
                        draft_jobs.end(service, job)
                for job in service.jobs.ended_holding():
                    table_jobs.end(service, job)
                claimed = self._claimed(lane)
                if claimed is None:
                    self._tidy()
                    service.job_waits.wait(_IDLE_SECONDS)
                    service.job_waits.clear()
                    continue
                self._do(lane, *claimed)
            except LeaseLost:
                continue
            except Exception as error:
                problems.behind(error)
                self._stopping.wait(_IDLE_SECONDS)

    def _claimed(self, lane: ModuleType) -> tuple[Job, str] | None:
        """A job of a lane and a lease on it; of drafts only what lies on this host."""
        drafts = self._service.drafts.here() if lane is draft_jobs else None
        if drafts == []:
            return None
        seconds = self._service.settings.lease_seconds
        return self._service.jobs.claim(kind=lane.KIND, seconds=seconds, drafts=drafts)

    def _tidy(self) -> None:
        """Once an hour: remove results kept for long enough, their jobs, and idempotency keys as old."""
        rehearsal_jobs.sweep(self._service)
        if time.monotonic() < self._tidied + 3600:
            return
        self._tidied = time.monotonic()
        oldest = time.time() - self._service.settings.keep_days * 86400
        self._service.blobs.forget(JOB_RESULTS, before=oldest)
        draft_jobs.tidy(self._service)
        self._service.jobs.forget(before=oldest)
        self._service.accounts.forget_requests(before=oldest)

    def _renew_holds(self) -> None:
        """Now and then, while all threads are busy: what jobs hold must not lapse as they wait."""
        if time.monotonic() < self._renewed + self._service.settings.hold_seconds / 10:
            return
        self._renewed = time.monotonic()
        table_jobs.renew_holds(self._service)

    def _do(self, lane: ModuleType, job: Job, lease: str) -> None:
        jobs, seconds = self._service.jobs, self._service.settings.lease_seconds
        logs.say("info", event="job begun", job=job.id, attempt=job.attempts)
        stop, done = threading.Event(), threading.Event()

        def beat() -> None:
            while not done.wait(seconds / 4):
                try:
                    if jobs.heartbeat(job.id, lease, seconds=seconds):
                        stop.set()
                    self._renew_holds()
                except LeaseLost:
                    stop.set()  # somebody else has the job
                    return
                except Exception as error:
                    problems.behind(error)  # nobody asked to stop: it is tried again

        last = float("-inf")

        def progress(share: float, doing: str) -> None:
            nonlocal last
            if time.monotonic() - last > 0.2 or share >= 1:
                last = time.monotonic()
                if _told(jobs, job.id, lease, min(share, 0.99), doing, seconds):
                    stop.set()

        heart = threading.Thread(target=beat, name=f"heart of {job.id}", daemon=True)
        heart.start()
        control = Control(progress, lambda: stop.is_set() or self._stopping.is_set())
        try:
            if job.attempts > _MOST_ATTEMPTS:
                raise Problem(
                    503,
                    "gave-up",
                    f"This was begun {_MOST_ATTEMPTS} times and never ended. Ask for less at once, "
                    "or tell the custodian.",
                )
            result = lane.made(self._service, job, control)
        except Cancelled:
            if self._stopping.is_set():
                return  # another process does it over, with what it holds
            jobs.cancelled(job.id, lease)
        except LeaseLost:
            raise
        except Exception as error:
            body = problems.behind(error).body()
            jobs.fail(job.id, lease, json.dumps(body, ensure_ascii=False))
        else:  # where this cannot be written it is done over: what was made is no failure
            jobs.finish(job.id, lease, json.dumps(result))
        finally:
            done.set()
        lane.end(self._service, job)
        logs.say("info", event="job ended", job=job.id)


def _told(jobs: Jobs, job: str, lease: str, share: float, doing: str, seconds: float) -> bool:
    """Whether a job was asked to stop, once its progress is told; not being able to ends no work."""
    try:
        return jobs.progress(job, lease, share, doing, seconds=seconds)
    except LeaseLost:
        raise
    except StoreError as error:
        problems.behind(error)
        return False
