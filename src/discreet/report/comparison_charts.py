"""Pictures of a comparison: box plots by setting, and a map of risk and error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.noise_law import Floats
from ..languages import say
from ..quality.results import Result
from ..quality.verdicts import frontier
from .charts import BLUE, CONFIG, INK, ORANGE, Spec

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
PALETTE = (BLUE, ORANGE, "#2f9e77", "#a05bb5", "#c0435a", "#7a7f87", "#8a6d1f")


@dataclass(frozen=True)
class Series:
    """The draws of one setting: what it is called, which group it is of, a number for each draw."""

    name: str
    group: str
    values: Floats


def box_plot(series: Sequence[Series], title: str, truth: float | None = None) -> Spec:
    """A box for each setting, as in rinott Figures 1 to 3: quartiles, median, least and largest.

    Where boxes lie more than 20 times apart, on a logarithmic axis. The dashed line is the truth.
    """
    rows = _boxes(series)
    scale: dict[str, Any] = {"zero": False}
    least = min((row["least"] for row in rows), default=0)
    if 0 < 20 * least < max(row["most"] for row in rows) and truth is None:
        scale = {"type": "log"}
    x = {
        "field": "name",
        "type": "nominal",
        "sort": [row["name"] for row in rows],
        "title": None,
        "axis": {"labelAngle": -40},
    }
    y = {"type": "quantitative", "scale": scale}
    layers: list[Spec] = [
        {
            "mark": {"type": "rule"},
            "encoding": {"y": {"field": "least", "title": None, **y}, "y2": {"field": "most"}},
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
        layers.append(_line_at(truth, y))
    return {
        "$schema": _SCHEMA,
        "description": say("Box plots of {title}", title=title),
        "title": {"text": title, "anchor": "start"},
        "width": max(280, 26 * len(rows)),
        "height": 180,
        "background": None,
        "data": {"values": rows},
        "encoding": {"x": x, "color": _colour([one.group for one in series])},
        "layer": layers,
        "config": CONFIG,
    }


def _line_at(truth: float, y: Spec) -> Spec:
    return {
        "data": {"values": [{"truth": truth}]},
        "mark": {"type": "rule", "strokeDash": [5, 4], "color": INK},
        "encoding": {"y": {"field": "truth", **y}, "x": None, "color": {"value": INK}},
    }


def _boxes(series: Sequence[Series]) -> list[dict[str, Any]]:
    """Least, quartiles and largest of each setting."""
    rows = []
    for one in series:
        values = one.values[np.isfinite(one.values)]
        if values.size:
            ends = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
            named = dict(zip(("least", "low", "middle", "high", "most"), ends, strict=True))
            rows.append({"name": one.name, "method": one.group, **named})
    return rows


def together(specs: Sequence[Spec], title: str) -> Spec:
    """Several pictures in two columns, as one."""
    parts = [
        {key: part for key, part in spec.items() if key not in ("$schema", "config", "background")}
        for spec in specs
    ]
    return {
        "$schema": _SCHEMA,
        "description": title,
        "title": {"text": title, "anchor": "start"},
        "background": None,
        "concat": parts,
        "columns": 2,
        "config": CONFIG,
    }


def bars(panels: Mapping[str, Mapping[str, float]], title: str, wide: str) -> Spec:
    """Bars of shares, a panel for each name, beside each other."""
    parts = []
    for name, shares in panels.items():
        values = [{"at": at, "share": share} for at, share in shares.items()]
        parts.append(
            {
                "title": {"text": name, "anchor": "start"},
                "width": 320,
                "height": 180,
                "data": {"values": values},
                "mark": "bar",
                "encoding": {
                    "x": {
                        "field": "at",
                        "type": "ordinal",
                        "sort": list(shares),
                        "title": wide,
                        "axis": {"labelAngle": -40},
                    },
                    "y": {"field": "share", "type": "quantitative", "title": say("share")},
                    "color": {"value": BLUE},
                },
            }
        )
    return {
        "$schema": _SCHEMA,
        "description": title,
        "title": {"text": title, "anchor": "start"},
        "background": None,
        "hconcat": parts,
        "config": CONFIG,
    }


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
    lines = _frontiers(results)
    x = {
        "field": "risk",
        "type": "quantitative",
        "scale": {"zero": False, "domain": [50, 100]},
        "title": say("best guess about one unit right, % (even odds)"),
    }
    y = {
        "field": "error",
        "type": "quantitative",
        "scale": {"type": "log"},
        "title": say("mean error of a cell"),
    }
    return {
        "$schema": _SCHEMA,
        "description": say("Map of risk and error, with the frontier of each kind of guarantee"),
        "title": {"text": say("Risk and error, with their frontier"), "anchor": "start"},
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
                "encoding": {
                    "x": x,
                    "y": y,
                    "color": _colour([one.contestant.group for one in results]),
                },
            },
            {
                "data": {"values": rows},
                "mark": {"type": "text", "dx": 7, "align": "left", "fontSize": 9, "color": INK},
                "encoding": {"x": x, "y": y, "text": {"field": "name"}},
            },
        ],
        "config": CONFIG,
    }


def _frontiers(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The settings that no other of their kind beats."""
    lines = []
    for kind in dict.fromkeys(one.kind for one in results):
        best = frontier([one for one in results if one.kind == kind])
        lines += [
            {"risk": 100 * one.risk, "error": max(one.mean_error, 1e-3), "kind": kind}
            for one in best
        ]
    return lines


def _colour(names: Sequence[str]) -> Mapping[str, Any]:
    groups = list(dict.fromkeys(names))
    colours = [PALETTE[place % len(PALETTE)] for place in range(len(groups))]
    return {
        "field": "method",
        "type": "nominal",
        "title": None,
        "scale": {"domain": groups, "range": colours},
        "legend": {"orient": "top"} if len(groups) > 1 else None,
    }
