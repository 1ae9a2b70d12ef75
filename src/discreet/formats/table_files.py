"""Any file that holds a table, read back without a workspace.

JSON-stat, CSV with its CSVW file, Parquet and XLSX come back as the table that was published, with its
law. A bare CSV file (one row a cell, the number last or in a column `count`) is read too; what it
cannot say, its law above all, has to be given.
"""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from ..core.cell_law import CellLaw
from ..core.domain import TOTAL, Axis, Category, Domain, Level, Variable
from ..core.exact import exact
from ..core.guarantee import Guarantee, Kind
from ..core.question import Layout
from ..core.table import Noise, ProtectedTable, Provenance, Status
from ..core.text import Text
from ..errors import InputError
from . import percent, reading
from .escape import is_formula
from .law_files import metadata
from .xlsx_headings import headed, plain_names
from .xlsx_reading import Workbook

_STATUS = {status.letter: status for status in Status}
_NUMBERS = ("count", "value", "n", "obs_value", "freq", "frequency")
_TOTALS = {
    *(
        TOTAL.casefold(),
        "total",
        "totals",
        "all",
        "sum",
        "insgesamt",
        "gesamt",
        "zusammen",
        "summe",
    ),
    *("alle", "ensemble", "totale", "totaal", "totalt", "i alt", "razem", "celkem", "yhteensä"),
}
"""What other people call the total of a variable."""
_NOISE = ("noise_sd", "lower", "upper")
_MOST = 1 << 53
UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError),
    *(SyntaxError, BadZipFile, csv.Error),
)
"""What reading a file may fail with that holds something else than it should."""
Rows = Sequence[Sequence[str | None]]


def read_tables(path: str | Path) -> list[ProtectedTable]:
    """Every table of a file, in order; InputError where it holds none that can be read."""
    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise InputError(
            f"{file.name} is no table file that can be read: its ending must be "
            f"{', '.join(_READERS)}."
        )
    if not file.is_file():
        raise InputError(f"There is no file {file}.")
    try:
        return reader(file)
    except InputError:
        raise
    except UNREADABLE:
        raise InputError(
            f"No table could be read from {file.name}. Give a file that discreet wrote, or a CSV file "
            "in UTF-8 with a column for each variable and one named count."
        ) from None


@dataclass(frozen=True)
class _Columns:
    """The columns of a file by name, missing fields as None, and what is said beside them."""

    columns: Mapping[str, Sequence[Any]]
    facts: Mapping[str, Any]

    def table(self) -> ProtectedTable:
        """The table that was written so."""
        names = list(self.columns)
        at = names.index("status") - 1
        axes = names[:at:2]
        found, totals, shape = _axes(
            [(name, self.columns[name], self.columns[f"{name}_label"]) for name in axes]
        )
        measure, facts = names[at], self.facts
        letters = [str(letter or "").strip("[]") for letter in self.columns["status"]]
        status = np.array([_STATUS[letter] for letter in letters], dtype=np.uint8).reshape(shape)
        further = [name for name in names[at + 2 :] if name not in (*_NOISE, *percent.NAMES)]
        return ProtectedTable(
            title=facts.get("title", ""),
            domain=Domain(found),
            totals=totals,
            values=_whole(self.columns[measure], shape),
            status=status,
            guarantee=Guarantee.from_json(facts["guarantee"]),
            provenance=_provenance(facts),
            noise=self._noise(names, shape),
            extra={name: _whole(self.columns[name], shape) for name in further},
            law=CellLaw.from_json(facts.get("law", {})),
            notes=_notes(facts),
            measure=measure,
            layout=Layout(language=facts.get("language", "")),
        )

    def _noise(self, names: Sequence[str], shape: tuple[int, ...]) -> Noise | None:
        if not set(_NOISE) <= set(names):
            return None
        sd = [float(number or 0) for number in self.columns["noise_sd"]]
        return Noise(
            np.array(sd).reshape(shape),
            _whole(self.columns["lower"], shape),
            _whole(self.columns["upper"], shape),
            exact(self.facts.get("noise_interval_coverage", "0.95"), "coverage"),
        )


