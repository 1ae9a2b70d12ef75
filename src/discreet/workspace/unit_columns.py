"""Which column names the unit of protection, as far as a file can tell; the custodian decides.

A guarantee counts the records of one unit. Where one person has several records, taking a record
for a person makes the guarantee false, so what is not certain is asked: a *candidate* is a column
that may name the unit, and a *doubt* is why the file alone does not say which one does. Everything
here is for the custodian; no public answer depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..core.description import RECORD
from ..errors import DataError, did_you_mean
from .vocabulary import (
    is_event_name,
    is_geography,
    is_id_by_name,
    is_id_name,
    is_number_by_name,
    is_person_name,
    is_time,
    is_weight_name,
)

if TYPE_CHECKING:
    from ..engines.coding import ColumnProfile
    from .source_facts import SourceFacts

FEW = 30
"""So few values are a classification, unless the column is plainly called an id."""

REPEATED = 5
"""A column that no name gives away is like an id while its values have fewer records than this."""

_NAMED_SHARE = 10
"""One that is called an id may have so many on average."""

_HASH = re.compile(r"[0-9a-f]{16,128}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

_LEAST_NUMBERS = 150
"""Fewer whole numbers than this are ages, days or amounts."""


@dataclass(frozen=True)
class Candidate:
    """A column that may name the unit; the counts are true ones."""

    column: str
    values: int = field(repr=False)
    most: int = field(repr=False)
    """The largest number of records that one value has."""
    person: bool = False
    """Its name says that it names people."""
    event: bool = False
    """Its name says that it names stays, orders, households: something else than a person."""

    @property
    def repeats(self) -> str:
        """How often its values occur, in words."""
        each = "one record each" if self.most == 1 else f"up to {self.most:,} records each"
        return f"{self.values:,} values, {each}"


@dataclass(frozen=True)
class UnitColumns:
    """The columns that may name the unit, the likeliest first."""

    candidates: tuple[Candidate, ...] = ()

    @property
    def likeliest(self) -> Candidate | None:
        """The column taken where the custodian says nothing; None where no column names a unit."""
        return self.candidates[0] if self.candidates else None

    def named(self, column: str | None) -> Candidate | None:
        """The candidate that is this column."""
        return next((one for one in self.candidates if one.column == column), None)

    def others(self, column: str | None, unit: str = "") -> tuple[Candidate, ...]:
        """The other columns that repeat as the ids of people do, where this one is taken.

        Beside a column of people with one record each, other ids that repeat (households, say)
        name something larger, unless they name people too, or a `unit` was said that is no person.
        """
        taken = self.named(column)
        people = taken is not None and taken.person and taken.most == 1
        people = people and (unit in ("", RECORD) or is_person_name(unit))
        repeating = [one for one in self.candidates if one.most > 1 and one.column != column]
        return tuple(one for one in repeating if one.person or not people)

    def settled_by(self, unit: str, column: str | None) -> bool:
        """Whether this word alone says enough: one unit is one value of this column."""
        return not self.others(column, unit) and not self._of_people(column, unit)

    def _of_people(self, column: str | None, unit: str) -> bool:
        """Whether values of this column are people, and the unit is what they share or have many of."""
        taken = self.named(column)
        return taken is not None and taken.person and not taken.event and is_event_name(unit)

    def doubts(self, column: str | None, unit: str = "") -> tuple[str, ...]:
        """Why one unit may be something else than one value of this column (None: one record)."""
        sentences = [
            f"Column {one.column} repeats like the id of a person: one value has up to {one.most:,} "
            "records."
            for one in self.others(column, unit)
        ]
        taken = self.named(column)
        if taken is not None and taken.event:
            sentences.append(
                f"Column {taken.column} names what one person may have several of, or share."
            )
        if self._of_people(column, unit):
            sentences.append(f"Column {column} names people, and one {unit} is no person.")
        if taken is not None and taken.most > 1:
            sentences.append(
                f"One value of column {taken.column} has up to {taken.most:,} records, and how many "
                "of them count is for a public rule to say."
            )
        return tuple(sentences)


def unit_columns(facts: SourceFacts, chosen: str | None = None) -> UnitColumns:
    """The candidates among the columns of a source, and the column that was `chosen`."""
    names = facts.names
    if chosen is not None and chosen not in names:
        raise DataError(f"The source has no column {chosen!r}.{did_you_mean(chosen, names)}")
    found = [
        Candidate(
            column.name,
            column.distinct,
            column.most,
            is_person_name(column.name),
            is_event_name(column.name),
        )
        for column in facts.columns
        if column.name == chosen or column.may_name_unit
    ]
    return UnitColumns(tuple(sorted(found, key=_rank)))


def named_like_ids(names: Sequence[str]) -> list[str]:
    """The columns whose name alone makes them worth a look."""
    return [name for name in names if _id_like(name)]


def _id_like(name: str) -> bool:
    return is_id_by_name(name) or is_id_name(name) or is_person_name(name) or is_event_name(name)


def _rank(one: Candidate) -> tuple[bool, ...]:
    """Ids without repeats before those with, and of each those with a telling name first."""
    return (not _id_like(one.column), one.most > 1, not one.person, one.event)


def may_name_the_unit(column: ColumnProfile) -> bool:
    """Whether a column as it was found looks like the ids of something."""
    name, records = column.name, column.records
    if column.type not in ("text", "integer") or column.distinct < 2 or is_weight_name(name):
        return False
    if column.unique:
        return _id_like(name) or records > FEW
    if column.distinct <= FEW or is_person_name(name) or _hashed(column):
        return column.distinct > FEW or _plainly_ids(column)
    if is_geography(name) or is_time(name):
        return False
    if _id_like(name):
        return is_id_by_name(name) or column.distinct * _NAMED_SHARE > records
    return column.distinct * REPEATED > records and _numbered(column)


def _numbered(column: ColumnProfile) -> bool:
    """Whether values look like a numbering of things, not like measured amounts or words."""
    if column.type == "integer":
        if column.distinct <= _LEAST_NUMBERS or column.minimum is None or column.maximum is None:
            return False
        span = int(column.maximum) - int(column.minimum) + 1
        return column.distinct * 2 > span or len(column.minimum) == len(column.maximum) > 5
    texts = [value for value, _ in column.values]
    digits = sum(any(sign.isdigit() for sign in text) and " " not in text for text in texts)
    return digits * 2 > len(texts)


def _plainly_ids(column: ColumnProfile) -> bool:
    """Whether a name leaves no doubt that few values are ids all the same."""
    name = column.name
    return is_id_by_name(name) or (is_number_by_name(name) and not _counts_up(column))


def _counts_up(column: ColumnProfile) -> bool:
    """Whether values are 0 or 1 and what comes next: how many, or which of one group."""
    if column.type != "integer" or column.minimum not in ("0", "1") or column.maximum is None:
        return False
    return column.distinct <= FEW and int(column.maximum) <= FEW


def _hashed(column: ColumnProfile) -> bool:
    """Whether values look like hashes or UUIDs: somebody was given another name."""
    texts = [value for value, _ in column.values]
    return column.type == "text" and bool(texts) and all(map(_HASH.fullmatch, texts))
