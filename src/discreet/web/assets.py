"""Style sheet, scripts and icon: files of this room under names that change with their bytes."""

from __future__ import annotations

import hashlib
import mimetypes
from functools import cache
from importlib.resources import files

PREFIX = "/assets"


@cache
def named() -> dict[str, tuple[str, bytes]]:
    """Every file by the name it is served under: its own name and its bytes."""
    folder = files("discreet.web").joinpath("static")
    found = {}
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        body = file.read_bytes()
        stem, _, ending = file.name.rpartition(".")
        digest = hashlib.sha256(body).hexdigest()[:10]
        found[f"{stem}.{digest}.{ending}"] = (file.name, body)
    return found


@cache
def address(name: str) -> str:
    """Where a file is served; what is there never changes.

    >>> address("discreet.css").startswith("/assets/discreet.")
    True
    """
    for served, (own, _) in named().items():
        if own == name:
            return f"{PREFIX}/{served}"
    raise KeyError(name)


def media_type(name: str) -> str:
    """What a file is."""
    if name.endswith(".js"):
        return "text/javascript; charset=utf-8"
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
