"""The law of a table's cells, read from a file that carries it.

JSON-stat, the CSVW file beside a CSV, Parquet and XLSX hold it in full. PX and SDMX-CSV name only its
digest, so that another file of the same table can be recognised.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from ..core.cell_law import CellLaw
from ..errors import InputError
from .xlsx import LAW

_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_MOST_XML = 1 << 28


def read_laws(path: str | Path) -> list[CellLaw]:
    """The law of every table of a file, in order; InputError where it carries none."""
    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    if reader is None or file.name.lower().endswith(".sdmx.csv"):
        raise InputError(
            f"{file.name} does not carry the law of its cells. Use the JSON-stat, CSV, Parquet or "
            "XLSX file of the same table."
        )
    try:
        return [CellLaw.from_json(law) for law in reader(file)]
    except InputError:
        raise
    except (OSError, ValueError, LookupError, TypeError, SyntaxError, BadZipFile) as problem:
        raise InputError(
            f"No law of a table could be read from {file.name} ({type(problem).__name__})."
        ) from None


def _json_stat(file: Path) -> list[Mapping[str, Any]]:
    document = json.loads(file.read_text(encoding="utf-8"))
    several = document.get("class") == "collection"
    items = document["link"]["item"] if several else [document]
    return [item["extension"]["law"] for item in items]


def _csvw(file: Path) -> list[Mapping[str, Any]]:
    beside = file.with_name(f"{file.name}-metadata.json")
    return [json.loads(beside.read_text(encoding="utf-8"))["notes"][0]["law"]]


def _parquet(file: Path) -> list[Mapping[str, Any]]:
    parquet: Any = importlib.import_module("pyarrow.parquet")
    footer = parquet.read_schema(file).metadata
    return [json.loads(footer[b"discreet"])["law"]]


def _xlsx(file: Path) -> list[Mapping[str, Any]]:
    """The rows `law` of the sheet Metadata, those of one table put together."""
    with ZipFile(file) as book:
        texts = [
            "".join(part.text or "" for part in item.iter(f"{_SHEET}t"))
            for item in _xml(book, "xl/sharedStrings.xml").iter(f"{_SHEET}si")
        ]
        sheets = [
            sheet.get("name") for sheet in _xml(book, "xl/workbook.xml").iter(f"{_SHEET}sheet")
        ]
        place = sheets.index("Metadata") + 1
        texts_by_table: dict[str, str] = {}
        for row in _xml(book, f"xl/worksheets/sheet{place}.xml").iter(f"{_SHEET}row"):
            cells = [cell.findtext(f"{_SHEET}v") for cell in row.iter(f"{_SHEET}c")]
            words = [texts[int(cell)] for cell in cells if cell is not None]
            if len(words) == 3 and words[1] == LAW:
                texts_by_table[words[0]] = texts_by_table.get(words[0], "") + _unescaped(words[2])
    return [json.loads(text) for text in texts_by_table.values()]


def _xml(book: ZipFile, name: str) -> ElementTree.Element:
    if book.getinfo(name).file_size > _MOST_XML:
        raise InputError(f"{name} of this workbook is too large to be read for its law.")
    text = book.read(name).decode()  # ours is UTF-8; another encoding could hide a DOCTYPE
    if "<!DOCTYPE" in text:  # ours has none, and entities could grow without end
        raise InputError("This workbook was not written by discreet.")
    # without a DOCTYPE there are no entities
    return ElementTree.fromstring(text)  # nosec B314


def _unescaped(text: str) -> str:
    """Excel's own escape of characters that XML cannot hold."""
    return re.sub("_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), text)


_READERS: dict[str, Callable[[Path], list[Mapping[str, Any]]]] = {
    ".json": _json_stat,
    ".csv": _csvw,
    ".parquet": _parquet,
    ".xlsx": _xlsx,
}
