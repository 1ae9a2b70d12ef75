"""`/releases`: published tables, never edited; embargo, superseding, withdrawal with a reason.

A release is made (and charged) when it is posted, and its files are kept: later data or policies
do not change it. It is written down before it is charged, and until it is published only custodians
read what it holds: its files, the same question asked of the data set, tables that follow from it,
and where nothing is charged every table of that version of the data.
"""

from __future__ import annotations

import contextlib
import pathlib
import secrets
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response

from ... import formats
from ...durable import make_folder, replace_bytes
from ...errors import DiscreetError, InputError, Refusal
from ...file_names import PUBLISHED
from ...protected_rules import SPARSE
from ...recipe import to_mapping
from ...release import Release
from ...report import publication
from ...store.published import Published
from .. import responses
from ..asking import Asking, Wish, understood
from ..auth import ASKERS, CUSTODIANS, Asker, CurrentAsker, guarded
from ..negotiation import VARY, chosen_format, spoken_in
from ..problems import Problem, documented, not_found
from ..refusals import with_alternatives
from ..requests import ReleaseForm, WithdrawForm
from ..service import Service, Serving
from .tables import TABLE, FormatName

reading = guarded(ASKERS, "read", "releases")
publishing = guarded(CUSTODIANS, "manage", "releases")
ROUTERS = [reading, publishing]


LANGUAGE = "language"
"""The file beside a release's tables that says what their labels are in."""
ReleaseId = Annotated[str, Path(max_length=64)]


@reading.get("/releases", response_model=responses.ReleaseList)
def releases(
    service: Serving, asker: CurrentAsker, dataset: Annotated[str, Query(max_length=200)] = ""
) -> dict[str, Any]:
    """Releases that are public by now; custodians see those to come as well."""
    listed = [one for one in readable(service, asker) if not dataset or one.dataset == dataset]
    return {"releases": [_facts(service, one) for one in listed]}


def readable(service: Service, asker: Asker) -> list[Published]:
    """The releases an asker may know of."""
    seen = set(service.visible(asker))
    return [one for one in service.releases.all() if one.dataset in seen and _open(one, asker)]


@publishing.post(
    "/releases",
    response_model=responses.ReleaseShape,
    status_code=201,
    responses=documented(409, 415),
)
def publish(
    request: Request, service: Serving, asker: CurrentAsker, body: ReleaseForm, response: Response
) -> dict[str, Any]:
    """Make tables and publish them, now or at `publish_at`."""
    at = _moment(body.publish_at)
    identity = secrets.token_hex(8)
    request.state.notes["dataset"] = body.dataset
    with service.dataset(asker, body.dataset) as data:
        question = understood(asker, data, {**body.recipe.mapping(), "title": body.title})
        wish = Wish(language=data.description.language_named(body.recipe.language or ""))
        asking = Asking(service, asker, data, question, wish, request, scope="manage")
        _may_be_released(asking)
        reserved = Published(
            identity,
            body.dataset,
            body.title,
            to_mapping(question),
            asking.question,
            guarantee="",
            files={},
            by=asker.user,
            created=time.time(),
            publish_at=at,
            supersedes=body.supersedes,
            holds=asking.holds,
        )
        service.releases.reserve(reserved)
        release = _released(asking, identity)
        files = _publish(asking, release, service.folder / PUBLISHED / identity)
        published = service.releases.complete(identity, files, release.plan.guarantee.sentence())
    response.headers["Location"] = f"/api/v1/releases/{identity}"
    return _facts(service, published)


@reading.get("/releases/{release}", response_model=responses.ReleaseShape)
def one(service: Serving, asker: CurrentAsker, release: ReleaseId) -> dict[str, Any]:
    """A release: what it is, when it became public, what became of it."""
    return _facts(service, _find(service, asker, release))


@reading.get("/releases/{release}/tables", response_class=Response, responses=TABLE)
def tables(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    release: ReleaseId,
    format: FormatName = None,
) -> Response:
    """The tables of a release as they were published; 410 with the reason once withdrawn."""
    published = _find(service, asker, release)
    request.state.notes["dataset"] = published.dataset
    _is_there(published)
    wanted = chosen_format(format, request.headers.get("accept"))
    if wanted.name not in published.files:
        raise Problem(
            406,
            "format",
            f"This release is kept as {', '.join(published.files)}. Ask for one of them.",
        )
    folder = service.folder / PUBLISHED / published.id
    body = (folder / published.files[wanted.name]).read_bytes()
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
    published = _find(service, asker, release)
    request.state.notes["dataset"] = published.dataset
    _is_there(published)
    path = service.folder / PUBLISHED / published.id / name
    if not path.is_file():
        raise not_found("document of this release")
    kind = "text/html" if name.endswith(".html") else "application/json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Vary": VARY}
    return Response(path.read_bytes(), 200, headers, kind)


