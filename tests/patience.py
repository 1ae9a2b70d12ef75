"""Waiting in tests: for as long as a busy machine needs, and no longer than a hang deserves.

No test asserts wall-clock time. A limit here only ends a test that would never end.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 300.0
"""Seconds after which something that should happen soon is taken never to happen."""


def wait_until(happened: Callable[[], bool], what: str) -> None:
    """Return as soon as `happened()`; fail with `what` was waited for if it never does."""
    end = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.01)
