"""What a store gives back, and the protocols another store would have to keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol, TypeAlias

from ..core.charge import Charge
from ..core.loss import Loss

DATASET = "dataset"
"""The scope every charge counts against; `user:NAME` and `project:NAME` are the others."""

JobState: TypeAlias = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True)
class StoredAnswer:
    """Measurements that are on disk together with their charge; safe to answer from."""

    question: str
    measurements: bytes
    charges: tuple[Charge, ...]
    data_version: str
    policy_version: str
    at: str
    receipt: Mapping[str, Any]
    """`entry` and `hash` of the ledger row: what a reader keeps to check the ledger later."""
    fresh: bool
    """This very call charged it; False when the answer was there already."""


@dataclass(frozen=True)
class Draft:
    """Charges and the measurements drawn for them, before they are committed."""

    charges: tuple[Charge, ...]
    measurements: bytes


@dataclass(frozen=True)
class Entry:
    """One row of the hash-chained log."""

    seq: int
    kind: str
    at: str
    body: Mapping[str, Any]
    hash: str


@dataclass(frozen=True)
class Standing:
    """Where one scope stands. `held` is reserved for running jobs and not spent."""

    scope: str
    cap: Loss
    spent: Loss
    held: Loss
    left: Loss


@dataclass(frozen=True)
class Hold:
    """Budget reserved for a running job until `expires` (seconds since 1970)."""

    id: str
    expires: float


@dataclass(frozen=True)
class Verified:
    """What a verification found in order."""

    dataset: str
    entries: int
    answers: int
    head: str
    anchored: int
    spent: Loss | None


@dataclass(frozen=True)
class Job:
    """Long work: a row that outlives the process doing it."""

    id: str
    kind: str
    state: JobState
    request: Mapping[str, Any]
    user: str
    created: float
    lease_until: float
    heartbeat: float
    share: float
    doing: str
    cancel_requested: bool
    result: str | None
    error: str | None
    attempts: int


class LedgerStore(Protocol):
    """Keeps charges for ever. Charge and measurements are durable before `commit` returns."""

    def find(self, question: str) -> StoredAnswer | None:
        """The answer already charged for this question, whoever asked."""

    def commit(
        self,
        charges: Charge | Sequence[Charge],
        measurements: bytes,
        *,
        idempotency_key: str,
        user: str = "",
        project: str = "",
        data_version: str,
        policy_version: str,
        hold: Hold | str | None = None,
    ) -> StoredAnswer:
        """Charge and store in one transaction, or raise and charge nothing."""

    def entries(self) -> Iterator[Entry]:
        """Every row of the log, oldest first."""

    def largest_affordable(self, *, user: str = "", project: str = "") -> Fraction:
        """The largest pure epsilon that fits everywhere."""


class ResultStore(Protocol):
    """A bounded cache of what keyed methods can recompute at will."""

    def get(self, question: str) -> bytes | None:
        """The stored bytes, or None."""

    def put(self, question: str, result: bytes) -> None:
        """Keep the bytes while there is room."""
