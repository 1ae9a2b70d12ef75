"""`/drafts`: from a file to a data set, step by step; for custodians alone.

A draft is begun, its file comes in pieces, what was found is looked at and answered, and the last
step makes the data set, just as `discreet init`, `declare` and an edit of the policy would. Cancelled,
nothing of it is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Header, Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from ...errors import DiscreetError, InputError
from ...file_names import DESCRIPTION
from ...languages import say
from ...workspace import draft_steps, draft_upload, draft_version
from ...workspace.draft_answers import Answers, described, merged, without_unknown, written
from ...workspace.draft_folder import DraftFolder, DraftMoved, NoDraft
from .. import draft_jobs, draft_review, draft_sources
from ..auth import CUSTODIANS, Asker, CurrentAsker, guarded
from ..draft_shapes import AnswersForm, DraftForm, DraftList, DraftShape, DraftSummary
from ..problems import Problem, documented, not_found
from ..service import Service, Serving

custody = guarded(CUSTODIANS, "manage", "drafts")
ROUTERS = [custody]

DraftId = Annotated[str, Path(max_length=64)]
Edition = Annotated[
    str | None,
    Header(max_length=40, alias="If-Match", description='The edition that was read, as "3".'),
]
Offset = Annotated[
    int, Header(ge=0, le=1 << 50, alias="Upload-Offset", description="Where the piece begins.")
]
_BLOCK = 1 << 20
_BYTES = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@custody.get("/drafts", response_model=DraftList)
def drafts(service: Serving) -> dict[str, Any]:
    """Data sets and versions in the making, newest first."""
    return {"drafts": listed(service), "most_bytes": service.settings.most_upload_bytes}


@custody.post("/drafts", status_code=201, responses=documented(409, 415))
def begin(
    request: Request, service: Serving, asker: CurrentAsker, body: DraftForm, response: Response
) -> DraftShape:
    """Begin a draft: name a file and its length and send it in pieces, or name a database table."""
    request.state.notes["dataset"] = body.dataset or ""
    draft = begun(service, asker, body)
    response.headers["Location"] = f"/api/v1/drafts/{draft.folder.name}"
    return shown(service, draft, response)


def begun(
    service: Service, asker: Asker, body: DraftForm, *, resumable: bool = True
) -> DraftFolder:
    """A new draft that waits for its file, or whose table is looked at."""
    _may_hold_drafts(service)
    if body.dataset is not None and body.dataset not in service.visible(asker):
        raise not_found("data set")
    if (body.file is None) == (body.source is None):
        raise InputError("Name a file to upload or a source, one of the two.")
    if body.source is not None:
        if body.dataset is not None:
            raise InputError(
                "A new version comes from an uploaded file. Name a file instead of a source, or leave "
                "out `dataset` to make a new data set."
            )
        draft_sources.may_be_read(service, body.source)
        draft = service.drafts.begin(asker.user, source=body.source, resumable=True)
        draft_jobs.start(service, draft, "look", asker.user)
        return draft
    name, most = draft_upload.safe_name(body.file or ""), service.settings.most_upload_bytes
    if resumable and body.bytes is None:
        raise InputError("Say how long the file is, in bytes.")
    if (body.bytes or 0) > most:
        raise Problem(413, "too-large", draft_upload.too_large(most).message)
    draft_upload.check_room(service.folder, body.bytes or 0)
    return service.drafts.begin(
        asker.user,
        file=name,
        bytes=body.bytes,
        dataset=body.dataset or "",
        resumable=resumable,
    )


def _may_hold_drafts(service: Service) -> None:
    if (service.folder / DESCRIPTION).exists():
        raise InputError(
            "This server was started with one data set and can hold no other. Start it with the folder "
            "around that."
        )


@custody.get("/drafts/{draft}")
def draft(service: Serving, draft: DraftId, response: Response) -> DraftShape:
    """A draft: how far it is, what was found, what was said, what is still open."""
    return shown(service, find(service, draft), response)


@custody.patch("/drafts/{draft}/file", responses=documented(409), openapi_extra=_BYTES)
async def piece(
    request: Request, service: Serving, asker: CurrentAsker, draft: DraftId, offset: Offset
) -> DraftSummary:
    """Send the next piece of the file, from the byte on that comes next. The last one starts a look."""
    found = await run_in_threadpool(find, service, draft)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/octet-stream":
        raise Problem(415, "media-type", say("Send the bytes as application/octet-stream."))
    most = service.settings.most_upload_bytes
    with conflicts(), draft_upload.receiving(found, offset, most) as part:
        held = bytearray()
        async for chunk in request.stream():
            held += chunk
            if len(held) >= _BLOCK:
                await run_in_threadpool(part.write, bytes(held))
                held.clear()
        await run_in_threadpool(part.write, bytes(held))
        whole = part.received == found.state.bytes
    if whole:
        await run_in_threadpool(arrived, service, found, asker)
    return await run_in_threadpool(summary, service, found)


def arrived(service: Service, draft: DraftFolder, asker: Asker) -> None:
    """All bytes are there: look at them, unless they are not what their name says."""
    with conflicts():
        try:
            draft_upload.complete(draft)
        except (
            draft_upload.UploadConflict
        ):  # the same last piece came twice: the other one is whole
            raise
        except DiscreetError:
            draft_jobs.cancel(service, draft)
            raise
    draft_jobs.start(service, draft, "look", asker.user)


@custody.patch("/drafts/{draft}", responses=documented(409, 412, 415, 428))
def answer(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    draft: DraftId,
    body: AnswersForm,
    response: Response,
    edition: Edition = None,
) -> DraftShape:
    """Say something of a draft, on the edition that was read; what cannot be is refused, unsaved."""
    found = find(service, draft)
    answered(service, asker, found, body, _edition(edition))
    return shown(service, found, response)


def answered(
    service: Service, asker: Asker, draft: DraftFolder, body: AnswersForm, edition: int
) -> None:
    """Put down what was said, if it can be and nobody said something else meanwhile."""
    with conflicts(), draft.answering(edition) as state:
        if state.dataset:
            raise InputError("A new version is loaded under the description there is.")
        said = merged(state.answers, body.model_dump(exclude_none=True))
        answers = Answers.of(said)
        seen = draft_steps.seen(draft)
        proposal = described(seen, draft.made, answers)
        kept = without_unknown(answers, proposal)
        said |= {"declared": list(kept.declared), "rules": dict(kept.rules)}
        written(proposal, draft.made)
        draft_review.review(service.folder, draft, said)
        draft.write_answers(state, said, asker.user)


@custody.post("/drafts/{draft}/finish", status_code=202, responses=documented(409, 412, 428))
def finish(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    draft: DraftId,
    response: Response,
    edition: Edition = None,
) -> DraftSummary:
    """Make the data set, or load the new version; the draft says how far that is."""
    found = find(service, draft)
    request.state.notes["dataset"] = finished(service, asker, found, _edition(edition))
    return summary(service, found)


def finished(service: Service, asker: Asker, draft: DraftFolder, edition: int) -> str:
    """Begin the last step, if nothing is open; the name of the data set."""
    state = draft.state
    if state.state != "open":
        raise Problem(409, "draft", say("This draft is being worked on, or is finished."))
    with conflicts():
        draft.unmoved(state, edition)
    if state.dataset:
        open_ = draft_version.changes(
            draft_steps.seen(draft), service.folder / state.dataset
        ).barred
        name = state.dataset
    else:
        found = draft_review.review(service.folder, draft)
        open_, name = found["open"], Answers.of(state.answers).name
    if open_:
        raise InputError(" ".join(open_))
    with conflicts():
        draft_jobs.start(service, draft, "load", asker.user, edition=edition)
    return name


@custody.delete("/drafts/{draft}", status_code=204)
def cancel(service: Serving, draft: DraftId) -> Response:
    """Cancel a draft: every byte of it is deleted, and work on it stops."""
    draft_jobs.cancel(service, find(service, draft))
    return Response(status_code=204)


# -- parts ----------------------------------------------------------------------------------


def find(service: Service, identity: str) -> DraftFolder:
    """A draft; all custodians see all of them."""
    try:
        return service.drafts.get(identity)
    except NoDraft:
        raise not_found("draft") from None


@contextmanager
def conflicts() -> Iterator[None]:
    """What another custodian, or another piece, did meanwhile, as 412 or 409."""
    try:
        yield
    except DraftMoved as problem:
        raise Problem(412, "edition", problem.message) from None
    except draft_upload.UploadConflict as problem:
        raise Problem(409, "upload", problem.message) from None
    except draft_upload.TooLarge as problem:
        raise Problem(413, "too-large", problem.message) from None
    except NoDraft:
        raise not_found("draft") from None


def _edition(sent: str | None) -> int:
    text = (sent or "").removeprefix("W/").strip('" ')
    if not text.isdecimal() or len(text) > 9:
        raise Problem(
            428,
            "edition",
            say('Say which edition you read, as its ETag: If-Match: "3".'),
        )
    return int(text)


def listed(service: Service) -> list[DraftSummary]:
    """All drafts as lists show them; one that is cancelled meanwhile is left out."""
    found = []
    for draft in service.drafts.all():
        with suppress(NoDraft):
            found.append(DraftSummary(**_summary(service, draft)))
    return found


def summary(service: Service, draft: DraftFolder) -> DraftSummary:
    """A draft as lists show it."""
    try:
        return DraftSummary(**_summary(service, draft))
    except NoDraft:
        raise not_found("draft") from None


def _summary(service: Service, draft: DraftFolder) -> dict[str, Any]:
    state = draft.state
    share, doing = draft_jobs.progress(service, state)
    own = asdict(state)
    del own["answers"], own["job"]
    there = state.bytes or 0 if state.state != "uploading" else draft.received
    return {**own, "received": there, "share": share, "doing": doing, "told": list(state.told)}


def shown(service: Service, draft: DraftFolder, response: Response | None = None) -> DraftShape:
    """A draft with all that was found and said."""
    try:
        return _shown(service, draft, response)
    except NoDraft:
        raise not_found("draft") from None


def _shown(service: Service, draft: DraftFolder, response: Response | None) -> DraftShape:
    state = draft.state
    more: dict[str, Any] = {}
    if response is not None:
        response.headers["ETag"] = f'"{state.edition}"'
    if state.state == "open" and state.dataset:
        found = draft_version.changes(draft_steps.seen(draft), service.folder / state.dataset)
        more = {"changes": found.told, "barred": found.barred}
    elif state.state == "open":
        more = {"review": draft_review.review(service.folder, draft)}
    if state.state == "done":
        service.datasets.look_again()
    return DraftShape(**_summary(service, draft), **more)
