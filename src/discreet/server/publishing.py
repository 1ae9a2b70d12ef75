"""Releases of a server, for routes, pages and commands: made, approved, published, withdrawn.

What state a release is in, and what may follow, is decided in `store/published.py`; here is who may
do it, and what making one does: reserve, charge, write the files.
"""

from __future__ import annotations

import contextlib
import pathlib
import secrets
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from fastapi import Request

from .. import formats
from ..durable import make_folder, replace_bytes
from ..errors import DiscreetError, InputError, Refusal, StoreError
from ..file_names import PUBLISHED
from ..languages import say
from ..methods.declaration import Spends
from ..protected_rules import SPARSE
from ..recipe import to_mapping
from ..release import Release
from ..report import publication
from ..store.published import NO_TIME, NOTHING, Published
from . import two_custodians
from .asking import Asking, Wish, understood
from .auth import Asker
from .problems import Problem, not_found
from .refusals import with_alternatives
from .requests import ReleaseForm
from .service import Service

AT_ONCE = "published by who made it"
STATES = {
    "making": say("being made"),
    "ready": say("ready"),
    "approved": say("approved"),
    "published": say("published"),
    "superseded": say("superseded"),
    "withdrawn": say("withdrawn"),
}
"""The states of a release, in words."""
LANGUAGE = "language"
"""The file beside a release's tables that says what their labels are in."""


def readable(service: Service, asker: Asker) -> list[Published]:
    """The releases an asker may know of."""
    seen = set(service.visible(asker))
    return [
        one for one in service.releases.all() if one.dataset in seen and _open(service, one, asker)
    ]


def make(
    service: Service, asker: Asker, body: ReleaseForm, request: Request | None = None
) -> Published:
    """Make a release: written down, charged, its files complete; whoever asks for it."""
    wished = None if body.publish_at is None else moment(body.publish_at)
    identity = secrets.token_hex(8)
    with service.dataset(asker, body.dataset) as data:
        question = understood(asker, data, {**body.recipe.mapping(), "title": body.title})
        wish = Wish(language=data.description.language_named(body.recipe.language or ""))
        asking = Asking(service, asker, data, question, wish, request, scope="manage")
        _may_be_released(asking)
        now = service.database.clock()
        waits = body.draft or data.policy.approval == "two"
        reserved = Published(
            identity,
            body.dataset,
            body.title,
            to_mapping(question),
            asking.question,
            guarantee="",
            files={},
            by=asker.user,
            created=now,
            publish_at=(NO_TIME if body.draft else now) if wished is None else wished,
            supersedes=body.supersedes,
            holds=_draft_holds(asking) if waits and wished is None else asking.holds,
            approved_at=None if waits else now,
            approved_by="" if waits else asker.user,
            approved_reason="" if waits else AT_ONCE,
        )
        service.releases.reserve(reserved)
        release = _released(asking, identity)
        files = _publish(asking, release, service.blobs.root / PUBLISHED / identity)
        return service.releases.complete(identity, files, release.plan.guarantee.sentence())


def approved(
    service: Service, asker: Asker, release: str, reason: str, publish_at: str | None = None
) -> Published:
    """A release that is ready, approved by this custodian where that is a word of its own."""
    found = find(service, asker, release)
    at = None if publish_at is None else moment(publish_at)
    with service.dataset(asker, found.dataset) as data:
        if data.policy.approval == "two":
            two_custodians.may_approve(service.accounts, found, asker.name)
    if not service.releases.approve(found.id, asker.user, reason, at):
        raise _not_now(service, found, "ready", "approved")
    return service.releases.all(found.id)[0]


def published(
    service: Service, asker: Asker, release: str, publish_at: str | None = None
) -> Published:
    """An approved release, public from now or from a time on."""
    found = find(service, asker, release)
    at = service.database.clock() if publish_at is None else moment(publish_at)
    with service.dataset(asker, found.dataset) as data:
        if data.policy.approval == "two" and at < found.publish_at < NO_TIME:
            two_custodians.may_approve(service.accounts, found, asker.name)
    if not service.releases.publish(found, at):
        raise _not_now(service, found, "approved", "published")
    return service.releases.all(found.id)[0]


