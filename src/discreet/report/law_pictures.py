"""Pictures of studies of laws: δ over ε, the least δ, key sizes, two neighbouring laws.

The numbers are those of `core.law_studies`; here they become Vega-Lite specs that `charts.to_svg` and
`charts.to_png` draw offline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import exp
from typing import Any

from ..core.law_studies import KeySize, LeastDelta
from ..errors import InputError
from .charts import BLUE, CONFIG, INK, ORANGE, Spec

_COLOURS = (BLUE, ORANGE, "#2e8b57", "#8a6d3b", "#777777", "#c2456b")
_DASHES = ([1, 0], [6, 3], [2, 3])
Rows = list[dict[str, Any]]


def delta_curves(curves: Mapping[str, Sequence[tuple[Fraction, Fraction]]]) -> Spec:
    """δ over ε for several laws by name, on a logarithmic axis: sadeghi Fig. 1."""
    rows: Rows = [
        {"epsilon": float(e), "delta": float(d), "law": name}
        for name, points in curves.items()
        for e, d in points
        if d > 0
    ]
    if not rows:
        raise InputError("A curve of δ needs a point with δ > 0; these laws have none to draw.")
    panel = _lines(rows, _epsilon(), _log("delta", "δ"), "law", list(curves))
    words = f"Curves of δ over ε for {len(curves)} laws: {', '.join(curves)}."
    return _figure("δ that goes with each ε", words, [panel])


def least_delta_chart(rows: Sequence[LeastDelta]) -> Spec:
    """The least δ and its variance beside sadeghi's rule, for each support: Fig. 2a and 2b."""
    points: Rows = []
    for row in rows:
        support = f"D = {row.max_perturbation}"
        each = {"epsilon": float(row.epsilon), "support": support}
        points += [
            {**each, "by": "least", "delta": float(row.delta), "variance": float(row.variance)},
            {
                **each,
                "by": "sadeghi's rule",
                "delta": float(row.rule_delta),
                "variance": float(row.rule_variance),
            },
        ]
    names = list(dict.fromkeys(point["support"] for point in points))
    dash = _dash("by", ["least", "sadeghi's rule"])
    panels = [
        _lines(points, _epsilon(), _log("delta", "δ"), "support", names, dash),
        _lines(points, _epsilon(), _linear("variance", "variance"), "support", names, dash),
    ]
    words = f"δ and variance over ε for {', '.join(names)}: the least δ beside sadeghi's rule."
    return _figure("Which variance gives the least δ?", words, panels)


def key_size_chart(rows: Sequence[KeySize]) -> Spec:
    """What few keys do to ε, δ, bias and variance: sadeghi Figs 4 and 5, and V-C.

    ε after is that of both directions; a law that lost part of its support is not drawn there.
    """
    points: Rows = [
        {
            "epsilon": float(row.epsilon),
            "delta": float(row.designed_delta),
            "keys": f"2^{row.key_bits} keys",
            "epsilon_after": float(row.epsilon_both or 0),
            "delta_after": float(row.boundary_mass),
            "bias": abs(float(row.bias)),
            "variance_error": abs(float(row.variance_error)),
        }
        for row in rows
        if not row.unreachable
    ]
    if not points:
        raise InputError("No law of this study has its full support: there is nothing to draw.")
    names = [f"2^{bits} keys" for bits in sorted({row.key_bits for row in rows})]
    designed = _linear("epsilon", "ε designed")
    small = _log("delta", "δ designed")
    panels = [
        _with_diagonal(
            _lines(points, designed, _linear("epsilon_after", "ε after, both ways"), "keys", names),
            [float(row.epsilon) for row in rows],
        ),
        _with_diagonal(
            _lines(points, small, _log("delta_after", "δ after"), "keys", names),
            [float(row.designed_delta) for row in rows],
        ),
        _lines(points, designed, _log("bias", "size of the bias"), "keys", names),
        _lines(points, designed, _log("variance_error", "variance off by"), "keys", names),
    ]
    words = f"ε, δ, bias and variance after quantising to {', '.join(names)}; full supports only."
    return _figure("How many cell keys are enough?", words, panels, columns=2)


