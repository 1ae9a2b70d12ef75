"""Pictures of laws: Vega-Lite specs rendered to SVG or PNG without network, and bars of text.

Pictures are for eyes: probabilities are floats here and in no charge. Colours follow the text
around an inline SVG (`currentColor`), so the same picture serves light and dark pages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ..core.exact import rounded_up
from ..errors import InputError

Spec = dict[str, Any]

BLUE, ORANGE = "#3b7dd8", "#d9822b"
INK = "currentColor"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_TAIL = Fraction(1, 10_000)
_MOST_BARS = 401
_MOST_RANGES = 41
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
    said = [f"one perturbation in {every} is drawn"] if every > 1 else []
    if left > _TAIL * 2:
        said.append(f"beyond ±{reach} lie {_percent(left)}, left out")
    elif left > 0:
        said.append("ends below 1 in 10,000 together are left out")
    subtitle = {"subtitle": "; ".join(said)} if said else {}
    x, y = (
        {"field": "perturbation", "type": "ordinal", "title": "perturbation"},
        {"field": "probability", "type": "quantitative", "title": "probability"},
    )
    zero = {"test": "datum.perturbation === 0", "value": ORANGE}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": f"Bar chart: {law_summary(pmf)}",
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


def to_svg(spec: Spec) -> str:
    """The picture as SVG, to be put inline; its description is its text alternative."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(json.dumps(spec), vl_version=_VERSION)
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


def law_bars(pmf: Mapping[int, Fraction], width: int = 60) -> list[str]:
    """The law as lines of text, a bar for each perturbation; a wide law in about 41 ranges.

    >>> for line in law_bars({-1: Fraction(1, 4), 0: Fraction(1, 2), 1: Fraction(1, 4)}, 24):
    ...     print(line)
    -1   25.0 %  █████▌
     0   50.0 %  ███████████
    +1   25.0 %  █████▌
    """
    shown, zero = trimmed(pmf, Fraction(1, 1000)), Fraction(0)
    first, last = min(pmf), max(pmf)
    ranges = [
        (
            max(low, first),
            min(high, last),
            sum((pmf.get(z, zero) for z in range(low, high + 1)), zero),
        )
        for low, high in _ranges(shown)
    ]
    names = [
        _signed(low) if low == high else f"{_signed(low)}…{_signed(high)}"
        for low, high, _ in ranges
    ]
    room = max(map(len, names))
    space = max(width - room - 11, 4)
    highest = max(mass for _, _, mass in ranges)
    lines = []
    for name, (_, _, mass) in zip(names, ranges, strict=True):
        eighths = int(mass / highest * space * 8)
        bar = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
        lines.append(f"{name:>{room}}  {_percent(mass):>7}  {bar or ('▏' if mass else '')}")
    left = 1 - sum((mass for *_, mass in ranges), zero)
    if left > 0:
        lines.append(f"{'…':>{room}}  {_percent(left):>7}  further out")
    return [line.rstrip() for line in lines]


def law_summary(pmf: Mapping[int, Fraction]) -> str:
    """The law in one sentence, for those who do not see the picture.

    >>> law_summary({-1: Fraction(1, 4), 0: Fraction(1, 2), 1: Fraction(1, 4)})
    'perturbations from -1 to +1, no change in 50.0 % of cells, standard deviation 0.707.'
    """
    _check(pmf)
    reach = [z for z, p in pmf.items() if p]
    inside = sum(pmf.values(), Fraction(0))
    if inside < 1:  # a law without ends, cut for the picture
        return (
            f"any whole number, {_percent(inside)} of perturbations from {min(reach):+d} to "
            f"{max(reach):+d}, no change in {_percent(pmf.get(0, Fraction(0)))} of cells."
        )
    mean = sum((z * p for z, p in pmf.items()), Fraction(0))
    variance = sum((z * z * p for z, p in pmf.items()), Fraction(0)) - mean**2
    return (
        f"perturbations from {min(reach):+d} to {max(reach):+d}, no change in "
        f"{_percent(pmf.get(0, Fraction(0)))} of cells, standard deviation {float(variance) ** 0.5:.3g}."
    )


def trimmed(pmf: Mapping[int, Fraction], tail: Fraction = _TAIL) -> dict[int, Fraction]:
    """The perturbations worth drawing: ends that together weigh at most `tail` are left out.

    >>> list(trimmed({-9: Fraction(1, 10**6), -1: Fraction(1, 4), 0: Fraction(3, 4)}))
    [-1, 0]
    """
    _check(pmf)
    low, high, cut = min(pmf), max(pmf), Fraction(0)
    zero = Fraction(0)
    while high - low > 1:
        left, right = pmf.get(low, zero), pmf.get(high, zero)
        # Ends of equal weight go together, so that a symmetric law stays so.
        off = left + right if left == right else min(left, right)
        if cut + off > tail:
            break
        cut += off
        low, high = low + (left <= right), high - (right <= left)
    return {z: pmf.get(z, zero) for z in range(low, high + 1)}


def _ranges(pmf: Mapping[int, Fraction]) -> list[tuple[int, int]]:
    """At most about 41 ranges of equal odd length, one of them centred on zero."""
    length = -(-len(pmf) // _MOST_RANGES) | 1
    half = length // 2
    first, last = (min(pmf) + half) // length, (max(pmf) + half) // length
    return [(k * length - half, k * length + half) for k in range(first, last + 1)]


def _check(pmf: Mapping[int, Fraction]) -> None:
    if not pmf or not any(pmf.values()):
        raise InputError(
            "A law needs at least one perturbation of positive probability to be drawn."
        )


def _signed(z: int) -> str:
    return f"{z:+d}" if z else "0"


def _percent(share: Fraction) -> str:
    hundred = float(share * 100)
    if hundred and hundred < 0.05:
        return "<0.1 %"
    return f"{hundred:.1f} %"


def _ticks(reach: int) -> Spec:
    """Labels at round perturbations, about twenty at most."""
    steps = (m * 10**power for power in range(8) for m in (1, 2, 5))
    step = next(m for m in steps if m * 10 >= reach)
    return {
        "ticks": reach <= 30,
        "labelExpr": f"datum.value % {step} === 0 ? (datum.value === 0 ? '0' : format(datum.value, '+')) : ''",
    }
