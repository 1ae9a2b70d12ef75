"""Who one unit of protection is: said by the custodian, at `init`, by `declare` or in discreet.yaml.

Where nobody says and a file leaves no doubt (`unit_columns`), the unit is one record: that promises
nothing to a person. Where there is a doubt, `unit: undecided` is written and no guarantee for a unit
is given until somebody says.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from ..core.control import Control
from ..core.description import RECORD, UNDECIDED
from ..durable import edit_text
from ..errors import InputError
from ..file_names import DESCRIPTION
from . import source_facts
from .description_file import DescribedData, read
from .unit_columns import named_like_ids, unit_columns
from .unit_comments import with_id_named, with_unit_said
from .vocabulary import is_event_name, is_person_name
from .yaml_edit import with_value

if TYPE_CHECKING:
    from .draft import Draft

PERSON = "person"
_WORD = re.compile(r"[^\W\d_][\w -]{0,39}")


@dataclass(frozen=True)
class UnitChoice:
    """What a custodian said of the unit; what was not said is empty or None.

    unit      what one unit is: person, household, …
    id        the column that names it
    records   how many records of one unit count at most
    drop      leave out what is more, instead of refusing to load it

    >>> UnitChoice("person", "patient_id", records=4, drop=True).records
    4
    """

    unit: str = ""
    """What one unit is: person, household, …"""
    id: str | None = None
    """The column that names it."""
    records: int | None = None
    """How many records of one unit count at most."""
    drop: bool = False
    """Leave out what is more, instead of refusing to load it."""

    def __post_init__(self) -> None:
        if self.unit and (not _WORD.fullmatch(self.unit) or self.unit == UNDECIDED):
            raise InputError(
                f"A unit is a word such as person or household, got {self.unit[:40]!r}."
            )
        if self.records is not None and self.records < 1:
            raise InputError(f"records_per_unit must be at least 1, got {self.records}.")


def settle(draft: Draft, choice: UnitChoice) -> None:
    """Write into a draft who one unit is, or that it is undecided.

    A word settles what is doubtful of one column; which of several columns it is must be said too,
    and so must a column of people whose values are to be households. A column of people that the
    custodian names needs no word. Where nothing was said and nothing is doubtful, one unit is one
    record.
    """
    units = draft.units
    likeliest = units.likeliest
    column = choice.id or (likeliest.column if likeliest else None)
    taken = units.named(column)
    named = choice.id is not None and _names_people(choice.id)
    said = bool(choice.unit) and (choice.id is not None or units.settled_by(choice.unit, column))
    draft.doubts = units.doubts(column, choice.unit)
    if draft.doubts and not said and not named:
        draft.unit, draft.id, draft.records_per_unit = UNDECIDED, None, 1
        return
    most = 1 if taken is None else taken.most
    draft.unit, draft.id = choice.unit or (PERSON if named else RECORD), column
    draft.left_out = [(name, reason) for name, reason in draft.left_out if name != column]
    draft.records_per_unit = choice.records or most
    draft.records_from_data = choice.records is None and most > 1
    draft.bound = "drop" if choice.drop else "stop"


def declare_unit(
    folder: str | Path, choice: UnitChoice, control: Control | None = None
) -> list[str]:
    """Say in discreet.yaml who one unit is; comments and order stay. The lines that were written.

    Where a column is named and no number of records, that of the source is taken, and noted as
    such.

    folder    the folder of the data set
    choice    what is said of the unit
    control   progress and cancelling

        dc.declare_unit("work/people", dc.UnitChoice("person", "person_id", records=2, drop=True))
    """
    folder = Path(folder)
    described = read(folder)
    if choice.id is None and choice.unit != described.description.unit:
        _require_column(described, choice, control)
    path, lines = folder / DESCRIPTION, {}
    if choice.unit or described.description.unit in (UNDECIDED, RECORD):
        lines["unit"] = _word(choice)
    records, looked = choice.records, False
    if choice.id is not None:
        lines["id"] = choice.id
        most = _most_records(described, choice.id, control)
        looked = records is None and most > 1
        records = records or most
    if records is not None:
        lines["records_per_unit"] = str(records)
    if records is not None and (looked or described.description.bound_from_data):
        lines["records_per_unit_from"] = "data" if looked else "rule"
    if choice.drop:
        lines["bound"] = "drop"
    text = path.read_text(encoding="utf-8-sig")
    if "unit" in lines:
        text = with_unit_said(text)
    if "id" in lines:
        text = with_id_named(text, f"id: {json.dumps(lines['id'], ensure_ascii=False)}")
    for key, value in lines.items():
        text = with_value(text, [key], value, str(path), after="unit")
    edit_text(path, text)
    return [f"{key}: {value}" for key, value in lines.items()]


def _word(choice: UnitChoice) -> str:
    """What one unit is: as it was said, or a person where the column that was named is of people."""
    if choice.unit:
        return choice.unit
    if choice.id is not None and _names_people(choice.id):
        return PERSON
    raise InputError("Say what one unit is, too: `--unit person`, `--unit household`, …")


def _names_people(column: str) -> bool:
    return is_person_name(column) and not is_event_name(column)


def _require_column(described: DescribedData, choice: UnitChoice, control: Control | None) -> None:
    """A word alone makes each record one unit: refused where a column repeats as ids of units do."""
    taken = described.coding.id_column
    if not choice.unit or choice.unit == RECORD:
        return
    facts = source_facts.kept(described) or source_facts.look(
        described.source(), control, named_like_ids
    )
    units = unit_columns(facts, taken if taken in facts.names else None)
    if units.settled_by(choice.unit, taken):
        return
    would = f"One {choice.unit} would be one {f'value of {taken}' if taken else 'record'}, but "
    if not (doubts := units.others(taken, choice.unit)):
        raise InputError(
            f"{would}column {taken} names people. Say which column names one {choice.unit}, too: "
            "`--id COLUMN`."
        )
    one = doubts[0]
    raise InputError(
        f"{would}column {one.column} repeats like the id of a person: one value has up to "
        f"{one.most:,} records. Say which column names one {choice.unit}, too: "
        f"`--id {quote(one.column)}`, or one that has a value of its own in every record."
    )


def _most_records(described: DescribedData, name: str, control: Control | None) -> int:
    """The largest number of records that one value of a column has."""
    facts = source_facts.kept(described)
    if facts is None or name not in facts.names or not facts.column(name).most:
        facts = source_facts.look(described.source(), control, lambda _: [name])
    return facts.column(name).most
