"""The formats by name, and how a file is put in its place: whole or not at all.

Every format is a function from protected tables to bytes on a stream. A file is written beside
its target under another name, synced, and then takes the target's place, so a reader sees the
old file or the new one. Nothing but a `ProtectedTable` is accepted.
"""

from __future__ import annotations

import importlib
import io
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, TypeAlias, cast

from ..core.table import ProtectedTable
from ..durable import SHARED, replacing
from ..errors import DiscreetError, InputError, StoreError, did_you_mean
from ..languages import say
from .flat import require_protected

Save: TypeAlias = Callable[[Sequence[ProtectedTable], BinaryIO], None]


@dataclass(frozen=True)
class Format:
    """One way to write tables; its module, of the same name, is imported when it is first used."""

    name: str
    title: str
    extension: str
    media_type: str
    many: bool = False
    """Whether one file holds several tables."""
    beside: str = ""
    """What is appended to the file's name for the companion file; empty: there is none."""
    companion: str = ""
    """The module that writes the companion."""

    @property
    def is_text(self) -> bool:
        """Whether a file of it is text, in UTF-8."""
        return self.media_type.startswith(
            (
                "text/",
                "application/json",
                "application/vnd.sdmx.",
                "image/svg",
                "application/vnd.vega",
            )
        )

    @property
    def save(self) -> Save:
        """The function that writes."""
        module = self.name.replace("-", "")
        save: Save = importlib.import_module(f"discreet.formats.{module}").save
        return save


FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Format(
            "csv",
            say("CSV with CSVW metadata beside it"),
            ".csv",
            "text/csv",
            beside="-metadata.json",
            companion="csvw",
        ),
        Format("parquet", "Parquet", ".parquet", "application/vnd.apache.parquet"),
        Format("json-stat", "JSON-stat 2.0", ".json", "application/json", many=True),
        Format(
            "xlsx",
            say("Excel workbook"),
            ".xlsx",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            many=True,
        ),
        Format("px", "PX (PC-Axis)", ".px", "text/x-px"),
        Format(
            "sdmx-csv",
            "SDMX-CSV 2.0",
            ".sdmx.csv",
            "application/vnd.sdmx.data+csv",
            beside="-structure.xml",
            companion="sdmxstructure",
        ),
    )
}

VIEWS: dict[str, Format] = {
    form.name: form
    for form in (
        Format("html", say("Web page"), ".html", "text/html"),
        Format("svg", say("Picture"), ".svg", "image/svg+xml"),
        Format("vega-lite", "Vega-Lite", ".vl.json", "application/vnd.vegalite.v5+json"),
    )
}
"""Ways to look at a table: for eyes, not read back."""

VARIANTS: dict[str, Format] = {
    form.name: form
    for form in (
        Format(
            "csv-bom",
            "CSV that spreadsheets open by a double click",
            ".csv",
            "text/csv",
            beside="-metadata.json",
            companion="csvw",
        ),
        Format(
            "sdmx-structure",
            "The structure of the SDMX-CSV file alone",
            ".sdmx.xml",
            "application/vnd.sdmx.structure+xml",
        ),
    )
}
"""A format written slightly otherwise, for those who ask for it by name."""

_ALIASES = {
    "jsonstat": "json-stat",
    "json": "json-stat",
    "excel": "xlsx",
    "csvw": "csv",
    "pc-axis": "px",
    "sdmx": "sdmx-csv",
}
_ENDINGS = {".pq": "parquet", ".jsonstat": "json-stat"}


def by_name(name: str) -> Format:
    """The format of that name, or InputError with the nearest ones."""
    key = name.strip().casefold()
    found = FORMATS.get(_ALIASES.get(key, key)) or VIEWS.get(key) or VARIANTS.get(key)
    if found is None:
        raise InputError(
            f"There is no format {name!r}; there are {', '.join([*FORMATS, *VIEWS])}."
            f"{did_you_mean(name, [*FORMATS, *VIEWS, *VARIANTS, *_ALIASES])}"
        )
    return found


def by_extension(path: str | os.PathLike[str]) -> str:
    """The name of the format that a file's ending means.

    >>> by_extension("deaths.parquet")
    'parquet'
    """
    every = (*FORMATS.values(), *VIEWS.values())
    endings = {form.extension: form.name for form in every} | _ENDINGS
    for ending in sorted(endings, key=len, reverse=True):
        if Path(path).name.casefold().endswith(ending):
            return endings[ending]
    known = ", ".join(form.extension for form in FORMATS.values())
    raise InputError(
        f"The file name {Path(path).name!r} does not say its format; endings known are {known}. "
        "Name the format (--format csv) or change the ending."
    )


