"""A number that a status hides is in no file: no byte of any format depends on it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import formats
from discreet.arrangement import laid_out
from discreet.core.control import Control
from discreet.core.table import Noise, ProtectedTable, Status
from discreet.errors import Bug, InputError
from discreet.formats import chart, csvw, frame, html, jsonstat, svg, terminal, vegalite
from discreet.recipe import Layout
from discreet.report.facts import Edition, ReleaseFacts
from discreet.report.release_report import render_report

from ..examples import examples
from ..formats.tables import GUARANTEE, axis, deaths, make
from ..methods.cellkey import test_method as cell_keys
from ..methods.cellkey.world import spec

HIDDEN = [status for status in Status if not status.has_value]


def views(table: ProtectedTable) -> Iterator[tuple[str, object]]:
    """Everything a reader can get from a table, by name."""
    for name in formats.FORMATS:
        yield name, formats.to_bytes(table, name)
    yield "csvw", csvw.companion(table, "t.csv")
    yield "json", json.dumps(jsonstat.dataset(table))
    yield "terminal", terminal.to_text(table)
    yield "colours", repr(terminal.render(table).renderables)
    yield "html", html.fragment(table, html.Window(intervals=True, heat=True))
    try:
        chart_kinds = chart.Chart(table).kinds
    except InputError:  # one number needs no picture
        chart_kinds = ()
    for kind in chart_kinds:
        yield f"svg {kind}", svg.to_svg(table, kind)
        yield f"vega-lite {kind}", vegalite.to_vegalite(table, kind)
    yield "pandas", frame.to_pandas(table).to_csv()
    facts = ReleaseFacts("T", (table,), GUARANTEE)
    for edition in Edition:
        yield f"report {edition}", render_report(facts, edition)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[ProtectedTable, ProtectedTable]:
    """Two tables that differ only in what is known beside their hidden numbers."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    axes = [
        axis(name, [f"{name}{i}" for i in range(n)]) for name, n in zip("abc", sizes, strict=False)
    ]
    shape = tuple(n + 1 for n in sizes)
    many = int(np.prod(shape))
    status = np.array(draw(st.lists(st.sampled_from(Status), min_size=many, max_size=many)))
    status = status.reshape(shape).astype(np.uint8)
    seed = draw(st.integers(0, 2**16))
    table = make(axes, (True,) * len(axes), status=status, seed=seed)
    table = replace(table, values=np.where(status == Status.STRUCTURAL_ZERO, 0, table.values))
    names = list("abc"[: len(axes)])
    down = draw(st.integers(0, len(axes)))
    above = draw(st.integers(0, down))
    of = ["", "all", "layers"] + ["rows"] * (down < len(axes)) + ["columns"] * (above < down)
    layout = Layout(
        tuple(names[above:down]),
        tuple(names[down:]),
        tuple(names[:above]),
        percent=draw(st.sampled_from(of)),
    )
    one, other = (_filled(table, np.random.default_rng(seed + i)) for i in (1, 2))
    return laid_out(one, layout), laid_out(other, layout)


def _filled(table: ProtectedTable, random: np.random.Generator) -> ProtectedTable:
    """The table with other noise and another additive number wherever one is hidden."""
    assert table.noise is not None

    def other(array: np.ndarray) -> np.ndarray:
        drawn = random.integers(10**6, 10**9, table.shape).astype(array.dtype)
        return np.where(table.shown, array, drawn)

    noise = Noise(other(table.noise.sd), other(table.noise.lower), other(table.noise.upper))
    return replace(table, noise=noise, extra={"additive": other(table.values)})


@given(pairs())
@examples(25)
@pytest.mark.slow
def test_no_view_depends_on_what_is_hidden(pair) -> None:
    """Files, pages, terminal, data frame and reports are the same, byte by byte."""
    one, other = pair
    for (name, first), (_, second) in zip(views(one), views(other), strict=True):
        assert first == second, name


def test_a_table_cannot_hold_a_hidden_number() -> None:
    """A number whose status says it is not published is refused before there is a table."""
    table = deaths()
    for status in HIDDEN:
        with pytest.raises(Bug, match="not published"):
            replace(table, status=np.full(table.shape, status, dtype=np.uint8))


@given(pairs())
@examples(60)
def test_percentages_say_no_more_than_the_counts_beside_them(pair) -> None:
    """From the file alone: each is count ÷ total of the file, and missing where either is."""
    table = pair[0]
    of = table.layout.percent
    rows = list(csv.DictReader(io.StringIO(formats.to_bytes(table, "csv").decode())))
    assert of or "percent" not in rows[0]
    if not of:
        return
    layout = table.layout
    added = {
        "rows": layout.columns,
        "columns": layout.rows,
        "layers": layout.rows + layout.columns,
        "all": layout.axes,
    }[of]
    counts = {tuple(row[name] for name in layout.axes): row["count"] for row in rows}
    for row in rows:
        place = tuple("_T" if name in added else row[name] for name in layout.axes)
        count, whole = row["count"], counts[place]
        if count == "" or whole == "" or int(whole) <= 0:
            assert row["percent"] == row["percent_lower"] == row["percent_upper"] == ""
        else:
            low, high = float(row["percent_lower"] or 0), float(row["percent_upper"] or 100)
            plain = min(max(100 * int(count) / int(whole), low), high)
            assert abs(float(row["percent"]) - plain) < 5.1e-5


@pytest.mark.parametrize(
    ("parameters", "least", "most"),
    [({"threshold": "5"}, 0, 5), ({"display_floor": "11"}, 1, 11)],
)
def test_cell_keys_hide_a_number_in_every_view(parameters, least: int, most: int) -> None:
    """Other perturbed counts below the limit, the same statuses: the same tables, additive view
    and intervals included."""
    world = cell_keys.make(600, parameters={**parameters, "additive": "yes"})
    asked = spec("town", "age")
    plan = world.plan(asked)
    tables = []
    for seed in (1, 2):
        measured = world.measure(asked)
        (name,) = measured.arrays
        raw = measured.arrays[name].copy()
        hidden = (raw >= least) & (raw < most)
        raw[hidden] = np.random.default_rng(seed).integers(least, most, int(hidden.sum()))
        (table,) = world.method.fit(
            plan, replace(measured, arrays={name: raw}), world.facts, Control()
        )
        tables.append(laid_out(table, Layout(("town",), ("age",), percent="rows")))
        assert (~table.shown).any()
        assert table.shown.any()
        assert any("rules of display" in note for note in table.notes)
    one, other = tables
    assert np.array_equal(one.noise.lower, other.noise.lower)
    assert np.array_equal(one.noise.upper, other.noise.upper)
    assert np.array_equal(one.extra["additive"], other.extra["additive"])
    for (name, first), (_, second) in zip(views(one), views(other), strict=True):
        assert first == second, name
