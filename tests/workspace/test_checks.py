"""`check` tells the custodian what is not sound and what makes declaring unsafe; `declare` does it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import InputError
from discreet.workspace import check, declare, init, load
from discreet.workspace.description_file import read

from ..command import run
from .people import YAML, loaded_people, make_people


def said(folder: Path, severity: str) -> str:
    return "\n".join(str(finding) for finding in check(folder) if finding.severity == severity)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return loaded_people(tmp_path / "people")


def test_a_sound_data_set_has_no_error(people: Path) -> None:
    assert said(people, "error") == ""
    assert said(people, "warning") == ""


def test_a_typo_is_the_one_finding(people: Path) -> None:
    (people / "discreet.yaml").write_text(YAML.replace("status", "statsu"))
    (finding,) = check(people)
    assert finding.severity == "error"
    assert "Did you mean status?" in finding.what


def test_found_variables_under_dp_are_refused_until_declared(people: Path) -> None:
    (people / "discreet.yaml").write_text(YAML + 'family: dp\nbudget: {epsilon: "1"}\n')
    told = said(people, "to do")
    assert "refuses questions about sex" in told
    assert f"discreet declare {people} sex" in told
    assert said(people, "error") == ""
    declare(people)
    assert said(people, "to do") == ""


def test_a_fresh_data_set_is_to_be_declared_and_not_broken(tmp_path: Path) -> None:
    """`check` after `init --family dp` says what to do and ends with 3; done, it ends with 0."""
    people = make_people(tmp_path / "source", 60) / "people.csv"
    folder = tmp_path / "fresh"
    made = run("init", people, "--into", folder, "--family", "dp")
    assert (made.returncode, "discreet check" in made.stdout) == (0, True)
    checked = run("check", folder)
    assert (checked.returncode, "error:" in checked.stdout) == (3, False)
    command = next(
        line for line in checked.stdout.splitlines() if line.startswith("    discreet declare")
    )
    assert run(*shlex.split(command)[1:]).returncode == 0
    assert run("check", folder).returncode == 0
    (folder / "secret" / "salt").unlink()
    assert run("check", folder).returncode == 5


@pytest.mark.slow
def test_rare_categories_and_near_identifiers_are_named(tmp_path: Path) -> None:
    folder = make_people(tmp_path / "people", 12, YAML.replace("    status: declared\n", ""))
    load(folder)
    told = said(folder, "warning")
    assert "area: 3 of 3 categories have fewer than 10 records" in told
    assert "sex: 2 of 2 categories have fewer than 10 records" in told
    wide = YAML.replace("{f: Female, m: Male}", str([f"p{n}" for n in range(60)]))
    other = make_people(tmp_path / "other", 60, wide.replace("column: sex", "column: person"))
    load(other)
    assert "sex: 60 values for 60 records: nearly an identifier" in said(other, "warning")


def test_damage_is_found(people: Path) -> None:
    (people / "secret" / "master.key").chmod(0o644)
    assert "chmod 600" in said(people, "warning")
    version = people / "versions" / (people / "current").read_text().strip()
    data = version / "data.duckdb"
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    assert "its digest differs" in said(people, "error")
    (people / "current").unlink()
    assert "not loaded yet" in said(people, "to do")
    (people / "secret" / "salt").unlink()
    assert "salt cannot be read" in said(people, "error")


def test_changed_codings_and_wrong_totals_are_found(people: Path) -> None:
    (people / "discreet.yaml").write_text(YAML.replace("f: Female, ", "") + "records: 3\n")
    told = said(people, "error")
    assert "changed after loading" in told
    assert "3 records are declared" in told


def test_labels_that_stand_for_two_categories_are_found(people: Path) -> None:
    (people / "discreet.yaml").write_text(YAML.replace("Birch", "Alder"))
    assert "'Alder' stands for 2 categories" in said(people, "warning")


def test_a_damaged_ledger_is_found(people: Path) -> None:
    (people / "store.sqlite3").write_bytes(b"not a database at all")
    assert "store.sqlite3" in said(people, "error")


DECLARING = """\
# a comment that stays
source: {file: x.csv}   # and this one
variables:
  a:
    label: "status: found"   # here too
    status: found  # said by init
    column: a
    categories: [x]
  b: {column: b, categories: [x]}
  c:
    # nothing said: found
    column: c
    categories: [x]
  d:
    status: 'found'
    column: d
    categories: [x]
