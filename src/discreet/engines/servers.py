"""Which server a source is on; drivers are imported here, when one is needed."""

from __future__ import annotations

from .coding import Source
from .database import Database


def open_database(source: Source) -> Database:
    """The server of a source; its driver is imported here."""
    if source.kind == "postgres":
        from .postgres.database import PostgresDatabase

        return PostgresDatabase(source)
    from .spark.database import SparkDatabase

    return SparkDatabase(source)
