"""The law of a table's cells, read from a file that carries it.

JSON-stat, the CSVW file beside a CSV, Parquet and XLSX hold it in full. PX and SDMX-CSV name only its
digest, so that another file of the same table can be recognised.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from ..core.cell_law import CellLaw
from ..errors import InputError
from .xlsx import LAW
from .xlsx_reading import Workbook


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
    except (
        *(OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError),
        *(SyntaxError, BadZipFile),
    ):
        raise InputError(
            f"No law of a table could be read from {file.name}. Give a file that discreet wrote."
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
    with Workbook(file) as book:
        return [json.loads(facts[LAW]) for facts in metadata(book).values()]


def metadata(book: Workbook) -> dict[str, dict[str, str]]:
    """What the last sheet, Metadata, says by table; what was too long for a cell is put together."""
    facts: dict[str, dict[str, str]] = {}
    for row in book.rows(book.names[-1]):
        if len(row) == 3 and row[0] in book.names and row[0] and row[1]:
            known = facts.setdefault(row[0], {})
            known[row[1]] = known.get(row[1], "") + (row[2] or "")
    return facts


_READERS: dict[str, Callable[[Path], list[Mapping[str, Any]]]] = {
    ".json": _json_stat,
    ".csv": _csvw,
    ".parquet": _parquet,
    ".xlsx": _xlsx,
}
