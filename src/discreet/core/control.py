"""Progress and cancel for long work, passed as parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import Cancelled

Progress = Callable[[float, str], None]
"""Called with the share done (0 … 1) and what is being done."""


def silent(share: float, doing: str) -> None:
    """A progress that nobody watches."""


@dataclass(frozen=True)
class Control:
    """Progress and cancel for long work, as parameters."""

    progress: Progress = silent
    cancelled: Callable[[], bool] = lambda: False

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
        )
