"""What `discreet check` found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing to know: how bad, what, where, and what to do."""

    severity: str
    """error (nothing is served until mended), warning or note."""
    what: str
    where: str
    todo: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.what} {self.todo}".rstrip()
