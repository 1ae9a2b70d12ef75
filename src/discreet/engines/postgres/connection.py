"""Connections to Postgres: read-only, one way of writing values, and no sentence of the server's.

Every session has fixed settings: names are looked up in the system's own schema only, moments are in
UTC, dates in ISO order, texts in UTF-8, and a table whose rows are hidden from the user is an
error instead of a part.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import psycopg

from ...errors import DataError, InputError
from ..address import Address
from . import sentences

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

LEAST_VERSION = 140000
CONNECT_SECONDS = 20
_KEEPALIVES: dict[str, Any] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""A server that is gone without a word is noticed within half a minute, also while it should count."""
_SETTINGS = {
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "iso_8601",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "standard_conforming_strings": "on",
    "row_security": "off",
    "lock_timeout": "60s",
    "idle_in_transaction_session_timeout": "10min",
}
_LOOK_AFTER_CLIENT = ("client_connection_check_interval", "10s")
"""A server gives up what it does for a process that was killed, instead of finishing it for nobody."""
_SET = "SELECT pg_catalog.set_config(%s, %s, false)"


def connect(address: Address, *, read_only: bool = True, timeout: int | None = None) -> Connection:
    """A connection with our settings.

    `timeout` is the most seconds of one statement: 0 for what the server allows, None for no limit.
    """
    settings = {**_SETTINGS, "statement_timeout": f"{timeout or 0}s"}
    if timeout == 0:
        del settings["statement_timeout"]
    settings["default_transaction_read_only"] = "on" if read_only else "off"
    try:
        connection = psycopg.connect(
            address.url,
            password=address.secret or None,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            client_encoding="UTF8",
            application_name="discreet",
            prepare_threshold=None,
            **_KEEPALIVES,
        )
    except (psycopg.Error, UnicodeError) as error:
        if isinstance(error, psycopg.ProgrammingError | UnicodeError):
            raise InputError(sentences.UNREADABLE) from None
        raise sentences.refused(error, address) from None
    try:
        with translated(address.database, "opening the database"):
            _check(connection, address)
            for name, value in settings.items():
                connection.execute(_SET, (name, value))
        with contextlib.suppress(psycopg.Error):  # some systems cannot look
            connection.execute(_SET, _LOOK_AFTER_CLIENT)
    except BaseException:
        connection.close()
        raise
    return connection


def _check(connection: Connection, address: Address) -> None:
    version = connection.info.server_version
    if version < LEAST_VERSION:
        raise InputError(
            f"Postgres at {address.server} is version {version // 10000}; {LEAST_VERSION // 10000} or "
            "later is needed. Export the table to Parquet, or upgrade the server."
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding == "SQL_ASCII":
        raise DataError(
            f"The database {address.database} keeps text without an encoding (SQL_ASCII), so what "
            "its bytes mean is unknown. Export the table in the right encoding as CSV."
        )


@contextlib.contextmanager
def translated(what: str, doing: str) -> Iterator[None]:
    """Failures of the server as our own sentences."""
    try:
        yield
    except psycopg.Error as error:
        raise sentences.failed(error, what, doing) from None


_WHOLE = {"int2": "BIGINT", "int4": "BIGINT", "int8": "BIGINT"}
_FLOATS = {"float4": "FLOAT", "float8": "DOUBLE"}
_TEXTS = dict.fromkeys(
    ("numeric", "text", "varchar", "bpchar", "name", "citext", "date", "timestamp", "timestamptz",
     "time", "uuid", "inet", "cidr", "macaddr"), "VARCHAR")  # fmt: skip
TYPES = {**_WHOLE, **_FLOATS, **_TEXTS, "bool": "BOOLEAN"}
"""The types with one exact text, and what DuckDB reads it as; of enumerations the text counts."""


@dataclass(frozen=True)
class Table:
    """A table or view as it is found: its place, and for each column its name and type."""

    schema: str
    name: str
    columns: tuple[tuple[str, str], ...]
    kinds: tuple[str, ...]
    """For each column what DuckDB reads its text as; `BLOB …` where there is no exact text."""
    records: int = field(repr=False, default=0)
    """About how many records there are: the server's own estimate, 0 where it has none."""


def tables(connection: Connection) -> dict[str, tuple[str, str, int]]:
    """The tables and views that can be named: schema, name, about how many records.

    A table of `public` goes by its name alone, unless a point in it could be taken for a schema's.
    """
    rows = connection.execute(
        "SELECT n.nspname, c.relname, greatest(c.reltuples, 0)::bigint FROM pg_catalog.pg_class c "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition "
        "AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') "
        "AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') ORDER BY 1, 2"
    ).fetchall()
    return {
        name if schema == "public" and "." not in name else f"{schema}.{name}": (
            schema,
            name,
            records,
        )
        for schema, name, records in rows
    }


def _shown(kind: str) -> str:
    """A type as people write it: arrays are named by a stroke before what they hold."""
    return f"{kind[1:]}[]" if kind.startswith("_") else kind


def table(connection: Connection, schema: str, name: str, records: int) -> Table:
    """The columns of a table, a domain taken for the type it rests on."""
    rows = connection.execute(
        "WITH RECURSIVE base AS (SELECT oid, oid AS type, typname, typtype, typbasetype "
        "FROM pg_catalog.pg_type UNION ALL SELECT b.oid, t.oid, t.typname, t.typtype, t.typbasetype "
        "FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd') "
        "SELECT a.attname, b.typname, b.typtype FROM pg_catalog.pg_attribute a "
        "JOIN pg_catalog.pg_class c ON c.oid = a.attrelid "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "JOIN base b ON b.oid = a.atttypid AND b.typtype <> 'd' "
        "WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped "
        "ORDER BY a.attnum",
        (schema, name),
    ).fetchall()
    columns = tuple((str(column), str(kind)) for column, kind, _ in rows)
    kinds = tuple(
        "VARCHAR" if sort == "e" else TYPES.get(kind, f"BLOB {_shown(kind)}")
        for _, kind, sort in rows
    )
    return Table(schema, name, columns, kinds, int(records))
