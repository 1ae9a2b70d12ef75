"""Pictures of tables: the published numbers, their noise, and nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import discreet as dc
from discreet import formats
from discreet.core.domain import Text
from discreet.core.table import Status
from discreet.formats.chart import KINDS, Chart
from discreet.formats.svg import to_svg
from discreet.formats.svg_sheet import cut, room_before
from discreet.formats.vegalite import to_vegalite

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def deaths(demo: Path):
    with dc.open(demo / "deaths") as data:
        yield data


@pytest.fixture(scope="module")
def regions(deaths):
    return deaths.table(rows=["region"], columns=["age"]).release().protected


def texts(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("spec", "kinds"),
    [
        ({"rows": ["region"]}, ("tiles", "dots", "bars")),
        ({"rows": ["month"]}, ("lines", "bars", "dots")),
        ({"rows": ["age"]}, ("lines", "bars", "dots")),
        ({"rows": ["marital"]}, ("dots", "bars")),
        ({"rows": ["region"], "columns": ["age"]}, ("multiples", "heat", "tiles")),
        ({"rows": ["marital"], "columns": ["sex"]}, ("heat", "multiples")),
        ({"rows": ["sex"], "columns": ["age"], "layers": ["country"]}, ("multiples", "heat")),
    ],
)
def test_a_shape_has_its_pictures(deaths, spec, kinds):
    """Which pictures suit a table follows from its variables; each is well-formed, strict-policy SVG
    with one sentence and no more."""
    table = deaths.table(**spec).release().protected
    assert Chart(table).kinds == kinds
    assert Chart(table).kind == kinds[0]
    for kind in KINDS:
        if kind not in kinds:
            with pytest.raises(dc.InputError, match="cannot be shown as"):
                to_svg(table, kind)
            continue
        for theme in ("page", "print"):
            svg = to_svg(table, kind, theme)
            root = ElementTree.fromstring(svg)
            assert root.get("role") == "img"
            assert root.get("aria-label", "").startswith(table.title)
            assert ("var(--" in svg) == (theme == "page")
            assert not re.search(r"<style|style=|<script|href|@import|#[0-9a-f]{6}", svg) or (
                theme == "print" and not re.search(r"<style|style=|<script|href|@import", svg)
            )
        spec_of_picture = json.loads(to_vegalite(table, kind))
        values = [row["value"] for row in spec_of_picture["data"]["values"]]
        assert len(values) == len(Chart(table, kind).points)


def test_pictures_show_the_published_numbers(regions):
    """Every cell of a heat map is the table's own; unreliable ones have no number."""
    shown = set(texts(to_svg(regions, "heat")))
    inside = regions.values[:-1, :-1]
    unreliable = regions.status[:-1, :-1] == Status.UNRELIABLE
    for value in inside[~unreliable].tolist():
        assert f"{value:,}" in shown
    points = [point.value for point in Chart(regions, "heat").points]
    assert points == inside.reshape(-1).tolist()
    ends = [(point.lower, point.upper) for point in Chart(regions, "heat").points]
    lower, upper = (end[:-1, :-1].reshape(-1) for end in (regions.noise.lower, regions.noise.upper))
    assert ends == list(zip(lower.tolist(), upper.tolist(), strict=True))


def test_tiles_stand_at_their_totals(regions):
    """With a second variable each tile shows the published total of its place."""
    points = Chart(regions, "tiles").points
    assert [point.value for point in points] == regions.values[:-1, -1].tolist()


def test_a_withheld_number_is_not_drawn(regions):
    """A hidden cell has a mark, no place and no interval."""
    status = regions.status.copy()
    status[2, 3] = Status.SUPPRESSED
    values = np.where(status == Status.SUPPRESSED, 0, regions.values)
    table = replace(regions, status=status, values=values)
    point = Chart(table, "heat").points[2 * 10 + 3]
    assert (point.shown, point.mark, point.value, point.lower, point.upper) == (
        False,
        "✱",
        0,
        0,
        0,
    )
    for kind in ("heat", "multiples"):
        assert "✱" in texts(to_svg(table, kind))


def test_a_short_label_of_wide_letters_is_whole():
    """In DejaVu Sans at 12 points "Brown" takes 37.9, more than five letters of usual width."""
    assert room_before(["Blue", "Brown"]) > 37.9
    assert cut("Brown", room_before(["Blue", "Brown"])) == "Brown"


def test_too_much_for_one_picture_is_said(deaths):
    """Many panels, many marks or one number: a sentence, before anything is drawn."""
    wide = deaths.table(rows=["ccg"], columns=["age"]).release().protected
    for kind in ("", "heat"):
        with pytest.raises(dc.InputError, match="too much for one picture"):
            to_svg(wide, kind)
    with pytest.raises(dc.InputError, match="needs no picture"):
        to_svg(deaths.table().release().protected)
    with pytest.raises(dc.InputError, match="no chart"):
        to_svg(wide, "pie")


def test_labels_are_text_in_pictures(regions):
    """Markup in a label is drawn as letters."""
    axis = regions.domain.axes[0]
    evil = replace(axis.level.categories[0], label=Text.of("<script>x</script>\"'&"), short=None)
    level = replace(axis.level, categories=(evil, *axis.level.categories[1:]))
    domain = replace(regions.domain, axes=(replace(axis, level=level), *regions.domain.axes[1:]))
    table = replace(regions, domain=domain, title='<b onload="x">')
    for kind in Chart(table).kinds:
        svg = to_svg(table, kind)
        assert "<script" not in svg
        assert "<b" not in svg
        ElementTree.fromstring(svg)


def test_percentages_are_drawn_where_the_table_has_them(deaths):
    """Points and intervals are those of the percentages."""
    released = deaths.table(rows=["marital"], columns=["sex"], percent="rows").release()
    frame = released.to_pandas()
    inside = frame[(frame["marital"] != "_T") & (frame["sex"] != "_T")]
    points = Chart(released.protected).points
    assert [point.value for point in points] == inside["percent"].tolist()
    assert [point.upper for point in points] == inside["percent_upper"].tolist()


@pytest.mark.parametrize(
    ("name", "begins"), [("t.svg", b"<svg"), ("t.html", b"<!doctype html>"), ("t.vl.json", b"{")]
)
def test_views_are_files_too(regions, tmp_path: Path, name: str, begins: bytes):
    """A path's ending chooses a view as it chooses a format; several tables do not fit."""
    formats.write(regions, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)
    with pytest.raises(dc.InputError, match="one table"):
        formats.write([regions, regions], tmp_path / name)


def test_a_released_table_draws_itself(deaths):
    """In Python a table gives its picture as text."""
    assert deaths.table(rows=["month"]).release().picture("bars").startswith("<svg")
