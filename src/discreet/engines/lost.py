"""A connection that is lost: what was asked is tried once more, and then it is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import EngineError

T = TypeVar("T")


class ConnectionLost(EngineError):
    """The server went away while it worked for us."""


def retried(work: Callable[[], T]) -> T:
    """What `work` returns, tried again once where the connection was lost."""
    try:
        return work()
    except ConnectionLost:
        return work()
