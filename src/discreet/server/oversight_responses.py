"""What routes of oversight answer with: questions, budgets, verification, requests to custodians."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from ..store.inbox import CustodianRequest
from .responses import Change, Shape, listing


class QuestionShape(Shape):
    """What a hash of ledger, register or audit log stands for; no number of its answer."""

    question: str
    dataset: str
    title: str
    titles: list[str]
    """One for each table."""
    method: str
    cells: int
    recipe: dict[str, Any]
    query: str | None
    answered: bool
    rule: str | None = None
    """The rule that refused it."""


class BudgetFigures(BaseModel):
    """A budget as exact numbers: `{"kind": "pure", "epsilon": "10"}`."""

    cap: dict[str, str]
    spent: dict[str, str]
    held: dict[str, str]
    """Reserved for jobs that run."""
    left: dict[str, str]


class StandingShape(BaseModel):
    """Where a budget or a share of it stands."""

    scope: str
    cap: str
    spent: str
    left: str
    figures: BudgetFigures


class MoreTables(BaseModel):
    """How many more tables at one ε each the budget would bear."""

    epsilon: str
    tables: int


class SegmentShape(BaseModel):
    """A charge as a part of the budget; `charges` of very many old ones are one segment."""

    number: int
    share: str
    charges: int


class BudgetShape(Shape):
    """The data set's budget, then one's own share where there is one; for custodians all shares."""

    standings: list[StandingShape]
    shares: tuple[StandingShape, ...] = ()
    worst_case: str = ""
    """What a reader could conclude about one unit from all that was spent so far, at worst."""
    more: tuple[MoreTables, ...] = ()
    best_guesser: str = ""
    """How often the best guesser is right, where that can be told; for custodians and auditors."""
    charges: tuple[SegmentShape, ...] = ()
    """One for each charge, oldest first; for custodians and auditors."""


class DecisionShape(BaseModel):
    """One thing that waits for a custodian."""

    kind: Literal["proposal", "request", "release", "found", "source"]
    dataset: str
    id: str
    words: str
    reason: str
    by: str
    at: float | None
    changes: tuple[Change, ...]
    """What a proposal changes, value by value."""


class LedgerLineShape(BaseModel):
    """One entry of a ledger in words."""

    number: int
    time: str
    kind: str
    who: str
    scope: str
    words: str
    question: str
    cells: int | None
    within: int | None
    loss: dict[str, str] | None
    reason: str
    hash: str


class VerifiedShape(Shape):
    """Whether chain, sums, answers and anchors of a ledger agree."""

    dataset: str
    sound: bool
    at: float
    entries: int = 0
    answers: int = 0
    head: str = ""
    anchored: int = 0
    anchored_outside: int | None = None
    spent: str | None = None
    problem: str = ""
    """What is wrong, where something is."""


class EffectsShape(Shape):
    """What another policy would do to what was answered."""

    refused: list[str]
    anew: list[str]
    looked_at: int
    answers: int
    sentences: list[str]


Standings = listing(
    "Standings",
    "The data set's budget, then one's own share where there is one.",
    standings=list[StandingShape],
)
RequestList = listing("RequestList", "Requests to the custodian.", requests=list[CustodianRequest])
DecisionList = listing("DecisionList", "What waits for a custodian.", decisions=list[DecisionShape])
LedgerLines = listing(
    "LedgerLines",
    "Entries of a ledger in words, newest first; `next` says where to go on.",
    lines=list[LedgerLineShape],
    next=int | None,
)
