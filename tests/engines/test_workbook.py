"""Workbooks read as the program that wrote them would save them as CSV; what is not exact stops."""

from __future__ import annotations

import csv
import datetime
import io
import random
import re
import zipfile
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter

import discreet as dc
from discreet.core.domain import AxisRef, Count
from discreet.core.true_values import reveal
from discreet.engines.workbook import Workbook
from discreet.errors import DataError
from discreet.workspace import DataSet, UnitChoice, init
from discreet.workspace.description_file import read


def book(path: Path, *rows: list[object], sheets: tuple[str, ...] = ("People",)) -> Path:
    """A workbook with these rows in its first sheet."""
    with xlsxwriter.Workbook(str(path), {"default_date_format": "dd.mm.yyyy"}) as made:
        for number, name in enumerate(sheets):
            sheet = made.add_worksheet(name)
            for place, row in enumerate(rows if not number else [["other"], ["x"]]):
                for column, value in enumerate(row):
                    if isinstance(value, tuple):
                        number_format = made.add_format({"num_format": value[1]})
                        sheet.write(place, column, value[0], number_format)
                    else:
                        sheet.write(place, column, value)
    return path


def texts(path: Path, sheet: str = "People") -> list[list[str | None]]:
    with Workbook(path) as workbook:
        return [row for _, row in workbook.rows(sheet)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (-0.5, "-0.5"),
        (0.1 + 0.2, "0.3"),
        (1e15, "1000000000000000"),
        (1.5e-7, "0.00000015"),
        (12345.678, "12345.678"),
        ((7, "00000"), "00007"),
        ((0.25, "0%"), "0.25"),
        ((45351, "yyyy-mm-dd"), "2024-02-29"),
        ((45351.75, 'd. mmm "um" h:mm'), "2024-02-29 18:00:00"),
        ((0.5, "h:mm"), "12:00:00"),
        ((59, "d/m/yy"), "1900-02-28"),
        ((61, "d/m/yy"), "1900-03-01"),
        ((3, '0 "days"'), "3"),
        ((3, "[Red]0"), "3"),
        (datetime.date(1999, 12, 31), "1999-12-31"),
        (True, "true"),
        ("007", "007"),
        (" zwölf\nZeilen & <mehr>", " zwölf\nZeilen & <mehr>"),
    ],
)
def test_a_cell_is_the_text_it_stands_for(tmp_path: Path, value: object, text: str) -> None:
    path = book(tmp_path / "b.xlsx", ["a"], [value])
    assert texts(path)[1] == [text]


def test_the_same_as_another_reader(tmp_path: Path) -> None:
    """A thousand random cells, read by openpyxl too; written by it too."""
    chance = random.Random(4)

    def value() -> object:
        return chance.choice(
            [
                None,
                chance.randrange(-(10**9), 10**9),
                chance.randrange(10**6) / 1000,
                f"t{chance.randrange(99)} ü",
                datetime.datetime(2020, 1, 1) + datetime.timedelta(chance.randrange(4000)),
            ]
        )

    rows = [[value() for _ in range(10)] for _ in range(100)]
    other = openpyxl.Workbook()
    other.active.title = "People"  # type: ignore[union-attr]
    for row in rows:
        other.active.append(row)  # type: ignore[union-attr]
    other.save(tmp_path / "other.xlsx")
    ours = book(tmp_path / "ours.xlsx", *rows)
    for path in (ours, tmp_path / "other.xlsx"):
        sheet = openpyxl.load_workbook(path)["People"]
        wanted = [[_text(cell.value) for cell in row] for row in sheet.iter_rows()]
        found = [row + [None] * (10 - len(row)) for row in texts(path)]
        assert found == [row for row in wanted if any(row)]


def _text(value: object) -> str | None:
    if isinstance(value, datetime.datetime):
        return str(value.date())
    return None if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


