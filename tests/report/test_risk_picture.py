"""The picture of a suppression table's risks: turned with the table, stars and all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.core.table import Status
from discreet.report.charts import to_svg
from discreet.report.risk_picture import risk_map, risks_of

from ..methods.suppression import world


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world.make(tmp_path_factory.mktemp("risks"), epsilon="0.35", delta="0.02")


@pytest.mark.slow
def test_risks_are_turned_with_the_table(folder: Path):
    """Rows and columns changed places: each cell keeps its risk, and stars have none."""
    with dc.open(folder) as data:
        one = data.table(rows="eyes", columns="hair").release().protected
        two = data.table(rows="hair", columns="eyes").release().protected
    first, second = risks_of(one), risks_of(two)
    assert first is not None
    assert second is not None
    assert np.array_equal(first, second.T)
    stars = one.status[:-1, :-1] == Status.SUPPRESSED
    assert stars.any()
    assert not first[stars].any()
    assert (first[one.status[:-1, :-1] == Status.OK] > 0).all()


def test_the_picture_has_its_stars_and_words(folder: Path):
    """As many stars as the table; what was charged in all is what the cells were."""
    with dc.open(folder) as data:
        table = data.table(rows="eyes", columns="hair").release().protected
    found = risk_map(table)
    assert found is not None
    picture, words = found
    many = int((table.status == Status.SUPPRESSED).sum())
    assert to_svg(picture).count(">✱<") == many
    assert f"{many} of 9 cells are stars" in words


def test_other_tables_have_no_such_picture(folder: Path):
    """A part of a table, or one whose law says nothing of risks, has none."""
    with dc.open(folder) as data:
        table = data.table(rows="eyes", columns="hair").release().protected
    axes = [{**table.law.about, "risk_axes": ["eyes"]}, {**table.law.about, "risk": [1]}, {}]
    for about in axes:
        object.__setattr__(table.law, "about", about)
        assert risks_of(table) is None
