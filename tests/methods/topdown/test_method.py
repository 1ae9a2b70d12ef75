"""The top-down method: what it costs, what it promises of its numbers, what it refuses."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from discreet.core.control import Control
from discreet.core.description import UNDECIDED, Description
from discreet.core.domain import variable
from discreet.core.question import Treatment
from discreet.core.table import Status
from discreet.core.text import Text
from discreet.errors import Cancelled, InputError, RecipeError, Refusal
from discreet.methods.topdown.design import design_of
from discreet.methods.topdown.measured_tables import cost, counted
from discreet.recipe import from_mapping

from ...examples import examples
from .trees import World, made, nested, questions, worlds

AREA = nested("area", [[0, 0, 1, 1, 1, 2], [0, 0, 0, 0, 0, 1]])
SEX = variable("sex", ["f", "m"])
JOB = variable("job", ["x", "y", "z"])


def small(size: int = 400, seed: int = 1, **changes: Any) -> World:
    """Six areas in three regions in two countries, sex and job."""
    facts: dict[str, Any] = {"name": "small", "title": Text.of("Small")}
    return made(Description(variables=(AREA, SEX, JOB), **(facts | changes)), size, seed)


TABLES = [{"rows": ["area:area"], "columns": ["sex"]}, {"rows": ["area1"], "columns": ["job"]}]


@examples(25, HealthCheck.filter_too_much, HealthCheck.data_too_large)
@given(st.data())
def test_every_level_adds_up_and_all_tables_agree(data: st.DataObject) -> None:
    """Random trees, ragged ones too, zeros, budgets: whole, not negative, every sum the same."""
    world = data.draw(worlds())
    tables = data.draw(questions(world))
    said = data.draw(st.sampled_from([{"epsilon": "0.1"}, {"epsilon": "2"}, {"rho": "0.5"}]))
    facts = world.facts(**said)
    plan, measured, released = world.release(tables, facts, **said)
    table = world.method.synthesise(plan, measured)
    assert (table.counts > 0).all()
    used = {ref.variable for ref in design_of(plan).workload.refs}
    for one in released:
        assert (one.values >= 0).all()
        for axis in range(one.values.ndim):
            inner = one.values.take(range(one.values.shape[axis] - 1), axis=axis)
            assert np.array_equal(inner.sum(axis=axis), one.values.take(-1, axis=axis))
        assert not one.values[one.status == Status.STRUCTURAL_ZERO].any()
    grand = {
        int(one.values.reshape(-1)[-1])
        for t, one in zip(tables, released, strict=True)
        if not t.get("where")
    }
    assert len(grand) <= 1
    if "area" in used:
        area = world.description.variable("area")
        levels = [lv for lv in area.levels if area.level_map("area", lv.name) is not None]
        wanted = [{"rows": [f"area:{lv.name}"]} for lv in levels]
        recipe = from_mapping(
            {"tables": wanted, "method": "topdown", **said}, world.description, facts.policy
        )
        derived = world.method.derive(plan, recipe.question, Treatment(), facts)
        if derived is not None:
            finest, *others = world.method.fit(derived, measured, facts, Control())
            for level, one in zip(levels[1:], others, strict=True):
                sums = np.bincount(level.places, finest.values[:-1], len(level))
                assert np.array_equal(sums, one.values[:-1])


@pytest.mark.parametrize("records", [None, 40])
@pytest.mark.parametrize("said", [{"epsilon": "1"}, {"rho": "1/2"}])
@pytest.mark.parametrize("per_unit", [1, 3])
def test_the_charge_is_what_the_worst_pair_of_neighbours_costs(
    records: int | None, said: dict[str, str], per_unit: int
) -> None:
    """Over all pairs of neighbours, Σ rate × move of all measured tables: exactly the loss."""
    world = small(40, records=records, records_per_unit=per_unit)
    plan = world.plan(TABLES, **said)
    design = design_of(plan)
    cells = list(itertools.product(*(range(n) for n in design.shape)))
    rows = np.array(cells, dtype=np.int64)
    tables = []
    for m in design.allocation.measured:
        one = np.eye(len(rows), dtype=np.int64)
        places = np.array(
            [counted(m, design.tree, design.shape, rows, each).argmax() for each in one]
        )
        tables.append((m, places))
    worst = Fraction(0)
    for i, j in itertools.product(range(len(rows)), repeat=2):
        if records is None and i != j:
            continue
        total = Fraction(0)
        for m, places in tables:
            moved = per_unit if records is None else 2 * per_unit * (places[i] != places[j])
            square = per_unit**2 if records is None else 2 * per_unit**2 * (places[i] != places[j])
            total += m.rate * int(moved if m.noise == "laplace" else square)
        worst = max(worst, total)
    assert worst == design.settings.amount
    assert plan.guarantee.exact
    each = cost(design.allocation.measured, design.tree, design.shape, world.description.neighbours)
    assert design.settings.of_unit(each, per_unit) == worst


def test_a_fit_is_a_function_of_the_measurements() -> None:
    """The same measurements on other data: the same tables, bit for bit."""
    one, two = small(seed=1), small(seed=2)
    _, measured, tables = one.release(TABLES, epsilon="1")
    again = two.method.fit(two.plan(TABLES, epsilon="1"), measured, two.facts(), Control())
    for first, second in zip(tables, again, strict=True):
        assert np.array_equal(first.values, second.values)


def test_without_noise_the_tables_are_the_true_ones() -> None:
    """At an ε that leaves hardly a cell changed everything comes out as it was counted, warned of."""
    world = small(5000)
    plan, _, (first, _) = world.release(TABLES, epsilon="80", records_about="5000")
    true = np.zeros((6, 2), dtype=np.int64)
    np.add.at(true, (world.codes["area"], world.codes["sex"]), 1)
    assert np.array_equal(first.values[:-1, :-1], true)
    assert any("practically no protection" in said for said in plan.warnings)


@pytest.mark.slow
def test_a_public_number_of_records_is_kept() -> None:
    """Declared, it is every table's total, whatever the noise."""
    world = small(400, records=400)
    for epsilon in ("0.01", "1"):
        _, _, tables = world.release(TABLES, epsilon=epsilon)
        assert all(int(one.values.reshape(-1)[-1]) == 400 for one in tables)


