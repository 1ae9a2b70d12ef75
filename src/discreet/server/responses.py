"""What routes answer with beside tables and what the stores keep, for the OpenAPI document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from .. import __version__
from ..release import Rung, Standing
from ..rules import DEFAULT_MOST_CELLS
from ..store.accounts import Token, User
from ..store.catalogue import Proposal, Saved
from ..store.published import State
from ..verdict import Breach
from .problems import Alternative


def listing(name: str, words: str, **items: Any) -> type[BaseModel]:
    """An object that holds a list."""
    fields: dict[str, Any] = {key: (kind, ...) for key, kind in items.items()}
    return create_model(name, __doc__=words, **fields)


class Shape(BaseModel):
    """What a route answers with; a field with a default is always there too."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


class FormatShape(BaseModel):
    """A format tables come in."""

    name: str
    title: str
    media_type: str
    many: bool


class PolicyShape(BaseModel):
    """What a data set's policy says, in plain words."""

    dataset: str
    family: str
    method: str
    rules: list[str]
    budget: str | None


class SettingShape(BaseModel):
    """A setting an asker may say: measured (part of the question) or treated (free)."""

    name: str
    part: Literal["measured", "treated"]
    help: str
    default: str
    asked: bool
    words: list[str]


class ConfigShape(Shape):
    """Limits, methods, formats and policies."""

    software: str = f"discreet {__version__}"
    apiVersion: str = "1"
    maxDataCells: int = DEFAULT_MOST_CELLS
    maxCallsPerTimeWindow: int
    timeWindow: int = 60
    limits: dict[str, Any]
    methods: list[str]
    settings: dict[str, list[SettingShape]]
    formats: list[FormatShape]
    policies: list[PolicyShape]


class LevelShape(BaseModel):
    """A level of a variable."""

    name: str
    label: str
    categories: int


class MatchShape(BaseModel):
    """A category that a search found."""

    level: str
    code: str
    label: str
    parents: dict[str, str]
    """Its category at each coarser level."""


class VariableShape(BaseModel):
    """A variable with its levels, finest first."""

    name: str
    label: str
    kind: str
    group: str
    """Under which heading it stands; empty: none."""
    declared: bool
    note: str
    levels: list[LevelShape]
    matches: list[MatchShape]
    """Categories that a search found, the best first."""
    more: int
    """How many of them are not listed."""


class DataSetShape(BaseModel):
    """A data set in the catalogue."""

    id: str
    title: str
    family: str
    method: str
    unit: str
    population: str
    period: str
    synthetic: bool
    public: bool
    languages: list[str]
    variables: int


class FeaturedShape(BaseModel):
    """A table the custodian puts in front of readers, with words of the custodian's own."""

    title: str
    says: str
    recipe: dict[str, Any]
    query: str


class DataSetDetail(DataSetShape):
    """A data set with what else is public about it."""

    source: str
    licence: str
    contact: str
    notes: list[str]
    rules: list[str]
    records: int | None
    neighbours: str
    variable_names: list[str]
    featured: list[FeaturedShape]


class CategoryShape(BaseModel):
    """A category of a level."""

    code: str
    label: str
    short: str
    """A shorter label; the label where there is none."""
    missing: bool
    tile: Annotated[list[int], Field(min_length=2, max_length=2)] | None
    """Where a place lies on a grid of tiles: column and row, from 0."""
    parents: dict[str, str]
    """Its category at each coarser level."""


class CodeList(BaseModel):
    """Categories of a level; `total` counts all that were chosen."""

    variable: str
    level: str
    label: str
    total: int
    categories: list[CategoryShape]


class FoundVariable(VariableShape):
    """A variable that a search found."""

    dataset: str


class FoundCategory(MatchShape):
    """A category that a search found in some data set."""

    dataset: str
    variable: str


class FoundTable(BaseModel):
    """A table that is ready: featured by the custodian, saved, or released."""

    kind: Literal["featured", "saved", "release"]
    dataset: str
    title: str
    address: str


class SearchShape(BaseModel):
    """What was found, the best first; `near` names labels spelled much alike where nothing was."""

    variables: list[FoundVariable]
    categories: list[FoundCategory]
    tables: list[FoundTable]
    more: dict[str, int]
    near: list[str]


class ErrorShape(BaseModel):
    """The error to expect in one table."""

    axes: list[str]
    cells: int
    noise_sd: float
    within_95: int
    totals_sd: dict[str, float]
    totals_within_95: dict[str, int]
    share_unchanged: float | None
    note: str


