"""What a release report is made of: facts computed, declared by the custodian, or attested.

One set of facts gives two editions. `for_edition` takes away whatever has seen true data before
a page is built, so that the public page cannot hold it; missing declarations stay visible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction

from ..core.guarantee import Guarantee
from ..core.table import ProtectedTable, Rehearsal
from ..errors import Bug, InputError, did_you_mean
from ..workspace.report_declarations import DECLARATIONS


class Edition(StrEnum):
    """Who the report is for."""

    PUBLIC = "public"
    INTERNAL = "internal"


@dataclass(frozen=True)
class Approval:
    """A named person's yes, with the reason given."""

    name: str
    role: str
    date: str
    reason: str


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
    coverage: Fraction = Fraction(95, 100)
    instead: str = ""
    """What was announced where nothing was measured, so that no error was."""


@dataclass(frozen=True)
class AttackRun:
    """An attack that was run: what it tried, what it reached, and on an unprotected baseline.

    `on_true_data` marks results computed against the truth; they stay internal.
    """

    name: str
    tried: str
    reached: str
    baseline: str = ""
    on_true_data: bool = True


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
    delta_curve: tuple[tuple[Fraction, Fraction], ...] = ()
    attacks: tuple[AttackRun, ...] = ()
    approvals: tuple[Approval, ...] = ()
    chosen_by_looking: bool | None = None
    software: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    checksums: Mapping[str, str] = field(default_factory=dict)
    rehearsals: tuple[Rehearsal, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not self.tables:
            raise InputError("A release report needs at least one protected table; there is none.")
        for key in self.declared:
            if key not in DECLARATIONS:
                raise InputError(
                    f"A release report knows no declaration {key!r}."
                    f"{did_you_mean(key, DECLARATIONS) or ' See report.facts.DECLARATIONS.'}"
                )

        self._check_claim()

    def _check_claim(self) -> None:
        """Refuse a claim that the release's own curve contradicts: δ never grows with ε."""
        epsilon, delta = self.guarantee.epsilon, self.guarantee.delta
        if epsilon is None or delta is None:
            return
        if any(at >= epsilon and needed > delta for at, needed in self.delta_curve):
            raise Bug(
                "The claimed guarantee lies below the exact curve of δ, so the report is not written."
            )

    def for_edition(self, edition: Edition) -> ReleaseFacts:
        """The facts an edition may use: the public one has nothing that saw true data."""
        if edition is Edition.INTERNAL:
            return self
        shown = tuple(attack for attack in self.attacks if not attack.on_true_data)
        return replace(self, attacks=shown, rehearsals=())
