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
from ..languages import Sentence, counted, say
from .flat import Flat, flatten
from .footnote import about
from .notes import SUBJECTS, SYNTHETIC, typical_error
from .xlsx_headings import headings
from .xlsx_rows import MOST_TEXT, Rows, cell_text, fill

MOST_ROWS = 1_048_576
"""What a sheet of Excel can hold."""

LAW = "law"
"""The item of the sheet Metadata that holds the law of a table, as JSON, in one row or several."""

Row = Sequence[object]
_SAID = {
    "population": say("Population"),
    "period": say("Period"),
    "source": say("Source"),
    "licence": say("Licence"),
    "contact": say("Contact"),
}


def save(tables: Sequence[ProtectedTable], stream: BinaryIO) -> None:
    """Write one workbook of all tables."""
    most = MOST_ROWS - 10
    for table in tables:
        if table.cells > most:
            raise InputError(
                say(
                    "A sheet of Excel holds {most} rows, and '{title}' has {cells} cells. Write it "
                    "as csv or parquet, or ask for fewer cells.",
                    most=most,
                    title=table.title,
                    cells=table.cells,
                )
            )
    import xlsxwriter

    flats = [flatten(table) for table in tables]
    texts_stay = ("strings_to_formulas", "strings_to_urls", "strings_to_numbers")
    options = {"in_memory": True, **dict.fromkeys(texts_stay, False)}
    shell = io.BytesIO()
    with xlsxwriter.Workbook(shell, options) as book:
        rows = _Workbook(book, tables[0].layout.language).fill(tables, flats)
    fill(shell.getvalue(), stream, rows)


_A4 = 9


class _Workbook:
    """The sheets in the order a reader opens them."""

    def __init__(self, book: Any, language: str) -> None:
        self.book, self.language = book, language
        self.title = book.add_format({"bold": True, "font_size": 14})
        self.wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        self.whole = book.add_format({"num_format": "#,##0"})
        self.real = book.add_format({"num_format": "0.00"})
        self.link = book.add_format({"font_color": "#0563C1", "underline": 1})

    def tell(self, words: Sentence) -> str:
        """A sentence in the workbook's language."""
        return words.says(self.language)

    def fill(self, tables: Sequence[ProtectedTable], flats: Sequence[Flat]) -> dict[str, Rows]:
        """Every sheet, the tables with one specimen row; where their own rows go."""
        self._describe(tables[0])
        facts = [about(t, flat) for t, flat in zip(tables, flats, strict=True)]
        names = [self.tell(say("Table {n}", n=str(n + 1))) for n in range(len(tables))]
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

    def _describe(self, first: ProtectedTable) -> None:
        """What a file manager shows of the workbook."""
        about_it = first.provenance
        self.book.set_properties(
            {
                "title": cell_text(first.tells(about_it.dataset_title or about_it.dataset)),
                "created": datetime(2000, 1, 1),  # fixed: the same tables give the same bytes
                "comments": self.tell(say("Written by discreet.")),
            }
        )

    def _sheet(self, name: str, title: str, widths: Sequence[int]) -> Any:
        sheet = self.book.add_worksheet(name)
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width)
        sheet.write_string(0, 0, cell_text(title), self.title)
        sheet.set_paper(_A4)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)  # as wide as a page, as long as it is
        return sheet

    def _cover(self, tables: Sequence[ProtectedTable], facts: Sequence[dict[str, Any]]) -> None:
        first, tells = tables[0].provenance, tables[0].tells
        title = tells(first.dataset_title or first.dataset)
        sheet = self._sheet(self.tell(say("Cover")), title, [110])
        lines = [self.tell(counted("{n} protected table.", "{n} protected tables.", len(tables)))]
        if any(table.provenance.synthetic for table in tables):
            lines.append(tells(SYNTHETIC))
        lines += [fact["guarantee"]["sentence"] for fact in facts]
        lines += [
            f"{tells(words)}: {tells(getattr(first, name))}"
            for name, words in _SAID.items()
            if getattr(first, name)
        ]
        lines.append(
            self.tell(say("Numbers carry noise or rules: read the sheet Notes before using them."))
        )
        lines += [tells(say("Cite as: {citation}", citation=fact["citation"])) for fact in facts]
        for row, line in enumerate(dict.fromkeys(lines), start=1):
            sheet.write_string(row, 0, cell_text(line), self.wrapped)

    def _contents(self, tables: Sequence[ProtectedTable], names: Sequence[str]) -> None:
        contents = self.tell(say("Contents"))
        sheet = self._sheet(contents, contents, [14, 90, 14])
        law = say("Question, versions, guarantee and law of each table")
        rows: list[Row] = [
            (name, table.tells(table.title), table.cells)
            for name, table in zip(names, tables, strict=True)
        ]
        notes, facts = say("Notes"), say("Metadata")
        rows += [
            (self.tell(notes), self.tell(say("What to know before using the numbers")), ""),
            (self.tell(facts), self.tell(law), ""),
        ]
        header = say("Sheet"), say("What it holds"), say("Cells")
        self._grid(sheet, 1, self._told(header), rows, "Contents", links=True)

    def _told(self, words: Sequence[Sentence]) -> list[str]:
        return [self.tell(each) for each in words]

    def _table(self, name: str, table: ProtectedTable, flat: Flat) -> int:
        """One sheet; returns the row of the header, counted from 1."""
        widths = []
        for axis in flat.axes:
            widths += [12, min(max(map(len, axis.labels), default=10) + 2, 60)]
        title = table.tells(table.title) or name
        sheet = self._sheet(name, title, [*widths, 12, 9, *(10 for _ in flat.numbers)])
        said = [table.tells(table.guarantee.sentence()), typical_error(table)]
        said.append(self.tell(say("Codes in square brackets are explained on the sheet Notes.")))
        row = 1
        for line in filter(None, said):
            sheet.write_string(row, 0, cell_text(line))
            row += 1
        specimen: list[object] = ["-"] * (2 * len(flat.axes)) + [0, "-"]
        specimen += [0.0 if column.dtype.kind == "f" else 0 for column in flat.numbers.values()]
        self._grid(sheet, row, headings(flat), [specimen], name.replace(" ", "_"))
        sheet.freeze_panes(row + 1, 0)
        sheet.repeat_rows(row)
        return row + 1

    def _notes(self, named: Sequence[tuple[str, dict[str, Any]]]) -> None:
        notes, codes, citation = self._told((say("Notes"), say("Codes"), say("Citation")))
        sheet = self._sheet(notes, notes, [12, 20, 120])
        rows = [
            (name, self.tell(SUBJECTS[note["kind"]]), note["words"])
            for name, fact in named
            for note in fact["notes"]
        ]
        statuses = dict(status for _, fact in named for status in fact["status"].items())
        every = self.tell(say("all"))
        rows += [(every, codes, f"[{letter}] {words}.") for letter, words in statuses.items()]
        rows += [
            (name, citation, self.tell(say("Cite as: {citation}", citation=fact["citation"])))
            for name, fact in named
        ]
        header = say("Table"), say("About"), say("Note")
        self._grid(sheet, 1, self._told(header), rows, "Notes_list")

    def _metadata(self, named: Sequence[tuple[str, dict[str, Any]]]) -> None:
        metadata = self.tell(say("Metadata"))
        sheet = self._sheet(metadata, metadata, [12, 28, 100])
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
        header = say("Table"), say("Item"), say("Value")
        self._grid(sheet, 1, self._told(header), rows, "Metadata_list")

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
