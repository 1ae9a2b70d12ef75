"""Rehearsals over HTTP: a custodian's trials on true data, as jobs whose report only they can read.

The work is done in a process of its own: this one never holds a true count, goes on answering, and
ends the other when the custodian asks. What was found goes from there into a file that only its owner
can read; the job's row, the log and the caches say that there was a rehearsal and how it ended, and
nothing of what it found, errors included. The file is deleted after a day.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import re
import secrets
import shutil
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..core.control import Control
from ..durable import make_folder
from ..errors import InputError, StoreError
from ..file_names import REHEARSAL_REPORTS
from ..languages import say
from ..store import Job
from . import rehearsal_work
from .problems import Problem, not_found
from .service import Service
from .table_jobs import ENDED, asker_of

KIND = "rehearsal"
KEEP_SECONDS = 86_400
"""How long a report is kept."""
FORMATS = {"json": "application/json", "html": "text/html; charset=utf-8"}
_MOST_JOBS = 3
_processes = multiprocessing.get_context("spawn")
_NAME = re.compile(r"[0-9a-f]{24}")


def create(service: Service, user: str, request: dict[str, Any]) -> Job:
    """A rehearsal that waits for its turn."""
    mine = [job for job in service.jobs.unended(user=user) if job.kind == KIND]
    if len(mine) >= _MOST_JOBS:
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
    job = service.jobs.create(KIND, request, user=user)
    service.job_waits.set()
    return job


def mine(service: Service, user: str, identity: str) -> Job:
    """A rehearsal of this custodian's; another's is as if it were not there."""
    try:
        job = service.jobs.get(identity)
    except InputError:
        raise not_found("rehearsal") from None
    if job.user != user or job.kind != KIND:
        raise not_found("rehearsal")
    return job


def made(service: Service, job: Job, control: Control) -> dict[str, Any]:
    """Do a rehearsal in a process of its own; its row keeps nothing of what was found."""
    asker = asker_of(service, job)
    if asker.role != "custodian":
        raise Problem(403, "role", say("The account that asked is a custodian's no longer."))
    folder = _folder(service)
    make_folder(folder)
    scratch = folder / f"{job.id}.{secrets.token_hex(4)}.making"  # another worker may have it too
    make_folder(scratch)
    try:
        with service.dataset(asker, job.request["dataset"]) as data:
            place = data.folder
        ended_well = _elsewhere(place, scratch, job, control)
        for kind in FORMATS:
            with contextlib.suppress(FileNotFoundError):
                (scratch / f"report.{kind}").replace(folder / f"{job.id}.{kind}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    service.audit.add(
        {
            "event": "rehearsal ended",
            "user": asker.name,
            "dataset": job.request["dataset"],
            "reason": job.request["what"],
        }
    ).result(timeout=30)
    if not ended_well:
        raise Problem(
            400, "rehearsal", say("The rehearsal could not be made; its report says why.")
        )
    return {}


def _elsewhere(place: Path, scratch: Path, job: Job, control: Control) -> bool:
    """Whether another process did it; else its report says what was wrong."""
    control.step(0.0, "starting")
    ours, theirs = _processes.Pipe(duplex=False)
    process = _processes.Process(
        target=rehearsal_work.run,
        args=(theirs, place, scratch, dict(job.request), job.user),
        daemon=True,
    )
    process.start()
    theirs.close()
    doing = (0.0, "starting")
    try:
        while True:
            if ours.poll(0.1):
                said = _received(ours)
                if isinstance(said, bool):
                    return said
                doing = said
            control.step(*doing)
    finally:
        process.kill()
        process.join()
        ours.close()


def _received(connection: Connection) -> Any:
    try:
        return connection.recv()
    except EOFError:  # killed, or out of memory
        raise StoreError(
            "The rehearsal ended before it was done. Ask for fewer tables or settings at once."
        ) from None


def facts(service: Service, job: Job) -> dict[str, Any]:
    """A rehearsal as its custodian sees it; the error, where there is one, is read from its report."""
    own = ("id", "state", "share", "doing", "created", "attempts", "cancel_requested")
    there = {kind: _path(service, job, kind) for kind in FORMATS}
    found = {kind: path for kind, path in there.items() if path is not None}
    kept = [path.stat().st_mtime for path in found.values() if path.exists()]
    error = None if job.error is None else json.loads(job.error)
    if job.state == "failed" and "json" in found:
        error = json.loads(found["json"].read_text("utf-8"))
    done = job.state == "done"
    address = f"/api/v1/rehearsals/{job.id}/report"
    return {
        **{name: getattr(job, name) for name in own},
        "dataset": job.request["dataset"],
        "what": job.request["what"],
        "error": error,
        "report": address if done and found else None,
        "formats": sorted(found) if done else [],
        "deleted_at": max(kept) + KEEP_SECONDS if done and kept else None,
    }


def report(service: Service, job: Job, kind: str) -> bytes:
    """The bytes of a report."""
    path = _path(service, job, kind)
    if job.state != "done" or path is None:
        raise not_found("report")
    try:
        return path.read_bytes()
    except FileNotFoundError:  # deleted meanwhile
        raise not_found("report") from None


def _folder(service: Service) -> Path:
    """Where reports lie: any host may do a rehearsal, and any may be asked for its report."""
    return service.blobs.root / REHEARSAL_REPORTS


def _path(service: Service, job: Job, kind: str) -> Path | None:
    """Where a report lies; None where there is none, or none any more."""
    path = _folder(service) / f"{job.id}.{kind}"
    try:
        if time.time() - path.stat().st_mtime < KEEP_SECONDS:
            return path
    except FileNotFoundError:
        return None
    path.unlink(missing_ok=True)
    return None


def delete(service: Service, job: Job) -> None:
    """Delete what a rehearsal left, at once."""
    for kind in FORMATS:
        (_folder(service) / f"{job.id}.{kind}").unlink(missing_ok=True)


def end(service: Service, job: Job) -> None:
    """Nothing was held."""


def sweep(service: Service) -> None:
    """Delete reports of yesterday, and what a killed process was writing into."""
    for path in _folder(service).glob("*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime >= KEEP_SECONDS or _left_over(service, path):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def _left_over(service: Service, path: Path) -> bool:
    """Whether it is of a rehearsal that has ended without it, or of none."""
    name = path.name.partition(".")[0]
    if not path.is_dir() or not _NAME.fullmatch(name):
        return False
    try:
        return service.jobs.get(name).state in ENDED
    except InputError:
        return True