@publishing.post(
    "/releases/{release}/withdraw",
    response_model=responses.ReleaseShape,
    responses=documented(409, 415),
)
def withdraw(
    request: Request, service: Serving, asker: CurrentAsker, release: ReleaseId, body: WithdrawForm
) -> dict[str, Any]:
    """Withdraw a release; the reason stays with it for everybody to read."""
    published = _find(service, asker, release)
    request.state.notes |= {"dataset": published.dataset, "reason": body.reason}
    if not service.releases.withdraw(published.id, asker.user, body.reason):
        raise Problem(409, "withdrawn", "This release was withdrawn before.")
    return _facts(service, service.releases.all(published.id)[0])


def _may_be_released(asking: Asking) -> None:
    """What would be refused is refused before anything is written down."""
    most = asking.service.settings.long_cells
    if asking.cells > most:
        raise InputError(
            f"A release over HTTP has at most {most:,} cells, this one has {asking.cells:,}. Make it "
            "with `discreet release`."
        )
    with with_alternatives(asking):
        asking.asked.require()


def _released(asking: Asking, identity: str) -> Release:
    """The tables; where no number was made, nothing is withheld for them.

    Tables that are too sparse once they are made are withdrawn, with that as the reason.
    """
    try:
        with with_alternatives(asking), asking.service.slots.one():
            return _dense(asking, identity)
    except Exception:
        with contextlib.suppress(DiscreetError):
            if not asking.asked.answered:
                asking.service.releases.drop(identity)
        raise


def _dense(asking: Asking, identity: str) -> Release:
    try:
        return asking.release()
    except Refusal as refused:
        if refused.rule == SPARSE:
            asking.service.releases.withdraw(identity, asking.asker.user, refused.message)
        raise


def _publish(asking: Asking, release: Release, folder: pathlib.Path) -> dict[str, str]:
    """Tables, manifest, report and register, written; by format, the file of all tables."""
    make_folder(folder)
    replace_bytes(folder / LANGUAGE, asking.language.encode())
    tables = tuple(table.in_language(asking.wish.language) for table in release.tables)
    translated = replace(release, tables=tables)
    written = publication.publish(
        asking.data, translated, folder, tuple(formats.FORMATS), together=True
    )
    return dict(written.together)


def _moment(text: str | None) -> float:
    if text is None:
        return time.time()
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError
        return moment.timestamp()
    except (ValueError, OverflowError):
        raise InputError(
            f"publish_at must be a time with its zone, such as 2030-01-01T09:30:00+00:00, got "
            f"{text[:40]!r}."
        ) from None


def _open(one: Published, asker: Asker) -> bool:
    return one.public_at(time.time()) or asker.role == "custodian"


def _find(service: Service, asker: Asker, identity: str) -> Published:
    for release in service.releases.all(identity):
        if _open(release, asker) and release.dataset in service.visible(asker):
            return release
    raise not_found("release")


def _is_there(published: Published) -> None:
    if published.withdrawn_at is not None:
        raise Problem(410, "withdrawn", f"This release was withdrawn: {published.withdrawn_reason}")
    if published.ready is None:
        raise Problem(
            409,
            "no-result",
            "This release is being made. If that failed, withdraw it and post it again.",
        )


def _facts(service: Service, one: Published) -> dict[str, Any]:
    withdrawn = None
    if one.withdrawn_at is not None:
        withdrawn = {"at": one.withdrawn_at, "by": one.withdrawn_by, "reason": one.withdrawn_reason}
    folder = service.folder / PUBLISHED / one.id
    return asdict(one) | {
        "formats": list(one.files),
        "documents": [name for name in publication.DOCUMENTS if (folder / name).is_file()],
        "publish_at": datetime.fromtimestamp(one.publish_at, UTC).isoformat(timespec="seconds"),
        "state": service.releases.state(one),
        "public": one.public_at(time.time()),
        "superseded_by": service.releases.successor(one.id),
        "withdrawn": withdrawn,
    }
