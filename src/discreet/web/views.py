"""What the templates of the builder are given, beside the builder itself."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import numpy as np

from .. import formats
from ..core.table import ProtectedTable, Status
from ..errors import DiscreetError
from ..formats.chart import Chart
from ..formats.html import RAISED, in_totals
from ..formats.svg import to_svg
from ..languages import Sentence, say, together
from ..methods.declaration import Spends
from . import verdicts
from .address import Place
from .amounts import filled, of_cap
from .builder import MEANINGS, Builder
from .compare import compared
from .grid import INSTEAD
from .notes_view import notes_of
from .snippets import snippets
from .starts import featured_or_any

_PERCENT = {
    "rows": say("Per cent of each row."),
    "columns": say("Per cent of each column."),
    "layers": say("Per cent of each layer."),
    "all": say("Per cent of the whole table."),
}
_HOLDS = {
    "csv": say("for any program, notes beside it"),
    "parquet": say("typed columns, notes inside"),
    "json-stat": say("with everything about the table"),
    "xlsx": say("notes on a sheet of their own"),
    "px": say("for PxWeb and PC-Axis"),
    "sdmx-csv": say("for statistical offices"),
}


def facts(built: Builder) -> dict[str, Any]:
    """Everything the builder's page shows."""
    place = built.place
    view = place.view.get("view", "table")
    asking = built.asking
    guarantee = None
    if asking is not None:
        promise = asking.asked.plan.guarantee
        guarantee = {
            "sentence": promise.sentence(),
            "odds": [words for words in (*promise.odds, promise.counted_as_one()) if words],
        }
    return {
        "built": built,
        "offers": offers(built),
        "place": place,
        "axes": built.axes,
        "about": built.told,
        "verdict": built.verdict,
        "view": view,
        "views": [
            ("", say("Table")),
            ("chart", say("Chart")),
            ("notes", say("Notes")),
            ("code", say("Code")),
        ],
        "budget": _budget(built),
        "percents": _percents(place),
        "deck": deck(built),
        "downloads": _downloads(built),
        "notes": None if built.table is None else notes_of(built.table, built.voice.language),
        "withheld": [] if built.table is None else _marks(built.table),
        "guarantee": guarantee,
        "starts": featured_or_any(built.asker, built.data, built.voice.language)
        if place.empty
        else [],
        "snippets": _snippets(built) if view == "code" else [],
        **_charted(built, view),
        "compared": _compared(built),
        "within": _within(built),
    }


def _compared(built: Builder) -> Any:
    view = built.place.view
    if built.grid is None or not (view.get("a") and view.get("b")):
        return None
    return compared(built.grid, view["a"], view["b"])


def _within(built: Builder) -> str:
    """How far off the numbers inside the table are, where that is one figure for all of them."""
    grid = built.grid
    if grid is None or grid.flat.percent is not None:
        return ""
    flat, low, high = grid.flat, grid.flat.lower, grid.flat.upper
    if low is None or high is None:
        return ""
    flags = ~in_totals(grid.axes) & flat.shown
    reach = np.maximum(high - flat.values, flat.values - low)[flags]
    if not reach.size:
        return ""
    return say("Without noise it is within ±{n} of this in 95 of 100 releases.", n=int(reach.max()))


_KINDS = {
    "dots": say("Dots"),
    "bars": say("Bars"),
    "lines": say("Lines"),
    "multiples": say("Small multiples"),
    "heat": say("Heat map"),
    "tiles": say("Tiles"),
}


def _charted(built: Builder, view: str) -> dict[str, Any]:
    """The picture of the table, and which others there are; why there is none."""
    nothing: dict[str, Any] = {"chart": "", "kinds": [], "no_chart": ""}
    if view != "chart" or built.table is None:
        return nothing
    wanted = built.place.view.get("chart", "")
    try:
        drawn = Chart(built.table, wanted)
        picture = to_svg(built.table, wanted)
    except DiscreetError as error:
        return nothing | {"no_chart": error.message}
    kinds = [
        (_KINDS[kind], built.place.seen(chart=kind).address, kind == drawn.kind)
        for kind in drawn.kinds
    ]
    return {"chart": picture, "kinds": kinds, "no_chart": ""}


