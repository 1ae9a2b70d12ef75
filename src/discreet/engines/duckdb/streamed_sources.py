"""Sources that a server sends: the records go into a scratch table as they come, from one snapshot."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa

from ...errors import DataError, EngineError
from ..background import in_background
from ..coding import Source
from ..lost import retried
from ..sql import Sql, joined, sql
from .quoting import literal
from .reading import Wanted
from .relation import STAGED, Opened, checked_names, show, stage, staged_columns
from .statements import Runner

_CHUNK = 32 << 20
"""Bytes that are handed to DuckDB at once."""


def open_postgres(runner: Runner, source: Source, scratch: Path, wanted: Wanted) -> Opened:
    """A table or view of a Postgres database."""
    from ..postgres import stream

    stage(runner, scratch)

    def once() -> Opened:
        with stream.opened(source) as found:
            relation = _relation(
                source, found.known, found.table.columns, found.table.kinds, wanted
            )
            selected = _selected(relation)
            blocks = found.blocks(selected)
            return _copied(
                runner,
                relation,
                _files(runner, relation, selected, blocks),
                found.cancel,
                found.table.records,
            )

    return retried(once)


def open_spark(runner: Runner, source: Source, scratch: Path, wanted: Wanted) -> Opened:
    """A table of a Spark cluster, or a folder of Parquet files there."""
    from ..spark.database import SparkDatabase

    stage(runner, scratch)
    database = SparkDatabase(source)

    def once() -> Opened:
        with database.session() as session:
            found, dialect = session.table(source), database.dialect
            columns = list(found.kinds.items())
            relation = _relation(source, found.known, columns, list(found.kinds.values()), wanted)
            selected = _selected(relation)
            texts = (
                sql("{text} AS c{i}", text=dialect.text(dialect.identifier(columns[i][0])), i=i)
                for i in selected
            )
            every = sql("SELECT {texts} FROM {of}", texts=joined(", ", [*texts, sql("1 AS one")]), of=found.relation)  # fmt: skip
            names = [*(f"c{i}" for i in selected), "one"]
            parts = session.batches(every, names, found.known)
            return _copied(runner, relation, _arrow(runner, relation, selected, parts), session.cancel, 0)  # fmt: skip

    try:
        return retried(once)
    finally:
        database.close()


def _arrow(
    runner: Runner, relation: Opened, selected: Sequence[int], parts: Iterator[pa.Table]
) -> Iterator[int]:
    """Take in texts as they come; records of each part."""
    given = [
        sql("CAST(c{i} AS {kind}) AS c{i}", i=i, kind=_kind(relation, i))
        if i in selected
        else sql("CAST(NULL AS VARCHAR) AS c{i}", i=i)
        for i in sorted({*selected, *relation.kept()})
    ]
    statement = sql(
        "INSERT INTO {staged} SELECT {chosen} FROM (SELECT {given} FROM discreet_batch) s",
        staged=STAGED,
        chosen=staged_columns(relation),
        given=joined(", ", given),
    )
    for part in parts:
        runner.connection.register("discreet_batch", part)
        runner.connection.execute(statement, relation.wanted.parameters)
        runner.connection.unregister("discreet_batch")
        yield len(part)


def _relation(
    source: Source,
    chosen: str,
    columns: Sequence[tuple[str, str]],
    kinds: Sequence[str],
    wanted: Wanted,
) -> Opened:
    names = checked_names(source, [name for name, _ in columns])
    if not names:
        raise DataError(f"{chosen} has no columns. Name another table.")
    relation = Opened(
        replace(source, table=chosen), names, tuple(kinds), wanted=wanted, staged=True
    )
    relation.kept()  # a column that is not there is told before anything is read
    if wanted.id is not None and kinds[relation.position(wanted.id)] in ("FLOAT", "DOUBLE"):
        raise DataError(
            f"Column {wanted.id!r} of {relation.source.name} holds floating-point numbers, which "
            "have no exact text to make keys from. Name an id of whole numbers or text."
        )
    return relation


def _selected(relation: Opened) -> list[int]:
    """The columns that are read: those wanted, and the id; not those without a text."""
    extra = [] if relation.wanted.id is None else [relation.position(relation.wanted.id)]
    return [
        i for i in sorted({*relation.kept(), *extra}) if not relation.types[i].startswith("BLOB")
    ]


def _copied(
    runner: Runner,
    relation: Opened,
    parts: Iterator[int],
    cancel: Callable[[], None],
    expected: int,
) -> Opened:
    """Take in every part, each being told as records so far."""
    doing = f"reading {relation.source.name}"
    records = 0

    def work() -> int:
        nonlocal records
        _make_table(runner, relation)
        for part in parts:
            records += part
        return records

    def interrupt() -> None:
        cancel()
        runner.connection.interrupt()

    def tell() -> None:
        share = min(1.0, records / expected) if expected else 0.0
        of = f" of about {expected:,}" if expected >= records else ""
        runner.control.step(0.02 + 0.08 * share, f"{doing}: {records:,}{of} records")

    try:
        in_background(work, interrupt, runner.control, doing, tell)
    except (duckdb.Error, OSError) as error:
        raise runner.sentence(error) from None
    show(runner.connection, sql("SELECT * FROM {staged}", staged=STAGED))
    return replace(relation, records=records)


def _make_table(runner: Runner, relation: Opened) -> None:
    """The scratch table, empty: the wanted columns, and the key in the id's place."""
    columns = [sql("c{i} {kind}", i=i, kind=_kind(relation, i)) for i in relation.kept()]
    columns += [] if relation.wanted.id is None else [sql("u UBIGINT")]
    runner.connection.execute(
        sql("CREATE OR REPLACE TABLE {staged} ({all})", staged=STAGED, all=joined(", ", columns))
    )


