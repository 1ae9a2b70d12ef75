"""Pictures of laws: Vega-Lite specs rendered to SVG or PNG without network.

Pictures are for eyes: probabilities are floats here and in no charge. Colours follow the text
around an inline SVG (`currentColor`), so the same picture serves light and dark pages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..core.exact import rounded_up
from ..core.law_bars import TAIL, check, law_bars, percent, trimmed
from ..languages import Sentence, number, say, together, told
from ..languages.catalogue import ENGLISH, catalogue, language_of

__all__ = ["law_bars", "law_chart", "law_summary", "on_white", "to_png", "to_svg"]

Spec = dict[str, Any]

BLUE, ORANGE = "#3b7dd8", "#d9822b"
INK = "currentColor"
_MOST_BARS = 401
_VERSION = "5.21"
CONFIG: Spec = {
    "font": "sans-serif",
    "view": {"stroke": None},
    "title": {
        "color": INK,
        "fontSize": 14,
        "fontWeight": 600,
        "offset": 12,
        "subtitleColor": INK,
    },
    "axis": {
        **dict.fromkeys(("labelColor", "titleColor", "domainColor", "tickColor"), INK),
        "gridColor": INK,
        "gridOpacity": 0.12,
        "titleFontWeight": "normal",
    },
    "axisX": {"grid": False},
    "legend": {"labelColor": INK, "titleColor": INK, "titleFontWeight": "normal"},
}
"""How every picture looks: ink that follows the text around it, faint horizontal lines."""


def law_chart(pmf: Mapping[int, Fraction], title: str) -> Spec:
    """A bar for each perturbation, as high as its probability; zero is set apart by its colour.

    Of a very wide law only every so many perturbations are drawn, and the picture says so.
    """
    cut = sum(pmf.values(), Fraction(0)) < 1  # a law without ends was cut by whoever made it
    shown = dict(pmf) if cut else trimmed(pmf)
    reach = max(abs(min(shown)), abs(max(shown)))
    every = -(-len(shown) // _MOST_BARS)
    centre = sorted(shown).index(0) if 0 in shown else 0
    points = [
        {"perturbation": z, "probability": float(p), "exact": rounded_up(p, 6)}
        for place, (z, p) in enumerate(sorted(shown.items()))
        if (place - centre) % every == 0
    ]
    left = 1 - sum(shown.values(), Fraction(0))
    said = [say("one perturbation in {every} is drawn", every=every)] if every > 1 else []
    if left > TAIL * 2:
        share = number(percent(left))
        said.append(say("beyond ±{reach} lie {share}, left out", reach=str(reach), share=share))
    elif left > 0:
        few = number(10_000)
        said.append(say("ends below 1 in {few} together are left out", few=few))
    subtitle = {"subtitle": together(*said, between="; ")} if said else {}
    x, y = (
        {"field": "perturbation", "type": "ordinal", "title": say("perturbation")},
        {"field": "probability", "type": "quantitative", "title": say("probability")},
    )
    zero = {"test": "datum.perturbation === 0", "value": ORANGE}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": say("Bar chart: {words}", words=law_summary(pmf)),
        "title": {"text": title, **subtitle, "anchor": "start"},
        "width": 460,
        "height": 200,
        "background": None,
        "data": {"values": points},
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "x": x | {"axis": {"labelAngle": 0, "labelOverlap": True, **_ticks(reach)}},
            "y": y | {"axis": {"tickCount": 5}},
            "color": {"condition": zero, "value": BLUE},
        },
        "config": CONFIG,
    }


def to_svg(spec: Spec, language: str = "") -> str:
    """The picture as SVG, to be put inline; its description is its text alternative.

    Its words are said in the language, and its numbers written that way. Of what is drawn, Vega tells
    readers of screens in English only: other languages have the text alternative alone.
    """
    import vl_convert

    spoken = catalogue(language_of(language))
    locale = {
        "decimal": spoken.decimal,
        "thousands": spoken.thousands,
        "grouping": [3],
        "currency": ["", ""],
    }
    svg: str = vl_convert.vegalite_to_svg(
        json.dumps(told(spec, language)), vl_version=_VERSION, format_locale=locale
    )
    if spoken.language != ENGLISH:
        svg = re.sub(r' (?:aria-[a-z]+|role)="[^"]*"', "", svg)
    return svg


def on_white(spec: Spec) -> Spec:
    """The picture in dark ink on white, for a file that stands alone."""
    white: Spec = json.loads(json.dumps({**spec, "background": "white"}).replace(INK, "#222222"))
    return white


def to_png(spec: Spec) -> bytes:
    """The picture as PNG on white."""
    import vl_convert

    text = json.dumps(on_white(spec))
    png: bytes = vl_convert.vegalite_to_png(text, vl_version=_VERSION, scale=2.0)
    return png


def law_summary(pmf: Mapping[int, Fraction]) -> Sentence:
    """The law in one sentence, for those who do not see the picture.

    >>> law_summary({-1: Fraction(1, 4), 0: Fraction(1, 2), 1: Fraction(1, 4)})
    'perturbations from -1 to +1, no change in 50.0 % of cells, standard deviation 0.707.'
    """
    check(pmf)
    reach = [z for z, p in pmf.items() if p]
    inside = sum(pmf.values(), Fraction(0))
    facts = {
        "least": f"{min(reach):+d}",
        "most": f"{max(reach):+d}",
        "same": number(percent(pmf.get(0, Fraction(0)))),
    }
    if inside < 1:  # a law without ends, cut for the picture
        return say(
            "any whole number, {inside} of perturbations from {least} to {most}, no change in {same} "
            "of cells.",
            inside=number(percent(inside)),
            **facts,
        )
    mean = sum((z * p for z, p in pmf.items()), Fraction(0))
    variance = sum((z * z * p for z, p in pmf.items()), Fraction(0)) - mean**2
    return say(
        "perturbations from {least} to {most}, no change in {same} of cells, standard deviation {sd}.",
        sd=number(f"{float(variance) ** 0.5:.3g}"),
        **facts,
    )


def _ticks(reach: int) -> Spec:
    """Labels at round perturbations, about twenty at most."""
    steps = (m * 10**power for power in range(8) for m in (1, 2, 5))
    step = next(m for m in steps if m * 10 >= reach)
    return {
        "ticks": reach <= 30,
        "labelExpr": f"datum.value % {step} === 0 ? (datum.value === 0 ? '0' : format(datum.value, '+')) : ''",
    }
