"""What a method offers that compares freshly loaded records with public facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ..core.domain import Count
from ..core.table import TrueTable
from .base import Facts


@runtime_checkable
class ChecksRecords(Protocol):
    """What does not fit is told when data are loaded, to the custodian alone."""

    def record_counts(self, facts: Facts) -> tuple[Count, ...]:
        """What to count of the records."""

    def check_records(self, facts: Facts, tables: Sequence[TrueTable]) -> None:
        """Raise where they do not fit."""