def _not_now(service: Service, one: Published, needed: str, wished: str) -> Problem:
    state = service.releases.state(service.releases.all(one.id)[0])
    return Problem(
        409,
        "state",
        say(
            "This release is {state}; only one that is {needed} can be {wished}.",
            state=STATES[state],
            needed=STATES[needed],
            wished=STATES[wished],
        ),
    )


def withdrawn(service: Service, asker: Asker, release: str, reason: str) -> Published:
    """A release, withdrawn once."""
    found = find(service, asker, release)
    if not service.releases.withdraw(found.id, asker.user, reason):
        raise Problem(409, "withdrawn", "This release was withdrawn before.")
    return service.releases.all(found.id)[0]


def _draft_holds(asking: Asking) -> str:
    """What a draft without a time withholds: a question that is asked for the first time.

    Keyed data, and answers that others have read, go on being read while it waits; keyed data until
    a time to come is chosen, and so do other tables of exact counts.
    """
    spent = asking.asked.declaration.spends
    later = "" if spent is Spends.LOSS else NOTHING + asking.data.data_version
    if spent is Spends.NOTHING or asking.asked.answered:
        return later or NOTHING
    return f"{asking.question} {later}".strip()


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


def moment(text: str) -> float:
    """A time as text with its zone, in seconds since 1970."""
    try:
        read = datetime.fromisoformat(text)
        if read.tzinfo is None:
            raise ValueError
        seconds = read.timestamp()
        if not 0 <= seconds < NO_TIME:
            raise ValueError
    except (ValueError, OverflowError):
        raise InputError(
            f"publish_at must be a time with its zone, from 1970 to 9999, such as "
            f"2030-01-01T09:30:00+00:00, got {text[:40]!r}."
        ) from None
    return seconds


def _open(service: Service, one: Published, asker: Asker) -> bool:
    return one.public_at(service.database.clock()) or asker.role == "custodian"


def find(service: Service, asker: Asker, identity: str) -> Published:
    """The release of a name, where the asker may know of it."""
    for release in service.releases.all(identity):
        if _open(service, release, asker) and release.dataset in service.visible(asker):
            return release
    raise not_found("release")


def must_be_there(published: Published) -> None:
    """Raise 410 with the reason for what was withdrawn, 409 for what is not complete."""
    if published.withdrawn_at is not None:
        raise Problem(410, "withdrawn", f"This release was withdrawn: {published.withdrawn_reason}")
    if published.ready is None:
        raise Problem(
            409,
            "no-result",
            "This release is being made. If that failed, withdraw it and post it again.",
        )


def kept_file(service: Service, one: Published, name: str) -> bytes:
    """A file of a release that is complete; where it cannot be read its folder is away."""
    try:
        return (service.blobs.root / PUBLISHED / one.id / name).read_bytes()
    except OSError:
        raise StoreError(
            f"The files of release {one.id} cannot be read at the moment. Ask again later; its custodian "
            f"looks whether the folder `{PUBLISHED}`, where hosts share it, is in its place."
        ) from None


def facts(service: Service, one: Published) -> dict[str, Any]:
    """What everybody who may know of a release is told of it."""
    gone = None
    if one.withdrawn_at is not None:
        gone = {"at": one.withdrawn_at, "by": one.withdrawn_by, "reason": one.withdrawn_reason}
    decided = None
    if one.approved_at is not None:
        decided = {"at": one.approved_at, "by": one.approved_by, "reason": one.approved_reason}
    folder = service.blobs.root / PUBLISHED / one.id
    return asdict(one) | {
        "formats": list(one.files),
        "documents": [name for name in publication.DOCUMENTS if (folder / name).is_file()],
        "publish_at": None
        if one.publish_at >= NO_TIME
        else datetime.fromtimestamp(one.publish_at, UTC).isoformat(timespec="seconds"),
        "approved": decided,
        "state": service.releases.state(one),
        "public": one.public_at(service.database.clock()),
        "superseded_by": service.releases.successor(one.id),
        "withdrawn": gone,
    }
