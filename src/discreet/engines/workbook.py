"""Workbooks (.xlsx) as rows of texts: what the program that wrote them would save as CSV, exactly.

A number is written with the 15 digits a spreadsheet has, a date as 2024-02-29 whatever its format
shows, a code that its format fills with zeros with those zeros. A formula is its saved result and is
never run. What cannot be said exactly, an error value or a formula without a result, stops the
reading at its cell. Rows are read one at a time; a document type, and with it every entity, is refused.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cached_property, lru_cache
from math import isfinite
from pathlib import Path
from types import TracebackType
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from ..errors import DataError

Attributes = dict[str, str]
_CHUNK = 1 << 16
_DIGITS = 15
"""As many digits as a spreadsheet shows of a number."""

_MOST_TEXTS = 1 << 30
"""Bytes of XML that are kept in memory at most: the texts that cells share."""

_DATES = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
"""Number formats that mean dates or times without saying so."""

_QUOTED = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


class Workbook:
    """The sheets of a workbook; used in a `with` block."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        try:
            self._file = ZipFile(path)
        except (BadZipFile, OSError):
            raise DataError(
                f"{path.name} is no workbook, or a damaged one. Open it and save it again as .xlsx."
            ) from None

    def __enter__(self) -> Workbook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._file.close()

    @cached_property
    def sheets(self) -> dict[str, str]:
        """The names of the sheets, each with the part of the file that holds it."""
        targets: dict[str, str] = {}
        listed: list[tuple[str, str]] = []

        def relation(tag: str, said: Attributes) -> None:
            if tag == "Relationship" and "Target" in said:
                target = said["Target"]
                targets[said.get("Id", "")] = target[1:] if target[:1] == "/" else f"xl/{target}"

        def sheet(tag: str, said: Attributes) -> None:
            if tag == "sheet":
                place = next((said[name] for name in said if _local(name) == "id"), "")
                listed.append((said.get("name", ""), place))
            elif tag == "workbookPr":
                self._from_1904 = said.get("date1904") in ("1", "true")

        self._walk("xl/_rels/workbook.xml.rels", relation)
        self._walk("xl/workbook.xml", sheet)
        return {name: targets[place] for name, place in listed if place in targets}

    _from_1904 = False

    def rows(self, sheet: str) -> Iterator[tuple[int, list[str | None]]]:
        """Every row that is not empty, with its number; the cells from column A on."""
        part = self.sheets[sheet]
        reader = _Rows(self)
        for _ in self._events(part, reader.start, reader.end, reader.text):
            yield from reader.taken()
        yield from reader.taken()

    @cached_property
    def texts(self) -> list[str]:
        """The texts that cells share."""
        if "xl/sharedStrings.xml" not in self._file.namelist():
            return []
        if self._file.getinfo("xl/sharedStrings.xml").file_size > _MOST_TEXTS:
            raise DataError(f"{self.name} holds too much text. Save its sheet as CSV.")
        found: list[list[str]] = []
        inside: list[str] = []

        def start(tag: str, _: Attributes) -> None:
            inside.append(tag)
            if tag == "si":
                found.append([])

        def text(words: str) -> None:
            # how a text is pronounced (rPh) is no part of it
            if inside[-1:] == ["t"] and "rPh" not in inside:
                found[-1].append(words)

        self._walk("xl/sharedStrings.xml", start, lambda _: inside.pop(), text)
        return [plain("".join(parts)) for parts in found]

    @cached_property
    def styles(self) -> list[str]:
        """For each style of cells what its numbers are: "", "date", or as many zeros as they fill."""
        own: dict[int, str] = {}
        used: list[int] = []
        inside: list[str] = []

        def start(tag: str, said: Attributes) -> None:
            inside.append(tag)
            if tag == "numFmt":
                own[int(said["numFmtId"])] = said.get("formatCode", "")
            elif tag == "xf" and "cellXfs" in inside:
                used.append(int(said.get("numFmtId", "0")))

        if "xl/styles.xml" in self._file.namelist():
            self._walk("xl/styles.xml", start, lambda _: inside.pop())
        return [_kind(number, own.get(number, "")) for number in used]

    def date(self, serial: Decimal) -> str:
        """The day and time that a number of days stands for, to the second."""
        days, seconds = divmod(int((serial * 86_400).to_integral_value()), 86_400)
        time = str(datetime.timedelta(seconds=seconds)).rjust(8, "0")
        if self._from_1904:
            first = datetime.date(1904, 1, 1)
        elif days == 60:
            return "1900-02-29"  # a day of spreadsheets alone
        else:
            first = datetime.date(1899, 12, 30) + datetime.timedelta(days < 60)
        if not days and seconds and not self._from_1904:
            return time
        try:
            day = first + datetime.timedelta(days)
        except OverflowError:
            return f"{serial:f}"
        return f"{day} {time}" if seconds else str(day)

    def _walk(
        self,
        part: str,
        start: Callable[[str, Attributes], object],
        end: Callable[[str], object] | None = None,
        text: Callable[[str], object] | None = None,
    ) -> None:
        for _ in self._events(part, start, end, text):
            pass

    def _events(
        self,
        part: str,
        start: Callable[[str, Attributes], object],
        end: Callable[[str], object] | None,
        text: Callable[[str], object] | None,
    ) -> Iterator[None]:
        """Parse a part of the file piece by piece; what is met goes to the handlers."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._no_entities
        parser.StartElementHandler = lambda tag, said: start(_local(tag), said)
        if end is not None:
            parser.EndElementHandler = lambda tag: end(_local(tag))
        if text is not None:
            parser.CharacterDataHandler = text
        try:
            with self._file.open(part) as stream:
                while piece := stream.read(_CHUNK):
                    parser.Parse(piece, False)
                    yield
                parser.Parse(b"", True)
        except (LookupError, ValueError, expat.ExpatError, BadZipFile, ZlibError, EOFError):
            raise DataError(
                f"{self.name} is no workbook that can be read to its end. Open it and save it again as "
                ".xlsx, without a password."
            ) from None

    def _no_entities(self, *_: object) -> None:
        raise DataError(
            f"{self.name} declares entities of its own, which no spreadsheet program does. Open it and "
            "save it again as .xlsx."
        )


class _Rows:
    """Collects the rows of a sheet while it is parsed."""

    def __init__(self, book: Workbook) -> None:
        self._book = book
        self._ready: list[tuple[int, list[str | None]]] = []
        self._row: list[str | None] = []
        self._number = 0
        self._inside = ""
        self._cell: Attributes = {}
        self._words: list[str] = []
        self._formula = False

    def start(self, tag: str, said: Attributes) -> None:
        """A row, a cell, or a part of a cell begins."""
        if tag == "row":
            self._number = int(said.get("r", self._number + 1))
            self._row = []
        elif tag == "c":
            self._cell, self._words, self._formula = said, [], False
        elif tag == "f":
            self._formula = True
        self._inside = tag

    def text(self, words: str) -> None:
        """Words inside of an element."""
        if self._inside in ("v", "t"):
            self._words.append(words)

    def end(self, tag: str) -> None:
        """A cell is whole, or a row."""
        self._inside = ""
        if tag == "c":
            place = _column(self._cell.get("r", ""), len(self._row))
            self._row += [None] * (place - len(self._row))
            self._row.append(self._value())
        elif tag == "row" and any(value is not None for value in self._row):
            self._ready.append((self._number, self._row))

    def taken(self) -> list[tuple[int, list[str | None]]]:
        """The rows that are whole, once."""
        ready, self._ready = self._ready, []
        return ready

    def _value(self) -> str | None:
        kind, words = self._cell.get("t", "n"), "".join(self._words)
        if not words:
            if self._formula and kind != "str":
                raise DataError(
                    f"{self._where} holds a formula whose result was not saved. Open the file in a "
                    "spreadsheet program and save it."
                )
            return None
        if kind == "n":
            return self._number_text(words)
        if kind == "s":
            return self._book.texts[abs(int(words))] or None
        if kind in ("str", "inlineStr"):
            return plain(words)
        if kind == "b":
            return "true" if words == "1" else "false"
        if kind == "e":
            raise DataError(f"{self._where} holds the error {words[:20]}. Mend or empty it there.")
        return words.removesuffix("T00:00:00")  # a date, written as such

    @property
    def _where(self) -> str:
        return f"Cell {self._cell.get('r', '')} of {self._book.name}"

    def _number_text(self, words: str) -> str:
        styles, style = self._book.styles, int(self._cell.get("s", "0"))
        shown = styles[style] if style < len(styles) else ""
        if not shown and words.isdecimal() and len(words) <= _DIGITS:
            return words
        number = float(words)
        if not isfinite(number):
            raise DataError(
                f"{self._where} holds {words[:20]!r}, which is no number. Mend or empty it there."
            )
        if shown == "date" and number >= 0:
            return self._book.date(Decimal(repr(number)))
        digits = Decimal(f"{number:.{_DIGITS}g}")
        text = f"{digits:f}" if digits else "0"
        return text.zfill(len(shown)) if shown and text.isdigit() else text


def plain(text: str) -> str:
    """A text without the escapes for characters that XML cannot hold.

    >>> plain("a_x000D_b") == "a\\rb", plain("_xD800_")
    (True, '_xD800_')
    """
    return _ESCAPED.sub(lambda found: _sign(int(found[1], 16), found[0]), text)


def _sign(number: int, written: str) -> str:
    """A character by its number; half of one is left as it is written."""
    return written if 0xD800 <= number < 0xE000 else chr(number)


def _kind(number: int, code: str) -> str:
    """What numbers in a format are: dates, codes filled with zeros, or plain.

    >>> _kind(14, ""), _kind(164, "dd/mm/yyyy"), _kind(165, "00000"), _kind(166, '0.0 "days"')
    ('date', 'date', '00000', '')
    """
    if number in _DATES:
        return "date"
    if re.fullmatch("0{2,}", code):
        return code
    signs = _QUOTED.sub("", code.partition(";")[0]).lower()
    return "date" if "general" not in signs and re.search("[ymdhs]", signs) else ""


def _local(name: str) -> str:
    """A name without the prefix of its namespace, which any writer chooses for itself."""
    return name.rpartition(":")[2]


def _column(reference: str, default: int) -> int:
    """Where a cell stands in its row, after those that are there: A1 is 0.

    >>> [_column(reference, 0) for reference in ("A1", "Z9", "AA10", "")], _column("", 7)
    ([0, 25, 26, 0], 7)
    """
    return max(_place(reference.rstrip("0123456789")), default)


@lru_cache(maxsize=1 << 15)
def _place(letters: str) -> int:
    if len(letters) > 3 or not all("A" <= letter <= "Z" for letter in letters):
        raise ValueError(letters[:9])
    place = 0
    for letter in letters:
        place = place * 26 + ord(letter) - ord("A") + 1
    return place - 1
