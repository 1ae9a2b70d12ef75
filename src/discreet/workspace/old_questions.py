"""Questions as version 0.1 wrote them, in the form of today.

Its ledger knew a question by the words it was asked in and by the whole policy; today a question is
known by what was measured. What was measured is stored with every answer: laws, margins, what was
spent. An answer gets a name of today where a plan of today is exactly that, law by law and charge by
charge; where none is, it stays in the ledger under its old name alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..core.charge import Charge
from ..core.description import Description, Policy
from ..core.domain import AxisRef, Condition, Count
from ..core.exact import plain
from ..core.loss import ApproxLoss, ZcdpLoss
from ..core.question import Question, Treatment
from ..errors import Bug, InputError, Refusal
from ..methods import registry
from ..methods.base import Facts, Measurements, Plan, as_measured
from ..methods.declaration import Declaration, Part
from ..recipe import from_mapping
from ..store import StoredAnswer
from ..store.sqlite.ledger_upgrade import Carried
from . import versions
from .dataset import DataSet
from .loading import coding_digest

Zeros = frozenset[frozenset[tuple[str, str, tuple[str, ...]]]]
_FOUND = ("epsilon", "rho", "within", "of", "law", "plan")
"""Settings that are read off what was measured, whatever the question said."""

_LEAST_FACTOR = 0.8
"""How much smaller Gaussian noise may have become for one (ε, δ)."""


class OldQuestions:
    """Gives answers of version 0.1 the names they have today."""

    def __init__(self, data: DataSet, zeros: Mapping[str, Zeros]) -> None:
        self._zeros = {**zeros, data.policy.version: zeros_of(data.description)}
        self._facts = _facts_by_version(data)
        self.left: list[str] = []
        """Which answers have no name of today, and why."""
        self.unknown = 0
        """Answers under policies whose text is not kept: their structural zeros are taken for today's."""

    def carried(self, stored: StoredAnswer) -> Carried | None:
        """An answer's name of today; None where it has none, or has had it from the start."""
        measurements = Measurements.from_bytes(stored.measurements)
        form = measurements.facts.get("question", {})
        if "parameters" not in form:
            return None
        plan, why = self._plan(stored, measurements)
        if plan is None:
            self.left.append(f"entry {stored.receipt['entry']}: {why}")
            return None
        self.unknown += stored.policy_version not in self._zeros
        return Carried(stored.question, plan.question_hash, plan.question.canonical(), form)

    def _plan(self, stored: StoredAnswer, measurements: Measurements) -> tuple[Plan | None, str]:
        facts = self._facts.get(stored.data_version)
        if facts is None:
            return None, "its data are described otherwise now, or are gone"
        today = zeros_of(facts.description)
        same = self._zeros.get(stored.policy_version, today) == today
        if not same or not _zeros_are_zero(measurements, facts.description):
            return None, "its structural zeros were others"
        plan = todays_plan(measurements, stored.charges, facts)
        return plan, "no question of today measures the same"


def hash_of(data: DataSet, recipe: Mapping[str, Any]) -> str:
    """The name of a recipe's question."""
    asked = from_mapping(recipe, data.description, data.policy)
    method = registry.get(asked.question.method)
    return method.plan(asked.question, asked.treatment, data.facts).question_hash


def zeros_in(policy: Mapping[str, Any]) -> Zeros:
    """The structural zeros a policy of the server's list names."""
    return frozenset(
        frozenset((variable, level, tuple(sorted(codes))) for variable, level, codes in zero)
        for zero in policy["structural_zeros"]
    )


def zeros_of(description: Description) -> Zeros:
    """The structural zeros of a description, to be compared."""
    zeros = [
        [(part.variable, part.level, part.codes) for part in zero.conditions]
        for zero in description.structural_zeros
    ]
    return zeros_in({"structural_zeros": zeros})


def _facts_by_version(data: DataSet) -> dict[str, Facts]:
    """Public facts for each version of the data that is coded as it is described today."""
    coding, description = coding_digest(data.described.coding), data.description
    by_version = {}
    for _, manifest in versions.intact(data.folder):
        if manifest.coding != coding:
            continue
        records = None if description.records is None else manifest.records
        then = replace(description, records=records)
        by_version[manifest.data_version] = replace(
            data.facts, data_version=manifest.data_version, description=then
        )
    return by_version


def _zeros_are_zero(measurements: Measurements, description: Description) -> bool:
    """Whether nothing was measured where today nothing can be."""
    for margin in measurements.facts.get("margins", ()):
        axes = tuple(AxisRef(*axis) for axis in margin["axes"])
        where = tuple(Condition(v, level, tuple(codes)) for v, level, codes in margin["where"])
        mask = description.zero_mask(Count(axes, where))
        if mask is not None and measurements.arrays[margin["name"]][mask].any():
            return False
    return True


