"""One question, one answer: however it is written, its numbers stay under their own names."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import yaml

from discreet import release as flow
from discreet.core.loss import PureLoss
from discreet.core.table import Status
from discreet.errors import Refusal
from discreet.recipe import from_mapping
from discreet.workspace import DataSet

from .people import ask, change, make, records

TABLES = [
    {"rows": "area", "where": {"sex": "f"}},
    {"rows": "area", "where": {"sex": "m"}},
    {"rows": "job", "columns": "sex"},
]


@pytest.mark.parametrize(
    ("family", "method"), [("cell-key", "cell-key"), ("dp", "noise"), ("dp", "marginals")]
)
def test_tables_in_another_order_keep_their_numbers(tmp_path, family, method):
    """Tables of one question in any order are one question: women never come out as men."""
    more = {"method": method} if family == "cell-key" else {"method": method, "epsilon": "1"}
    with DataSet.open(make(tmp_path, family)) as data:
        first = {t.title: t.values for t in ask(data, tables=TABLES, **more).tables}
        for order in itertools.permutations(TABLES):
            again = ask(data, tables=list(order), **more)
            assert again.reused
            for table in again.tables:
                assert np.array_equal(table.values, first[table.title]), table.title


def test_a_table_named_twice_is_answered_twice_alike(tmp_path):
    """The same table twice in one question is one measurement."""
    with DataSet.open(make(tmp_path, "cell-key")) as data:
        one, two = ask(data, tables=[TABLES[0], TABLES[0]]).tables
        assert np.array_equal(one.values, two.values)


@pytest.mark.parametrize("family", ["cell-key", "dp"])
def test_structural_zeros_are_part_of_the_question(tmp_path, family):
    """Zeros declared later, or taken back, make another question: no number was made under both."""
    more = {} if family == "cell-key" else {"epsilon": "1"}
    folder = make(tmp_path, family)

    def answer():
        with DataSet.open(folder) as data:
            return ask(data, rows="sex", columns="job", **more)

    before = answer()
    change(folder, structural_zeros=[{"where": {"sex": ["m"], "job": ["x"]}}])
    declared = answer()
    assert not declared.reused
    (table,) = declared.tables
    assert table.values[1, 0] == 0
    assert table.status[1, 0] == Status.STRUCTURAL_ZERO
    change(folder, structural_zeros=None)
    again = answer()
    assert again.reused
    assert np.array_equal(again.tables[0].values, before.tables[0].values)


def test_a_variable_no_longer_declared_does_not_block_the_others(tmp_path):
    """What was released by it is left out of what later questions may follow from."""
    folder = make(tmp_path, "dp")
    with DataSet.open(folder) as data:
        ask(data, rows="job", epsilon="1")
        ask(data, rows="area", columns="sex", epsilon="1")
    said = yaml.safe_load((folder / "discreet.yaml").read_text())
    said["variables"]["job"]["status"] = "found"
    change(folder, variables=said["variables"])
    with DataSet.open(folder) as data:
        recipe = from_mapping({"rows": "area", "epsilon": "1"}, data.description, data.policy)
        assert flow.ask(data, recipe).follows_from


def test_what_follows_from_an_older_version_is_not_offered(tmp_path):
    """A release about other data answers nothing about these."""
    folder = make(tmp_path, "dp")
    with DataSet.open(folder) as data:
        ask(data, rows="area", columns="sex", epsilon="1")
    (tmp_path / "people.csv").write_text("\n".join(records(650)) + "\n")
    change(folder, load=True)
    with DataSet.open(folder) as data:
        recipe = from_mapping({"rows": "area", "epsilon": "1"}, data.description, data.policy)
        assert flow.ask(data, recipe).follows_from is None
        with pytest.raises(Refusal):
            flow.ask(data, recipe).derive()


def test_who_comes_second_is_told_that_nothing_was_charged(tmp_path, monkeypatch):
    """A question committed by another while this one was counting: its answer, not a new one."""
    folder = make(tmp_path, "dp")
    with DataSet.open(folder) as mine, DataSet.open(folder) as other:
        counted = type(mine.engine()).count

        def slowly(self, *given, **more):
            monkeypatch.setattr(type(mine.engine()), "count", counted)
            first.append(ask(other, rows="area", epsilon="1"))
            return counted(self, *given, **more)

        first: list = []
        monkeypatch.setattr(type(mine.engine()), "count", slowly)
        second = ask(mine, rows="area", epsilon="1")
        assert second.reused
        assert not first[0].reused
        assert np.array_equal(second.tables[0].values, first[0].tables[0].values)
        assert mine.ledger().spent() == PureLoss(1)
