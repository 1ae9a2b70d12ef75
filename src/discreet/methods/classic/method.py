"""`method: classic`: a custodian's batch release in which small counts are hidden.

No guarantee: which cells are hidden depends on their counts, so that the pattern itself tells (nabar
§3). What an intruder recovers from the published table alone is computed and printed with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...core import true_values
from ...core.charge import Charge
from ...core.control import Control
from ...core.guarantee import Guarantee, Kind
from ...core.question import Question, TableSpec, Treatment
from ...core.table import ProtectedTable, Status, TrueTable
from ...errors import InputError, RecipeError, Refusal
from .. import base
from ..base import ExpectedError, Facts, Measurements, Plan, Secrets
from ..declaration import Declaration
from ..shared.assembly import protected, published_cells
from ..shared.suppression_attack import Attacked, attack
from ..shared.unit import check_unit
from .declaration import DECLARATION
from .secondary import Hidden, Whole, hide

HIDDEN = -1


class ClassicMethod:
    """`method: classic`."""

    declaration: ClassVar[Declaration] = DECLARATION

    def settings(self, parameters: Mapping[str, Any]) -> dict[str, str]:
        """Read and check the parameters a policy gives."""
        defaults = {setting.name: setting.default for setting in DECLARATION.settings}
        return defaults | DECLARATION.read_policy(parameters, InputError)

    def plan(self, question: Question, treatment: Treatment, facts: Facts) -> Plan:
        """Which tables to count, under which threshold."""
        check_unit(facts.description)
        chosen = self.settings(facts.policy.parameters(DECLARATION.name))
        for spec in question.tables:
            _can_be(spec)
        question = question.without_shares().resolve(
            {name: chosen[name] for name in ("threshold", "zeros", "protection", "seconds")}
        )
        digest = base.question_hash(question, facts)
        return Plan(
            method=DECLARATION.name,
            question=question,
            question_hash=digest,
            counts=tuple(spec.count for spec in question.tables),
            guarantee=Guarantee(
                Kind.NONE,
                facts.description.unit,
                "not used",
                caveats=(
                    "Classic suppression gives no guarantee: which cells are hidden depends on their "
                    "counts. What an intruder recovers from this table alone is said below it; with "
                    "other tables of the same people he recovers more.",
                ),
            ),
            errors=tuple(
                ExpectedError(
                    spec, published_cells(spec, facts.description), 0.0, 0, note="exact or hidden"
                )
                for spec in question.tables
            ),
            charge=Charge.record(DECLARATION.name, question.settings, question=digest),
            detail=chosen,
        )

    def measure(
        self, plan: Plan, tables: Sequence[TrueTable], secrets: Secrets, control: Control
    ) -> Measurements:
        """The counts that are shown; hidden ones are left out here and stored nowhere."""
        chosen = plan.question.settings
        arrays, gaps = {}, {}
        for spec, table in zip(plan.question.tables, tables, strict=True):
            cells = true_values.reveal(table)
            cube = true_values.cube(table.domain.shape, cells.addresses, cells.counts, spec.totals)
            grid = _as_grid(cube[tuple(slice(0, n) for n in table.domain.shape)])
            hidden = pattern(grid, chosen)
            shown = cube.copy()
            inner = tuple(slice(0, n) for n in table.domain.shape)
            shown[inner] = np.where(hidden.cells.reshape(cube[inner].shape), HIDDEN, cube[inner])
            arrays[base.stored_name(spec)] = shown
            gaps[base.stored_name(spec)] = f"{hidden.gap:.4g}"
        return Measurements(arrays, {"gaps": gaps})

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        """The tables, each with what an intruder recovers of it."""
        made = []
        where = base.provenance(plan, facts)
        chosen = plan.question.settings
        for spec in plan.question.tables:
            values = measurements.arrays[base.stored_name(spec)]
            hidden = values == HIDDEN
            status = np.where(hidden, Status.SUPPRESSED, Status.OK).astype(np.uint8)
            gap = measurements.facts["gaps"][base.stored_name(spec)]
            notes = (
                *_attack_notes(values, chosen),
                f"Fewest hidden cells to within {gap} of them.",
            )
            shown = np.where(hidden, 0, values)
            made.append(
                protected(plan, spec, facts, where, values=shown, status=status, notes=notes)
            )
        return tuple(made)


def pattern(grid: Whole, chosen: Mapping[str, str]) -> Hidden:
    """Which cells of a table with totals are hidden under a policy."""
    sensitive = grid <= int(chosen["threshold"])
    if chosen["zeros"] == "no":
        sensitive &= grid > 0
    return hide(grid, sensitive, int(chosen["protection"]), float(chosen["seconds"]))


def _as_grid(counts: Whole) -> Whole:
    return counts.reshape(counts.shape if counts.ndim == 2 else (1, -1))


def _can_be(spec: TableSpec) -> None:
    if spec.weighted:
        raise RecipeError("Classic suppression has no weighted tables. Leave weighted out.")
    if not 1 <= len(spec.axes) <= 2 or not spec.totals:
        raise Refusal(
            "Classic suppression protects tables by one or two variables, with their totals.",
            rule="two-way",
            alternatives=("leave out a variable, or make it a filter",),
        )


def _attack_notes(values: Whole, chosen: Mapping[str, str]) -> tuple[str, ...]:
    """What an intruder recovers of a published table, in words."""
    if not (values == HIDDEN).any():
        return ("Nothing is hidden.",)
    grid = _as_grid(values[tuple(slice(0, n - 1) for n in values.shape)])
    flat = values.ndim == 1  # then only the total is published beside the cells
    rows = values[-1:] if flat else values[:-1, -1]
    columns = None if flat else values[-1, :-1]
    found: Attacked = attack(grid, rows, columns, lambda table: pattern(table, chosen).cells)
    return found.sentences()
