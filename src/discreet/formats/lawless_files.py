"""PX and SDMX-CSV files, read back: their numbers and statuses, and the digest of a law they cannot hold."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..core.cell_law import CellLaw
from ..core.table import ProtectedTable, Status
from ..errors import InputError
from .px import SYMBOLS
from .table_files import UNREADABLE, table_of, with_law

_MARKS = {symbol: status for status, symbol in SYMBOLS.items()}
_LETTERS = {status.letter: status for status in Status}
_STATEMENT = re.compile(r'((?:[^;"]|"[^"]*")*);', re.DOTALL)
_TEXT = re.compile(r'"([^"]*)"')
_DIGEST = re.compile(r"The law of the cells is\s+([0-9a-f]{64})")


@dataclass(frozen=True)
class Lawless:
    """A table, and the digest of its law where the file names it."""

    table: ProtectedTable
    digest: str
    form: str

    def with_law(self, law: CellLaw | None, *, of_table: bool) -> ProtectedTable:
        """The table with its law, which another file of the same table holds."""
        if law is None:
            named = f" (only its digest, {self.digest[:16]}…)" if self.digest else ""
            raise InputError(
                f"{self.form} has no place for the law of the cells{named}. Use the JSON-stat, CSV, Parquet "
                "or XLSX file of the same table, or name one of them: --law FILE."
            )
        if of_table and self.digest and law.digest != self.digest:
            raise InputError(
                f"The law given is {law.digest[:16]}…, that of this table is {self.digest[:16]}…: it is the "
                "law of another table."
            )
        return with_law(self.table, law)


def is_lawless(file: Path) -> bool:
    """Whether a file is of a format that cannot hold a law."""
    return file.name.lower().endswith((".px", ".sdmx.csv"))


def read_lawless(file: Path) -> Lawless:
    """The one table of a PX or SDMX-CSV file that discreet wrote."""
    if not file.is_file():
        raise InputError(f"There is no file {file}.")
    try:
        text = file.read_text(encoding="utf-8-sig")
        return _px(text) if file.suffix.lower() == ".px" else _sdmx(text)
    except UNREADABLE:
        raise InputError(
            f"No table could be read from {file.name}. Give a PX or SDMX-CSV file that discreet wrote."
        ) from None


def _sdmx(text: str) -> Lawless:
    header, *rows = csv.reader(text.splitlines())
    at = header.index("OBS_VALUE")
    names, letters = header[3:at], header.index("CELL_STATUS")
    labels = [header.index(f"{name}_LABEL") for name in names]
    table = table_of(
        [
            (name, [row[3 + i] for row in rows], [row[labels[i]] for row in rows])
            for i, name in enumerate(names)
        ],
        [int(row[at] or 0) for row in rows],
        [_LETTERS[row[letters]] for row in rows],
        rows[0][header.index("TITLE")],
    )
    return Lawless(table, rows[0][header.index("LAW")], "SDMX-CSV")


def _px(text: str) -> Lawless:
    said = dict(_statements(text))
    names = _texts(said.get("STUB", "")) + _texts(said.get("HEADING", ""))
    codes = [_texts(said[f'CODES("{name}")']) for name in names]
    labels = [_texts(said[f'VALUES("{name}")']) for name in names]
    cells = said["DATA"].split()
    columns, after = [], len(cells)
    for name, own, words in zip(names, codes, labels, strict=True):
        after //= len(own)
        places = [(i // after) % len(own) for i in range(len(cells))]
        columns.append((name, [own[p] for p in places], [words[p] for p in places]))
    marks = [_MARKS[cell.strip('"')] if cell.startswith('"') else Status.OK for cell in cells]
    values = [0 if cell.startswith('"') else int(cell) for cell in cells]
    found = _DIGEST.search("".join(_texts(said.get("NOTE", ""))))
    title = "".join(_texts(said.get("TITLE", "")))
    return Lawless(table_of(columns, values, marks, title), found[1] if found else "", "PX")


def _statements(text: str) -> Iterator[tuple[str, str]]:
    """Keywords with their values; texts may hold semicolons."""
    for statement in _STATEMENT.findall(text):
        keyword, mark, value = statement.strip().partition("=")
        if mark:
            yield keyword.strip(), value.strip()


def _texts(value: str) -> list[str]:
    return _TEXT.findall(value)
