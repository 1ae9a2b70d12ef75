"""Sources opened for reading: every kind becomes one relation with columns c0, c1, … in DuckDB.

Names from the source appear in SQL only quoted (`sql.py`), and only here. CSV text stays text; SQLite, whose
values have types of their own, is read as text too.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import pyarrow as pa

from ...durable import OWN_FOLDER
from ...errors import DataError, did_you_mean
from .. import csv_dialect
from ..coding import Dialect, Source
from ..other_files import refuse_other_files
from .canonical import canonical_sql, single_valued
from .reading import Wanted, id_key
from .scratch import nameless_file
from .sql import Sql, identifier, joined, literal, plain, sql
from .statements import Connection, Runner

_SQLITE_BATCH = 50_000
RELATION = plain("discreet_source")
"""The temporary view that shows the source."""

_STAGED = plain("discreet_staged.main.staged")


@dataclass(frozen=True)
class Opened:
    """A source as a relation: column i of the source is `ci` of the relation."""

    source: Source
    names: tuple[str, ...]
    types: tuple[str, ...]
    dialect: Dialect | None = None
    records: int | None = field(default=None, repr=False)
    wanted: Wanted = field(default_factory=Wanted)
    staged: bool = False
    """The relation is a scratch table: of the id, it holds the key only."""

    def position(self, column: str) -> int:
        """Where a column stands."""
        try:
            return self.names.index(column)
        except ValueError:
            raise DataError(
                f"{self.source.name} has no column {column!r}."
                f"{did_you_mean(column, self.names)} It has {_some(self.names)}."
            ) from None

    def raw(self, column: str) -> Sql:
        """SQL for a column as it is; one that holds no single value is refused."""
        position = self.position(column)
        if not single_valued(self.types[position]):
            raise DataError(
                f"Column {column!r} of {self.source.name} holds {self.types[position].lower()} "
                "values; only texts, numbers, dates and yes/no can be coded. Leave it out."
            )
        return sql("s.c{i}", i=position)

    def text(self, column: str) -> Sql:
        """SQL for a column as canonical text."""
        return canonical_sql(self.raw(column), self.types[self.position(column)])

    @property
    def key(self) -> Sql:
        """SQL for the key of the id, over the source itself."""
        assert self.wanted.id is not None
        return id_key(self.text(self.wanted.id))

    @property
    def keyed(self) -> tuple[Sql, dict[str, object]]:
        """The relation with the key of the id as `u`, where there is one; and its parameters.

        The key is made where the source is read: nothing after that has the id.
        """
        if self.staged or self.wanted.id is None:
            return RELATION, {}
        of = sql("(SELECT *, {key} AS u FROM {source} s)", key=self.key, source=RELATION)
        return of, self.wanted.parameters

    def kept(self) -> list[int]:
        """The columns that are wanted as they are, by position."""
        return sorted({self.position(name) for name in self.wanted.columns(self.names)}) or [0]

    def counted(self, runner: Runner) -> int:
        """How many records there are, where there are any."""
        every = sql("SELECT count(*) FROM {source}", source=RELATION)
        records = self.records
        if records is None:
            ((records,),) = runner.run(every, doing="counting records")
        if not records:
            raise DataError(f"{self.source.name} has no records, only column names.")
        return int(records)


@contextmanager
def opened(
    runner: Runner, source: Source, folder: Path, wanted: Wanted | None = None
) -> Iterator[Opened]:
    """The source as the relation `RELATION` of the runner's connection.

    `folder` is for scratch files, which are gone afterwards. A text file is parsed once, into a
    scratch table of the `wanted` columns (all by default); the other kinds are read in place.
    """
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
        elif source.kind == "sqlite":
            yield _open_sqlite(runner, source, scratch, wanted)
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
        raise DataError(f"{path.name!r} is a folder. Name one file.")
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        raise DataError(f"{path.name} cannot be read. Check its permissions.") from None
    if not start:
        raise DataError(f"{path.name} is empty. It needs a line of column names and records.")
    if source.kind == "csv":
        refuse_other_files(path, start)


def _checked(source: Source, names: list[str]) -> tuple[str, ...]:
    """Column names that can be told apart, also by a database that ignores case."""
    for position, name in enumerate(names):
        if not name.strip():
            raise DataError(
                f"Column {position + 1} of {source.name} has no name. Give every column a name."
            )
    seen: dict[str, str] = {}
    for name in names:
        before = seen.get(name.casefold())
        if before is not None:
            same = before == name
            twice = f"two columns {name!r}" if same else f"columns {before!r} and {name!r}"
            raise DataError(f"{source.name} has {twice}. Give every column a name of its own.")
        seen[name.casefold()] = name
    return tuple(names)


def _view(connection: Connection, names: tuple[str, ...], relation: Sql) -> tuple[str, ...]:
    """Show a relation as c0, c1, …; returns the types."""
    named = enumerate(names)
    columns = joined(", ", (sql("{of} AS c{i}", of=identifier(name), i=i) for i, name in named))
    _show(connection, sql("SELECT {columns} FROM {of}", columns=columns, of=relation))
    rows = connection.execute(sql("DESCRIBE {view}", view=RELATION)).fetchall()
    return tuple(str(row[1]) for row in rows)


def _show(connection: Connection, what: Sql) -> None:
    connection.execute(
        sql("CREATE OR REPLACE TEMP VIEW {view} AS {what}", view=RELATION, what=what)
    )


def _open_csv(runner: Runner, source: Source, scratch: Path, wanted: Wanted) -> Opened:
    dialect, written = csv_dialect.detect(source.path, source.options, runner.control)
    names = _checked(source, written)
    types = ("VARCHAR",) * len(names)
    relation = Opened(source, names, types, dialect, wanted=wanted, staged=True)
    relation.kept()  # a column that is not there is told before the file is read
    path = source.path
    _stage(runner, scratch)
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
    _show(runner.connection, sql("SELECT * FROM {staged}", staged=_STAGED))
    return relation


def _staged_columns(relation: Opened) -> Sql:
    """What is copied into the scratch table: the wanted columns, and the key in the id's place."""
    columns = [sql("c{i}", i=i) for i in relation.kept()]
    if relation.wanted.id is not None:
        columns.append(sql("{key} AS u", key=relation.key))
    return joined(", ", columns)


