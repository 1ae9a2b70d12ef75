"""What `discreet check` found."""

from __future__ import annotations

from dataclasses import dataclass

SEVERITIES = ("error", "to do", "warning", "note")
"""From the worst on."""


@dataclass(frozen=True)
class Finding:
    """One thing to know: how bad, what, where, and what to do."""

    severity: str
    """error (something is broken), to do (nothing is answered until the custodian did it), warning or
    note."""
    what: str
    where: str
    todo: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.what} {self.todo}".rstrip()
