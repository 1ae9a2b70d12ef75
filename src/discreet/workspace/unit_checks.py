"""What a source says about the unit of protection that discreet.yaml declares; for the custodian."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from ..core.description import RECORD, UNDECIDED
from ..core.family import Family
from ..file_names import DESCRIPTION
from .finding import Finding
from .unit_choice import PERSON
from .unit_columns import UnitColumns, named_like_ids, unit_columns

if TYPE_CHECKING:
    from .description_file import DescribedData
    from .source_facts import SourceFacts


def columns_to_look_at(described: DescribedData, names: Sequence[str]) -> list[str]:
    """The columns that may name the unit by their name alone, and the one that is said to."""
    looked_at = {described.coding.id_column, *named_like_ids(names)}
    return [name for name in names if name in looked_at]


def undecided(described: DescribedData) -> Iterator[Finding]:
    """That nobody has said who one unit is."""
    if described.description.unit != UNDECIDED:
        return
    refuses = needs_a_unit(described)
    what = "who one unit of protection is, is undecided"
    yield Finding(
        "to do" if refuses else "warning",
        f"{what}: questions are refused until it is said."
        if refuses
        else f"{what}: guarantees speak of one record only.",
        DESCRIPTION,
        f"Run `discreet declare {quote(str(described.folder))} --unit WORD --id COLUMN`.",
    )


def needs_a_unit(described: DescribedData) -> bool:
    """Whether tables promise something to a unit, so that somebody must have said who that is."""
    return described.policy.family is Family.DP or strong_keys(described)


def strong_keys(described: DescribedData) -> bool:
    """Whether tables are made with strong cell keys."""
    policy = described.policy
    keys = str(policy.methods.get("cell-key", {}).get("keys", "strong"))
    return policy.family is Family.CELL_KEY and keys == "strong"


def unit_findings(described: DescribedData, facts: SourceFacts) -> Iterator[Finding]:
    """How many records one value has of each column that may name the unit, and what follows."""
    id_column = described.coding.id_column
    units = unit_columns(facts, id_column if id_column in facts.names else None)
    if described.description.unit == UNDECIDED:
        for one in units.candidates:
            yield Finding("note", f"may name the unit of protection: {one.repeats}.", one.column)
        return
    if described.description.unit == RECORD:
        yield Finding(
            "note",
            "nobody said whom a record is about: every guarantee speaks of one record.",
            DESCRIPTION,
            f"If one record is one person: `discreet declare {quote(str(described.folder))} --unit person`.",
        )
    yield from _others(described, units)
    yield from _bound(described, units)


def _others(described: DescribedData, units: UnitColumns) -> Iterator[Finding]:
    description, id_column = described.description, described.coding.id_column
    word = PERSON if description.unit == RECORD else description.unit
    named = f"one value of {id_column}" if id_column else "one record"
    for one in units.others(id_column, description.unit):
        yield Finding(
            "warning",
            f"one value has up to {one.most:,} records, as the id of a person would, but one "
            f"{description.unit} is said to be {named}: if the column names people, no guarantee "
            "holds for them.",
            one.column,
            f"If it names the unit: `discreet declare {quote(str(described.folder))} --unit {word} "
            f"--id {quote(one.column)}`.",
        )


def _bound(described: DescribedData, units: UnitColumns) -> Iterator[Finding]:
    description = described.description
    taken = units.named(described.coding.id_column)
    if taken is None or taken.most == 1:
        return
    allowed = description.records_per_unit
    if taken.most == allowed and not description.bound_from_data:
        yield Finding(
            "warning",
            f"records_per_unit is {allowed:,}, just the largest number of records that one value of "
            f"{taken.column} has.",
            DESCRIPTION,
            "If it was chosen by looking, say so: `records_per_unit_from: data`. Better: a rule you "
            "can publish.",
        )
        return
    yield Finding(
        "note",
        f"one value has up to {taken.most:,} records; {allowed:,} of one {description.unit} may count.",
        taken.column,
    )
