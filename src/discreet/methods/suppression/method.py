"""`method: suppression`: plan (from public facts), measure (decide, then read), fit (lay out).

A plan decides whether the totals may come out, and refuses where not; nothing has been read then.
`measure` decides the cells one after the other and reads the true count of each only once its release
is decided. What is stored are counts that came out, statuses and charges: never a suppressed count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from ...core import true_values
from ...core.cell_law import CellLaw, MarginLaw
from ...core.charge import Charge
from ...core.control import Control
from ...core.domain import AxisRef, Count
from ...core.exact import plain, rounded_up
from ...core.guarantee import unit_words
from ...core.question import Question, TableSpec, Treatment
from ...core.table import ProtectedTable, Status, TrueTable
from ...errors import DataError, RecipeError, Refusal, did_you_mean
from ...languages import number, say
from .. import base
from ..base import ExpectedError, Facts, Measurements, Plan, Secrets
from ..declaration import Declaration
from ..shared.assembly import protected, published_cells
from ..shared.unit import check_unit
from . import bin_axes, prospects, records_fit, words
from .alternatives import safe_alternatives
from .board import Whole
from .decisions import Decided
from .declaration import DECLARATION
from .past import Past, past
from .public_people import PublicPeople, read_people
from .settings import Attribute, Settings, read
from .table_plan import TablePlan

_STATUS = {
    Decided.OPEN: Status.NOT_RELEASED,
    Decided.RELEASED: Status.OK,
    Decided.DERIVED: Status.DERIVED,
    Decided.SUPPRESSED: Status.SUPPRESSED,
}
CHARGE_UNIT = 10**15
"""Charges of cells are kept in whole parts of this."""


class SuppressionMethod:
    """`method: suppression`."""

    declaration: ClassVar[Declaration] = DECLARATION
    remembers: ClassVar[bool] = True

    def settings(self, parameters: Mapping[str, Any]) -> Settings:
        """Read and check the parameters a policy gives."""
        return read(parameters)

    def record_counts(self, facts: Facts) -> tuple[Count, ...]:
        """What to count of freshly loaded records: people of each kind, and by each attribute."""
        return records_fit.counts(read(facts.policy.parameters(DECLARATION.name)), facts)

    def check_records(self, facts: Facts, tables: Sequence[TrueTable]) -> None:
        """Refuse records that populations have no room for or the prior rules out; told at load only."""
        records_fit.check(read(facts.policy.parameters(DECLARATION.name)), facts, tables)

    def plan(self, question: Question, treatment: Treatment, facts: Facts) -> Plan:
        """Whether the totals may come out, from public facts and what was released before."""
        check_unit(facts.description)
        _one_record(facts)
        settings = read(facts.policy.parameters(DECLARATION.name))
        spec = _one_table(question, facts)
        attribute = _attribute(question, settings, facts)
        noted = {
            "attribute": attribute.name,
            "cells": question.settings.get("cells", settings.asked.get("cells", "yes")),
            "epsilon": plain(settings.epsilon),
            "delta": plain(settings.delta),
            "order": settings.order,
            "rule": settings.rule,
            "priorities": ",".join(settings.priorities),
            "model": settings.fingerprints[attribute.name],
        }
        bins = question.settings.get("bins", settings.asked.get("bins", "no"))
        if bins != "no":  # in the question where they are asked for: others stay what they were
            noted["bins"] = bin_axes.resolve(bins, spec, noted["cells"], facts.description)
        question = question.without_shares().resolve(noted)
        digest = base.question_hash(question, facts)
        people = read_people(settings.populations, attribute, facts.description)
        people.cells(spec, facts.description)  # an axis it does not have is refused at once
        before = past(spec, attribute.name, noted, people, settings, facts, digest)
        table = _planned(spec, people, settings, before, noted, facts)
        charge = {**noted, "margins": plain(Fraction(max(table.margin_charges, default=0.0)))}
        cells = published_cells(spec, facts.description)
        return Plan(
            method=DECLARATION.name,
            question=question,
            question_hash=digest,
            counts=(_count(spec, attribute, facts),),
            guarantee=words.promise(settings, attribute, people, facts.description),
            errors=(ExpectedError(spec, cells, 0.0, 0, note=prospects.outlook(table)),),
            charge=Charge.record("suppression", charge, question=digest),
            warnings=prospects.warnings(table),
            counted=words.counted(attribute, facts.description),
            detail=(table, attribute, facts.data_version),
        )

    def forecast(self, plan: Plan, control: Control) -> str:
        """How tables drawn from the prior come out."""
        table, _, _ = base.own_part(plan, tuple)
        assert isinstance(table, TablePlan)
        return prospects.forecast(table, control)

    def measure(
        self, plan: Plan, tables: Sequence[TrueTable], secrets: Secrets, control: Control
    ) -> Measurements:
        """Decide, and read what was decided to be released."""
        table, attribute, version = base.own_part(plan, tuple)
        assert isinstance(table, TablePlan)
        assert isinstance(attribute, Attribute)
        counts = _true_counts(tables[0], attribute)
        if not table.fits(counts):
            raise DataError(
                say(
                    "The records do not fit the public populations, so nothing can be decided. The "
                    "custodian finds out where with `discreet check`."
                )
            )
        result = table.run(counts, control)
        noted = {name: plan.question.settings[name] for name in plan.question.settings}
        charged = [rounded_up(Fraction(one), 17) for one in result.charged]
        told = {**noted, "charged": charged, "data_version": version, "solvers": result.solvers}
        if attribute.related:
            told["related"] = sorted(attribute.related)
        if result.bins:
            told["binned"] = [list(of) for of in result.bins]
        charges = np.ceil(np.array(result.charges) * CHARGE_UNIT).astype(np.int64)
        arrays = {"values": result.values, "decided": result.decided, "charges": charges}
        return Measurements(arrays, {"suppression": {**told, "order_of_cells": result.order}})

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        """The table, each cell with its count or its star."""
        spec = plan.question.tables[0]
        told = measurements.facts["suppression"]
        settings = read(facts.policy.parameters(DECLARATION.name))
        attribute = settings.attributes[told["attribute"]]
        decided = measurements.arrays["decided"]
        status = np.array([_STATUS[one] for one in Decided], dtype=np.uint8)[decided]
        shown = np.isin(decided, (Decided.RELEASED, Decided.DERIVED))
        values = np.where(shown, measurements.arrays["values"], 0)
        binned = told.get("binned", ())
        return (
            protected(
                plan,
                spec,
                facts,
                base.provenance(plan, facts),
                domain=bin_axes.joined_domain(facts.description.domain(spec.axes), binned),
                values=values,
                status=status,
                law=CellLaw(
                    cells=(MarginLaw(None, None),),
                    about={
                        "counts": plan.counted,
                        "risk_unit": f"1/{CHARGE_UNIT}",
                        "risk_axes": [ref.level for ref in spec.axes],
                        "risk": measurements.arrays["charges"].ravel().tolist(),
                        "order_of_cells": told["order_of_cells"],
                    },
                ),
                notes=(*_notes(told, attribute, decided, facts), *bin_axes.notes(binned, spec)),
            ),
        )


def _one_record(facts: Facts) -> None:
    if facts.description.records_per_unit != 1:
        raise Refusal(
            say(
                "One {unit} may have {records_per_unit} records, and suppression promises "
                "something to people with one record each: populations and prior are of "
                "people, not of records.",
                unit=unit_words(facts.description.unit),
                records_per_unit=facts.description.records_per_unit,
            ),
            rule="one-record",
            alternatives=(say("set `records_per_unit: 1` and load one record for each unit"),),
        )


def _planned(
    spec: TableSpec,
    people: PublicPeople,
    settings: Settings,
    before: Past,
    noted: dict[str, str],
    facts: Facts,
) -> TablePlan:
    """The plan of a table; where its totals are unsafe, the refusal names coarser ones that are not."""
    try:
        return TablePlan.made(spec, people, settings, before, noted, facts.description)
    except Refusal as refusal:
        if refusal.rule != "unsafe-totals":
            raise
        safe = safe_alternatives(spec, people, settings, before, noted, facts.description)
        raise Refusal(
            refusal.message, rule=refusal.rule, alternatives=(*safe, *refusal.alternatives)
        ) from None


def _one_table(question: Question, facts: Facts) -> TableSpec:
    """The one table of a question, as it can be decided; refused where it cannot."""
    if len(question.tables) != 1:
        raise Refusal(
            say(
                "Suppression decides one table at a time, got {many}: each stands on what came "
                "out before it. Ask for them one after the other.",
                many=len(question.tables),
            ),
            rule="one-table",
        )
    spec = question.tables[0]
    if spec.weighted:
        raise RecipeError(
            say("Suppression counts people and has no weighted tables. Leave weighted out.")
        )
    if len(spec.axes) > 2 or len({ref.variable for ref in spec.axes}) < len(spec.axes):
        raise Refusal(
            say(
                "A suppression table is by at most two different variables, got {many} axes: "
                "what a larger one tells cannot be worked out exactly.",
                many=len(spec.axes),
            ),
            rule="two-way",
            alternatives=(say("leave out a variable, or make it a filter"),),
        )
    if spec.axes and not spec.totals:
        raise Refusal(
            say(
                "A suppression table comes with its totals: they are decided first, and all "
                "cells on them."
            ),
            rule="with-totals",
            alternatives=(say("leave totals as they are"),),
        )
    return spec


def _attribute(question: Question, settings: Settings, facts: Facts) -> Attribute:
    """The private attribute that is asked for."""
    asked = question.settings.get("attribute", settings.asked.get("attribute", ""))
    known = settings.attributes
    if not asked and len(known) == 1:
        asked = next(iter(known))
    by_form = {name.casefold(): name for name in known}
    if asked.casefold() not in by_form:
        raise RecipeError(
            f"attribute must be one of {', '.join(known)}, got {asked[:40] or 'none'}."
            f"{did_you_mean(asked, known)}"
        )
    attribute = known[by_form[asked.casefold()]]
    variable = facts.description.variable(attribute.name)
    if variable.role != "private":
        raise Refusal(
            say(
                "{name} is not declared private: write `role: private` with its variable.",
                name=attribute.name,
            ),
            rule="private-attribute",
        )
    codes = variable.finest.codes
    if attribute.integers:
        if sorted(codes, key=lambda c: (len(c), c)) != [str(a) for a in range(len(codes))]:
            raise RecipeError(
                f"{attribute.name} is counted as whole numbers, so its codes must be 0, 1, 2 and on."
            )
    elif not set(attribute.counts) < set(codes):
        raise RecipeError(
            f"attributes.{attribute.name}.counts must be some of its codes {', '.join(codes)[:80]}."
        )
    return attribute


def _finest(name: str, facts: Facts) -> AxisRef:
    return AxisRef(name, facts.description.variable(name).finest.name)


def _count(spec: TableSpec, attribute: Attribute, facts: Facts) -> Count:
    return Count((*spec.axes, _finest(attribute.name, facts)), spec.where)


def _true_counts(table: TrueTable, attribute: Attribute) -> Whole:
    """The true count, or sum, of every cell; the attribute is the last axis."""
    cells = true_values.reveal(table)
    cube = true_values.dense(table.domain, cells.addresses, cells.counts)
    codes = table.domain.axes[-1].level.codes
    worth = [int(code) if attribute.integers else int(code in attribute.counts) for code in codes]
    summed: Whole = (cube * np.array(worth, dtype=np.int64)).sum(axis=-1)
    return summed.ravel()


def _notes(
    told: Mapping[str, Any], attribute: Attribute, decided: Whole, facts: Facts
) -> tuple[str, ...]:
    """What readers are told under the table."""
    spent = max(float(one) for one in told["charged"])
    notes = [
        say(
            "Each number is exact: the {attribute}.",
            attribute=words.counted(attribute, facts.description),
        ),
        say(
            "This table spent {spent} of δ = {delta}; cells were decided in the order "
            "{order}, by the {rule} rule.",
            spent=number(words.rounded_up_float(spent)),
            delta=number(told["delta"]),
            order=words.CHOICES.get(told["order"], told["order"]),
            rule=words.CHOICES.get(told["rule"], told["rule"]),
        ),
    ]
    if (decided == Decided.SUPPRESSED).any():
        notes.insert(1, words.STAR)
    if (decided == Decided.DERIVED).any():
        notes.append(
            say("Derived numbers follow from the totals and the other numbers: they are public.")
        )
    return tuple(notes)
