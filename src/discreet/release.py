"""The one flow: recipe → plan → check → count → measure → commit → fit → judge → publish.

Command line, server and Python API all come through here; a custodian's batch and an analyst's
single table differ only in the length of the recipe. Nothing but this flow is in this module.

    preview   recipe → plan → check                                 public facts only, reads no data
    release   … → count → measure → commit → fit → judge            what may be published
    derive    recipe → an earlier release's measurements → fit      costs nothing, reads no data
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from . import rules
from .arranging import arranged
from .core.charge import Charge
from .core.control import Control
from .core.domain import AxisRef
from .core.loss import in_words
from .core.question import TableSpec
from .core.table import ProtectedTable
from .errors import Alternative, Bug, InputError, Refusal
from .methods import registry
from .methods.base import Facts, Measurements, Method, Plan, as_measured
from .recipe import Question, Recipe

if TYPE_CHECKING:
    from .store import Ledger, StoredAnswer
    from .workspace import DataSet

__all__ = ["Preview", "Release", "derive", "fitted", "preview", "release", "released"]


_BUDGETS = {"epsilon", "delta", "rho"}
NEWEST = 50
"""How many of the last releases a preview looks at for one the question follows from."""


@dataclass(frozen=True)
class Preview:
    """What would happen, from public facts: verdict, plan, cost, and what is left."""

    plan: Plan
    verdict: rules.Verdict
    answered: bool
    """The same question has been answered before: asking again costs nothing."""
    left: str | None
    """What is left of the budget, in words; None where nothing is charged."""
    affordable: bool
    follows_from: str | None = None
    """The question hash of an earlier release this follows from at no cost, if there is one."""

    def to_json(self) -> dict[str, Any]:
        """The preview as plain values, the same on the command line and over HTTP."""
        plan = self.plan
        return {
            "allowed": self.verdict.allowed,
            "affordable": self.affordable,
            "breaches": [{"rule": b.rule, "sentence": b.sentence} for b in self.verdict.breaches],
            "alternatives": list(self.verdict.alternatives),
            "cells": self.verdict.cells,
            "method": plan.method,
            "cost": None if plan.charge is None else str(plan.charge.loss),
            "answered_before": self.answered,
            "left": self.left,
            "guarantee": plan.guarantee.to_json(),
            "errors": [
                {
                    "axes": [str(ref) for ref in error.table.axes],
                    "cells": error.cells,
                    "noise_sd": error.noise_sd,
                    "within_95": error.half_width,
                    "totals_sd": dict(error.totals_sd),
                    "note": error.note,
                }
                for error in plan.errors
            ],
            "plans": [dict(other) for other in plan.alternatives],
            "warnings": list(plan.warnings),
        }


@dataclass(frozen=True)
class Release:
    """What was released: tables with their guarantee, the plan behind them, what it cost."""

    recipe: Recipe
    plan: Plan
    tables: tuple[ProtectedTable, ...]
    reused: bool
    """The answer was there already and nothing was charged."""
    left: str | None
    receipt: Mapping[str, Any]
    """Ledger entry and head hash of a charged release; empty for a keyed one."""


def preview(
    data: DataSet, recipe: Recipe, *, user: str = "", project: str = "", earlier: bool = True
) -> Preview:
    """Plan and check a recipe; reads no data and spends nothing.

    With `earlier`, look whether the question follows from one of the last releases.
    """
    method = _method(data, recipe)
    verdict = rules.judge(recipe.question, data.description, data.policy)
    if verdict.cells > rules.DEFAULT_MOST_CELLS:
        verdict.enforce()  # planning a table nobody may have could take long
    plan = method.plan(recipe.question, data.facts)
    if not method.drawn:
        return Preview(plan, verdict, answered=False, left=None, affordable=True)
    ledger = data.ledger()
    answered = ledger.find(plan.question_hash) is not None
    affordable = answered or ledger.affords(_charge(plan), user=user, project=project)
    left = in_words(ledger.left(user=user, project=project), left=True)
    follows = None
    if earlier and not answered:
        plan = replace(plan, warnings=(*plan.warnings, *_charged_again(data, ledger, recipe)))
        found = _earlier(data, ledger, recipe.question)
        follows = next((f.plan.question_hash for f in found if _noise_of(f.plan) < math.inf), None)
    return Preview(plan, verdict, answered, left, affordable, follows)


def _charged_again(data: DataSet, ledger: Ledger, recipe: Recipe) -> tuple[str, ...]:
    """A word to who asks again what was answered on other data or under another policy."""
    current = (data.data_version, data.policy.version)
    asked: dict[tuple[str, str], str] = {}
    for entry in ledger.entries():
        if entry.kind == "charge":
            version = (entry.body["data_version"], entry.body["policy_version"])
            if version not in asked:
                hashed = recipe.question.hash(data_version=version[0], policy_version=version[1])
                asked[version] = hashed
            if version != current and asked[version] == entry.body["question"]:
                what = "other data" if version[0] != current[0] else "another policy version"
                return (
                    f"The same question was answered on {entry.at[:10]} with {what}; asked now it "
                    "is a new one: it gets new noise and is charged again.",
                )
    return ()


def release(
    data: DataSet,
    recipe: Recipe,
    *,
    user: str = "",
    project: str = "",
    idempotency_key: str | None = None,
    control: Control | None = None,
    hold: str | None = None,
) -> Release:
    """Answer a recipe: charged before anything leaves, the same numbers for ever.

    `hold` is the budget that was held in the ledger for this question, if any was.
    """
    control = control or Control()
    method = _method(data, recipe)
    control.step(0.0, "planning")
    rules.judge(recipe.question, data.description, data.policy).enforce()
    plan = method.plan(recipe.question, data.facts)
    if method.drawn:
        ledger = data.ledger()
        measurements, reused, receipt = _drawn(
            data, ledger, method, plan, user, project, idempotency_key, control, hold
        )
        plan = as_measured(method, plan, measurements, data.facts)
        left: str | None = in_words(ledger.left(user=user, project=project), left=True)
    else:
        measurements, reused = _keyed(data, method, plan, control)
        receipt, left = {}, None
    control.step(0.9, "fitting")
    measurements = fitted(data, method, plan, measurements, control)
    tables = method.fit(plan, measurements, data.facts, control)
    control.step(1.0, "done")
    made = _finished(data, recipe, plan, tables, left, receipt)
    return replace(made, reused=reused)


def _finished(
    data: DataSet,
    recipe: Recipe,
    plan: Plan,
    tables: Sequence[ProtectedTable],
    left: str | None,
    receipt: Mapping[str, Any],
) -> Release:
    """The fitted tables as the recipe wants them: filtered categories cut, axes in order."""
    shown = arranged(tables, recipe, data.description)
    if data.notes:
        shown = tuple(replace(table, notes=(*table.notes, *data.notes)) for table in shown)
    return Release(recipe, plan, shown, True, left, receipt)


def derive(
    data: DataSet, recipe: Recipe, *, newest: int | None = None, control: Control | None = None
) -> Release:
    """Answer a recipe from earlier releases: nothing is read, drawn or charged.

    Any method of the data set's family may have made them. Of several releases it follows from,
    the one with the least noise answers, or where it follows from models only the one that knows its
    pairs of variables best; with `newest` only so many of the last ones are looked at.
    """
    control = control or Control()
    method = _method(data, recipe)
    rules.judge(recipe.question, data.description, data.policy).enforce()
    ledger = data.ledger() if method.drawn else None
    found = [] if ledger is None else list(_earlier(data, ledger, recipe.question, newest))
    if ledger is None or not found:
        raise Refusal(
            "This table does not follow from anything released so far on this version of the data "
            "and its policy. What was released before a load of other data or a change of policy is "
            "in its files, and is not read from.",
            rule="nothing-released",
            alternatives=("ask for it with an epsilon, at a cost",),
        )
    plan, stored, *_ = min(found, key=lambda each: _rank(each, recipe.question, data.facts))
    made_by, measurements = registry.get(plan.method), Measurements.from_bytes(stored.measurements)
    measurements = fitted(data, made_by, plan, measurements, control)
    tables = made_by.fit(plan, measurements, data.facts, control)
    return _finished(data, recipe, plan, tables, in_words(ledger.left(), left=True), stored.receipt)


def fitted(
    data: DataSet, method: Method, plan: Plan, measurements: Measurements, control: Control
) -> Measurements:
    """The measurements with a method's long work done on them, kept for the next time."""
    work = getattr(method, "fitted", None)
    if work is None:
        return measurements
    key = f"fit {hashlib.sha256(measurements.to_bytes()).hexdigest()}"
    stored = data.results().get(key)
    if stored is not None:
        return Measurements.from_bytes(stored)
    made: Measurements = work(plan, measurements, control)
    data.results().put(key, made.to_bytes())
    return made


