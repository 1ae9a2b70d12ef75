"""Random trees, other variables and questions about them, counted by a plain engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from discreet.core.control import Control
from discreet.core.description import Description, Policy, StructuralZero
from discreet.core.domain import Category, Condition, Level, Variable, variable
from discreet.core.family import Family
from discreet.core.loss import PureLoss, ZcdpLoss
from discreet.core.table import ProtectedTable
from discreet.core.text import Text
from discreet.methods import registry
from discreet.methods.base import Facts, Measurements, Plan
from discreet.methods.topdown.method import TopDownMethod
from discreet.recipe import from_mapping

from ...engines.numpy_engine import NumpyEngine
from ...trees import variables


def nested(name: str, places: list[list[int]], kind: str = "geography") -> Variable:
    """A variable whose coarser levels are these maps of its finest categories, finest first."""
    levels = []
    for number, of_finest in enumerate([list(range(len(places[0]))), *places]):
        label = name if number == 0 else f"{name}{number}"
        codes = [f"{label}-{i}" for i in range(max(of_finest) + 1)]
        categories = tuple(Category.of(code) for code in codes)
        levels.append(Level(label, Text.of(label), categories, tuple(of_finest)))
    return Variable(name, Text.of(name), tuple(levels), declared=True, kind=kind)


@dataclass
class World:
    """A made-up data set in memory, and a way to ask it."""

    description: Description
    codes: dict[str, Any]
    method: TopDownMethod

    @property
    def engine(self) -> NumpyEngine:
        size = len(next(iter(self.codes.values())))
        keys = np.zeros(size, dtype=np.int64)
        return NumpyEngine(self.description, self.codes, keys, keys)

    def facts(self, **parameters: Any) -> Facts:
        budget = ZcdpLoss(1000) if "rho" in parameters else PureLoss(1000)
        policy = Policy(Family.DP, "topdown", {"topdown": parameters}, budget=budget)
        return Facts(self.description, policy, "data 1", policy.version)

    def plan(self, tables: list[dict[str, Any]], facts: Facts | None = None, **said: Any) -> Plan:
        facts = facts or self.facts()
        whole = {"tables": tables, "method": "topdown", **said}
        recipe = from_mapping(whole, self.description, facts.policy)
        return self.method.plan(recipe.question, recipe.treatment, facts)

    def measure(self, plan: Plan) -> Measurements:
        return self.method.measure(plan, self.engine.count(plan.counts), None, Control())

    def release(
        self, tables: list[dict[str, Any]], facts: Facts | None = None, **said: Any
    ) -> tuple[Plan, Measurements, tuple[ProtectedTable, ...]]:
        facts = facts or self.facts()
        plan = self.plan(tables, facts, **said)
        measured = self.measure(plan)
        return plan, measured, self.method.fit(plan, measured, facts, Control())


def made(
    description: Description, size: int, seed: int, zero: tuple[str, str] | None = None
) -> World:
    """Skewed records of a description; none where a structural zero rules them out."""
    rng = np.random.default_rng(seed)
    codes = {}
    for one in description.variables:
        n = len(one.finest)
        share = rng.gamma(0.7, 1.0, n) + 0.01
        codes[one.name] = rng.choice(n, size, p=share / share.sum())
    for rule in description.structural_zeros:
        ruled = np.ones(size, dtype=bool)
        for part in rule.conditions:
            inside = description.variable(part.variable).level(part.level).within(part.codes)
            ruled &= inside[codes[part.variable]]
        codes = {name: values[~ruled] for name, values in codes.items()}
        size = len(next(iter(codes.values())))
    return World(description, codes, registry.get("topdown"))  # type: ignore[arg-type]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A tree of up to three levels, ragged, with chains; one to three other variables; zeros."""
    leaves = draw(st.integers(1, 9))
    places: list[list[int]] = []
    below = list(range(leaves))
    for _ in range(draw(st.integers(0, 2))):
        groups = draw(st.integers(1, max(below) + 1))
        up = [draw(st.integers(0, groups - 1)) for _ in range(max(below) + 1)]
        held = sorted(set(up))
        below = [held.index(up[b]) for b in below]
        places.append(below)
    area = nested("area", places or [list(range(leaves))])
    if draw(st.booleans()):  # levels that repeat, overlap, hold nothing, or stop early
        area = replace(draw(variables("area", 6)), kind="geography")
    others = [
        variable(f"v{i}", [f"c{j}" for j in range(draw(st.integers(1, 4)))])
        for i in range(draw(st.integers(1, 3)))
    ]
    others.append(variable("w", ["x", "y"], levels={"all": {"x": "t", "y": "t"}}))
    zeros = []
    if draw(st.booleans()):
        zeros.append(StructuralZero((Condition("w", "w", ("x",)), Condition("v0", "v0", ("c0",)))))
    if draw(st.booleans()):
        zeros.append(
            StructuralZero(
                (Condition("area", "area", area.finest.codes[:1]), Condition("w", "w", ("y",)))
            )
        )
    description = Description(
        "world",
        Text.of("World"),
        (area, *others),
        structural_zeros=tuple(zeros),
        records_per_unit=draw(st.sampled_from([1, 1, 2])),
        about=draw(st.sampled_from([None, 300])),
    )
    assume(() not in description.zero_rules)  # somebody can exist
    return made(description, draw(st.sampled_from([0, 5, 300])), draw(st.integers(0, 1000)))


@st.composite
def questions(draw: st.DrawFn, world: World) -> list[dict[str, Any]]:
    """One to four tables at any levels, some filtered."""
    refs = [
        (one.name, f"{one.name}:{level.name}")
        for one in world.description.variables
        for level in one.levels
    ]
    tables: dict[str, dict[str, Any]] = {}
    for _ in range(draw(st.integers(1, 4))):
        chosen = draw(st.lists(st.sampled_from(refs), min_size=1, max_size=3))
        rows = list(dict(chosen).values())
        where = {"w": "x"} if draw(st.booleans()) and not any("w:" in r for r in rows) else {}
        tables[f"{sorted(rows)} {where}"] = {"rows": rows, "where": where}
    rows = ["area:area", "w:w"]  # one variable at least has two categories
    tables[f"{rows} {{}}"] = {"rows": rows, "where": {}}
    return list(tables.values())
