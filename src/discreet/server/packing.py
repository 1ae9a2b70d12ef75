"""Answers packed with gzip, from 1 kB, where the client takes that.

A packed answer's length tells how much of it repeats itself. Whoever can put words into an answer that
also holds a secret could guess the secret by that length, so what holds one is not packed: a session's
CSRF token as it is (pages carry it masked, other bytes each time), or a token that is shown once.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections import OrderedDict

from starlette.datastructures import Headers, MutableHeaders

LEAST = 1024
_LEVEL = 5
_KINDS = ("text/", "application/json", "application/problem+json", "application/csvm+json",
          "application/vnd.sdmx", "application/vnd.vegalite", "image/svg+xml", "application/javascript")  # fmt: skip
_NEVER = ("text/event-stream",)
_SHOWN_ONCE = b"dct_"
"""How every token begins."""


class Packed:
    """Packed bodies of answers whose ETag says that they stay as they are; the oldest go first."""

    def __init__(self, most_bytes: int = 16 << 20) -> None:
        self._most, self._size = most_bytes, 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()

    def body(self, tag: str, body: bytes) -> bytes:
        """The body packed; from memory where the very same one was packed before."""
        key = hashlib.blake2b(body, digest_size=32).digest() if tag else b""
        with self._lock:
            kept = self._kept.get(key) if tag else None
            if kept is not None:
                self._kept.move_to_end(key)
                return kept
        packed = _packed(body)
        if tag and len(packed) * 2 < self._most:
            with self._lock:
                before = self._kept.pop(key, b"")
                self._kept[key] = packed
                self._size += len(packed) - len(before)
                while self._size > self._most:
                    self._size -= len(self._kept.popitem(last=False)[1])
        return packed


def _packed(body: bytes) -> bytes:
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, 31)
    return packer.compress(body) + packer.flush()


def taken(headers: Headers) -> bool:
    """Whether a client takes gzip."""
    for part in headers.get("accept-encoding", "").split(","):
        name, _, weight = part.strip().partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def can_be(headers: MutableHeaders) -> bool:
    """Whether an answer is of a kind that gets smaller, and not packed already."""
    kind = headers.get("content-type", "").lower()
    if kind.startswith(_NEVER) or not kind.startswith(_KINDS):
        return False
    return "content-encoding" not in headers and "content-range" not in headers


def holds_secret(body: bytes, csrf: str) -> bool:
    """Whether a body holds something whose packed length must not be seen."""
    return _SHOWN_ONCE in body or (bool(csrf) and csrf.encode() in body)


def dress(headers: MutableHeaders, length: int) -> None:
    """The headers of a packed answer; its ETag is weak now, since the bytes are others."""
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(length)
    if headers.get("etag", "").startswith('"'):
        headers["ETag"] = f"W/{headers['etag']}"


def vary(headers: MutableHeaders) -> None:
    """That another client may get the same answer unpacked."""
    said = headers.get("vary", "")
    if "accept-encoding" not in said.lower():
        headers["Vary"] = f"{said}, Accept-Encoding" if said else "Accept-Encoding"
