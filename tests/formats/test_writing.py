"""Files are replaced whole or not at all, and bad requests get one clear sentence."""

from __future__ import annotations

import io
import json
import os
import re
import stat
from fractions import Fraction
from pathlib import Path

import csvw
import numpy as np
import openpyxl
import pytest

from discreet import formats
from discreet.arrangement import laid_out
from discreet.core.domain import Axis, Category, Domain, Level, Variable
from discreet.core.guarantee import Guarantee, Kind
from discreet.core.pure_laplace import PureLaplace
from discreet.core.table import ProtectedTable, Rehearsal, Status, TrueTable
from discreet.core.text import Text
from discreet.errors import InputError, StoreError
from discreet.formats import xlsx_rows
from discreet.formats.escape import escaped
from discreet.recipe import Layout

from .tables import axis, deaths, make, provenance, unescaped


@pytest.mark.parametrize("name", formats.FORMATS)
def test_only_protected_tables_are_written(name: str, tmp_path: Path) -> None:
    """A true table or a rehearsal is refused with a sentence that shows no value, nothing is left."""
    table = deaths()
    true = TrueTable(table.domain, np.array([987_654_321]))
    rehearsal = Rehearsal("trial", {"worst": 987_654_321})
    for wrong, words in (
        (true, "a true table"),
        (rehearsal, "a rehearsal"),
        ([table, true], "true"),
    ):
        with pytest.raises(TypeError, match=words) as caught:
            formats.write(wrong, tmp_path / "t.out", name)  # type: ignore[arg-type]
        assert "987" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_unknown_formats_and_endings_name_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean parquet"):
        formats.write(deaths(), io.BytesIO(), "parket")
    with pytest.raises(InputError, match=r"\.xlsx"):
        formats.by_extension("deaths.docx")
    assert formats.by_extension("A.CSV") == "csv"
    assert formats.by_name("JSONstat").name == "json-stat"
    with pytest.raises(InputError, match="name the format"):
        formats.write(deaths(), io.BytesIO())


def test_a_file_is_replaced_and_keeps_ordinary_permissions(tmp_path: Path) -> None:
    target = tmp_path / "t.csv"
    target.write_text("old")
    paths = formats.write(deaths(), target)
    assert [path.name for path in paths] == ["t.csv", "t.csv-metadata.json"]
    assert target.read_bytes() == formats.to_bytes(deaths(), "csv")
    other = tmp_path / "plain"
    other.write_text("")
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plain", "t.csv", "t.csv-metadata.json"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """A workbook that cannot be made leaves what was there, and no scrap beside it."""
    target = tmp_path / "t.xlsx"
    target.write_bytes(b"old")
    wide = make([axis("a", [str(i) for i in range(1200)]), axis("b", ["x"] * 900)], (False, False))
    with pytest.raises(InputError, match=r"1,080,000 cells.*csv or parquet"):
        formats.write(wide, target)
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["t.xlsx"]


def test_places_that_cannot_be_written_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        formats.write(deaths(), tmp_path / "none" / "t.csv")
    with pytest.raises(InputError, match="is a folder"):
        formats.write(deaths(), tmp_path, "csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Cannot write"):
        formats.write(deaths(), tmp_path / "file" / "t.csv")


@pytest.mark.skipif(
    not os.access("/dev/full", os.W_OK), reason="needs a device that is always full"
)
def test_a_full_disk_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no space left"):
        formats.write(deaths(), "/dev/full", "csv")


def test_streams_text_and_binary() -> None:
    text = io.StringIO(newline="")
    assert formats.write(deaths(), text, "csv") == []
    assert text.getvalue().encode() == formats.to_bytes(deaths(), "csv")
    with pytest.raises(InputError, match="binary mode"):
        formats.write(deaths(), io.StringIO(), "xlsx")


def test_one_table_a_file_where_the_format_holds_one() -> None:
    with pytest.raises(InputError, match="holds one table, got 2"):
        formats.to_bytes([deaths(), deaths()], "csv")
    with pytest.raises(InputError, match="no table"):
        formats.to_bytes([], "xlsx")


def test_a_layout_naming_an_unknown_variable_names_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean region"):
        laid_out(deaths(), Layout(rows=("regoin",)))
    with pytest.raises(InputError, match="named twice"):
        laid_out(deaths(), Layout(rows=("sex",), columns=("sex",)))


def test_column_names_never_collide() -> None:
    """Variables named like our columns, or like each other, still give one name a column."""
    levels = [axis("region", ["a"], variable="home"), axis("region", ["a"], variable="work")]
    clash = [axis("status", ["a"]), axis("Count", ["a"]), axis("x", ["a"]), axis("x_label", ["a"])]
    for axes in (levels, clash):
        names = formats.flatten(make(axes, (False,) * len(axes))).names
        assert len({name.casefold() for name in names}) == len(names), names
    assert formats.flatten(make(levels, (False, False))).names[:4] == (
        "region", "region_label", "work_region", "work_region_label",
    )  # fmt: skip


def test_csvw_is_valid_and_names_a_file_with_a_space_as_a_url(tmp_path: Path) -> None:
    path, _ = formats.write(deaths(), tmp_path / "t.csv")
    assert csvw.CSVW(str(path) + "-metadata.json", validate=True).is_valid
    _, beside = formats.write(deaths(), tmp_path / "a table.csv")
    assert json.loads(beside.read_text())["url"] == "a%20table.csv"


@pytest.mark.parametrize(
    "text", ["=1", "'=1", "''=1", "-9", "-9.5", "'-9", "-9-1", "+1", "@", "\t", "\n", "'", "", "a"]
)
def test_escaping_is_undone_and_merges_nothing(text: str) -> None:
    assert unescaped(escaped(text)) == text
    assert escaped(text)[:1] not in ("=", "+", "@", "\t", "\r", "\n")


def test_a_long_table_is_marked_to_its_last_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows streamed in several blocks are all there, and the marked range covers them."""
    monkeypatch.setattr(xlsx_rows, "_BLOCK", 7)
    table = make([axis("r", [f"label {i}" for i in range(50)])], (True,))
    sheet = openpyxl.load_workbook(io.BytesIO(formats.to_bytes(table, "xlsx")))["Table 1"]
    (marked,) = sheet.tables.values()
    header, last = (int(n) for n in re.findall(r"\d+", marked.ref))
    assert marked.autoFilter.ref == marked.ref
    assert last - header == 51 == sheet.max_row - header
    assert [
        sheet.cell(row, 3).value for row in range(header + 1, last + 1)
    ] == table.values.tolist()


