"""The marginals method: margins that are private, consistent, non-negative and whole (barak).

plan chooses what to measure from public facts; measure adds exact noise to whole numbers;
fit combines the measurements, finds one synthetic table of whole counts near them, and reads every
asked table off it. Two modes: *modern* (default) and *classic*, the paper as written.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...core.control import Control
from ...core.description import Description
from ...core.domain import Count, Domain
from ...core.product import Margin, Rows, Whole, whole_margin_of_rows
from ...core.question import Question, Treatment
from ...core.random_source import RandomSource
from ...core.table import ProtectedTable, TrueTable
from ...errors import Bug
from ...languages import say
from .. import base
from ..base import Facts, Measurements, Plan, Secrets
from ..declaration import Declaration
from ..shared.counting import rows_of
from ..shared.invariants.public_margins import held_exactly
from ..shared.microdata import write_microdata
from ..shared.residuals import Residuals, combine
from ..shared.synthetic_table import SyntheticTable
from ..shared.workload import read_workload
from .declaration import DECLARATION
from .derivation import all_measured, derived, measured_margins, standard_errors
from .design import (
    Design,
    all_spent,
    design_of,
    designed,
    measured_facts,
    needed_settings,
    public_digest,
)
from .fit.estimate_to_table import fit_classic, fit_modern
from .measured_tables import Measured, cost, draw_all, read_all
from .plan import allocation
from .plan import facts as telling
from .plan.bound import bound_in_words
from .publish.measurements_file import write_measurements
from .publish.protected_tables import publish
from .settings import Settings, for_question, from_policy
from .settings import Treatment as Treated

_KEPT = 4
_ROWS, _COUNTS = "synthetic rows", "synthetic counts"
"""Under which names a synthetic table lies beside the measurements it was fitted to."""


class MarginalsMethod:
    """One synthetic table of whole counts, near noisy measurements, from which all tables follow."""

    declaration: ClassVar[Declaration] = DECLARATION

    def __init__(self) -> None:
        self._made: OrderedDict[str, tuple[SyntheticTable, Residuals]] = OrderedDict()

    def settings(self, parameters: Mapping[str, Any]) -> Settings:
        """Read and check what a policy writes for this method."""
        return from_policy(parameters)

    # -- plan -------------------------------------------------------------------------------

    def plan(self, question: Question, treatment: Treatment, facts: Facts) -> Plan:
        """What to measure, what it costs, what error to expect; reads no data."""
        description = facts.description
        policy = facts.policy.parameters(DECLARATION.name)
        workload = read_workload(question.tables, description, DECLARATION.name)
        settings = for_question(policy, question)
        if settings.mode == "classic":
            settings = settings.for_margins(len(workload.margins))
        treated = Treated.of(policy, treatment.settings, settings)
        design, others = designed(settings, treated, workload, description)
        question = question.resolve(
            needed_settings(design, description).resolved(public_digest(design))
        )
        digest = base.question_hash(question, facts)
        return Plan(
            method=DECLARATION.name,
            question=question,
            question_hash=digest,
            treatment=treated.canonical if settings.mode == "classic" else {},
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
        control.step(0.0, "adding noise")
        measurements = drawn(plan, tables)
        control.step(1.0, "adding noise")
        return measurements

    def measured(self, plan: Plan, measurements: Measurements, facts: Facts) -> Plan:
        """The plan these measurements were made by, where today another would be chosen."""
        design, description = _fitted_as(plan, measurements), facts.description
        said = measurements.facts.get("measured")
        if said == measured_facts(design.allocation.measured) or not isinstance(said, list):
            return plan if design is design_of(plan) else replace(plan, detail=design)
        tables = tuple(Measured.read(name, noise) for name, noise in said)
        public = () if design.published is None else design.published.margins
        unit = design.settings.of_unit(
            cost(tables, len(design.shape), description.neighbours), description.records_per_unit
        )
        if {m.noise for m in tables} != {design.settings.noise} or unit > design.settings.amount:
            raise Bug("Stored measurements are of another budget than the question's.")
        known = (
            allocation.public_residuals(description.neighbours, public)
            if design.coding is None
            else ()
        )
        dropped = None if design.coding is None else ()  # bits have no margins to name
        then = allocation.told("as measured", design.shape, design.margins, tables, known, dropped)
        told = _told(replace(design, allocation=then), description, plan.question_hash)
        return replace(plan, alternatives=(), **told)

    # -- fit --------------------------------------------------------------------------------

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        """The asked tables, all read off one synthetic table."""
        design = _fitted_as(plan, measurements)
        if design.treatment.objective == "shift":
            asked = design.margins if design.source is None else measured_margins(design)
            estimate = _estimated(design, _tables(design, measurements), asked)
            return publish(design, plan, None, estimate, facts)
        table, residuals = self._fitted(plan, measurements, control)
        notes: tuple[str, ...] = ()
        if design.source is not None:
            residuals = _estimated(design, _tables(design, measurements), measured_margins(design))
        elif design.coding is None:
            notes = (bound_in_words(design, _tables(design, measurements), table),)
        return publish(design, plan, table, residuals, facts, notes)

    def derive(
        self, plan: Plan, question: Question, treatment: Treatment, facts: Facts
    ) -> Plan | None:
        """A plan that reads `question` off what `plan` fitted, at no cost; None if it cannot."""
        source = design_of(plan)
        policy = facts.policy.parameters(DECLARATION.name)
        treated = Treated.of(policy, treatment.settings, source.settings)
        design = derived(replace(source, treatment=treated), question, facts.description)
        if design is None or (treated.objective == "shift" and not all_measured(design)):
            return None
        everything = say(
            "release {question_hash} and everything made from it",
            question_hash=plan.question_hash[:12],
        )
        return replace(
            plan,
            question=replace(question, settings=plan.question.settings, resolved=True),
            treatment=treated.canonical if source.settings.mode == "classic" else {},
            guarantee=plan.guarantee.for_scope(everything),
            errors=telling.expected(design),
            alternatives=(),
            warnings=(),
            detail=design,
        )

    def fitted(self, plan: Plan, measurements: Measurements, control: Control) -> Measurements:
        """The measurements with the synthetic table beside them, so that it need not be made again."""
        if design_of(plan).treatment.objective == "shift":
            return measurements
        table = self.synthesise(plan, measurements, control)
        more = {_ROWS: table.rows.astype(np.int64), _COUNTS: table.counts}
        return replace(measurements, arrays={**measurements.arrays, **more})

    # -- synthetic records --------------------------------------------------------------------

    def synthesise(
        self, plan: Plan, measurements: Measurements, control: Control | None = None
    ) -> SyntheticTable:
        """The synthetic table itself, over `synthetic_domain`."""
        return self._fitted(plan, measurements, control or Control())[0]

    def synthetic_domain(self, plan: Plan) -> Domain:
        """What the synthetic records are records of."""
        return design_of(plan).workload.domain

    def standard_errors(self, plan: Plan) -> list[tuple[tuple[str, ...], float]]:
        """For all variables measured and fitted together: their names, the error of a cell."""
        return standard_errors(design_of(plan))

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
            if design_of(plan).treatment.objective != "shift":  # has no records behind it
                self.write_records(plan, measurements, records, control)
                files.append(records)
            write_measurements(design_of(plan), measurements, numbers, control)
            files.append(numbers)
        return files

    def _fitted(
        self, plan: Plan, measurements: Measurements, control: Control
    ) -> tuple[SyntheticTable, Residuals]:
        design = _fitted_as(plan, measurements)
        design = design.source or design
        tables = _tables(design, measurements)
        said = json.dumps(plan.treatment, sort_keys=True).encode() + measurements.to_bytes()
        key = plan.question_hash + hashlib.sha256(said).hexdigest()
        if key in self._made:
            return self._made[key]
        residuals = _estimated(design, tables, design.fitted)
        if _COUNTS in measurements.arrays:
            rows, counts = measurements.arrays[_ROWS], measurements.arrays[_COUNTS]
            made = SyntheticTable(design.workload.shape, rows, counts), residuals
        else:
            fitting = fit_classic if design.coding is not None else fit_modern
            made = fitting(design, tables, residuals, control), residuals
        self._made[key] = made
        while len(self._made) > _KEPT:
            self._made.popitem(last=False)
        return made


def _told(design: Design, description: Description, digest: str) -> dict[str, Any]:
    """What a plan says of a design: promise, errors to expect, charge, warnings."""
    tables, spent = len(design.workload.tables), all_spent(design, description)
    return {
        "guarantee": telling.guarantee(design, description, tables, exact=spent),
        "errors": telling.expected(design),
        "charge": telling.charge(design, description, digest),
        "warnings": telling.warnings(design, description),
        "detail": design,
    }


def _fitted_as(plan: Plan, measurements: Measurements) -> Design:
    """A plan's design, by the form of the fit these measurements were first published in."""
    design, form = design_of(plan), int(measurements.facts.get("fit", 1))
    if design.form == form:
        return design
    source = None if design.source is None else replace(design.source, form=form)
    return replace(design, form=form, source=source)


