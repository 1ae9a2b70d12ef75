"""The ration method: the first questions get rounded counts, all later ones get stars.

No protection is claimed. It is here because what it decides depends on what was released before,
and because two questions at once must not both be the last one that gets numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from discreet.core import true_values
from discreet.core.charge import Charge
from discreet.core.control import Control
from discreet.core.guarantee import Guarantee, Kind
from discreet.core.question import Question, Treatment
from discreet.core.table import ProtectedTable, Status, TrueTable
from discreet.errors import InputError
from discreet.methods import base
from discreet.methods.base import Facts, Measurements, Plan, Secrets
from discreet.methods.declaration import Declaration
from discreet.methods.shared.assembly import protected, zero_status

from .declaration import DECLARATION


class RationMethod:
    declaration: ClassVar[Declaration] = DECLARATION
    remembers: ClassVar[bool] = True

    def settings(self, parameters: Mapping[str, Any]) -> dict[str, str]:
        return DECLARATION.read_policy(parameters, InputError)

    def plan(self, question: Question, treatment: Treatment, facts: Facts) -> Plan:
        policy = self.settings(facts.policy.parameters("ration"))
        step = question.settings.get("step", policy.get("step", "10"))
        question = question.resolve({"step": step})
        digest = base.question_hash(question, facts)
        before = 0 if facts.history is None else len(facts.history.answers)
        gives = before < int(policy.get("questions", "2"))
        return Plan(
            method="ration",
            question=question,
            question_hash=digest,
            treatment={"hide_zeros": treatment.settings.get("hide_zeros", "no")},
            counts=tuple(spec.count for spec in question.tables),
            guarantee=Guarantee(Kind.NONE, "person", "add or remove one"),
            errors=(),
            charge=Charge.record("ration", {"gives": str(gives)}, question=digest),
            detail=gives,
        )

    def measure(
        self, plan: Plan, tables: Sequence[TrueTable], secrets: Secrets, control: Control
    ) -> Measurements:
        step, arrays = int(plan.question.settings["step"]), {}
        for number, (spec, table) in enumerate(zip(plan.question.tables, tables, strict=True)):
            cells = true_values.reveal(table)
            cube = true_values.cube(table.domain.shape, cells.addresses, cells.counts, spec.totals)
            arrays[f"t{number:03}"] = (cube + step // 2) // step * step
        stars = {name: np.full_like(values, -1) for name, values in arrays.items()}
        return Measurements(arrays if plan.detail else stars, {"gives": bool(plan.detail)})

    def fit(
        self, plan: Plan, measurements: Measurements, facts: Facts, control: Control
    ) -> tuple[ProtectedTable, ...]:
        made = []
        where = base.provenance(plan, facts)
        for number, spec in enumerate(plan.question.tables):
            values = measurements.arrays[f"t{number:03}"]
            status = zero_status(spec, facts.description)
            status[values < 0] = Status.SUPPRESSED
            if plan.treatment["hide_zeros"] == "yes":
                status[values == 0] = Status.LOW
            shown = np.where(status == Status.OK, values, 0)
            made.append(protected(plan, spec, facts, where, values=shown, status=status))
        return tuple(made)
