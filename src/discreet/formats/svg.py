"""Pictures of tables as SVG: dots and bars with whiskers, lines with bands, heat maps, tiles.

Noise is always drawn, in violet and in nothing else. Colours are a page's own (`var(--ink)` …), so
the picture turns dark with it, or fixed ones for a file. No script, no style, no outside font; one
written sentence says what the picture shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import BinaryIO

from ..core.table import ProtectedTable
from ..errors import InputError
from .chart import Chart, Panel, Point
from .svg_sheet import WIDE, WIDTH, Scale, Sheet, cut, room_before, room_of

THEMES = ("page", "print")


def to_svg(table: ProtectedTable, kind: str = "", theme: str = "page") -> str:
    """A picture of a table; which kind suits it best is found out where none is named."""
    if theme not in THEMES:
        raise InputError(f"theme must be page or print, got {theme[:40]!r}.")
    chart = Chart(table, kind)
    sheet = Sheet(theme)
    height = _DRAWINGS[chart.kind](chart, sheet)
    return sheet.finished(height, chart.sentence)


# -- rows of dots and bars ----------------------------------------------------------------------


def _ranked(chart: Chart, panel: Panel) -> list[Point]:
    """Points by size, where they have no order of their own; what is not published comes last."""
    along = chart.dims[-1] if len(chart.dims) == 1 else -1
    if chart.table.layout.sort is not None or (along >= 0 and chart.ordered(along)):
        return list(panel.points)
    return sorted(panel.points, key=lambda point: (not point.shown, -point.value))


def _rows(chart: Chart, sheet: Sheet) -> float:
    """Dots or bars, one line for each category."""
    points = _ranked(chart, chart.panels[0])
    return _row_block(chart, sheet, points, 0, WIDTH, 8)


def _row_block(
    chart: Chart, sheet: Sheet, points: list[Point], begin: float, end: float, top: float
) -> float:
    """Lines of dots or bars between two edges; how far down they reach."""
    each = 28 if len(points) <= 40 else 18
    room = room_before([point.label for point in points])
    scale = Scale(chart.extent, begin + room + 14, end - 24)
    bottom = top + each * len(points)
    for tick in scale.ticks:
        x = scale(tick)
        sheet.rule(x, top, x, bottom, "soft" if not tick else "line")
        sheet.text(x, bottom + 18, chart.numbers(tick), anchor="middle", colour="soft")
    for number, point in enumerate(points):
        y = top + each * (number + 0.5)
        sheet.text(begin + room, y + 4, cut(point.label, room), anchor="end")
        if not point.shown:
            sheet.text(scale(0) + 6, y + 4, point.mark, colour="soft")
            continue
        if chart.kind == "bars":
            first, last = sorted((scale(0), scale(point.value)))
            fill = "hatch" if point.unreliable else "accent"
            sheet.box(first, y - each * 0.32, last - first, each * 0.64, fill)
        if point.lower < point.upper:
            sheet.rule(scale(point.lower), y, scale(point.upper), y, "noise", 3)
        if chart.kind != "bars":
            sheet.dot(scale(point.value), y, 4, hollow=point.unreliable)
    return bottom + 30


# -- lines and small multiples ------------------------------------------------------------------


def _lines(chart: Chart, sheet: Sheet) -> float:
    """One line with its band, or one for each panel on the same scale."""
    panels = chart.panels
    across = 1 if len(panels) == 1 else min(len(panels), 5 if len(panels) > 8 else 4)
    numbers = [chart.numbers(tick) for tick in Scale(chart.extent, 0, 1).ticks]
    left = room_of(numbers) + 12
    wide = (WIDTH - left) / across
    high = 260 if across == 1 else 130
    each = high + (70 if across == 1 else 62)
    for number, panel in enumerate(panels):
        row, column = divmod(number, across)
        x, y = left + column * wide, 24 + row * each
        scale = Scale(chart.extent, y + high, y)
        _one_panel(chart, sheet, panel, (x, wide - 18), scale, y)
        if column == 0:
            for tick, words in zip(scale.ticks, numbers, strict=True):
                sheet.text(left - 8, scale(tick) + 4, words, anchor="end", colour="soft")
    return 24 + math.ceil(len(panels) / across) * each - 20


def _one_panel(
    chart: Chart,
    sheet: Sheet,
    panel: Panel,
    across: tuple[float, float],
    scale: Scale,
    top: float,
) -> None:
    begin, wide = across
    if panel.title:
        sheet.text(begin, top - 8, cut(panel.title, wide), bold=True)
    for tick in scale.ticks:
        sheet.rule(begin, scale(tick), begin + wide, scale(tick), "soft" if not tick else "line")
    step = wide / len(panel.points)
    places = [begin + step * (i + 0.5) for i in range(len(panel.points))]
    joined = chart.kind == "lines" or chart.ordered(chart._inner)
    for run in _runs(panel.points) if joined else ():
        xs = [places[i] for i in run]
        parts = [panel.points[i] for i in run]
        ends = [scale(p.upper) for p in parts], [scale(p.lower) for p in parts]
        band = [*zip(xs, ends[0], strict=True), *reversed(list(zip(xs, ends[1], strict=True)))]
        sheet.path(band, fill=sheet.colour("noise"), opacity=".35")
        line = list(zip(xs, (scale(p.value) for p in parts), strict=True))
        sheet.path(line, fill="none", stroke=sheet.colour("ink"), stroke_width="1.3")
    for x, point in zip(places, panel.points, strict=True):
        if not point.shown:
            sheet.text(x, scale(0) - 5, point.mark, anchor="middle", colour="soft", size=10)
            continue
        if not joined and point.lower < point.upper:
            sheet.rule(x, scale(point.lower), x, scale(point.upper), "noise", 3)
        sheet.dot(x, scale(point.value), 2.4 if joined else 3.4, hollow=point.unreliable)
    _ticks_below(sheet, panel.points, places, step, scale(scale.low) + 16)


def _runs(points: Sequence[Point]) -> list[list[int]]:
    """Places of neighbours that are all published, each run by itself."""
    runs: list[list[int]] = [[]]
    for place, point in enumerate(points):
        if point.shown:
            runs[-1].append(place)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _ticks_below(
    sheet: Sheet, points: Sequence[Point], places: Sequence[float], step: float, y: float
) -> None:
    """Labels under a line: as many as there is room for, the first one always."""
    labels = [point.label for point in points]
    room = room_of(labels, 11) + 8
    if room > 2 * step:  # hardly any would be left
        labels = [point.tick or point.label for point in points]
        room = room_of(labels, 11) + 8
    every = min(max(1, math.ceil(room / step)), max(1, len(points) - 1))
    for place in range(0, len(points), every):
        words = cut(labels[place], step * every - 6, 11)
        sheet.text(places[place], y, words, anchor="middle", colour="soft", size=11)


# -- heat maps ----------------------------------------------------------------------------------


def _heat(chart: Chart, sheet: Sheet) -> float:
    """A box for each number, darker where it is larger; hatched where it is unreliable."""
    bands = chart.bands()
    most = max((p.value for p in chart.points if p.shown and not p.unreliable), default=1) or 1
    labels = [line.title for _, lines in bands for line in lines]
    room = room_before(labels, most=230)
    columns = len(bands[0][1][0].points)
    wide = min(96.0, (WIDTH - room - 14) / columns)
    y = 4.0
    for title, lines in bands:
        if title:
            y += 20
            sheet.text(0, y, title, bold=True, size=13)
        y = _heat_heads(sheet, lines[0].points, room + 14, wide, y)
        for line in lines:
            sheet.text(room, y + 20, cut(line.title, room), anchor="end")
            for place, point in enumerate(line.points):
                _heat_cell(chart, sheet, point, (room + 14 + place * wide, y, wide), most)
            y += 31
        y += 10
    return y


def _heat_heads(
    sheet: Sheet, points: Sequence[Point], begin: float, wide: float, y: float
) -> float:
    upright = max(len(point.label) for point in points) * 11 * WIDE <= wide - 4
    high = 24.0 if upright else 14 + min(120.0, room_of([p.label for p in points], 11) * 0.75)
    for place, point in enumerate(points):
        x = begin + (place + 0.5) * wide
        if upright:
            sheet.text(x, y + 14, point.label, anchor="middle", colour="soft", size=11)
        else:
            words = escape(cut(point.label, 150, 11))
            at = f"{x:.1f} {y + high - 8:.1f}"
            sheet.marks.append(
                f'<text transform="translate({at}) rotate(-45)" fill="{sheet.colour("soft")}" '
                f'font-size="11">{words}</text>'
            )
    return y + high


def _heat_cell(
    chart: Chart, sheet: Sheet, point: Point, at: tuple[float, float, float], most: float
) -> None:
    x, y, wide = at
    if not point.shown:
        sheet.text(x + wide / 2, y + 20, point.mark, anchor="middle", colour="soft", size=11)
        return
    sheet.box(x, y, wide - 2, 29, "hatch" if point.unreliable else _warmth(point, most), round=2)
    words = chart.numbers(point.value)
    if not point.unreliable and len(words) * 11 * WIDE <= wide:
        sheet.text(x + wide / 2 - 1, y + 19, words, anchor="middle", size=11)


def _warmth(point: Point, most: float) -> str:
    step = math.ceil(9 * max(point.value, 0) / most)
    return f"h{min(max(step, 1), 9)}"


# -- tiles --------------------------------------------------------------------------------------


def _tiles(chart: Chart, sheet: Sheet) -> float:
    """A square for each place where the custodian put it, and the same numbers ranked beside it."""
    points = list(chart.panels[0].points)
    placed = [(point, point.tile) for point in points if point.tile is not None]
    left = min(tile[0] for _, tile in placed)
    up = min(tile[1] for _, tile in placed)
    columns = max(tile[0] for _, tile in placed) - left + 1
    size = min(104.0, 0.52 * WIDTH / columns)
    most = max((p.value for p in points if p.shown and not p.unreliable), default=1) or 1
    for point, tile in placed:
        x, y = (tile[0] - left) * size, 4 + (tile[1] - up) * size
        fill = "hatch" if point.unreliable or not point.shown else _warmth(point, most)
        sheet.box(x, y, size - 5, size - 5, fill, round=5)
        sheet.text(x + 8, y + 18, cut(point.label, size - 8, 10.5), size=10.5, bold=True)
        words = chart.numbers(point.value) if point.shown else point.mark
        sheet.text(x + 8, y + size * 0.55, words, size=min(20, size / 5.2), bold=True)
        if point.shown and point.lower < point.upper:
            spread = chart.numbers.spread(point.lower, point.upper)
            sheet.text(x + 8, y + size * 0.74, cut(spread, size - 12, 11), size=11)
    rows = max(tile[1] for _, tile in placed) - up + 1
    ranked = sorted(points, key=lambda point: (not point.shown, -point.value))
    beside = _row_block(chart, sheet, ranked, columns * size + 16, WIDTH, 8)
    return max(rows * size + 8, beside)


_DRAWINGS: dict[str, Callable[[Chart, Sheet], float]] = {
    "dots": _rows,
    "bars": _rows,
    "lines": _lines,
    "multiples": _lines,
    "heat": _heat,
    "tiles": _tiles,
}


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write the picture that suits a table, in colours of its own."""
    stream.write(to_svg(tables[0], theme="print").encode())