def _axes(
    columns: Sequence[tuple[str, Sequence[Any], Sequence[Any]]],
) -> tuple[tuple[Axis, ...], tuple[bool, ...], tuple[int, ...]]:
    """Axes, whether each has a total (its last category), and cells along each."""
    axes, totals, shape = [], [], []
    for name, codes, labels in columns:
        known = dict(zip(map(str, codes), map(str, labels), strict=True))
        shape.append(len(known))
        total = len(known) > 1 and list(known)[-1] == TOTAL
        totals.append(total)
        named = list(known.items())[: len(known) - total]
        categories = tuple(Category(code, Text.of(label)) for code, label in named)
        level = Level(name, Text.of(name), categories, tuple(range(len(categories))))
        axes.append(Axis(Variable(name, level.label, (level,)), level))
    return tuple(axes), tuple(totals), tuple(shape)


def _whole(numbers: Sequence[Any], shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    whole = [0 if number in (None, "") else int(number) for number in numbers]
    if any(abs(number) > _MOST for number in whole):
        raise ValueError("a number beyond 2^53")
    return np.array(whole, dtype=np.int64).reshape(shape)


def _provenance(facts: Mapping[str, Any]) -> Provenance:
    return Provenance(
        **{field.name: facts[field.name] for field in fields(Provenance) if field.name in facts}
    )


# -- formats --------------------------------------------------------------------------------


def _json_stat(file: Path) -> list[ProtectedTable]:
    return reading.tables(json.loads(file.read_text(encoding="utf-8")))


def _csv(file: Path) -> list[ProtectedTable]:
    beside = file.with_name(f"{file.name}-metadata.json")
    with file.open(newline="", encoding="utf-8-sig") as stream:
        header, *rows = csv.reader(stream)
    if not beside.exists():
        return [_bare(header, rows, file.name)]
    facts = json.loads(beside.read_text(encoding="utf-8"))["notes"][0]
    columns = {
        _plain(name): [_plain(field) for field in fields_]
        for name, fields_ in zip(header, zip(*rows, strict=True), strict=True)
    }
    return [_Columns(columns, facts).table()]


def _plain(text: str) -> str:
    """A field before it was made harmless for spreadsheets."""
    return text[1:] if text.startswith("'") and is_formula(text[1:]) else text


def _parquet(file: Path) -> list[ProtectedTable]:
    parquet: Any = importlib.import_module("pyarrow.parquet")
    read = parquet.read_table(file)
    facts = json.loads((read.schema.metadata or {})[b"discreet"])
    return [_Columns(read.to_pydict(), facts).table()]


def _xlsx(file: Path) -> list[ProtectedTable]:
    with Workbook(file) as book:
        return [_sheet(book, name, facts) for name, facts in metadata(book).items()]


def _sheet(book: Workbook, name: str, said: Mapping[str, str]) -> ProtectedTable:
    rows = list(book.rows(name))
    head = next(i for i, row in enumerate(rows) if set(row) & set(headed("status")))
    facts: dict[str, Any] = dict(said)
    facts["law"] = json.loads(said["law"])
    guarantee = {
        key.removeprefix("guarantee."): _value(text)
        for key, text in said.items()
        if key.startswith("guarantee.")
    }
    facts |= {"guarantee": guarantee, "question": _value(said["question"])}
    facts["synthetic"] = said.get("synthetic") == "true"
    header = plain_names([str(column) for column in rows[head]])
    columns = dict(zip(header, zip(*rows[head + 1 :], strict=True), strict=True))
    return _Columns(columns, facts).table()


def _value(text: str) -> Any:
    """A value of the sheet Metadata: plain text, or JSON of what is none."""
    if text[:1] in "[{" or text in ("true", "false"):
        return json.loads(text)
    return text or None


# -- other people's tables --------------------------------------------------------------------


def _bare(header: Sequence[str], rows: Rows, name: str) -> ProtectedTable:
    """A CSV file that only says its numbers."""
    plain = [column.strip() for column in header]
    named = [i for i, column in enumerate(plain) if column.casefold() in _NUMBERS]
    at = named[-1] if named else len(plain) - 1
    letters = plain.index("status") if "status" in plain else None
    used = [i for i in range(at) if not (i and plain[i] == f"{plain[i - 1]}_label")]
    if not used or not rows:
        raise InputError(
            f"{name} must have a column for each variable and one of numbers (count), one row a cell."
        )
    cells = {tuple(str(row[i]) for i in used): row for row in rows}
    found = [list(dict.fromkeys(str(row[i]) for row in rows)) for i in used]
    expected = int(np.prod([len(codes) for codes in found]))
    if len(cells) != len(rows) or len(rows) != expected:
        raise InputError(
            f"{name} must hold each cell once: {' × '.join(str(len(c)) for c in found)} categories are "
            f"{expected} cells, got {len(rows)} rows."
        )
    shape = tuple(len(codes) for codes in found)
    found = [_total_last(codes, plain[i], name) for codes, i in zip(found, used, strict=True)]
    values, status = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.uint8)
    columns: list[list[str]] = [[] for _ in used]
    for place in np.ndindex(*shape):
        key = tuple(codes[i] for codes, i in zip(found, place, strict=True))
        row = cells[key]
        number = str(row[at] or "").strip()
        values[place], status[place] = _bare_cell(number, name)
        if letters is not None and str(row[letters] or "").strip("[] ") in _STATUS:
            status[place] = _STATUS[str(row[letters]).strip("[] ")]
        for column, code, many in zip(columns, key, shape, strict=True):
            column.append(TOTAL if many > 1 and _is_total(code) else code)
    axes = [(plain[i], column, column) for i, column in zip(used, columns, strict=True)]
    return table_of(axes, values.ravel().tolist(), [Status(int(s)) for s in status.flat], name)


