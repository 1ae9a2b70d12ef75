"""Which databases a draft may read: those the server was told, and never its own store.

A table is read with what the server itself may read by (a password file, a role), so that naming one
must not be enough.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit

from ..engines.coding import Source
from ..errors import InputError
from ..store.place import place_of
from .service import Service

_PLAIN = re.compile(r"postgresql://(?:[A-Za-z0-9_.-]+@)?([A-Za-z0-9_.:\[\]-]+/[A-Za-z0-9_.-]+)")
"""An address that says nothing but role, host, port and database: options could name another host."""
_NAMED = re.compile(r"(?:^|\s)dbname\s*=\s*'?([^'\s]+)")


def may_be_read(service: Service, source: str) -> None:
    """Raise where a draft may not read a source; files of the server's own machine are none."""
    scheme, mark, _ = source.strip().partition("://")
    if not mark or scheme.lower() in ("file", "duckdb", "sqlite"):
        raise _no_address()
    address = Source.guess(source).address  # refuses by name what cannot be read
    if address is None:
        raise _no_address()
    if address.secret:
        raise InputError(
            "Leave the password out of the address: it would be written down. Give it to the server as "
            "PGPASSWORD or in ~/.pgpass."
        )
    allowed = service.settings.draft_sources
    if not allowed:
        raise InputError(
            "This server reads no databases for drafts. Name HOST/DATABASE when it is started "
            "(`discreet serve --draft-source`), or upload a file."
        )
    plain = _PLAIN.fullmatch(address.url)
    if plain is None or plain[1] not in allowed:
        raise InputError(
            "This server reads no such database for drafts. It reads postgresql://ROLE@HOST/DATABASE, "
            "without other options, of those named when it was started (`discreet serve "
            "--draft-source`); or upload a file."
        )
    place = place_of(service.folder)
    if place is not None and address.database == _database(place.database):
        raise InputError(
            "A database of this name holds what this server itself keeps, which no draft reads. Export "
            "the table and upload it."
        )


def _no_address() -> InputError:
    return InputError(
        "Over HTTP a source is an address of a database server. Upload a file, or run `discreet "
        "init` on the server for files that lie there."
    )


def _database(connection: str) -> str:
    """The database that a connection string of libpq names; empty where it names none."""
    if "://" not in connection:
        found = _NAMED.search(connection)
        return found[1] if found else ""
    parts = urlsplit(connection)
    return parse_qs(parts.query).get("dbname", [unquote(parts.path.lstrip("/"))])[-1]
