"""Tables that take longer than a request: the job's row, its result, and the budget it holds.

A job holds what it will be charged from the moment it is asked for, so that the budget cannot be
gone when it runs. Workers renew the holds of all jobs that have not ended, waiting ones too; a job
that fails or is cancelled gives its hold up. Where no server ran for so long that a hold lapsed, the
job asks for it again, and fails with the ledger's sentence if others have spent it meanwhile.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from fastapi.responses import JSONResponse, Response

from .. import formats
from ..core.control import Control
from ..durable import make_folder
from ..errors import DiscreetError, InputError
from ..file_names import JOB_RESULTS
from ..languages import say
from ..recipe import to_mapping
from ..store import Job
from .asking import Asking, Wish, understood
from .auth import PUBLIC, Asker
from .problems import Problem
from .refusals import with_alternatives
from .service import Service
from .table_answers import write

KIND = "tables"

ENDED = ("done", "failed", "cancelled")
_MOST_JOBS = 20


def create(asking: Asking) -> Job:
    """A job for a question that would be answered; what would be refused is refused now."""
    service, wish = asking.service, asking.wish
    with with_alternatives(asking):
        asking.verdict.enforce()
        asking.may_spend()
        if len(_unended(service, asking.asker.user)) >= _MOST_JOBS:
            raise Problem(
                429,
                "too-many-jobs",
                say(
                    "You have {most_jobs} jobs waiting or running, which is the most. Wait for one "
                    "or cancel one.",
                    most_jobs=_MOST_JOBS,
                ),
                headers={"Retry-After": "30"},
            )
        request = {
            "dataset": asking.dataset,
            "recipe": to_mapping(asking.recipe),
            "format": wish.format.name,
            "language": wish.language,
            "project": wish.project,
            "question": asking.question,
        }
        hold = held(asking)
    try:
        job = service.jobs.create(KIND, request, user=asking.asker.user, hold=hold)
    except DiscreetError:
        if hold is not None:
            asking.data.ledger().lapse(hold)
        raise
    service.job_waits.set()
    asking.notes["question"] = asking.question
    return job


def same(asking: Asking) -> Job | None:
    """A job of this asker's that makes, or made, just this answer; the newest."""
    facts = {"dataset": asking.dataset, "question": asking.question}
    facts |= {"format": asking.wish.format.name, "language": asking.wish.language}
    recipe = to_mapping(asking.recipe)
    for job in asking.service.jobs.asking(asking.question, user=asking.asker.user):
        wanted = job.kind == KIND and job.state in ("waiting", "running", "done")
        if wanted and facts.items() <= job.request.items() and job.request["recipe"] == recipe:
            return job
    return None


def held(asking: Asking, again: str | None = None) -> str | None:
    """The hold a question needs: taken, renewed, or where it lapsed taken again; None if it is free."""
    charge = asking.asked.plan.charge
    if charge is None or asking.costs_nothing:
        return None
    hold = asking.data.ledger().hold(
        charge,
        user=asking.asker.user,
        project=asking.wish.project,
        seconds=asking.service.settings.hold_seconds,
        again=again,
    )
    return hold.id


def renew_holds(service: Service) -> None:
    """Renew what every job that has not ended holds; one that was asked to stop needs none."""
    for job in _unended(service):
        if job.hold and not job.cancel_requested:
            ignored = contextlib.suppress(DiscreetError, Problem)
            with ignored, service.datasets.use(job.request["dataset"]) as data:
                data.ledger().renew(job.hold, seconds=service.settings.hold_seconds)


def end(service: Service, job: Job) -> None:
    """Let others have what an ended job held; whoever finds it ended does so, however often."""
    if job.hold:
        # where data set or ledger cannot be used it lapses with its time, and other jobs go on
        ignored = contextlib.suppress(DiscreetError, Problem)
        with ignored, service.datasets.use(job.request["dataset"]) as data:
            data.ledger().lapse(job.hold)
        service.jobs.let_go(job.id)


def made(service: Service, job: Job, control: Control) -> dict[str, Any]:
    """Do a job: its tables as a file, and what is known of them."""
    request, asker = job.request, asker_of(service, job)
    wish = Wish(formats.by_name(request["format"]), request["language"], request["project"])
    with service.dataset(asker, request["dataset"]) as data:
        recipe = understood(asker, data, request["recipe"])
        asking = Asking(service, asker, data, recipe, wish)
        if asking.question != request["question"]:
            raise Problem(
                409,
                "changed",
                say("The data set or its policy changed after this was asked. Ask again."),
            )
        release = asking.release(control, hold=held(asking, job.hold))
    file = result_file(service, job)
    make_folder(file.parent)
    size = write(file, release, wish, control)
    row = {
        "event": "job done",
        "user": asker.name,
        "dataset": asking.dataset,
        "question": release.plan.question_hash,
        "cells": sum(table.cells for table in release.tables),
        "charged": release.charged,
    }
    service.audit.add(row).result(timeout=30)
    return {
        "question": asking.question,
        "bytes": size,
        "language": asking.language,
        "policy": asking.data.policy.version,
    }


def asker_of(service: Service, job: Job) -> Asker:
    """Who asked, with the rights of today."""
    if job.user == "public":
        return PUBLIC
    try:
        user = service.accounts.user(job.user)
    except InputError:
        user = None
    if user is None or user.revoked is not None:
        raise Problem(403, "role", say("The account that asked was revoked before this was made."))
    return Asker(user.name, user.role, PUBLIC.scopes, f"job {job.id}")


def _unended(service: Service, user: str | None = None) -> list[Job]:
    return [job for job in service.jobs.unended(user=user) if job.kind == KIND]


def result_file(service: Service, job: Job) -> Path:
    """Where a finished job's bytes lie."""
    return service.blobs.root / JOB_RESULTS / job.id


def accepted(job: Job) -> Response:
    """A job, and where to look for it."""
    headers = {"Location": f"/api/v1/jobs/{job.id}", "Retry-After": "1"}
    return JSONResponse(facts(job), 202, headers | {"Preference-Applied": "respond-async"})


def facts(job: Job) -> dict[str, Any]:
    """A job as clients see it."""
    own = ("id", "state", "share", "doing", "created", "attempts", "cancel_requested")
    return {
        **{name: getattr(job, name) for name in own},
        **{name: job.request[name] for name in ("dataset", "format", "question")},
        "error": None if job.error is None else json.loads(job.error),
        "result": f"/api/v1/jobs/{job.id}/result" if job.state == "done" else None,
    }
