"""Where a newcomer stops: each error says what is wrong and what to do next, before it costs anything."""

from __future__ import annotations

import csv
import random
import re
from pathlib import Path

import pytest

from discreet.cli import show
from tests.command import run


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace `work` with the data set `people`, under a budget and not declared."""
    root = tmp_path_factory.mktemp("newcomer")
    chance = random.Random(1)
    with (root / "people.csv").open("w", newline="") as file:
        write = csv.writer(file, delimiter=";")
        write.writerow(["person", "town", "sex"])
        for number in range(400):
            write.writerow([number, chance.choice(["Ost", "West"]), chance.choice("FM")])
    words = ("--family", "dp", "--budget", "1", "--unit", "person", "--into", "work/people")
    done = run("init", "people.csv", *words, cwd=root)
    assert done.returncode == 0, done.stderr
    return root


def test_suggested_commands_name_the_folder_that_was_given(people: Path) -> None:
    """DIR stands in no command of a refusal; as suggested, the command works."""
    refused = run("table", "work/people", "--rows", "sex", "--epsilon", "0.1", cwd=people)
    assert refused.returncode == 3
    assert "`discreet declare work/people sex`" in refused.stderr
    assert "DIR" not in refused.stderr
    told = run("table", "work/people", "--rows", "sex", "--epsilon", "0.1", "--json", cwd=people)
    assert "`discreet check work/people`" in told.stdout
    assert run("declare", "work/people", "sex", cwd=people).returncode == 0


def test_an_unknown_language_is_refused_before_the_charge(people: Path) -> None:
    """Words in it would not be there, and nobody would say so."""
    run("declare", "work/people", "--all", cwd=people)
    words = ("--rows", "town", "--epsilon", "0.1", "--language", "xx")
    refused = run("table", "work/people", *words, cwd=people)
    assert refused.returncode == 2
    assert "Choose en or de" in refused.stderr
    for command in (("policy", "simulate"), ("compare",), ("attack",)):
        refused = run(*command, "work/people", "--language", "xx", cwd=people)
        assert refused.returncode == 2, command
        assert "Choose en or de" in refused.stderr
    assert "epsilon = 0\n" in run("ledger", "show", "work/people", cwd=people).stdout


@pytest.mark.parametrize("command", ["compare", "attack"])
@pytest.mark.parametrize("target", ["nowhere/report.html", "work"])
def test_a_report_that_cannot_be_written_is_not_begun(
    people: Path, command: str, target: str
) -> None:
    """Neither is it noted that somebody looked."""
    refused = run(command, "work/people", "-o", target, cwd=people)
    assert refused.returncode == 2
    assert "folder" in refused.stderr
    assert "rehears" not in run("ledger", "show", "work/people", cwd=people).stdout


def test_a_folder_that_takes_nothing_is_refused_before_the_charge(people: Path) -> None:
    """/proc says that its owner may write, and lets nobody."""
    run("declare", "work/people", "--all", cwd=people)
    (people / "town.yaml").write_text("epsilon: 0.1\ntables:\n  - {rows: [town]}\n")
    refused = run("release", "work/people", "town.yaml", "-o", "/proc/here", cwd=people)
    assert refused.returncode == 2
    assert "Choose another place with -o" in refused.stderr
    assert "epsilon = 0\n" in run("ledger", "show", "work/people", cwd=people).stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("init", "."), "'.' is a folder. Name one file in it."),
        (("check", "people.csv"), "people.csv is a file. Name a workspace or a data set"),
        (("user", "revoke", "work", "bob"), "`discreet user list work` names them."),
        (("table", "work/people", "--langauge", "de"), "). See discreet table --help."),
        (("serve", "work", "--port", "99999"), "65535. See discreet serve --help."),
    ],
)
def test_what_is_wrong_and_what_is_next(people: Path, words: tuple[str, ...], says: str) -> None:
    """One true sentence, ended by a full stop, exit 2."""
    done = run(*words, cwd=people)
    assert done.returncode == 2, done.stdout
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_number_found_in_the_data_is_called_one(people: Path, tmp_path: Path) -> None:
    """`declare` without --records-per-unit takes the most there are, and says what would be better."""
    lines = ["visitor,room", *(f"{n % 40},{'ab'[n % 2]}" for n in range(200))]
    (tmp_path / "visits.csv").write_text("\n".join(lines))
    assert run("init", "visits.csv", "--into", "visits", cwd=tmp_path).returncode == 0
    said = run("declare", "visits", "--unit", "visitor", "--id", "visitor", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "found in the data, and every guarantee says so" in said.stdout
    assert "  discreet declare visits --records-per-unit 4 --drop\n" in said.stdout


@pytest.mark.parametrize("width", [40, 60, 120])
def test_numbers_are_never_broken(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """However narrow the terminal: headings and names give way first."""
    monkeypatch.setenv("COLUMNS", str(width))
    row = ("loan_date:loan_date_month × age", "1,234", "yes", "3.84", "± 21")
    show.grid("Tables", ("table", ">cells", "|allowed", ">noise sd", ">95 % within"), [row])
    printed = capsys.readouterr().out.splitlines()
    assert any(all(number in line for number in row[1:]) for line in printed), printed
    assert max(map(len, printed)) <= width


def test_suggestions_can_be_pasted_where_a_folder_has_a_space(tmp_path: Path) -> None:
    """Every command that `init`, `check` and a refusal suggest stands in quotes where it needs them."""
    lines = ["visitor,room", *(f"{n},{'ab'[n % 2]}" for n in range(200))]
    (tmp_path / "visits.csv").write_text("\n".join(lines))
    words = ("--unit", "visitor", "--family", "classic", "--into", "my work/visits")
    assert run("init", "visits.csv", *words, cwd=tmp_path).returncode == 0
    told = run("check", "my work/visits", cwd=tmp_path).stdout
    told += run("table", "my work/visits", "--rows", "room", cwd=tmp_path).stderr
    told += run("init", "visits.csv", "--into", "my work/visits", cwd=tmp_path).stderr
    simulated = run("policy", "simulate", "my work/visits", cwd=tmp_path).stderr
    assert "`discreet declare 'my work/visits' --all`" in simulated
    suggested = re.findall(r"discreet (?:declare|load|check) \S+", told + simulated)
    assert len(suggested) >= 4
    assert {words.split()[-1] for words in suggested} == {"'my"}