class _Found(NamedTuple):
    """A plan that reads a question off a release, and the release's own plan."""

    plan: Plan
    stored: StoredAnswer
    source: Plan


def released(
    data: DataSet, ledger: Ledger, newest: int | None = None
) -> Iterator[tuple[Question, StoredAnswer]]:
    """What was released on this data and policy version, the newest first."""
    current = (data.data_version, data.policy.version)
    charges = [
        entry.body
        for entry in ledger.entries()
        if entry.kind == "charge"
        and (entry.body["data_version"], entry.body["policy_version"]) == current
    ]
    for body in charges[::-1][:newest]:
        stored = ledger.find(body["question"])
        form = stored and Measurements.from_bytes(stored.measurements).facts.get("question")
        if stored is not None and form and form["method"] in registry.names():
            yield Question.from_canonical(form), stored


def _earlier(
    data: DataSet, ledger: Ledger, question: Question, newest: int | None = NEWEST
) -> Iterator[_Found]:
    """Plans that fit a question from what was released on this data and policy version."""
    wanted = _variables(question)
    for asked, stored in released(data, ledger, newest):
        method = registry.get(asked.method)
        planned = getattr(method, "derive", None)
        if planned is None or not wanted <= _variables(asked):
            continue
        if method.name != question.method and not set(question.parameters) <= _BUDGETS:
            continue  # what else is set is a wish to another method
        try:
            made = method.plan(asked, data.facts)
            measured = Measurements.from_bytes(stored.measurements)
            made = as_measured(method, made, measured, data.facts)
        except (InputError, Refusal):  # a variable is not declared any more, say
            continue
        follows = planned(made, question, data.facts)
        if follows is not None:
            yield _Found(follows, stored, made)


