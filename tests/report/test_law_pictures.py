"""Pictures of studies hold the numbers they were given."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from discreet.core.law_builders import laplace, max_entropy
from discreet.core.law_studies import delta_curve, key_sizes, least_delta
from discreet.errors import InputError
from discreet.report import charts, law_pictures


def rows(panel: dict[str, object]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = panel["data"]["values"]  # type: ignore[index]
    return found


def test_curves_hold_every_point() -> None:
    curves = {v: delta_curve(max_entropy(5, v), ["1", "2"]) for v in ("2", "4")}
    spec = law_pictures.delta_curves(curves)
    drawn = {(row["law"], row["epsilon"]): row["delta"] for row in rows(spec["concat"][0])}
    assert drawn == {(v, float(e)): float(d) for v, points in curves.items() for e, d in points}
    assert "2 laws: 2, 4" in spec["description"]
    with pytest.raises(InputError, match="δ > 0"):
        law_pictures.delta_curves({"pure": delta_curve(laplace("1"), ["1"])})


def test_the_least_delta_stands_beside_the_rule() -> None:
    found = [least_delta(e, 5) for e in ("1", "2")]
    deltas, variances = law_pictures.least_delta_chart(found)["concat"]
    for row in found:
        for by, delta, variance in (
            ("least", row.delta, row.variance),
            ("sadeghi's rule", row.rule_delta, row.rule_variance),
        ):
            here = [
                one
                for one in rows(deltas)
                if one["by"] == by and one["epsilon"] == float(row.epsilon)
            ]
            assert [(one["delta"], one["variance"]) for one in here] == [
                (float(delta), float(variance))
            ]
    assert variances["encoding"]["y"]["field"] == "variance"


def test_key_sizes_draw_full_supports_only() -> None:
    spec = law_pictures.key_size_chart(key_sizes(10, ["0.6", "0.7"], [8, 16]))
    drawn = [(row["epsilon"], row["keys"]) for row in rows(spec["concat"][2])]
    assert drawn == [(0.6, "2^8 keys"), (0.6, "2^16 keys"), (0.7, "2^16 keys")]
    with pytest.raises(InputError, match="nothing to draw"):
        law_pictures.key_size_chart(key_sizes(10, ["0.7"], [8]))


def test_two_neighbours_and_their_ratio() -> None:
    here, there = {1: 0.6, 2: 0.4}, {1: 0.3, 2: 0.7}
    spec = law_pictures.neighbours_chart(here, there, 1, Fraction(1))
    laws, ratio = spec["concat"]
    assert [row["truth"] for row in rows(laws)] == ["1 person"] * 2 + ["2 people"] * 2
    assert [row["ratio"] for row in rows(ratio["layer"][0])] == [2.0, 0.4 / 0.7]
    bounds = [row["ratio"] for row in rows(ratio["layer"][1])]
    assert bounds == pytest.approx([0.367879, 2.718282], rel=1e-5)


@pytest.mark.slow
def test_pictures_are_the_same_every_time_and_offline() -> None:
    spec = law_pictures.least_delta_chart([least_delta(e, 5) for e in ("1", "2")])
    svg = charts.to_svg(spec)
    assert svg == charts.to_svg(json.loads(json.dumps(spec)))
    assert "http" not in svg.replace("http://www.w3.org", "")
