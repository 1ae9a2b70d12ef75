"""Progress and cancel for long work, passed as parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from ..errors import Cancelled

Progress = Callable[[float, str], None]
"""Called with the share done (0 … 1) and what is being done."""


def silent(share: float, doing: str) -> None:
    """A progress that nobody watches."""


class Keep(Protocol):
    """Where parts of long work may lie until the whole is done; what is not there is made again."""

    def get(self, name: str) -> bytes | None:
        """What was kept under a name; None: nothing."""

    def put(self, name: str, part: bytes) -> None:
        """Keep a part, as far as that can be done."""


class Forgetful:
    """A keep of nothing."""

    def get(self, name: str) -> bytes | None:
        """Nothing is there."""
        return None

    def put(self, name: str, part: bytes) -> None:
        """Nothing is kept."""


@dataclass(frozen=True)
class Control:
    """Progress, cancel and a place for finished parts of long work, as parameters."""

    progress: Progress = silent
    cancelled: Callable[[], bool] = lambda: False
    keep: Keep = field(default_factory=Forgetful, repr=False, compare=False)

    def step(self, share: float, doing: str) -> None:
        """Say how far the work is; stop it where a stop was asked for."""
        if self.cancelled():
            raise Cancelled(f"Stopped while {doing}; nothing was lost.")
        self.progress(share, doing)

    def part(self, start: float, end: float, name: str = "") -> Control:
        """The same for one part of the work, from one share of the whole to another."""
        said = f"{name}: " if name else ""
        return Control(
            lambda share, doing: self.progress(start + share * (end - start), said + doing),
            self.cancelled,
            self.keep,
        )
