"""Looking at a draft's file and loading it, as jobs.

A job's row holds the draft's id and which step it is, nothing of the file: what went wrong is said in
the draft itself, which its custodians alone can read and which goes when it is cancelled.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from dataclasses import replace
from typing import Any, Literal

from ..core.control import Control
from ..errors import Cancelled, DiscreetError
from ..languages import say
from ..store import Job
from ..workspace import draft_steps, hosts
from ..workspace.draft_folder import DraftFolder, DraftState, NoDraft, State
from ..workspace.draft_version import changes, load_version
from . import draft_review, logs
from .problems import Problem
from .service import Service

KIND = "drafts"
Step = Literal["look", "load"]
_WAIT_SECONDS = 30.0


def start(
    service: Service, draft: DraftFolder, step: Step, user: str, *, edition: int | None = None
) -> DraftState:
    """Begin a step of a draft; a load only once, of an open draft, on the edition that was read."""
    doing: State = "looking" if step == "look" else "loading"
    with draft.locked() as before:  # a worker that is quick waits until the draft names its job
        if edition is not None:
            if before.state != "open":
                raise Problem(409, "draft", say("This draft is being worked on, or is finished."))
            draft.unmoved(before, edition)
        job = service.jobs.create(KIND, {"draft": draft.folder.name, "step": step}, user=user)
        state = draft.write(replace(before, job=job.id, error="", told=(), state=doing))
    service.job_waits.set()
    return state


def made(service: Service, job: Job, control: Control) -> dict[str, Any]:
    """Do a step; what goes wrong is written into the draft."""
    try:
        draft = service.drafts.get(job.request["draft"])
    except NoDraft:
        return {}
    try:
        with draft.locked() as state:
            if state.job != job.id:  # who began it died before the draft said so
                return {}
        if job.request["step"] == "look":
            draft_steps.looked_at(draft, control)
            draft_review.first_answers(service.folder, draft)
            _can_be_shown(service, draft)
            draft.set(state="open")
        else:
            _load(service, draft, job, control)
    except NoDraft:
        pass
    except Cancelled:
        raise
    except DiscreetError as error:
        logs.say("info", event="draft stopped", job=job.id, error=type(error).__name__)
        _stopped(draft, error.message)
    except Exception:
        _stopped(draft, "Something failed that should not. Cancel this draft, or try again.")
        raise
    finally:
        if not draft.exists():  # cancelled meanwhile: what was written since goes too
            shutil.rmtree(draft.folder, ignore_errors=True)
    return {}


def _can_be_shown(service: Service, draft: DraftFolder) -> None:
    """Raise where nothing can be said of what was found: then the look has failed, with a sentence."""
    if draft.state.dataset:
        changes(draft_steps.seen(draft), service.folder / draft.state.dataset)
    else:
        draft_review.review(service.folder, draft)


def _load(service: Service, draft: DraftFolder, job: Job, control: Control) -> None:
    state = draft.state
    if state.dataset:
        name, told = state.dataset, load_version(draft, service.folder / state.dataset, control)
        hosts.share_again(service.folder / name)
    else:
        budget = draft_review.budget_of(draft)
        name, told = draft_steps.finished(draft, service.folder, budget, control)
    event = "new version loaded" if state.dataset else "data set made"
    service.audit.add({"event": event, "user": job.user, "dataset": name}).result(timeout=30)
    service.datasets.look_again()
    draft.set(state="done", made=name, told=tuple(told))


def end(service: Service, job: Job) -> None:
    """A draft whose step was stopped or given up says so, and waits for nothing."""
    with contextlib.suppress(DiscreetError):
        draft = service.drafts.get(job.request["draft"])
        state = draft.state
        if state.job == job.id and state.state in ("looking", "loading") and not state.error:
            _stopped(draft, "This was stopped before its end. Cancel this draft, or try again.")


def _stopped(draft: DraftFolder, words: str) -> None:
    """Say why a step ended; a look that failed leaves an upload that can only be cancelled."""
    if draft.exists():
        state = draft.state
        draft.set(error=words, made="", state="open" if state.state == "loading" else state.state)


def cancel(service: Service, draft: DraftFolder) -> None:
    """Delete a draft with every byte of it; a step under way is stopped first."""
    state = draft.state
    if state.job:
        service.jobs.request_cancel(state.job)
        ends = time.monotonic() + _WAIT_SECONDS
        while _runs(service, state.job) and time.monotonic() < ends:
            time.sleep(0.02)
    draft.delete()
    service.jobs.remove(KIND, state.id)


def _runs(service: Service, job: str) -> bool:
    return any(one.id == job for one in service.jobs.unended())


def progress(service: Service, state: DraftState) -> tuple[float, str]:
    """How far the step under way is, and what is being done."""
    for job in service.jobs.unended():
        if job.id == state.job:
            return job.share, job.doing
    return 0.0, ""


def tidy(service: Service) -> None:
    """Remove what broke off and cannot or did not go on, and what a killed look left of its file."""
    from ..engines.duckdb import scratch

    before = time.time() - service.settings.upload_hours * 3600
    service.drafts.sweep(before=before)
    scratch.sweep()