"""


def test_declaring_keeps_comments_and_order(tmp_path: Path) -> None:
    (tmp_path / "discreet.yaml").write_text(DECLARING)
    assert declare(tmp_path, ["b"]) == ["b"]
    assert read(tmp_path).description.undeclared == ("a", "c", "d")
    assert declare(tmp_path) == ["a", "c", "d"]
    assert read(tmp_path).description.undeclared == ()
    text = (tmp_path / "discreet.yaml").read_text()
    for kept in ("# a comment that stays", "# and this one", "# here too", "# said by init"):
        assert kept in text
    assert '"status: found"' in text
    assert declare(tmp_path) == []


def test_declaring_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "discreet.yaml").write_text(DECLARING)
    with pytest.raises(InputError, match="no variable 'e'"):
        declare(tmp_path, ["e"])


@pytest.mark.slow
def test_a_second_data_set_about_the_same_people_is_noticed(people: Path) -> None:
    """Two releases of one source: neither guarantee counts the other, and both custodians hear it."""
    other = people.parent / "again"
    other.mkdir()
    source = read(people).source().path
    started = init(source, other, family="dp")
    (warning,) = started.warnings()
    assert "people (family cell-key) has the same source" in warning
    assert "again (family dp) has the same source" in said(people, "warning")
    elsewhere = init(source, people.parent.parent / "far" / "away", load=False)
    assert elsewhere.warnings() == []


def test_a_change_of_facts_that_makes_old_questions_new_is_told(tmp_path: Path) -> None:
    """After a charge another rule changes nothing; another structural zero is told."""
    text = YAML + 'family: dp\nbudget: {epsilon: "3"}\nrules: {max_variables: 3}\n'
    folder = make_people(tmp_path / "people", 60, text)
    load(folder)
    declare(folder)
    with dc.open(folder) as data:
        data.table(rows="sex", columns="area", epsilon="1").release()
    assert said(folder, "warning") == ""
    file = folder / "discreet.yaml"
    file.write_text(file.read_text().replace("max_variables: 3", "max_variables: 2"))
    assert said(folder, "warning") == ""
    with dc.open(folder) as data:
        assert data.table(rows="sex", columns="area", epsilon="1").standing == "answered"
        sex = data.categories("sex")
        area = data.categories("area")
    zero = f"- where: {{sex: [{min(sex)}], area: [{min(area)}]}}"
    file.write_text(file.read_text() + f"structural_zeros:\n  {zero}\n    reason: cannot be\n")
    assert "1 questions about them were answered" in said(folder, "warning")
    with dc.open(folder) as data:
        assert data.table(rows="sex", columns="area", epsilon="1").standing == "affordable"
        assert data.ledger_facts()["spent"] == "epsilon = 1"


def test_another_family_than_the_one_served_is_an_error(people: Path) -> None:
    with dc.open(people) as data:
        data.table(rows="sex").release()
    file = people / "discreet.yaml"
    file.write_text(YAML + 'family: dp\nbudget: {epsilon: "3"}\n')
    assert "has served tables of family cell-key" in said(people, "error")


@pytest.mark.parametrize(
    ("keys", "scheme", "told"),
    [
        (lambda n: n * 17 % 13, "strong", "has 13 different keys for 60 records"),
        pytest.param(
            lambda n: n * 997 % 256, "strong", "has keys within 2", marks=pytest.mark.slow
        ),
        pytest.param(
            lambda n: 100_000 + n,
            "strong",
            "has keys within 59 of one another",
            marks=pytest.mark.slow,
        ),
        (lambda n: n * 2654435761 % 2**32, "strong", None),
        pytest.param(
            lambda n: f"0.{(n * 2654435761) % 10**8:08d}", "strong", None, marks=pytest.mark.slow
        ),
        pytest.param(lambda n: n * 17 % 13, "ons-256", None, marks=pytest.mark.slow),
    ],
)
def test_strong_keys_over_few_or_small_keys_are_told(tmp_path: Path, keys, scheme, told) -> None:
    """A key column that makes cells of other people alike is a warning; for classical keys it is not."""
    folder = make_people(
        tmp_path / "people",
        yaml=YAML.replace("id: person\n", "key_column: k\n")
        + f"methods: {{cell-key: {{max_perturbation: 3, variance: 2, keys: {scheme}}}}}\n",
    )
    lines = (folder / "people.csv").read_text().splitlines()
    lines = [lines[0] + ",k", *(f"{line},{keys(n)}" for n, line in enumerate(lines[1:], 1))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    load(folder)
    found = [finding for finding in check(folder) if "strong cell keys" in finding.what]
    assert [told in finding.what for finding in found] == ([True] if told else [])