class Figures(BaseModel):
    """Price and what is left as exact figures: `{"kind": "pure", "epsilon": "0.25"}`."""

    cost: dict[str, str] | None = None
    left: dict[str, str] | None = None


class CheckShape(Shape):
    """The verdict on a question, from public facts only; nothing is read or spent."""

    standing: Standing
    allowed: bool
    affordable: bool
    breaches: list[Breach]
    alternatives: list[Alternative]
    cells: int
    method: str
    settings: dict[str, str]
    treatment: dict[str, str]
    cost: str | None = None
    answered_before: bool = False
    follows_from: str | None = None
    """The question of an earlier release that answers this one for nothing."""
    left: str | None = None
    largest_epsilon: str | None = None
    figures: Figures = Figures()
    guarantee: dict[str, Any] = {}
    errors: list[ErrorShape] = []
    plans: list[dict[str, Any]] = []
    ladder: list[Rung] = []
    warnings: list[str] = []
    expected_seconds: float
    as_job: bool
    query: str | None
    recipe: dict[str, Any]


class PossibleShape(BaseModel):
    """Whether the changed table may be asked for; where not, the rule that says so."""

    allowed: bool
    cells: int
    rule: str
    sentence: str


class LevelOption(LevelShape):
    """What a level could do in a table."""

    used: bool
    """The table has it in rows, columns or layers."""
    filters: bool
    """The table is filtered by it."""
    in_table: PossibleShape
    """In rows, columns or layers, all judged alike, in place of another level of the variable."""
    as_filter: PossibleShape


class VariableOption(BaseModel):
    """A variable, and what each of its levels could do in a table."""

    name: str
    label: str
    kind: str
    group: str
    levels: list[LevelOption]


class AnswerShape(Shape):
    """What may be concluded: a sentence, the numbers behind it, what to mind."""

    sentence: str
    numbers: dict[str, Any]
    caveats: list[str]


class JobShape(BaseModel):
    """A job."""

    id: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    dataset: str
    share: float
    doing: str
    created: float
    attempts: int
    cancel_requested: bool
    format: str
    question: str
    error: dict[str, Any] | None
    result: str | None


@dataclass(frozen=True)
class SavedTable(Saved):
    """A saved table, and where to read it."""

    table: str


class ReleaseShape(BaseModel):
    """A release: published, never edited."""

    id: str
    dataset: str
    title: str
    recipe: dict[str, Any]
    question: str
    guarantee: str
    formats: list[str]
    documents: list[str]
    by: str
    created: float
    publish_at: str | None
    """None where no time was chosen yet."""
    state: State
    public: bool
    approved: dict[str, Any] | None
    """When, by whom and why; None before."""
    supersedes: str | None
    superseded_by: str | None
    withdrawn: dict[str, Any] | None


@dataclass(frozen=True)
class NewToken(Token):
    """A new token: the only time it is shown."""

    token: str


@dataclass(frozen=True)
class SessionShape:
    """Who is asking; `csrf` goes into the header X-CSRF-Token of every change."""

    user: str | None
    role: str
    scopes: list[str]
    csrf: str | None
    idle_until: float | None = None
    """When the session ends if nothing is asked before, in seconds since 1970."""
    expires_at: float | None = None
    """When it ends in any case."""


DataSets = listing("DataSets", "The catalogue.", datasets=list[DataSetShape])
Variables = listing("Variables", "Variables of a data set.", variables=list[VariableShape])
Options = listing("Options", "What variables can do in a table.", variables=list[VariableOption])
JobsShape = listing("JobsShape", "One's own jobs.", jobs=list[JobShape])
SavedList = listing("SavedList", "Saved tables.", saved=list[SavedTable], next=int | None)
ReleaseList = listing("ReleaseList", "Releases.", releases=list[ReleaseShape], next=int | None)
UserList = listing("UserList", "All accounts.", users=list[User])
TokenList = listing("TokenList", "One's own tokens.", tokens=list[Token])


@dataclass(frozen=True)
class Change:
    """One value: where it stands in discreet.yaml, what it is and what it would be; null where unset."""

    part: str
    now: str | None
    then: str | None
    words: str


@dataclass(frozen=True)
class ProposalShape(Proposal):
    """A proposal, and what it changes: each value as it is now and as it would be."""

    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Settled(ProposalShape):
    """A proposal, and the first token of the custodian that was made by it: shown this once."""

    token: str | None = None


ProposalList = listing("ProposalList", "All proposals.", proposals=list[ProposalShape])
