"""Failures of Postgres as sentences: told by their SQLSTATE, never by what the server wrote.

The server's messages quote values, statements and names of roles. Nothing of them is passed on.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import psycopg

from ...errors import DataError, DiscreetError, EngineError, InputError
from ..address import Address
from ..lost import ConnectionLost

_PASSWORD = re.compile(r"password authentication|no password supplied|28P01", re.I)
_MISSING = re.compile(r'(database|role) ".*" does not exist', re.I | re.S)
_NOT_LET_IN = re.compile(
    r"permission denied for database|not permitted to log in|pg_hba\.conf|authentication failed",
    re.I,
)
_FULL = re.compile(
    r"too many (connections|clients)|connection slots|not currently accepting connections|"
    r"system is (starting up|shutting down|in recovery|not yet accepting)",
    re.I,
)
_UNREADABLE = re.compile(r"invalid port number|definition of service", re.I)
_UNREACHABLE = re.compile(
    r"refused|could not translate|name or service|timeout|timed out|no route|unreachable|"
    r"failed to resolve|No such file|getaddrinfo",
    re.I,
)
"""What stands in a message that comes before there is a connection, often without an SQLSTATE."""
UNREADABLE = (
    "The address of the Postgres database cannot be read. Write "
    "postgresql://user@host:5432/database, or postgresql:///?service=name with a service of this machine."
)
_NO_NAME = (
    "The address of Postgres at {where} names no database. Write "
    "postgresql://user@host:5432/database."
)
_NOBODY = "Nobody answers at {where}. Check host and port, and that Postgres runs there."
_NEVER = ("?",)
_REFUSALS: tuple[tuple[tuple[str, ...], re.Pattern[str], type[DiscreetError], str], ...] = (
    (
        ("3D000",),
        _MISSING,
        InputError,
        "Postgres at {where} has no database {database}, or not this user. Check the address.",
    ),
    (
        ("28",),
        _NOT_LET_IN,
        InputError,
        "Postgres at {where} does not let this user in from here. Ask its administrator for the "
        "right to connect.",
    ),
    (
        ("53300", "57P03"),
        _FULL,
        EngineError,
        "Postgres at {where} takes no further connections now. Try again later.",
    ),
    (_NEVER, _UNREADABLE, InputError, UNREADABLE),
    (_NEVER, _UNREACHABLE, EngineError, _NOBODY),
)


def refused(error: psycopg.Error, address: Address) -> DiscreetError:
    """Why no connection was made."""
    state, text, where = error.sqlstate or "", str(error), address.server
    pgconn = error.pgconn
    if state == "28P01" or _PASSWORD.search(text) or (pgconn is not None and pgconn.needs_password):
        return InputError(
            f"Postgres at {where} refused the user or the password. Put the right password into "
            "PGPASSWORD or ~/.pgpass, and check the user in the address."
        )
    if isinstance(error, psycopg.errors.ConnectionTimeout):
        return EngineError(_NOBODY.format(where=where))
    for states, words, kind, sentence in _REFUSALS:
        if state.startswith(states) or words.search(text):
            named = words is not _MISSING or urlsplit(address.url).path.strip("/")
            said = sentence if named else _NO_NAME
            return kind(said.format(where=where, database=repr(address.database)))
    return EngineError(
        f"Postgres at {where} ended the connection before it was made. Check the address and its TLS "
        "settings, such as sslmode."
    )


_LOST = ("08", "57P01", "57P02", "57P03", "25P03")
_NO_RIGHT = (
    "The user has no right to read {what}, or sees a part of its rows only. Ask for SELECT on the "
    "whole table."
)
_GONE = "{what} is not there any more, or has lost a column. Check the table."
_NO_TEXT = "{what} holds text that is not valid in its encoding or has no UTF-8. Mend the text."
_LONG = (
    "Postgres stopped {doing}: it took longer than the server or `timeout` allows, or its administrator "
    "stopped it."
)
_NAME = (
    "The schema of coded tables has a name that Postgres keeps for itself. Write another `kept_in`."
)
_SUM = "A sum is too large for 64 bits and was not made. Lower the weight's scale."
_NOT_FILLED = (
    "{what} cannot be read as it is now: a materialised view is empty until it is refreshed. Have it "
    "refreshed, or name another table."
)
_ROOM = "Postgres has not enough memory or disk for {doing}. Ask for less."
_BY_STATE: tuple[tuple[tuple[str, ...], type[DiscreetError], str], ...] = (
    (("57014", "55P03"), EngineError, _LONG),
    (("42501",), InputError, _NO_RIGHT),
    (("42P01", "3F000", "42703"), DataError, _GONE),
    (("22021", "22P05"), DataError, _NO_TEXT),
    (("22003",), EngineError, _SUM),
    (("42939",), InputError, _NAME),
    (("55000",), DataError, _NOT_FILLED),
    (("53",), EngineError, _ROOM),
)


def failed(error: psycopg.Error, what: str, doing: str) -> DiscreetError:
    """Why a statement failed; `what` is the table for a sentence."""
    state = error.sqlstate or ""
    broken = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    # 40001: a replica had to go on; asked again it may answer
    if state.startswith((*_LOST, "40001")) or (not state and broken):
        return ConnectionLost(
            f"The connection to Postgres was lost while {doing}, twice. Check the server and try "
            "again; nothing was lost."
        )
    for states, kind, words in _BY_STATE:
        if state.startswith(states):
            return kind(words.format(what=what, doing=doing))
    return EngineError(f"Postgres failed while {doing} (SQLSTATE {state or 'unknown'}).")