def neighbours_chart(
    here: Mapping[int, float], there: Mapping[int, float], count: int, epsilon: Fraction | None
) -> Spec:
    """Two laws of a published number, one person apart, and their ratio: ons Figure 1."""
    names = [f"{n:,} {'person' if n == 1 else 'people'}" for n in (count, count + 1)]
    rows: Rows = [
        {"value": value, "probability": p, "truth": name}
        for name, law in zip(names, (here, there), strict=True)
        for value, p in sorted(law.items())
    ]
    value = {"field": "value", "type": "quantitative", "title": "published number"}
    ratios: Rows = [
        {"value": v, "ratio": here[v] / there[v]}
        for v in sorted(here)
        if here[v] > 0 and there.get(v, 0) > 0
    ]
    panels = [_lines(rows, value, _linear("probability", "probability"), "truth", names)]
    ratio = _log("ratio", "ratio of the two")
    ends = [] if epsilon is None else [exp(-float(epsilon)), exp(float(epsilon))]
    ratio["axis"] = {"format": ".3~g", **({"values": [1, *ends]} if ends else {"tickCount": 3})}
    body: list[Spec] = [
        {
            "data": {"values": ratios},
            "mark": {"type": "line", "point": {"size": 18, "color": INK}, "color": INK},
            "encoding": {"x": value, "y": ratio},
        }
    ]
    words = f"Two laws of a published number, for {names[0]} and {names[1]}."
    if epsilon is not None:
        bounds = [{"ratio": end} for end in ends]
        rule = {"type": "rule", "color": ORANGE, "strokeDash": [4, 3]}
        body.append({"data": {"values": bounds}, "mark": rule, "encoding": {"y": ratio}})
        words += f" Their ratio stays between e^−ε and e^ε, ε = {float(epsilon):g}."
    panels.append({"width": 340, "height": 120, "layer": body})
    return _figure("One person more or less", words, panels, columns=1)


def _lines(
    rows: Rows, x: Spec, y: Spec, series: str, names: Sequence[str], dash: Spec | None = None
) -> Spec:
    colours = [_COLOURS[i % len(_COLOURS)] for i in range(len(names))]
    colour = {
        "field": series,
        "type": "nominal",
        "title": None,
        "legend": {"symbolType": "stroke" if dash else "circle"},
        "scale": {"domain": list(names), "range": colours},
    }
    encoding = {"x": x, "y": y, "color": colour}
    return {
        "width": 340,
        "height": 220,
        "data": {"values": rows},
        "mark": {
            "type": "line",
            "strokeWidth": 2,
            "strokeJoin": "round",
            "point": dash is None and {"size": 18, "filled": True},
        },
        "encoding": encoding | ({"strokeDash": dash} if dash else {}),
    }


def _with_diagonal(panel: Spec, values: Sequence[float]) -> Spec:
    """The panel with the line on which nothing changed."""
    encoding = panel["encoding"]
    across, up = encoding["x"]["field"], encoding["y"]["field"]
    ends = [{across: value, up: value} for value in (min(values), max(values))]
    line = {
        "data": {"values": ends},
        "mark": {"type": "line", "color": INK, "opacity": 0.4, "strokeDash": [3, 3]},
        "encoding": {"x": encoding["x"], "y": encoding["y"]},
    }
    inner = {key: panel[key] for key in ("data", "mark", "encoding")}
    return {"width": panel["width"], "height": panel["height"], "layer": [line, inner]}


def _figure(title: str, describe: str, panels: Sequence[Spec], columns: int = 2) -> Spec:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": describe,
        "title": {"text": title, "anchor": "start"},
        "background": None,
        "columns": columns,
        "concat": list(panels),
        "spacing": 28,
        "config": CONFIG,
    }


def _epsilon() -> Spec:
    return _linear("epsilon", "ε")


def _linear(field: str, title: str) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, "axis": {"tickCount": 6}}


def _log(field: str, title: str) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log"},
        "axis": {"format": "~e", "tickCount": 6},
    }


def _dash(field: str, names: Sequence[str]) -> Spec:
    return {
        "field": field,
        "type": "nominal",
        "title": None,
        "legend": {"symbolType": "stroke", "symbolStrokeColor": INK},
        "scale": {"domain": list(names), "range": list(_DASHES[: len(names)])},
    }
