"""A new data set, or a new version of one, as pages: a file, what was found in it, what is said of it."""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qsl, quote

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from ..core.exact import plain
from ..errors import DiscreetError, InputError
from ..languages import say
from ..server import draft_jobs
from ..server.asking import spends
from ..server.auth import CUSTODIANS, Asker, CurrentAsker, equal, guarded, same_site
from ..server.draft_shapes import DraftForm
from ..server.multipart import Writer, read_form
from ..server.problems import Problem, behind
from ..server.routes import drafts as api
from ..server.routes.catalogue import DataSetId
from ..server.routes.drafts import DraftId
from ..server.service import Service, Serving
from ..workspace import draft_upload
from ..workspace.draft_folder import DraftFolder
from . import draft_forms
from .amounts import file_size
from .builder import Builder
from .frame import PageRoute, fields, first, page, voice
from .starts import featured_or_any

custody = guarded(CUSTODIANS, "manage", "pages", PageRoute)
ROUTERS = [custody]

REFRESH_SECONDS = 1
_DOING = {
    "uploading": say("The file is on its way"),
    "looking": say("Looking at the file"),
    "loading": say("Making the data set"),
}


@custody.get("/custodian/new", include_in_schema=False)
def new(request: Request, service: Serving) -> HTMLResponse:
    """Where a file is dropped; and the drafts there are."""
    return page(request, "draft_new.html", _new(service, ""))


@custody.get("/custodian/new/version/{dataset}", include_in_schema=False)
def version(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId
) -> HTMLResponse:
    """Where the file of a new version is dropped."""
    if dataset not in service.visible(asker):
        raise Problem(404, "not-found", say("There is no such data set."))
    return page(request, "draft_new.html", _new(service, dataset))


def _new(service: Service, dataset: str) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "drafts": [one for one in api.listed(service) if one.state != "done"],
        "databases": [] if dataset else list(service.settings.draft_sources),
        "most": file_size(service.settings.most_upload_bytes),
        "at": f"/custodian/new/version/{quote(dataset)}" if dataset else "/custodian/new",
    }


# -- the file -------------------------------------------------------------------------------


@custody.post("/custodian/new", include_in_schema=False)
async def send(request: Request, service: Serving, asker: CurrentAsker) -> Response:
    """Take a file from the form, as it comes; or the address of a database's table."""
    kind = request.headers.get("content-type", "").lower()
    if kind.startswith("application/x-www-form-urlencoded"):
        source = first(await fields(request), "source").strip()
        if source:
            form = DraftForm(source=source[:1000])
            draft = await run_in_threadpool(api.begun, service, asker, form)
            return RedirectResponse(f"/custodian/new/{draft.folder.name}", 303)
    return await _sent(request, service, asker, None)


@custody.post("/custodian/new/version/{dataset}", include_in_schema=False)
async def send_version(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId
) -> Response:
    """Take the file of a new version from the form, as it comes."""
    return await _sent(request, service, asker, dataset)


async def _sent(request: Request, service: Service, asker: Asker, dataset: str | None) -> Response:
    same_site(request.headers, service.settings)
    kind = request.headers.get("content-type", "")
    if not kind.lower().startswith("multipart/form-data"):
        raise Problem(415, "media-type", say("Send this from its form."))
    most = service.settings.most_upload_bytes
    with ExitStack() as held:
        draft: DraftFolder | None = None

        async def begin(said: dict[str, str], name: str) -> Writer:
            nonlocal draft
            csrf = service.accounts.csrf(asker.session) if asker.session else ""
            if asker.session and not equal(said.get("csrf", ""), csrf):
                raise Problem(403, "csrf", say("This did not come from a page of this server."))
            form = DraftForm(file=name[:300], dataset=dataset)
            draft = await run_in_threadpool(api.begun, service, asker, form, resumable=False)
            piece = held.enter_context(draft_upload.receiving(draft, 0, most))

            async def write(data: bytes) -> None:
                await run_in_threadpool(piece.write, data)

            return write

        try:
            with api.conflicts():
                await read_form(kind, request.stream(), begin)
        except BaseException:
            held.close()
            if draft is not None:
                draft.delete()  # what a form sent in part cannot go on
            raise
    if draft is None:
        raise Problem(400, "input", say("No file was chosen. Choose one and send it again."))
    await run_in_threadpool(api.arrived, service, draft, asker)
    return RedirectResponse(f"/custodian/new/{draft.folder.name}", 303)


# -- the draft ------------------------------------------------------------------------------


