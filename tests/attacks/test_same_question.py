"""One question, one answer: however it is written, its numbers stay under their own names."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.core.table import Status
from discreet.workspace import DataSet

from .people import ask, change, make

TABLES = [
    {"rows": "area", "where": {"sex": "f"}},
    {"rows": "area", "where": {"sex": "m"}},
    {"rows": "job", "columns": "sex"},
]


@pytest.mark.parametrize("family", ["cell-key", "dp"])
def test_tables_in_another_order_keep_their_numbers(tmp_path, family):
    """Tables of one question in any order are one question: women never come out as men."""
    more = {} if family == "cell-key" else {"epsilon": "1"}
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
