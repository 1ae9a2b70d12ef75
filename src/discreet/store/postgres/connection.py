"""Connections to Postgres: opened with what durability needs, errors said in words.

A commit counts as durable only where the server promises it: `fsync` and `full_page_writes` on,
`synchronous_commit` at least on, no standby. These are read when a connection is opened and again
in every transaction that writes, because a server can be told otherwise while it runs. A wait for
replication that somebody cancelled ends in a commit *with a warning*, which is a failure here.

Of an error only its class is ever said: texts of the server hold values and statements.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...errors import InputError, StoreError
from ..place import Place

if TYPE_CHECKING:
    import psycopg

OLDEST_SERVER = 140000
CONNECT_SECONDS = 10
IDLE_SECONDS = 5.0
_DURABLE = ("on", "remote_apply")
_SILENT = ("error", "fatal", "panic")
"""A wait for the standby that was cancelled is told by a warning, which must not be left out."""
SETTINGS = (
    "SELECT extract(epoch FROM clock_timestamp())::float8, current_setting('fsync'), "
    "current_setting('full_page_writes'), current_setting('synchronous_commit'), "
    "pg_is_in_recovery(), current_setting('client_min_messages')"
)
"""The server's time, and what a durable commit rests on."""
BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
"""Said in full: who waited for a lock must then see what the other committed, whatever the role's default."""
_SESSION = (
    "SELECT set_config('search_path', 'pg_catalog', false), set_config('TimeZone', 'UTC', false), "
    "set_config('standard_conforming_strings', 'on', false), "
    "set_config('extra_float_digits', '1', false), "
    "set_config('client_min_messages', 'notice', false), "
    "set_config('statement_timeout', '0', false), set_config('lock_timeout', '30s', false), "
    "set_config('idle_in_transaction_session_timeout', '60s', false), "
    "set_config('tcp_keepalives_idle', '10', false), "
    "set_config('tcp_keepalives_interval', '5', false), "
    "set_config('tcp_keepalives_count', '3', false)"
)
"""No statement time-out: one that fires in a COMMIT leaves it half waited for. Keepalives of the
server's side: what a host holds that lost its power is let go in half a minute, not in hours. How
texts and times are written is no matter of a role's or a database's defaults, nor whether warnings come."""


class NotDurable(StoreError):
    """A commit that the server did not confirm as durable: nothing may be answered from it."""


