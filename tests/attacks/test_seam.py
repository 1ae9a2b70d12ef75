"""What was tried against the seam between recipe, method and ledger, and must not work again."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import RecipeError, Refusal
from discreet.methods import registry
from discreet.recipe import from_mapping, from_query
from discreet.release import ask as asked_of
from discreet.workspace import DataSet, load

from ..methods.ration.declaration import DECLARATION as RATION
from .people import ask, change, make, make_anew, records


def hash_of(data: DataSet, **recipe: Any) -> str:
    return asked_of(data, from_mapping(recipe, data.description, data.policy)).plan.question_hash


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make(tmp_path, "dp")


def test_a_zero_that_all_of_another_variable_meets_is_part_of_the_question(folder: Path):
    """`sex: m` with every job is `sex: m`: it changes what is measured, so it moves the hash."""
    with DataSet.open(folder) as data:
        before = hash_of(data, rows="sex", columns="area", epsilon="1")
        elsewhere = hash_of(data, rows="area", epsilon="1")
    change(folder, structural_zeros=[{"where": {"sex": ["m"], "job": ["x", "y", "z"]}}])
    with DataSet.open(folder) as data:
        assert hash_of(data, rows="sex", columns="area", epsilon="1") != before
        assert hash_of(data, rows="area", epsilon="1") == elsewhere
    change(folder, structural_zeros=[{"where": {"sex": ["m"], "job": ["x"]}}])
    with DataSet.open(folder) as data:
        assert hash_of(data, rows="sex", columns="area", epsilon="1") == before


@pytest.mark.parametrize("limit", ["threshold", "display_floor"])
def test_limits_below_the_policy_s_tell_nothing_apart(tmp_path: Path, limit: str):
    """Two symbols below the policy's floor would spell out what it hides, one limit after another."""
    folder = make(tmp_path, "cell-key")
    change(folder, methods={"cell-key": {"display_floor": 12}})
    with DataSet.open(folder) as data:
        for size in range(2, 12):
            with pytest.raises(Refusal, match="raised and not lowered"):
                ask(data, rows="area", columns="job", **{limit: str(size)})
        assert ask(data, rows="area", columns="job", **{limit: "12"}).tables


SAME = [
    ({"tables": [{"rows": ["sex"]}]}, {"tables": [{"rows": ["sex"]}, {"rows": ["sex"]}]}),
    (
        {"rows": ["sex"]},
        {"tables": [{"rows": ["sex"], "share": "1/4"}, {"rows": ["sex"], "share": "3/4"}]},
    ),
    ({"rows": []}, {"rows": [], "totals": "none"}),
    ({"rows": ["sex"]}, {"rows": ["sex"], "totals": None, "weighted": None}),
    ({"rows": ["sex"]}, {"rows": ["sex"], "totals": "", "law": "", "plan": ""}),
    (
        {"tables": [{"rows": ["sex"]}, {"rows": ["area"]}], "plan": "wanted"},
        {
            "tables": [{"rows": ["sex"], "share": "1/2"}, {"rows": ["area"], "share": "1/2"}],
            "plan": "wanted",
        },
    ),
    (
        {"rows": ["sex"], "max_perturbation": "30"},
        {"rows": ["sex"], "max_perturbation": "30", "delta": "0.1"},
    ),
]


@pytest.mark.parametrize(("one", "two"), SAME, ids=[str(number) for number in range(len(SAME))])
def test_one_measurement_is_one_question(folder: Path, one: dict[str, Any], two: dict[str, Any]):
    """A table asked twice, totals of a total, shares and δ that change nothing, empty fields."""
    with DataSet.open(folder) as data:
        assert hash_of(data, **one, epsilon="1") == hash_of(data, **two, epsilon="1")
        if "max_perturbation" in one:  # has a δ, which a pure budget cannot be charged
            return
        first = ask(data, **one, epsilon="1")
        second = ask(data, **two, epsilon="1")
        assert second.reused
        assert first.plan.question_hash == second.plan.question_hash
        assert str(data.ledger().spent()).startswith("epsilon = 1")


def test_a_default_epsilon_is_for_each_distinct_table(folder: Path):
    """Asked twice, a table costs once."""
    change(folder, methods={"noise": {"epsilon": "0.5"}})
    with DataSet.open(folder) as data:
        ask(data, tables=[{"rows": ["sex"]}, {"rows": ["sex"]}])
        assert str(data.ledger().spent()) == "epsilon = 0.5"


def test_what_is_said_twice_or_of_no_category_gets_a_sentence(folder: Path):
    """In the short form as on the command line; an empty filter is no bug."""
    with DataSet.open(folder) as data:
        facts = data.description, data.policy
        with pytest.raises(RecipeError, match="twice"):
            from_query("rows=area&where=sex:f&where=sex:m&epsilon=1", *facts)
        for nothing in (None, [], 5, True, {}):
            with pytest.raises(RecipeError, match="names no category of sex"):
                from_mapping({"rows": "area", "where": {"sex": nothing}}, *facts)


def test_a_free_answer_says_what_it_was_made_with(folder: Path):
    """Settings that were asked for and are another release's own are not passed over in silence."""
    with dc.open(folder) as data:
        data.table(rows="area", columns="sex", epsilon="1").release()
        free = data.table(rows="sex", epsilon="5", law="gaussian", rho=None, delta="1e-6")
        notes = free.release(free=True).protected.notes
        assert any("law laplace, not gaussian" in note for note in notes)


def test_a_history_outlives_a_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What was released about these people counts after new data too (rule 7)."""
    monkeypatch.setitem(registry.METHODS, RATION.name, RATION)
    folder = make(tmp_path, "cell-key")
    change(folder, family="suppression", method="ration", methods={"ration": {}})
    with DataSet.open(folder) as data:
        given = [ask(data, rows=row).tables[0].shown.all() for row in ("area", "sex", "job")]
    (tmp_path / "people.csv").write_text("\n".join(records()[:-1]) + "\n")
    load(folder)
    with DataSet.open(folder) as data:
        given.append(ask(data, rows="area").tables[0].shown.all())
    assert [bool(each) for each in given] == [True, True, False, False]


@pytest.mark.slow
def test_a_private_law_cannot_be_confirmed_by_a_guess(tmp_path: Path):
    """The same p-table in another data set has another mark; a public one is named by its digest."""
    marks = []
    folders = [make_anew(tmp_path / name, "cell-key", "\n".join(records())) for name in "ab"]
    for law, folder in itertools.product(("private", "public"), folders):
        change(folder, methods={"cell-key": {"law": law}})
        with DataSet.open(folder) as data:
            made = ask(data, rows="area")
            marks.append(made.plan.question.settings["law"])
            shown = made.tables[0].provenance.question["settings"]["law"]
            assert (shown == "private") == (law == "private")
            seen = asked_of(data, made.recipe).to_json()
            assert "law" not in seen["settings"]
    assert len(set(marks[:2])) == 2
    assert len(set(marks[2:])) == 1
