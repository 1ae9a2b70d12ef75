"""What a store gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..core.charge import Charge
from ..core.loss import Loss

DATASET = "dataset"
"""The scope every charge counts against; `user:NAME` and `project:NAME` are the others."""

Held: TypeAlias = "Hold | str | None"
"""A hold, or its id."""

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
    form: Mapping[str, Any] | None = None
    """The question in today's canonical form, where an upgrade gave the answer its present name."""


@dataclass(frozen=True)
class LedgerHistory:
    """What was answered so far, as it was at one moment.

    Who decides what to release by looking at it commits `after=history.head`. The question itself
    may be among the answers: then that is its answer, and nothing is left to decide.
    """

    head: str
    """Names the last answer; changes of a budget do not move it. Empty before any answer."""
    answers: tuple[StoredAnswer, ...]
    """Oldest first."""


@dataclass(frozen=True)
class Entry:
    """One row of the hash-chained log."""

    seq: int
    kind: str
    at: str
    body: Mapping[str, Any]
    hash: str

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What the entry charges or records; empty for the opening and for caps."""
        return tuple(Charge.from_json(stored) for stored in self.body.get("charges", ()))


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
    """The entry that the anchor beside the ledger knows."""
    anchored_outside: int | None
    """The entry that the anchor outside of the workspace knows; None where there is none."""
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
    hold: str | None
    """The hold on the ledger that this job's budget lies in, if it needs one."""
