"""Failures of Postgres as sentences: told by their SQLSTATE, never by what the server wrote.

The server's messages quote values, statements and names of roles. Nothing of them is passed on.
"""

from __future__ import annotations

import re

import psycopg

from ...errors import DataError, DiscreetError, EngineError, InputError
from ..address import Address
from ..lost import ConnectionLost

_UNREACHABLE = re.compile(
    r"refused|could not translate|name or service|timeout|timed out|no route|unreachable|"
    r"failed to resolve|No such file|getaddrinfo",
    re.I,
)
_PASSWORD = re.compile(r"password authentication|no password supplied|28P01", re.I)


def refused(error: psycopg.Error, address: Address) -> DiscreetError:
    """Why no connection was made."""
    state, text, where = error.sqlstate or "", str(error), address.server
    pgconn = error.pgconn
    if state == "28P01" or _PASSWORD.search(text) or (pgconn is not None and pgconn.needs_password):
        return InputError(
            f"Postgres at {where} refused the user or the password. Put the right password into "
            "PGPASSWORD or ~/.pgpass, and check the user in the address."
        )
    if state == "3D000" or "does not exist" in text:
        return InputError(
            f"Postgres at {where} has no database {address.database!r}, or not this user. Check the "
            "address."
        )
    if state.startswith("28"):
        return InputError(
            f"Postgres at {where} does not let this user in from here. Ask its administrator for the "
            "right to connect."
        )
    if state in ("53300", "57P03"):
        return EngineError(
            f"Postgres at {where} takes no further connections now. Try again later."
        )
    if _UNREACHABLE.search(text) or isinstance(error, psycopg.errors.ConnectionTimeout):
        return EngineError(
            f"Nobody answers at {where}. Check host and port, and that Postgres runs there."
        )
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
_LONG = "Postgres stopped {doing}: it took longer than the server or `timeout` allows."
_SUM = "A sum is too large for 64 bits and was not made. Lower the weight's scale."
_ROOM = "Postgres has not enough memory or disk for {doing}. Ask for less."
_BY_STATE: tuple[tuple[tuple[str, ...], type[DiscreetError], str], ...] = (
    (("57014", "55P03"), EngineError, _LONG),
    (("42501",), InputError, _NO_RIGHT),
    (("42P01", "3F000", "42703"), DataError, _GONE),
    (("22021", "22P05"), DataError, _NO_TEXT),
    (("22003",), EngineError, _SUM),
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
