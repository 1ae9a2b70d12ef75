"""The policy simulator: what it says is what asking says, and it reads no record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet import trials
from discreet.errors import InputError
from discreet.file_names import DATA
from discreet.quality.policy_difference import difference
from discreet.quality.simulator import Wishes, how_many, simulate, tables_of
from discreet.workspace import DataSet

from ..command import run


def test_every_table_is_judged_and_planned_as_an_analyst_would_see_it(demo: Path) -> None:
    """73 tables; error and verdict are those of a preview; the number of tables by counting."""
    with DataSet.open(demo / "deaths-dp") as data:
        found = simulate(data, Wishes(records=500_000))
        assert len(found.outlooks) == len(list(tables_of(data.description))) == 73
        assert how_many(data.description) == 73
    assert found.epsilon == "0.539"
    with dc.open(demo / "deaths-dp") as deaths:
        for one in found.outlooks[::9]:
            error = deaths.table(rows=list(one.axes), epsilon="0.539").preview().plan.errors[0]
            assert (one.noise_sd, one.within) == (error.noise_sd, error.half_width)
    said = " ".join(found.sentences())
    assert "73 of 73 tables" in said
    assert json.dumps(found.to_json())


@pytest.mark.slow
def test_no_record_is_read(fresh_demo: Path) -> None:
    """With the records overwritten the simulation says the same."""
    folder = fresh_demo / "deaths-dp"
    before = dc.simulate(folder).to_json()
    for path in folder.rglob(DATA):
        path.write_bytes(bytes(path.stat().st_size))
    assert dc.simulate(folder).to_json() == before


def test_rules_and_the_difference_between_policies(fresh_demo: Path) -> None:
    """What a rule forbids is said with what would pass; a second policy's changes in sentences."""
    text = (fresh_demo / "deaths-dp" / "discreet.yaml").read_text("utf-8")
    changed = text.replace("max_variables: 4", "max_variables: 2").replace("1000000", "3000")
    (fresh_demo / "deaths-dp" / "discreet.yaml").write_text(changed, "utf-8")
    strict = dc.simulate(fresh_demo / "deaths-dp")
    refused = [one for one in strict.outlooks if not one.allowed]
    assert all(len(one.axes) == 3 or one.cells > 2_900 for one in refused)
    assert all(
        "may use at most 2" in one.why or "at most 3,000 cells" in one.why for one in refused
    )
    assert any("leave out" in words for one in refused for words in one.instead)
    cell_key = dc.simulate(fresh_demo / "deaths")
    said = " ".join(difference(strict, cell_key))
    assert f"allows {len(refused):,} tables that the first did not" in said
    assert "different kinds" in said
    assert "they do not compare" not in said


@pytest.mark.slow
def test_shares_of_reliable_cells_follow_public_populations(demo: Path) -> None:
    """Few records make few cells reliable; without a number of records nothing is said."""
    few, many = (dc.simulate(demo / "deaths-dp", records=n) for n in (3_000, 3_000_000))
    for one, other in zip(few.outlooks, many.outlooks, strict=True):
        assert 0 <= (one.share_reliable or 0) <= (other.share_reliable or 0) <= 1
    assert min(one.share_reliable or 0 for one in few.outlooks) == 0
    assert all(one.share_reliable is None for one in dc.simulate(demo / "deaths-dp").outlooks)


@pytest.mark.slow
def test_the_command_prints_and_speaks_json(demo: Path) -> None:
    """One screen for people, one object for programs; bad numbers get one sentence."""
    said = run(
        "policy", "simulate", demo / "deaths-dp", "--tables", "2", "--against", demo / "deaths"
    )
    assert said.returncode == 0
    assert "no record was read" in said.stdout
    told = json.loads(run("policy", "simulate", demo / "deaths-dp", "--json").stdout)
    assert told["scale"]["floor"] == "0.539"
    assert told["rehearsal"] is False
    bad = run("policy", "simulate", demo / "deaths-dp", "--risk", "10")
    assert (bad.returncode, bad.stderr.count("\n")) == (2, 1)


def test_bad_wishes_are_said(demo: Path) -> None:
    for wrong in ({"within": -1}, {"of": "150%"}, {"records": 0}, {"risk": []}, {"tables": 0}):
        with pytest.raises(dc.DiscreetError):
            dc.simulate(demo / "deaths-dp", **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no data set"):
        dc.simulate(demo / "nothing")


@pytest.mark.slow
def test_what_a_small_number_rule_blanks_is_a_rehearsal(fresh_demo: Path) -> None:
    """Counted cell by cell against a count of the records; noted in the ledger; not written anywhere."""
    folder = fresh_demo / "deaths-dp"
    found = dc.simulate(folder)
    looked = trials.small_numbers(folder, found, who="ana")
    assert len(looked.tables) == len(found.allowed) == 73
    table = next(one for one in looked.tables if one.table == "area:region × cause")
    import duckdb

    source = str(folder / "source" / "records.parquet")
    rows = duckdb.sql(f"SELECT count(*) FROM '{source}' GROUP BY region, cause").fetchall()
    counts = [n for (n,) in rows]
    assert table.filled == len(counts)
    assert table.hidden == sum(n < 10 for n in counts)
    with DataSet.open(folder) as data:
        assert [e.body["about"] for e in data.ledger().rehearsals()] == ["policy simulate"]
    assert "blanks" in " ".join(looked.sentences())
