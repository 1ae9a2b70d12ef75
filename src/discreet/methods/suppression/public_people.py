"""The people a table is about, from public files: how many of each kind, and what is thought of them.

A *kind* is a row of the populations: codes of public variables and a number. A *type* is what the
prior tells apart. Every table over the variables of the populations, at any level and with any filter
on them, is a way to sort kinds into cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ...core.description import Description
from ...core.question import TableSpec
from ...errors import InputError, Refusal, did_you_mean
from .board import Whole
from .cell_weights import CellPeople, Law
from .settings import POPULATION, Attribute, Prior, PublicFile, chance, names_of

POINTS = 9
"""How many priors of an interval are tried: equal steps of the log odds, all types together."""
MOST_PEOPLE = 20_000_000


@dataclass(frozen=True)
class PublicPeople:
    """All kinds of people, with the law of one's value at each point of the prior."""

    variables: tuple[str, ...]
    codes: Whole = field(repr=False)
    """(kinds, variables): places of finest categories."""
    many: Whole = field(repr=False)
    laws: tuple[tuple[Law, ...], ...] = field(repr=False)
    """By point of the prior and kind."""

    @property
    def points(self) -> int:
        """How many priors are tried."""
        return len(self.laws)

    def inside(self, spec: TableSpec, description: Description) -> Whole:
        """The kinds a table is about, those of nobody left out."""
        kept = self.many > 0
        for part in spec.where:
            self._known(part.variable, description)
            passes = description.variable(part.variable).level(part.level).within(part.codes)
            kept &= passes[self.codes[:, self.variables.index(part.variable)]]
        return np.flatnonzero(kept)

    def cells(self, spec: TableSpec, description: Description) -> Whole:
        """The cell of each kind in a table, last axis fastest; those outside its filter too."""
        place = np.zeros(len(self.many), dtype=np.int64)
        for ref in spec.axes:
            self._known(ref.variable, description)
            level = description.variable(ref.variable).level(ref.level)
            column = self.codes[:, self.variables.index(ref.variable)]
            place = place * len(level) + level.places[column]
        return place

    def in_cells(self, spec: TableSpec, description: Description) -> list[list[CellPeople]]:
        """The people of every cell of a table, by point of the prior."""
        size = math.prod(len(description.axis(ref)) for ref in spec.axes)
        inside, cells = self.inside(spec, description), self.cells(spec, description)
        found = []
        for laws in self.laws:
            by_cell: list[dict[Law, int]] = [{} for _ in range(size)]
            for kind in inside.tolist():
                cell = by_cell[cells[kind]]
                cell[laws[kind]] = cell.get(laws[kind], 0) + int(self.many[kind])
            found.append([CellPeople.of(cell) for cell in by_cell])
        return found

    def _known(self, name: str, description: Description) -> None:
        if description.variable(name).role == "private":
            raise Refusal(
                f"{name} is a private attribute: a table by it, or filtered by it, would tell what "
                "must not be learnt. It is what tables count here.",
                rule="private-attribute",
            )
        if name not in self.variables:
            raise Refusal(
                f"The public populations do not tell {name} apart; they have "
                f"{', '.join(self.variables)}.",
                rule="unknown-population",
            )


def read_people(file: PublicFile, attribute: Attribute, description: Description) -> PublicPeople:
    """The people of the populations with the prior of one attribute."""
    names = names_of(file.columns, (POPULATION,))
    at = file.columns.index(POPULATION)
    codes, many = [], []
    seen: set[tuple[int, ...]] = set()
    for number, row in enumerate(file.rows, 2):
        said = f"The populations, line {number}"
        kind = tuple(
            _code(name, row[file.columns.index(name)], description, said) for name in names
        )
        if kind in seen:
            raise InputError(f"{said}, repeats an earlier line. Give each kind of people once.")
        seen.add(kind)
        if not row[at].isdecimal():
            raise InputError(
                f"{said}: {POPULATION} must be a whole number ≥ 0, got {row[at][:20]!r}."
            )
        codes.append(kind)
        many.append(int(row[at]))
    total = sum(many)
    if not 0 < total <= MOST_PEOPLE:
        raise InputError(
            f"The populations hold {total:,} people; from 1 to {MOST_PEOPLE:,} are read."
        )
    places = np.array(codes, dtype=np.int64).reshape(len(codes), len(names))
    laws = _laws(names, places, attribute, description)
    return PublicPeople(names, places, np.array(many, dtype=np.int64), laws)


def _code(name: str, code: str, description: Description, said: str) -> int:
    known = {variable.name: variable for variable in description.variables}
    if name not in known or known[name].role == "private":
        near = did_you_mean(name, [v.name for v in description.variables if v.role != "private"])
        raise InputError(
            f"{said.split(',', maxsplit=1)[0]} have a column {name!r}, no public variable.{near}"
        )
    index = known[name].finest.index
    if code not in index:
        raise InputError(
            f"{said}: {name} has no category {code[:20]!r}.{did_you_mean(code, index)}"
        )
    return index[code]


