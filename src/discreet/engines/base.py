"""What an engine does, in three verbs: profile a source, load it coded, count.

`profile(source, control)` gives a `Profile`, `load(source, coding, target, control)` makes a version
in a new folder and gives a `LoadReport`, `open_engine(folder, description)` gives an `Engine`. It
counts the records of one loaded version of a data set over the codes of variables at
levels, and sums record keys (as two 32-bit halves) and weights beside. Every engine gives the same
integers (tests/engines holds the contract), so the same question gives the same cell-key table on
any of them, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..core.control import Control
from ..core.domain import Count
from ..core.table import TrueTable


class Engine(Protocol):
    """Counts one version of one data set, read-only."""

    name: str

    def count(
        self,
        counts: Sequence[Count],
        *,
        keys: bool = False,
        weights: bool = False,
        control: Control | None = None,
    ) -> list[TrueTable]:
        """A true table for each count, in order; only non-empty cells are held."""

    def close(self) -> None:
        """Let go of files and threads."""
