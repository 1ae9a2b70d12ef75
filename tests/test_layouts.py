"""Sorting, decimals and empty rows: the same table in another order, on every way to it."""

from __future__ import annotations

import csv
import io
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet import formats
from discreet.errors import CannotConclude, RecipeError
from discreet.formats import html
from discreet.recipe import from_query, to_query

SPEC = {"rows": ["region"], "columns": ["age"]}


@pytest.fixture(scope="module")
def deaths(demo: Path):
    with dc.open(demo / "deaths") as data:
        yield data


def line(table, axis: int, code: str | None) -> list[int]:
    """The numbers along the other axis of a table of two, totals apart."""
    place = -1 if code is None else table.codes(axis).index(code)
    return np.take(table.values, place, axis=axis)[:-1].tolist()


@pytest.mark.parametrize("sort", ["age:85+,down", "age:85+,up", "age:_T,up", "total,down", "total"])
def test_rows_are_sorted_by_a_column(deaths, sort: str):
    """Rows stand in the order of the named column's published numbers, and each row is whole."""
    plain = deaths.table(**SPEC).release().protected
    table = deaths.table(**SPEC, sort=sort).release().protected
    numbers = line(table, 1, "85+" if "85+" in sort else None)
    assert numbers == sorted(numbers, reverse=not sort.endswith("up"))
    before = dict(zip(plain.codes(0), plain.values.tolist(), strict=True))
    assert dict(zip(table.codes(0), table.values.tolist(), strict=True)) == before
    assert table.codes(1) == plain.codes(1)
    assert table.codes(0)[-1] == "_T"


def test_columns_are_sorted_by_a_row(deaths):
    """A level in the rows puts the columns in order."""
    table = deaths.table(**SPEC, sort="region:E12000007,down").release().protected
    numbers = line(table, 0, "E12000007")
    assert numbers == sorted(numbers, reverse=True)


def test_percentages_are_what_is_sorted_by_where_there_are_any(deaths):
    """With per cent of rows a column is sorted by its percentages, not by its counts."""
    table = deaths.table(**SPEC, percent="rows", sort="age:85+,down").release()
    frame = table.to_pandas()
    shares = frame[(frame["age"] == "85+") & (frame["region"] != "_T")]["percent"].tolist()
    assert shares == sorted(shares, reverse=True)
    counts = frame[(frame["age"] == "85+") & (frame["region"] != "_T")]["count"].tolist()
    assert counts != sorted(counts, reverse=True)


def test_every_row_variable_is_sorted_by_its_own_totals(deaths):
    """Rows of two variables: each one's categories stand in the order of their totals."""
    table = deaths.table(rows=["country", "sex"], columns=["cause"], sort="total").release()
    values = table.protected.values
    for numbers in (values[:-1, -1, -1], values[-1, :-1, -1]):
        assert all(a >= b for a, b in pairwise(numbers.tolist()))


def test_sorting_changes_no_hash_charge_or_number(demo: Path, tmp_path: Path):
    """The same question in any order is charged once, and its numbers are the same."""
    import shutil

    shutil.copytree(demo / "deaths-dp", tmp_path / "deaths-dp")
    with dc.open(tmp_path / "deaths-dp") as data:
        first = data.table(**SPEC, epsilon="0.5").release()
        again = data.table(**SPEC, epsilon="0.5", sort="age:0,down", decimals=2, empty="hide")
        assert again.cost == "nothing"
        table = again.release().protected
        assert table.provenance.question == first.protected.provenance.question
        assert sorted(table.values.reshape(-1).tolist()) == sorted(
            first.protected.values.reshape(-1).tolist()
        )
        # what is concluded from a sorted table is what is concluded from it unsorted
        cell = {"region": "E12000007", "age": "85+"}
        assert again.release().interval(cell=cell).numbers == first.interval(cell=cell).numbers


def test_all_formats_have_the_same_order(deaths):
    """CSV, JSON-stat and HTML rows stand in one order, and a file read back keeps it."""
    released = deaths.table(**SPEC, sort="age:85+,down").release()
    table = released.protected
    rows = csv.DictReader(io.StringIO(formats.to_bytes(table, "csv").decode()))
    in_csv = list(dict.fromkeys(row["region"] for row in rows))
    assert in_csv == list(table.codes(0))
    shown = re.findall(r"<tr><th scope=row>(.*?)</th>", html.fragment(table))
    assert shown == [label.replace("&", "&amp;") for label in table.labels(0)]


