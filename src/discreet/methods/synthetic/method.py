"""The synthetic method: counts of records that were made from a release, as they are.

It adds nothing, because nothing is left to protect: the records were computed from protected
measurements alone and keep their guarantee. For that reason it plans nothing without the verified
`Origin` of the records, which no version loaded from a source has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from ...core import true_values
from ...core.cell_law import CellLaw, MarginLaw
from ...core.control import Control
from ...core.origin import Origin
from ...core.question import Question, TableSpec, Treatment
from ...core.table import ProtectedTable, TrueTable
from ...errors import InputError, RecipeError, Refusal
from ...languages import number, say
from .. import base
from ..base import Facts, Measurements, Plan, Secrets
from ..declaration import Declaration
from ..shared.assembly import protected, zero_status
from .declaration import DECLARATION


class SyntheticMethod:
    """`method: synthetic`."""

    declaration: ClassVar[Declaration] = DECLARATION

    def settings(self, parameters: Mapping[str, Any]) -> None:
        """Nothing can be set: there is nothing to protect."""
        for name in parameters:
            raise InputError(f"Method synthetic has no settings, got {name}. Leave it out.")

    def plan(self, question: Question, treatment: Treatment, facts: Facts) -> Plan:
        """What to count; refused for records that were not made from a release."""
        origin = facts.origin
        if origin is None:
            raise Refusal(
                say(
                    "Method synthetic publishes counts as they are, and the records of {name} were "
                    "not made from a release by `discreet synthetic`. Use a method that protects.",
                    name=facts.description.name,
                ),
                rule="not-synthetic",
            )
        for spec in question.tables:
            if spec.weighted:
                raise RecipeError(
                    say("{name} has no weight, so no weighted counts.", name=facts.description.name)
                )
        question = question.without_shares().resolve({})
        return Plan(
            method=DECLARATION.name,
            question=question,
            question_hash=base.question_hash(question, facts),
            counts=tuple(spec.count for spec in question.tables),
            guarantee=origin.guarantee.for_scope(
                say(
                    "release {release} of {dataset} and everything made from it",
                    release=origin.release[:12],
                    dataset=origin.dataset,
                )
            ),
            errors=(),
            warnings=tuple(dict.fromkeys(_error_note(origin, spec) for spec in question.tables)),
            detail=origin,
        )

    def measure(
        self, plan: Plan, tables: Sequence[TrueTable], secrets: Secrets, control: Control
    ) -> Measurements:
        """The counts, over every cell and total."""
        base.own_part(plan, Origin)
        arrays = {}
        for place, (spec, table) in enumerate(zip(plan.question.tables, tables, strict=True)):
            control.step(place / len(tables), "counting synthetic records")
            cells = true_values.reveal(table)
            arrays[base.stored_name(spec)] = true_values.cube(
                table.domain.shape, cells.addresses, cells.counts, spec.totals
            )
        return Measurements(arrays)

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        """The tables, each saying what its figures are."""
        origin = base.own_part(plan, Origin)
        provenance = base.provenance(plan, facts)
        tables = (
            protected(
                plan,
                spec,
                facts,
                replace(provenance, release=origin.release),
                values=measurements.arrays[base.stored_name(spec)],
                status=zero_status(spec, facts.description),
                law=CellLaw(cells=(MarginLaw(None, None),), about={"counts": "synthetic records"}),
                notes=(
                    say(
                        "Synthetic figures: these are counts of records made from release {release} of "
                        "{dataset}, not of the people it is about.",
                        release=origin.release[:12],
                        dataset=origin.dataset,
                    ),
                    _error_note(origin, spec),
                ),
            )
            for spec in plan.question.tables
        )
        # what these figures are must stand under every table
        return tuple(
            replace(table, guarantee=replace(table.guarantee, notices=table.notes[:2]))
            for table in tables
        )


def _error_note(origin: Origin, spec: TableSpec) -> str:
    """What is known of a table's error, in one sentence."""
    used = {ref.variable for ref in spec.axes} | {part.variable for part in spec.where}
    found = origin.measured_with(used)
    if found is None:
        return say(
            "Not fitted: the records were not made to agree with a measurement of these "
            "variables together. The numbers follow from the model only, and no error can "
            "be given."
        )
    names, sd = found
    measured = " × ".join(names) or say("the total")
    return say(
        "The release measured {measured}: before the fit one cell as measured had a "
        "standard error of {sd}; sums of cells differ. Intervals come with tables of "
        "{dataset} itself.",
        measured=measured,
        sd=number(f"{sd:.3g}"),
        dataset=origin.dataset,
    )
