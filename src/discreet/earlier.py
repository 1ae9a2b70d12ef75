"""Answers from what was released before: at no cost, without data, with the noise of that release.

A release serves for as long as what it was measured on stands: the same data version, and the same
facts that measurements depend on. Rules, limits and treatments may have changed since.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from .core.domain import AxisRef
from .core.limits import MOST_PER_QUESTION
from .core.question import Question, Recipe, TableSpec, Treatment
from .errors import InputError, Refusal
from .languages import say, together
from .methods import registry
from .methods.base import (
    Answered,
    Derives,
    Facts,
    History,
    Measurements,
    Method,
    Plan,
    as_measured,
    question_hash,
)
from .methods.declaration import LOSS_LIMITS, Part, Spends

if TYPE_CHECKING:
    from .store import LedgerStore, StoredAnswer
    from .workspace import DataSet

NEWEST = 50
"""How many of the last releases are looked at where only their existence is wanted."""


@dataclass(frozen=True)
class Source:
    """A plan that reads a question off a release, what is stored of it, and its own plan."""

    plan: Plan
    stored: StoredAnswer
    released_by: Plan


def released(
    data: DataSet,
    ledger: LedgerStore,
    without: frozenset[str] = frozenset(),
    newest: int | None = None,
) -> Iterator[tuple[Question, StoredAnswer]]:
    """What was released on this data version and still stands, the newest first."""
    for name in ledger.questions(data.data_version, newest):
        stored = None if name in without else ledger.find(name)
        if stored is None or stored.question in without:
            continue
        question = Measurements.from_bytes(stored.measurements, stored.form).question
        if question is None or question.method not in registry.names():
            continue  # of a method that this version does not have
        if question_hash(question, data.facts) == stored.question:
            yield question, stored


def question_named(data: DataSet, name: str) -> Question | None:
    """The question that a hash stands for, where its answer is stored; nothing else of it is read."""
    stored = data.ledger().find(name) if data.spends is not Spends.NOTHING else None
    if stored is not None:
        return Measurements.from_bytes(stored.measurements, stored.form).question
    kept = data.results().get(name) if data.spends is Spends.NOTHING else None
    return None if kept is None else Measurements.from_bytes(kept).question


def history(data: DataSet) -> History:
    """Everything ever released about these people, whatever the version of the data (rule 7)."""
    ledger_history = data.ledger().history()
    answers = []
    for answer in ledger_history.answers:
        measurements = Measurements.from_bytes(answer.measurements, answer.form)
        if measurements.question is not None:
            answers.append(Answered(measurements.question, answer.question, measurements))
    return History(ledger_history.head, tuple(answers))


def planned(data: DataSet, method: Method, recipe: Recipe, facts: Facts) -> Plan:
    """The plan of a recipe. What was answered stays so when the policy lowers its limits.

    The most that one question may spend is for what will be spent.
    """
    question, treatment = recipe.question, recipe.treatment
    try:
        return method.plan(question, treatment, facts)
    except Refusal as refused:
        if refused.rule != MOST_PER_QUESTION:
            raise
        plan = method.plan(question, treatment, _without_limits(facts, question.method))
        if not data.ledger().answered(plan.question_hash):
            raise
        return plan


def _without_limits(facts: Facts, method: str) -> Facts:
    limits = {limit.name for limit in LOSS_LIMITS}
    written = facts.policy.parameters(method)
    kept = {name: value for name, value in written.items() if name not in limits}
    policy = replace(facts.policy, methods={**facts.policy.methods, method: kept})
    return replace(facts, policy=policy)


def best(
    data: DataSet,
    recipe: Recipe,
    without: frozenset[str] = frozenset(),
    *,
    newest: int | None = None,
) -> Source:
    """Of several releases a question follows from the one with the least noise.

    Where it follows from models only, the one that knows its pairs of variables best.
    """
    spends = registry.declaration(recipe.question.method).spends is not Spends.NOTHING
    releases = _spent_most(_may_serve(data, recipe, without, newest)) if spends else iter(())
    candidates = list(_sources(data, recipe, releases))
    if not candidates:
        raise Refusal(
            say(
                "This table does not follow from anything released so far on this version of "
                "the data. What was released before a load of other data is in its files, and "
                "is not read from."
            ),
            rule="nothing-released",
            alternatives=(say("ask for it with an epsilon, at a cost"),),
        )
    return min(candidates, key=lambda source: _rank(source, recipe.question, data.facts))


def measured_by(data: DataSet, recipe: Recipe, without: frozenset[str] = frozenset()) -> str | None:
    """The hash of one of the last releases that measured what a recipe asks for, if any did."""
    for source in _sources(data, recipe, _may_serve(data, recipe, without, NEWEST)):
        if _noise_of(source.plan) < math.inf:
            return source.plan.question_hash
    return None


Released = Iterator[tuple[Question, "StoredAnswer"]]


def _sources(data: DataSet, recipe: Recipe, releases: Released) -> Iterator[Source]:
    """Plans that fit a recipe from what was released and still stands."""
    for asked, stored in releases:
        method = registry.get(asked.method)
        assert isinstance(method, Derives)
        measurements = Measurements.from_bytes(stored.measurements)
        try:
            plan = method.plan(asked, Treatment(), data.facts)
            if plan.question_hash != stored.question:
                continue  # what the policy says is public has changed
            plan = as_measured(method, plan, measurements, data.facts)
        except (InputError, Refusal):  # a variable is not declared any more, say
            continue
        follows = method.derive(plan, recipe.question, recipe.treatment, data.facts)
        if follows is not None:
            yield Source(follows, stored, plan)


def _may_serve(
    data: DataSet, recipe: Recipe, without: frozenset[str], newest: int | None
) -> Released:
    """Releases of all the variables that a recipe asks for, by methods that read off tables."""
    question = recipe.question
    budgets = registry.declaration(question.method).budgets
    for asked, stored in released(data, data.ledger(), without, newest):
        method = registry.get(asked.method)
        if not isinstance(method, Derives) or not question.variables <= asked.variables:
            continue
        treatments = {s.name for s in method.declaration.asked(Part.TREATED)}
        if asked.method != question.method and not (
            set(question.settings) <= budgets and set(recipe.treatment.settings) <= treatments
        ):
            continue  # what else is said is a wish to another method
        yield asked, stored


def _spent_most(releases: Released) -> Released:
    """Of releases that differ in their one budget only, the one that spent most: it has least noise."""
    best: dict[str, tuple[Fraction, tuple[Question, StoredAnswer]]] = {}
    for asked, stored in releases:
        budgets = registry.declaration(asked.method).budgets & asked.settings.keys()
        if len(budgets) != 1:
            yield asked, stored
            continue
        (budget,) = budgets
        rest = {name: said for name, said in asked.settings.items() if name != budget}
        key = json.dumps([budget, replace(asked, settings=rest).canonical()], sort_keys=True)
        spent = Fraction(asked.settings[budget])
        if key not in best or best[key][0] < spent:
            best[key] = spent, (asked, stored)
    for _, release in best.values():
        yield release


def on_other_data(data: DataSet, plan: Plan) -> tuple[str, ...]:
    """A word to who asks again what was answered on other data."""
    ledger = data.ledger()
    for version in ledger.data_versions():
        facts = replace(data.facts, data_version=version)
        stored = ledger.find(question_hash(plan.question, facts))
        if version != data.data_version and stored is not None:
            return (
                say(
                    "The same question was answered on {at} with other data; asked now it is a new "
                    "one: it gets new noise and is charged again.",
                    at=stored.at[:10],
                ),
            )
    return ()


def made_otherwise(plan: Plan, recipe: Recipe) -> str:
    """What was asked for and the earlier release was made otherwise, in a sentence."""
    settings, asked = plan.question.settings, recipe.question.settings
    differs = [n for n in asked if n not in ("within", "of") and settings.get(n) != asked[n]]
    if not differs or plan.method != recipe.question.method:
        return ""
    parts = [
        say(
            "{name} {made}, not {asked}", name=name, made=settings.get(name, "–"), asked=asked[name]
        )
        for name in differs
    ]
    told = together(*parts, between=", ")
    return say(
        "Read off an earlier release, which was made with other settings: {told}.", told=told
    )


def _noise_of(plan: Plan) -> float:
    """The noise of all tables together; infinite where one follows from a model only."""
    return sum(error.noise_sd for error in plan.errors)


def _rank(source: Source, question: Question, facts: Facts) -> tuple[float, float]:
    """The noise of all tables together; of models, that of all their variables and pairs of them.

    A pair that was not measured counts as ten times its noisier variable: worse than any pair of
    a release of the same size, better than one whose noise drowns everything.
    """
    noise = _noise_of(source.plan)
    if noise < math.inf:
        return noise, 0.0
    method = registry.get(source.released_by.method)
    assert isinstance(method, Derives)
    sds: dict[tuple[AxisRef, ...], float] = {}
    for table in question.tables:
        refs = {c.variable: AxisRef(c.variable, c.level) for c in table.where}
        refs |= {ref.variable: ref for ref in table.axes}
        sides = sorted(refs.values())
        for pair in [*combinations(sides, 1), *combinations(sides, 2)]:
            part = replace(question, tables=(TableSpec(pair),))
            plan = method.derive(source.released_by, part, Treatment(), facts)
            sds[pair] = math.inf if plan is None else _noise_of(plan)
            if len(pair) == 2 and sds[pair] == math.inf:
                sds[pair] = 10 * max(sds[pair[:1]], sds[pair[1:]])
    return noise, sum(sds.values())
