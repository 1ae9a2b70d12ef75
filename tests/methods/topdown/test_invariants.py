"""Margins that are public already: kept exactly at every level, or refused before anything is spent."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from discreet.core.control import Control
from discreet.core.description import StructuralZero
from discreet.core.domain import Condition
from discreet.core.question import Treatment
from discreet.core.table import Status
from discreet.errors import InputError, RecipeError
from discreet.methods.base import Facts
from discreet.methods.topdown.design import design_of
from discreet.recipe import from_mapping

from ...examples import examples
from .test_method import TABLES, small
from .trees import World, questions, worlds

SETS = (
    ("area1",),
    ("sex",),
    ("area",),
    ("area1 × sex",),
    ("area1", "sex", "job"),
    ("area × job", "sex × job"),
    ("area2 × sex × job", "area1 × sex"),
)


def counted(world: World, name: str) -> Any:
    """A margin of the true records as a policy writes it."""
    parts = name.split(" × ")
    refs = [("area", p) if p.startswith("area") else (p, p) for p in parts]
    levels = [world.description.variable(v).level(lv) for v, lv in refs]
    sides = [lv.places[world.codes[v]] for (v, _), lv in zip(refs, levels, strict=True)]
    table = np.zeros([len(lv) for lv in levels], dtype=np.int64)
    np.add.at(table, tuple(sides), 1)

    def nested(counts: Any, codes: list[Any]) -> Any:
        if not codes:
            return int(counts)
        return {c: nested(part, codes[1:]) for c, part in zip(codes[0], counts, strict=True)}

    return nested(table, [lv.codes for lv in levels])


def published(world: World, names: tuple[str, ...]) -> Facts:
    return world.facts(published={name: counted(world, name) for name in names})


@examples(30)
@given(st.sampled_from(SETS), st.sampled_from(["0.05", "1"]), st.integers(0, 50))
@pytest.mark.slow
def test_every_public_margin_is_kept(names: tuple[str, ...], epsilon: str, seed: int) -> None:
    """At its own level and, summed up, at every other: whatever the noise."""
    world = small(200, seed=seed)
    facts = published(world, names)
    tables = [*TABLES, {"rows": ["area:area"], "columns": ["job"]}]
    plan, measured, _ = world.release(tables, facts, epsilon=epsilon)
    wanted = [{"rows": [p if p != "area" else "area:area" for p in n.split(" × ")]} for n in names]
    recipe = from_mapping(
        {"tables": wanted, "method": "topdown", "epsilon": epsilon}, world.description, facts.policy
    )
    derived = world.method.derive(plan, recipe.question, Treatment(), facts)
    assert derived is not None
    for name, table in zip(
        names, world.method.fit(derived, measured, facts, Control()), strict=True
    ):
        codes = [dict.fromkeys(axis.level.codes) for axis in table.domain.axes]
        parts = name.split(" × ")
        order = [parts.index(axis.name) for axis in table.domain.axes]
        for place in np.ndindex(table.domain.shape):
            said: Any = facts.policy.methods["topdown"]["published"][name]
            at = {order[i]: list(codes[i])[j] for i, j in enumerate(place)}
            for position in range(len(parts)):
                said = said[at[position]]
            assert int(table.values[place]) == said, (name, place)
        assert table.noise is not None
        assert (table.noise.sd == 0).all()


def test_what_is_public_is_not_measured_and_is_named() -> None:
    """The guarantee says what it does not protect; neighbours are replace one."""
    world = small(200)
    plan = world.plan(TABLES, published(world, ("area1 × sex",)), epsilon="1")
    assert plan.guarantee.neighbours == "replace one"
    assert any("area1 × sex" in known for known in plan.guarantee.invariants)
    assert all((m.level, m.margin) != (0, ()) for m in design_of(plan).allocation.measured)
    assert plan.question.settings["published"]
    other = world.plan(TABLES, published(world, ("sex",)), epsilon="1")
    assert plan.question_hash != other.question_hash


def test_contradictions_are_refused() -> None:
    """Between margins, with the number of records, and where no table could keep them all."""
    world = small(200)
    wrong = {"area1": counted(world, "area1"), "sex": {"f": 1, "m": 2}}
    with pytest.raises(InputError, match="contradict each other"):
        world.plan(TABLES, world.facts(published=wrong), epsilon="1")
    coarse = {"area2": {"area2-0": 150, "area2-1": 50}, "area1": counted(world, "area1")}
    with pytest.raises(InputError, match="contradict each other"):
        world.plan(TABLES, world.facts(published=coarse), epsilon="1")
    both = ("area1 × sex", "area1 × job")
    with pytest.raises(InputError, match="Publish their joint margin"):
        world.plan(TABLES, published(world, both), epsilon="1")
    with pytest.raises(RecipeError, match="keeps no published margin"):
        world.plan(TABLES, published(world, ("sex",)), epsilon="1", mode="pilot")
    zero = StructuralZero((Condition("area", "area", ("area-0",)), Condition("sex", "sex", ("f",))))
    ruled = small(200, structural_zeros=(zero,))
    with pytest.raises(InputError, match="cannot be kept together"):
        ruled.plan(TABLES, published(ruled, ("area1",)), epsilon="1")


@examples(15, HealthCheck.filter_too_much, HealthCheck.data_too_large)
@given(st.data())
def test_any_tree_keeps_what_is_public_and_adds_up(data: st.DataObject) -> None:
    """Random trees, ragged ones too, structural zeros, workloads, ε, a public margin of any level."""
    world = data.draw(worlds())
    tables = data.draw(questions(world))
    levels = world.description.variable("area").levels
    level = data.draw(st.sampled_from(levels)).name
    name = data.draw(st.sampled_from([level, "w", f"{level} × w"]))
    said = data.draw(st.sampled_from([{"epsilon": "0.1"}, {"epsilon": "2"}]))
    facts = world.facts(published={name: counted(world, name)}, **said)
    refusal = ""
    try:
        plan, measured, released = world.release(tables, facts, **said)
    except (InputError, RecipeError) as problem:  # a lawful no, before anything is counted
        refusal = str(problem)
    if refusal:
        lawful = "cannot be kept together|published already|not part of the tree|joint margin"
        assert re.search(lawful, refusal), refusal
        return
    table = world.method.synthesise(plan, measured)
    assert (table.counts > 0).all()
    for one in released:
        assert (one.values >= 0).all()
        assert not one.values[one.status == Status.STRUCTURAL_ZERO].any()
        for axis in range(one.values.ndim):
            inner = one.values.take(range(one.values.shape[axis] - 1), axis=axis)
            assert np.array_equal(inner.sum(axis=axis), one.values.take(-1, axis=axis))
    rows = [f"area:{part}" if part.startswith("area") else part for part in name.split(" × ")]
    recipe = from_mapping(
        {"tables": [{"rows": rows}], "method": "topdown", **said}, world.description, facts.policy
    )
    derived = world.method.derive(plan, recipe.question, Treatment(), facts)
    assert derived is not None
    (kept,) = world.method.fit(derived, measured, facts, Control())
    published_counts: Any = facts.policy.methods["topdown"]["published"][name]
    parts, names = name.split(" × "), kept.domain.names
    for place in np.ndindex(kept.domain.shape):
        codes = {names[i]: kept.domain.axes[i].level.codes[at] for i, at in enumerate(place)}
        expected = published_counts
        for part in parts:
            expected = expected[codes[part]]
        assert int(kept.values[place]) == expected
