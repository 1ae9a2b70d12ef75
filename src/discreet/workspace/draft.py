"""A description about to be written: what `init` guessed, or what a demo ships.

A draft is plain data in the order of discreet.yaml; `writer.write` makes the file of it and
`description_file.read` reads that back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .source_facts import SourceFacts
from .unit_columns import UnitColumns


@dataclass
class CategoryDraft:
    """A category: code, label (in one language or several), parent one level up, public population."""

    code: str
    label: str | dict[str, str] = ""
    parent: str | None = None
    population: int | None = None
    short: str = ""
    tile: tuple[int, int] | None = None
    members: list[str] = field(default_factory=list)
    """Codes of the level named by `of`, where no parents say it."""


@dataclass
class LevelDraft:
    """One level of a variable; `column` is None where it is known from the parents alone."""

    name: str
    column: str | None
    categories: list[CategoryDraft]
    label: str | dict[str, str] = ""
    of: str | None = None


@dataclass
class VariableDraft:
    """A variable, levels finest first, with sentences for the custodian to read."""

    name: str
    levels: list[LevelDraft]
    label: str | dict[str, str] = ""
    declared: bool = False
    role: str = "public"
    group: str = ""
    kind: str = "classification"
    missing: list[str] = field(default_factory=list)
    other: str | None = None
    derive: Mapping[str, Any] = field(default_factory=dict)
    """The rule that makes its categories; its one level then lists none."""
    note: str = ""
    comments: list[str] = field(default_factory=list)


@dataclass
class WeightDraft:
    """A weight column, its decimals and the public bound on one weight."""

    column: str
    decimals: int
    bound: str | None = None
    mark: str = "."


@dataclass
class Draft:
    """Everything discreet.yaml will say."""

    dataset: str
    title: str | dict[str, str]
    source: Mapping[str, str]
    variables: list[VariableDraft]
    synthetic: bool = False
    population: str = ""
    period: str = ""
    unit: str = "person"
    units: UnitColumns = field(default_factory=UnitColumns)
    """The columns that may name the unit, as far as the source tells."""
    doubts: tuple[str, ...] = ()
    """Why the source alone does not say which of them does, given what was said of the unit."""
    source_facts: SourceFacts | None = field(default=None, repr=False)
    records_per_unit: int = 1
    records_from_data: bool = False
    """That number is the largest found in the data, not a rule that was there before."""
    bound: str = "stop"
    records: int | None = None
    licence: str = ""
    contact: str = ""
    attribution: str = ""
    notes: list[str | dict[str, str]] = field(default_factory=list)
    language: str = ""
    id: str | None = None
    weight: WeightDraft | None = None
    family: str = "cell-key"
    method: str = "cell-key"
    methods: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, str] | None = None
    structural_zeros: list[tuple[dict[str, list[str]], str]] = field(default_factory=list)
    featured: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)
    """Headline, words and recipe of tables to put in front of readers."""
    hints: list[str] = field(default_factory=list)
    """What the custodian should hear at once, apart from the comments of the variables."""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Columns that became no variable, each with the reason."""
    secret: str = field(default="", repr=False)
    """The password of a database server, for the first load only; it is never written."""
