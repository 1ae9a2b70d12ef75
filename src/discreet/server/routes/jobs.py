"""`/jobs`: progress, events, cancel and result of long work. A job is seen by who asked for it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio
import anyio.to_thread
from fastapi import Path, Query, Request, Response
from fastapi.responses import FileResponse, StreamingResponse

from ... import formats
from ...errors import InputError
from ...store import Job
from .. import responses, table_answers, table_jobs
from ..asking import Asking, Wish, understood
from ..auth import ASKERS, KEEPERS, Asker, CurrentAsker, guarded
from ..problems import Problem, not_found
from ..service import Service, Serving
from .table_parameters import FormatName
from .tables import TABLE

listing = guarded(KEEPERS, "tables", "jobs")
router = guarded(ASKERS, "tables", "jobs")
ROUTERS = [listing, router]

JobId = Annotated[str, Path(max_length=64)]
Before = Annotated[str | None, Query(max_length=64, description="The id of the last job seen.")]
Most = Annotated[int, Query(ge=1, le=500, description="How many at most.")]
_WATCH_SECONDS = 600
_streams = threading.BoundedSemaphore(64)
"""Clients that may watch jobs at once in each process."""


@listing.get("/jobs", response_model=responses.JobsShape)
def jobs(
    service: Serving, asker: CurrentAsker, before: Before = None, most: Most = 100
) -> dict[str, Any]:
    """One's own jobs, newest first; ended ones are forgotten with their results."""
    rows = service.jobs.list(user=asker.user, before=before, most=most)
    rows = [job for job in rows if job.kind == table_jobs.KIND]
    return {"jobs": [table_jobs.facts(job) for job in rows]}


@router.get("/jobs/{job}", response_model=responses.JobShape)
def job(service: Serving, asker: CurrentAsker, job: JobId) -> dict[str, Any]:
    """State and progress of a job."""
    return table_jobs.facts(mine(service, asker, job))


@router.delete("/jobs/{job}", response_model=responses.JobShape)
def cancel(service: Serving, asker: CurrentAsker, job: JobId) -> dict[str, Any]:
    """Ask a job to stop; one that has ended stays as it is."""
    mine(service, asker, job)
    stopped = service.jobs.request_cancel(job)
    if stopped.state == "cancelled":
        table_jobs.end(service, stopped)
    return table_jobs.facts(stopped)


@router.get(
    "/jobs/{job}/events",
    response_class=Response,
    responses={200: {"description": "Progress as it comes.", "content": {"text/event-stream": {}}}},
)
def events(request: Request, service: Serving, asker: CurrentAsker, job: JobId) -> Response:
    """Progress as server-sent events, until the job ends."""
    mine(service, asker, job)
    if getattr(request.state, "head", False):
        return Response(media_type="text/event-stream")
    return StreamingResponse(
        _watch(service, asker, job),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _watch(service: Service, asker: Asker, identity: str) -> AsyncIterator[str]:
    if not _streams.acquire(blocking=False):
        yield "event: busy\ndata: Too many clients watch jobs; ask for the job itself.\n\n"
        return
    try:
        last, silent, ends = None, 0.0, time.monotonic() + _WATCH_SECONDS
        while time.monotonic() < ends:
            row = await anyio.to_thread.run_sync(mine, service, asker, identity)
            facts = table_jobs.facts(row)
            if facts != last:
                last, silent = facts, 0.0
                name = "end" if row.state in table_jobs.ENDED else "progress"
                yield f"event: {name}\ndata: {json.dumps(facts)}\n\n"
                if row.state in table_jobs.ENDED:
                    return
            elif silent >= 15:
                silent = 0.0
                yield ": still here\n\n"
            await anyio.sleep(0.3)
            silent += 0.3
    finally:
        _streams.release()


@router.get("/jobs/{job}/result", response_class=Response, responses=TABLE)
def result(
    request: Request, service: Serving, asker: CurrentAsker, job: JobId, format: FormatName = None
) -> Response:
    """The table of a finished job: as it was made, or in another format.

    A large one in another format is a job of its own: 202, and where to look for it.
    """
    row = mine(service, asker, job)
    asked = row.request
    request.state.notes["dataset"] = asked["dataset"]
    if row.state != "done":
        detail = f"The job is {row.state}, so it has no result."
        if row.state in ("waiting", "running"):
            detail = f"The job is {row.state}. Its result comes when it is done."
        raise Problem(409, "no-result", detail)
    form = formats.by_name(asked["format"])
    told = json.loads(row.result or "{}")
    path = table_jobs.result_file(service, row)
    with service.dataset(asker, asked["dataset"]) as data:
        held = service.withheld(asker, asked["dataset"])
        if held & {asked["question"], data.data_version}:
            raise not_found("job")
        same = format is None or formats.by_name(format) is form
        # what another policy let be shown is made again, as today's shows it
        if same and path.is_file() and told.get("policy") == data.policy.version:
            headers = {
                "Cache-Control": "private, no-store",
                "Discreet-Question": asked["question"],
                "Discreet-Charged": "no",
            }
            if language := told.get("language"):
                headers["Content-Language"] = language
            return FileResponse(path, 200, headers, form.media_type)
        wish = Wish(formats.by_name(format or form.name), asked["language"], asked["project"])
        recipe = understood(asker, data, asked["recipe"])
        asking = Asking(service, asker, data, recipe, wish, request)
        if asking.question != asked["question"]:
            raise Problem(409, "changed", "The data set or its policy changed since. Ask anew.")
        if not asking.must_be_job:
            return table_answers.respond(asking)
        asking.may_be_asked_so()
        other = table_jobs.same(asking)
        if other is None or (other.id == row.id and other.state == "done"):
            other = table_jobs.create(asking)
        return table_jobs.accepted(other)


def mine(service: Service, asker: Asker, identity: str) -> Job:
    """A job of this asker; another's is as if it were not there."""
    try:
        row = service.jobs.get(identity)
    except InputError:
        raise not_found("job") from None
    if row.user != asker.user or row.kind != table_jobs.KIND:
        raise not_found("job")
    return row
