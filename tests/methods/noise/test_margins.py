"""Margins: sums by level, joint tables, and which filters exclude each other."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.domain import AxisRef, Condition, variable
from discreet.core.margins import Margin, Sources, joint, projection
from discreet.core.table import Status
from discreet.methods.shared.regions import Regions

from ... import trees
from ...examples import examples
from .conftest import World

AREA = variable(
    "area",
    ["1", "2", "3", "4"],
    levels={
        "town": {"1": "x", "2": "x", "3": "y", "4": "z"},
        "land": {"x": "p", "y": "q", "z": "q"},
    },
)
SEX = variable("sex", ["f", "m"])
AGE = variable("age", ["0", "1", "2"])
REFS = [AxisRef("area", n) for n in ("area", "town", "land")] + [
    AxisRef("sex", "sex"),
    AxisRef("age", "age"),
]
records = st.lists(
    st.tuples(st.sampled_from("1234"), st.sampled_from("fm"), st.sampled_from("012")), max_size=20
)


@given(
    records,
    st.permutations(REFS).flatmap(lambda refs: st.integers(0, 3).map(lambda n: tuple(refs[:n]))),
)
@examples(150)
def test_sums_of_a_source_are_the_counts_of_the_target(rows, axes):
    """Any table over any levels, in any order, also of a variable by its own level, is a sum."""
    w = World([AREA, SEX, AGE], rows)
    source = Margin((AxisRef("area", "area"), AxisRef("sex", "sex"), AxisRef("age", "age")))
    target = Margin(axes)
    found = projection(source, target, w.description)
    assert (found.sums(w.dense(source.count)) == w.dense(target.count)).all()


def test_what_cannot_be_had_is_not_found():
    """A finer level, another variable, another filter or weights are not sums of a source."""
    w = World([AREA, SEX, AGE])
    town = Margin((AxisRef("area", "town"),))
    fine = Margin((AxisRef("area", "area"),))
    women = Margin((AxisRef("area", "area"),), (Condition("sex", "sex", ("f",)),))
    weighted = Margin((AxisRef("area", "area"),), (), True)
    found = Sources([town, fine, women, weighted], w.description)
    assert found.of(town) == [0, 1]
    assert found.of(fine) == [1]
    assert found.of(Margin((AxisRef("sex", "sex"),))) == []
    assert found.of(Margin((), women.where)) == [2]


def test_the_joint_table_takes_the_coarsest_level_that_serves():
    """Two tables by town and land share the town level; with area itself, the finest."""
    w = World([AREA, SEX, AGE])
    town, land = Margin((AxisRef("area", "town"),)), Margin((AxisRef("area", "land"),))
    assert joint([town, land], w.description).axes == (AxisRef("area", "town"),)
    fine = Margin((AxisRef("sex", "sex"), AxisRef("area", "area")))
    assert joint([fine, land], w.description).axes == (
        AxisRef("area", "area"),
        AxisRef("sex", "sex"),
    )


def test_a_variable_by_its_own_level_has_cells_that_cannot_exist(world):
    """town × land, had from towns: cells of a town in another land are zeros, not noise."""
    w = world([AREA, SEX])
    specs = w.spec("area:town", "area:land", totals=False), w.spec("area:town")
    (table, _) = w.release(w.plan(*specs, epsilon="1", plan="interior"))
    possible = np.array([[True, False], [False, True], [False, True]])
    assert ((table.status != Status.STRUCTURAL_ZERO) == possible).all()


def test_a_level_with_empty_categories_is_measured_itself(world):
    """It need not be summed from the finest level, and nothing is drawn where nobody can be."""
    w = world([trees.hollow(), SEX])
    specs = w.spec("area:region", "sex"), w.spec("area:country")
    plan = w.plan(*specs, epsilon="1", plan="interior")
    scheme = plan.detail.scheme
    assert [part.margin.axes[0].level for part in scheme.measured] == ["region"]
    assert scheme.targets[Margin(specs[0].axes)].summed == 1
    assert scheme.targets[Margin(specs[1].axes)].summed == 4
    regions, countries = w.release(plan)
    empty = regions.status == Status.STRUCTURAL_ZERO
    assert np.argwhere(empty).tolist() == [[0, 0], [0, 1], [0, 2]]
    assert not regions.values[empty].any()
    assert not regions.noise.sd[empty].any()
    assert (countries.status == Status.STRUCTURAL_ZERO).tolist() == [False, True, False]
    # one country, and the total, are the same four draws
    assert countries.values[0] == countries.values[-1] == regions.values[-1, -1]
    assert np.isclose(countries.noise.sd[0], 2 * regions.noise.sd[1, 0])


def test_costs_over_regions_are_the_worst_record(world):
    """Every record of the domain against the maximum over regions, for random filters and costs."""
    w = world([AREA, SEX, AGE])
    rng = np.random.default_rng(11)
    cells = list(itertools.product("1234", "fm", "012"))
    for _ in range(60):
        margins, costs = [], []
        for _ in range(rng.integers(1, 6)):
            where = []
            for v in (AREA, SEX, AGE):
                if rng.random() < 0.5:
                    codes = [c for c in v.finest.codes if rng.random() < 0.5] or [v.finest.codes[0]]
                    where.append(Condition(v.name, v.name, tuple(codes)))
            margins.append(Margin((AxisRef("sex", "sex"),), tuple(where)))
            costs.append(Fraction(int(rng.integers(1, 9)), 7))
        regions = Regions.of(margins, w.description, replace_one=False)
        by_hand = max(
            sum(
                (c for m, c in zip(margins, costs, strict=True) if w.passes(m.where, cell)),
                Fraction(0),
            )
            for cell in cells
        )
        assert regions.exact
        assert regions.cost(costs) == by_hand


def test_too_many_filters_fall_back_to_the_sum(world):
    """Thirteen yes/no filters make 8,192 regions: everything adds, and it is called a bound."""
    names = [f"v{i}" for i in range(13)]
    w = world([variable(n, ["0", "1"]) for n in names])
    specs = [w.spec(where={n: ["1"]}) for n in names]
    plan = w.plan(*specs, epsilon="1")
    assert plan.detail.scheme.touched == 13
    assert not plan.guarantee.exact
    assert "ε ≤ 1" in plan.guarantee.sentence()
