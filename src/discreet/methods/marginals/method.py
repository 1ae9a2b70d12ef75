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
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...core import true_values
from ...core.charge import Neighbours
from ...core.control import Control
from ...core.description import Description
from ...core.description import Neighbours as Alike
from ...core.domain import MOST_CELLS, Count
from ...core.product import Margin, Rows, Shape, Whole, closure, size, whole_margin_of_rows
from ...core.question import Question, Treatment
from ...core.question import digest as digest_of
from ...core.table import ProtectedTable, TrueTable
from ...errors import Bug, InputError, RecipeError
from .. import base
from ..base import Facts, Measurements, Plan, Secrets
from ..declaration import Declaration
from ..shared.residuals import Residuals, combine, mean_variance, precisions
from ..shared.synthetic_table import SyntheticTable
from ..shared.workload import Workload, read_workload
from . import publishing, telling
from .bits import BitCoding
from .bound import bound_in_words
from .budget import plan_budget
from .classic import Features
from .declaration import DECLARATION
from .deriving import derived, measured_margins
from .fitting import fit_classic, fit_modern, fitted_margins
from .measured import Measured, cost, cost_is_exact, draw_all, read_all
from .published import Published, held_exactly, known_exactly, read_published
from .records import SyntheticRecords
from .settings import Settings, for_question, from_policy
from .settings import Treatment as Treated
from .spending import Budget, Spending, as_measured

_KEPT = 4
_ROWS, _COUNTS = "synthetic rows", "synthetic counts"
"""Under which names a synthetic table lies beside the measurements it was fitted to."""


