"""The same pictures as Vega-Lite specifications, with their data inside: to change and draw anew."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, BinaryIO

from ..core.table import ProtectedTable
from .chart import Chart

_INK, _NOISE, _GREEN = "#16201c", "#5646a6", ["#f1f8f5", "#55ae93"]


def to_vegalite(table: ProtectedTable, kind: str = "") -> bytes:
    """A Vega-Lite 5 specification; noise intervals are part of the data and of the picture."""
    chart = Chart(table, kind)
    spec: dict[str, Any] = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": table.title,
        "description": chart.sentence,
        "data": {"values": _rows(chart)},
        **_drawing(chart),
    }
    return json.dumps(spec, ensure_ascii=False).encode()


def _rows(chart: Chart) -> list[dict[str, Any]]:
    return [
        {
            "panel": panel,
            "category": point.label,
            "value": point.value if point.shown else None,
            "lower": point.lower if point.shown else None,
            "upper": point.upper if point.shown else None,
            "unreliable": point.unreliable,
        }
        for panel, point in chart.named_points
    ]


def _drawing(chart: Chart) -> dict[str, Any]:
    order = list(dict.fromkeys(point.label for _, point in chart.named_points))
    category = {"field": "category", "type": "nominal", "sort": order, "title": None}
    title = "per cent" if chart.percent else chart.table.measure
    value = {"field": "value", "type": "quantitative", "title": title}
    if chart.kind == "heat":
        colour = value | {"scale": {"range": _GREEN}}
        rows = {"field": "panel", "type": "nominal", "sort": None, "title": None}
        return {"mark": "rect", "encoding": {"x": category, "y": rows, "color": colour}}
    across = chart.kind in ("lines", "multiples")
    long, wide = ("y", "x") if across else ("x", "y")
    interval = {long: value | {"field": "lower"}, f"{long}2": {"field": "upper"}}
    main = {"lines": "line", "multiples": "line", "bars": "bar"}.get(chart.kind, "point")
    noise = "area" if main == "line" else "rule"
    layer = [
        {"mark": {"type": noise, "color": _NOISE, "opacity": 0.5}, "encoding": interval},
        {"mark": {"type": main, "color": _INK, "filled": True}, "encoding": {long: value}},
    ]
    if main == "line":
        layer[1]["mark"] = {"type": "line", "color": _INK, "point": True}
    if main == "bar":
        layer.reverse()
    unit = {"encoding": {wide: category}, "layer": layer}
    if chart.kind != "multiples":
        return unit
    panels = {"field": "panel", "type": "nominal", "sort": None, "title": None}
    return {"facet": panels, "columns": 4, "spec": {"width": 180, "height": 120, **unit}}


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write the specification of the picture that suits a table."""
    stream.write(to_vegalite(tables[0]))
