"""`/releases`: published tables, never edited; embargo, superseding, withdrawal with a reason.

A release is made (and charged) when it is posted, and its files are kept: later data or policies
do not change it. It is written down before it is charged, and until it is published only custodians
read what it holds: its files, the same question asked of the data set, tables that follow from it,
and where nothing is charged every table of that version of the data.
"""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response

from ...file_names import PUBLISHED
from .. import publishing as work
from .. import responses
from ..auth import ASKERS, CUSTODIANS, CurrentAsker, guarded
from ..negotiation import VARY, chosen_format, spoken_in
from ..problems import Problem, documented, not_found
from ..publishing import LANGUAGE, facts, find, kept_file, must_be_there, readable
from ..requests import ApproveForm, PublishForm, ReleaseForm, WithdrawForm
from ..service import Serving
from .parts import MOST, Most, Offset, part_of
from .table_parameters import FormatName
from .tables import TABLE

reading = guarded(ASKERS, "read", "releases")
publishing = guarded(CUSTODIANS, "manage", "releases")
ROUTERS = [reading, publishing]


ReleaseId = Annotated[str, Path(max_length=64)]


@reading.get("/releases", response_model=responses.ReleaseList)
def releases(
    service: Serving,
    asker: CurrentAsker,
    dataset: Annotated[str, Query(max_length=200)] = "",
    offset: Offset = 0,
    most: Most = MOST,
) -> dict[str, Any]:
    """Releases that are public by now; custodians see those to come as well.

    `next` says where to go on.
    """
    every = [one for one in readable(service, asker) if not dataset or one.dataset == dataset]
    listed, onward = part_of(every, offset, most)
    return {"releases": [facts(service, one) for one in listed], "next": onward}


@publishing.post(
    "/releases",
    response_model=responses.ReleaseShape,
    status_code=201,
    responses=documented(409, 415),
)
def publish(
    request: Request, service: Serving, asker: CurrentAsker, body: ReleaseForm, response: Response
) -> dict[str, Any]:
    """Make tables; published now or at `publish_at`, or a draft that waits to be approved.

    Where the data set needs two custodians (`approval: two`), it waits in any case.
    """
    request.state.notes["dataset"] = body.dataset
    made = work.make(service, asker, body, request)
    response.headers["Location"] = f"/api/v1/releases/{made.id}"
    return facts(service, made)


@reading.get("/releases/{release}", response_model=responses.ReleaseShape)
def one(service: Serving, asker: CurrentAsker, release: ReleaseId) -> dict[str, Any]:
    """A release: what it is, when it became public, what became of it."""
    return facts(service, find(service, asker, release))


@reading.get("/releases/{release}/tables", response_class=Response, responses=TABLE)
def tables(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    release: ReleaseId,
    format: FormatName = None,
) -> Response:
    """The tables of a release as they were published; 410 with the reason once withdrawn."""
    published = find(service, asker, release)
    request.state.notes["dataset"] = published.dataset
    must_be_there(published)
    wanted = chosen_format(format, request.headers.get("accept"))
    if wanted.name not in published.files:
        raise Problem(
            406,
            "format",
            f"This release is kept as {', '.join(published.files)}. Ask for one of them.",
        )
    folder = service.blobs.root / PUBLISHED / published.id
    body = kept_file(service, published, published.files[wanted.name])
    headers = {
        "ETag": f'"{published.id}-{wanted.name}"',
        "Cache-Control": "public, no-cache" if asker.role == "public" else "private, no-store",
        "Vary": VARY,
        "Discreet-Question": published.question,
    }
    with contextlib.suppress(FileNotFoundError):
        headers |= spoken_in((folder / LANGUAGE).read_text("ascii"))
    later = service.releases.successor(published.id)
    if later is not None:
        headers["Link"] = f'</api/v1/releases/{later}>; rel="successor-version"'
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, wanted.media_type)


@reading.get(
    "/releases/{release}/documents/{name}",
    response_class=Response,
    responses={
        200: {
            "description": "The document.",
            "content": {"text/html": {}, "application/json": {"schema": {"type": "object"}}},
        },
        **documented(410),
    },
)
def document(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    release: ReleaseId,
    name: Annotated[
        Literal["report.html", "manifest.json", "register.json"],
        Path(description="The report, the manifest with checksums, or the register of losses."),
    ],
) -> Response:
    """What lies beside the tables of a release: its report, manifest and register."""
    published = find(service, asker, release)
    request.state.notes["dataset"] = published.dataset
    must_be_there(published)
    path = service.blobs.root / PUBLISHED / published.id / name
    if not path.is_file():
        raise not_found("document of this release")
    kind = "text/html" if name.endswith(".html") else "application/json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Vary": VARY}
    return Response(kept_file(service, published, name), 200, headers, kind)


@publishing.post(
    "/releases/{release}/approve",
    response_model=responses.ReleaseShape,
    responses=documented(409, 415),
)
def approve(
    request: Request, service: Serving, asker: CurrentAsker, release: ReleaseId, body: ApproveForm
) -> dict[str, Any]:
    """Approve a release that is ready; name, reason and date stay with it.

    Where the data set needs two custodians, whoever made it cannot approve it.
    """
    request.state.notes |= {"dataset": find(service, asker, release).dataset}
    request.state.notes["reason"] = body.reason
    return facts(service, work.approved(service, asker, release, body.reason, body.publish_at))


@publishing.post(
    "/releases/{release}/publish",
    response_model=responses.ReleaseShape,
    responses=documented(409, 415),
)
def publish_approved(
    request: Request, service: Serving, asker: CurrentAsker, release: ReleaseId, body: PublishForm
) -> dict[str, Any]:
    """Publish an approved release, now or at `publish_at`."""
    request.state.notes["dataset"] = find(service, asker, release).dataset
    return facts(service, work.published(service, asker, release, body.publish_at))


@publishing.post(
    "/releases/{release}/withdraw",
    response_model=responses.ReleaseShape,
    responses=documented(409, 415),
)
def withdraw(
    request: Request, service: Serving, asker: CurrentAsker, release: ReleaseId, body: WithdrawForm
) -> dict[str, Any]:
    """Withdraw a release; the reason stays with it for everybody to read."""
    request.state.notes |= {"dataset": find(service, asker, release).dataset}
    request.state.notes["reason"] = body.reason
    return facts(service, work.withdrawn(service, asker, release, body.reason))