def _variables(question: Question) -> set[str]:
    axes = {ref.variable for table in question.tables for ref in table.axes}
    return axes | {part.variable for table in question.tables for part in table.where}


def _noise_of(plan: Plan) -> float:
    """The noise of all tables together; infinite where one follows from a model only."""
    return sum(error.noise_sd for error in plan.errors)


def _rank(found: _Found, question: Question, facts: Facts) -> tuple[float, float]:
    """The noise of all tables together; of models, that of all their variables and pairs of them.

    A pair that was not measured counts as ten times its noisier variable: worse than any pair of
    a release of the same size, better than one whose noise drowns everything.
    """
    noise = _noise_of(found.plan)
    if noise < math.inf:
        return noise, 0.0
    method: Any = registry.get(found.source.method)
    sds: dict[tuple[AxisRef, ...], float] = {}
    for table in question.tables:
        refs = {c.variable: AxisRef(c.variable, c.level) for c in table.where}
        refs |= {ref.variable: ref for ref in table.axes}
        sides = sorted(refs.values())
        for kept in [*combinations(sides, 1), *combinations(sides, 2)]:
            part = replace(question, tables=(TableSpec(kept),))
            plan = method.derive(found.source, part, facts)
            sds[kept] = math.inf if plan is None else _noise_of(plan)
            if len(kept) == 2 and sds[kept] == math.inf:
                sds[kept] = 10 * max(sds[kept[:1]], sds[kept[1:]])
    return noise, sum(sds.values())


def _method(data: DataSet, recipe: Recipe) -> Method:
    """The method a question names, if it is of the data set's family (rule 7)."""
    wanted = recipe.question.method
    if wanted == data.policy.method and wanted not in registry.names():
        raise Refusal(
            f"{data.name} is protected by {wanted}, which this version of discreet does not have "
            f"(it has {', '.join(registry.names())}). Install a newer discreet, or make a data set of "
            "another family.",
            rule="method-not-here",
        )
    method = registry.get(wanted)
    if method.family != data.policy.family:
        allowed = [n for n in registry.names() if registry.get(n).family == data.policy.family]
        raise Refusal(
            f"{data.name} serves the {data.policy.family} family only, and {method.name} is of the "
            f"{method.family} family: kinds of guarantee do not mix.",
            rule="one-family",
            alternatives=[Alternative(f"use method {name}", {"method": name}) for name in allowed],
        )
    return method


def _measure(data: DataSet, method: Method, plan: Plan, control: Control) -> Measurements:
    control.step(0.1, "counting")
    tables = data.engine().count(
        plan.counts, keys=plan.needs_keys, weights=plan.needs_weights, control=control
    )
    control.step(0.6, "protecting")
    return method.measure(plan, tables, data.secrets, control)


def _keyed(
    data: DataSet, method: Method, plan: Plan, control: Control
) -> tuple[Measurements, bool]:
    cache = data.results()
    stored = cache.get(plan.question_hash)
    if stored is not None:
        return Measurements.from_bytes(stored), True
    measurements = _measure(data, method, plan, control)
    cache.put(plan.question_hash, measurements.to_bytes())
    return measurements, False


def _drawn(
    data: DataSet,
    ledger: Ledger,
    method: Method,
    plan: Plan,
    user: str,
    project: str,
    idempotency_key: str | None,
    control: Control,
    hold: str | None,
) -> tuple[Measurements, bool, Mapping[str, Any]]:
    charge = _charge(plan)
    stored = ledger.find(plan.question_hash)
    reused = stored is not None
    if stored is None:
        ledger.require(charge, user=user, project=project, hold=hold)
        measurements = _measure(data, method, plan, control)
        facts = {**measurements.facts, "question": plan.question.canonical()}
        ours = replace(measurements, facts=facts).to_bytes()
        stored = ledger.commit(
            charge,
            ours,
            idempotency_key=idempotency_key or plan.question_hash,
            user=user,
            project=project,
            data_version=data.data_version,
            policy_version=data.policy.version,
            hold=hold,
        )
        # somebody who asked the same at the same moment was charged, not this asker
        reused = stored.measurements != ours
    return Measurements.from_bytes(stored.measurements), reused, stored.receipt


def _charge(plan: Plan) -> Charge:
    if plan.charge is None:
        raise Bug(f"The drawn method {plan.method} planned no charge.")
    return plan.charge
