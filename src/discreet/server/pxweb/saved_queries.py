"""Saved queries without a store: a query's name is the query itself, packed.

Nothing is kept on the server, so anybody may save one, and none is ever lost or forgotten. A name
is read back within bounds; one that was not made here is not there.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib

from pydantic import ValidationError

from ...errors import InputError
from ..problems import not_found
from .shapes import SavedQueryForm

MOST_NAME = 4_000
"""Characters of a name: an address holds 8,192."""
_MOST_BYTES = 1 << 18


def named(query: SavedQueryForm) -> str:
    """The name of a query; of equal ones it is the same."""
    plain = query.model_dump(exclude={"id"}, exclude_defaults=True)
    text = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    name = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    if len(name) > MOST_NAME:
        raise InputError(
            "This selection is too long to be saved. Select with expressions such as *, top(n) or "
            "range(a,b) instead of single codes."
        )
    return name


def read(name: str) -> SavedQueryForm:
    """The query of a name; 404 where it is none."""
    try:
        packed = base64.urlsafe_b64decode(name + "=" * (-len(name) % 4))
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(packed, _MOST_BYTES)
        if not unpacking.eof or unpacking.unused_data:
            raise not_found("saved query")
        query = SavedQueryForm.model_validate(json.loads(text))
    except (binascii.Error, zlib.error, ValueError, RecursionError, ValidationError):
        raise not_found("saved query") from None
    return query.model_copy(update={"id": name})
