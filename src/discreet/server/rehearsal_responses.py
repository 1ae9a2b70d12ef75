"""What the routes that try a policy answer with."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict

from .responses import Shape, listing


class OutlookShape(Shape):
    """One table: whether the policy allows it, and how good it would be."""

    axes: list[str]
    cells: int
    allowed: bool
    why: str
    instead: list[str]
    noise_sd: float | None
    within: int | None
    reliable_from: int | None
    mean_count: float | None
    share_reliable: float | None


class RecommendationShape(Shape):
    """A law, what one table and all of them cost, and why."""

    law: str
    epsilon_a_table: str
    epsilon_in_all: str
    delta: str
    reasons: list[str]


class ScaleShape(Shape):
    """Floor and ceiling of ε, and what follows from both."""

    unit: str
    records_per_unit: int
    neighbours: str
    within: int
    of: str
    tables: int
    risk: list[list[str]]
    floor: str
    ceiling: str
    tables_that_fit: int
    crossed: bool
    recommended: RecommendationShape | None
    sentences: list[str]


class SimulationShape(Shape):
    """What a policy makes possible, from public facts only; as `discreet policy simulate --json`."""

    model_config = ConfigDict(extra="allow")
    """`difference` is there where two policies were compared."""

    dataset: str
    family: str
    method: str
    policy_version: str
    epsilon: str | None
    records: int | None
    rehearsal: Literal[False]
    scale: ScaleShape
    tables_in_all: int
    tables_allowed: int
    sentences: list[str]
    risks: list[str]
    """What the policy does not protect, with its numbers."""
    tables: list[OutlookShape]


class RehearsalShape(Shape):
    """A rehearsal under way or ended; what it found is in its report alone."""

    id: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    share: float
    doing: str
    created: float
    attempts: int
    cancel_requested: bool
    dataset: str
    what: Literal["compare", "attack", "simulate"]
    error: dict[str, Any] | None
    report: str | None
    formats: list[str]
    deleted_at: float | None


RehearsalList = listing("RehearsalList", "One's own rehearsals.", rehearsals=list[RehearsalShape])
