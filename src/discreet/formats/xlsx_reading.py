"""Workbooks that discreet wrote, read back as rows: no formula is run, no entity is expanded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

from ..errors import InputError

_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MOST_XML = 1 << 28


class Workbook:
    """The sheets of a workbook by name; used in a `with` block."""

    def __init__(self, file: Path) -> None:
        self._book = ZipFile(file)
        try:
            self._texts = [
                "".join(part.text or "" for part in item.iter(f"{_SHEET}t"))
                for item in self._xml("xl/sharedStrings.xml").iter(f"{_SHEET}si")
            ]
            sheets = self._xml("xl/workbook.xml").iter(f"{_SHEET}sheet")
            self.names = [sheet.get("name") or "" for sheet in sheets]
        except BaseException:
            self._book.close()
            raise

    def rows(self, name: str) -> Iterator[list[str | None]]:
        """The rows of a sheet; a cell without content is None, a number is its text."""
        place = self.names.index(name) + 1
        for row in self._xml(f"xl/worksheets/sheet{place}.xml").iter(f"{_SHEET}row"):
            yield [self._cell(cell) for cell in row.iter(f"{_SHEET}c")]

    def _cell(self, cell: ElementTree.Element) -> str | None:
        value = cell.findtext(f"{_SHEET}v")
        if value is None or cell.get("t") != "s":
            return value
        return _unescaped(self._texts[int(value)])

    def _xml(self, name: str) -> ElementTree.Element:
        if self._book.getinfo(name).file_size > _MOST_XML:
            raise InputError(f"{name} of this workbook is too large to be read.")
        text = self._book.read(
            name
        ).decode()  # ours is UTF-8; another encoding could hide a DOCTYPE
        if "<!DOCTYPE" in text:  # ours has none, and entities could grow without end
            raise InputError("This workbook was not written by discreet.")
        # without a DOCTYPE there are no entities
        return ElementTree.fromstring(text)  # nosec B314

    def __enter__(self) -> Workbook:
        return self

    def __exit__(self, *_: object) -> None:
        self._book.close()


def _unescaped(text: str) -> str:
    """Excel's own escape of characters that XML cannot hold."""
    return re.sub("_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), text)
