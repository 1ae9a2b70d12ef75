"""Questions and layouts as frozen data; the canonical form and the hash of a question."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .domain import AxisRef, Condition, Count
from .exact import plain


@dataclass(frozen=True)
class TableSpec:
    """One table of a question: axes in canonical order, filters, and whether margins are wanted."""

    axes: tuple[AxisRef, ...]
    where: tuple[Condition, ...] = ()
    totals: bool = True
    weighted: bool = False
    share: Fraction | None = None
    """The part of the question's budget this table gets; None: the plan decides."""
    name: str = ""
    """A name for files; not part of the question."""

    @property
    def count(self) -> Count:
        """What an engine must count for it."""
        return Count(self.axes, self.where)

    def canonical(self) -> dict[str, Any]:
        """The table in canonical form."""
        form: dict[str, Any] = {
            "axes": [[ref.variable, ref.level] for ref in self.axes],
            "totals": self.totals,
        }
        if self.where:
            form["where"] = [[c.variable, c.level, list(c.codes)] for c in self.where]
        if self.weighted:
            form["weighted"] = True
        if self.share is not None:
            form["share"] = plain(self.share)
        return form


@dataclass(frozen=True)
class Question:
    """What is asked of a data set, in canonical form; one or many tables, one method, one cost."""

    dataset: str
    tables: tuple[TableSpec, ...]
    method: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    """What the asker sets: epsilon, delta, law, max_perturbation, plan, … as exact text."""

    def canonical(self) -> dict[str, Any]:
        """The canonical form: plain values, sorted where order means nothing."""
        tables = [table.canonical() for table in self.tables]
        if len(tables) > 1:
            tables.sort(key=lambda table: json.dumps(table, sort_keys=True, ensure_ascii=False))
        return {
            "dataset": self.dataset,
            "method": self.method,
            "parameters": dict(sorted(self.parameters.items())),
            "tables": tables,
        }

    @classmethod
    def from_canonical(cls, form: Mapping[str, Any]) -> Question:
        """Read back what `canonical` wrote; tables are in canonical order then."""
        tables = tuple(
            TableSpec(
                axes=tuple(AxisRef(*axis) for axis in table["axes"]),
                where=tuple(
                    Condition(variable, level, tuple(codes))
                    for variable, level, codes in table.get("where", ())
                ),
                totals=bool(table["totals"]),
                weighted=bool(table.get("weighted", False)),
                share=Fraction(table["share"]) if "share" in table else None,
            )
            for table in form["tables"]
        )
        return cls(form["dataset"], tables, form["method"], dict(form["parameters"]))

    def hash(self, *, data_version: str = "", policy_version: str = "") -> str:
        """SHA-256 of the canonical form with data and policy version, in hex."""
        form = {**self.canonical(), "data": data_version, "policy": policy_version}
        text = json.dumps(form, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Layout:
    """How a table is shown: costs nothing, changes no number."""

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    language: str = ""
    percent: str = ""
    """Percentages of rows, columns, layers or all; empty: none."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes it names, in the order a table laid out so has them."""
        return (*self.layers, *self.rows, *self.columns)


@dataclass(frozen=True)
class Recipe:
    """A question and, for each of its tables, a layout."""

    question: Question
    layouts: Sequence[Layout]
    title: str = ""
