"""What a server or a cluster must be able to do so that records can be counted where they are."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from ..core.control import Control
from .coding import Source
from .dialect import Dialect
from .sql import Sql


@dataclass(frozen=True)
class RemoteTable:
    """A table as it is found on a server."""

    relation: Sql
    """What stands after FROM."""
    known: str
    """Its name as it is written in discreet.yaml."""
    kinds: dict[str, str]
    """For each column what DuckDB reads its text as; `BLOB …` where there is no exact text."""
    records: int = field(repr=False, default=0)
    """About how many records there are, 0 where that is not known."""


class Session(Protocol):
    """A connection, inside one snapshot where the engine has them."""

    def fetch(self, statement: Sql) -> pa.Table:
        """The result of a statement."""

    def salt(self, salt: bytes) -> Sql:
        """SQL for a salt; it stands in as few places of the engine as can be."""

    def table(self, source: Source) -> RemoteTable:
        """The table a source names."""

    def coded(self, name: str) -> Sql:
        """What stands after FROM for a coded table of this name."""

    def create(self, name: str, query: Sql) -> None:
        """Make a coded table that nobody changes; there when the snapshot ends well."""

    def drop(self, name: str) -> None:
        """Remove a coded table, where it is there."""

    def cancel(self) -> None:
        """Have the engine give up what this session does."""


class Database(Protocol):
    """A server or a cluster. Safe to share between threads."""

    name: str

    @property
    def dialect(self) -> Dialect:
        """How statements are written for it."""

    def session(
        self, *, write: bool = False, control: Control | None = None
    ) -> AbstractContextManager[Session]:
        """One snapshot; what is written is kept when the context ends without an error."""

    def close(self) -> None:
        """Let go of connections."""
