"""What every database gives the rooms that keep rows in it: accounts, catalogue, jobs, audit log.

Statements are written in the SQL of SQLite; `postgres/dialect.py` says how they read elsewhere.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


class Tables(ABC):
    """Tables that are read and written by statements; may be shared by threads."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files or connections."""

    @abstractmethod
    def clock(self) -> float:
        """The time that rows are written with."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Any]:
        """What to read with: has `execute`, whose cursor has `fetchall`."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Any]:
        """A transaction, durable when the block ends well; one after another."""

    @abstractmethod
    def execute(self, sql: str, *values: object) -> int:
        """One statement in a transaction of its own; how many rows it changed."""

    # What follows

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of one SELECT."""
        with self.reading() as statements:
            rows: list[tuple[Any, ...]] = statements.execute(sql, values).fetchall()
            return rows

    def records(self, kind: type[T], table: str, rest: str, *values: object) -> list[T]:
        """Rows of a table as dataclasses; their fields are columns of it."""
        columns = ", ".join(field.name for field in fields(kind))  # type: ignore[arg-type]
        # names of our own classes and tables, never of a request
        rows = self.rows(f"SELECT {columns} FROM {table} {rest}", *values)  # nosec B608
        return [_record(kind, row) for row in rows]

    def one_or_all(self, kind: type[T], table: str, identity: str | None) -> list[T]:
        """The row of an id, which its index finds, or all rows, newest first."""
        if identity is not None:
            return self.records(kind, table, "WHERE id = ?", identity)
        return self.records(kind, table, "ORDER BY created DESC, id")

    def insert(self, table: str, record: Any) -> None:
        """Add a dataclass whose fields are all columns of a table, in order; mappings become JSON."""
        with self.writing() as statements:
            self.add(statements, table, record)

    @staticmethod
    def add(statements: Any, table: str, record: Any) -> None:
        """The same, inside a transaction of the caller's."""
        row = [_stored(getattr(record, field.name)) for field in fields(record)]
        marks = ", ".join("?" * len(row))
        statements.execute(f"INSERT INTO {table} VALUES ({marks})", row)  # nosec B608

    def change(self, sql: str, *values: object) -> int:
        """One statement whose values may be mappings, which become JSON."""
        return self.execute(sql, *map(_stored, values))


def _stored(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping) else value


def _record(kind: type[T], row: tuple[Any, ...]) -> T:
    """A row as a dataclass: mappings and tuples are stored as JSON, yes and no as 1 and 0."""
    readers: dict[str, Callable[[Any], Any]] = {
        "Mapping": json.loads,
        "tuple": lambda text: tuple(json.loads(text)),
        "bool": bool,
    }
    values = []
    for field, value in zip(fields(kind), row, strict=True):  # type: ignore[arg-type]
        reader = readers.get(str(field.type).partition("[")[0])
        values.append(reader(value) if reader else value)
    return kind(*values)
