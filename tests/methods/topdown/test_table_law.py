"""The law that a top-down table carries: the covariance of its unbiased column, in every file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.core.cell_law import CellLaw
from discreet.core.table import ProtectedTable
from discreet.errors import CannotConclude
from discreet.inference.independence import independence_test
from discreet.inference.intervals import interval
from discreet.methods.topdown import table_law

from .test_method import TABLES, small

MORE: list[dict[str, Any]] = [
    {"rows": ["area2"], "columns": ["job"]},
    {"rows": ["job"], "columns": ["sex"]},
    {"rows": ["area1"], "where": {"sex": "f"}},
    {"rows": ["job"], "where": {"area1": "area1-1"}},
    {"rows": ["area1"], "columns": ["sex"], "totals": False},
]


def released(**said: Any) -> tuple[ProtectedTable, ...]:
    return small(4000).release([*TABLES, *MORE], **said)[2]


@pytest.mark.parametrize("said", [{"epsilon": "1"}, {"rho": "0.2"}])
def test_the_covariance_agrees_with_every_deviation(said: dict[str, str]) -> None:
    """Of cells and totals, for filters and for tables without areas too; and it is read back."""
    for table in released(**said):
        residuals = table.law.residual_variance
        assert residuals is not None
        assert table.noise is not None
        assert CellLaw.from_json(table.law.to_json()) == table.law
        shape, names = table.domain.shape, table.domain.names
        for place in np.ndindex(table.values.shape):
            at = [None if p == n else p for p, n in zip(place, shape, strict=True)]
            variance = residuals.covariance(dict(zip(names, at, strict=True)))
            assert variance == pytest.approx(table.noise.sd[place] ** 2, rel=1e-9)


def test_a_table_of_areas_can_be_tested() -> None:
    """Through the column unbiased; an interval of a cell is about the one that is published."""
    table = released(epsilon="2")[1]
    assert 0 <= independence_test(table).p <= 1
    found = interval(table, {"area1": "area1-0", "job": "x"})
    assert table.noise is not None
    assert abs(found.lower - table.noise.lower[0, 0]) <= 1


def test_a_level_of_many_nodes_carries_no_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be too large for a file; a test is refused in one sentence."""
    monkeypatch.setattr(table_law, "MOST_NODES", 5)
    table, coarser, *_ = released(epsilon="2")
    assert coarser.law.residual_variance is not None
    with pytest.raises(CannotConclude, match="carries no covariance"):
        independence_test(table)
