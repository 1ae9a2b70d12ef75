"""The rows of a large Excel table, streamed into a workbook that XlsxWriter has laid out.

XlsxWriter keeps every cell of a marked table in memory and takes several microseconds for each.
So it writes the workbook with one specimen row a table, and here that row is replaced, on the
way into the final file, by the table's own rows in the same styles, block by block.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from ..core.table import Status
from .flat import Flat
from .numerals import Mask, Real, Whole

MARKS = {Status.SUPPRESSED: "c"}
"""Marks that are not the status's own letter: [c] is what spreadsheets of statistics use."""
_BLOCK = 1 << 15
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_ESCAPE = re.compile("(_x[0-9a-fA-F]{4}_)")
_CELL = re.compile(r'<c r="([A-Z]+)\d+"(?: s="(\d+)")?')

MOST_TEXT = 32_767
"""What a cell of Excel can hold."""


@dataclass(frozen=True)
class Rows:
    """Where the rows of a table go: below the header in row `header` (from 1) of a sheet."""

    flat: Flat
    header: int
    sheet: str
    table: str

    @property
    def is_large(self) -> bool:
        """Whether the sheet's XML may pass 2 GiB, beyond which an archive needs wider fields."""
        return len(self.flat) * len(self.flat.names) * 80 > 1 << 31


_STRINGS = "xl/sharedStrings.xml"


def fill(shell: bytes, stream: BinaryIO, tables: Mapping[str, Rows]) -> None:
    """Copy the workbook, putting each table's rows in place of its specimen row."""
    parts = {rows.table: rows for rows in tables.values()}
    with (
        zipfile.ZipFile(io.BytesIO(shell)) as source,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as target,
    ):
        strings = _Strings(source.read(_STRINGS).decode())
        # The shared strings come last: they grow while the sheets are written.
        for item in sorted(source.infolist(), key=lambda item: item.filename == _STRINGS):
            info = zipfile.ZipInfo(item.filename, item.date_time)
            info.compress_type = zipfile.ZIP_DEFLATED
            content = source.read(item).decode()
            large = item.filename in tables and tables[item.filename].is_large
            with target.open(info, "w", force_zip64=large) as out:
                if item.filename in tables:
                    for text in _sheet(content, tables[item.filename], strings):
                        out.write(text.encode())
                elif item.filename in parts:
                    out.write(_grown(content, parts[item.filename]).encode())
                elif item.filename == _STRINGS:
                    out.write(strings.to_xml().encode(errors="replace"))
                else:
                    out.write(content.encode())


class _Strings:
    """The workbook's shared strings: those XlsxWriter wrote, and ours after them."""

    def __init__(self, content: str) -> None:
        self.content = content
        self.before = content.count("<si>")
        self.added: dict[str, int] = {}

    def cell(self, text: str) -> str:
        """The rest of a cell that holds a text, whatever it begins with; nothing for no text."""
        if not text:
            return "/>"
        index = self.added.setdefault(text, self.before + len(self.added))
        return f' t="s"><v>{index}</v></c>'

    def to_xml(self) -> str:
        """All of them; the counts are optional in the format and left out."""
        added = "".join(
            f'<si><t xml:space="preserve">{_escaped(text)}</t></si>' for text in self.added
        )
        head, tail = self.content.rsplit("</sst>", 1)
        return re.sub(r' (count|uniqueCount)="\d+"', "", head, count=2) + added + "</sst>" + tail


def cell_text(text: str) -> str:
    """Text that fits a cell; what is cut ends in an ellipsis."""
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def _grown(content: str, rows: Rows) -> str:
    """Ranges that end at the specimen row, made to end at the last row."""
    first, last = rows.header + 1, rows.header + len(rows.flat)
    return re.sub(rf'(ref="A\d+:[A-Z]+){first}"', rf'\g<1>{last}"', content)


def _sheet(content: str, rows: Rows, strings: _Strings) -> Iterator[str]:
    first = rows.header + 1
    start = content.index(f'<row r="{first}"')
    end = content.index("</row>", start) + len("</row>")
    styles = [(column, style) for column, style in _CELL.findall(content[start:end])]
    yield _grown(content[:start], rows)
    yield from _rows(rows.flat, first, styles, strings)
    yield content[end:]


def _rows(
    flat: Flat, first: int, styles: list[tuple[str, str]], strings: _Strings
) -> Iterator[str]:
    """The rows as XML; one template, filled once a row, says where every cell is."""
    cells = "".join(
        f'<c r="{column}%d"' + (f' s="{style}"' if style else "") + "%s" for column, style in styles
    )
    template = f'<row r="%d">{cells}</row>'
    marks = np.array(
        [strings.cell(f"[{MARKS.get(s, s.letter)}]" if s.letter else "") for s in Status],
        dtype=object,
    )
    texts = [
        (
            np.array(list(map(strings.cell, axis.codes)), object),
            np.array(list(map(strings.cell, axis.labels)), object),
        )
        for axis in flat.axes
    ]
    positions = [flat.positions(place) for place in range(len(flat.axes))]
    for start in range(0, len(flat), _BLOCK):
        block = slice(start, start + _BLOCK)
        columns: list[list[str]] = []
        for (codes, labels), place in zip(texts, positions, strict=True):
            columns += [codes[place[block]].tolist(), labels[place[block]].tolist()]
        columns.append(_numbers(flat.values, flat.shown, block))
        columns.append(marks[flat.status[block]].tolist())
        columns += [
            _numbers(column, flat.shown_in(name), block) for name, column in flat.numbers.items()
        ]
        places = range(first + start, first + min(start + _BLOCK, len(flat)))
        slots: list[list[str] | range] = [places]
        for column in columns:
            slots += [places, column]
        yield "".join(map(template.__mod__, zip(*slots, strict=True)))


def _numbers(column: Whole | Real, shown: Mask, block: slice) -> list[str]:
    written = [f"><v>{number!r}</v></c>" for number in column[block].tolist()]
    for i in np.flatnonzero(~shown[block]).tolist():
        written[i] = "/>"
    return written


def _escaped(text: str) -> str:
    """Text as the format writes it: control characters as _xHHHH_, and what looks so marked."""
    text = _ESCAPE.sub(r"_x005F\1", cell_text(text))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _CONTROL.sub(lambda found: f"_x{ord(found.group()):04X}_", text)
