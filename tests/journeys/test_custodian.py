"""A custodian's first hour, from the README alone, has no stop."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import custodian


@pytest.mark.slow
def test_nothing_stops_a_custodian(tmp_path: Path) -> None:
    """Thirteen steps stopped the first who tried; none does now."""
    journey = custodian.walk(tmp_path, 2_000)
    assert not journey.stops, custodian.report(journey)
    assert set(journey.steps) >= custodian.BEFORE
    assert len(custodian.BEFORE) == 13