def _laws(
    names: Sequence[str], codes: Whole, attribute: Attribute, description: Description
) -> tuple[tuple[Law, ...], ...]:
    prior = attribute.prior
    if prior.file is None:
        assert prior.low is not None
        assert prior.high is not None
        if attribute.integers:
            raise InputError(
                f"attributes.{attribute.name}.prior must be a file with columns p0, p1, … for whole "
                "numbers."
            )
        same = _points(prior.low, prior.high)
        return tuple((law,) * len(codes) for law in same)
    kinds = _file_laws(prior, names, codes, attribute, description)
    points = max(len(laws) for laws in kinds)
    return tuple(
        tuple(laws[point] if len(laws) > 1 else laws[0] for laws in kinds)
        for point in range(points)
    )


def _file_laws(
    prior: Prior, names: Sequence[str], codes: Whole, attribute: Attribute, description: Description
) -> list[tuple[Law, ...]]:
    """The laws of each kind, at each point, from the file of the prior."""
    file = prior.file
    assert file is not None
    chances = [c for c in file.columns if c in ("p", "low", "high") or _numbered(c)]
    types = names_of(file.columns, chances)
    if "p" in chances and len(chances) > 1:
        raise InputError(
            f"The prior of {attribute.name} has a column p and {', '.join(c for c in chances if c != 'p')[:80]} too. Give one "
            "value, p, or an interval, low and high."
        )
    for name in types:
        if name not in names:
            raise InputError(
                f"The prior of {attribute.name} tells people apart by {name}, which the populations "
                f"do not have; they have {', '.join(names)}."
            )
    by_type: dict[tuple[int, ...], tuple[Law, ...]] = {}
    for number, row in enumerate(file.rows, 2):
        said = f"The prior of {attribute.name}, line {number}"
        values = dict(zip(file.columns, row, strict=True))
        key = tuple(_code(name, values[name], description, said) for name in types)
        if key in by_type:
            raise InputError(f"{said}, repeats an earlier line. Give each type of people once.")
        codes_of = description.variable(attribute.name).finest.codes
        by_type[key] = _row_laws(values, attribute, len(codes_of), said)
    columns = [list(names).index(name) for name in types]
    found = []
    for kind in codes.tolist():
        key = tuple(kind[column] for column in columns)
        if key not in by_type:
            words = ", ".join(
                f"{name} {description.variable(name).finest.codes[place]}"
                for name, place in zip(types, key, strict=True)
            )
            raise InputError(
                f"The prior of {attribute.name} says nothing about people with {words}. "
                "Give every type of the populations a line."
            )
        found.append(by_type[key])
    return found


def _numbered(column: str) -> bool:
    return column[:1] == "p" and column[1:].isdecimal()


def _row_laws(
    values: dict[str, str], attribute: Attribute, codes: int, said: str
) -> tuple[Law, ...]:
    if attribute.integers:
        columns = sorted((c for c in values if _numbered(c)), key=lambda c: int(c[1:]))
        chances = [chance(values[c], f"{said}: {c}", of_several=True) for c in columns]
        if columns != [f"p{a}" for a in range(len(columns))] or len(columns) < 2:
            raise InputError(f"{said}, needs the columns p0, p1, … without a gap.")
        if len(columns) != codes:
            raise InputError(
                f"The prior of {attribute.name} has p0 to p{len(columns) - 1}, and its codes are 0 to "
                f"{codes - 1}. Give each a column, with 0 for values that nobody has."
            )
        if sum(chances) != 1:
            raise InputError(f"{said}: p0, p1, … must add up to exactly 1.")
        return (tuple(float(one) for one in chances),)
    if "p" in values:
        value = chance(values["p"], f"{said}: p")
        return _points(value, value)
    if "low" not in values or "high" not in values:
        raise InputError(f"{said}, needs a column p, or low and high.")
    low, high = (chance(values[name], f"{said}: {name}") for name in ("low", "high"))
    if low > high:
        raise InputError(f"{said}, has low above high.")
    return _points(low, high)


def _points(low: Fraction, high: Fraction) -> tuple[Law, ...]:
    """Laws of a Boolean value: one, or in equal steps of the log odds from low to high.

    >>> [round(law[1], 3) for law in _points(Fraction(1, 5), Fraction(4, 5))][::4]
    [0.2, 0.5, 0.8]
    """
    if low == high:
        return ((float(1 - low), float(low)),)
    if low == 0 or high == 1:
        raise InputError("An interval of a prior must lie between 0 and 1, both left out.")
    ends = [math.log(float(p) / float(1 - p)) for p in (low, high)]
    laws = []
    for step in range(POINTS):
        odds = math.exp(ends[0] + (ends[1] - ends[0]) * step / (POINTS - 1))
        laws.append((1 / (1 + odds), odds / (1 + odds)))
    return tuple(laws)