def _read_csv(runner: Runner, relation: Opened, dialect: Dialect, path: Path) -> None:
    """Copy what is wanted into the scratch database."""
    every = range(len(relation.names))
    columns = joined(", ", (sql("'c{i}': 'VARCHAR'", i=i) for i in every))
    runner.run(
        sql(
            "CREATE TABLE {staged} AS SELECT {chosen} FROM read_csv({path}, auto_detect=false, "
            "strict_mode=true, header={header}, delim={delimiter}, quote={quote}, "
            "escape={escape}, max_line_size=16777216, skip={skip}, columns={ {columns} }) s",
            staged=_STAGED,
            chosen=_staged_columns(relation),
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


def _stage(runner: Runner, scratch: Path) -> None:
    """A scratch database beside the target, so that nothing of the source stays in the version."""
    path = literal(str((scratch / "staged.duckdb").absolute()))
    runner.run(sql("ATTACH {path} AS discreet_staged", path=path), doing="reading")


def _open_parquet(runner: Runner, source: Source) -> Opened:
    import pyarrow.parquet as pq

    try:
        metadata = pq.ParquetFile(source.path).metadata  # type: ignore[no-untyped-call]
        written = list(metadata.schema.to_arrow_schema().names)
    except (pa.ArrowException, OSError):
        raise DataError(
            f"{source.path.name} is not a Parquet file. If it is CSV, give it a name in .csv."
        ) from None
    names = _checked(source, written)
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
    chosen = _table(source, list(known))
    schema, table = known[chosen]
    relation = joined(".", (plain("discreet_attached"), identifier(schema), identifier(table)))
    try:
        rows = connection.execute(sql("DESCRIBE {relation}", relation=relation)).fetchall()
        names = _checked(source, [str(row[0]) for row in rows])
        types = _view(connection, names, relation)
    except duckdb.Error as error:
        raise runner.sentence(error) from None
    return Opened(replace(source, table=chosen), names, types)


def _open_sqlite(runner: Runner, source: Source, scratch: Path, wanted: Wanted) -> Opened:
    """SQLite through Python, copied as text into a scratch table."""
    _stage(runner, scratch)
    database = sqlite3.connect(f"{source.path.absolute().as_uri()}?mode=ro", uri=True)
    with closing(database):
        try:
            rows = database.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            ).fetchall()
        except sqlite3.Error:
            raise DataError(f"{source.path.name} is not an SQLite database.") from None
        chosen = _table(source, [str(row[0]) for row in rows])
        try:
            cursor = database.execute(sql("SELECT * FROM {table}", table=identifier(chosen)))
            names = _checked(source, [str(column[0]) for column in cursor.description])
            types = ("VARCHAR",) * len(names)
            relation = Opened(source, names, types, wanted=wanted, staged=True)
            columns = [sql("c{i} VARCHAR", i=i) for i in relation.kept()]
            columns += [] if wanted.id is None else [sql("u UBIGINT")]
            runner.connection.execute(
                sql("CREATE TABLE {staged} ({all})", staged=_STAGED, all=joined(", ", columns))
            )
            _show(runner.connection, sql("SELECT * FROM {staged}", staged=_STAGED))
            records, raw = _copy(runner, cursor, relation)
        except sqlite3.Error:
            raise DataError(
                f"{source.name} cannot be read to its end: the database is damaged or in use."
            ) from None
        except duckdb.Error as error:
            raise runner.sentence(error) from None
    types = tuple("BLOB" if i in raw else "VARCHAR" for i in range(len(names)))
    return replace(relation, source=replace(source, table=chosen), types=types, records=records)


def _copy(runner: Runner, cursor: sqlite3.Cursor, relation: Opened) -> tuple[int, set[int]]:
    """Copy every record; how many, and which columns hold raw bytes, which become missing."""
    records, raw, names = 0, set[int](), relation.names
    schema = pa.schema([(f"c{i}", pa.string()) for i in range(len(names))])
    while rows := cursor.fetchmany(_SQLITE_BATCH):
        columns = [
            pa.array([_text(row[i]) for row in rows], pa.string()) for i in range(len(names))
        ]
        raw |= {i for i in range(len(names)) if any(isinstance(row[i], bytes) for row in rows)}
        batch = pa.Table.from_arrays(columns, schema=schema)
        runner.connection.register("discreet_batch", batch)
        runner.connection.execute(
            sql(
                "INSERT INTO {staged} SELECT {chosen} FROM discreet_batch s",
                staged=_STAGED,
                chosen=_staged_columns(relation),
            ),
            relation.wanted.parameters,
        )
        runner.connection.unregister("discreet_batch")
        records += len(rows)
        runner.control.step(0.0, f"reading {relation.source.name}: {records:,} records")
    return records, raw


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return None
    return repr(value) if isinstance(value, float) else str(value)


def _table(source: Source, known: list[str]) -> str:
    if source.table is None and len(known) == 1:
        return known[0]
    if source.table in known:
        return source.table
    if not known:
        raise DataError(f"{source.path.name} has no tables.")
    if source.table is None:
        raise DataError(
            f"{source.path.name} has {len(known)} tables: {_some(known)}. Name one, as in "
            f"{source.path.name}::{known[0]}."
        )
    raise DataError(
        f"{source.path.name} has no table {source.table!r}.{did_you_mean(source.table, known)} "
        f"It has {_some(known)}."
    )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"


def _forget(connection: Connection) -> None:
    """Let go of a source, whatever happened to the connection meanwhile."""
    for statement in (
        sql("DROP VIEW IF EXISTS {view}", view=RELATION),
        "DETACH DATABASE IF EXISTS discreet_attached",
        "DETACH DATABASE IF EXISTS discreet_staged",
    ):
        with suppress(duckdb.Error):
            connection.execute(statement)
