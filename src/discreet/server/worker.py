"""The threads that do jobs: claim one, keep its lease alive, make it, keep its result.

A job is done over when its worker died: its question is charged once, so doing it over costs
nothing and gives the same numbers. A job whose data set has changed since it was asked fails with
a sentence instead of answering another question.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import formats, release
from ..core.control import Control
from ..durable import make_folder, replace_bytes
from ..errors import Cancelled, DiscreetError, InputError, StoreError
from ..file_names import JOB_RESULTS
from ..store import Job
from ..store.jobs import LeaseLost
from . import answering, logs, problems
from .auth import PUBLIC, Asker
from .negotiation import spoken
from .problems import Problem
from .service import Service

KIND = "tables"
_IDLE_SECONDS = 1.0
_MOST_ATTEMPTS = 50
"""A job that takes its process down with it must not do so for ever."""


class Worker:
    """The job threads of one process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._stopping = threading.Event()
        self._tidied = float("-inf")
        self._threads = [
            threading.Thread(target=self._run, name=f"jobs {number}", daemon=True)
            for number in range(service.settings.job_threads)
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

    def _run(self) -> None:
        service = self._service
        while not self._stopping.is_set():
            try:
                claimed = service.jobs.claim(kind=KIND, seconds=service.settings.lease_seconds)
                if claimed is None:
                    self._tidy()
                    service.job_waits.wait(_IDLE_SECONDS)
                    service.job_waits.clear()
                    continue
                self._do(*claimed)
            except LeaseLost:
                continue
            except Exception as error:
                problems.bug(error)
                self._stopping.wait(_IDLE_SECONDS)

    def _tidy(self) -> None:
        """Once an hour: remove results kept for long enough, and idempotency keys as old."""
        if time.monotonic() < self._tidied + 3600:
            return
        self._tidied = time.monotonic()
        oldest = time.time() - self._service.settings.keep_days * 86400
        for path in (self._service.folder / JOB_RESULTS).glob("*"):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < oldest:
                    path.unlink()
        self._service.accounts.forget_requests(before=oldest)

    def _do(self, job: Job, lease: str) -> None:  # noqa: C901 - one job and every way it may end
        jobs, seconds = self._service.jobs, self._service.settings.lease_seconds
        logs.say("info", event="job begun", job=job.id, attempt=job.attempts)
        stop, done = threading.Event(), threading.Event()
        if self._stopping.is_set():
            stop.set()

        def beat() -> None:
            while not done.wait(seconds / 4):
                try:
                    if jobs.heartbeat(job.id, lease, seconds=seconds):
                        stop.set()
                except StoreError:
                    stop.set()  # the lease is lost: somebody else has the job
                    return

        said = [0.0]

        def progress(share: float, doing: str) -> None:
            if time.monotonic() - said[0] > 0.2 or share >= 1:
                said[0] = time.monotonic()
                if jobs.progress(job.id, lease, min(share, 0.99), doing, seconds=seconds):
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
            result = self._make(job, control)
            jobs.finish(job.id, lease, json.dumps(result))
        except Cancelled:
            if not self._stopping.is_set():
                jobs.cancelled(job.id, lease)
        except Problem as problem:
            jobs.fail(job.id, lease, json.dumps(problem.body(), ensure_ascii=False))
        except LeaseLost:
            raise
        except DiscreetError as error:
            body = problems.of(error).body()
            jobs.fail(job.id, lease, json.dumps(body, ensure_ascii=False))
        except Exception as error:
            jobs.fail(job.id, lease, json.dumps(problems.bug(error).body()))
        finally:
            done.set()
        logs.say("info", event="job ended", job=job.id)

    def _make(self, job: Job, control: Control) -> dict[str, Any]:
        service, asked = self._service, job.request
        asker = self._asker(job)
        wish = answering.Wish(formats.by_name(asked["format"]), asked["language"], asked["project"])
        with service.dataset(asker, asked["dataset"]) as data:
            understood = answering.understood(data, asked["recipe"])
            if answering.question_hash(data, understood) != asked["question"]:
                raise Problem(
                    409,
                    "changed",
                    "The data set or its policy changed after this was asked. Ask again.",
                )
            answering.may_spend(service, asker, data, understood)
            made = release.release(
                data, understood, user=asker.user, project=wish.project, control=control
            )
            body = answering.rendered(made, wish)
            language = spoken(data.description, wish.language)
        folder = service.folder / JOB_RESULTS
        make_folder(folder, mode=0o700)
        replace_bytes(folder / job.id, body, mode=0o600)
        service.audit.add(
            {
                "event": "job done",
                "user": asker.name,
                "dataset": asked["dataset"],
                "question": made.plan.question_hash,
                "cells": sum(table.cells for table in made.tables),
                "charged": made.plan.charge is not None and not made.reused,
            }
        ).result(timeout=30)
        return {"question": made.plan.question_hash, "bytes": len(body), "language": language}

    def _asker(self, job: Job) -> Asker:
        """Who asked, with the rights of today."""
        if job.user == "public":
            return PUBLIC
        try:
            user = self._service.accounts.user(job.user)
        except InputError:
            user = None
        if user is None or user.revoked is not None:
            raise Problem(403, "role", "The account that asked was revoked before this was made.")
        return Asker(user.name, user.role, PUBLIC.scopes, f"job {job.id}")


def result_file(service: Service, job: Job) -> Path:
    """Where a finished job's bytes lie."""
    return service.folder / JOB_RESULTS / job.id


def facts(job: Job) -> dict[str, Any]:
    """A job as clients see it."""
    known = asdict(job)
    error = None if job.error is None else json.loads(job.error)
    return {
        "id": job.id,
        "state": job.state,
        "dataset": job.request["dataset"],
        "share": job.share,
        "doing": known["doing"],
        "created": job.created,
        "attempts": job.attempts,
        "cancel_requested": job.cancel_requested,
        "format": job.request["format"],
        "question": job.request["question"],
        "error": error,
        "result": f"/api/v1/jobs/{job.id}/result" if job.state == "done" else None,
    }
