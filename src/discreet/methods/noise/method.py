"""The noise method: independent noise under a budget (rinott §4, §7–8; ons "independent noise").

plan chooses margins and laws from public facts; measure adds one exact draw to every cell that can
exist; fit turns the measured margins into tables, sums what was not measured, brings separately
noised margins into agreement where asked, and says the noise of every cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...core import true_values
from ...core.control import Control
from ...core.description import Description
from ...core.domain import Count
from ...core.loss import ApproxLoss
from ...core.margins import Margin, Sources, domain_of, projection
from ...core.question import Question, Treatment
from ...core.table import ProtectedTable, TrueTable
from ...errors import Bug, RecipeError
from ...languages import say
from .. import base
from ..base import Facts, Measurements, Plan, Secrets
from ..declaration import Declaration
from ..shared.assembly import protected
from ..shared.unit import check_unit
from . import plan_facts as telling
from . import stored_plan as stored
from .calibration import calibrated
from .declaration import DECLARATION
from .laws import noised
from .planner import Measured, Planner, Scheme
from .refusals import by_count_only
from .settings import Settings, for_question, from_policy, treatment_for
from .settings import Treatment as Treated
from .shares import given_shares
from .table_fit import Fitting

_LARGEST = 1 << 62


@dataclass(frozen=True)
class Design:
    """This method's own part of a plan."""

    treatment: Treated
    scheme: Scheme
    planner: Planner
    from_count: tuple[int, ...]
    """For each measured margin, the count of `plan.counts` it is summed from."""


class NoiseMethod:
    """Independent noise on chosen margins, each unit's whole contribution paid for."""

    declaration: ClassVar[Declaration] = DECLARATION

    def settings(self, parameters: Mapping[str, Any]) -> Settings:
        """Read and check what a policy writes for this method."""
        return from_policy(parameters)

    # -- plan -------------------------------------------------------------------------------

    def plan(self, question: Question, treatment: Treatment, facts: Facts) -> Plan:
        """Which margins get which law, what it costs, what error to expect; reads no data."""
        description = facts.description
        _check_tables(question, description)
        policy = facts.policy.parameters(DECLARATION.name)
        settings = for_question(policy, question)
        treated = treatment_for(policy, treatment.settings)
        by_count_only(settings, treated, question.tables)
        planner = Planner.of(question.tables, description, settings)
        budget = planner.budget()
        if settings.variance is None:
            settings.check_limits(budget)
        planner = replace(planner, settings=settings.with_budget(budget))
        schemes = planner.schemes(budget)
        chosen, recommended = planner.choose(schemes, budget)
        if isinstance(chosen.loss, ApproxLoss) and settings.variance is not None:
            settings.check_limits(chosen.loss.epsilon)
        if planner.settings.law == "gaussian":
            larger = {scheme.name: calibrated(planner, scheme, budget) for scheme in schemes}
            schemes = tuple(larger.values())
            chosen, recommended = larger[chosen.name], larger[recommended.name]
        warnings = telling.warnings(chosen, recommended, planner)
        others = tuple(telling.told(s, chosen, recommended, planner) for s in schemes)
        name = chosen.name
        if given_shares(question.tables) is not None:
            plain = question.without_shares()
            margins = [part.margin for part in chosen.measured]
            anyway = replace(planner, tables=plain.tables).shares(name, margins)
            if anyway == tuple(part.share for part in chosen.measured):
                question = plain
            else:
                name = "wanted"
        question = question.resolve(planner.settings.resolved(name))
        digest = base.question_hash(question, facts)
        if treated.consistency != "none":
            planner = replace(planner, consistency=treated.consistency)
            chosen = planner.worked_out(chosen.name, chosen.measured, budget)
            planner.check_agreement(chosen)
        return Plan(
            method=DECLARATION.name,
            question=question,
            question_hash=digest,
            treatment=treated.canonical,
            needs_weights=any(part.margin.weighted for part in chosen.measured),
            warnings=warnings,
            alternatives=others,
            **_told(chosen, planner, treated, question, digest),
        )

    # -- measure ----------------------------------------------------------------------------

    def measure(
        self, plan: Plan, tables: Sequence[TrueTable], secrets: Secrets | None, control: Control
    ) -> Measurements:
        """True counts plus one exact draw each; impossible cells are 0. Needs no secrets."""
        design = base.own_part(plan, Design)
        description = design.planner.description
        dense: dict[tuple[int, bool], true_values.Counts] = {}
        arrays = {}
        for number, part in enumerate(design.scheme.measured):
            control.step(number / len(design.scheme.measured), "adding noise")
            at = design.from_count[number], part.margin.weighted
            if at not in dense:
                dense[at] = _dense(tables[at[0]], part.margin.weighted)
            source = Margin(plan.counts[at[0]].axes, part.margin.where, part.margin.weighted)
            found = projection(source, part.margin, description)
            if found is None:
                raise Bug(f"The plan cannot count {part.margin} from {source}.")
            true = found.sums(dense[at])
            if true.size and int(np.abs(true).max()) >= _LARGEST:
                raise Bug("A count is too large to be protected in 64 bits.")
            values = noised(part.law, true)
            zeros = description.zero_mask(part.margin.count)
            if zeros is not None:
                values[zeros] = 0
            arrays[part.name] = values
        control.step(1.0, "adding noise")
        return Measurements(arrays, stored.facts_of(design.scheme))

    def measured(self, plan: Plan, measurements: Measurements, facts: Facts) -> Plan:
        """The plan these measurements were made by, where today another would be chosen."""
        design = base.own_part(plan, Design)
        if stored.same(design.scheme, measurements.facts):
            return plan
        scheme = stored.scheme_of(design.planner, design.scheme, measurements.facts)
        told = _told(scheme, design.planner, design.treatment, plan.question, plan.question_hash)
        return replace(plan, alternatives=(), **told)

    # -- fit --------------------------------------------------------------------------------

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        """The protected tables: sums, agreement where asked, noise of every cell."""
        plan = self.measured(plan, measurements, facts)
        design = base.own_part(plan, Design)
        values = _measured_values(design.scheme.measured, measurements, facts.description)
        fitting = Fitting(design.planner, design.scheme, values, design.treatment)
        where = base.provenance(plan, facts)
        tables = []
        for number, spec in enumerate(plan.question.tables):
            control.step(number / len(plan.question.tables), "fitting tables")
            tables.append(protected(plan, spec, facts, where, **fitting.table(spec)))
        control.step(1.0, "fitting tables")
        return tuple(tables)

    def derive(
        self, plan: Plan, question: Question, treatment: Treatment, facts: Facts
    ) -> Plan | None:
        """A plan that fits `question` from what `plan` measured, at no cost; None if it cannot."""
        _check_tables(question, facts.description)
        design = base.own_part(plan, Design)
        treated = treatment_for(facts.policy.parameters(DECLARATION.name), treatment.settings)
        by_count_only(design.planner.settings, treated, question.tables)
        planner = replace(
            Planner.of(question.tables, facts.description, design.planner.settings),
            consistency=treated.consistency,
        )
        scheme = planner.derived(design.scheme)
        if scheme is None:
            return None
        return replace(
            plan,
            question=replace(question, settings=plan.question.settings, resolved=True),
            treatment=treated.canonical,
            errors=tuple(telling.expected(table, scheme, planner) for table in question.tables),
            alternatives=(),
            warnings=(),
            detail=Design(treated, scheme, planner, design.from_count),
        )