IN_FOLDERS = ("csv", "xlsx")
"""What a folder's tables are written as where nothing else is said."""


def one_file(path: Path, formats: str | Sequence[str] | None) -> str:
    """The format where a path means one file: it is named, or the ending is known; else empty.

    >>> one_file(Path("deaths.xlsx"), None), one_file(Path("out"), None), one_file(Path("t"), "px")
    ('xlsx', '', 'px')
    """
    if isinstance(formats, str) and formats:
        return by_name(formats).name
    if formats or path.is_dir() or not path.suffix:
        return ""
    try:
        return by_extension(path)
    except InputError:
        return ""


def write(
    tables: ProtectedTable | Sequence[ProtectedTable],
    target: str | os.PathLike[str] | IO[bytes] | IO[str],
    format: str = "",
) -> list[Path]:
    """Write one table, or several where the format can hold them; return the files written.

    `target` is a path, replaced as a whole, or an open stream; a stream gets the file alone,
    without its companion. Without `format` the path's ending decides.
    """
    given: Sequence[object] = tables if isinstance(tables, list | tuple) else [tables]
    for table in given:
        require_protected(table)
    listed = cast("list[ProtectedTable]", list(given))
    path = Path(os.fspath(target)) if isinstance(target, str | os.PathLike) else None
    if not format and path is None:
        raise InputError(f"A stream has no ending: name the format, one of {', '.join(FORMATS)}.")
    form = by_name(format or by_extension(path or ""))
    if not listed:
        raise InputError("There is no table to write: give one or more protected tables.")
    if len(listed) > 1 and not form.many:
        several = " or ".join(each.name for each in FORMATS.values() if each.many)
        raise InputError(
            f"A {form.name} file holds one table, got {len(listed)}. "
            f"Write each to a file of its own, or use {several}."
        )
    if path is None:
        _to_stream(form, listed, target)  # type: ignore[arg-type]
        return []
    return _to_path(form, listed, path)


def to_bytes(tables: ProtectedTable | Sequence[ProtectedTable], format: str) -> bytes:
    """The file as bytes."""
    stream = io.BytesIO()
    write(tables, stream, format)
    return stream.getvalue()


def _to_stream(form: Format, tables: Sequence[ProtectedTable], stream: IO[bytes] | IO[str]) -> None:
    if not isinstance(stream, io.TextIOBase):
        form.save(tables, stream)  # type: ignore[arg-type]
        return
    if not form.is_text:
        raise InputError(f"A {form.name} file is not text: open the stream in binary mode.")
    binary = io.BytesIO()
    form.save(tables, binary)
    stream.write(binary.getvalue().decode())


def _to_path(form: Format, tables: Sequence[ProtectedTable], path: Path) -> list[Path]:
    with new_file(path) as stream:
        form.save(tables, stream)
        return [path, *write_beside(form.name, tables[0], path)]


def write_beside(format: str, table: ProtectedTable, path: Path) -> list[Path]:
    """Write what lies beside a file of this format, where anything does; the files written."""
    form = by_name(format)
    if not form.beside or _is_device(path):
        return []
    module = importlib.import_module(f"discreet.formats.{form.companion}")
    beside = path.with_name(path.name + form.beside)
    with new_file(beside) as stream:
        stream.write(module.companion(table, path.name))
    return [beside]


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A stream into a file to hand on, there whole or not at all; a device is written as it is."""
    with _plain_errors(path):
        if _is_device(path):
            with path.open("wb") as device:
                yield device
            return
        with replacing(path.resolve(), mode=SHARED) as stream:
            yield stream


def _is_device(path: Path) -> bool:
    return path.exists() and stat.S_ISCHR(path.stat().st_mode)


@contextmanager
def _plain_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind: type[DiscreetError] = InputError
        why = (error.strerror or str(error)).lower()
        if isinstance(error, FileNotFoundError):
            why = f"the folder {path.parent} does not exist. Make it first."
        elif isinstance(error, IsADirectoryError):
            why = "it is a folder. Give the name of a file in it."
        elif isinstance(error, PermissionError | NotADirectoryError):
            why += ". Choose a folder you may write in."
        else:
            kind = StoreError
            why += ". Nothing was replaced; free some space or choose another place, and try again."
        raise kind(f"Cannot write {path}: {why}") from None
