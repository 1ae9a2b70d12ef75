"""A list of categories taken from the data is a release of its own, and is said to be one."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet.core.control import Control
from discreet.errors import Refusal
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
