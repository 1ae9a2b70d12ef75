"""The short way for a request that came before, byte for byte: straight to the kept answer.

A dashboard asks the same again and again. Such a request is known by its bytes; it is let through
by the same roles and scope, for a data set its asker may see, as long as the data set served is
the one the answer was made from. Anything else goes the whole way.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import Response
from starlette.datastructures import Headers
from starlette.types import Scope

from .auth import ASKERS, Asker

if TYPE_CHECKING:
    from .service import Service

_MOST = 20_000
_NEVER = ("prefer", "idempotency-key", "if-none-match")
ROUTE = "/datasets/{dataset}/tables"


@dataclass(frozen=True)
class Repeat:
    """What a request was answered with: a tag among the kept answers, and from which data set."""

    tag: str
    dataset: str
    edition: str
    media_type: str


class Repeats:
    """Requests that were answered, by their bytes; the longest unused are forgotten."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Repeat] = OrderedDict()
        self._lock = threading.Lock()

    def key(self, scope: Scope, body: bytes) -> bytes | None:
        """What a request is known by; None where it must go the whole way."""
        path: str = scope["path"]
        if not (path.startswith("/api/v1/datasets/") and path.endswith("/tables")):
            return None
        headers = Headers(scope=scope)
        if any(name in headers for name in _NEVER):
            return None
        digest = hashlib.blake2b(digest_size=24)
        parts = [scope["method"], path, *headers.getlist("accept")]
        parts += ["\n", headers.get("accept-language", ""), headers.get("content-type", "")]
        for part in (*(text.encode() for text in parts), scope["query_string"], body):
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.digest()

    def remember(self, key: bytes, repeat: Repeat) -> None:
        """Know a request from now on."""
        with self._lock:
            self._known[key] = repeat
            self._known.move_to_end(key)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)

    def answer(self, service: Service, key: bytes, asker: Asker) -> tuple[Response, Repeat] | None:
        """The answer to a request that came before, if all still holds."""
        found = self._known.get(key)
        if found is None or asker.role not in ASKERS or "tables" not in asker.scopes:
            return None
        if found.dataset not in service.visible(asker):
            return None
        if service.datasets.served(found.dataset) != found.edition:
            return None
        kept = service.answers.get(found.tag)
        if kept is None or service.withheld(asker, found.dataset, kept.question):
            return None
        from .table_answers import headers_for

        headers = headers_for(service, found.dataset, kept.language, asker, found.tag)
        headers |= kept.headers | {"Discreet-Charged": "no"}
        return Response(kept.body, 200, headers, found.media_type), found