def _dense(table: TrueTable, weighted: bool) -> true_values.Counts:
    cells = true_values.reveal(table)
    values = cells.weights if weighted else cells.counts
    if values is None:
        raise Bug("A weighted table was counted without weights.")
    return true_values.dense(table.domain, cells.addresses, values)


def _check_tables(question: Question, description: Description) -> None:
    if not question.tables:
        raise RecipeError(say("A question needs at least one table, got none. Name its rows."))
    check_unit(description)
    description.require_declared(question.variables)


def _told(
    scheme: Scheme, planner: Planner, treated: Treated, question: Question, digest: str
) -> dict[str, Any]:
    """What a plan says of a scheme: what to count, promise, errors to expect, charge."""
    description = planner.description
    counts, from_count = _counts(scheme.measured, description)
    return {
        "counts": counts,
        "guarantee": telling.guarantee(scheme, description, len(question.tables)),
        "errors": tuple(telling.expected(table, scheme, planner) for table in question.tables),
        "charge": telling.charge(scheme, description, digest),
        "detail": Design(treated, scheme, planner, from_count),
    }


def _counts(
    measured: Sequence[Measured], description: Description
) -> tuple[tuple[Count, ...], tuple[int, ...]]:
    """As few counts as will do: a margin that is a sum of another's count is not counted itself."""
    unweighted = [Margin(part.margin.axes, part.margin.where) for part in measured]
    order = sorted(
        range(len(measured)), key=lambda i: (-measured[i].cells, -len(unweighted[i].axes), i)
    )
    sources = Sources(unweighted, description)
    chosen: list[Margin] = []
    place: dict[int, int] = {}
    found = [0] * len(measured)
    for i in order:
        served = next((j for j in sources.of(unweighted[i]) if j in place), None)
        if served is None:
            served, place[i] = i, len(chosen)
            chosen.append(unweighted[i])
        found[i] = place[served]
    return tuple(margin.count for margin in chosen), tuple(found)


def _measured_values(
    measured: Sequence[Measured], measurements: Measurements, description: Description
) -> list[true_values.Counts]:
    """The arrays of the measured margins."""
    out = []
    for part in measured:
        values = measurements.arrays.get(part.name)
        if values is None or values.shape != domain_of(part.margin, description).shape:
            raise Bug(f"Stored measurements lack {part.margin}.")
        out.append(values)
    return out
