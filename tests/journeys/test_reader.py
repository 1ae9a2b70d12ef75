"""A reader's first visit, from the README alone, has no stop."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from . import reader


@pytest.mark.slow
def test_nothing_stops_a_reader(chromium: Any, demo: Path, tmp_path: Path) -> None:
    """Seven steps stopped the first who tried; none does now."""
    shutil.copytree(demo, tmp_path / "demo")
    journey = reader.walk(tmp_path, chromium)
    assert not journey.stops, reader.report(journey)
    assert set(journey.steps) >= reader.BEFORE
    assert len(reader.BEFORE) == 7