def _is_total(code: str) -> bool:
    return code.strip().casefold() in _TOTALS


def _total_last(codes: Sequence[str], axis: str, name: str) -> list[str]:
    """The categories of an axis of other people's table, their total at the end wherever it stood."""
    totals = [code for code in codes if _is_total(code)]
    if len(totals) > 1:
        raise InputError(
            f"{name} has several totals of {axis}: {', '.join(totals)[:80]}. Leave all but one out."
        )
    return [*(code for code in codes if code not in totals), *totals]


def table_of(
    columns: Sequence[tuple[str, Sequence[Any], Sequence[Any]]],
    values: Sequence[int],
    statuses: Sequence[Status],
    title: str,
) -> ProtectedTable:
    """A table of which only this is known: for each axis its name, codes and labels, cell by cell."""
    axes, totals, shape = _axes(columns)
    status = np.array(statuses, dtype=np.uint8).reshape(shape)
    nowhere: dict[str, Any] = dict.fromkeys(
        ("question_hash", "data_version", "policy_version", "software"), ""
    )
    return ProtectedTable(
        title=title,
        domain=Domain(axes),
        totals=totals,
        values=np.array(values, dtype=np.int64).reshape(shape),
        status=status,
        guarantee=Guarantee(Kind.NONE, "person", ""),
        provenance=Provenance(
            dataset=title, dataset_title="", question={}, method="unknown", **nowhere
        ),
    )


def _bare_cell(number: str, name: str) -> tuple[int, Status]:
    """A number, or a mark for one that is not shown."""
    letter = number.strip("[]")
    if letter in ("", "*", ".."):
        return 0, Status.SUPPRESSED
    if letter in _STATUS:
        return 0, _STATUS[letter]
    try:
        value = float(number.replace(",", ""))
    except ValueError:
        value = 0.5
    if not value.is_integer() or abs(value) > _MOST:
        raise InputError(
            f"{name} holds {number[:40]!r} where a whole number up to 2^53 should stand."
        )
    return int(value), Status.OK


def with_law(table: ProtectedTable, law: CellLaw) -> ProtectedTable:
    """The same table, its cells made by this law."""
    return replace(table, law=law)


_READERS: dict[str, Callable[[Path], list[ProtectedTable]]] = {
    ".json": _json_stat,
    ".csv": _csv,
    ".parquet": _parquet,
    ".xlsx": _xlsx,
}


def _notes(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What a table had to say of its data; the rest is written from the table again."""
    said = facts.get("notes", ())
    own = [one["words"] for one in said if one["kind"] == "data" and one["depth"] > 1]
    return (*own, *facts.get("footnote", ()))
