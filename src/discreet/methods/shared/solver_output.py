"""What solvers written in C print of their own accord never lands in a table on standard output."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_OUT, _ERROR = 1, 2
_lock = threading.Lock()
_inside: list[int] = []
"""For each thread inside, the standard output to be put back by the last of them."""


@contextmanager
def kept_apart() -> Iterator[None]:
    """Send what is written to the process's standard output meanwhile to standard error.

    Nothing is lost: a server's other threads write there too until the last solver is done.
    """
    with _lock:
        _inside.append(_inside[0] if _inside else _turned())
    try:
        yield
    finally:
        with _lock:
            saved = _inside.pop()
            if not _inside and saved >= 0:
                _flush()
                os.dup2(saved, _OUT)
                os.close(saved)


def _turned() -> int:
    """Standard output turned to standard error; a copy of what it was, −1 where there is none."""
    _flush()
    saved = -1
    with suppress(OSError):
        saved = os.dup(_OUT)
        os.dup2(_ERROR, _OUT)
    return saved


def _flush() -> None:
    """Write out what Python and C libraries hold back."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)
