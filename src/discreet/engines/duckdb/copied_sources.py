"""Sources that Python reads and copies as text into a scratch table: SQLite and workbooks."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa

from ...errors import DataError, did_you_mean
from ..coding import Source
from ..sql import joined, sql
from ..workbook import Workbook
from .quoting import identifier
from .reading import Wanted
from .relation import STAGED, Opened, checked_names, chosen_table, show, some, stage, staged_columns
from .statements import Runner

_BATCH = 10_000
"""Records copied at once; progress is told after each batch."""


def open_sqlite(runner: Runner, source: Source, scratch: Path, wanted: Wanted) -> Opened:
    """A table of a database, whose values have types of their own; raw bytes become missing."""
    database = sqlite3.connect(f"{source.path.absolute().as_uri()}?mode=ro", uri=True)
    with closing(database):
        try:
            rows = database.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            ).fetchall()
        except sqlite3.Error:
            raise DataError(f"{source.path.name} is not an SQLite database.") from None
        chosen = chosen_table(source, [str(row[0]) for row in rows])
        try:
            cursor = database.execute(sql("SELECT * FROM {table}", table=identifier(chosen)))
            names = checked_names(source, [str(column[0]) for column in cursor.description])
            relation = Opened(source, names, ("VARCHAR",) * len(names), wanted=wanted, staged=True)
            records, raw = _copy(runner, cursor, relation, scratch)
        except sqlite3.Error:
            raise DataError(
                f"{source.name} cannot be read to its end: the database is damaged or in use."
            ) from None
    types = tuple("BLOB" if i in raw else "VARCHAR" for i in range(len(names)))
    return replace(relation, source=replace(source, table=chosen), types=types, records=records)


def open_workbook(runner: Runner, source: Source, scratch: Path, wanted: Wanted) -> Opened:
    """A sheet, the first where none is named; its first row that is not empty has the names."""
    with Workbook(source.path) as book:
        sheets = list(book.sheets)
        if source.table is not None and source.table not in sheets:
            raise DataError(
                f"{source.path.name} has no sheet {source.table!r}."
                f"{did_you_mean(source.table, sheets)} It has {some(sheets)}."
            )
        if not sheets:
            raise DataError(f"{source.path.name} has no sheet with cells.")
        chosen = replace(source, table=source.table or sheets[0])
        rows = book.rows(str(chosen.table))
        _, head = next(rows, (0, []))
        if not head:
            raise DataError(f"{chosen.name} is empty. It needs a row of column names and records.")
        names = checked_names(chosen, [(name or "").strip() for name in head])
        relation = Opened(chosen, names, ("VARCHAR",) * len(names), wanted=wanted, staged=True)
        records, _ = _copy(runner, _of_width(chosen, rows, len(names)), relation, scratch)
    return replace(relation, records=records)


def _of_width(
    source: Source, rows: Iterable[tuple[int, list[str | None]]], width: int
) -> Iterator[Sequence[str | None]]:
    """Rows with a cell for each name."""
    for number, row in rows:
        if any(value is not None for value in row[width:]):
            raise DataError(
                f"Row {number:,} of {source.name} has a value beyond the last column that has a name. "
                "Name that column, or empty its cells."
            )
        yield (row + [None] * (width - len(row)))[:width]


def _copy(
    runner: Runner, rows: Iterable[Sequence[object]], relation: Opened, scratch: Path
) -> tuple[int, set[int]]:
    """Copy every record; how many, and which columns hold raw bytes, which become missing."""
    records, raw, width = 0, set[int](), len(relation.names)
    schema = pa.schema([(f"c{i}", pa.string()) for i in range(width)])
    try:
        _make_table(runner, relation, scratch)
        every = iter(rows)
        while some_rows := list(itertools.islice(every, _BATCH)):
            columns = [[_text(row[i]) for row in some_rows] for i in range(width)]
            raw |= {i for i in range(width) if any(isinstance(row[i], bytes) for row in some_rows)}
            arrays = [pa.array(column, pa.string()) for column in columns]
            runner.connection.register(
                "discreet_batch", pa.Table.from_arrays(arrays, schema=schema)
            )
            runner.connection.execute(
                sql(
                    "INSERT INTO {staged} SELECT {chosen} FROM discreet_batch s",
                    staged=STAGED,
                    chosen=staged_columns(relation),
                ),
                relation.wanted.parameters,
            )
            runner.connection.unregister("discreet_batch")
            records += len(some_rows)
            runner.control.step(0.0, f"reading {relation.source.name}: {records:,} records")
    except duckdb.Error as error:
        raise runner.sentence(error) from None
    return records, raw


def _make_table(runner: Runner, relation: Opened, scratch: Path) -> None:
    """The scratch table, empty: the wanted columns, and the key in the id's place."""
    stage(runner, scratch)
    columns = [sql("c{i} VARCHAR", i=i) for i in relation.kept()]
    columns += [] if relation.wanted.id is None else [sql("u UBIGINT")]
    runner.connection.execute(
        sql("CREATE TABLE {staged} ({all})", staged=STAGED, all=joined(", ", columns))
    )
    show(runner.connection, sql("SELECT * FROM {staged}", staged=STAGED))


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return None
    return repr(value) if isinstance(value, float) else str(value)
