"""Style sheet, scripts and icon: files of this room under names that change with their bytes."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from functools import cache
from importlib.resources import files

PREFIX = "/assets"
_IMPORT = re.compile(rb'from "\./([\w.-]+)"')


@cache
def named() -> dict[str, tuple[str, bytes]]:
    """Every file by the name it is served under: its own name and its bytes."""
    folder = files("discreet.web").joinpath("static")
    bodies = {file.name: file.read_bytes() for file in folder.iterdir()}
    # a module that others import is named before those that name it
    order = sorted(bodies, key=lambda name: (_IMPORT.search(bodies[name]) is not None, name))
    served: dict[str, str] = {}
    for name in order:
        body = _IMPORT.sub(lambda found: _renamed(found, served), bodies[name])
        stem, _, ending = name.rpartition(".")
        served[name] = f"{stem}.{hashlib.sha256(body).hexdigest()[:10]}.{ending}"
        bodies[name] = body
    return {served[name]: (name, bodies[name]) for name in order}


def _renamed(found: re.Match[bytes], served: dict[str, str]) -> bytes:
    return b'from "./' + served[found[1].decode()].encode() + b'"'


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
