"""Drafts over HTTP: what clients send, and what they are answered with."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from .requests import ExactText, Form, Name, Word
from .responses import Shape

ColumnName = Annotated[str, Field(max_length=300)]
Whole = Annotated[int, Field(ge=1, le=10**12)]


class DraftForm(Form):
    """A file to upload, or a database table; `dataset` for a new version of one that is there."""

    file: Annotated[str, Field(max_length=300, examples=["stays.csv"])] | None = None
    bytes: Annotated[int, Field(ge=1, le=1 << 50, description="How long the file is.")] | None = (
        None
    )
    source: Annotated[str, Field(max_length=1000, description="A database table.")] | None = None
    dataset: Word | None = None


class AboutForm(Form):
    """What readers are told of the data set."""

    title: Annotated[str, Field(max_length=300)] = ""
    population: Annotated[str, Field(max_length=300)] = ""
    period: Annotated[str, Field(max_length=300)] = ""
    licence: Annotated[str, Field(max_length=300)] = ""
    contact: Annotated[str, Field(max_length=300)] = ""


class ColumnsForm(Form):
    """Columns to leave out, and the one with weights; `none` for no weight."""

    leave_out: Annotated[list[ColumnName], Field(max_length=5_000, default_factory=list)]
    weight: ColumnName = ""


class UnitForm(Form):
    """Who one unit is: the word, the column that names it, how many records of one count."""

    unit: Annotated[str, Field(max_length=40, examples=["person"])] = ""
    id: ColumnName | None = None
    records: Annotated[int, Field(ge=1, le=10**9)] | None = None
    drop: Annotated[bool, Field(description="Leave out what is more, instead of stopping.")] = False


class PolicyForm(Form):
    """How it is protected; what is not said is proposed."""

    family: Literal["cell-key", "dp"] = "cell-key"
    budget: ExactText | Literal[""] = ""
    max_perturbation: Annotated[int, Field(ge=1, le=1000)] | None = None
    variance: ExactText | Literal[""] = ""
    max_variables: Annotated[int, Field(ge=1, le=64)] | None = None
    max_cells: Whole | None = None


class QuestionsForm(Form):
    """How exact a number must be, in how many tables, and how much a suspicion may grow."""

    within: Annotated[int, Field(ge=0, le=1_000_000)] = 5
    tables: Annotated[int, Field(ge=1, le=100_000)] = 3
    prior: ExactText = "10"
    most: ExactText = "25"


class AnswersForm(Form):
    """What is said of a draft. Parts that are left out stay as they were."""

    name: Annotated[str, Field(max_length=50)] | None = None
    about: AboutForm | None = None
    columns: ColumnsForm | None = None
    unit: UnitForm | None = None
    declared: Annotated[list[Name], Field(max_length=5_000)] | None = None
    rules: dict[Name, dict[Name, Annotated[str, Field(max_length=40)]]] | None = None
    policy: PolicyForm | None = None
    questions: QuestionsForm | None = None


class DraftSummary(Shape):
    """A draft in a list."""

    id: str
    state: Literal["uploading", "looking", "open", "loading", "done"]
    edition: int
    by: str
    created: float
    changed: float
    changed_by: str
    file: str
    bytes: int | None
    received: int
    resumable: bool
    source: str
    dataset: str
    """The data set of which it is a new version."""
    made: str
    """The data set that it became."""
    error: str
    share: float
    doing: str
    told: list[str]


class DraftShape(DraftSummary):
    """A draft with everything that was found and said; for custodians alone."""

    review: dict[str, Any] | None = None
    """Columns, unit, variables, policy, and what is still open; once the file was looked at."""
    changes: Annotated[list[str], Field(default_factory=list)]
    """Of a new version: what is other in its file."""
    barred: Annotated[list[str], Field(default_factory=list)]
    """… and why it cannot be loaded as it is."""


class DraftList(Shape):
    """The drafts of a workspace."""

    drafts: list[DraftSummary]
    most_bytes: int
    """The largest file that can be uploaded."""