def _snippets(built: Builder) -> list[Any]:
    charged = built.asking is not None and built.asking.asked.spends
    return list(snippets(built.place, built.host, charged=charged))


def _budget(built: Builder) -> dict[str, Any] | None:
    asking = built.asking
    if asking is None or asking.asked.declaration.spends is not Spends.LOSS:
        return None
    budget = verdicts.budget_of(asking)
    if budget is None:
        return None
    width = round(220 * float(filled(budget)), 1)
    return {"words": of_cap(budget.left, budget.cap), "width": width}


def _percents(place: Place) -> list[tuple[str, str, bool]]:
    """Of what percentages may be, where each leads, and which it is."""
    now = str(place.said.get("percent", ""))
    sides = place.sides
    choices = [
        ("", say("None"), True),
        ("rows", say("Rows"), bool(sides["columns"])),
        ("columns", say("Columns"), bool(sides["rows"])),
        ("layers", say("Layers"), bool(sides["layers"])),
        ("all", say("All"), any(sides.values())),
    ]
    if place.said.get("totals") == "none":
        choices = choices[:1]
    return [
        (words, place.saying(percent=of or None).address, of == now)
        for of, words, can in choices
        if can
    ]


def deck(built: Builder, *, picks: bool = True) -> str | Sentence:
    """A line under the title: whom it is about, and what the numbers are."""
    table = built.table
    if table is None:
        return ""
    headed = built.headed
    counted = say("{what}.", what=headed.counted) if headed.counted else None
    before = [words for words in (headed.only, counted) if words]
    return together(*before, _says_of_numbers(built, table, picks))


def _says_of_numbers(built: Builder, table: ProtectedTable, picks: bool) -> str | Sentence:
    if np.any(table.status == Status.SUPPRESSED) or (
        table.noise is None and built.data.policy.family == "suppression"
    ):
        if not np.any(table.status == Status.SUPPRESSED):
            return say("Every number is exact; none is withheld.")
        return say(
            "Every number shown is exact. ✱ is withheld: which cells are withheld was decided "
            "without looking at them."
        )
    of = _PERCENT.get(table.layout.percent)
    if table.noise is None:
        plain = say("Number of records, counted as they are.")
        return together(of, plain) if of else plain
    if built.place.view.get("view") == "chart":
        said = say("The mark is what was published; violet is its noise interval.")
    elif "intervals" in built.place.showing:
        said = say("With noise; under each number its noise interval.")
    elif picks:
        said = say("With noise. Pick two cells to compare them.")
    else:
        said = say("With noise.")
    return together(of, said) if of else together(say("Number of records."), said)


def _marks(table: ProtectedTable) -> list[tuple[str, Any]]:
    """What each mark in place of a number means, where there is one."""
    present = {Status(int(code)) for code in np.unique(table.status)}
    marks: list[tuple[str, Any]] = [
        (INSTEAD[status], words) for status, words in MEANINGS.items() if status in present
    ]
    if Status.DERIVED in present:
        marks.append((RAISED[Status.DERIVED], Status.DERIVED.meaning))
    return marks


def _downloads(built: Builder) -> list[dict[str, Any]]:
    """The table as files; following one of these never spends."""
    if built.table is None:
        return []
    base = f"/build/{quote(built.name)}/file?{built.place.question}"
    return [
        {
            "title": form.title,
            "holds": _HOLDS.get(form.name, ""),
            "address": f"{base}&format={form.name}",
        }
        for form in formats.FORMATS.values()
    ]


def offers(built: Builder) -> list[dict[str, Any]]:
    """What would work instead, each with its link where there is one."""
    listed = []
    for offer in built.offers:
        query = offer.get("query")
        address = f"/build/{quote(built.name)}?{query}" if query and offer.get("checked") else ""
        listed.append(
            {
                "title": offer["title"],
                "address": address,
                "cells": offer.get("cells"),
                "within": offer.get("within_95"),
                "as_job": offer.get("as_job", False),
            }
        )
    return listed
