"""What a release report is made of: facts computed, or declared by the custodian.

Only `rehearsed` has seen true data; declarations that are missing stay visible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from ..core.guarantee import Guarantee
from ..core.table import ProtectedTable
from ..errors import InputError, did_you_mean
from ..workspace.report_declarations import DECLARATIONS


class Edition(StrEnum):
    """Who the report is for."""

    PUBLIC = "public"
    INTERNAL = "internal"


@dataclass(frozen=True)
class LedgerSummary:
    """What the ledger says: allowed, spent, left, in its own words, and the head of its chain."""

    budget: str
    spent: str
    left: str
    charges: tuple[tuple[str, str, str], ...] = ()
    """When, what for, how much."""
    chain_head: str = ""


@dataclass(frozen=True)
class PlannedError:
    """The error a plan announced before anything was drawn."""

    table: str
    margin: str
    noise_sd: float
    within: int
    unchanged: float | None = None
    """The share of cells that noise leaves as they are, where the law says it."""
    instead: str = ""
    """What was announced where nothing was measured, so that no error was."""


@dataclass(frozen=True)
class ReleaseFacts:
    """Everything known about one release; the caller gives the date, nothing here reads a clock."""

    title: str
    tables: tuple[ProtectedTable, ...]
    guarantee: Guarantee
    release: str = ""
    date: str = ""
    declared: Mapping[str, str] = field(default_factory=dict)
    policy: Mapping[str, str] = field(default_factory=dict)
    ledger: LedgerSummary | None = None
    planned_errors: tuple[PlannedError, ...] = ()
    laws: Mapping[str, Mapping[int, Fraction]] = field(default_factory=dict)
    chosen_by_looking: bool | None = None
    attacks: tuple[str, ...] = ()
    """What the attacks that were run showed; for the internal edition only."""
    rehearsed: tuple[str, ...] = ()
    """What a comparison on true data showed; for the internal edition only."""
    software: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    checksums: Mapping[str, str] = field(default_factory=dict)

    @property
    def language(self) -> str:
        """What the report is written in: the language of its tables."""
        return self.tables[0].layout.language

    def __post_init__(self) -> None:
        if not self.tables:
            raise InputError("A release report needs at least one protected table; there is none.")
        for key in self.declared:
            if key not in DECLARATIONS:
                raise InputError(
                    f"A release report knows no declaration {key!r}."
                    f"{did_you_mean(key, DECLARATIONS) or ' See report.facts.DECLARATIONS.'}"
                )
