"""Where a database server or a cluster is: its address without the secret that opens it.

A password or token may stand in an address that is given on the command line or in Python. It is
taken out at once, kept beside the address for as long as the object lives, and never shown, compared
or written. Later connections get it from where the drivers look for it: `PGPASSWORD`, `~/.pgpass`
or a service file for Postgres, `SPARK_CONNECT_AUTHENTICATE_TOKEN` for Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from ..errors import InputError

SCHEMES = {"postgresql": "postgres", "postgres": "postgres", "sc": "spark"}
"""What an address begins with, and the engine it means."""

_SECRETS = ("sslpassword", "oauth_client_secret")
"""Settings of Postgres' own driver that are secrets too, and that no variable of the session holds."""

_PLAIN = {"postgres": "postgresql", "spark": "sc"}


@dataclass(frozen=True)
class Address:
    """The address of a server.

    >>> at = Address.of("postgresql://ann:secret@db.example/registry")
    >>> at, at.database, at.server
    (Address(kind='postgres', url='postgresql://ann@db.example/registry'), 'registry', 'db.example')
    """

    kind: str
    url: str
    secret: str = field(default="", repr=False, compare=False)

    @classmethod
    def of(cls, url: str) -> Address:
        """Read an address; `table` is not part of it."""
        try:
            parts = urlsplit(url)
            kind = SCHEMES[parts.scheme]
            user, at, server = parts.netloc.rpartition("@")
        except (ValueError, KeyError):
            raise InputError(
                "An address begins with postgresql:// or sc://, then user@host:port/database."
            ) from None
        rest = parts.path + parts.query if kind == "postgres" else ""
        ports = (one.rpartition("]")[2].partition(":")[2] for one in server.split(","))
        if "@" in rest or "#" in url or not all(port == "" or port.isdecimal() for port in ports):
            raise InputError(
                "An address is postgresql://user@host:port/database or sc://host:port, and its port a "
                "number. In a password or a name write %2F for /, %3F for ?, %23 for # and %40 for @."
            )
        if kind == "spark":
            return cls._of_spark(parts.netloc, parts.path)
        name, _, secret = user.partition(":")
        query = parse_qsl(parts.query, keep_blank_values=True)
        given = [value for key, value in query if key == "password"]
        for key, _ in query:
            if key in _SECRETS:
                raise InputError(
                    f"An address may not hold {key}, which would be kept. Put it into a service file of "
                    "Postgres and write ?service=name."
                )
        kept = urlencode([one for one in query if one[0] != "password"], quote_via=quote)
        # not by urlunsplit, which leaves out the // where no host is named
        clean = f"{_PLAIN[kind]}://{name}{at}{server}{parts.path}{'?' if kept else ''}{kept}"
        return cls(kind, clean, unquote(secret) or (given[-1] if given else ""))

    @classmethod
    def _of_spark(cls, server: str, path: str) -> Address:
        """`sc://host:port/;use_ssl=true;token=…`, as Spark Connect writes it."""
        if "@" in server:
            raise InputError("A Spark address is sc://host:port, without a user. Leave it out.")
        first, *options = path.split(";")
        if first not in ("", "/"):
            raise InputError(
                "A Spark address is sc://host:port, without a path. Name the table with --table."
            )
        secret, kept = "", []
        for option in options:
            key, _, value = option.partition("=")
            if key.lower() == "token":
                secret = unquote(value)
            elif option:
                kept.append(option)
        end = "/;" + ";".join(kept) if kept else ""
        return cls("spark", f"sc://{server}{end}", secret)

    @property
    def database(self) -> str:
        """What to call the source by itself: the database, or the host of a cluster."""
        parts = urlsplit(self.url)
        own = unquote(parts.path.lstrip("/")) if self.kind == "postgres" else ""
        return own or self.server.partition(":")[0] or self.kind

    @property
    def server(self) -> str:
        """Host and port, for a sentence."""
        return unquote(urlsplit(self.url).netloc.rpartition("@")[2]) or "this machine"
