"""Rules on protected values: judged on what was charged for, and telling nothing more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import discreet as dc
from discreet.core.table import Status
from discreet.errors import DescriptionError, Refusal
from discreet.file_names import DATA
from discreet.protected_rules import Sparseness
from discreet.workspace import DataSet

from .attacks.people import change, make
from .command import run
from .server.serving import Served, add_accounts, serving

FINE = {"rows": ["area", "job"], "columns": "sex", "epsilon": "2"}
"""30 cells for 600 records, half of them empty or nearly so."""
HALF = {"sparse": {"small": 3, "most_small": "30%"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = make(tmp_path, "dp")
    change(made, rules=HALF)
    return made


def test_a_sparse_table_is_withheld_and_the_charge_stays(folder: Path):
    """Refused after the charge, and again for nothing; a table that is a sum of it is free."""
    with dc.open(folder) as data:
        assert data.table(**FINE).standing == "affordable"  # nothing is judged before
        for _ in range(2):
            with pytest.raises(
                Refusal, match=r"too sparse .* below 3, more than 30 %\. .*stays"
            ) as no:
                data.table(**FINE).release()
            assert no.value.rule == "sparse"
            assert data.ledger_facts()["spent"] == "epsilon = 2"
        assert data.table(**FINE).standing == "answered"
        assert data.table(rows="area").release(free=True).cost == "nothing"
        with pytest.raises(Refusal, match="too sparse"):
            data.table(rows=["area", "job"], columns="sex").release(free=True)
        assert data.ledger_facts()["spent"] == "epsilon = 2"


def test_no_treatment_makes_a_sparse_table_pass(folder: Path):
    """Judged as the policy shows it: by which asker's choice it would be displayed does not matter."""
    change(folder, rules={"sparse": {"least_mean": 21}})
    treatments = ({"negatives": "clip"}, {"negatives": "balance"}, {"consistency": "integers"})
    with dc.open(folder) as data:
        for said in (*treatments, {"negatives": "threshold 1"}):
            with pytest.raises(Refusal, match="on average, less than 21"):
                data.table(**FINE, **said).release()
    change(folder, rules={"sparse": {"least_mean": 18}})
    with dc.open(folder) as data:
        values = data.table(**FINE, negatives="threshold 100").release().protected.values
        assert values[:-1, :-1, :-1].mean() < 18


def test_the_judgement_needs_no_data(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """It is a function of stored measurements: the same with records unreadable, word for word."""
    with dc.open(folder) as data, pytest.raises(Refusal) as first:
        data.table(**FINE).release()
    for path in folder.rglob(DATA):
        path.write_bytes(bytes(path.stat().st_size))

    def never(self: DataSet) -> None:
        raise AssertionError("a judgement asked for data")

    monkeypatch.setattr(DataSet, "engine", never)
    with dc.open(folder) as data, pytest.raises(Refusal) as again:
        data.table(**FINE).release()
    assert again.value.message == first.value.message


def test_a_policy_may_warn_instead(folder: Path):
    """Then the table is published with a note; tables that are not sparse have none."""
    change(folder, rules={"sparse": {**HALF["sparse"], "then": "warn"}})
    with dc.open(folder) as data:
        noted = data.table(**FINE).release().protected.notes
        assert any("This table is sparse" in note for note in noted)
        assert not any(
            "sparse" in n for n in data.table(rows="area", epsilon="2").release().protected.notes
        )


def test_of_several_tables_the_sparse_one_is_named(folder: Path):
    """On the command line: exit code 3, and which table it was."""
    recipe = folder / "two.yaml"
    recipe.write_text(
        'epsilon: "3"\ntables: [{rows: [area]}, {rows: [area, job], columns: [sex]}]\n'
    )
    done = run("release", str(folder), str(recipe), "-o", str(folder / "out"), "--json")
    assert done.returncode == 3, done.stdout
    said = json.loads(done.stdout)["error"]
    assert "Table 2 is too sparse" in said["message"]
    assert not (folder / "out").exists() or not list((folder / "out").rglob("*.csv"))


def test_cell_keys_are_judged_too(tmp_path: Path):
    """Nothing is charged there, and nothing says so."""
    folder = make(tmp_path, "cell-key")
    change(folder, rules=HALF)
    with dc.open(folder) as data:
        data.table(rows="area").release()
        with pytest.raises(Refusal, match="too sparse") as no:
            data.table(rows=["area", "job"], columns="sex").release()
        assert "charged" not in no.value.message


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "has the keys least_mean"),
        ({"mean": 5}, "has the keys least_mean"),
        ({}, "needs least_mean, or small with most_small"),
        ({"small": 3}, "needs least_mean, or small with most_small"),
        ({"small": "2.5", "most_small": "50%"}, "small must be a whole number, got 2.5"),
        ({"small": 3, "most_small": "100%"}, "below 100 %"),
        ({"least_mean": 0}, "least_mean must be > 0, got 0"),
        ({"least_mean": 1, "then": "hide"}, "one of withhold, warn, got hide"),
    ],
)
def test_a_policy_that_cannot_be_read_is_refused(value: object, words: str):
    """In one sentence."""
    with pytest.raises(DescriptionError, match=words):
        Sparseness.read(value)


def test_cells_that_cannot_exist_do_not_count(folder: Path):
    """Structural zeros are no sparse cells; cells that are not shown count as 0."""
    change(folder, rules={"max_variables": 3})
    with dc.open(folder) as data:
        table = data.table(rows="area", columns="sex", epsilon="5").release().protected
    limit = Sparseness.read({"least_mean": 57})
    status, values = table.status.copy(), table.values.copy()
    assert not limit.breach(table)
    for code, words in ((Status.STRUCTURAL_ZERO, ""), (Status.SUPPRESSED, "on average")):
        status[:-1, 1], values[:-1, 1] = code, 0
        other = replace(table, status=status, values=values)
        assert words in (said := limit.breach(other))
        assert bool(said) == bool(words)


def test_a_sparse_release_is_withdrawn_over_http(folder: Path):
    """Its numbers were made, so it stays on record with the reason; nobody waits for it for ever."""
    body = {"dataset": "people", "recipe": {**FINE, "columns": ["sex"]}, "title": "Fine"}
    tokens = add_accounts(folder.parent)
    with serving(folder.parent) as url:
        served = Served(url, folder.parent, tokens)
        with served.client("cas") as cas, served.client("ana") as ana:
            answer = cas.post("/releases", json=body)
            assert (answer.status_code, answer.json()["rule"]) == (403, "sparse")
            (release,) = cas.get("/releases").json()["releases"]
            assert (release["state"], release["formats"]) == ("withdrawn", [])
            assert "too sparse" in release["withdrawn"]["reason"]
            assert cas.get(f"/releases/{release['id']}/tables").status_code == 410
            asked = ana.post("/datasets/people/tables", json=body["recipe"])
            assert (asked.status_code, asked.json()["rule"]) == (403, "sparse")
            late = {**body, "publish_at": "2999-01-01T00:00:00+00:00"}
            assert cas.post("/releases", json=late).json()["rule"] == "sparse"
            held = ana.post("/datasets/people/tables", json=body["recipe"])
            assert held.json()["rule"] == "embargo"
