"""Where randomness comes from: an AES-256-CTR keystream seeded by the operating system.

Each source erases its key as it goes (the first 48 bytes of every megabyte become the next key and
counter), takes fresh entropy from the operating system every gigabyte, and starts anew after a
fork, so no two processes ever share a byte. A source may be used by several threads; each thread
has one of its own through `system_source`. There is no seed.

It cannot see that a virtual machine was copied while running: after restoring a snapshot, restart.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

BLOCK_BYTES = 1 << 18
SLACK_BYTES = 16
"""`fill` may write so many bytes past the count asked for: the cipher wants one block of room."""
_ERASE_EVERY = 1 << 20
_RESEED_EVERY = 1 << 30
_SEED_BYTES = 48
_ZEROS = memoryview(bytes(BLOCK_BYTES))


class RandomSource(Protocol):
    """What a sampler needs: uniform bytes, each used once."""

    def fill(self, buffer: NDArray[np.uint8], count: int) -> None:
        """Write `count` fresh bytes to the front of a buffer of at least count + 16 bytes."""


def uniform_words(source: RandomSource, count: int) -> NDArray[np.uint64]:
    """So many fresh 64-bit words, in an array of their own."""
    buffer = np.empty(8 * count + SLACK_BYTES, dtype=np.uint8)
    source.fill(buffer, 8 * count)
    return buffer[: 8 * count].view(np.uint64)


class SystemSource:
    """An AES-256-CTR keystream, reseeded after fork, safe under threads.

    >>> source = SystemSource()
    >>> source.take(16) == source.take(16)
    False
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reseed()
        _SOURCES.add(self)

    def fill(self, buffer: NDArray[np.uint8], count: int) -> None:
        """Write `count` fresh bytes to the front of `buffer`."""
        if buffer.nbytes < count + SLACK_BYTES or not buffer.flags.c_contiguous:
            raise ValueError("the buffer must be contiguous and 16 bytes longer than the count")
        view = buffer.data.cast("B")
        with self._lock:
            if self._process != os.getpid():  # a fork that ran no Python handlers
                self._reseed()
            at = 0
            while at < count:
                if self._since_erase >= _ERASE_EVERY:
                    self._erase()
                size = min(count - at, BLOCK_BYTES)
                self._stream.update_into(_ZEROS[:size], view[at : at + size + SLACK_BYTES])
                self._since_erase += size
                at += size

    def take(self, count: int) -> bytes:
        """So many fresh bytes."""
        buffer = np.empty(count + SLACK_BYTES, dtype=np.uint8)
        self.fill(buffer, count)
        return buffer[:count].tobytes()

    def _reseed(self) -> None:
        self._process = os.getpid()
        self._since_seed = 0
        self._start(os.urandom(_SEED_BYTES))

    def _erase(self) -> None:
        """Replace the key by output nobody else sees; every gigabyte by the system's entropy."""
        self._since_seed += self._since_erase
        if self._since_seed >= _RESEED_EVERY:
            self._reseed()
            return
        self._start(self._stream.update(_ZEROS[:_SEED_BYTES]))

    def _start(self, seed: bytes) -> None:
        cipher = Cipher(algorithms.AES(seed[:32]), modes.CTR(seed[32:]))
        self._stream: CipherContext = cipher.encryptor()
        self._since_erase = 0

    def _after_fork(self) -> None:
        self._lock = threading.Lock()  # another thread of the parent may have held it
        self._reseed()


_SOURCES: weakref.WeakSet[SystemSource] = weakref.WeakSet()
_LOCAL = threading.local()


def _restart_all() -> None:
    for source in list(_SOURCES):
        source._after_fork()


os.register_at_fork(after_in_child=_restart_all)


def system_source() -> SystemSource:
    """This thread's own source."""
    source: SystemSource | None = getattr(_LOCAL, "source", None)
    if source is None:
        source = _LOCAL.source = SystemSource()
    return source
