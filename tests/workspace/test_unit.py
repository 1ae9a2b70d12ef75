"""Who one unit of protection is, is said by the custodian and never guessed."""

from __future__ import annotations

import os
import pty
import random
import select
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import discreet as dc
from discreet import workspace
from discreet.engines.coding import ColumnProfile, Profile, Source
from discreet.errors import DataError, InputError, Refusal
from discreet.workspace import UnitChoice, declare, declare_unit, init, load
from discreet.workspace.description_file import read
from discreet.workspace.draft import Draft
from discreet.workspace.source_facts import SourceFacts
from discreet.workspace.unit_choice import settle
from discreet.workspace.unit_columns import unit_columns

from ..patience import PATIENCE

DP = {"family": "dp", "budget": {"epsilon": "8"}}
BOUND = "At most 2 records of each person are counted."
LOOKED = "That one person has at most 3 records was chosen after looking at the data."


def stays(path: Path, *, stay: str = "fall_id", person: str = "patient_id") -> Path:
    """80 people with one to three stays each; the stay's number is unique, the person's is not."""
    lines, number = [f"{stay},{person},ward,sex"], 0
    for one in range(80):
        for _ in range(one % 3 + 1):
            number += 1
            lines.append(f"F{number:05d},NHS{one:04d},{'abcd'[number % 4]},{'fm'[one % 2]}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def undecided(tmp_path: Path) -> Path:
    init(stays(tmp_path / "stays.csv"), tmp_path / "stays", **DP)
    declare(tmp_path / "stays")
    return tmp_path / "stays"


def test_a_stay_is_not_taken_for_a_person(undecided: Path) -> None:
    """Undecided: nothing is loaded, and no id is chosen for the custodian."""
    described = read(undecided)
    assert described.description.unit == "undecided"
    assert described.coding.id_column is None
    with pytest.raises(InputError, match=r"declare .* --unit WORD --id COLUMN"):
        load(undecided)
    with pytest.raises(InputError, match="Say who one unit is"):
        dc.open(undecided)


def test_check_tells_the_custodian_how_often_ids_repeat(undecided: Path) -> None:
    said = "\n".join(map(str, workspace.check(undecided)))
    assert "to do: discreet.yaml: who one unit of protection is, is undecided" in said
    assert "patient_id: may name the unit of protection: 80 values, up to 3 records each" in said
    assert "fall_id: may name the unit of protection: 159 values, one record each" in said


@pytest.mark.slow
def test_what_was_declared_is_what_the_guarantee_names(undecided: Path, tmp_path: Path) -> None:
    """The bound is said wherever a table is; how many records it left out is not."""
    declare_unit(undecided, UnitChoice("person", "patient_id", 2, drop=True))
    loaded = load(undecided)
    assert loaded.manifest.dropped == 26
    with dc.open(undecided) as data:
        table = data.table(rows="sex", epsilon="1").release()
        table.write(tmp_path / "out", formats=["csv", "json-stat", "px", "xlsx"])
    assert table.guarantee.unit == "person (up to 2 records)"
    assert BOUND in table.guarantee.notices
    texts = {path.name: _text(path) for path in (tmp_path / "out").rglob("*.*")}
    silent = {name for name, text in texts.items() if BOUND not in text}
    companions = {name for name in texts if name.endswith(".csv")}  # the file beside says it
    assert silent == {*companions, "register.json"}
    assert not any("26 records" in text for text in texts.values())


def _text(path: Path) -> str:
    """What a file says, zipped or not, lines joined as PX breaks them."""
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as parts:
            return "".join(parts.read(name).decode() for name in parts.namelist())
    return path.read_text().replace('"\n"', "")


def test_comments_and_order_stay(undecided: Path) -> None:
    before = (undecided / "discreet.yaml").read_text().splitlines()
    declare_unit(undecided, UnitChoice("person", "patient_id", 2, drop=True))
    after = (undecided / "discreet.yaml").read_text().splitlines()
    new = [line for line in after if line not in before]
    assert sorted(new) == [
        "bound: drop",
        'id: "patient_id"',
        'records_per_unit: "2"',
        "unit: person",
    ]
    gone = [line for line in before if line not in after]
    assert [line for line in gone if not line.startswith("#")] == [
        "unit: undecided",
        "records_per_unit: 1",
    ]
    first, *_, placeholder = (line for line in gone if line.startswith("#"))
    assert (first.startswith("# While it is undecided"), placeholder) == (True, "# id: <column>")
    assert after[after.index('id: "patient_id"') - 1].endswith("never published and never stored.")


def test_a_comment_on_the_unit_goes_when_it_is_said(tmp_path: Path) -> None:
    """What `init` wrote of a record that nobody claimed; what a custodian wrote stays."""
    source = tmp_path / "people.csv"
    source.write_text("sex,ward\n" + "f,a\nm,b\n" * 30)
    folder = tmp_path / "people"
    init(source, folder, **DP)
    path = folder / "discreet.yaml"
    path.write_text(path.read_text().replace("unit: record", "# Mine.\nunit: record"))
    assert "Nobody said whom a record is about" in path.read_text()
    declare_unit(folder, UnitChoice("person"))
    text = path.read_text()
    assert "Nobody said" not in text
    assert "# Mine.\nunit: person\n" in text
    assert "No column names the unit" in text  # which is still so


@pytest.mark.slow
def test_a_bound_taken_from_the_data_is_said_for_ever(undecided: Path) -> None:
    declare_unit(undecided, UnitChoice("person", "patient_id"))
    load(undecided)
    with dc.open(undecided) as data:
        assert LOOKED in data.table(rows="sex", epsilon="1").release().guarantee.notices
    with workspace.DataSet.open(undecided) as data:
        entry = next(one for one in data.ledger().entries() if one.kind == "cap")
    assert "chosen after looking" in entry.body["reason"]
    declare_unit(undecided, UnitChoice(records=4))
    assert not read(undecided).description.counted


@pytest.mark.slow
def test_a_bound_that_happens_to_be_the_largest_number_is_asked_about(undecided: Path) -> None:
    declare_unit(undecided, UnitChoice("person", "patient_id", 3))
    load(undecided)
    said = "\n".join(map(str, workspace.check(undecided)))
    assert "just the largest number of records that one value of patient_id has" in said


@pytest.mark.slow
def test_a_stay_declared_to_be_the_unit_is_warned_of(undecided: Path) -> None:
    """The custodian's word holds; check goes on telling what stands against it."""
    declare_unit(undecided, UnitChoice("stay", "fall_id"))
    load(undecided)
    said = "\n".join(map(str, workspace.check(undecided)))
    assert "warning: patient_id: one value has up to 3 records" in said
    with dc.open(undecided) as data:
        assert data.table(rows="sex", epsilon="1").guarantee.unit == "stay"


@pytest.mark.slow
def test_strong_keys_refuse_and_classical_keys_speak_of_records(tmp_path: Path) -> None:
    """Without a unit nothing is promised to one: only keys that promise nothing to it go on."""
    folder = tmp_path / "stays"
    init(stays(tmp_path / "stays.csv"), folder)
    file = folder / "discreet.yaml"
    text = file.read_text()
    with pytest.raises(InputError, match="undecided"):
        load(folder)
    file.write_text(text.replace("keys: strong", "keys: sadeghi"))
    load(folder)
    with dc.open(folder) as data:
        guarantee = data.table(rows="sex").release().guarantee
    assert guarantee.unit == "record"
    assert any("not decided" in caveat for caveat in guarantee.notices)
    file.write_text(text)
    with dc.open(folder) as data, pytest.raises(Refusal) as refused:
        data.table(rows="sex").release()
    assert refused.value.rule == "declared-unit"
    assert "patient" not in refused.value.message
    assert "fall" not in refused.value.message


@pytest.mark.slow
def test_dp_refuses_without_naming_a_column(tmp_path: Path) -> None:
    folder = tmp_path / "stays"
    init(stays(tmp_path / "stays.csv"), folder, unit=UnitChoice("person", "patient_id"), **DP)
    declare(folder)
    file = folder / "discreet.yaml"
    file.write_text(file.read_text().replace("unit: person", "unit: undecided"))
    with dc.open(folder) as data:
        for method in ("noise", "marginals"):
            with pytest.raises(Refusal) as refused:
                data.table(rows="sex", epsilon="1", method=method).release()
            assert refused.value.rule == "declared-unit"
            assert "patient_id" not in str(refused.value)


@pytest.mark.parametrize(
    ("stay", "person", "unit", "taken"),
    [
        ("fall_id", "patient_id", "", None),
        ("stay_no", "NHS number", "", None),
        ("record", "pat_id", "", None),
        ("Aufenthaltsnr", "Versichertennummer", "", None),
        ("id", "column2", "", None),  # by its values alone
        ("id", "kunde", "person", None),  # which column, was not said
        ("person_id", "household_id", "", "person_id"),  # people with one record each
        ("person_id", "household_id", "person", "person_id"),
        ("person_id", "household_id", "household", None),  # no person is a household
        ("person_id", "dwelling", "Haushalt", None),
        ("person_id", "shop", "family", None),
        ("person_id", "member", "", None),
        ("order_id", "shop", "", None),
    ],
)
def test_a_doubt_is_seen(stay: str, person: str, unit: str, taken: str | None) -> None:
    """Names and values tell what may be a person's id; a word alone does not say which it is."""
    repeats = tuple((f"NHS{n:04d}", 3) for n in range(80))
    columns = (
        ColumnProfile(stay, "text", 240, 0, 240, values=(("F1", 1),)),
        ColumnProfile(person, "text", 240, 0, 80, values=repeats, complete=True),
        ColumnProfile("ward", "text", 240, 0, 4, values=(("a", 60),)),
    )
    seen = Profile(Source.guess("x.csv"), 240, columns)
    draft = Draft("x", "X", {}, [], units=unit_columns(SourceFacts.of(seen)))
    settle(draft, UnitChoice(unit))
    assert draft.id == taken
    assert (draft.unit == "undecided") is (taken is None)


@pytest.mark.parametrize(
    ("name", "values", "asked"),
    [
        ("patient_id", [f"P{n}" for n in range(25)], True),  # few people
        ("Kundennr", [str(n) for n in range(1001, 1021)], True),
        ("id", [f"X{n}" for n in range(60)], True),  # many records each
        ("xwaveid", [f"X{n}" for n in range(60)], True),
        ("vsnr", [f"A{n}" for n in range(60)], True),
        ("h", [f"{n * 7919:032x}" for n in range(60)], True),  # nothing but its values tells
        ("child_no", [str(n) for n in range(1, 7)], False),  # which of a family
        ("num_child", [str(n) for n in range(7)], False),
        ("worker_code", ["a", "b", "c"], False),
        ("person", ["insured", "relative"], False),
        ("hospital_id", [f"H{n}" for n in range(25)], False),
    ],
)
def test_few_ids_with_many_records_are_ids(
    tmp_path: Path, name: str, values: list[str], asked: bool
) -> None:
    """A column plainly called an id is one, however few its values and many the records of each."""
    chance = random.Random(8)
    lines = [f"{n},{chance.choice(values)},{chance.choice('ab')}" for n in range(1300)]
    (tmp_path / "x.csv").write_text("\n".join([f"record,{name},ward", *lines]) + "\n")
    draft = init(tmp_path / "x.csv", tmp_path / "x").draft
    assert (draft.unit == "undecided") is asked
    named = {one.name for one in draft.variables}
    assert (name.lower() in named) is not asked


def test_one_record_each_without_another_id_is_no_doubt(tmp_path: Path) -> None:
    """The unit is one record: whom it is about is for the custodian to say, and said without a load."""
    chance = random.Random(3)
    lines = [f"{n},{chance.randrange(90)},{chance.choice('ab')}" for n in range(300)]
    (tmp_path / "x.csv").write_text("\n".join(["id,age,ward", *lines]) + "\n")
    draft = init(tmp_path / "x.csv", tmp_path / "x").draft
    assert (draft.unit, draft.id, draft.records_per_unit) == ("record", "id", 1)
    said = "\n".join(map(str, workspace.check(tmp_path / "x")))
    assert "nobody said whom a record is about" in said
    with pytest.raises(InputError, match="Say what one unit is, too"):
        declare_unit(tmp_path / "x", UnitChoice(id="id"))
    assert declare_unit(tmp_path / "x", UnitChoice("person")) == ["unit: person"]
    assert dc.open(tmp_path / "x").close() is None


def test_no_person_is_a_household(tmp_path: Path) -> None:
    """A column of people is not taken for households, neither by `init` nor by `declare`."""
    chance = random.Random(4)
    lines = [f"{n},H{n // 3},{chance.choice('ab')}" for n in range(300)]
    (tmp_path / "x.csv").write_text("\n".join(["Person-ID,Household No.,ward", *lines]) + "\n")
    household = UnitChoice("household")
    draft = init(tmp_path / "x.csv", tmp_path / "x", unit=household).draft
    assert (draft.unit, draft.id) == ("undecided", None)
    assert draft.doubts == (
        "Column Household No. repeats like the id of a person: one value has up to 3 records.",
        "Column Person-ID names people, and one household is no person.",
    )
    init(tmp_path / "x.csv", tmp_path / "y", unit=UnitChoice("person"))
    for folder in (tmp_path / "x", tmp_path / "y"):
        with pytest.raises(InputError, match=r"`--id 'Household No\.'`"):
            declare_unit(folder, household)
    said = UnitChoice("household", "Household No.", records=3)
    assert "id: Household No." in declare_unit(tmp_path / "y", said)
    assert init(tmp_path / "x.csv", tmp_path / "z", unit=said).draft.records_per_unit == 3


def test_a_word_alone_makes_no_record_a_person(tmp_path: Path) -> None:
    """Where a column repeats like a person's id, `declare` asks which column it is, as `init` does."""
    chance = random.Random(8)
    lines = [f"P{chance.randrange(25)},{chance.choice('ab')}" for _ in range(120)]
    (tmp_path / "x.csv").write_text("\n".join(["patient_id,ward", *lines]) + "\n")
    init(tmp_path / "x.csv", tmp_path / "x")
    before = (tmp_path / "x" / "discreet.yaml").read_text()
    with pytest.raises(
        InputError, match="Say which column names one person, too: `--id patient_id`"
    ):
        declare_unit(tmp_path / "x", UnitChoice("person"))
    assert (tmp_path / "x" / "discreet.yaml").read_text() == before
    assert declare_unit(tmp_path / "x", UnitChoice("record")) == ["unit: record"]
    assert "id: patient_id" in declare_unit(
        tmp_path / "x", UnitChoice("person", "patient_id", records=4, drop=True)
    )


@pytest.mark.parametrize("word", ["undecided", "per\nson", "1", "x" * 50])
def test_a_unit_is_a_word(word: str) -> None:
    with pytest.raises(InputError, match="A unit is a word"):
        UnitChoice(word)


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    source = stays(tmp_path / "x.csv")
    with pytest.raises(DataError, match="Did you mean patient_id"):
        init(source, tmp_path / "x", unit=UnitChoice("person", "patent_id"))
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_who_sits_at_a_terminal_is_asked(tmp_path: Path) -> None:
    """A real terminal: the column, the word and the bound are asked for, then it loads."""
    source, folder = stays(tmp_path / "stays.csv"), tmp_path / "stays"
    ours, theirs = pty.openpty()
    run = "from discreet.cli.main import main; main()"
    command = [sys.executable, "-c", run, "init", str(source), "--into", str(folder)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        for question, answer in (
            (b"by number or name", b"patient_id\n"),
            (b"What is one unit", b"\n"),
            (b"How many records", b"2\n"),
        ):
            while question not in said:
                assert select.select([ours], [], [], PATIENCE)[0], said
                said += os.read(ours, 4096)
            os.write(ours, answer)
        while process.poll() is None or select.select([ours], [], [], 0)[0]:
            try:
                said += os.read(ours, 4096)
            except OSError:  # the terminal is gone with its process
                break
        assert process.wait(PATIENCE) == 0
    os.close(ours)
    description = read(folder).description
    assert (description.unit, description.records_per_unit, description.bounded) == (
        "person",
        2,
        True,
    )
    assert dc.open(folder).close() is None
