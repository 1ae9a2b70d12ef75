"""A suppression table as a picture: the chance each release took of telling too much, and the stars."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.table import ProtectedTable, Status
from ..languages import number, say
from .charts import BLUE, CONFIG, INK, Spec

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_LEAST = 1e-9
"""Smaller chances have the palest colour."""
_MOST_CELLS = 2_500


def risks_of(table: ProtectedTable) -> npt.NDArray[np.float64] | None:
    """What the release of each inner cell was charged, in the layout's order; None: not known.

    Only of tables by one or two variables that are all there: a part of one has no picture.
    """
    about = table.law.about
    axes, risk = about.get("risk_axes"), about.get("risk")
    names = [axis.level.name for axis in table.domain.axes]
    if not axes or not risk or sorted(axes) != sorted(names) or len(names) > 2:
        return None
    sizes = {axis.level.name: len(axis.level) for axis in table.domain.axes}
    shape = [sizes[name] + 1 for name in axes]
    if int(np.prod(shape)) != len(risk) or int(np.prod(shape)) > _MOST_CELLS:
        return None
    unit = float(str(about["risk_unit"]).partition("/")[2])
    every = np.array(risk, dtype=np.float64).reshape(shape) / unit
    turned = np.transpose(every, [list(axes).index(name) for name in names])
    return turned[tuple(slice(0, sizes[name]) for name in names)]


def risk_map(table: ProtectedTable) -> tuple[Spec, str] | None:
    """The picture of a table's risks and its words; None where there is none."""
    risks = risks_of(table)
    if risks is None:
        return None
    axes = table.domain.axes
    labels = [list(axis.level.labels(table.layout.language)) for axis in axes]
    status = table.status[tuple(slice(0, len(one)) for one in labels)]
    rows = [_cell(place, labels, risks, status) for place in np.ndindex(*risks.shape)]
    released = risks[(status == Status.OK) & (risks > 0)]
    stars = int((status == Status.SUPPRESSED).sum())
    most = (
        say("at most {share}", share=number(f"{released.max():.2g}"))
        if released.size
        else say("none")
    )
    words = say(
        "chance that a cell's release tells too much, as charged to δ: {most} in one cell, {sum} in "
        "all; {stars} of {cells} cells are stars.",
        most=most,
        sum=number(f"{released.sum():.2g}"),
        stars=stars,
        cells=risks.size,
    )
    names = [axis.level.label.says(table.layout.language) for axis in axes]
    return _spec(rows, names, labels), words


def _cell(
    place: tuple[int, ...],
    labels: list[list[str]],
    risks: npt.NDArray[np.float64],
    status: npt.NDArray[np.uint8],
) -> dict[str, Any]:
    known = Status(int(status[place]))
    mark = {Status.SUPPRESSED: "✱", Status.DERIVED: "d"}.get(known, "")
    return {
        "row": labels[0][place[0]],
        "column": labels[1][place[1]] if len(labels) > 1 else "",
        "risk": float(np.log10(max(risks[place], _LEAST))) if known is Status.OK else None,
        "mark": mark,
    }


def _spec(rows: list[dict[str, Any]], names: list[str], labels: list[list[str]]) -> Spec:
    across = labels[1] if len(labels) > 1 else [""]
    x = {"field": "column", "type": "nominal", "sort": across, "title": " ".join(names[1:]) or None}
    y = {"field": "row", "type": "nominal", "sort": labels[0], "title": names[0]}
    colour = {
        "field": "risk",
        "type": "quantitative",
        "title": say("chance, power of ten"),
        "scale": {"domain": [np.log10(_LEAST), 0], "range": ["#ffffff00", BLUE]},
    }
    place = {"x": {**x, "axis": {"orient": "top", "labelAngle": 0}}, "y": y}
    return {
        "$schema": _SCHEMA,
        "description": say(
            "The chance each release took of telling too much, by cell; stars are marked."
        ),
        "title": {"text": say("Risk taken, by cell"), "anchor": "start"},
        "background": None,
        "width": min(520, 60 * len(across)),
        "height": min(520, 26 * len(labels[0])),
        "data": {"values": rows},
        "layer": [
            {
                "transform": [{"filter": "datum.risk !== null"}],
                "mark": {"type": "rect", "stroke": INK, "strokeOpacity": 0.2},
                "encoding": {**place, "color": colour},
            },
            {"mark": {"type": "text", "color": INK}, "encoding": {**place, "text": {"field": "mark"}}},
        ],
        "config": CONFIG,
    }  # fmt: skip
