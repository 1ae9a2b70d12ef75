"""What follows from a top-down release: synthetic records to serve, and tests on its files alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.core.control import Control
from discreet.synthesis import synthetic

from ...attacks.people import make
from ...test_derive_marginals import VARIABLES

pytestmark = pytest.mark.slow

RECIPE = {
    "method": "topdown",
    "epsilon": "5",
    "records_about": 600,
    "tables": [
        {"name": "areas", "rows": ["area:area"], "columns": ["sex", "job"]},
        {"name": "regions", "rows": ["region"], "columns": ["sex"]},
    ],
}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    return make(tmp_path, "dp", variables=VARIABLES)


def test_the_records_of_a_release_are_a_data_set(people: Path, tmp_path: Path) -> None:
    """Any table asked of it is the release's own; nothing more is charged."""
    with dc.open(people) as data:
        released = data.recipe(RECIPE).release()
        spent = data.ledger_facts()["spent"]
    synthetic(people, tmp_path / "open", Control())
    with dc.open(people) as data:
        assert data.ledger_facts()["spent"] == spent
    by_name = {table.domain.names: table for table in released.tables}
    with dc.open(tmp_path / "open") as served:
        for rows, columns in (("area:area", ["sex", "job"]), ("region", ["sex"])):
            table = served.table(rows=[rows], columns=columns).release().protected
            names = (rows.split(":")[0], *columns)
            assert table.domain.names == names
            assert np.array_equal(table.values, by_name[names].values)
            assert table.guarantee.epsilon == 5


def test_a_file_of_a_release_can_be_tested_alone(people: Path, tmp_path: Path) -> None:
    """Through the covariance that it carries, without the workspace."""
    with dc.open(people) as data:
        folder = data.recipe(RECIPE).release().write(tmp_path / "out", formats=["csv"])
    file = str(next(folder.rglob("*region*.csv")))
    told = CliRunner().invoke(app, ["infer", "independence", file])
    assert told.exit_code == 0, told.output
    assert "its covariance was used" in " ".join(told.output.split())