def _kind(relation: Opened, i: int) -> Sql:
    kind = relation.types[i]
    return sql("VARCHAR") if kind.startswith("BLOB") else Sql(kind)


def _files(
    runner: Runner, relation: Opened, selected: Sequence[int], blocks: Iterator[bytes]
) -> Iterator[int]:
    """Take in lines of CSV, some megabytes at a time, from memory without a name; records of each.

    The first column is always 1, so that no line is ever empty.
    """
    kinds = joined(
        ", ", [sql("'one': 'UTINYINT'"), *(sql("'c{i}': '{kind}'", i=i, kind=_kind(relation, i)) for i in selected)]
    )  # fmt: skip
    absent = [i for i in relation.kept() if i not in selected]
    nothing = joined("", (sql(", CAST(NULL AS VARCHAR) AS c{i}", i=i) for i in absent))
    while True:
        with _memory_file() as (handle, path):
            lines = _fill(handle, blocks)
            if not lines:
                return
            statement = sql(
                "INSERT INTO {staged} SELECT {chosen} FROM (SELECT *{nothing} FROM read_csv({path}, "
                "auto_detect=false, strict_mode=true, header=false, delim=',', quote='\"', "
                "escape='\"', max_line_size=268435456, columns={ {kinds} })) s",
                staged=STAGED,
                chosen=staged_columns(relation),
                nothing=nothing,
                path=literal(path),
                kinds=kinds,
            )
            parameters = relation.wanted.parameters
            ((taken,),) = runner.connection.execute(statement, parameters).fetchall()
            if taken != lines:
                raise EngineError(
                    f"{relation.source.name} was not read as it was sent. Export it to Parquet."
                )
            yield lines


def _fill(handle: int, blocks: Iterator[bytes]) -> int:
    """Write blocks, a record each, until there are enough; how many."""
    lines, size, parts = 0, 0, []
    for block in blocks:
        parts.append(block)
        lines, size = lines + 1, size + len(block)
        if size >= _CHUNK:
            break
    rest = memoryview(b"".join(parts))
    while rest:
        rest = rest[os.write(handle, rest) :]
    return lines


@contextmanager
def _memory_file() -> Iterator[tuple[int, str]]:
    handle = os.memfd_create("discreet", os.MFD_CLOEXEC)
    try:
        yield handle, f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