@dataclass(frozen=True)
class Design:
    """This method's own part of a plan."""

    settings: Settings
    treatment: Treated
    workload: Workload
    budget: Budget
    coding: BitCoding | None
    """Classic mode works on bits."""
    total: int | None
    """The number of records, where it is public."""
    published: Published | None
    """Margins that are public already."""
    covers: tuple[Margin, ...]
    """The axes of each count."""
    source: Design | None = None
    """What was measured and fitted, where this design only reads further tables off it."""

    @property
    def shape(self) -> Shape:
        """The shape of the space that is measured."""
        return self.workload.shape if self.coding is None else self.coding.shape

    def space(self, margin: Margin) -> Margin:
        """A margin of the workload in the measured space."""
        return margin if self.coding is None else self.coding.margin(margin)

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The workload in the measured space."""
        return tuple(self.space(margin) for margin in self.workload.margins)


class MarginalsMethod(SyntheticRecords):
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
        design, others = _design_of(settings, treated, workload, description)
        question = question.resolve(_needed(design, description).resolved(_digest(design)))
        digest = base.question_hash(question, facts)
        return Plan(
            method=DECLARATION.name,
            question=question,
            question_hash=digest,
            treatment=treated.canonical if settings.mode == "classic" else {},
            counts=tuple(
                Count(tuple(workload.refs[axis] for axis in cover)) for cover in design.covers
            ),
            guarantee=telling.guarantee(
                design, description, len(question.tables), exact=_all_spent(design, description)
            ),
            errors=telling.expected(design),
            charge=telling.charge(design, description, digest),
            warnings=telling.warnings(design, description),
            alternatives=telling.alternatives(design, others),
            detail=design,
        )

    # -- measure ----------------------------------------------------------------------------

    def measure(
        self, plan: Plan, tables: Sequence[TrueTable], secrets: Secrets | None, control: Control
    ) -> Measurements:
        """Whole numbers plus one exact draw each. Needs no secrets."""
        design = design_of(plan)
        sources = [
            _in_space(design, cover, *_revealed(table))
            for cover, table in zip(design.covers, tables, strict=True)
        ]
        measured = design.budget.measured

        def margin(wanted: Margin) -> Whole:
            for axes, rows, counts in sources:
                if set(wanted) <= set(axes):
                    return whole_margin_of_rows(rows, design.shape, wanted, counts)
            raise Bug("A measured margin was not counted.")

        control.step(0.0, "adding noise")
        arrays = draw_all(measured, margin)
        control.step(1.0, "adding noise")
        return Measurements(arrays, {"measured": _said(measured)})

    def measured(self, plan: Plan, measurements: Measurements, facts: Facts) -> Plan:
        """The plan these measurements were made by, where today another would be chosen."""
        design, description = design_of(plan), facts.description
        said = measurements.facts.get("measured")
        if said == _said(design.budget.measured) or not isinstance(said, list):
            return plan
        tables = tuple(Measured.read(name, noise) for name, noise in said)
        public = () if design.published is None else design.published.margins
        spending = Spending.of(
            design.settings.amount, words_of(description), design.settings.noise, public
        )
        unit = design.settings.of_unit(
            cost(tables, len(design.shape), words_of(description)), description.records_per_unit
        )
        if {m.noise for m in tables} != {design.settings.noise} or unit > design.settings.amount:
            raise Bug("Stored measurements are of another budget than the question's.")
        known = spending.public if design.coding is None else frozenset()
        budget = as_measured(design.shape, design.margins, tables, known)
        made = replace(design, budget=budget)
        return replace(
            plan,
            guarantee=telling.guarantee(
                made,
                description,
                len(plan.question.tables),
                exact=_all_spent(made, description),
            ),
            errors=telling.expected(made),
            charge=telling.charge(made, description, plan.question_hash),
            warnings=telling.warnings(made, description),
            alternatives=(),
            detail=made,
        )

    # -- fit --------------------------------------------------------------------------------

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        """The asked tables, all read off one synthetic table."""
        design = design_of(plan)
        table, residuals = self._fitted(plan, measurements, control)
        notes: tuple[str, ...] = ()
        if design.source is not None:
            residuals = _estimated(design, _tables(design, measurements), measured_margins(design))
        elif design.coding is None:
            notes = (bound_in_words(design, _tables(design, measurements), table),)
        return publishing.publish(
            design, plan, table, residuals, base.provenance(plan, facts), facts, notes
        )

    def derive(
        self, plan: Plan, question: Question, treatment: Treatment, facts: Facts
    ) -> Plan | None:
        """A plan that reads `question` off what `plan` fitted, at no cost; None if it cannot."""
        source = design_of(plan)
        policy = facts.policy.parameters(DECLARATION.name)
        treated = Treated.of(policy, treatment.settings, source.settings)
        design = derived(replace(source, treatment=treated), question, facts.description)
        if design is None:
            return None
        everything = f"release {plan.question_hash[:12]} and everything made from it"
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
        table = self.synthesise(plan, measurements, control)
        more = {_ROWS: table.rows.astype(np.int64), _COUNTS: table.counts}
        return replace(measurements, arrays={**measurements.arrays, **more})

    def synthesise(
        self, plan: Plan, measurements: Measurements, control: Control | None = None
    ) -> SyntheticTable:
        """The synthetic table itself, over `design_of(plan).workload.domain`."""
        return self._fitted(plan, measurements, control or Control())[0]

    def _fitted(
        self, plan: Plan, measurements: Measurements, control: Control
    ) -> tuple[SyntheticTable, Residuals]:
        design = design_of(plan)
        design = design.source or design
        tables = _tables(design, measurements)
        said = json.dumps(plan.treatment, sort_keys=True).encode() + measurements.to_bytes()
        key = plan.question_hash + hashlib.sha256(said).hexdigest()
        if key in self._made:
            return self._made[key]
        margins = design.margins if design.coding is not None else fitted_margins(design)
        residuals = _estimated(design, tables, margins)
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


def _tables(design: Design, measurements: Measurements) -> list[Whole]:
    """The stored measurements, one table for each that was planned."""
    if measurements.facts.get("measured") != _said(design.budget.measured):
        raise Bug("Stored measurements are of other tables or rates than the plan's.")
    return read_all(design.budget.measured, measurements.arrays, design.shape)


def _estimated(design: Design, tables: Sequence[Whole], margins: Sequence[Margin]) -> Residuals:
    """The best linear unbiased estimate of these margins, with what is public in its place."""
    made = combine(design.shape, design.budget.measured, tables, margins, total=design.total)
    return held_exactly(made, design.published)


def design_of(plan: Plan) -> Design:
    """This method's own part of one of its plans."""
    if not isinstance(plan.detail, Design):
        raise Bug("A plan of another method was given to the marginals method.")
    return plan.detail


def _design_of(
    settings: Settings, treated: Treated, workload: Workload, description: Description
) -> tuple[Design, list[Budget]]:
    each = settings.amount / settings.of_unit(Fraction(1), description.records_per_unit)
    neighbours = words_of(description)
    if settings.mode == "classic":
        coding = BitCoding(workload.shape)
        budget = _classic_budget(settings, workload, coding, each)
        covers = _covers(workload.shape, workload.margins)
        return Design(settings, treated, workload, budget, coding, None, None, covers), []
    published, total = read_published(settings.published, workload, description)
    budget, others = plan_budget(
        workload.shape,
        workload.margins,
        each,
        neighbours,
        noise=settings.noise,
        published=() if published is None else published.margins,
        records=description.records or total or settings.records_about,
        one_way=settings.one_way_share,
    )
    if cost(budget.measured, len(workload.shape), neighbours) > each:
        raise Bug("A plan costs more than its budget.")
    for one in (budget, *others):
        known_exactly(one.known, published)
    covers = _covers(workload.shape, tuple(m.margin for m in budget.measured))
    return Design(settings, treated, workload, budget, None, total, published, covers), others


