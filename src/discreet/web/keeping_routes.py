"""Saved tables and jobs as pages: kept, opened again, watched and cancelled."""

from __future__ import annotations

import datetime
import json
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from ..languages import say
from ..recipe import to_mapping
from ..server import table_jobs
from ..server.asking import Asking, understood
from ..server.auth import ASKERS, KEEPERS, Asker, CurrentAsker, guarded
from ..server.routes import jobs as job_routes
from ..server.routes import saved as saved_routes
from ..server.routes.jobs import JobId
from ..server.routes.parts import A_PAGE, Offset
from ..server.routes.saved import SavedId
from ..server.service import Service, Serving
from ..store import Job
from .address import Place, read
from .builder import recipe_of
from .frame import PageRoute, fields, first, page, voice

reading = guarded(ASKERS, "tables", "pages", PageRoute)
keeping = guarded(KEEPERS, "tables", "pages", PageRoute)
ROUTERS = [reading, keeping]

_STATES = {
    "waiting": say("Waiting"),
    "running": say("Running"),
    "done": say("Done"),
    "failed": say("Failed"),
    "cancelled": say("Cancelled"),
}
REFRESH_SECONDS = 3


def _day(seconds: float) -> datetime.date:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()


# -- saved tables ---------------------------------------------------------------------------


@reading.get("/saved", include_in_schema=False)
def saved(
    request: Request, service: Serving, asker: CurrentAsker, offset: Offset = 0
) -> HTMLResponse:
    """Saved tables one may read, newest first."""
    part, onward = saved_routes.part(service, asker, offset, A_PAGE)
    listed = [
        {
            "id": one.id,
            "title": one.title or one.dataset,
            "dataset": one.dataset,
            "shared": one.shared,
            "own": one.owner == asker.user,
            "day": _day(one.created),
        }
        for one in part
    ]
    return page(request, "saved.html", {"saved": listed, "offset": offset, "next": onward})


@keeping.post("/saved", include_in_schema=False)
async def save(request: Request, service: Serving, asker: CurrentAsker) -> Response:
    """Keep the table of an address."""
    said = await fields(request)
    return await run_in_threadpool(_save, request, service, asker, said)


def _save(request: Request, service: Service, asker: Asker, said: dict[str, list[str]]) -> Response:
    name = first(said, "dataset")
    with service.dataset(asker, name) as data:
        mapping, _ = read(parse_qsl(first(said, "at"), keep_blank_values=True))
        recipe = recipe_of(asker, data, mapping, voice(request).language)
        asking = Asking(service, asker, data, recipe)
        asking.may_be_kept()
        title = first(said, "title")[:200] or str(first(said, "words")[:200]) or name
        service.catalogue.save(
            asker.user, name, title, to_mapping(recipe), shared=bool(first(said, "shared"))
        )
    return RedirectResponse("/saved", 303)


@reading.get("/saved/{saved}", include_in_schema=False)
def opened(request: Request, service: Serving, asker: CurrentAsker, saved: SavedId) -> Response:
    """The builder with a saved table, on today's data."""
    found = saved_routes.find(service, asker, saved)
    with service.dataset(asker, found.dataset) as data:
        recipe = understood(asker, data, found.recipe)
        place = Place.of(found.dataset, recipe, data.policy.method, data.description, {})
        return RedirectResponse(place.address, 303)


@keeping.post("/saved/{saved}/forget", include_in_schema=False)
async def forget(
    request: Request, service: Serving, asker: CurrentAsker, saved: SavedId
) -> Response:
    """Delete a saved table of one's own."""
    await fields(request)
    await run_in_threadpool(saved_routes.forget, service, asker, saved)
    return RedirectResponse("/saved", 303)


# -- jobs -----------------------------------------------------------------------------------


@keeping.get("/jobs", include_in_schema=False)
def jobs(request: Request, service: Serving, asker: CurrentAsker) -> HTMLResponse:
    """One's own jobs, newest first."""
    rows = [
        job for job in service.jobs.list(user=asker.user, most=100) if job.kind == table_jobs.KIND
    ]
    return page(request, "jobs.html", {"jobs": [_facts(job) for job in rows]})


@reading.get("/jobs/{job}", include_in_schema=False)
def job(request: Request, service: Serving, asker: CurrentAsker, job: JobId) -> HTMLResponse:
    """How far a job is; the page looks again by itself until it has ended."""
    row = job_routes.mine(service, asker, job)
    answer = page(request, "job.html", {"job": _facts(row)})
    if row.state not in table_jobs.ENDED:
        answer.headers["Refresh"] = str(REFRESH_SECONDS)
    return answer


@reading.post("/jobs/{job}/cancel", include_in_schema=False)
async def cancel(request: Request, service: Serving, asker: CurrentAsker, job: JobId) -> Response:
    """Ask a job to stop."""
    await fields(request)
    await run_in_threadpool(job_routes.cancel, service, asker, job)
    return RedirectResponse(f"/jobs/{job}", 303)


def _facts(job: Job) -> dict[str, Any]:
    error = None if job.error is None else json.loads(job.error)
    return {
        "id": job.id,
        "state": job.state,
        "words": _STATES[job.state],
        "ended": job.state in table_jobs.ENDED,
        "share": round(100 * job.share),
        "doing": job.doing,
        "dataset": job.request["dataset"],
        "format": job.request["format"],
        "day": _day(job.created),
        "error": "" if error is None else str(error.get("detail", "")),
        "result": f"/api/v1/jobs/{job.id}/result" if job.state == "done" else "",
    }
