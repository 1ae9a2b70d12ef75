"""Ledger with its shares, and the audit log: filtered, in pages, and as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse

from ...errors import DiscreetError
from ...formats.escape import escaped
from ...languages import counted, say
from ...methods.declaration import Spends
from ...server.auth import CUSTODIANS, CurrentAsker, guarded
from ...server.ledger_lines import LedgerLine
from ...server.problems import Problem
from ...server.requests import BudgetForm
from ...server.routes import oversight
from ...server.routes.catalogue import DataSetId
from ...server.routes.custody import Kind, page_of
from ...server.routes.parts import A_PAGE
from ...server.service import Serving
from ...workspace import DataSet
from ..amounts import amount
from ..frame import PageRoute, fields, first, page
from . import forms, home

custody = guarded(CUSTODIANS, "manage", "pages", PageRoute)
ROUTERS = [custody]

AT_MOST = 100_000
"""Rows of a file."""
Name = Annotated[str, Query(max_length=200)]
Before = Annotated[int | None, Query(ge=1, le=2**60)]
_LINES = ("number", "time", "kind", "who", "scope", "words", "cells", "within", "question")
_LOG = ("number", "at", "user", "role", "via", "method", "route", "event", "dataset", "question")
_LOG_END = ("rule", "reason", "status", "cells", "charged", "milliseconds", "request", "hash")


# -- ledger and shares ----------------------------------------------------------------------


@custody.get("/custodian/{dataset}/ledger", include_in_schema=False)
def ledger(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    kind: Kind = "",
    user: Name = "",
    before: Before = None,
    verify: Annotated[bool, Query()] = False,
) -> HTMLResponse:
    """Entries in words with filters, the chain checked on demand, shares and a form for them."""
    with service.dataset(asker, dataset) as data:
        facts: dict[str, Any] = {
            "name": dataset,
            "title": data.description.title,
            "kind": kind,
            "user": user,
            "charges": data.spends is not Spends.NOTHING,
            "budget": data.policy.budget is not None,
            "filters": urlencode({"kind": kind, "user": user}),
        }
        if facts["charges"]:
            facts |= _book(data, kind, user, before, verify=verify)
        return page(request, "custody/ledger.html", facts)


def _book(
    data: DataSet, kind: str, user: str, before: int | None, *, verify: bool
) -> dict[str, Any]:
    description = data.described.description
    lines, onward = page_of(data, description, kind=kind, user=user, before=before, most=A_PAGE)
    spent = data.spends is Spends.LOSS
    return {
        "lines": [home.shown(data.folder.name, line) for line in lines],
        "next": onward,
        "first": before is None,
        "budgets": home.budget_of(data.folder.name, data) if spent else None,
        "shares": [
            {
                "scope": one.scope,
                "cap": amount(one.cap, left=True),
                "spent": amount(one.spent),
                "left": amount(one.left, left=True),
            }
            for one in data.ledger().shares()
        ],
        "verified": verified(data) if verify else None,
    }


def verified(data: DataSet) -> tuple[bool, str]:
    """Whether the chain of a ledger is whole, and that in words."""
    try:
        found = data.ledger().verify()
    except DiscreetError as error:
        return False, error.message
    words = counted(
        "The chain is whole: {n} entry checked just now, with all that was released.",
        "The chain is whole: {n} entries checked just now, with all that was released.",
        found.entries,
    )
    return True, words


@custody.get("/custodian/{dataset}/ledger/export", include_in_schema=False)
def export(
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    kind: Kind = "",
    user: Name = "",
) -> Response:
    """The entries that the filters let through, as CSV."""
    with service.dataset(asker, dataset) as data:
        if data.spends is Spends.NOTHING:
            raise Problem(404, "not-found", say("Nothing is charged here, so there is no ledger."))
        description = data.described.description
        lines, _ = page_of(data, description, kind=kind, user=user, most=AT_MOST)
    return as_csv("ledger", (*_LINES, "loss", "reason", "hash"), map(_row, lines))


def _row(line: LedgerLine) -> list[object]:
    said = asdict(line)
    loss = "" if line.loss is None else ", ".join(f"{k} = {v}" for k, v in line.loss.items())
    return [*(said[name] for name in _LINES), loss, line.reason, line.hash]


@custody.post("/custodian/{dataset}/shares", include_in_schema=False)
async def share(
    request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId
) -> Response:
    """Give an account or a project a share of the budget, change it, or take it away."""
    said = await fields(request)
    scope = first(said, "scope").strip()[:120]
    kind = "rho" if first(said, "kind") == "rho" else "epsilon"
    amounts = {kind: first(said, "epsilon").strip(), "delta": first(said, "delta").strip()}
    form = forms.read(BudgetForm, reason=forms.reason(said), **amounts)
    await run_in_threadpool(oversight.share, request, service, asker, dataset, scope, form)
    return RedirectResponse(f"/custodian/{dataset}/ledger#shares", 303)


# -- the log --------------------------------------------------------------------------------


@custody.get("/custodian/log", include_in_schema=False)
def log(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: Name = "",
    user: Name = "",
    rule: Name = "",
    before: Before = None,
) -> HTMLResponse:
    """Every request, newest first: who, what, how it ended; never a number of a table."""
    most = A_PAGE + 1
    rows = service.audit.page(before=before, dataset=dataset, user=user, rule=rule, most=most)
    shown = rows[:A_PAGE]
    facts = {
        "rows": [row | {"moment": _moment(row["at"])} for row in shown],
        "next": shown[-1]["number"] if len(rows) > A_PAGE else None,
        "first": before is None,
        "dataset": dataset,
        "user": user,
        "rule": rule,
        "filters": urlencode({"dataset": dataset, "user": user, "rule": rule}),
        "refused": service.audit.refusals(dataset=dataset, user=user)[:A_PAGE],
        "datasets": service.visible(asker),
    }
    return page(request, "custody/log.html", facts)


def _moment(text: str) -> str:
    return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M:%S")


@custody.get("/custodian/log/export", include_in_schema=False)
def log_export(
    service: Serving, asker: CurrentAsker, dataset: Name = "", user: Name = "", rule: Name = ""
) -> Response:
    """The rows that the filters let through, as CSV; the newest where they are very many."""
    rows = service.audit.page(dataset=dataset, user=user, rule=rule, most=AT_MOST)
    columns = (*_LOG, *_LOG_END)
    return as_csv("log", columns, ([row.get(name, "") for name in columns] for row in rows))


def as_csv(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    """A file of rows; what a spreadsheet would run as a formula is made harmless."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(["" if cell is None else escaped(str(cell)) for cell in row])
    headers = {
        "Content-Disposition": f'attachment; filename="{name}.csv"',
        "Cache-Control": "private, no-store",
    }
    return Response(text.getvalue().encode(), 200, headers, "text/csv; charset=utf-8")
