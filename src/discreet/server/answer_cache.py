"""Finished answers kept in memory: by ETag, and by the bytes of the requests they answered; a few tables.

A dashboard asks the same again and again; such a request is known by its bytes. Only published
bytes are kept here: whoever reads them asks first whether they may be served to this asker.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass

from starlette.types import Scope

from ..core.table import ProtectedTable

_MOST_REQUESTS = 20_000
_BESIDE = 2048
"""Bytes that an answer takes beside its body: headers, tags, the objects themselves."""
_NEVER = (b"prefer", b"idempotency-key", b"if-none-match")
"""Headers with a meaning of their own: a request that has one is never known."""


@dataclass(frozen=True)
class Answer:
    """A finished answer: its bytes, what is said with them, and what they were made from."""

    tag: str
    dataset: str
    edition: str
    question: str
    data_version: str
    cells: int
    media_type: str
    language: str
    headers: dict[str, str]
    body: bytes

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes."""
        return len(self.body) + _BESIDE


class AnswerCache:
    """Answers by ETag and requests by their bytes; of both the longest unused go first."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._size = 0
        self._answers: OrderedDict[str, Answer] = OrderedDict()
        self._requests: OrderedDict[bytes, str] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, tag: str) -> Answer | None:
        """The answer with this tag."""
        with self._lock:
            answer = self._answers.get(tag)
            if answer is not None:
                self._answers.move_to_end(tag)
            return answer

    def put(self, answer: Answer) -> None:
        """Keep an answer while there is room."""
        if answer.size > self._most // 2:
            return
        with self._lock:
            before = self._answers.pop(answer.tag, None)
            self._size += answer.size - (before.size if before else 0)
            self._answers[answer.tag] = answer
            while self._size > self._most:
                _, dropped = self._answers.popitem(last=False)
                self._size -= dropped.size

    def known(self, key: bytes) -> Answer | None:
        """The answer to a request that came before with the same bytes."""
        tag = self._requests.get(key)
        return None if tag is None else self.get(tag)

    def remember(self, key: bytes, tag: str) -> None:
        """Know a request from now on."""
        with self._lock:
            self._requests[key] = tag
            self._requests.move_to_end(key)
            if len(self._requests) > _MOST_REQUESTS:
                self._requests.popitem(last=False)


class RecentTables:
    """Released tables by what they depend on, so that a second conclusion from one need not make it again.

    Protected tables only, and few: of those with up to `MOST_CELLS` cells the last `MOST_TABLES`.
    """

    MOST_TABLES, MOST_CELLS = 16, 50_000

    def __init__(self) -> None:
        self._tables: OrderedDict[bytes, tuple[ProtectedTable, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> tuple[ProtectedTable, ...] | None:
        """The tables kept under this key."""
        with self._lock:
            tables = self._tables.get(key)
            if tables is not None:
                self._tables.move_to_end(key)
            return tables

    def put(self, key: bytes, tables: tuple[ProtectedTable, ...]) -> None:
        """Keep tables for a while; the longest unused go first."""
        if sum(table.cells for table in tables) > self.MOST_CELLS:
            return
        with self._lock:
            self._tables[key] = tables
            self._tables.move_to_end(key)
            while len(self._tables) > self.MOST_TABLES:
                self._tables.popitem(last=False)


def request_key(scope: Scope, body: bytes) -> bytes | None:
    """What a request is known by; None where a header asks for more than the table."""
    sent: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        sent.setdefault(name, []).append(value)
    if any(name in sent for name in _NEVER):
        return None
    digest = hashlib.blake2b(digest_size=24)
    parts = [scope["method"].encode(), scope["path"].encode(), *sent.get(b"accept", ()), b"\n"]
    parts += [sent.get(name, [b""])[0] for name in (b"accept-language", b"content-type")]
    for part in (*parts, scope["query_string"], body):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