def _needed(design: Design, description: Description) -> Settings:
    """The settings without those that change nothing about what is measured.

    A share said to be what it would be anyway, or a rough number of records where the exact one is
    public, would make two questions of one.
    """
    settings = design.settings
    for without in (
        replace(settings, records_about=None),
        replace(settings, one_way_share=None),
        replace(settings, records_about=None, one_way_share=None),
    ):
        if without == design.settings:
            continue
        plain_design, _ = _design_of(without, design.treatment, design.workload, description)
        if _said(plain_design.budget.measured) == _said(design.budget.measured):
            settings = without
    return settings


def _digest(design: Design) -> str:
    """What is public already over the question's variables, in short; empty where nothing is."""
    if not design.settings.published:
        return ""
    tables = {} if design.published is None else design.published.tables
    refs = design.workload.refs
    form = {
        " × ".join(str(refs[axis]) for axis in margin): counts.ravel().tolist()
        for margin, counts in tables.items()
    }
    return digest_of({"total": design.total, "margins": form})[:16]


def _all_spent(design: Design, description: Description) -> bool:
    """Whether the measurements cost exactly the loss (classic mode: half of it under add/remove)."""
    given = design.budget.measured, len(design.shape), words_of(description)
    spent = design.settings.of_unit(cost(*given), description.records_per_unit)
    return spent == design.settings.amount and cost_is_exact(*given)


def _classic_budget(
    settings: Settings, workload: Workload, coding: BitCoding, epsilon: Fraction
) -> Budget:
    """Theorem 6 as written: every coefficient of the downward closure gets ε / 2|B| (§4.2: every
    margin ε / 2|A|). The total gets noise too, whether it is public or not."""
    if settings.published:
        raise RecipeError("Mode classic keeps no published margin. Use mode modern.")
    for table in workload.tables:
        if table.passes or workload.mixed:
            raise RecipeError(
                "Mode classic takes whole tables at one level of each variable: no filters. "
                "Use mode modern."
            )
    margins = sorted(coding.margin(margin) for margin in workload.margins)
    if settings.fourier:
        every = closure(margins)
        rate = epsilon / (2 * len(every))
        measured = tuple(Measured(m, m, rate) for m in every)
    else:
        rate = epsilon / (2 * len(margins))
        measured = tuple(Measured(m, (), rate) for m in margins)
    Features(coding.shape, measured)  # refuses what is too large, before anything is spent
    if rate < Fraction(1, 10**6):
        raise InputError(
            f"Classic mode would share ε among {len(measured):,} coefficients, less than 0.000001 "
            "each. Ask for fewer margins, or use mode modern."
        )
    if cost(measured, len(coding.shape), "replace-one") > epsilon:
        raise Bug("Classic mode costs more than its ε.")
    known = precisions(coding.shape, measured, closure(margins), total=False)
    variances = [mean_variance(coding.shape, known, m) for m in margins]
    rms = (sum(variances) / len(variances)) ** 0.5
    return Budget("classic", measured, (), known, rms, False)


def _covers(shape: Shape, margins: Sequence[Margin]) -> tuple[Margin, ...]:
    """As few counts as will do: all axes at once if their product can be addressed."""
    axes = tuple(sorted({axis for margin in margins for axis in margin}))
    if size(shape, axes) <= MOST_CELLS:
        return (axes,)
    covers: list[set[int]] = []
    for margin in sorted(set(margins), key=lambda m: (-size(shape, m), m)):
        for cover in covers:
            if size(shape, cover | set(margin)) <= MOST_CELLS:
                cover |= set(margin)
                break
        else:
            covers.append(set(margin))
    return tuple(tuple(sorted(cover)) for cover in covers)


def _revealed(table: TrueTable) -> tuple[Rows, Whole]:
    cells = true_values.reveal(table)
    return table.domain.coordinates(cells.addresses), cells.counts


def _in_space(
    design: Design, cover: Margin, rows: Rows, counts: Whole
) -> tuple[Margin, Rows, Whole]:
    """A count's axes and rows in the measured space (zeros where it has no such axis).

    Column after column in memory: margins read a few columns of all rows.
    """
    full = np.zeros((len(rows), len(design.workload.shape)), dtype=np.int64, order="F")
    for axis, column in zip(cover, rows.T, strict=True):
        place = design.workload.domain.axes[axis]
        level = place.variable.level(place.level.name)  # as counted: with what holds nothing
        full[:, axis] = column if place.level is level else level.holders(place.level)[column]
    if design.coding is None:
        return cover, full, counts
    return design.coding.margin(cover), np.asfortranarray(design.coding.encode(full)), counts


def words_of(description: Description) -> Neighbours:
    """The description's neighbours in the charge's words."""
    return "add-remove" if description.neighbours is Alike.ADD_REMOVE else "replace-one"


def _said(measured: Sequence[Measured]) -> list[list[str]]:
    """What was measured and at which rate, as stored beside the numbers."""
    return [[m.name, m.said] for m in measured]
