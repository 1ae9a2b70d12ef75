"""Pictures of a comparison: box plots by setting, transition heat maps, a map of risk and error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..quality.measures import BANDS
from ..quality.results import MEASURES, Result
from ..quality.verdicts import frontier
from .charts import BLUE, CONFIG, INK, ORANGE, Spec

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
PALETTE = (BLUE, ORANGE, "#2f9e77", "#a05bb5", "#c0435a", "#7a7f87", "#8a6d1f")


def box_plot(results: Sequence[Result], measure: str, truth: float | None = None) -> Spec:
    """A box for each setting, as in rinott Figures 1 to 3: quartiles, median, least and largest."""
    rows = _boxes(results, measure)
    names = [row["name"] for row in rows]
    scale: dict[str, Any] = {"zero": False}
    least = min((row["low"] for row in rows), default=0)
    if measure in ("l1", "l2", "l3") and 0 < 20 * least < max(row["most"] for row in rows):
        scale = {"type": "log"}
    x = {
        "field": "name",
        "type": "nominal",
        "sort": names,
        "title": None,
        "axis": {"labelAngle": -40},
    }
    colour = _colour(results)
    y = {"type": "quantitative", "scale": scale}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule"},
            "encoding": {
                "y": {"field": "least", "title": MEASURES[measure], **y},
                "y2": {"field": "most"},
            },
        },
        {
            "mark": {"type": "bar", "width": {"band": 0.6}},
            "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "tick", "color": INK, "thickness": 2, "width": {"band": 0.6}},
            "encoding": {"y": {"field": "middle", **y}, "color": {"value": INK}},
        },
    ]
    if truth is not None and np.isfinite(truth):
        layers.append(
            {
                "data": {"values": [{"truth": truth}]},
                "mark": {"type": "rule", "strokeDash": [5, 4], "color": INK},
                "encoding": {"y": {"field": "truth", **y}, "x": None, "color": {"value": INK}},
            }
        )
    return {
        "$schema": _SCHEMA,
        "description": f"Box plots of {MEASURES[measure]}",
        "title": {"text": MEASURES[measure], "anchor": "start"},
        "width": max(280, 26 * len(rows)),
        "height": 180,
        "background": None,
        "data": {"values": rows},
        "encoding": {"x": x, "color": colour},
        "layer": layers,
        "config": CONFIG,
    }


def _boxes(results: Sequence[Result], measure: str) -> list[dict[str, Any]]:
    """Least, quartiles and largest of each setting."""
    rows = []
    for one in results:
        values = one.measures[measure]
        values = values[np.isfinite(values)]
        if values.size:
            least, low, middle, high, most = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
            rows.append(
                {
                    "name": one.contestant.name,
                    "method": one.contestant.group,
                    "least": least,
                    "low": low,
                    "middle": middle,
                    "high": high,
                    "most": most,
                }
            )
    return rows


def heat_map(result: Result) -> Spec:
    """From which band to which band cells go: shares of each row."""
    rows = _shares(result)
    bands = list(BANDS)
    axes = {
        "y": {"field": "before", "type": "ordinal", "sort": bands, "title": "true count"},
        "x": {
            "field": "after",
            "type": "ordinal",
            "sort": bands,
            "title": "published",
            "axis": {"labelAngle": -40},
        },
    }
    return {
        "$schema": _SCHEMA,
        "description": f"Transition matrix of {result.contestant.name}, per cent of each row",
        "title": {"text": f"{result.contestant.name}: % of cells by band", "anchor": "start"},
        "width": 300,
        "height": 260,
        "background": None,
        "data": {"values": rows},
        "encoding": axes,
        "layer": [
            {
                "mark": "rect",
                "encoding": {
                    "color": {
                        "field": "share",
                        "type": "quantitative",
                        "scale": {"range": ["#f2f5fa", "#2c5fa8"], "domain": [0, 1]},
                        "legend": None,
                    }
                },
            },
            {
                "mark": {"type": "text", "fontSize": 9},
                "encoding": {
                    "text": {"field": "text"},
                    "color": {
                        "condition": {"test": "datum.share > 0.5", "value": "white"},
                        "value": "#222222",
                    },
                },
            },
        ],
        "config": CONFIG,
    }


def _shares(result: Result) -> list[dict[str, Any]]:
    """The share of each band's cells that ends in each band."""
    matrix = result.transition
    sums = matrix.sum(axis=1)
    return [
        {
            "before": before,
            "after": after,
            "share": float(matrix[i, j] / sums[i]),
            "text": f"{100 * matrix[i, j] / sums[i]:.0f}"
            if matrix[i, j] / sums[i] >= 0.005
            else "",
        }
        for i, before in enumerate(BANDS)
        if sums[i]
        for j, after in enumerate(BANDS)
    ]


def risk_map(results: Sequence[Result]) -> Spec:
    """Risk to the right, error upwards; the settings that no other beats are joined by a line.

    One line for each kind of guarantee: kinds do not compare.
    """
    rows = [
        {
            "risk": 100 * one.risk,
            "error": max(one.mean_error, 1e-3),
            "method": one.contestant.group,
            "name": one.contestant.setting,
        }
        for one in results
    ]
    lines = []
    for kind in dict.fromkeys(one.kind for one in results):
        best = frontier([one for one in results if one.kind == kind])
        lines += [
            {"risk": 100 * one.risk, "error": max(one.mean_error, 1e-3), "kind": kind}
            for one in best
        ]
    x = {
        "field": "risk",
        "type": "quantitative",
        "scale": {"zero": False, "domain": [50, 100]},
        "title": "best guess about one unit right, % (even odds)",
    }
    y = {
        "field": "error",
        "type": "quantitative",
        "scale": {"type": "log"},
        "title": "mean error of a cell",
    }
    return {
        "$schema": _SCHEMA,
        "description": "Map of risk and error, with the frontier of each kind of guarantee",
        "title": {"text": "Risk and error, with their frontier", "anchor": "start"},
        "width": 460,
        "height": 300,
        "background": None,
        "layer": [
            {
                "data": {"values": lines},
                "mark": {"type": "line", "strokeDash": [4, 3], "color": INK, "opacity": 0.5},
                "encoding": {"x": x, "y": y, "detail": {"field": "kind"}},
            },
            {
                "data": {"values": rows},
                "mark": {"type": "point", "filled": True, "size": 60},
                "encoding": {"x": x, "y": y, "color": _colour(results)},
            },
            {
                "data": {"values": rows},
                "mark": {"type": "text", "dx": 7, "align": "left", "fontSize": 9, "color": INK},
                "encoding": {"x": x, "y": y, "text": {"field": "name"}},
            },
        ],
        "config": CONFIG,
    }


def _colour(results: Sequence[Result]) -> Mapping[str, Any]:
    groups = list(dict.fromkeys(one.contestant.group for one in results))
    colours = [PALETTE[place % len(PALETTE)] for place in range(len(groups))]
    return {
        "field": "method",
        "type": "nominal",
        "title": None,
        "scale": {"domain": groups, "range": colours},
        "legend": {"orient": "top"} if len(groups) > 1 else None,
    }