@pytest.mark.slow
def test_a_workbook_gives_the_counts_of_its_csv(tmp_path: Path) -> None:
    """The same records from a sheet and from a CSV file: the same variables, the same counts."""
    chance = random.Random(2)
    names = ["person_id", "sex", "code", "day", "wage"]
    first = datetime.date(2020, 1, 1)
    rows = [
        [
            number // 2,
            chance.choice("fm"),
            (chance.randrange(1, 5), "000"),
            first + datetime.timedelta(chance.randrange(700)),
            chance.randrange(100, 90_000) / 100,
        ]
        for number in range(600)
    ]
    book(tmp_path / "b.xlsx", [], names, *rows, sheets=("People", "Notes"))
    lines = io.StringIO(newline="")
    csv.writer(lines).writerows([names, *([*r[:2], f"{r[2][0]:03d}", *r[3:]] for r in rows)])
    (tmp_path / "b.csv").write_text(lines.getvalue())
    found = {}
    for kind in ("xlsx", "csv"):
        folder = tmp_path / kind
        started = init(tmp_path / f"b.{kind}", folder, unit=UnitChoice("person", "person_id", 2))
        assert started.loaded is not None
        with DataSet.open(folder) as data:
            counts = {}
            for variable in data.description.variables:
                (table,) = data.engine().count(
                    [Count((AxisRef(variable.name, variable.finest.name),))]
                )
                codes = variable.finest.codes
                cells = reveal(table)
                counts[variable.name] = {
                    codes[a]: int(n) for a, n in zip(cells.addresses, cells.counts, strict=True)
                }
            found[kind] = counts
    assert found["xlsx"] == found["csv"]
    assert set(found["csv"]) == {"sex", "code", "day", "wage"}
    assert read(tmp_path / "xlsx").source_keys["table"] == "People"
    assert dc.load(tmp_path / "xlsx").unchanged


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("b.xlsx::Peple", "no sheet 'Peple'. Did you mean People"),
        ("b.xlsx::Notes", "no records, only column names|no column that can be a variable"),
    ],
)
def test_which_sheet_is_said(tmp_path: Path, name: str, says: str) -> None:
    book(tmp_path / "b.xlsx", ["sex"], *[["f"], ["m"]] * 20, sheets=("People", "Notes"))
    with pytest.raises(DataError, match=says):
        init(f"{tmp_path}/{name}", tmp_path / "set")


def test_what_is_not_exact_stops_at_its_cell(tmp_path: Path) -> None:
    """An error value, a formula without a result, a value beyond the names, a name missing."""
    with xlsxwriter.Workbook(str(tmp_path / "e.xlsx")) as made:
        sheet = made.add_worksheet("People")
        sheet.write_row(0, 0, ["a", "b"])
        sheet.write_formula(1, 1, "=1/0", value="#DIV/0!")
    with pytest.raises(DataError, match=r"Cell B2 of e.xlsx holds the error #DIV/0!"):
        texts(tmp_path / "e.xlsx")
    other = openpyxl.Workbook()
    other.active.append(["a"])  # type: ignore[union-attr]
    other.active.append(["=1+1"])  # type: ignore[union-attr]
    other.save(tmp_path / "f.xlsx")
    with pytest.raises(DataError, match=r"Cell A2 of f.xlsx holds a formula whose result"):
        texts(tmp_path / "f.xlsx", "Sheet")
    book(tmp_path / "w.xlsx", ["a"], ["x", "y"])
    with pytest.raises(DataError, match=r"Row 2 of w.xlsx::People has a value beyond"):
        init(tmp_path / "w.xlsx", tmp_path / "set")
    book(tmp_path / "n.xlsx", ["a", None, "c"], ["x", "y", "z"])
    with pytest.raises(DataError, match=r"Column 2 of n.xlsx::People has no name"):
        init(tmp_path / "n.xlsx", tmp_path / "set")
    assert not (tmp_path / "set").exists()


def changed(path: Path, part: str, change: tuple[str, str]) -> Path:
    """A copy of a workbook with one text of one part replaced."""
    target = path.with_name(f"changed-{path.name}")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name).decode()
            new.writestr(
                name, re.sub(change[0], change[1], content, count=1) if name == part else content
            )
    return target


@pytest.mark.parametrize(
    ("part", "change", "says"),
    [
        (
            "xl/sharedStrings.xml",
            ("<sst", '<!DOCTYPE x [<!ENTITY e "eee">]><sst'),
            "declares entities of its own",
        ),
        ("xl/worksheets/sheet1.xml", ("</sheetData>", ""), "read to its end"),
        ("xl/worksheets/sheet1.xml", ("<v>0</v>", "<v>99</v>"), "read to its end"),
        ("xl/worksheets/sheet1.xml", ("<v>7</v>", "<v>seven</v>"), "read to its end"),
    ],
)
def test_damaged_and_hostile_workbooks_get_one_sentence(
    tmp_path: Path, part: str, change: tuple[str, str], says: str
) -> None:
    path = changed(book(tmp_path / "b.xlsx", ["a", "b"], ["x", 7]), part, change)
    with pytest.raises(DataError, match=says):
        init(path, tmp_path / "set")
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize("number", ["1e400", "-1e400", "nan", "inf"])
@pytest.mark.parametrize("style", ["0", "yyyy-mm-dd"])
def test_what_is_no_number_stops_at_its_cell(tmp_path: Path, number: str, style: str) -> None:
    """Whatever its format, it has no text that a spreadsheet would save."""
    path = book(tmp_path / "b.xlsx", ["a", "b"], ["x", (7, style)])
    path = changed(path, "xl/worksheets/sheet1.xml", ("<v>7</v>", f"<v>{number}</v>"))
    with pytest.raises(DataError, match=r"Cell B2 of .* which is no number"):
        texts(path)


def test_half_a_character_stays_as_it_is_written(tmp_path: Path) -> None:
    """It has no bytes of its own."""
    path = book(tmp_path / "b.xlsx", ["a"], ["plain"])
    path = changed(path, "xl/sharedStrings.xml", ("plain", "_xD800__x0041_"))
    assert texts(path) == [["a"], ["_xD800_A"]]