def test_a_fit_can_be_stopped() -> None:
    """A stop asked for is taken at the next node."""
    world = small()
    plan = world.plan(TABLES, epsilon="1")
    with pytest.raises(Cancelled):
        world.method.fit(plan, world.measure(plan), world.facts(), Control(cancelled=lambda: True))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "no epsilon and no rho"),
        ({"epsilon": "1", "rho": "1"}, "got both"),
        ({"epsilon": "1", "tree": "planet"}, "planet"),
        ({"epsilon": "1", "tree": "job"}, "no table of this question uses"),
        ({"epsilon": "1", "levels": "ward"}, "no level 'ward'"),
        ({"epsilon": "1", "levels": "area1, area1"}, "twice"),
        ({"epsilon": "1", "delta": "1e-6"}, "delta has no place"),
        ({"epsilon": "1", "records_about": "0"}, "records_about"),
        ({"epsilon": "0.0000001"}, "leaves"),
    ],
)
def test_bad_settings_get_one_sentence(said: dict[str, str], words: str) -> None:
    """Before anything is spent, by name, with what would do."""
    world = small()
    tables = [{"rows": ["area"], "columns": ["sex"]}, {"rows": ["sex"]}]
    with pytest.raises((InputError, RecipeError)) as caught:
        world.plan(tables, **said)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_levels_that_cut_through_each_other_are_no_tree() -> None:
    """Said by their names."""
    crossed = nested("area", [[0, 0, 1, 1], [0, 1, 0, 1]])
    description = Description("crossed", Text.of("Crossed"), (crossed, SEX))
    world = made(description, 50, 1)
    with pytest.raises(RecipeError, match="cut through one another: that is no tree"):
        world.plan(
            [{"rows": ["area:area"], "columns": ["sex"]}], epsilon="1", levels="area1, area2"
        )
    with pytest.raises(RecipeError, match="not made of whole categories"):
        world.plan([{"rows": ["area1"], "columns": ["sex"]}], epsilon="1", levels="area2")
    # left alone, the levels that do lie in one another are taken
    assert design_of(world.plan([{"rows": ["area:area"]}], epsilon="1")).tree.depth == 2


def test_a_cross_beyond_memory_is_refused_with_what_it_needs() -> None:
    """How many cells, how much memory, what to leave out."""
    wide = [variable(f"v{i}", [str(j) for j in range(200)]) for i in range(4)]
    description = Description("wide", Text.of("Wide"), (AREA, *wide))
    tables = [{"rows": [f"v{i}"]} for i in range(4)] + [{"rows": ["area:area"]}]
    with pytest.raises(RecipeError, match=r"GB .* Leave out v0"):
        made(description, 5, 1).plan(tables, epsilon="1")


def test_a_unit_that_is_undecided_is_refused() -> None:
    """Nobody can be promised anything then."""
    world = small(unit=UNDECIDED)
    with pytest.raises(Refusal, match="not decided yet"):
        world.plan(TABLES, epsilon="1")


def test_measurements_of_another_budget_are_refused() -> None:
    """What is stored must not have cost more than the question says."""
    world = small()
    plan, dear = world.plan(TABLES, epsilon="1"), world.plan(TABLES, epsilon="2")
    measured = world.measure(dear)
    with pytest.raises(Exception, match="another budget"):
        world.method.measured(plan, measured, world.facts())
    assert replace(plan) == plan


@pytest.mark.slow
def test_bias_is_simulated_on_what_was_released() -> None:
    """Free, from the release alone; the pilot's is found large where the modern one's is not."""
    tables = [{"rows": ["area1"], "columns": ["sex", "job"]}]
    world = small(3000)
    worst = {}
    for mode in ("modern", "pilot"):
        plan, measured, (released,) = world.release(
            tables, epsilon="0.3", mode=mode, records_about="3000"
        )
        (bias,) = world.method.simulated_bias(plan, measured, 12, Control())
        assert bias.mean.shape == released.values[:-1, :-1, :-1].shape
        again, *_ = world.method.simulated_bias(plan, measured, 12, Control())
        near = (
            np.abs(bias.mean - again.mean) <= 6 * (bias.standard_error + again.standard_error) + 2
        )
        assert near.all()
        worst[mode] = float(np.abs(bias.mean).mean())
    assert worst["modern"] < worst["pilot"]
