"""Sources opened for reading: every kind becomes one relation with columns c0, c1, … in DuckDB.

Names from the source appear in SQL only quoted (`sql.py`). CSV text stays text; SQLite and workbooks,
whose values have types of their own, are copied as text (`copied_sources.py`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa

from ...durable import OWN_FOLDER
from ...errors import DataError
from .. import csv_dialect
from ..coding import Dialect, Source
from ..other_files import refuse_other_files
from ..sql import Sql, joined, plain, sql
from .copied_sources import open_sqlite, open_workbook
from .quoting import identifier, literal
from .reading import Wanted
from .relation import (
    RELATION,
    STAGED,
    Opened,
    checked_names,
    chosen_table,
    show,
    stage,
    staged_columns,
)
from .scratch import nameless_file
from .statements import Connection, Runner
from .streamed_sources import open_postgres, open_spark


@contextmanager
def opened(
    runner: Runner, source: Source, folder: Path, wanted: Wanted | None = None
) -> Iterator[Opened]:
    """The source as the relation `RELATION` of the runner's connection.

    `folder` is for scratch files, which are gone afterwards. A text file is parsed once, into a
    scratch table of the `wanted` columns (all by default); the other kinds are read in place.
    """
    if source.address is None:
        _readable(source)
    wanted = wanted or Wanted()
    scratch = folder / "scratch"
    try:
        scratch.mkdir(mode=OWN_FOLDER)
    except OSError as error:
        raise runner.sentence(error) from None
    try:
        if source.kind == "csv":
            yield _open_csv(runner, source, scratch, wanted)
        elif source.kind in ("sqlite", "xlsx"):
            copied = open_sqlite if source.kind == "sqlite" else open_workbook
            yield copied(runner, source, scratch, wanted)
        elif source.kind in ("postgres", "spark"):
            streamed = open_postgres if source.kind == "postgres" else open_spark
            yield streamed(runner, source, scratch, wanted)
        else:
            in_place = _open_parquet if source.kind == "parquet" else _open_duckdb
            yield replace(in_place(runner, source), wanted=wanted)
    finally:
        _forget(runner.connection)
        shutil.rmtree(scratch, ignore_errors=True)


def _readable(source: Source) -> None:
    if not (path := source.path).exists():
        raise DataError(f"There is no file {path.name!r}. Check the path.")
    if path.is_dir():
        raise DataError(f"{path.name or str(path)!r} is a folder. Name one file in it.")
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        raise DataError(f"{path.name} cannot be read. Check its permissions.") from None
    if not start:
        raise DataError(f"{path.name} is empty. It needs a line of column names and records.")
    if source.kind == "csv":
        refuse_other_files(path, start)


def _view(connection: Connection, names: tuple[str, ...], relation: Sql) -> tuple[str, ...]:
    """Show a relation as c0, c1, …; returns the types."""
    named = enumerate(names)
    columns = joined(", ", (sql("{of} AS c{i}", of=identifier(name), i=i) for i, name in named))
    show(connection, sql("SELECT {columns} FROM {of}", columns=columns, of=relation))
    rows = connection.execute(sql("DESCRIBE {view}", view=RELATION)).fetchall()
    return tuple(str(row[1]) for row in rows)


def _open_csv(runner: Runner, source: Source, scratch: Path, wanted: Wanted) -> Opened:
    dialect, written = csv_dialect.detect(source.path, source.options, runner.control)
    names = checked_names(source, written)
    types = ("VARCHAR",) * len(names)
    relation = Opened(source, names, types, dialect, wanted=wanted, staged=True)
    relation.kept()  # a column that is not there is told before the file is read
    path = source.path
    stage(runner, scratch)
    with ExitStack() as files:
        if not csv_dialect.is_utf8(dialect.encoding):
            try:
                path = files.enter_context(nameless_file(scratch, "source.csv"))
                csv_dialect.as_utf8(source.path, dialect.encoding, path, runner.control)
            except OSError as error:
                raise runner.sentence(error) from None
        try:
            _read_csv(runner, relation, dialect, path)
        except DataError:
            mended = files.enter_context(nameless_file(scratch, "lines.csv"))
            if not csv_dialect.one_line_end(path, mended, runner.control):
                raise
            _read_csv(runner, relation, dialect, mended)
    show(runner.connection, sql("SELECT * FROM {staged}", staged=STAGED))
    return relation


def _read_csv(runner: Runner, relation: Opened, dialect: Dialect, path: Path) -> None:
    """Copy what is wanted into the scratch database."""
    every = range(len(relation.names))
    columns = joined(", ", (sql("'c{i}': 'VARCHAR'", i=i) for i in every))
    runner.run(
        sql(
            "CREATE TABLE {staged} AS SELECT {chosen} FROM read_csv({path}, auto_detect=false, "
            "strict_mode=true, header={header}, delim={delimiter}, quote={quote}, "
            "escape={escape}, max_line_size=16777216, skip={skip}, columns={ {columns} }) s",
            staged=STAGED,
            chosen=staged_columns(relation),
            path=literal(str(path.absolute())),
            header=plain("true" if dialect.header else "false"),
            delimiter=literal(dialect.delimiter),
            quote=literal(dialect.quote),
            escape=literal(dialect.escape or dialect.quote),
            skip=dialect.blank_lines,
            columns=columns,
        ),
        relation.wanted.parameters,
        doing=f"reading {relation.source.name}",
        share=(0.02, 0.1),
    )


def _open_parquet(runner: Runner, source: Source) -> Opened:
    import pyarrow.parquet as pq

    try:
        metadata = pq.ParquetFile(source.path).metadata  # type: ignore[no-untyped-call]
        written = list(metadata.schema.to_arrow_schema().names)
    except (pa.ArrowException, OSError):
        raise DataError(
            f"{source.path.name} is not a Parquet file. If it is CSV, give it a name in .csv."
        ) from None
    names = checked_names(source, written)
    try:
        path = literal(str(source.path.absolute()))
        file = sql("read_parquet({path}, hive_partitioning=false)", path=path)
        types = _view(runner.connection, names, file)
    except duckdb.Error as error:
        raise runner.sentence(error) from None
    return Opened(source, names, types, records=metadata.num_rows)


def _open_duckdb(runner: Runner, source: Source) -> Opened:
    connection = runner.connection
    path = literal(str(source.path.absolute()))
    try:
        connection.execute(
            sql("ATTACH {path} AS discreet_attached (TYPE duckdb, READ_ONLY)", path=path)
        )
    except duckdb.Error as error:
        if "lock" in str(error).lower() or "already attached" in str(error).lower():
            raise DataError(
                f"{source.path.name} is in use by another program. Close it there and try again."
            ) from None
        raise DataError(f"{source.path.name} is not a DuckDB database.") from None
    tables = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables "
        "WHERE table_catalog = 'discreet_attached' ORDER BY 1, 2"
    ).fetchall()
    known = {
        name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in tables
    }
    chosen = chosen_table(source, list(known))
    schema, table = known[chosen]
    relation = joined(".", (plain("discreet_attached"), identifier(schema), identifier(table)))
    try:
        rows = connection.execute(sql("DESCRIBE {relation}", relation=relation)).fetchall()
        names = checked_names(source, [str(row[0]) for row in rows])
        types = _view(connection, names, relation)
    except duckdb.Error as error:
        raise runner.sentence(error) from None
    return Opened(replace(source, table=chosen), names, types)


def _forget(connection: Connection) -> None:
    """Let go of a source, whatever happened to the connection meanwhile."""
    for statement in (
        sql("DROP VIEW IF EXISTS {view}", view=RELATION),
        "DETACH DATABASE IF EXISTS discreet_attached",
        "DETACH DATABASE IF EXISTS discreet_staged",
    ):
        with suppress(duckdb.Error):
            connection.execute(statement)
