"""From a question to a response: ETag, cached bytes, headers, and the tables in their format.

A question answered before is served from memory when it can be; its numbers are the same for ever,
so its bytes are too.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlencode

from fastapi import Request, Response

from .. import __version__, formats
from ..core.control import Control
from ..core.table import ProtectedTable
from ..recipe import to_query
from ..release import Release
from ..report.publication import file_name
from . import rendering
from .answer_cache import Answer
from .asking import Asking, Wish
from .auth import Asker
from .negotiation import sent_as, spoken_in
from .problems import Problem
from .refusals import with_alternatives
from .service import Service


def respond(asking: Asking) -> Response:
    """The answer to a question that is short enough; charged before a byte of it leaves."""
    service = asking.service
    with with_alternatives(asking):
        tag = etag(asking)
        answer, charged = service.answers.get(tag), False
        if answer is not None and asking.withheld:
            answer = None
        if answer is None:
            if _client_has(asking.request, tag) and not asking.withheld:
                asking.verdict.enforce()
                return _unchanged(asking, tag)
            answer, charged = _finished(asking, tag)
            service.answers.put(answer)
    asking.notes.update(question=answer.question, cells=answer.cells, charged=charged)
    if _client_has(asking.request, tag):
        return _unchanged(asking, tag)
    if asking.key is not None:
        service.answers.remember(asking.key, tag)
    return _response(service, asking.asker, answer, asking.request, charged=charged)


def known(service: Service, request: Request, key: bytes) -> Response | None:
    """The answer to a request that came before, byte for byte, if all still holds."""
    asker: Asker = request.state.asker
    answer = service.answers.known(key)
    if answer is None or answer.dataset not in service.visible(asker):
        return None
    if service.datasets.served(answer.dataset) != answer.edition:
        return None
    if service.withheld(asker, answer.dataset) & {answer.question, answer.data_version}:
        return None
    request.state.notes.update(
        dataset=answer.dataset, question=answer.question, cells=answer.cells, charged=False
    )
    return _response(service, asker, answer, request, charged=False)


def free(asking: Asking) -> Response:
    """The tables from what was released before: nothing is charged, and nothing kept."""
    asking.notes["charged"] = False
    with with_alternatives(asking), asking.service.slots.one():
        release = asking.derive()
        body = _rendered(release, asking)
    headers = _headers(asking.service, asking.asker, asking.dataset, asking.language)
    headers |= _facts(release, asking.wish) | {"Discreet-Charged": "no"}
    return Response(body, 200, headers, sent_as(asking.request, asking.wish.format.media_type))


def released(asking: Asking) -> Release:
    """The release behind an answer, for what is said about it beside its numbers."""
    with with_alternatives(asking):
        if asking.must_be_job:
            asking.verdict.enforce()
            raise Problem(406, "format", "This table is a job; its CSV has no metadata of its own.")
        with asking.service.slots.one():
            return _made(asking)


def _made(asking: Asking) -> Release:
    """The release; its tables are kept for a while, for what is concluded from them."""
    release = asking.release()
    asking.service.recent_tables.put(_digest(asking, "tables"), tuple(release.tables))
    return release


def tables(asking: Asking) -> tuple[ProtectedTable, ...]:
    """The tables of a question, for what may be concluded from them.

    From memory where they were made a moment ago and may still be served: what they are kept by names
    question, data, policy and edition, and an embargo is looked up anew.
    """
    asking.may_ask()
    kept = asking.service.recent_tables.get(_digest(asking, "tables"))
    if kept is not None and not asking.withheld:
        asking.notes["charged"] = False
        return kept
    release = released(asking)
    asking.notes.update(question=release.plan.question_hash, charged=release.charged)
    return tuple(release.tables)


def _wished(release: Release, wish: Wish) -> tuple[list[ProtectedTable], str]:
    """The tables of a release in the wished language, and the wished format."""
    return [table.in_language(wish.language) for table in release.tables], wish.format.name


def _rendered(release: Release, asking: Asking) -> bytes:
    wish = asking.wish
    return rendering.to_bytes(*_wished(release, wish), asking.deadline(), wish.view)


def write(path: Path, release: Release, wish: Wish, control: Control) -> int:
    """The tables of a release as a file; how many bytes it has."""
    return rendering.to_file(path, *_wished(release, wish), control)


def address(asking: Asking, place: str, **more: str) -> str:
    """The address of a question's table, or of what lies beside it, by its short form."""
    recipe, wish = asking.recipe, asking.wish
    said = {"project": wish.project, **more}
    extra = urlencode({name: text for name, text in said.items() if text})
    layouts = tuple(replace(layout, language=wish.language) for layout in recipe.layouts)
    query = "&".join(part for part in (to_query(replace(recipe, layouts=layouts)), extra) if part)
    return f"/api/v1/datasets/{quote(asking.dataset)}/{place}?{query}"


