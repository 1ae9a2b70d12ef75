"""Small texts that hosts share about a data set, each replaced only by who has seen the last one.

What is served (version, description), under which families and laws, and which keys hosts must hold.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .place import Place, place_of
from .postgres.connection import (
    SETTINGS,
    Connection,
    NotDurable,
    about,
    check_durable,
    driver,
    in_words,
)

if TYPE_CHECKING:
    import psycopg

_NAME = "What hosts share"
_READ = "SELECT body FROM {s}.notes WHERE dataset = %s AND name = %s"
_READ_ALL = "SELECT dataset, body FROM {s}.notes WHERE name = %s"
_INSERT = "INSERT INTO {s}.notes VALUES (%(d)s, %(n)s, %(b)s) ON CONFLICT DO NOTHING"
_REPLACE = (
    "UPDATE {s}.notes SET body = %(b)s WHERE dataset = %(d)s AND name = %(n)s AND body = %(w)s"
)


class SharedNotes:
    """The notes in a shared database; may be shared by threads."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._lock = threading.Lock()
        self._connection = Connection(place, _NAME)

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection, in words; given up after an error, which may be of this session alone."""
        with self._lock, in_words(_NAME):
            try:
                yield self._connection.alive()
            except driver().Error:
                self._connection.close()
                raise

    def get(self, dataset: str, name: str) -> str | None:
        """One note; None where there is none."""
        sql = about(self.place.schema, _READ)
        with self._connected() as connection:
            row = connection.execute(sql, (dataset, name)).fetchone()
        return None if row is None else str(row[0])

    def every(self, name: str) -> dict[str, str]:
        """The notes of this name of all data sets."""
        sql = about(self.place.schema, _READ_ALL)
        with self._connected() as connection:
            return dict(connection.execute(sql, (name,)).fetchall())

    def put(self, dataset: str, name: str, body: str, before: str | None) -> bool:
        """Write a note, durably, where it is still as it was before; False where it is not."""
        values = {"d": dataset, "n": name, "b": body, "w": before}
        sql = about(self.place.schema, _INSERT if before is None else _REPLACE)
        with self._connected() as connection:
            facts = connection.execute(SETTINGS).fetchone()
            assert facts is not None
            check_durable(facts, _NAME)
            self._connection.warned = False
            written = connection.execute(sql, values).rowcount == 1
            if self._connection.warned:
                raise NotDurable(
                    f"{_NAME}: the server committed without waiting for its standby. Ask again once "
                    "replication works."
                )
            return written

    @contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """One process of all hosts at a time; let go when the process ends, however it does."""
        with in_words(_NAME):
            own = Connection(self.place, _NAME)
            try:
                connection = own.get()
                connection.execute("SELECT set_config('lock_timeout', '0', false)")
                connection.execute(
                    "SELECT set_config('idle_in_transaction_session_timeout', '0', false)"
                )
                connection.execute("BEGIN")
                name = f"{self.place.schema} {what}"
                connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (name,))
            except driver().Error:
                own.close()
                raise
        try:
            yield
        finally:
            own.close()


@cache
def _notes_of(place: Place, process: int) -> SharedNotes:
    return SharedNotes(place)


def notes_of(workspace: Path) -> SharedNotes | None:
    """The notes that the hosts of a workspace share; None where there is one host."""
    place = place_of(workspace)
    return None if place is None else _notes_of(place, os.getpid())
