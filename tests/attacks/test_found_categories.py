"""A list of categories taken from the data is a release of its own, and is said to be one."""

from __future__ import annotations

import os

import pytest

import discreet as dc
from discreet import workspace
from discreet.cli import serving
from discreet.core.control import Control
from discreet.core.description import Description, StructuralZero, Weight
from discreet.core.domain import Condition, variable
from discreet.core.family import Family
from discreet.core.text import Text
from discreet.errors import RecipeError, Refusal
from discreet.recipe import from_mapping
from discreet.workspace import DataSet

from .people import ask, records


@pytest.mark.parametrize("family", ["cell-key", "dp"])
def test_found_categories_are_refused_or_said(tmp_path, family):
    """DP refuses them; a cell-key table says what its list of categories tells."""
    (tmp_path / "people.csv").write_text("\n".join(records()) + "\n")
    budget = {"epsilon": "10"} if family == "dp" else None
    dc.init(tmp_path / "people.csv", tmp_path / "d", Control(), family=family, budget=budget)
    dc.declare(tmp_path / "d", ["sex"])
    with DataSet.open(tmp_path / "d") as data:
        if family == "dp":
            for recipe in ({"rows": "job"}, {"rows": "sex", "where": {"job": "x"}}):
                with pytest.raises(Refusal) as refused:
                    ask(data, **recipe, epsilon="1")
                assert refused.value.rule == "declared-domain"
            return
        for recipe in ({"rows": "job"}, {"rows": "sex", "where": {"job": "x"}}):
            (table,) = ask(data, **recipe).tables
            assert any("categories of job were found" in note for note in table.notes)
        (table,) = ask(data, rows="sex").tables
        assert not any("found in the data" in note for note in table.notes)


def test_what_is_public_names_nothing_that_was_found():
    """Under dp and suppression of either kind neither variables nor what was said of them, whatever they are."""
    zeros = [
        StructuralZero((Condition("sex", "sex", ("m",)), Condition("job", "job", ("x", "z")))),
        StructuralZero((Condition("sex", "sex", ("m",)), Condition("age", "age", ("0",)))),
    ]
    known = Description(
        "people",
        Text.of("People"),
        (
            variable("sex", ["f", "m"]),
            variable("job", ["x", "z"], declared=False),
            variable("age", ["0", "1"]),
        ),
        structural_zeros=tuple(zeros),
        weight=Weight("w", 10),
    )
    for family in Family:
        public = known.public(family)
        if family in (Family.DP, Family.SUPPRESSION, Family.CLASSIC):
            assert [each.name for each in public.variables] == ["sex", "age"]
            assert public.structural_zeros == (zeros[1],)
            assert public.weight is None
        else:
            assert public is known


def test_a_reader_is_told_the_same_of_found_and_of_unknown_names(tmp_path):
    """Names of recipes are looked up among declared variables: a found one is as if it were not there,
    whichever code is asked of it, and no alternative offers it."""
    (tmp_path / "people.csv").write_text("\n".join(records()) + "\n")
    dc.init(
        tmp_path / "people.csv", tmp_path / "d", Control(), family="dp", budget={"epsilon": "1"}
    )
    dc.declare(tmp_path / "d", ["sex"])
    with DataSet.open(tmp_path / "d") as data:
        said = set()
        for name in ("job", "yob"):
            for code in ("x", "unknown"):
                with pytest.raises(RecipeError) as refused:
                    from_mapping(
                        {"rows": "sex", "where": {name: code}}, data.description, data.policy
                    )
                said.add(refused.value.message.replace(name, "NAME"))
        assert said == {"'NAME' is no variable or level of d. It has sex."}
        assert [each.name for each in data.facts.description.variables] == ["sex"]


def test_the_start_of_a_server_names_what_waits(tmp_path, monkeypatch, capsys):
    """`serve` warns of variables that only custodians will see, and `check` calls it an error."""
    (tmp_path / "people.csv").write_text("\n".join(records()) + "\n")
    for name, budget in (("dp", {"epsilon": "1"}), ("cell-key", None)):
        folder = tmp_path / "work" / name
        workspace.init(tmp_path / "people.csv", folder, family=name, budget=budget, load=False)
        dc.declare(folder, ["sex"])
    monkeypatch.setattr(serving, "_listen", lambda *where: None)
    monkeypatch.setattr(serving.os, "environ", dict(os.environ))
    serving.serve(tmp_path / "work", port=0, public=["all"])
    said = " ".join(capsys.readouterr().err.split())
    assert "dp: area, job, w were found in the data and are not declared." in said
    assert "cell-key: area" not in said
    findings = workspace.check(tmp_path / "work" / "dp")
    assert any("to custodians only" in f.what for f in findings if f.severity == "to do")