class Connection:
    """One connection to the database of a place; opened when needed, and again when it was lost."""

    def __init__(self, place: Place, what: str) -> None:
        self.place, self.what = place, what
        self._open: psycopg.Connection[Any] | None = None
        self._process = os.getpid()
        self._used = 0.0
        self.warned = False
        """Whether the server warned since this was last set to False."""
        self.offset = 0.0
        """The server's clock less this host's."""

    def get(self) -> psycopg.Connection[Any]:
        """The open connection."""
        if self._open is None or self._open.closed:
            self._open = self._connect()
        return self._open

    def alive(self) -> psycopg.Connection[Any]:
        """The same; where it was not used for some seconds it is tried first, and opened anew."""
        now = time.monotonic()
        idle, self._used = now - self._used > IDLE_SECONDS, now
        if idle and self._open is not None:
            try:
                self._open.execute("SELECT 1")
            except driver().Error:
                self.close()
        return self.get()

    def close(self) -> None:
        """Let go of it; a forked child leaves its parent's alone."""
        if self._open is not None and os.getpid() == self._process:
            self._open.close()
        self._open = None

    def __del__(self) -> None:
        self.close()

    def _connect(self) -> psycopg.Connection[Any]:
        psycopg = driver()
        try:
            connection = psycopg.connect(
                self.place.database,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                client_encoding="UTF8",
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=3,
                tcp_user_timeout=30000,
                application_name="discreet",
                prepare_threshold=None if self.place.pooler else 5,
            )
        except psycopg.Error as error:
            raise unreachable(error, self.what) from None
        try:
            connection.add_notice_handler(self._noticed)
            version = connection.info.server_version
            if version < OLDEST_SERVER:
                raise StoreError(
                    f"{self.what} lies in Postgres {version // 10000}; 14 or a newer one is needed."
                )
            connection.execute(_SESSION)
            row = connection.execute(SETTINGS).fetchone()
            assert row is not None
            self.offset = row[0] - time.time()
            check_durable(row, self.what)
            encoding = connection.execute("SELECT current_setting('server_encoding')").fetchone()
            if encoding != ("UTF8",):
                raise StoreError(
                    f"{self.what} lies in a database that is not kept in UTF8. Make one that is."
                )
        except BaseException:
            connection.close()
            raise
        return connection  # type: ignore[no-any-return]

    def _noticed(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self.warned = True


def driver() -> Any:
    """Psycopg, or how to get it."""
    try:
        import psycopg
    except ImportError:
        raise InputError(
            "A shared database needs psycopg. Install it with `pip install 'discreet[postgres]'`."
        ) from None
    return psycopg


def about(schema: str, text: str) -> Any:
    """A statement in which `{s}` stands for the schema, quoted by the driver."""
    sql = driver().sql
    return sql.SQL(text).format(s=sql.Identifier(schema))


def check_durable(row: tuple[Any, ...], what: str) -> None:
    """Raise where the server does not promise that what is committed stays."""
    _, fsync, pages, commits, standby, messages = row
    wrong = ""
    if standby:
        wrong = "the server is a standby, which cannot be written. Name the primary"
    elif fsync != "on":
        wrong = "the server runs with fsync off. Set fsync = on"
    elif pages != "on":
        wrong = "the server runs with full_page_writes off. Set full_page_writes = on"
    elif commits not in _DURABLE:
        wrong = f"synchronous_commit is {commits} for this role. Set it to on"
    elif messages in _SILENT:  # a pooler gave another connection than the one it was set on
        wrong = f"client_min_messages is {messages} for this role. Set it to notice"
    if wrong:
        raise StoreError(
            f"{what} could not be used: {wrong}, because a charge must be on disk before its answer "
            "leaves. Nothing was answered."
        )


_WORDS = {
    "28": "the server refused role or password. Check the role and its password file (PGPASSFILE)",
    "3D": "there is no such database. Check the name in store.yaml",
    "3F": "its tables are not there. Run `discreet store prepare`",
    "42P01": "its tables are not there. Run `discreet store prepare`",
    "42501": "the role lacks a right. Run `discreet store prepare --serving ROLE` as the owner",
    "53100": "the server's disk is full. Free some space and ask again",
    "53300": "the server takes no more connections. Ask again later, or raise its max_connections",
    "53": "the server is out of resources. Ask again later",
    "55P03": "another process keeps it locked. Ask again, or end that process",
    "25006": "the server only lets it be read. Name the primary",
    "57014": "the work was cancelled. Ask again",
    "57": "the server ended the connection. Ask again in a moment",
    "08": "the connection was lost. Ask again in a moment",
    "XX001": "the server reports damaged data. Restore it from a backup",
}


@contextmanager
def in_words(what: str) -> Iterator[None]:
    """Turn errors of Postgres and of the system into one sentence; nothing was answered."""
    psycopg = driver()
    try:
        yield
    except psycopg.Error as error:
        if isinstance(error, psycopg.DataError) and not error.sqlstate:
            raise InputError(no_text(what)) from None
        raise StoreError(
            f"{what} could not be used: {reason(error)}. Nothing was answered."
        ) from None
    except UnicodeEncodeError:
        raise InputError(no_text(what)) from None
    except OSError as error:
        said = error.strerror or "the system refused"
        raise StoreError(
            f"{what} could not be used: {said.lower()}. Nothing was answered. "
            "Check disk space and rights, then ask again."
        ) from error


def no_text(what: str) -> str:
    """That a text which was given can be kept nowhere."""
    return (
        f"{what} was asked with a text that holds a zero byte or half a sign, which no database "
        "keeps. Leave that out; nothing was answered."
    )


def reason(error: psycopg.Error) -> str:
    """Why, by the class of the error alone."""
    state = error.sqlstate or ""
    for code in (state, state[:2]):
        if code in _WORDS:
            return _WORDS[code]
    if not state:
        return _WORDS["08"]
    return f"the database refused the work (class {state})"


def unreachable(error: psycopg.Error, what: str) -> StoreError:
    """Why there is no connection; the texts of libpq are only looked at, never said."""
    said = str(error).lower()
    why = "its database cannot be reached. Check that it runs, and host and port in store.yaml"
    if error.sqlstate:
        why = reason(error)
    elif "too many connections" in said or "too many clients" in said or "slots" in said:
        why = _WORDS["53300"]
    elif "password" in said or "authentication" in said or "pg_hba" in said or "role" in said:
        why = _WORDS["28"]
    elif "does not exist" in said:
        why = _WORDS["3D"]
    elif "starting up" in said or "shutting down" in said:
        why = _WORDS["57"]
    return StoreError(f"{what} could not be used: {why}. Nothing was answered.")


def is_lost(error: BaseException) -> bool:
    """Whether an error says that the connection is gone, so that nothing more was done."""
    psycopg = driver()
    return isinstance(error, psycopg.OperationalError) and (error.sqlstate or "08")[:2] in (
        "08",
        "57",
    )
