"""A table of Postgres sent as it is, from one snapshot that nobody's writing changes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psycopg

from ...errors import DataError, InputError, did_you_mean
from ..coding import Source
from ..sql import joined, sql
from .connection import Connection, Table, connect, table, tables, translated
from .dialect import PostgresDialect

_DIALECT = PostgresDialect()


@dataclass(frozen=True)
class Streamed:
    """An open snapshot of one table."""

    connection: Connection
    table: Table
    known: str
    """The table's name as it is written in discreet.yaml."""

    def blocks(self, columns: Sequence[int]) -> Iterator[bytes]:
        """Every record as a line of CSV: 1, then the columns as their exact texts."""
        names = [self.table.columns[i][0] for i in columns]
        texts = (_DIALECT.text(_DIALECT.identifier(name)) for name in names)
        statement = sql(
            "COPY (SELECT {texts} FROM {schema}.{table}) TO STDOUT (FORMAT csv)",
            texts=joined(", ", [1, *texts]),
            schema=_DIALECT.identifier(self.table.schema),
            table=_DIALECT.identifier(self.table.name),
        )
        with (
            translated(self.known, f"reading {self.known}"),
            self.connection.cursor().copy(statement.encode()) as copy,
        ):
            for block in copy:
                yield bytes(block)

    def cancel(self) -> None:
        """Have the server stop."""
        with contextlib.suppress(psycopg.Error):
            self.connection.cancel_safe(timeout=5)


@contextlib.contextmanager
def opened(source: Source) -> Iterator[Streamed]:
    """A read-only snapshot of the table that a source names."""
    assert source.address is not None
    with contextlib.closing(connect(source.address)) as connection:
        doing = f"reading {source.name}"
        with translated(source.name, doing):
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            known = tables(connection)
        chosen = chosen_table(source, list(known))
        with translated(chosen, doing):
            found = table(connection, *known[chosen])
        yield Streamed(connection, found, chosen)


def chosen_table(source: Source, known: list[str]) -> str:
    """The table that is meant: the one named, or the only one."""
    name, database = source.table or "", source.path.name
    for spelling in (name, name.removeprefix("public."), f"public.{name}"):
        if spelling in known:
            return spelling
    if not name and len(known) == 1:
        return known[0]
    shown = ", ".join(known[:12]) + (f" and {len(known) - 12} more" if len(known) > 12 else "")
    if not known:
        raise DataError(f"{database} has no table that this user may see. Ask for the right.")
    if not name:
        raise InputError(
            f"{database} has {len(known)} tables: {shown}. Name one with --table, or as `table:` "
            "under `source` in discreet.yaml."
        )
    raise DataError(
        f"{database} has no table {source.table!r} that this user may see."
        f"{did_you_mean(name.removeprefix('public.'), known)} It has {shown}."
    )
