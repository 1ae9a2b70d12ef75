"""XLSX: cover, contents, one table a sheet, notes, metadata; nothing merged, nothing run.

The title is in A1, the words follow without a blank row, the table is a marked Excel table with
one header row. Numbers are numbers; statuses stand beside them in square brackets. Text is
written as text whatever it begins with.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, BinaryIO

from ..core.table import ProtectedTable
from ..errors import InputError
from .flat import Flat, flatten
from .footnote import about
from .notes import SUBJECTS, typical_error
from .xlsx_rows import MOST_TEXT, Rows, cell_text, fill

MOST_ROWS = 1_048_576
"""What a sheet of Excel can hold."""

LAW = "law"
"""The item of the sheet Metadata that holds the law of a table, as JSON, in one row or several."""

Row = Sequence[object]
_SAID = ("population", "period", "source", "licence", "contact")


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write one workbook of all tables."""
    most = MOST_ROWS - 10
    for table in tables:
        if table.cells > most:
            raise InputError(
                f"A sheet of Excel holds {most:,} rows, and {table.title!r} has {table.cells:,} "
                "cells. Write it as csv or parquet, or ask for fewer cells."
            )
    import xlsxwriter

    flats = [flatten(table) for table in tables]
    texts_stay = ("strings_to_formulas", "strings_to_urls", "strings_to_numbers")
    options = {"in_memory": True, **dict.fromkeys(texts_stay, False)}
    shell = io.BytesIO()
    with xlsxwriter.Workbook(shell, options) as book:
        rows = _Workbook(book).fill(tables, flats)
    fill(shell.getvalue(), stream, rows)


