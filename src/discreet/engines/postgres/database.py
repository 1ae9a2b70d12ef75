"""A Postgres server to count on: a few connections, each count in a snapshot of its own."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import psycopg
import pyarrow as pa

from ...core.control import Control
from ...errors import EngineError, InputError
from ..address import Address
from ..background import turn
from ..coding import Source
from ..database import RemoteTable
from ..sql import Sql, sql
from .connection import Connection, connect, table, tables, translated
from .dialect import PostgresDialect
from .stream import chosen_table

SCHEMA = "discreet"
"""Where coded tables are kept, where discreet.yaml does not say."""
_AT_ONCE = 2
"""Connections that count at the same time; a server has few."""
_DIALECT = PostgresDialect()


class PostgresSession:
    """One transaction on one connection."""

    def __init__(self, connection: Connection, schema: str) -> None:
        self._connection, self._schema = connection, schema
        self._known = "The table"

    def fetch(self, statement: Sql) -> pa.Table:
        """The result, columns by name."""
        with translated(self._known, "counting"):
            cursor = self._connection.execute(statement.encode(), binary=True)
            if cursor.description is None:
                return pa.table({})
            names = [column.name for column in cursor.description]
            columns = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(names)
        return pa.table({name: pa.array(part) for name, part in zip(names, columns, strict=True)})

    def salt(self, salt: bytes) -> Sql:
        """As a setting of the session: it stands in no later statement, plan or log line."""
        with translated("The table", "counting"):
            self._connection.execute("SELECT set_config('discreet.salt', %s, false)", (salt.hex(),))
        return sql("(SELECT decode(current_setting('discreet.salt'), 'hex'))")

    def table(self, source: Source) -> RemoteTable:
        """The table a source names."""
        with translated(source.name, "looking for the table"):
            known = tables(self._connection)
        chosen = chosen_table(source, list(known))
        with translated(chosen, "looking at the table"):
            found = table(self._connection, *known[chosen])
        relation = _named(found.schema, found.name)
        self._known = chosen
        kinds = {name: kind for (name, _), kind in zip(found.columns, found.kinds, strict=True)}
        return RemoteTable(relation, chosen, kinds, found.records)

    def coded(self, name: str) -> Sql:
        """A table of our schema."""
        return _named(self._schema, name)

    def create(self, name: str, query: Sql) -> None:
        """Owned by who loads; from then on nobody has a right to change it."""
        with translated("The coded table", "making the coded table"):
            self._create(name, query)

    def _create(self, name: str, query: Sql) -> None:
        of, schema = self.coded(name), _DIALECT.identifier(self._schema)
        try:
            there = self._connection.execute(
                "SELECT 1 FROM pg_namespace WHERE nspname = %s", (self._schema,)
            ).fetchone()
            if not there:
                self._connection.execute(sql("CREATE SCHEMA {of}", of=schema).encode())
            self._connection.execute(
                sql("CREATE TABLE {of} AS {query}", of=of, query=query).encode()
            )
        except psycopg.errors.InsufficientPrivilege:
            raise InputError(
                f"The user may not make tables in the schema {self._schema}. Ask for the "
                "right to make some there, or set `counting: loaded` or `counting: read-only`."
            ) from None
        except psycopg.errors.InvalidTextRepresentation:
            raise EngineError("A value is no number where one was. Load again.") from None
        for who in (sql("PUBLIC"), sql("CURRENT_USER")):
            self._connection.execute(
                sql(
                    "REVOKE INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER, REFERENCES ON {of} "
                    "FROM {who}",
                    of=of,
                    who=who,
                ).encode()
            )
        self._connection.execute(sql("ANALYZE {of}", of=of).encode())

    def drop(self, name: str) -> None:
        """Remove a coded table."""
        with translated("The coded table", "removing the coded table"):
            self._connection.execute(sql("DROP TABLE IF EXISTS {of}", of=self.coded(name)).encode())

    def cancel(self) -> None:
        """Have the server stop."""
        with contextlib.suppress(psycopg.Error):
            self._connection.cancel_safe(timeout=5)


class PostgresDatabase:
    """The server of one source."""

    name = "postgres"
    dialect = _DIALECT

    def __init__(self, source: Source) -> None:
        assert source.address is not None
        self._address: Address = source.address
        self._schema = source.kept_in or SCHEMA
        self._timeout = source.timeout
        self._idle: list[Connection] = []
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        self._closed = False

    @contextlib.contextmanager
    def session(
        self, *, write: bool = False, control: Control | None = None
    ) -> Iterator[PostgresSession]:
        """A snapshot that lasts as long as the context; a lost connection is not used again."""
        if self._closed:
            raise EngineError("The data set is closed. Open it again.")
        with turn(self._turns, control, "waiting for a turn"):
            connection = self._connection(write)
            try:
                with translated("The table", "beginning a snapshot"):
                    mode = sql("READ WRITE") if write else sql("READ ONLY")
                    begin = sql("BEGIN ISOLATION LEVEL REPEATABLE READ {mode}", mode=mode)
                    connection.execute(begin.encode())
                yield PostgresSession(connection, self._schema)
                with translated("The table", "ending a snapshot"):
                    connection.execute("COMMIT" if write else "ROLLBACK")
            except BaseException:
                connection.close()
                raise
            if write or self._closed:
                connection.close()
            else:
                self._idle.append(connection)

    def _connection(self, write: bool) -> Connection:
        while self._idle and not write:
            connection = self._idle.pop()
            if not connection.broken:
                return connection
        # a load that makes a table takes as long as it takes, unless discreet.yaml says otherwise
        timeout = self._timeout or (None if write else 0)
        return connect(self._address, read_only=not write, timeout=timeout)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()


def _named(schema: str, name: str) -> Sql:
    of = _DIALECT.identifier
    return sql("{schema}.{name}", schema=of(schema), name=of(name))
