"""A methodologist gets from the README to a method, an ε and the reasons without a stop."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import methodologist
from .custodian import report


@pytest.mark.slow
def test_nothing_stops_a_methodologist(tmp_path: Path) -> None:
    """Two steps stopped the first who tried; none does now."""
    journey = methodologist.walk(tmp_path)
    assert not journey.stops, report(journey)
    assert set(journey.steps) >= methodologist.BEFORE