@custody.get("/custodian/new/{draft}", include_in_schema=False)
def opened(request: Request, service: Serving, asker: CurrentAsker, draft: DraftId) -> HTMLResponse:
    """A draft: how far it is, or what was found and is to be said, or the first table."""
    return _page(request, service, asker, api.find(service, draft))


def _page(
    request: Request,
    service: Service,
    asker: Asker,
    draft: DraftFolder,
    *,
    notice: str = "",
    status: int = 200,
    said: draft_forms.Fields | None = None,
) -> HTMLResponse:
    found = api.shown(service, draft)
    facts: dict[str, Any] = {"draft": found, "notice": notice, "review": None}
    if found.state == "done":
        return page(request, "draft_done.html", facts | _first(request, service, asker, found.made))
    if found.state != "open":
        facts |= {"words": _DOING[found.state], "share": round(100 * found.share)}
        answer = page(request, "draft_wait.html", facts, status)
        if not found.error and found.state != "uploading":
            answer.headers["Refresh"] = str(REFRESH_SECONDS)
        return answer
    if found.dataset:
        return page(request, "draft_version.html", facts, status)
    review = _review(draft, found.review or {})
    facts["review"] = review if said is None else draft_forms.overlaid(review, said)
    facts["public"] = "*" in service.settings.public
    return page(request, "draft.html", facts, status)


def _review(draft: DraftFolder, review: dict[str, Any]) -> dict[str, Any]:
    """The review with what only the form needs: what was said, beside what follows from it."""
    said = draft.state.answers
    return {
        **review,
        "name": said.get("name", ""),
        "id_said": said.get("unit", {}).get("id"),
        "weight_said": said.get("columns", {}).get("weight", ""),
        "budget_said": said.get("policy", {}).get("budget", ""),
    }


@custody.post("/custodian/new/{draft}", include_in_schema=False)
async def answer(
    request: Request, service: Serving, asker: CurrentAsker, draft: DraftId
) -> Response:
    """Save what was said; with the last button also make the data set."""
    said = await fields(request)
    return await run_in_threadpool(_answered, request, service, asker, draft, said)


def _answered(
    request: Request, service: Service, asker: Asker, identity: str, said: draft_forms.Fields
) -> Response:
    draft = api.find(service, identity)
    try:
        edition = int(first(said, "edition", "0")[:9])
        found = api.shown(service, draft)
        if found.review is not None:
            form = draft_forms.answers(said, _review(draft, found.review))
            api.answered(service, asker, draft, form, edition)
            edition += 1
        if first(said, "do") == "finish":
            request.state.notes["dataset"] = api.finished(service, asker, draft, edition)
    except (DiscreetError, Problem, ValueError) as error:
        problem = behind(error if not isinstance(error, ValueError) else InputError(str(error)))
        if problem.status not in (400, 409, 412):
            raise
        return _page(
            request,
            service,
            asker,
            draft,
            notice=problem.detail,
            status=problem.status,
            said=said if problem.status == 400 else None,
        )
    return RedirectResponse(f"/custodian/new/{identity}{_anchor(said)}", 303)


def _anchor(said: draft_forms.Fields) -> str:
    """The step that was saved; a page that looks again by itself has none, or it would stay."""
    place = first(said, "do", "")
    return f"#{place}" if place in ("columns", "declare", "protect") else ""


@custody.post("/custodian/new/{draft}/cancel", include_in_schema=False)
async def cancel(request: Request, service: Serving, draft: DraftId) -> Response:
    """Delete a draft with every byte of it."""
    await fields(request)
    await run_in_threadpool(draft_jobs.cancel, service, api.find(service, draft))
    return RedirectResponse("/custodian/new", 303)


# -- the first table ------------------------------------------------------------------------


def _first(request: Request, service: Service, asker: Asker, name: str) -> dict[str, Any]:
    """The first table of a new data set, where it may be shown for nothing; else its address."""
    speaks = voice(request)
    with service.dataset(asker, name) as data:
        starts = featured_or_any(asker, data, speaks.language)
        if not starts:
            return {"built": None, "address": f"/build/{quote(name)}", "title": "", "recipe": ""}
        query = starts[0].query
        if spends(data) and data.policy.budget is not None:
            parts = data.policy.budget.parts
            each = parts.get("epsilon", Fraction(1)) / 3
            query += f"&epsilon={plain(each.limit_denominator(1000))}"
        address = f"/build/{quote(name)}?{query}"
        built = Builder(request, service, asker, data, parse_qsl(query), speaks)
        shown = built if built.table is not None else None
        return {"built": shown, "address": address, "title": starts[0].title, "recipe": query}
