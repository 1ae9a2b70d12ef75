"""Where a reader may start: tables the custodian features, else some that any data set has."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from urllib.parse import quote

from ..core.description import Description
from ..core.domain import AxisRef, Level, Variable
from ..languages import say
from ..recipe import query_of
from ..server.auth import Asker
from ..server.routes.catalogue import featured
from ..server.service import told
from ..workspace import DataSet
from .address import short_names
from .axes import PRIVATE

STARTS = 3
"""So many tables to start with are offered where nobody features any."""

MOST, FEW = 30, 12
"""A table to start with has at most so many rows and columns; with few, its numbers are larger."""


@dataclass(frozen=True)
class Start:
    """A ready table: a headline, a sentence, and its address."""

    title: str
    says: str
    query: str
    address: str
    lead: str = ""
    """What the custodian says of it, from published numbers."""


def featured_or_any(asker: Asker, data: DataSet, language: str = "") -> list[Start]:
    """The tables the custodian features, in the custodian's words; where there is none, a few of any."""
    name = data.folder.name
    told_of = [
        Start(
            one["title"],
            one["says"],
            one["query"],
            f"/build/{quote(name)}?{one['query']}",
            one["says"],
        )
        for one in featured(asker, data, language)
    ]
    return told_of or starts(name, told(asker, data), language)


def starts(name: str, description: Description, language: str = "") -> list[Start]:
    """Some tables of two variables, each small enough to be read at once."""
    short = short_names(description)
    found = []
    for (one, a), (two, b) in _pairs(description):
        rows, columns = (a, b) if len(a) >= len(b) else (b, a)
        refs = [AxisRef(v.name, level.name) for v, level in ((one, a), (two, b))]
        if rows is b:
            refs.reverse()
        query = query_of({"rows": [short[str(refs[0])]], "columns": [short[str(refs[1])]]})
        labels = [
            _label(v, level, language)
            for v, level in sorted(((one, a), (two, b)), key=lambda x: -len(x[1]))
        ]
        title = say("{rows} by {columns}", rows=labels[0], columns=labels[1])
        size = say("{rows} rows, {columns} columns", rows=len(rows), columns=len(columns))
        found.append(Start(title, size, query, f"/build/{quote(name)}?{query}"))
    return found


def _pairs(
    description: Description,
) -> list[tuple[tuple[Variable, Level], tuple[Variable, Level]]]:
    """The pairs of variables with the smallest tables: their noise is least beside their numbers.

    Each stands at its finest level with few categories, else at its coarsest that can be read at once.
    Only the smallest variables are paired: one more than there are pairs makes all of these.
    """
    readable = []
    for variable in description.variables:
        fitting = [level for level in variable.levels if 2 <= len(level) <= MOST]
        if fitting and variable.role != PRIVATE:
            few = [level for level in fitting if len(level) <= FEW]
            readable.append((variable, few[0] if few else fitting[-1]))
    smallest = sorted(range(len(readable)), key=lambda place: len(readable[place][1]))
    paired = [readable[place] for place in sorted(smallest[: STARTS + 1])]
    pairs = sorted(combinations(paired, 2), key=lambda pair: len(pair[0][1]) * len(pair[1][1]))
    return pairs[:STARTS]


def _label(variable: Variable, level: Level, language: str) -> str:
    if len(variable.levels) == 1:
        return variable.label.says(language) or variable.name
    return level.label.says(language) or level.name
