"""`/search`: variables, categories and ready tables of all data sets one may see."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query as Parameter

from ...core.description import Description
from ...errors import InputError
from .. import publishing, responses
from ..auth import ASKERS, EVERYONE, Asker, CurrentAsker, guarded
from ..negotiation import chosen_language, require_language
from ..search import LIMIT, Match, Query, cut, folded, matches, near, variable_rank
from ..service import Service, Serving, told
from . import catalogue, saved
from .catalogue import Language, Limit, Search, Wishes

router = guarded(EVERYONE, "read", "catalogue")
ROUTERS = [router]


@router.get("/search", response_model=responses.SearchShape)
def search(
    service: Serving,
    asker: CurrentAsker,
    query: Search,
    language: Language = "",
    wishes: Wishes = "",
    limit: Limit = LIMIT,
    dataset: Annotated[str, Parameter(max_length=200, description="Only in this one.")] = "",
) -> dict[str, Any]:
    """What holds every word of `query`: variables, categories, featured, saved and released tables.

    At most `limit` of each kind, the best first; `more` says how many there are beyond them.
    """
    words = Query.of(query)
    if not words:
        raise InputError("query needs a word to look for, such as query=wales.")
    variables: list[tuple[int, dict[str, Any]]] = []
    categories: list[tuple[str, Match]] = []
    tables: list[tuple[int, dict[str, Any]]] = []
    seen: list[Description] = []
    require_language(language, (told(asker, data) for _, data in service.readable(asker)))
    for name, data in service.readable(asker):
        if dataset and name != dataset:
            continue
        description = told(asker, data)
        seen.append(description)
        spoken = chosen_language(None, language or wishes, description)
        for variable in description.variables:
            rank = variable_rank(variable, words)
            if rank is not None:
                entry = catalogue.variable_facts(variable, spoken)
                variables.append((rank, {"dataset": name, **entry}))
            categories += [(name, one) for one in matches(variable, words, spoken)]
        for one in catalogue.featured(asker, data, spoken):
            rank = words.rank(folded(f"{one['title']} {one['says']}"))
            if rank is not None:
                address = f"/api/v1/datasets/{name}/tables?{one['query']}"
                tables.append((rank, _table("featured", name, one["title"], address)))
    tables += _kept(service, asker, words, dataset)
    return _found(words, variables, categories, tables, limit) | {
        "near": [] if variables or categories or tables else near(query[:200], seen, language)
    }


def _found(
    words: Query,
    variables: list[tuple[int, dict[str, Any]]],
    categories: list[tuple[str, Match]],
    tables: list[tuple[int, dict[str, Any]]],
    limit: int,
) -> dict[str, Any]:
    by_rank = sorted(variables, key=lambda ranked: ranked[0])
    shown, more_variables = cut([one for _, one in by_rank], limit)
    hits = sorted(categories, key=lambda found: found[1].rank)
    places, more_categories = cut(hits, limit)
    ready, more_tables = cut([one for _, one in sorted(tables, key=lambda r: r[0])], limit)
    return {
        "variables": shown,
        "categories": [
            {"dataset": name, "variable": one.variable, **one.to_json()} for name, one in places
        ],
        "tables": ready,
        "more": {
            "variables": more_variables,
            "categories": more_categories,
            "tables": more_tables,
        },
    }


def _kept(
    service: Service, asker: Asker, words: Query, dataset: str
) -> list[tuple[int, dict[str, Any]]]:
    """Saved and released tables whose title holds the words, for those who may see tables."""
    if asker.role not in ASKERS:
        return []
    listed = [
        ("saved", one.dataset, one.title, f"/api/v1/saved/{one.id}")
        for one in (saved.readable(service, asker) if "tables" in asker.scopes else ())
    ]
    listed += [
        ("release", one.dataset, one.title, f"/api/v1/releases/{one.id}")
        for one in publishing.readable(service, asker)
    ]
    found = []
    for kind, name, title, address in listed:
        rank = words.rank(folded(title))
        if rank is not None and (not dataset or name == dataset):
            found.append((rank, _table(kind, name, title, address)))
    return found


def _table(kind: str, dataset: str, title: str, address: str) -> dict[str, Any]:
    return {"kind": kind, "dataset": dataset, "title": title, "address": address}
