"""Pictures of what protection costs: curves of utility, transition matrices, counts before and after.

The numbers are about true counts, so these pictures are for a custodian's eyes, or for synthetic data.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.product import Reals, Whole
from ..errors import InputError
from ..languages import number, say, together
from ..quality.measures import BANDS, Utility
from .charts import BLUE, CONFIG, INK, ORANGE, Spec

_COLOURS = (ORANGE, BLUE, "#2e8b57", "#8a6d3b")
_MEASURES = (
    ("on_diagonal", say("cells that stay in their band, %"), "linear"),
    ("l1", say("L1 distance"), "log"),
    ("l2", say("L2 distance"), "log"),
    ("hellinger", say("Hellinger distance"), "log"),
)
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_POWERS: Spec = {
    "values": [10.0**power for power in range(-6, 13)],
    "labelExpr": "format(datum.value, datum.value < 1 ? '~g' : '~s')",
}
"""The ticks of a logarithmic axis."""
_MOST_LABELS = 8
_SIDES = {"before": say("count before"), "after": say("count after")}


def utility_curves(
    found: Mapping[str, Mapping[float, Sequence[Utility]]],
    title: str,
    subtitle: str = "",
    dashed: Collection[str] = (),
) -> Spec:
    """On-diagonal share, L1, L2 and Hellinger over ε, means over tables, a curve for each method.

    ons Figures 3 to 6, with methods beside each other. A method with a negative number has no
    Hellinger distance. A `dashed` method has the colour of the one before it.
    """
    panels = []
    for name, words, scale in _MEASURES:
        rows = []
        for method, by_epsilon in found.items():
            for epsilon, tables in sorted(by_epsilon.items()):
                values = [getattr(one, name) for one in tables]
                if any(value is None for value in values):
                    continue
                mean = float(np.mean(values)) * (100 if name == "on_diagonal" else 1)
                rows.append({"epsilon": epsilon, "value": mean, "method": method})
        panels.append(_panel(rows, words, scale, list(found), dashed))
    said = together(*(words for _, words, _ in _MEASURES), between=", ")
    return {
        **_head(title, say("{measures} over ε, mean over tables.", measures=said), subtitle),
        "columns": 2,
        "concat": panels,
        "spacing": 28,
        "config": CONFIG,
    }


def _head(title: str, described: str, subtitle: str = "") -> Spec:
    more = {"subtitle": subtitle} if subtitle else {}
    return {
        "$schema": _SCHEMA,
        "description": together(title, described, between=": "),
        "title": {"text": title, "anchor": "start", **more},
        "background": None,
    }


def _panel(
    rows: list[dict[str, Any]],
    words: str,
    scale: str,
    names: Sequence[str],
    dashed: Collection[str],
) -> Spec:
    linear = scale == "linear"
    dashes = [[5, 4] if name in dashed else [1, 0] for name in names]
    own = [sum(one not in dashed for one in names[: i + 1]) - 1 for i in range(len(names))]
    return {
        "width": 320,
        "height": 210,
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 30, "filled": True}},
        "encoding": {
            "x": {
                "field": "epsilon",
                "type": "quantitative",
                "title": "ε",
                "scale": {"type": "log"},
                "axis": {"values": [0.1, 0.2, 0.5, 1, 2, 5, 10], "format": "~g"},
            },
            "y": {
                "field": "value",
                "type": "quantitative",
                "title": words,
                "scale": {"type": scale, **({"domain": [0, 100]} if linear else {})},
                "axis": {"tickCount": 6} if linear else _POWERS,
            },
            "color": _by_method(names, [_COLOURS[max(0, i)] for i in own], "stroke"),
            "strokeDash": _by_method(names, dashes, "stroke"),
        },
    }


def _by_method(names: Sequence[str], values: Sequence[Any], symbol: str = "circle") -> Spec:
    legend = {"title": None, "orient": "top", "labelLimit": 420, "symbolStrokeWidth": 2}
    return {
        "field": "method",
        "type": "nominal",
        "legend": {**legend, "symbolType": symbol, "symbolSize": 140 if symbol == "stroke" else 80},
        "scale": {"domain": list(names), "range": list(values[: len(names)])},
    }


def transition_heat_map(matrix: Whole, title: str, subtitle: str = "") -> Spec:
    """A transition matrix as a heat map: the darker, the larger the share of its row."""
    dark = {"condition": {"test": "datum.share > 0.5", "value": "white"}, "value": INK}
    x, y = _bands("after"), _bands("before")
    return {
        **_head(title, say("how many cells go from each band of counts to each."), subtitle),
        "width": 460,
        "height": 300,
        "data": {"values": _shares(matrix)},
        "layer": [
            _heat({**x, "axis": {"labelAngle": 0, "orient": "top"}}, y),
            {
                "transform": [{"filter": "datum.cells > 0"}],
                "mark": {"type": "text", "fontSize": 10},
                "encoding": {
                    "x": x,
                    "y": y,
                    "text": {"field": "cells", "type": "quantitative", "format": ","},
                    "color": dark,
                },
            },
        ],
        "config": CONFIG,
    }


def transition_heat_maps(
    matrices: Mapping[str, Whole], title: str, subtitle: str = "", columns: int = 5
) -> Spec:
    """Many transition matrices beside each other, without numbers."""
    x, y = ({**_bands(name), "axis": None} for name in ("after", "before"))
    panels = [
        {
            "title": {"text": name, "fontSize": 10, "fontWeight": "normal", "offset": 4},
            "width": 132,
            "height": 110,
            "data": {"values": _shares(matrix)},
            "layer": [
                _heat(x, y),
                {
                    "transform": [{"filter": "datum.before == datum.after"}],
                    "mark": {"type": "rect", "fill": None, "stroke": INK, "strokeOpacity": 0.35},
                    "encoding": {"x": x, "y": y},
                },
            ],
        }
        for name, matrix in matrices.items()
    ]
    return {
        **_head(title, say("shares of cells that go from each band of counts to each."), subtitle),
        "columns": columns,
        "spacing": 14,
        "concat": panels,
        "config": CONFIG,
    }


def _shares(matrix: Whole) -> list[dict[str, Any]]:
    if matrix.shape != (len(BANDS), len(BANDS)):
        raise InputError(f"A transition matrix has {len(BANDS)} bands each way.")
    sums = np.maximum(matrix.sum(axis=1), 1)
    return [
        {
            "before": a,
            "after": b,
            "cells": int(matrix[i, j]),
            "share": float(matrix[i, j] / sums[i]),
        }
        for i, a in enumerate(BANDS)
        for j, b in enumerate(BANDS)
    ]


def _bands(field: str) -> Spec:
    return {"field": field, "type": "ordinal", "sort": list(BANDS), "title": _SIDES[field]}


def _heat(x: Spec, y: Spec) -> Spec:
    scale = {"domain": [0, 1], "range": ["#ffffff00", BLUE]}
    share = {"field": "share", "type": "quantitative", "legend": None, "scale": scale}
    return {"mark": {"type": "rect"}, "encoding": {"x": x, "y": y, "color": share}}


def before_and_after(
    names: Sequence[str],
    before: Whole | Reals,
    after: Mapping[str, Whole | Reals],
    title: str,
    subtitle: str = "",
    least_off: float = 2.0,
) -> Spec:
    """Counts before and after on logarithmic axes, a point for each name; on the line nothing changed.

    Points that are `least_off` times off or more bear their names. A count of 0 is drawn at 1.
    """
    rows = _points(names, before, after, least_off)
    counts = [row[side] for row in rows for side in ("before", "after")]
    ends = [10.0 ** np.floor(np.log10(min(counts))), 10.0 ** np.ceil(np.log10(max(*counts, 10)))]

    def axis(field: str) -> Spec:
        return {
            "field": field,
            "type": "quantitative",
            "title": _SIDES[field],
            "scale": {"type": "log", "domain": ends},
            "axis": _POWERS,
        }

    both = {"x": axis("before"), "y": axis("after")}
    return {
        **_head(title, say("counts before and after, on logarithmic axes."), subtitle),
        "width": 440,
        "height": 320,
        "layer": [
            {
                "data": {"values": [{"before": end, "after": end} for end in ends]},
                "mark": {"type": "line", "color": INK, "opacity": 0.4, "strokeDash": [3, 3]},
                "encoding": both,
            },
            {
                "data": {"values": rows},
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.8},
                "encoding": {**both, "color": _by_method(list(after), _COLOURS)},
            },
            {
                "data": {"values": [row for row in rows if row["label"]]},
                "mark": {
                    "type": "text",
                    "align": "left",
                    "baseline": "bottom",
                    "dx": -4,
                    "dy": -20,
                    "fontSize": 10,
                    "lineBreak": "\n",
                },
                "encoding": {**both, "text": {"field": "label"}, "color": {"value": INK}},
            },
        ],
        "config": CONFIG,
    }


def _points(
    names: Sequence[str],
    before: Whole | Reals,
    after: Mapping[str, Whole | Reals],
    least_off: float,
) -> list[dict[str, Any]]:
    """A point for each name and method; those that are farthest off are labelled, a few."""
    rows: list[dict[str, Any]] = []
    off: list[float] = []
    for method, counts in after.items():
        for name, b, a in zip(names, before.tolist(), counts.tolist(), strict=True):
            x, y = max(int(b), 1), max(int(a), 1)
            off.append(max(x / y, y / x))
            label = together(name, "\n", number(int(b)), " → ", number(int(a)), between="")
            rows.append({"before": x, "after": y, "method": method, "label": label})
    last = sorted(off, reverse=True)[: _MOST_LABELS + 1][-1] if len(off) > _MOST_LABELS else 0.0
    for row, times in zip(rows, off, strict=True):
        if times < least_off or times <= last:
            row["label"] = ""
    return rows


def errors_beside(
    found: Mapping[str, Mapping[str, float]], title: str, words: str, subtitle: str = ""
) -> Spec:
    """Bars of an error on a logarithmic axis: for each name one for each method.

    By level of a tree, or by rare category. An error below 0.1 is drawn at 0.1.
    """
    rows: list[dict[str, Any]] = [
        {"name": name, "method": method, "value": max(value, 0.1), "label": _short(value)}
        for name, by_method in found.items()
        for method, value in by_method.items()
    ]
    methods = list(next(iter(found.values())))
    most = max(row["value"] for row in rows)
    both: Spec = {
        "y": {"field": "name", "type": "nominal", "sort": list(found), "title": None}
        | {"axis": {"labelLimit": 320}},
        "yOffset": {"field": "method", "type": "nominal", "sort": methods},
        "x": {
            "field": "value",
            "type": "quantitative",
            "title": words,
            "scale": {"type": "log", "domain": [0.1, 10.0 ** np.ceil(np.log10(max(most, 1)))]},
            "axis": _POWERS,
        },
    }
    return {
        **_head(title, say("{words}, on a logarithmic axis.", words=words), subtitle),
        "width": 420,
        "height": {"step": 16},
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "bar"},
                "encoding": {**both, "x2": {"datum": 0.1}, "color": _by_method(methods, _COLOURS)},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 10},
                "encoding": {**both, "text": {"field": "label"}, "color": {"value": INK}},
            },
        ],
        "config": CONFIG,
    }


def _short(value: float) -> str:
    return number(f"{value:,.0f}" if value >= 10 else f"{value:.1f}")