def todays_recipe(recipe: Mapping[str, Any], method: str = "") -> dict[str, Any]:
    """A recipe of version 0.1, or the settings for a method in it, in the words of today.

    >>> todays_recipe({"objective": "hybrid non-fourier"}, "marginals")
    {'objective': 'hybrid', 'noise_on': 'cells'}
    """
    settings, written = dict(recipe), recipe.get("objective") is not None
    of_marginals = (method or recipe.get("method")) == "marginals"
    if of_marginals and written and "noise_on" not in settings:
        words = " ".join(str(settings["objective"]).lower().split())
        settings["objective"] = words.removesuffix(" non-fourier")
        settings["noise_on"] = "coefficients" if words == settings["objective"] else "cells"
    return settings


def todays_plan(
    measurements: Measurements, charges: tuple[Charge, ...], facts: Facts
) -> Plan | None:
    """Today's plan that measures what these measurements of version 0.1 are; None if none does."""
    form = measurements.facts["question"]
    method, declared = registry.get(form["method"]), registry.declaration(form["method"])
    tables = Question.from_canonical({**form, "settings": {}}).tables
    for policy in (_without_limits(facts.policy, declared), replace(facts.policy, methods={})):
        public = replace(facts, policy=policy)
        for settings in _settings(form, measurements.facts, charges[0], declared):
            question = Question(form["dataset"], tables, declared.name, settings)
            try:
                plan = method.plan(question, Treatment(), public)
                again = as_measured(method, plan, measurements, public)
            except (Bug, InputError, Refusal):
                continue
            charge = again.charge if _is_calibrated(plan) else plan.charge
            if _alike(again, plan) and charge and _spends(charge) == _spends(*charges):
                return plan
    return None


def _settings(
    form: Mapping[str, Any], measured: Mapping[str, Any], charge: Charge, declared: Declaration
) -> Iterator[dict[str, str]]:
    """What the question may be called today: what it said, and what was measured for it."""
    try:
        settings = declared.read(todays_recipe(form["parameters"], declared.name))[Part.MEASURED]
    except InputError:
        return
    settings = {name: value for name, value in settings.items() if name not in _FOUND}
    loss = charge.loss
    if isinstance(loss, ZcdpLoss):
        settings["rho"] = plain(loss.rho)
    elif loss is not None:
        settings["epsilon"] = plain(loss.epsilon)
    margins = measured.get("margins")
    if margins is None:
        yield settings
        yield from (
            {**settings, "mode": mode} for mode in ("modern", "classic") if "mode" not in settings
        )
        return
    laws = [margin["law"] for margin in margins]
    settings["law"] = laws[0]["name"]
    if isinstance(loss, ApproxLoss) and settings["law"] == "gaussian":
        settings["delta"] = plain(loss.delta)
    if not any("share" in table for table in form["tables"]):
        settings["plan"] = measured["plan"]
    yield settings
    cut = {law.get("max_perturbation") for law in laws}
    if len(cut) == 1 and None not in cut:
        settings = {name: value for name, value in settings.items() if name != "delta"}
        yield {**settings, "max_perturbation": cut.pop()}


def _without_limits(policy: Policy, declared: Declaration) -> Policy:
    """The policy without what it may have forbidden since."""
    written = {
        name: value
        for name, value in policy.parameters(declared.name).items()
        if name in declared.by_name and declared.by_name[name].part is not Part.POLICY
    }
    return replace(policy, methods={**policy.methods, declared.name: written})


def _alike(first: Plan, second: Plan) -> bool:
    """Whether two plans measure alike; in which order is of no account."""
    if first is second:
        return True
    if first.counts != second.counts:
        return False
    sds = [[error.noise_sd for error in plan.errors] for plan in (first, second)]
    if _is_calibrated(second):  # all noise was larger by one factor
        ratios = [new / old for old, new in zip(*sds, strict=True)]
        return all(_LEAST_FACTOR < r <= 1 and abs(r - ratios[0]) < 1e-3 for r in ratios)
    return all(map(math.isclose, *sds))


def _is_calibrated(plan: Plan) -> bool:
    """Whether its noise is found from (ε, δ), which went through ρ in version 0.1."""
    settings = plan.question.settings
    return settings.get("law") == "gaussian" and "epsilon" in settings


def _spends(*charges: Charge) -> list[dict[str, Any]]:
    """Charges apart from the name of their question."""
    return [{**charge.to_json(), "question": ""} for charge in charges]
