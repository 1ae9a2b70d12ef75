"""Pictures of utility hold the numbers they were given."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.quality.measures import Utility, transition_matrix
from discreet.report.utility_pictures import (
    before_and_after,
    errors_beside,
    transition_heat_map,
    transition_heat_maps,
    utility_curves,
)


def test_curves_are_means_over_tables() -> None:
    """A method with negative numbers has no Hellinger curve."""
    before = np.array([5, 9])
    fine = [Utility.of(before, before + 1), Utility.of(before, before + 3)]
    below = [Utility.of(before, before - 9)]
    spec = utility_curves({"a": {1.0: fine}, "b": {1.0: below}}, "Two methods", dashed=("b",))
    assert len(set(spec["concat"][0]["encoding"]["color"]["scale"]["range"])) == 1
    diagonal, l1, _, hellinger = (panel["data"]["values"] for panel in spec["concat"])
    assert [row["value"] for row in l1] == [4.0, 18.0]
    assert [row["method"] for row in hellinger] == ["a"]
    assert diagonal[0]["value"] == pytest.approx(100 * np.mean([u.on_diagonal for u in fine]))


def test_a_heat_map_has_every_cell() -> None:
    """Alone or beside others; something else is refused."""
    matrix = transition_matrix(np.array([0, 3, 3]), np.array([0, 3, 700]))
    rows = transition_heat_map(matrix, "One")["data"]["values"]
    assert sum(row["cells"] for row in rows) == 3
    assert {(r["before"], r["after"]): r["share"] for r in rows}["3", "101-1000"] == 0.5
    beside = transition_heat_maps({"a": matrix, "b": matrix.T}, "Two")["concat"]
    assert [panel["title"]["text"] for panel in beside] == ["a", "b"]
    assert sum(row["cells"] for row in beside[1]["data"]["values"]) == 3
    with pytest.raises(InputError, match="11 bands"):
        transition_heat_map(matrix[:3], "One")


def test_points_stand_at_their_counts() -> None:
    """A count of 0 is drawn at 1: a logarithm has no 0."""
    spec = before_and_after(["a", "b"], np.array([0, 50]), {"m": np.array([7, 60])}, "Two")
    points = spec["layer"][1]["data"]["values"]
    assert [(p["before"], p["after"]) for p in points] == [(1, 7), (50, 60)]
    assert [p["label"] for p in points] == ["a\n0 → 7", ""]


def test_bars_show_errors_beside_each_other() -> None:
    """One bar for each method; what is too small for the axis keeps its number."""
    found = {"region": {"pilot": 4908.2, "modern": 0.02}, "ccg": {"pilot": 404.0, "modern": 7.1}}
    spec = errors_beside(found, "Errors", "error")
    rows = spec["data"]["values"]
    assert [row["label"] for row in rows] == ["4,908", "0.0", "404", "7.1"]
    assert rows[1]["value"] == 0.1


def test_only_the_farthest_points_bear_names() -> None:
    """A hundred areas that are twice off and one that is a hundred times: a few names, its own too."""
    names = [f"area {i}" for i in range(101)]
    before = np.full(101, 10)
    after = np.where(np.arange(101) == 7, 1000, 20 + np.arange(101) % 50)
    spec = before_and_after(names, before, {"one": after}, "Areas")
    labels = [row["label"] for row in spec["layer"][2]["data"]["values"]]
    assert 1 <= len(labels) <= 8
    assert "area 7\n10 → 1,000" in labels
