"""Recipes as frozen data: what is measured, what is done to it, how it is shown.

A *question* has one canonical form however it is spelled, and a hash under which a ledger knows its
answer. A *treatment* is a function of what was measured and of public facts: free, part of no
charge. A *layout* changes no number.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from .domain import TOTAL, AxisRef, Condition, Count
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

    @property
    def unnamed(self) -> TableSpec:
        """The same table without its name and its share."""
        if not self.name and self.share is None:
            return self
        return replace(self, name="", share=None)

    def canonical(self) -> dict[str, Any]:
        """The table in canonical form."""
        form: dict[str, Any] = {
            "axes": [[ref.variable, ref.level] for ref in self.axes],
            "totals": self.totals or not self.axes,  # a grand total is its own total
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
    """What is asked of a data set; one or many tables, one method, one cost.

    `settings` are those that shape what is measured, in canonical text. As asked they hold what was
    said and no more; *resolved*, as a plan has them, they hold everything, with the defaults of policy
    and method filled in, so that two ways to ask one thing are one question.
    """

    dataset: str
    tables: tuple[TableSpec, ...]
    method: str
    settings: Mapping[str, str] = field(default_factory=dict)
    resolved: bool = False

    @property
    def variables(self) -> frozenset[str]:
        """The variables its tables are over or filtered by."""
        axes = {ref.variable for table in self.tables for ref in table.axes}
        return frozenset(axes | {part.variable for table in self.tables for part in table.where})

    def without_shares(self) -> Question:
        """The same question for a method that has no budget to share."""
        if all(table.share is None for table in self.tables):
            return self
        return replace(self, tables=tuple(replace(table, share=None) for table in self.tables))

    def resolve(self, settings: Mapping[str, str]) -> Question:
        """The same question with everything said that shapes what is measured."""
        return replace(self, settings=dict(settings), resolved=True)

    def canonical(self) -> dict[str, Any]:
        """The canonical form: plain values, sorted where order means nothing."""
        return {
            "dataset": self.dataset,
            "method": self.method,
            "settings": dict(sorted(self.settings.items())),
            "tables": [table.canonical() for table in self.distinct],
        }

    @property
    def distinct(self) -> tuple[TableSpec, ...]:
        """Its tables in canonical order, one asked twice once with both shares; alone it has all."""
        if len(self.tables) == 1:
            return (self.tables[0].unnamed,)
        shares: dict[TableSpec, Fraction | None] = {}
        for table in self.tables:
            plain_table = table.unnamed
            before = shares.get(plain_table)
            both = table.share if before is None else before + (table.share or 0)
            shares[plain_table] = both
        alone = len(shares) == 1
        tables = [replace(t, share=None if alone else share) for t, share in shares.items()]
        return tuple(sorted(tables, key=_order))

    @classmethod
    def from_canonical(cls, form: Mapping[str, Any]) -> Question:
        """Read back what `canonical` wrote of a resolved question; tables in canonical order."""
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
        return cls(form["dataset"], tables, form["method"], dict(form["settings"]), resolved=True)

    def hash(self, **facts: Any) -> str:
        """SHA-256 of the canonical form with the facts that measurements depend on, in hex."""
        return digest({**self.canonical(), **facts})


@dataclass(frozen=True)
class Treatment:
    """What follows the measurement, as asked: settings of the method in canonical text.

    Percentages belong to it too; a layout carries them, because they are of its rows or columns.
    """

    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sort:
    """By which published numbers rows, or columns, are put in order; see `arrangement.py`.

    >>> str(Sort("age", "85+")), str(Sort(down=False)), str(Sort("area:region", 'a "b", c'))
    ('age:85+,down', 'total,up', 'area:region:"a ""b"", c",down')
    """

    level: str = ""
    """An axis, as layouts name it; empty: the total of the other side."""
    code: str = ""
    """A category of it; empty: its total."""
    down: bool = True
    """The largest first."""

    def __str__(self) -> str:
        code = self.code or TOTAL
        if code.strip() != code or set(',:"') & set(code):
            code = '"' + code.replace('"', '""') + '"'
        where = f"{self.level}:{code}" if self.level else "total"
        return f"{where},{'down' if self.down else 'up'}"


@dataclass(frozen=True)
class Layout:
    """How a table is shown: costs nothing, changes no number."""

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    language: str = ""
    percent: str = ""
    """Percentages of rows, columns, layers or all; empty: none."""
    sort: Sort | None = None
    decimals: int | None = None
    """Of percentages where people read them, 0 to 2; None: one. Files keep all they have."""
    empty: str = ""
    """`hide` leaves out categories that hold nothing but 0."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes it names, in the order a table laid out so has them."""
        return (*self.layers, *self.rows, *self.columns)

    def as_titled(self, spec: TableSpec) -> TableSpec:
        """A table with its axes in the order a title names them: rows, columns, layers."""
        by_name = {str(ref): ref for ref in spec.axes}
        named = (*self.rows, *self.columns, *self.layers)
        if sorted(named) != sorted(by_name):
            return spec
        return replace(spec, axes=tuple(by_name[name] for name in named))


@dataclass(frozen=True)
class Recipe:
    """A question, what is done to its measurements and, for each of its tables, a layout."""

    question: Question
    layouts: Sequence[Layout]
    title: str = ""
    treatment: Treatment = field(default_factory=Treatment)

    @property
    def fingerprints(self) -> dict[str, str]:
        """A digest of each part: what was asked, what is done to it, how it is shown."""
        percents = [layout.percent for layout in self.layouts]
        sides = [[la.rows, la.columns, la.layers, la.language] for la in self.layouts]
        shown = [[str(la.sort or ""), la.decimals, la.empty] for la in self.layouts]
        order = [table.canonical() for table in self.question.tables]
        names = [table.name for table in self.question.tables]
        return {
            "question": digest(self.question.canonical()),
            "treatment": digest({"settings": self.treatment.settings, "percent": percents}),
            "layout": digest(
                {
                    "sides": sides,
                    "shown": shown,
                    "order": order,
                    "names": names,
                    "title": self.title,
                }
            ),
        }


def _order(table: TableSpec) -> str:
    return _spaced(table.canonical())


_spaced = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode
_close = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


def digest(form: Mapping[str, Any]) -> str:
    """SHA-256 of plain values in one canonical text, in hex."""
    return hashlib.sha256(_close(form).encode()).hexdigest()
