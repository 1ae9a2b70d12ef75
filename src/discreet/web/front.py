"""The first visit, the catalogue, and what is public about one data set."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, quote

from fastapi import Request

from .. import rules
from ..core.guarantee import neighbours_words
from ..errors import DiscreetError
from ..languages import Voice, say
from ..methods import registry
from ..methods.declaration import Spends
from ..server.asking import spends
from ..server.auth import Asker
from ..server.problems import Problem
from ..server.routes import saved
from ..server.service import Service, told
from ..workspace import DataSet
from .amounts import filled, of_cap
from .builder import Builder
from .notes_view import notes_of
from .starts import Start, featured_or_any
from .views import deck

FAMILIES = {
    "cell-key": say("cell keys: small noise, the same for ever"),
    "dp": say("differential privacy under a budget"),
    "suppression": say("exact or a star"),
    "classic": say("small counts hidden"),
    "synthetic": say("synthetic records"),
}


_PLAINLY = {
    "cell-key": say("The same people always get the same noise, so asking again changes nothing."),
    "dp": say("The noise was drawn once; asking again gives the same numbers."),
    "suppression": say("That a cell is withheld tells nothing about the people in it."),
    "synthetic": say("No record here is a real person's."),
}


def _own(service: Service, asker: Asker) -> list[dict[str, str]]:
    """The last tables a signed-in reader saved."""
    if not asker.name or asker.role == "auditor":
        return []
    mine = saved.readable(service, asker, shared=False, most=3)
    return [
        {"id": one.id, "title": one.title or one.dataset, "dataset": one.dataset} for one in mine
    ]


def front_facts(request: Request, service: Service, asker: Asker, speaks: Voice) -> dict[str, Any]:
    """The first table that may be shown for nothing, and further ones."""
    shown: Builder | None = None
    start: Start | None = None
    further: list[Start] = []
    names = service.visible(asker)
    for name in _free_first(service, asker, names):
        with service.dataset(asker, name) as data:
            listed = featured_or_any(asker, data, speaks.language)
            if shown is None and listed:
                built = _built(request, service, asker, data, listed[0], speaks)
                if built is not None:
                    shown, start, listed = built, listed[0], listed[1:]
            further += listed[: 2 if shown is not None and shown.name == name else 1]
    further = list({one.address: one for one in further}.values())
    facts: dict[str, Any] = {
        "built": shown,
        "start": start,
        "further": further[: 6 if len(further) >= 6 else 3],
        "datasets": len(names),
        "own": _own(service, asker),
        "xlsx": "",
        "plainly": "",
    }
    if shown is not None and shown.table is not None:
        file = f"/build/{quote(shown.name)}/file?{shown.place.question}&format=xlsx"
        facts |= {
            "about": shown.told,
            "deck": deck(shown, picks=False),
            "notes": notes_of(shown.table, speaks.language),
            "xlsx": file,
            "plainly": _PLAINLY.get(str(shown.data.policy.family), ""),
        }
    return facts


def _free_first(service: Service, asker: Asker, names: list[str]) -> list[str]:
    """Data sets whose tables cost nothing come first."""
    paid = {}
    for name in names:
        try:
            with service.dataset(asker, name) as data:
                paid[name] = data.policy.method in registry.names() and spends(data)
        except (DiscreetError, Problem):
            continue
    return sorted(paid, key=lambda name: paid[name])


def _built(
    request: Request, service: Service, asker: Asker, data: DataSet, start: Start, speaks: Voice
) -> Builder | None:
    """The table of a start, where it may be shown for nothing; else None."""
    pairs = [*parse_qsl(start.query), ("show", "heat")]
    if not start.lead:
        pairs.append(("percent", "columns"))
    built = Builder(request, service, asker, data, pairs, speaks)
    return built if built.table is not None else None


def catalogue_facts(service: Service, asker: Asker) -> dict[str, Any]:
    """Every data set this reader may see, with what it is about."""
    listed = []
    for name, data in service.readable(asker):
        about = told(asker, data)
        listed.append(
            {
                "name": name,
                "about": about,
                "family": FAMILIES.get(str(data.policy.family), str(data.policy.family)),
                "served": data.policy.method in registry.names(),
                "variables": [v.label for v in about.variables],
            }
        )
    return {"datasets": listed}


def dataset_facts(asker: Asker, data: DataSet, speaks: Voice) -> dict[str, Any]:
    """What is public about a data set: population, variables, rules, budget, tables to start with."""
    about, name = told(asker, data), data.folder.name
    budget = None
    if data.policy.budget is not None and data.spends is Spends.LOSS:
        standing = data.ledger().standing(user=asker.user)[0]
        left = of_cap(standing.left, standing.cap)
        budget = {"words": left, "width": round(220 * float(filled(standing)), 1)}
    return {
        "name": name,
        "address": f"/build/{quote(name)}",
        "about": about,
        "family": FAMILIES.get(str(data.policy.family), str(data.policy.family)),
        "rules": list(rules.in_words(data.policy)),
        "budget": budget,
        "starts": featured_or_any(asker, data, speaks.language),
        "neighbours": neighbours_words(about.neighbours.words)
        if data.policy.family.has_neighbours
        else None,
    }
