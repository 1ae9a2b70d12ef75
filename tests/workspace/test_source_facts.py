"""`check` and `declare` look at a source once, keep what they say of it, and nothing more."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from discreet.engines.duckdb import profiling
from discreet.workspace import UnitChoice, check, declare_unit, init, load, unit_columns
from discreet.workspace.description_file import read
from discreet.workspace.unit_checks import columns_to_look_at

from ..command import run
from .people import YAML, make_people, write_people

FOUND = YAML.replace("    status: declared\n", "")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the sources that are profiled from now on."""
    seen: list[str] = []
    profile = profiling.profile

    def noted(source, *more, **named):  # type: ignore[no-untyped-def]
        seen.append(source.name)
        return profile(source, *more, **named)

    monkeypatch.setattr(profiling, "profile", noted)
    return seen


@pytest.mark.slow
def test_a_source_is_looked_at_once(tmp_path: Path, looks: list[str]) -> None:
    """`init` looks; `check`, again and again, and `declare --id` say the same without a look."""
    write_people(tmp_path, 60)
    folder = tmp_path / "work"
    init(tmp_path / "people.csv", folder, unit=UnitChoice("person", "person"))
    assert looks == ["people.csv"]
    told = check(folder)
    assert check(folder) == told
    declare_unit(folder, UnitChoice("person", "person"))
    assert looks == ["people.csv"]
    (folder / "source-facts.json").unlink()
    assert check(folder) == told
    assert check(folder) == told
    assert looks == ["people.csv"] * 2


@pytest.mark.slow
def test_a_source_that_changed_is_looked_at_again(tmp_path: Path, looks: list[str]) -> None:
    """Other records, or another way to read them; what a killed or foreign hand left is no facts."""
    folder = make_people(tmp_path / "people", 60, FOUND)
    load(folder)
    check(folder)
    write_people(folder, 12)
    assert any("fewer than 10 records" in finding.what for finding in check(folder))
    assert len(looks) == 2
    yaml = folder / "discreet.yaml"
    yaml.write_text(yaml.read_text().replace("people.csv}", 'people.csv, delimiter: ","}'))
    check(folder)
    assert len(looks) == 3
    for left in ("", "{}", '{"form": 1', '{"form": "discreet source facts 1", "columns": 7}'):
        (folder / "source-facts.json").write_text(left)
        check(folder)
    assert len(looks) == 7


def test_only_what_is_said_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    """No id, no list of values, nothing that others may read; where it cannot lie, none."""
    folder = make_people(tmp_path / "people", 60, FOUND)
    before = os.umask(0)
    try:
        load(folder)
        check(folder)
    finally:
        os.umask(before)
    path = folder / "source-facts.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert '"p1' not in path.read_text()
    columns = {one["name"]: one for one in json.loads(path.read_text())["columns"]}
    assert columns["person"]["most"] == 1
    assert columns["person"]["rare_codes"] == []
    assert all(len(one["rare_codes"]) <= 5 for one in columns.values())


def test_rare_codes_of_an_id_are_never_kept(tmp_path: Path) -> None:
    """Neither where its name gives nothing away and its values have many records each."""
    lines = ["who,sex", *(f"Mr {number % 25},{'fm'[number % 2]}" for number in range(220))]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    unit = UnitChoice("person", "who", 9)
    folder = init(tmp_path / "people.csv", tmp_path / "work", unit=unit).folder
    assert "Mr" not in (folder / "source-facts.json").read_text()
    assert "Mr" not in str(check(folder))


@pytest.mark.slow
def test_a_load_says_how_much_and_what_is_new(tmp_path: Path) -> None:
    """Records, version, the difference to before; and nothing new where nothing is."""
    folder = make_people(tmp_path / "people", 60)
    first = run("load", folder).stdout
    assert "Loaded 60 records as version 0001-" in first
    assert "before" not in first
    assert "Nothing new" in run("load", folder).stdout
    write_people(folder, 75)
    assert "15 more than before; the source changed." in run("load", folder).stdout
    yaml = folder / "discreet.yaml"
    yaml.write_text(yaml.read_text().replace("m: Male", "m: Male, x: Other"))
    assert "as many as before; the description changed." in run("load", folder).stdout
    write_people(folder, 60)
    yaml.write_text(YAML)
    again = run("load", folder).stdout
    assert "of 60 records is served again." in " ".join(again.split())
    facts = json.loads(run("load", folder, "--json").stdout)["loaded"]
    assert (facts["records"], facts["records_before"], facts["unchanged"]) == (60, 60, True)


@pytest.mark.slow
def test_commands_can_be_pasted_at_any_width(tmp_path: Path) -> None:
    """A command stands on one line of its own, however long it is."""
    variables = "".join(
        f"  variable_{n}: {{column: sex, categories: {{f: Female, m: Male}}}}\n" for n in range(9)
    )
    folder = make_people(
        tmp_path / "people", 60, FOUND + variables + "family: dp\nbudget: {epsilon: 1}\n"
    )
    load(folder)
    names = " ".join(read(folder).description.undeclared)
    done = run("check", folder)
    assert f"    discreet declare {folder} {names}" in done.stdout.splitlines()
    assert (
        max(len(line) for line in done.stdout.splitlines() if "discreet declare" not in line) < 101
    )


def test_each_name_of_a_column_is_judged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of many columns are worth a look costs in proportion to them."""
    judged: list[str] = []
    judge = unit_columns.is_id_by_name

    def counted(name: str) -> bool:
        judged.append(name)
        return judge(name)

    monkeypatch.setattr(unit_columns, "is_id_by_name", counted)
    described = read(make_people(tmp_path / "people", 60))
    names = [f"v{number}" for number in range(300)] + ["person", "patient_id"]
    assert columns_to_look_at(described, names) == ["person", "patient_id"]
    assert len(judged) == len(names)
