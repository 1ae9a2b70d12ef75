"""The tables of a workspace's server in Postgres, with the face of `sqlite.database.Database`.

Whoever writes several statements together waits for whoever writes such before: one after another over
all hosts, as in a file. Times are the server's: hosts whose clocks differ agree on leases and ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..place import Place
from ..tables import Tables
from .connection import BEGIN, SETTINGS, Connection, NotDurable, check_durable, driver, in_words
from .dialect import translated
from .tables import check_tables

if TYPE_CHECKING:
    import psycopg

_CLOCK_SECONDS = 60.0


class Statements:
    """What a caller runs statements on, within a transaction or one by one."""

    def __init__(self, connection: psycopg.Connection[Any], schema: str) -> None:
        self._connection, self._schema = connection, schema

    def execute(
        self, sql: str, values: Sequence[object] | Mapping[str, object] = ()
    ) -> psycopg.Cursor[Any]:
        """Run one statement written for SQLite."""
        given = (
            dict(values)
            if isinstance(values, Mapping)
            else {f"p{i}": value for i, value in enumerate(values, 1)}
        )
        # values are put in by the driver, as literals: a bare NULL or text has no type to guess
        cursor = driver().ClientCursor(self._connection)
        text = translated(sql, self._schema)
        cursor.execute(text, given) if given else cursor.execute(text.replace("%%", "%"))
        return cursor  # type: ignore[no-any-return]


class PostgresDatabase(Tables):
    """Tables with one connection to read and one to write; may be shared by threads."""

    def __init__(self, place: Place, name: str, room: str) -> None:
        self._name, self._room, self.place = name, room, place
        self._reading_lock, self._writing_lock = threading.Lock(), threading.Lock()
        self._reading, self._writing = Connection(place, name), Connection(place, name)
        self._clock_read = 0.0
        with in_words(name):
            check_tables(self._reading.get(), place.schema, name)
        self._clock_read = time.monotonic()

    def close(self) -> None:
        """Let go of the connections."""
        with self._reading_lock, self._writing_lock:
            self._reading.close()
            self._writing.close()

    def clock(self) -> float:
        """The server's time, as this host's clock goes; compared with it every minute."""
        if time.monotonic() - self._clock_read > _CLOCK_SECONDS:
            self._clock_read = time.monotonic()
            with self.reading() as statements:
                row = statements.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
                self._reading.offset = row.fetchall()[0][0] - time.time()
        return time.time() + self._reading.offset

    @contextmanager
    def reading(self) -> Iterator[Statements]:
        """Statements that read, on a connection that lives."""
        with self._reading_lock, in_words(self._name):
            yield Statements(self._reading.alive(), self.place.schema)

    @contextmanager
    def writing(self) -> Iterator[Statements]:
        """A transaction, durable when the block ends well; one at a time over all hosts."""
        with self._writing_lock, in_words(self._name):
            connection = self._writing.alive()
            self._writing.warned = False
            try:
                connection.execute(BEGIN)
                room = f"{self.place.schema} {self._room}"
                connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (room,))
                facts = connection.execute(SETTINGS).fetchone()
                assert facts is not None
                check_durable(facts, self._name)
                yield Statements(connection, self.place.schema)
                connection.execute("COMMIT")
                if self._writing.warned:
                    raise NotDurable(
                        f"{self._name}: the server committed without waiting for its standby. Ask again "
                        "once replication works."
                    )
            except BaseException as error:
                if isinstance(error, (driver().Error, NotDurable)) or connection.closed:
                    self._writing.close()
                else:
                    connection.execute("ROLLBACK")
                raise

    def execute(self, sql: str, *values: object) -> int:
        """One statement in a transaction of its own; how many rows it changed."""
        with self.writing() as statements:
            return statements.execute(sql, values).rowcount