def test_unpublished_numbers_come_last(fresh_demo: Path):
    """Stars are not sorted by what they hide: they stand behind every number, in their old order."""
    with dc.open(fresh_demo / "genes") as data:
        spec = {"rows": ["eyes"], "columns": ["hair"], "where": {"town": ["north"]}}
        plain = data.table(**spec).release().protected
        for column in plain.codes(1)[: len(plain.domain.axes[1])]:
            table = data.table(**spec, sort=f"hair:{column},down").release().protected
            at = table.codes(1).index(column)
            shown = table.shown[:, at][: len(table.domain.axes[0])].tolist()
            assert shown == sorted(shown, reverse=True)
            hidden = [c for c, s in zip(table.codes(0), shown, strict=False) if not s]
            assert bool(hidden) == (column in ("brown", "red"))
            assert hidden == [c for c in plain.codes(0) if c in hidden]


def test_empty_rows_are_left_out_and_said(deaths):
    """`empty: hide` leaves out categories of zeros only, says which, and keeps every total."""
    spec = {"rows": ["cause"], "columns": ["sex"], "where": {"region": ["N99999999"]}}
    plain = deaths.table(**spec).release().protected
    table = deaths.table(**spec, empty="hide").release()
    assert len(table.protected.domain.axes[0]) < len(plain.domain.axes[0])
    assert table.protected.values[-1, -1] == plain.values[-1, -1]
    gone = set(plain.codes(0)) - set(table.protected.codes(0))
    zeros = {
        c for c, row in zip(plain.codes(0), plain.values.tolist(), strict=True) if not any(row)
    }
    assert gone == zeros - {"_T"}
    assert any("nothing but 0" in note for note in table.protected.notes)
    with pytest.raises(CannotConclude, match="empty: hide"):
        table.independence_test()


@pytest.mark.parametrize(
    ("decimals", "text"), [(0, r">\d+ %<"), (2, r">\d+\.\d\d %<"), (None, r">\d+\.\d %<")]
)
def test_decimals_are_those_people_read(deaths, decimals: int | None, text: str):
    """Percentages on a page have so many decimals; a file keeps all four."""
    table = deaths.table(**SPEC, percent="rows", decimals=decimals).release().protected
    assert re.search(text, html.fragment(table).replace("<br>", ">").replace("</td>", "<"))
    first = next(csv.DictReader(io.StringIO(formats.to_bytes(table, "csv").decode())))
    assert len(first["percent"].partition(".")[2]) >= 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"sort": "age"}, "must look like"),
        ({"sort": "age:85+,sideways"}, "up or down"),
        ({"sort": "age:99,down"}, "99"),
        ({"sort": "sex:F,down"}, "does not have"),
        ({"sort": "total", "totals": False}, "needs the totals"),
        ({"sort": "age:0,down", "where": {"age": ["85+"]}}, "filter leaves out"),
        ({"columns": [], "sort": "region:E12000007,down"}, "columns in order"),
        ({"decimals": 3}, "0, 1 or 2"),
        ({"empty": "maybe"}, "show or hide"),
    ],
)
def test_a_layout_that_cannot_be_is_said_before_anything_is_spent(deaths, more, words):
    """Every mistake in a layout is one sentence, made from public facts."""
    with pytest.raises(RecipeError, match=re.escape(words)):
        deaths.table(**{**SPEC, **more})


@pytest.mark.parametrize(
    "sort", ["age:85+,down", "total,up", "age:_T,down", 'region:"E12000007",up']
)
def test_a_layout_survives_its_short_form(deaths, sort: str):
    """What an address says of the layout reads back as the same recipe."""
    data = deaths._data
    query = f"rows=region&columns=age&sort={sort.replace('+', '%2B')}&decimals=0&empty=hide"
    read = from_query(query, data.description, data.policy)
    assert from_query(to_query(read), data.description, data.policy) == read
    assert (
        read.fingerprints["question"]
        == (
            from_query("rows=region&columns=age", data.description, data.policy).fingerprints[
                "question"
            ]
        )
    )


def test_windows_are_parts_of_the_whole(deaths):
    """Rows shown window by window are those of the whole table, once each and in order."""
    table = deaths.table(rows=["region", "sex"], columns=["cause"]).release().protected
    pattern = re.compile(r"<tr[^>]*>(<th scope=row>.*?)</tr>")
    whole = pattern.findall(html.fragment(table, html.Window(most=100)))
    parts = []
    for first in range(1, len(whole) + 1, 7):
        page = html.fragment(table, html.Window(first=first, most=7))
        assert f'data-rows="{len(whole)}" data-from="{first}"' in page
        parts += pattern.findall(page)
    assert parts == whole
    for wrong in (0, len(whole) + 1):
        with pytest.raises(dc.InputError, match="rows"):
            html.fragment(table, html.Window(first=wrong))


def test_labels_in_html_are_text(deaths):
    """Whatever stands in a title, it is no markup."""
    from dataclasses import replace

    table = deaths.table(**SPEC).release().protected
    page = html.fragment(replace(table, title="<script>alert(1)</script>"))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
