"""The top-down method: a whole hierarchy as one table of whole counts (ons method 2).

plan chooses what to measure from public facts; measure adds exact noise to whole numbers; fit
combines the measurements over the tree and finds, from the whole down to the smallest areas, one
synthetic table of whole counts near them, off which every asked table is read.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...core.control import Control, Forgetful
from ...core.description import Description
from ...core.domain import Count, Domain
from ...core.product import Reals, Whole, closure
from ...core.question import Question, Treatment
from ...core.table import ProtectedTable, TrueTable
from ...errors import Bug
from ...languages import say
from .. import base
from ..base import Facts, Measurements, Plan, Secrets
from ..declaration import Declaration
from ..shared.counting import rows_of
from ..shared.microdata import write_microdata
from ..shared.simulated_bias import Bias, simulated_bias
from ..shared.synthetic_table import SyntheticTable
from ..shared.workload import read_workload
from . import plan_facts as telling
from .declaration import DECLARATION
from .design import Design, all_spent, derived, design_of, designed, needed_settings
from .fit.rounded import Moved
from .fit.synthesis import Fitted, synthetic_table
from .measured_tables import Measured, cost, draw_all, measured_facts
from .measurements_file import write_measurements
from .planner import Allocation
from .publication import publish
from .settings import Settings, for_question, from_policy

_KEPT = 2
_WAY, _REFINED = "fit", "refined"
"""Noted with measurements: how they are fitted (`fit.top_down.Problem.refined`)."""
_ROWS, _COUNTS, _MOVED = "synthetic rows", "synthetic counts", "rounding"
"""Under which names a synthetic table lies beside the measurements it was fitted to, and how far
rounding moved the tables asked for, each by its level and axes."""


class TopDownMethod:
    """One synthetic table of whole counts for a whole tree, from which all tables follow."""

    declaration: ClassVar[Declaration] = DECLARATION

    def __init__(self) -> None:
        self._made: OrderedDict[str, Fitted] = OrderedDict()

    def settings(self, parameters: Mapping[str, Any]) -> Settings:
        """Read and check what a policy writes for this method."""
        return from_policy(parameters)

    # -- plan -------------------------------------------------------------------------------

    def plan(self, question: Question, treatment: Treatment, facts: Facts) -> Plan:
        """What to measure, what it costs, what error to expect; reads no data."""
        description = facts.description
        workload = read_workload(question.tables, description, DECLARATION.name)
        settings = for_question(facts.policy.parameters(DECLARATION.name), question)
        design, others = designed(settings, workload, description)
        public = "" if design.invariants is None else design.invariants.digest
        question = question.resolve(needed_settings(design, description).resolved(public))
        digest = base.question_hash(question, facts)
        return Plan(
            method=DECLARATION.name,
            question=question,
            question_hash=digest,
            counts=tuple(
                Count(tuple(workload.refs[axis] for axis in cover)) for cover in design.covers
            ),
            alternatives=telling.alternatives(design, others),
            **_told(design, description, digest),
        )

    # -- measure ----------------------------------------------------------------------------

    def measure(
        self, plan: Plan, tables: Sequence[TrueTable], secrets: Secrets | None, control: Control
    ) -> Measurements:
        """Whole numbers plus one exact draw each. Needs no secrets."""
        design = design_of(plan)
        (cover,), (table,) = design.covers, tables
        rows, counts = rows_of(design.workload, cover, table)
        control.step(0.0, "adding noise")
        measured = design.allocation.measured
        arrays = draw_all(measured, design.tree, design.shape, rows, counts)
        control.step(1.0, "adding noise")
        facts = {"measured": measured_facts(measured), "plan": design.allocation.name}
        return Measurements(arrays, {**facts, _WAY: _REFINED})

    def measured(self, plan: Plan, measurements: Measurements, facts: Facts) -> Plan:
        """The plan these measurements were made by, where today another would be chosen."""
        design, description = design_of(plan), facts.description
        said = measurements.facts.get("measured")
        if said == measured_facts(design.allocation.measured) or not isinstance(said, list):
            return plan
        tables = tuple(Measured.read(name, noise) for name, noise in said)
        spent = cost(tables, design.tree, design.shape, description.neighbours)
        unit = design.settings.of_unit(spent, description.records_per_unit)
        if {m.noise for m in tables} != {design.settings.noise} or unit > design.settings.amount:
            raise Bug("Stored measurements are of another budget than the question's.")
        name = str(measurements.facts.get("plan"))
        then = replace(design, allocation=Allocation(name, tables, math.inf, {}))
        told = _told(then, description, plan.question_hash)
        return replace(plan, alternatives=(), **told)

    # -- fit --------------------------------------------------------------------------------

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        """The asked tables, all read off one synthetic table."""
        design = design_of(plan)
        made = self._fitted(plan, measurements, control)
        estimates = design.estimates(_tables(design, measurements))
        return publish(design, plan, made, estimates, facts)

    def derive(
        self, plan: Plan, question: Question, treatment: Treatment, facts: Facts
    ) -> Plan | None:
        """A plan that reads `question` off what `plan` fitted, at no cost; None if it cannot."""
        design = derived(design_of(plan), question, facts.description)
        if design is None:
            return None
        everything = say(
            "release {question_hash} and everything made from it",
            question_hash=plan.question_hash[:12],
        )
        return replace(
            plan,
            question=replace(question, settings=plan.question.settings, resolved=True),
            guarantee=plan.guarantee.for_scope(everything),
            errors=telling.expected(design),
            alternatives=(),
            warnings=(),
            detail=design,
        )

    def fitted(self, plan: Plan, measurements: Measurements, control: Control) -> Measurements:
        """The measurements with the synthetic table beside them, so that it need not be made again."""
        made = self._fitted(plan, measurements, control)
        more = {_ROWS: made.table.rows.astype(np.int64), _COUNTS: made.table.counts}
        for (level, margin), table in made.moved.items():
            more[" ".join(map(str, (_MOVED, level, *margin)))] = table
        return replace(measurements, arrays={**measurements.arrays, **more})

    def simulated_bias(
        self, plan: Plan, measurements: Measurements, runs: int, control: Control
    ) -> list[Bias]:
        """The bias of each asked table, totals not included, were the release the truth; free.

        The mechanism is run on the released table: new noise on its counts, and the same fit.
        """
        design = design_of(plan)
        source = design.source or design
        measured = source.allocation.measured

        def remade(table: SyntheticTable, part: Control) -> SyntheticTable:
            drawn = draw_all(measured, source.tree, source.shape, table.rows, table.counts)
            tables = _tables(source, replace(measurements, arrays=drawn))
            alone = replace(part, keep=Forgetful())
            last = _refined(measurements)
            return synthetic_table(source, tables, alone, refined=last).table

        released = self.synthesise(plan, measurements, control)
        readers = [asked.wanted.read_off for asked in design.tables]
        return simulated_bias(released, remade, readers, runs, control)

    # -- synthetic records --------------------------------------------------------------------

    def synthesise(
        self, plan: Plan, measurements: Measurements, control: Control | None = None
    ) -> SyntheticTable:
        """The synthetic table itself, over `synthetic_domain`."""
        return self._fitted(plan, measurements, control).table

    def _fitted(
        self, plan: Plan, measurements: Measurements, control: Control | None = None
    ) -> Fitted:
        """What was fitted: from beside the measurements where it lies there, else made."""
        design = design_of(plan)
        design = design.source or design
        if _COUNTS in measurements.arrays:
            arrays = measurements.arrays
            table = SyntheticTable(design.shape, arrays[_ROWS], arrays[_COUNTS])
            return Fitted(table, _moved(arrays))
        key = plan.question_hash + hashlib.sha256(measurements.to_bytes()).hexdigest()
        if key not in self._made:
            tables = _tables(design, measurements)
            self._made[key] = synthetic_table(
                design, tables, control or Control(), refined=_refined(measurements)
            )
            while len(self._made) > _KEPT:
                self._made.popitem(last=False)
        return self._made[key]

    def synthetic_domain(self, plan: Plan) -> Domain:
        """What the synthetic records are records of."""
        return design_of(plan).workload.domain

    def standard_errors(self, plan: Plan) -> list[tuple[tuple[str, ...], float]]:
        """For all variables measured together, areas at their finest: their names, a cell's error."""
        design = design_of(plan)
        refs, tree = design.workload.refs, design.tree
        found = []
        for margin in closure(one.margin for one in design.tables):
            for level in {0, tree.depth}:
                variance = design.known.mean_variance(level, margin)
                if variance < 1e30:
                    axes = sorted([*margin, *([tree.axis] if level else [])])
                    names = tuple(refs[axis].variable for axis in axes)
                    found.append((names, math.sqrt(variance)))
        return found

    def write_records(
        self, plan: Plan, measurements: Measurements, path: Path, control: Control
    ) -> int:
        """One row for each synthetic record, or for each cell where records are too many."""
        table = self.synthesise(plan, measurements, control)
        return write_microdata(table, self.synthetic_domain(plan), path, control)

    def synthetic_files(
        self,
        plan: Plan,
        measurements: Measurements,
        folder: Path,
        kinds: Sequence[str],
        control: Control,
    ) -> list[Path]:
        """The records and what they were fitted to, as files of these kinds."""
        files = []
        for kind in kinds:
            records, numbers = folder / f"microdata.{kind}", folder / f"measurements.{kind}"
            self.write_records(plan, measurements, records, control)
            design = design_of(plan)
            tables = _tables(design, measurements)
            write_measurements(design, tables, numbers, control)
            files += [records, numbers]
        return files


def _told(design: Design, description: Description, digest: str) -> dict[str, Any]:
    """What a plan says of a design: promise, errors to expect, charge, warnings."""
    return {
        "guarantee": telling.guarantee(design, description, exact=all_spent(design, description)),
        "errors": telling.expected(design),
        "charge": telling.charge(design, description, digest),
        "warnings": telling.warnings(design, description),
        "detail": design,
    }


def _moved(arrays: Mapping[str, Whole]) -> Moved:
    """How far rounding moved tables, as it lies beside measurements."""
    found = {}
    for name, table in arrays.items():
        if name.startswith(f"{_MOVED} "):
            level, *margin = map(int, name.split(" ")[1:])
            found[level, tuple(margin)] = table
    return found


def _refined(measurements: Measurements) -> bool:
    return measurements.facts.get(_WAY) == _REFINED


def _tables(design: Design, measurements: Measurements) -> list[Whole | Reals]:
    """The stored measurements, one table for each that was planned."""
    measured = design.allocation.measured
    if measurements.facts.get("measured") != measured_facts(measured):
        raise Bug("Stored measurements are of other tables or rates than the plan's.")
    arrays = measurements.arrays
    return [arrays[m.name] if m.unit == 1 else arrays[m.name] / m.unit for m in measured]