def test_text_too_long_for_a_cell_is_cut_with_an_ellipsis() -> None:
    table = make([axis("r", ["y" * 40_000])], (False,))
    sheet = openpyxl.load_workbook(io.BytesIO(formats.to_bytes(table, "xlsx")))["Table 1"]
    label = sheet.cell(sheet.max_row, 2).value
    assert len(label) == xlsx_rows.MOST_TEXT
    assert label.endswith("y…")


def test_labels_speak_the_language_asked_for() -> None:
    both = Text.of({"en": "Woman", "fr": "Femme"})
    level = Level("sex", Text.of({"en": "Sex", "fr": "Sexe"}), (Category("f", both),), (0,))
    table = make([Axis(Variable("sex", level.label, (level,)), level)], (False,))
    assert "Femme" in formats.to_bytes(table.in_language("fr"), "csv").decode()
    assert (
        json.loads(formats.to_bytes(table.in_language("fr"), "json-stat"))["dimension"]["sex"][
            "label"
        ]
        == "Sexe"
    )


def test_a_footnote_counts_what_it_says() -> None:
    """Its numbers are those of the table: statuses, totals that do not add, negatives."""
    values = np.array([[10, 20, 31], [-2, 5, 3], [8, 25, 40]])
    table = make(
        [axis("r", ["a", "b"]), axis("c", ["x", "y"])],
        (True, True),
        values=values,
        status=np.array([[0, 0, 0], [1, 0, 0], [0, 0, 0]]),
    )
    said = " ".join(formats.footnote(table))
    assert "no real person" in said
    assert "standard deviation is 2.8" in said
    assert "in at least 95 % of releases" in said
    assert "1 of 9 cells (11.1 %) is unreliable [u]" in said
    # Rows: 30≠31, 3=3, 33≠40; columns: 8=8, 25=25, 34≠40.
    assert "3 of 6 differ, by up to 7" in said
    assert "1 number is below zero" in said
    assert said.endswith("Read with care.")


def test_a_footnote_says_when_totals_add_and_nothing_of_what_is_not_there() -> None:
    table = make(
        [axis("r", ["a", "b"])],
        (True,),
        values=[30, 40, 70],
        noise=False,
        provenance=provenance(synthetic=False),
        guarantee=Guarantee(Kind.NONE, "person", ""),
    )
    assert formats.footnote(table) == [
        "No guarantee of privacy is given.",
        "Every total whose cells are all shown is their sum.",
    ]
    assert "no real person" not in formats.citation(table)


def test_a_citation_names_source_versions_and_table() -> None:
    assert formats.citation(deaths()) == (
        "Office of Invention: Deaths by region and sex; Deaths, an invented year; "
        "data version 2026-11-01, policy version p3; table ab12ab12ab12ab12; "
        "protected by noise with discreet 0.1.0. Licence: CC-BY-4.0. "
        "Synthetic data: no real person is described."
    )


def test_typical_error_is_the_reach_of_the_noise_interval() -> None:
    assert formats.typical_error(deaths()) == (
        "Typical error ±6 (95 % noise interval; not sampling error)."
    )
    assert formats.typical_error(make([axis("r", ["a"])], (False,), noise=False)) == ""


def test_law_and_question_are_written_exactly() -> None:
    """Fractions travel as exact text, never as floats."""
    document = json.loads(formats.to_bytes(deaths(), "json-stat"))
    law = document["extension"]["law"]
    assert law["laws"][0]["parameters"] == {"epsilon": "0.5"}
    assert law["laws"][0]["ratio"] == str(PureLaplace.of("0.5").ratio)
    assert document["extension"]["question"]["parameters"]["epsilon"] == "0.5"
    assert Fraction(document["extension"]["noise"]["coverage"]) == Fraction(19, 20)


def test_a_table_of_one_status_only_is_written() -> None:
    """Nothing shown at all: every number empty, and the note says why."""
    table = make([axis("r", ["a", "b"])], (True,), status=[Status.SUPPRESSED] * 3)
    assert formats.to_bytes(table, "csv").decode().splitlines()[1] == "R0,a,,s,,,"
    assert any("3 of 3 cells (100 %) are suppressed" in line for line in formats.footnote(table))
    assert isinstance(table, ProtectedTable)
    assert isinstance(table.domain, Domain)


def test_a_workbook_prints_on_as_few_pages_as_it_can() -> None:
    """Every sheet as wide as a page; a table's heads come again on each; the file has a title."""
    book = openpyxl.load_workbook(io.BytesIO(formats.to_bytes(deaths(), "xlsx")))
    assert book.properties.title == deaths().provenance.dataset_title
    for sheet in book:
        assert (sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight) in ((1, 0), (None, 0))
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
        assert sheet.page_setup.orientation == "landscape"
    table = book["Table 1"]
    rows = list(table.iter_rows(values_only=True))
    head = next(number for number, row in enumerate(rows, 1) if row[0] == "region")
    assert table.print_title_rows == f"${head}:${head}"
