"""Suppression through the one flow: a table, stars, refusals, a second question, the ledger."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.main import app
from discreet.core.guarantee import Kind
from discreet.core.table import Status
from discreet.errors import DataError, DescriptionError, InputError, Refusal
from discreet.workspace import load

from . import world

TABLE = {"rows": "eyes", "columns": "hair"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return world.make(tmp_path)


def test_a_table_comes_out_and_stays(folder: Path, tmp_path: Path):
    """Counts are exact, totals are sums, what follows is marked; asked again nothing changes."""
    with dc.open(folder) as data:
        draft = data.table(**TABLE)
        assert draft.standing == "affordable"
        assert draft.guarantee.kind is Kind.SEMANTIC
        table = draft.release().protected
        again = data.table(columns="eyes", rows="hair").release()
        assert again.detail.reused
    assert table.values[:-1, :-1].sum() == table.values[-1, -1]
    assert set(np.unique(table.status)) == {Status.OK, Status.DERIVED}
    assert "number with gene: yes" in table.title
    said = " ".join([table.guarantee.sentence(), *table.guarantee.caveats, *table.notes])
    for words in ("stated prior", "independent", "nobody else's value", "a textbook", "a census"):
        assert words in said


@pytest.mark.slow
def test_other_words_are_the_same_question(folder: Path):
    """Attribute named or not, in capitals, sides turned, filters by label: one hash, one record."""
    spellings = [
        {"rows": "EYES", "columns": "Hair", "attribute": "Gene", "where": {"half": ["North"]}},
        {"rows": "hair", "columns": "eyes", "cells": "Yes", "where": {"half": ["n"]}},
        {"layers": "hair", "rows": "eyes", "cells": True, "where": {"half": "n"}},
    ]
    with dc.open(folder) as data:
        hashes = {data.recipe(said).release().detail.plan.question_hash for said in spellings}
        kinds = [entry["kind"] for entry in data.ledger_facts()["entries"]]
    assert len(hashes) == 1
    assert kinds.count("record") == 1


@pytest.mark.slow
def test_small_cells_are_starred_and_hold_no_number(tmp_path: Path):
    """Where a cell is a star no file, ledger or object holds its count."""
    folder = world.make(tmp_path, epsilon="0.35", delta="0.02")
    with dc.open(folder) as data:
        release = data.table(**TABLE).release()
        table = release.protected
        stars = table.status == Status.SUPPRESSED
        assert stars.any()
        assert not table.values[stars].any()
        assert any("tells nothing" in note for note in table.notes)
        stored = data.ledger_facts()
        assert stored["entries"]
        out = release.write(tmp_path / "out")
    assert json.loads((out / "manifest.json").read_text())["method"] == "suppression"


@pytest.mark.slow
def test_unsafe_totals_are_refused_before_any_data_are_read(tmp_path: Path):
    """A refusal by public facts alone, with its rule."""
    folder = world.make(tmp_path, epsilon="0.05", delta="0.01")
    with dc.open(folder) as data:
        with pytest.raises(Refusal) as caught:
            _ = data.table(**TABLE).standing
        assert caught.value.rule == "unsafe-totals"
        assert data.ledger_facts()["entries"] == [] or all(
            entry["kind"] != "record" for entry in data.ledger_facts()["entries"]
        )


@pytest.mark.parametrize(
    ("asked", "rule"),
    [
        ({"rows": "eyes", "columns": "gene"}, "private-attribute"),
        ({"rows": "eyes", "where": {"gene": ["yes"]}}, "private-attribute"),
        ({"rows": ["eyes", "half"], "columns": "hair"}, "two-way"),
        ({"rows": "eyes", "columns": "hair", "totals": "none"}, "with-totals"),
        ({"tables": [TABLE, {"rows": "half"}]}, "one-table"),
    ],
)
@pytest.mark.slow
def test_what_cannot_be_decided_is_refused(folder: Path, asked: dict, rule: str):
    """Each with its rule, in one sentence."""
    with dc.open(folder) as data, pytest.raises(Refusal) as caught:
        data.recipe(asked).release()
    assert caught.value.rule == rule


@pytest.mark.slow
def test_tables_of_other_people_share_one_delta(folder: Path):
    """Two halves of the town: both come out, the second says what the first spent."""
    with dc.open(folder) as data:
        first = data.table(**TABLE, where={"half": ["n"]})
        assert first.release().protected.values[-1, -1] > 0
        second = data.table(**TABLE, where={"half": ["s"]})
        assert any("have spent" in word for word in second.preview().warnings)
        second.release()
        for overlapping in (TABLE, {"rows": "eyes"}, {**TABLE, "where": {"eyes": ["blue"]}}):
            with pytest.raises(Refusal) as caught:
                _ = data.table(**overlapping).standing
            assert caught.value.rule == "overlapping-table"


def test_cells_come_after_totals(folder: Path):
    """Totals alone, then the cells on them: the same totals, and what was spent is not forgotten."""
    with dc.open(folder) as data:
        totals = data.table(**TABLE, cells="no").release().protected
        assert (totals.status[:-1, :-1] == Status.NOT_RELEASED).all()
        whole = data.table(**TABLE).release().protected
    assert np.array_equal(totals.values[-1], whole.values[-1])
    assert (whole.status[:-1, :-1] != Status.NOT_RELEASED).all()


@pytest.mark.slow
def test_a_larger_delta_gives_more_cells(tmp_path: Path):
    """After a larger δ is agreed stars are decided again; numbers that are out stay."""
    folder = world.make(tmp_path, epsilon="0.35", delta="0.02")
    with dc.open(folder) as data:
        first = data.table(**TABLE).release().protected
    world.write(folder, epsilon="0.35", delta="0.4")
    with dc.open(folder) as data:
        second = data.table(**TABLE).release().protected
    had, has = (t.shown[:-1, :-1] for t in (first, second))
    assert (has | ~had).all()
    assert has.sum() > had.sum()
    assert np.array_equal(first.values[:-1, :-1][had], second.values[:-1, :-1][had])


def test_a_delta_below_what_is_spent_is_refused(folder: Path):
    """The same table under a smaller δ would be said to keep it; set back, all is as it was."""
    with dc.open(folder) as data:
        data.table(**TABLE, where={"half": ["n"]}).release()
    world.write(folder, delta="0.0001")
    for half in ("n", "s"):
        with dc.open(folder) as data, pytest.raises(Refusal) as caught:
            _ = data.table(**TABLE, where={"half": [half]}).standing
        assert caught.value.rule == "delta-spent"
    world.write(folder)
    with dc.open(folder) as data:
        assert data.table(**TABLE, where={"half": ["n"]}).release().detail.reused


def test_a_further_split_of_what_is_not_out_yet(folder: Path):
    """Totals by tone of hair, then by hair: the new totals are decided on the old ones."""
    with dc.open(folder) as data:
        coarse = data.table(rows="eyes", columns="tone", cells="no").release().protected
        fine = data.table(rows="eyes", columns="hair").release().protected
        light, dark = coarse.values[-1, :2]
        assert fine.values[-1, 0] == light
        if fine.shown[-1, 1:3].all():
            assert fine.values[-1, 1:3].sum() == dark
        with pytest.raises(Refusal) as caught:
            _ = data.table(rows="eyes", columns="tone").standing
        assert caught.value.rule == "overlapping-table"


def test_cells_that_are_out_are_not_split(folder: Path):
    """A column whose cells are out cannot be split: refused with the reason."""
    with dc.open(folder) as data:
        assert data.table(rows="eyes", columns="tone").release().protected.shown.all()
        with pytest.raises(Refusal, match="split further are out"):
            _ = data.table(rows="eyes", columns="hair").standing


@pytest.mark.parametrize("what", ["prior", "order", "epsilon"])
@pytest.mark.slow
def test_what_was_decided_on_cannot_be_edited(folder: Path, what: str):
    """A prior, an order or ε changed after a release: refused, with what to do."""
    with dc.open(folder) as data:
        data.table(**TABLE, where={"half": ["n"]}).release()
    if what == "prior":
        (folder / "prior.csv").write_text("hair,p\nblonde,0.5\nblack,0.4\nbrown,0.31\n")
    else:
        world.write(folder, **{"order": "rows"} if what == "order" else {"epsilon": "0.6"})
    with dc.open(folder) as data, pytest.raises(Refusal) as caught:
        _ = data.table(**TABLE, where={"half": ["s"]}).standing
    assert caught.value.rule == "history-changed"


def test_populations_edited_after_the_load_need_a_load(folder: Path):
    """Records are compared with them when they are loaded, so they cannot change quietly."""
    text = (folder / "populations.csv").read_text()
    (folder / "populations.csv").write_text(text.replace("blue,blonde,n,100", "blue,blonde,n,90"))
    with pytest.raises(InputError, match="discreet load"):
        dc.open(folder)
    with pytest.raises(DataError, match="90 people with eyes blue"):
        load(folder)


@pytest.mark.slow
def test_a_new_data_version_closes_the_history(folder: Path, tmp_path: Path):
    """Nothing more is released, unless the earlier people are declared to be others."""
    with dc.open(folder) as data:
        data.table(**TABLE, where={"half": ["n"]}).release()
    (tmp_path / "people.csv").write_text("\n".join(world.records(seed=9)) + "\n")
    load(folder)
    with dc.open(folder) as data, pytest.raises(Refusal) as caught:
        _ = data.table(**TABLE, where={"half": ["s"]}).standing
    assert caught.value.rule == "history-closed"
    words = str(caught.value.alternatives[0])
    version = words.rpartition("[")[2].partition("]")[0]
    world.write(folder, other_people=[version])
    with dc.open(folder) as data:
        assert data.table(**TABLE, where={"half": ["s"]}).standing == "affordable"


def test_nobody_is_declared_other_than_himself(folder: Path):
    """What came out of the very data that are asked stays in their history, whatever is declared."""
    with dc.open(folder) as data:
        table = data.table(**TABLE, where={"half": ["n"]}).release().protected
    version = table.provenance.data_version
    world.write(folder, other_people=[version])
    with dc.open(folder) as data, pytest.raises(Refusal) as caught:
        _ = data.table(**TABLE).standing
    assert caught.value.rule == "overlapping-table"


@pytest.mark.slow
def test_two_questions_at_once_are_decided_one_after_the_other(folder: Path):
    """Both halves at the same moment: one history, and δ is never overspent."""
    start = threading.Barrier(2)

    def ask(half: str) -> None:
        with dc.open(folder) as data:
            draft = data.table(**TABLE, where={"half": [half]})
            _ = draft.standing
            start.wait()
            draft.release()

    threads = [threading.Thread(target=ask, args=(half,)) for half in "ns"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with dc.open(folder) as data:
        kinds = [entry["kind"] for entry in data.ledger_facts()["entries"]]
        assert kinds.count("record") == 2


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"epsilon": "1.5"}, "epsilon must be"),
        ({"delta": "0"}, "delta must be"),
        ({"populations": {"source": "a census"}}, "public number of people"),
        ({"attributes": {}}, "attributes"),
        ({"attributes": {"gene": {"counts": ["yes"], "prior": "from the data"}}}, "never|cannot"),
        (
            {"attributes": {"gene": {"counts": ["yes"], "prior": {"value": "1.2", "source": "x"}}}},
            "prior.value must be",
        ),
        (
            {"attributes": {"gene": {"prior": {"value": "0.2", "source": "x"}}}},
            "needs one of",
        ),
    ],
)
def test_bad_parameters_get_one_sentence(tmp_path: Path, changed: dict, words: str):
    """What is wrong, what is allowed, what to do."""
    with pytest.raises((DescriptionError, InputError), match=words) as caught:
        world.make(tmp_path, **changed)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hair,p\nblonde,0.5\nblack,0.4\nbrown,0.3\nblonde,0.9\n", "line 5, repeats an earlier"),
        ("hair,p,low,high\nblonde,0.5,0.1,0.9\n", "a column p and low, high too"),
    ],
)
def test_a_prior_says_one_thing_of_each_type(folder: Path, text: str, words: str):
    """Two lines for a type, or a value beside an interval: neither is picked."""
    (folder / "prior.csv").write_text(text)
    with pytest.raises(InputError, match=words), dc.open(folder) as data:
        _ = data.table(**TABLE).standing


def test_the_command_line_names_no_budget_that_there_is_not(tmp_path: Path):
    """A decision is recorded and costs no loss: nothing is said to be left of one."""
    run = CliRunner().invoke(
        app, ["table", str(world.make(tmp_path)), "--rows", "eyes", "--columns", "hair"]
    )
    assert run.exit_code == 0, run.output
    assert "Cost: recorded" in run.output
    assert "None" not in run.output
