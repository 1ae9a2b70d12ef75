"""Percentages: exact, of published totals, with intervals that hold, and masked in every format."""

from __future__ import annotations

import csv
import io
import itertools
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import formats
from discreet.arrangement import laid_out
from discreet.core.table import Status
from discreet.errors import InputError
from discreet.formats import frame, html, jsonstat, terminal
from discreet.formats.flat import flatten
from discreet.formats.percent import percentages
from discreet.recipe import Layout

from .tables import axis, deaths, make

ROWS = Layout(("region",), ("sex",), percent="rows")


@settings(deadline=None)
@given(
    st.lists(st.integers(-50, 10**17), min_size=2, max_size=6),
    st.integers(-3, 10**17),
)
def test_a_percentage_is_the_fraction_to_four_places(cells: list[int], total: int) -> None:
    """Nearest for the number, whatever its size; none where the total is not above zero."""
    values = np.array([*cells, total])
    made = percentages("all", (0,), (True,), values, np.ones(len(values), dtype=bool))
    assert made.shown.all() == (total > 0)
    assert made.shown.any() == (total > 0)
    for cell, percent in zip([*cells, total], made.values.tolist(), strict=True):
        wanted = Fraction(100 * cell, total) if total > 0 else Fraction(0)
        wanted = min(max(wanted, Fraction(0)), Fraction(100))  # a true part is no more than all
        slack = Fraction(1, 2 * 10**4) + abs(wanted) / 2**52
        assert abs(Fraction(percent) - wanted) <= slack


def test_the_interval_holds_whenever_both_noise_intervals_do() -> None:
    """Over all true cells and totals within ±2 of what is published, by enumeration."""
    for cell, total in itertools.product(range(-2, 7), range(1, 10)):
        values = np.array([cell, total])
        made = percentages(
            "all", (0,), (True,), values, values > -9, values - 2, values + 2, Fraction(95, 100)
        )
        assert made.coverage == Fraction(9, 10)
        assert made.lower is not None
        assert made.upper is not None
        low, high = Fraction(made.lower[0]), Fraction(made.upper[0])
        for part in range(max(cell - 2, 0), cell + 3):
            for whole in range(max(total - 2, part, 1), total + 3):
                assert low <= Fraction(100 * part, whole) <= high
        assert (made.lower[1], made.upper[1]) == (100, 100)
        assert (made.lower <= made.values).all()
        assert (made.values <= made.upper).all()


@pytest.mark.parametrize(
    ("of", "wanted"),
    [
        ("rows", lambda v: v / v[:, :, -1:]),
        ("columns", lambda v: v / v[:, -1:, :]),
        ("layers", lambda v: v / v[:, -1:, -1:]),
        ("all", lambda v: v / v[-1:, -1:, -1:]),
    ],
)
def test_what_each_word_divides_by(of: str, wanted) -> None:
    """Layers × rows × columns, against plain division; the order of the layout counts."""
    values = np.random.default_rng(5).integers(1, 900, size=(3, 4, 5))
    table = make(
        [axis("a", ["p", "q"]), axis("b", ["x", "y", "z"]), axis("c", list("klmn"))],
        (True, True, True),
        values=values,
    )
    layout = Layout(("b",), ("c",), ("a",), percent=of)
    made = flatten(laid_out(table, layout)).percent
    assert made is not None
    assert made.shown.all()
    assert np.allclose(made.values, 100 * np.minimum(wanted(values), 1).ravel(), atol=5.1e-5)


def test_no_percentage_beside_a_hidden_number_or_of_a_hidden_total() -> None:
    """Neither cell nor total can be worked out from what is left."""
    values = np.arange(1, 13).reshape(4, 3) * 100
    status = np.zeros((4, 3), dtype=np.uint8)
    status[0, 0] = Status.SUPPRESSED
    status[1, 2] = Status.LOW
    table = make(
        [axis("region", ["N", "E", "S"]), axis("sex", ["F", "M"])],
        (True, True),
        values=values,
        status=status,
    )
    made = flatten(laid_out(table, ROWS)).percent
    assert made is not None
    assert made.shown.reshape(4, 3).tolist() == [
        [False, True, True],
        [False, False, False],
        [True, True, True],
        [True, True, True],
    ]
    for column in made.columns.values():
        assert not column[~made.shown].any()