class _Workbook:
    """The sheets in the order a reader opens them."""

    def __init__(self, book: Any) -> None:
        self.book = book
        # A fixed date: the same tables give the same bytes.
        book.set_properties({"created": datetime(2000, 1, 1), "comments": "Written by discreet."})
        self.title = book.add_format({"bold": True, "font_size": 14})
        self.wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        self.whole = book.add_format({"num_format": "#,##0"})
        self.real = book.add_format({"num_format": "0.00"})
        self.link = book.add_format({"font_color": "#0563C1", "underline": 1})

    def fill(self, tables: Sequence[ProtectedTable], flats: Sequence[Flat]) -> dict[str, Rows]:
        """Every sheet, the tables with one specimen row; where their own rows go."""
        facts = [about(t, flat) for t, flat in zip(tables, flats, strict=True)]
        names = [f"Table {number}" for number in range(1, len(tables) + 1)]
        self._cover(tables, facts)
        self._contents(tables, names)
        places = {}
        # Parts are numbered in the order they are made: two sheets and one table come before.
        for number, (name, table, flat) in enumerate(zip(names, tables, flats, strict=True)):
            header = self._table(name, table, flat)
            sheet = f"xl/worksheets/sheet{number + 3}.xml"
            places[sheet] = Rows(flat, header, sheet, f"xl/tables/table{number + 2}.xml")
        named = list(zip(names, facts, strict=True))
        self._notes(named)
        self._metadata(named)
        return places

    def _sheet(self, name: str, title: str, widths: Sequence[int]) -> Any:
        sheet = self.book.add_worksheet(name)
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width)
        sheet.write_string(0, 0, cell_text(title), self.title)
        return sheet

    def _cover(self, tables: Sequence[ProtectedTable], facts: Sequence[dict[str, Any]]) -> None:
        first = tables[0].provenance
        sheet = self._sheet("Cover", first.dataset_title or first.dataset, [110])
        lines = [f"{len(tables)} protected {'table' if len(tables) == 1 else 'tables'}."]
        if any(table.provenance.synthetic for table in tables):
            lines.append("Synthetic data: no real person is described.")
        lines += [table.guarantee.sentence() for table in tables]
        said = {name: getattr(first, name) for name in _SAID}
        lines += [f"{name.capitalize()}: {value}" for name, value in said.items() if value]
        lines.append("Numbers carry noise or rules: read the sheet Notes before using them.")
        lines += [f"Cite as: {fact['citation']}" for fact in facts]
        for row, line in enumerate(dict.fromkeys(lines), start=1):
            sheet.write_string(row, 0, cell_text(line), self.wrapped)

    def _contents(self, tables: Sequence[ProtectedTable], names: Sequence[str]) -> None:
        sheet = self._sheet("Contents", "Contents", [14, 90, 14])
        rows = [
            *((name, table.title, table.cells) for name, table in zip(names, tables, strict=True)),
            ("Notes", "What to know before using the numbers", ""),
            ("Metadata", "Question, versions, guarantee and law of each table", ""),
        ]
        self._grid(sheet, 1, ("Sheet", "What it holds", "Cells"), rows, "Contents", links=True)

    def _table(self, name: str, table: ProtectedTable, flat: Flat) -> int:
        """One sheet; returns the row of the header, counted from 1."""
        widths = []
        for axis in flat.axes:
            widths += [12, min(max(map(len, axis.labels), default=10) + 2, 60)]
        sheet = self._sheet(
            name, table.title or name, [*widths, 12, 9, *(10 for _ in flat.numbers)]
        )
        said = [table.guarantee.sentence(), typical_error(table)]
        said.append("Codes in square brackets are explained on the sheet Notes.")
        row = 1
        for line in filter(None, said):
            sheet.write_string(row, 0, cell_text(line))
            row += 1
        specimen: list[object] = ["-"] * (2 * len(flat.axes)) + [0, "-"]
        specimen += [0.0 if column.dtype.kind == "f" else 0 for column in flat.numbers.values()]
        self._grid(sheet, row, flat.names, [specimen], name.replace(" ", "_"))
        sheet.freeze_panes(row + 1, 0)
        return row + 1

    def _notes(self, named: Sequence[tuple[str, dict[str, Any]]]) -> None:
        sheet = self._sheet("Notes", "Notes", [12, 20, 120])
        rows = [
            (name, SUBJECTS[note["kind"]], note["words"])
            for name, fact in named
            for note in fact["notes"]
        ]
        statuses = dict(status for _, fact in named for status in fact["status"].items())
        rows += [("all", "Codes", f"[{letter}] {words}.") for letter, words in statuses.items()]
        rows += [(name, "Citation", f"Cite as: {fact['citation']}") for name, fact in named]
        self._grid(sheet, 1, ("Table", "About", "Note"), rows, "Notes_list")

    def _metadata(self, named: Sequence[tuple[str, dict[str, Any]]]) -> None:
        sheet = self._sheet("Metadata", "Metadata", [12, 28, 100])
        rows = []
        for name, fact in named:
            for key, value in fact.items():
                if key in ("notes", "status"):
                    continue
                if key == "guarantee":
                    rows += [(name, f"guarantee.{part}", _plain(v)) for part, v in value.items()]
                elif key == LAW:  # may be longer than a cell: further rows go on where one ends
                    text = _plain(value)
                    starts = range(0, len(text), MOST_TEXT)
                    rows += [(name, key, text[at : at + MOST_TEXT]) for at in starts]
                else:
                    rows.append((name, key, _plain(value)))
        self._grid(sheet, 1, ("Table", "Item", "Value"), rows, "Metadata_list")

    def _grid(
        self,
        sheet: Any,
        top: int,
        header: Sequence[str],
        rows: Sequence[Row],
        name: str,
        *,
        links: bool = False,
    ) -> None:
        """A header row and its rows, marked as an Excel table."""
        columns = [{"header": cell_text(text)} for text in header]
        options = {"name": name, "columns": columns, "style": "Table Style Light 1"}
        sheet.add_table(top, 0, top + len(rows), len(header) - 1, options)
        for number, row in enumerate(rows, start=top + 1):
            for column, value in enumerate(row):
                if links and column == 0:
                    sheet.write_url(number, 0, f"internal:'{value}'!A1", self.link, str(value))
                elif isinstance(value, str):
                    if value:
                        sheet.write_string(number, column, cell_text(value))
                elif value is not None:
                    kind = self.real if isinstance(value, float) else self.whole
                    sheet.write_number(number, column, value, kind)


def _plain(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)
