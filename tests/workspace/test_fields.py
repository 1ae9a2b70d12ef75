"""`init` on files of six fields: no unit is promised that nobody named, and what is said is true."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import discreet as dc
from discreet.core.domain import AxisRef, Count
from discreet.core.true_values import reveal
from discreet.workspace import DataSet, UnitChoice, init
from discreet.workspace.description_file import read

from .fields import FIELDS, Field

UNITS = sorted({field.unit for field in FIELDS} | {"person"})
each_field = pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
each_family = pytest.mark.parametrize("family", ["cell-key", "dp"])


def begun(field: Field, tmp_path: Path, family: str, unit: UnitChoice | None = None) -> Path:
    """The folder that `init` made of the file, everything declared."""
    budget = {"epsilon": "100"} if family == "dp" else None
    init(field.write(tmp_path), tmp_path / "set", family=family, budget=budget, unit=unit)
    dc.declare(tmp_path / "set")
    return tmp_path / "set"


def sentences(folder: Path) -> list[str]:
    """All that is said of a table: before it is asked, in its notes, its guarantee and its file."""
    dp = read(folder).policy.family == "dp"
    with dc.open(folder) as data:
        (*_, (name, _)) = data.variables.items()
        draft = data.table(rows=name, **({"epsilon": "1"} if dp else {}))
        before = [str(draft.preview()), str(draft.guarantee)]
        table = draft.release()
        table.write(folder / "t.csv")
        ledger = [data.ledger_facts()["worst_case"]] if dp else []
        file = (folder / "t.csv-metadata.json").read_text()
        return [*before, str(table), table.notes, str(table.guarantee), file, *ledger]


def coded(folder: Path) -> list[tuple[str, str, str]]:
    """Variables and levels whose codes are those of a column."""
    described = read(folder)
    found = []
    for variable in described.description.variables:
        columns = described.coding.columns[variable.name]
        if columns.rule is None:
            named = {variable.finest.name: columns.finest, **columns.levels}
            found += [(variable.name, level, column) for level, column in named.items()]
    return found


def counts(folder: Path, variable: str, level: str) -> dict[str, int]:
    """The true counts of a level by code."""
    with DataSet.open(folder) as data:
        (table,) = data.engine().count([Count((AxisRef(variable, level),))])
        cells, codes = reveal(table), data.description.variable(variable).level(level).codes
        pairs = zip(cells.addresses, cells.counts, strict=True)
        return {codes[place]: int(number) for place, number in pairs}


def counted(folder: Path) -> int:
    """How many records are counted, truly."""
    with DataSet.open(folder) as data:
        (table,) = data.engine().count([Count(())])
        return int(reveal(table).counts.sum())


@each_field
@each_family
@pytest.mark.slow
def test_nobody_is_promised_what_nobody_said(field: Field, family: str, tmp_path: Path) -> None:
    """Untold, the unit is one record or undecided, and no sentence speaks of a person."""
    folder = begun(field, tmp_path, family)
    description = read(folder).description
    assert description.unit in ("record", "undecided")
    if description.unit == "undecided":
        with pytest.raises(dc.InputError, match="Say who one unit is"):
            dc.open(folder)
        return
    for sentence in sentences(folder):
        assert not re.search(rf"\b(one ({'|'.join(UNITS)})|you)\b", sentence), sentence
    assert counted(folder) == len(field.records)


@each_field
@pytest.mark.slow
def test_every_level_counts_what_the_file_says(field: Field, tmp_path: Path) -> None:
    """Columns of codes and the levels some branches skip are found, and counted as they are."""
    folder = begun(field, tmp_path, "cell-key", UnitChoice(field.unit, field.id))
    columns = set()
    for variable, level, column in coded(folder):
        columns.add(column)
        above = field.above if column == field.level else ""
        by_hand = Counter(
            " ".join(row[column].split()) or row.get(above, "NA") for row in field.records
        )
        assert counts(folder, variable, level) == by_hand
    assert columns >= {field.level} - {""}


@pytest.mark.slow
@each_field
@each_family
def test_what_is_said_of_a_unit_is_true_of_the_file(
    field: Field, family: str, tmp_path: Path
) -> None:
    """Told which column it is, the most records of one unit is that of the file, and said so."""
    folder = begun(field, tmp_path, family, UnitChoice(field.unit, field.id))
    most = max(field.repeats.values())
    assert counted(folder) == len(field.records)
    said = sentences(folder)
    looked = (
        f"That one {field.unit} has at most {most} records was chosen after looking at the data."
    )
    assert any(looked in sentence for sentence in said)
    check(field, said, len(field.records))


@pytest.mark.slow
@each_field
@each_family
def test_a_rule_for_how_many_count_is_kept(field: Field, family: str, tmp_path: Path) -> None:
    """With two records of each unit, as many are counted as the file has, two of each at most."""
    folder = begun(field, tmp_path, family, UnitChoice(field.unit, field.id, 2, drop=True))
    kept = counted(folder)
    assert kept == sum(min(records, 2) for records in field.repeats.values())
    said = sentences(folder)
    assert any(f"At most 2 records of each {field.unit} are counted." in each for each in said)
    check(field, said, kept)


def check(field: Field, said: list[str], counted: int) -> None:
    """Every sentence that speaks of units and their records, read and compared with the file."""
    whole = "\n".join(" ".join(sentence.split()) for sentence in said)
    for words in re.findall(r"(?:add or remove|replace) one (\w+)", whole):
        assert words == field.unit
    for number, unit in re.findall(r"at most (\d+) records? of each (\w+)", whole, re.IGNORECASE):
        assert unit == field.unit
        assert counted == sum(min(n, int(number)) for n in field.repeats.values())
    for unit, number in re.findall(r"one (\w+) has at most ([\d,]+) records", whole):
        assert (unit, int(number)) == (field.unit, max(field.repeats.values()))
    for unit, number in re.findall(r"(\w+) \(up to (\d+) records?\)", whole):
        assert unit == field.unit
        assert counted == sum(min(n, int(number)) for n in field.repeats.values())
    others = "|".join(unit for unit in UNITS if unit != field.unit)
    assert not re.search(rf"\bone ({others})\b", whole)
