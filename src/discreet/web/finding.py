"""Finding variables, categories and ready tables; choosing categories of a level from its list."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ..core.domain import AxisRef
from ..recipe import query_of
from ..server.auth import Asker
from ..server.routes import search as searching
from ..server.search import Query, chosen_places, parents_of
from ..server.service import Service, told
from .address import Place, short_names
from .axes import Axes

PAGE = 200
"""Categories on one page of a list."""


def results(
    service: Service, asker: Asker, query: str, language: str, place: Place | None = None
) -> dict[str, Any]:
    """What holds the words; each with a link that puts it into a table."""
    if not query.strip():
        return {"variables": [], "categories": [], "tables": [], "near": [], "asked": ""}
    dataset = place.dataset if place is not None else ""
    found = searching.search(service, asker, query, language, language, 50, dataset)
    names: dict[str, dict[str, str]] = {}
    for name, data in service.readable(asker):
        names[name] = short_names(told(asker, data))
    return {
        "asked": query,
        "near": found["near"],
        "variables": [
            {**one, "address": _with_variable(one, names[one["dataset"]], place)}
            for one in found["variables"]
        ],
        "categories": [
            {**one, "address": _with_category(one, names[one["dataset"]], place)}
            for one in found["categories"]
        ],
        "tables": [{**one, "address": _to_page(one["address"])} for one in found["tables"]],
    }


def _with_variable(one: dict[str, Any], names: dict[str, str], place: Place | None) -> str:
    levels = [names[f"{one['name']}:{level['name']}"] for level in one["levels"]]
    fitting = [
        n for n, level in zip(levels, one["levels"], strict=True) if level["categories"] <= 60
    ]
    target = (fitting or levels[-1:])[0]
    if place is None:
        return f"/build/{quote(one['dataset'])}?{query_of({'rows': [target]})}"
    side = "columns" if place.sides["rows"] and not place.sides["columns"] else "rows"
    return place.moved(target, side, levels).address


def _with_category(one: dict[str, Any], names: dict[str, str], place: Place | None) -> str:
    level = names[f"{one['variable']}:{one['level']}"]
    if place is None:
        where = {level: [one["code"]]}
        return f"/build/{quote(one['dataset'])}?{query_of({'where': where})}"
    others = [n for full, n in names.items() if full.partition(":")[0] == one["variable"]]
    return place.only(level, [one["code"]], others).address


def _to_page(address: str) -> str:
    """The page of a ready table, from its address over the API."""
    own = address.removeprefix("/api/v1")
    if own.startswith("/datasets/"):
        name, _, query = own.removeprefix("/datasets/").partition("/tables?")
        return f"/build/{quote(name)}?{query}"
    return own


def choices(axes: Axes, name: str, find: str, offset: int) -> dict[str, Any]:
    """A page of a level's categories, by what holds them; those chosen are marked."""
    variable, level = axes.found(name)
    places = chosen_places(variable, level, Query.of(find), "")
    chosen = set(axes.place.where.get(name, ()))
    parents = parents_of(variable, level)
    coarser = next(iter(parents), "")
    groups: list[dict[str, Any]] = []
    for i in places[offset : offset + PAGE]:
        parent = parents[coarser][i] if coarser else ""
        if not groups or groups[-1]["code"] != parent:
            label = ""
            if parent:
                above = variable.level(coarser)
                label = above.categories[above.index[parent]].label.says(axes.language)
            groups.append({"code": parent, "label": label, "categories": []})
        category = level.categories[i]
        groups[-1]["categories"].append(
            {
                "code": category.code,
                "label": category.label.says(axes.language),
                "chosen": category.code in chosen,
            }
        )
    here = {level.codes[i] for i in places[offset : offset + PAGE]}
    return {
        "level": level.label.says(axes.language) or level.name,
        "name": name,
        "groups": groups,
        "kept": sorted(chosen - here),
        "many": len(level),
        "found": len(places),
        "chosen": len(chosen),
        "offset": offset,
        "find": find,
        "page": PAGE,
        "ref": str(AxisRef(variable.name, level.name)),
    }