def test_every_format_has_them_and_leaves_the_same_ones_out(tmp_path: Path) -> None:
    """CSV, Parquet, SDMX-CSV, XLSX, JSON-stat and pandas say one thing; PX says where they are."""
    import openpyxl
    import pyarrow.parquet

    table = laid_out(deaths(), ROWS)
    flat = flatten(table)
    assert flat.percent is not None
    wanted = [
        value if shown else None
        for value, shown in zip(
            flat.percent.values.tolist(), flat.percent.shown.tolist(), strict=True
        )
    ]
    assert None in wanted
    assert any(wanted)

    def read(text: str, name: str) -> list[float | None]:
        rows = csv.DictReader(io.StringIO(text))
        return [float(row[name]) if row[name] else None for row in rows]

    assert read(formats.to_bytes(table, "csv").decode(), "percent") == wanted
    assert read(formats.to_bytes(table, "sdmx-csv").decode(), "PERCENT") == wanted
    arrow = pyarrow.parquet.read_table(io.BytesIO(formats.to_bytes(table, "parquet")))
    assert arrow["percent"].to_pylist() == wanted
    document = json.loads(formats.to_bytes(table, "json-stat"))
    assert document["extension"]["percent"]["value"] == wanted
    assert document["extension"]["percent"]["of"] == "rows"
    assert document["extension"]["percent"]["coverage"] == "0.9"
    assert jsonstat.dataset(table) == document
    book = openpyxl.load_workbook(io.BytesIO(formats.to_bytes(table, "xlsx")))
    grid = list(book["Table 1"].values)
    head = next(row for row in grid if "percent" in row)
    place = head.index("percent")
    assert [row[place] for row in grid[grid.index(head) + 1 :]] == wanted
    made = frame.to_pandas(table)["percent"]
    assert [None if np.isnan(value) else value for value in made] == wanted
    px = formats.to_bytes(table, "px").decode().replace('"\r\n"', "")
    assert "percentages of every cell are in the CSV" in px
    (file, beside) = formats.write(table, tmp_path / "t.csv")
    assert file.suffix == ".csv"
    columns = json.loads(beside.read_text())["tableSchema"]["columns"]
    (described,) = [column for column in columns if column["titles"] == "percent"]
    assert described["dc:description"] == "Percentage of the total of their row, as published."
    assert described["required"] is False


def test_a_variable_named_percent_keeps_out_of_the_way() -> None:
    """Its column is renamed only where percentages are asked for."""
    table = make([axis("percent", ["a", "b"])], (True,))
    assert flatten(table).names[:2] == ("percent", "percent_label")
    names = flatten(laid_out(table, Layout(("percent",), percent="all"))).names
    assert len(set(names)) == len(names)
    assert names[0] == "percent_code"
    assert "percent" in names


def test_people_read_them_beside_and_under_the_numbers() -> None:
    """In the terminal and on a page, to one decimal, with the words below."""
    table = make(
        [axis("region", ["N", "E"]), axis("sex", ["F", "M"])],
        (True, True),
        values=[[30, 70, 100], [1, 2, 3], [31, 72, 103]],
        status=np.array([[0, 0, 0], [1, 1, 1], [0, 0, 0]]),
    )
    table = laid_out(table, ROWS)
    text = terminal.to_text(table, more="")
    assert "30   30.0 %" in " ".join(text.split("\n"))
    assert "2ᵘ  66.7 %" in text
    assert "Percentages are of the total of their row as published" in " ".join(text.split())
    assert "90 % of releases" in " ".join(text.split())
    widths = {len(line) for line in text.splitlines() if "%" in line and "100.0 %" in line}
    assert len(widths) == 1
    assert "<td>30<br>30.0 %</td>" in html.fragment(table)


def test_without_totals_there_is_nothing_to_divide_by() -> None:
    """One sentence that says what to do."""
    table = make([axis("region", ["N", "E"]), axis("sex", ["F", "M"])], (True, False))
    with pytest.raises(InputError, match="Ask for totals: all"):
        flatten(laid_out(table, ROWS))
    assert (
        flatten(laid_out(table, Layout(("region",), ("sex",), percent="columns"))).percent
        is not None
    )
