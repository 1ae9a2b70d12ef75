"""The pilot's 14 tables of the demo deaths, released in several ways, from noise that repeats.

The demo's records are synthetic, so a written seed gives nobody away: it makes the page the same on
every run. Nothing is charged and nothing is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.control import Control
from discreet.core.product import Whole
from discreet.core.pure_laplace import PureLaplace
from discreet.core.table import TrueTable
from discreet.methods import registry
from discreet.methods.base import Measurements
from discreet.methods.shared.counting import rows_of
from discreet.methods.shared.synthetic_table import SyntheticTable
from discreet.methods.topdown.design import design_of
from discreet.methods.topdown.measured_tables import draw_all, measured_facts
from discreet.methods.topdown.rehearsal import rehearse_pilot
from discreet.quality.measures import Utility
from discreet.recipe import from_mapping
from discreet.workspace import DataSet

PILOT = {
    "mode": "pilot",
    "levels": "region, ccg",
    "level_shares": "0.01, 0.05, 0.165, 0.775",
    "records_about": None,
}


class Repeated:
    """A source of randomness with a seed, for synthetic records only."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def fill(self, buffer: NDArray[np.uint8], count: int) -> None:
        """Write `count` bytes to the front of a buffer."""
        words = np.asarray(self._bits.random_raw(-(-count // 8)), dtype="<u8")
        buffer[:count] = words.view(np.uint8)[:count]


class Study:
    """A recipe's tables of a data set of synthetic records, before and after."""

    def __init__(self, data: DataSet, recipe: dict[str, Any]) -> None:
        self.data, self.recipe = data, recipe
        self.method: Any = registry.get("topdown")
        self.names = [str(table["name"]) for table in recipe["tables"]]
        self._counts: dict[Any, Sequence[TrueTable]] = {}
        plan = self._plan("1")
        self.axes = [[ref.level for ref in spec.axes] for spec in plan.question.tables]
        design = design_of(plan)
        (cover,), (table,) = design.covers, self._counted(plan)
        rows, counts = rows_of(design.workload, cover, table)
        source = SyntheticTable.of(design.shape, rows, counts)
        self.before: list[Whole] = [asked.wanted.read_off(source) for asked in design.tables]

    def _plan(self, epsilon: str, **said: Any) -> Any:
        words = {**self.recipe, "epsilon": epsilon, **said}
        words = {key: value for key, value in words.items() if value is not None}
        asked = from_mapping(words, self.data.description, self.data.policy)
        return self.method.plan(asked.question, asked.treatment, self.data.facts)

    def _counted(self, plan: Any) -> Sequence[TrueTable]:
        if plan.counts not in self._counts:
            self._counts[plan.counts] = self.data.engine().count(plan.counts)
        return self._counts[plan.counts]

    def pilot(self, epsilon: str, variant: str = "all perturbed") -> list[Whole]:
        """Tables after the pilot's own method."""
        plan = self._plan(epsilon, **PILOT)
        found = rehearse_pilot(plan, self._counted(plan), variant, Repeated(1)).findings
        after: list[Whole] = found["after"]
        return after

    def modern(self, epsilon: str) -> list[Whole]:
        """Tables after mode modern."""
        plan = self._plan(epsilon)
        design, (table,) = design_of(plan), self._counted(plan)
        measured, (cover,) = design.allocation.measured, design.covers
        rows, counts = rows_of(design.workload, cover, table)
        drawn = draw_all(measured, design.tree, design.shape, rows, counts, Repeated(2))
        facts = {"measured": measured_facts(measured), "plan": design.allocation.name}
        fitted = self.method.fit(plan, Measurements(drawn, facts), self.data.facts, Control())
        return [t.values[tuple(slice(0, n) for n in t.domain.shape)] for t in fitted]

    def independent(self, epsilon: Fraction) -> list[Whole]:
        """Independent noise on each table, ε for each; negative numbers stay."""
        law, source = PureLaplace.of(epsilon), Repeated(3)
        return [t + law.draw(t.size, source).reshape(t.shape) for t in self.before]

    def utility(self, after: list[Whole]) -> list[Utility]:
        """How far each table is from the one it was made of."""
        return [Utility.of(a, b) for a, b in zip(self.before, after, strict=True)]

    def margin(self, tables: list[Whole], level: str) -> Whole:
        """The counts of one level, off the first table that has it."""
        at = next(i for i, axes in enumerate(self.axes) if level in axes)
        gone = tuple(i for i, name in enumerate(self.axes[at]) if name != level)
        found: Whole = tables[at].sum(axis=gone)
        return found
