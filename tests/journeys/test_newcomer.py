"""A custodian new to the product publishes her first table by the pages alone, without a stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from . import newcomer


@pytest.mark.slow
def test_nothing_stops_a_newcomer(chromium: Any, tmp_path: Path) -> None:
    """Six steps stopped the first who tried; none does now, from a ragged file to a published table."""
    journey = newcomer.walk(tmp_path, chromium, 3_000)
    assert not journey.stops, newcomer.report(journey)
    assert set(journey.steps) >= newcomer.BEFORE
    assert len(newcomer.BEFORE) == 6