def _tables(design: Design, measurements: Measurements) -> list[Whole]:
    """The stored measurements, one table for each that was planned."""
    if measurements.facts.get("measured") != measured_facts(design.allocation.measured):
        raise Bug("Stored measurements are of other tables or rates than the plan's.")
    return read_all(design.allocation.measured, measurements.arrays, design.shape)


def _estimated(design: Design, tables: Sequence[Whole], margins: Sequence[Margin]) -> Residuals:
    """The best linear unbiased estimate of these margins, with what is public in its place."""
    made = combine(design.shape, design.allocation.measured, tables, margins, total=design.total)
    return held_exactly(made, design.published)


def drawn(
    plan: Plan, tables: Sequence[TrueTable], source: RandomSource | None = None
) -> Measurements:
    """The measured tables of a plan with their noise, from the operating system's randomness."""
    design = design_of(plan)
    sources = [
        _in_space(design, cover, table) for cover, table in zip(design.covers, tables, strict=True)
    ]
    measured = design.allocation.measured

    def margin(wanted: Margin) -> Whole:
        for axes, rows, counts in sources:
            if set(wanted) <= set(axes):
                return whole_margin_of_rows(rows, design.shape, wanted, counts)
        raise Bug("A measured margin was not counted.")

    arrays = draw_all(measured, margin, source)
    return Measurements(arrays, {"measured": measured_facts(measured), "fit": design.form})


def _in_space(design: Design, cover: Margin, table: TrueTable) -> tuple[Margin, Rows, Whole]:
    """A count's axes and rows in the measured space (zeros where it has no such axis)."""
    full, counts = rows_of(design.workload, cover, table)
    if design.coding is None:
        return cover, full, counts
    return design.coding.margin(cover), np.asfortranarray(design.coding.encode(full)), counts