def etag(asking: Asking) -> str:
    """A strong ETag: question, data, policy, software, layout, format, language; keyed."""
    wish = asking.wish
    digest = _digest(asking, "etag", wish.format.name, wish.view.said, wish.language)
    return f'"{digest.hex()[:40]}"'


def _digest(asking: Asking, purpose: str, *more: str) -> bytes:
    """Names what a question's tables depend on, and more where bytes depend on more; keyed."""
    service, data = asking.service, asking.data
    return service.database.keyed(
        purpose,
        *asking.recipe.fingerprints.values(),
        data.data_version,
        data.policy.version,
        service.datasets.edition(data),
        *more,
        __version__,
    )


def _finished(asking: Asking, tag: str) -> tuple[Answer, bool]:
    """An answer made now, and whether it was charged."""
    wish = asking.wish
    with asking.service.slots.one():
        release = _made(asking)
        body = _rendered(release, asking)
    answer = Answer(
        tag,
        asking.dataset,
        asking.service.datasets.edition(asking.data),
        release.plan.question_hash,
        asking.data.data_version,
        sum(table.cells for table in release.tables),
        wish.format.media_type,
        asking.language,
        _facts(release, wish) | _described_by(asking),
        body,
    )
    return answer, release.charged


def _described_by(asking: Asking) -> dict[str, str]:
    """Where the CSVW metadata or the SDMX structure of a file are, if an address can hold it."""
    if asking.wish.format.name == "csv":
        where, kind = address(asking, "tables/metadata"), "application/csvm+json"
    elif asking.wish.format.name == "sdmx-csv":
        structure = formats.by_name("sdmx-structure")
        where, kind = address(asking, "tables", format=structure.name), structure.media_type
    else:
        return {}
    return {} if len(where) > 4000 else {"Link": f'<{where}>; rel="describedby"; type="{kind}"'}


def _name(release: Release) -> str:
    """A file name that says which table this is; its hash keeps two of the same variables apart."""
    words = f"{release.tables[0].provenance.dataset}-{file_name(release, 0)}"
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", words).strip(".-")
    return f"{plain}-{release.plan.question_hash[:8]}"


def _facts(release: Release, wish: Wish) -> dict[str, str]:
    headers = {
        "Discreet-Question": release.plan.question_hash,
        "Discreet-Cells": str(sum(table.cells for table in release.tables)),
        "Discreet-Guarantee": str(release.plan.guarantee.kind),
    }
    if wish.format.name != "json-stat" and not wish.is_looked_at:
        name = f"{_name(release)}{wish.format.extension}"
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    if release.receipt:
        headers["Discreet-Ledger-Entry"] = str(release.receipt["entry"])
    return headers


def _headers(
    service: Service, asker: Asker, dataset: str, language: str, tag: str = ""
) -> dict[str, str]:
    """What every answer to this asker says of itself."""
    public = asker.role == "public" and service.settings.is_public(dataset)
    caching = "public, no-cache" if public else "private, no-store"
    return {"Cache-Control": caching, **spoken_in(language), **({"ETag": tag} if tag else {})}


def _response(
    service: Service, asker: Asker, answer: Answer, request: Request | None, *, charged: bool
) -> Response:
    headers = _headers(service, asker, answer.dataset, answer.language, answer.tag)
    headers |= answer.headers | {"Discreet-Charged": "yes" if charged else "no"}
    return Response(answer.body, 200, headers, sent_as(request, answer.media_type))


def _unchanged(asking: Asking, tag: str) -> Response:
    headers = _headers(asking.service, asking.asker, asking.dataset, asking.language, tag)
    return Response(status_code=304, headers=headers)


def _client_has(request: Request | None, tag: str) -> bool:
    sent = "" if request is None else request.headers.get("if-none-match", "")
    return tag in [part.strip().removeprefix("W/") for part in sent.split(",")]
