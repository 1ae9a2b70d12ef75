"""The auditor's pages: ledgers with their chain, policies and what changed, the log; no number of a table."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, Response

from .. import api
from ..languages import say
from ..methods.declaration import Spends
from ..server.auth import OVERSEERS, Asker, CurrentAsker, guarded
from ..server.routes.catalogue import DataSetId
from ..server.routes.custody import page_of
from ..server.service import Service, Serving
from ..workspace import DataSet
from .amounts import amount
from .custody.books import verified
from .custody.home import shown
from .frame import PageRoute, page
from .front import FAMILIES

overseeing = guarded(OVERSEERS, "audit", "pages", PageRoute)
ROUTERS = [overseeing]

Name = Annotated[str, Query(max_length=200)]
MOST = 100


@overseeing.get("/audit", include_in_schema=False)
def oversight(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: Name = "",
    user: Name = "",
    before: Annotated[int | None, Query(ge=1, le=2**60)] = None,
) -> HTMLResponse:
    """Every data set with what was spent, and the log of requests with filters."""
    rows = service.audit.page(before=before, dataset=dataset, user=user, most=MOST)
    facts = {
        "datasets": [_standing(name, data) for name, data in service.readable(asker)],
        "rows": rows,
        "next": rows[-1]["number"] if len(rows) == MOST else None,
        "dataset": dataset,
        "user": user,
    }
    return page(request, "oversight.html", facts)


def _standing(name: str, data: DataSet) -> dict[str, Any]:
    facts = {"name": name, "title": data.description.title, "family": _family(data)}
    if data.spends is Spends.NOTHING:
        return facts | {"spent": "", "left": "", "entries": 0}
    entries = data.ledger().length()
    if data.policy.budget is None or data.spends is not Spends.LOSS:
        return facts | {"spent": "", "left": "", "entries": entries}
    standing = data.ledger().standing()[0]
    spent, left = amount(standing.spent), amount(standing.left, left=True)
    return facts | {"spent": spent, "left": left, "entries": entries}


def _family(data: DataSet) -> str:
    return FAMILIES.get(str(data.policy.family), str(data.policy.family))


@overseeing.get("/audit/{dataset}", include_in_schema=False)
def ledger(
    request: Request,
    service: Serving,
    asker: CurrentAsker,
    dataset: DataSetId,
    verify: Annotated[bool, Query()] = False,
    a: Name = "",
    b: Name = "",
    before: Annotated[int | None, Query(ge=1, le=2**60)] = None,
) -> HTMLResponse:
    """A data set's ledger, its chain, its policies, and the difference of two of them in sentences."""
    with service.dataset(asker, dataset) as data:
        charges = data.spends is not Spends.NOTHING
        policies = list(service.catalogue.policies(dataset))
        known = {one["version"]: one["policy"] for one in policies}
        facts = {
            "name": dataset,
            "title": data.description.title,
            "family": _family(data),
            "ledger": _book(data, before) if charges else None,
            "verified": verified(data) if verify and charges else None,
            "policies": policies,
            "current": data.policy.version,
            "differences": _differences(known[a], known[b]) if a in known and b in known else None,
            "a": a,
            "b": b,
        }
        return page(request, "ledger.html", facts)


def _book(data: DataSet, before: int | None) -> dict[str, Any]:
    """Entries in words, newest first, and what was spent."""
    lines, onward = page_of(data, data.described.description, before=before, most=MOST)
    facts: dict[str, Any] = {
        "lines": [shown(data.folder.name, line) for line in lines],
        "next": onward,
        "first": before is None,
        "spent": "",
        "worst": api.DataSet(data).worst_case,
    }
    if data.policy.budget is not None and data.spends is Spends.LOSS:
        standing = data.ledger().standing()[0]
        facts["spent"] = amount(standing.spent)
        facts["cap"] = amount(standing.cap, left=True)
        facts["left"] = amount(standing.left, left=True)
    return facts


@overseeing.get("/audit/{dataset}/export", include_in_schema=False)
def export(request: Request, service: Serving, asker: CurrentAsker, dataset: DataSetId) -> Response:
    """Ledger, policies and register of a data set in one file."""
    with service.dataset(asker, dataset) as data:
        facts = _exported(service, asker, dataset, data)
    text = json.dumps(facts, ensure_ascii=False, indent=1, default=str)
    headers = {
        "Content-Disposition": f'attachment; filename="oversight-{data.data_version[:8]}.json"'
    }
    return Response(text, 200, headers, "application/json")


def _exported(service: Service, asker: Asker, name: str, data: DataSet) -> dict[str, Any]:
    charges = data.spends is not Spends.NOTHING
    return {
        "dataset": name,
        "ledger": api.DataSet(data).ledger_facts() if charges else None,
        "register": data.ledger().export_register() if charges else None,
        "policies": list(service.catalogue.policies(name)),
        "log": service.audit.page(before=None, dataset=name, user="", most=1000),
    }


def _differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """What two policies say differently, one sentence each."""
    said: list[str] = []
    before, after = _flat(one), _flat(other)
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if old is None:
            said.append(say("{name} is new: {new}.", name=name, new=new))
        elif new is None:
            said.append(say("{name} is gone; it was {old}.", name=name, old=old))
        else:
            said.append(say("{name} was {old} and is {new}.", name=name, old=old, new=new))
    return said


def _flat(policy: dict[str, Any], before: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in policy.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = str(value)
    return flat
