"""Where a workspace keeps what outlives a process: in its own folders, or in a Postgres that hosts share.

`store.yaml` in the workspace says so:

    database: postgresql://serving@db.example.org/statistics    # no password in it
    schema: discreet                                            # optional
    blobs: /srv/discreet-blobs                                  # a folder that all hosts see

The password comes by libpq's own ways: a password file (`PGPASSFILE`), a service file or the
environment. Without `store.yaml` everything lies in the workspace, in SQLite.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import yaml

from ..errors import InputError, did_you_mean
from ..file_names import STORE_PLACE

_NAMES = ("database", "schema", "blobs", "pooler")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,40}")


@dataclass(frozen=True)
class Place:
    """A database that hosts share, and a folder for what is too large for it."""

    database: str
    """A connection string of libpq, without a password."""
    schema: str = "discreet"
    blobs: Path | None = None
    pooler: bool = False
    """Whether a pooler lies between that gives each transaction another connection."""


def place_of(workspace: Path) -> Place | None:
    """What `store.yaml` of a workspace says; None where there is none."""
    path = workspace / STORE_PLACE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path} cannot be read. It says where the ledgers lie.") from None
    try:
        said = yaml.safe_load(text)
    except yaml.YAMLError:
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("database"), str):
        raise InputError(
            f"{path} must say `database: postgresql://ROLE@HOST/DATABASE`. Write that, or remove the "
            "file where everything is kept in the workspace."
        )
    for name in said:
        if name not in _NAMES:
            hint = did_you_mean(str(name), _NAMES)
            raise InputError(f"{path} says {str(name)[:40]!r}, which means nothing there.{hint}")
    schema = str(said.get("schema", "discreet"))
    if not _SCHEMA.fullmatch(schema):
        raise InputError(
            f"{path}: a schema is named by a–z, 0–9 and _, got {schema[:60]!r}. Choose another name."
        )
    _refuse_password(said["database"], path)
    blobs = said.get("blobs")
    return Place(
        said["database"],
        schema,
        None if blobs is None else Path(str(blobs)),
        bool(said.get("pooler", False)),
    )


def _refuse_password(database: str, path: Path) -> None:
    """A password in a file that is copied and shown is no secret."""
    try:
        parts = urlsplit(database)
    except ValueError:  # its text holds the address
        raise InputError(
            f"{path}: database is no address. Write `postgresql://ROLE@HOST/DATABASE`."
        ) from None
    in_url = parts.password is not None or "password" in parse_qs(parts.query)
    if parts.scheme and "@" in parts.path + parts.query + parts.fragment:
        in_url = True  # one with /, ? or # in it, as it stands
    if in_url or re.search(r"(^|\s)password\s*=", database):
        raise InputError(
            f"{path} holds a password. Take it out: write it into a password file of this user and "
            "name that in PGPASSFILE, or use a service file (PGSERVICEFILE)."
        )
