"""The one flow: recipe → plan → check → count → measure → commit → fit → judge → publish.

    asked = ask(data, recipe, payer)     plan and check, from public facts; reads no data
    asked.standing                       answered, free, affordable or refused
    asked.release()                      count → measure → commit → fit → judge
    asked.derive()                       from an earlier release's measurements: costs nothing

Command line, server and Python API all ask here, so that whether something may be asked and what it
costs is decided in one place, once. What follows from earlier releases is in `earlier`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import earlier, options, outlook, rules
from .arrangement import arranged
from .core.charge import Charge
from .core.control import Control
from .core.description import Description
from .core.preview_portrait import Previewed
from .core.question import Recipe
from .core.table import ProtectedTable
from .errors import Alternative, Bug, HistoryMoved, Refusal, StoreError
from .fit import FittedFrom, Tables, fitting_begins, judged
from .languages import say
from .methods import registry
from .methods.base import Facts, Forecasts, Measurements, Method, Plan, as_measured, remembers
from .methods.declaration import Declaration, Spends
from .options import Option
from .outlook import Rung, Standing

if TYPE_CHECKING:
    from .store import StoredAnswer
    from .store.base import Hold
    from .workspace import DataSet

__all__ = ["Asked", "Payer", "Release", "Rung", "Standing", "ask"]

_TRIES = 20
"""How often a method that remembers decides again because others released meanwhile."""


@dataclass(frozen=True)
class Payer:
    """Who asks, and for which project: whose shares of the budget a charge counts against."""

    user: str = ""
    project: str = ""


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
    """Ledger entry and head hash of a charged release; empty for a computed one."""

    @property
    def charged(self) -> bool:
        """Whether this very release was charged."""
        return self.plan.charge is not None and not self.reused


def ask(data: DataSet, recipe: Recipe, payer: Payer | None = None) -> Asked:
    """Ask a data set: judged and planned from public facts, nothing read or spent."""
    asked = Asked(data, recipe, payer or Payer())
    _ = asked.declaration  # another family's method is refused at once
    return asked


class Asked(Previewed):
    """A recipe that was asked: verdict, plan and standing, and the ways to an answer.

    Planned once, when that is first needed. The standing is looked up each time: others spend too.
    """

    def __init__(
        self, data: DataSet, recipe: Recipe, payer: Payer, *, without: frozenset[str] = frozenset()
    ) -> None:
        """`without`: answers, by their question's hash, that do not count as released."""
        self.data, self.recipe, self.payer, self.without = data, recipe, payer, without
        description, policy = data.described.description, data.policy
        if not policy.family.shows_found:  # before anything is made of their codes
            description.require_declared(recipe.question.variables)
        self.verdict = rules.judge(recipe.question, description, policy)

    # -- before anything is spent -----------------------------------------------------------

    @cached_property
    def declaration(self) -> Declaration:
        """What the method asked for is; refused where it is of another family (rule 7)."""
        declared = registry.declaration(self.recipe.question.method)
        family = self.data.policy.family
        if declared.family is not family:
            raise Refusal(
                say(
                    "{name} serves the {family} family only, and {name_2} is of the {family_2} "
                    "family: kinds of guarantee do not mix.",
                    name=self.data.name,
                    family=family,
                    name_2=declared.name,
                    family_2=declared.family,
                ),
                rule="one-family",
                alternatives=[
                    Alternative(say("use method {one}", one=one), {"method": one})
                    for one in registry.of_family(family)
                ],
            )
        return declared

    @cached_property
    def method(self) -> Method:
        """The method asked for."""
        return registry.get(self.declaration.name)

    @cached_property
    def plan(self) -> Plan:
        """What would be measured, at which cost and error; refused where planning is in vain."""
        if self.verdict.cells > rules.DEFAULT_MOST_CELLS:
            self.verdict.enforce()  # planning a table nobody may have could take long
        return self._planned(self._facts())

    @property
    def spends(self) -> bool:
        """Whether answering would use something up now."""
        return self.declaration.spends is not Spends.NOTHING and not self.answered

    @property
    def answered(self) -> bool:
        """Whether the question was charged before."""
        if self.declaration.spends is Spends.NOTHING:
            return False
        return self.data.ledger().answered(self.plan.question_hash)

    @property
    def affordable(self) -> bool:
        """Whether the budget would bear it; True where nothing is charged."""
        return not self.spends or self.data.ledger().affords(_charge(self.plan), **vars(self.payer))

    @property
    def standing(self) -> Standing:
        """Answered, free, affordable or refused, as things are now."""
        if not self.verdict.allowed:
            return Standing.REFUSED
        if self.declaration.spends is Spends.NOTHING:
            return Standing.FREE
        if self.answered:
            return Standing.ANSWERED
        return Standing.AFFORDABLE if self.affordable else Standing.REFUSED

    @property
    def left(self) -> str | None:
        """What is left of the budget, in words; None where none is spent."""
        if self.declaration.spends is not Spends.LOSS:
            return None
        return self.data.ledger().left_in_words(**vars(self.payer))

    @cached_property
    def follows_from(self) -> str | None:
        """The question hash of an earlier release this follows from at no cost, if there is one."""
        if not self.spends:
            return None
        return earlier.measured_by(self.data, self.recipe, self.without)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """The plan's warnings, and a word to who asks again what was answered on other data."""
        more = earlier.on_other_data(self.data, self.plan) if self.spends else ()
        return (*self.plan.warnings, *more)

    def require(self) -> None:
        """Raise the refusal, if the question would be refused now."""
        self.verdict.enforce()
        if self.spends:
            self.data.ledger().require(_charge(self.plan), **vars(self.payer))

    def ladder(self) -> tuple[Rung, ...]:
        """The same question at other accuracies; empty where accuracy cannot be bought."""
        return outlook.ladder(self)

    def forecast(self, control: Control | None = None) -> str:
        """What comes out for people made up from public facts; empty where nothing is tried."""
        if not isinstance(self.method, Forecasts):
            return ""
        return self.method.forecast(self.plan, control or Control())

    def options(self, shown: Description) -> list[Option]:
        """What each level shown could do in the table asked for; of several, in the first."""
        spec, data = self.recipe.question.tables[0], self.data
        return list(options.options(spec, data.described.description, shown, data.policy))

    def to_json(self, *, look_back: bool = True) -> dict[str, Any]:
        """What would happen, as plain values: the same on the command line and over HTTP.

        With `look_back`, the whole ledger is read for the same question on other data.
        """
        return outlook.to_json(self, look_back=look_back)

    # -- the answer -------------------------------------------------------------------------

    def release(
        self,
        *,
        control: Control | None = None,
        idempotency_key: str | None = None,
        hold: Hold | str | None = None,
    ) -> Release:
        """Answer: charged before anything leaves, the same numbers for ever."""
        control = control or Control()
        control.step(0.0, "planning")
        self.verdict.enforce()
        plan, left, receipt = self.plan, None, {}
        if self.declaration.spends is Spends.NOTHING:
            measurements, reused = self._computed(control)
        else:
            stored, plan = self._charged(control, idempotency_key, hold)
            measurements = Measurements.from_bytes(stored.measurements)
            reused, receipt = not stored.fresh, dict(stored.receipt)
            plan = as_measured(self.method, plan, measurements, self.data.facts)
            left = self.left
        shown = self._shown(FittedFrom(plan, measurements, control))
        return Release(self.recipe, plan, shown, reused, left, receipt)

    def derive(self, *, newest: int | None = None, control: Control | None = None) -> Release:
        """Answer from earlier releases: nothing is read, drawn or charged.

        Any method of the data set's family may have made them; with `newest` only so many of the
        last ones are looked at.
        """
        control = control or Control()
        self.verdict.enforce()
        source = earlier.best(self.data, self.recipe, self.without, newest=newest)
        measurements = Measurements.from_bytes(source.stored.measurements)
        shown = self._shown(FittedFrom(source.plan, measurements, control, source.released_by))
        if other := earlier.made_otherwise(source.plan, self.recipe):
            shown = tuple(replace(table, notes=(*table.notes, other)) for table in shown)
        return Release(self.recipe, source.plan, shown, True, self.left, source.stored.receipt)

    # -- steps ------------------------------------------------------------------------------

    def _facts(self) -> Facts:
        """Public facts, with what was released for a method that remembers it."""
        if not remembers(self.method):
            return self.data.facts
        return replace(self.data.facts, history=earlier.history(self.data))

    def _planned(self, facts: Facts) -> Plan:
        return earlier.planned(self.data, self.method, self.recipe, facts)

    def _measured(self, plan: Plan, control: Control) -> Measurements:
        end = fitting_begins(plan)
        counting, protecting = control.part(end / 10, end * 2 / 3), control.part(end * 2 / 3, end)
        counting.step(0.0, "counting")
        tables = self.data.engine().count(
            plan.counts, keys=plan.needs_keys, weights=plan.needs_weights, control=counting
        )
        protecting.step(0.0, "protecting")
        return self.method.measure(plan, tables, self.data.secrets, protecting)

    def _computed(self, control: Control) -> tuple[Measurements, bool]:
        """What can be computed again at will, from the cache where it is there."""
        cache, digest = self.data.results(), self.plan.question_hash
        stored = cache.get(digest)
        if stored is not None:
            return Measurements.from_bytes(stored), True
        measurements = self._measured(self.plan, control)
        facts = {**measurements.facts, "question": self.plan.question.canonical()}
        cache.put(digest, replace(measurements, facts=facts).to_bytes())
        return measurements, False

    def _charged(
        self, control: Control, idempotency_key: str | None, hold: Hold | str | None
    ) -> tuple[StoredAnswer, Plan]:
        """The stored answer, charged now where it was not there; and the plan that made it.

        A method that remembers decides on a history. Where that has moved by the time of the
        commit nothing was stored, and it decides again.
        """
        ledger, plan = self.data.ledger(), self.plan
        for _ in range(_TRIES):
            stored = ledger.find(plan.question_hash)
            if stored is not None:
                if hold is not None:
                    ledger.lapse(hold)
                return stored, plan
            facts = self._facts()
            if facts.history is not None:
                plan = self._planned(facts)
            if hold is None:
                ledger.require(_charge(plan), **vars(self.payer))
            measurements = self._measured(plan, control)
            stored_facts = {**measurements.facts, "question": plan.question.canonical()}
            try:
                stored = ledger.commit(
                    _charge(plan),
                    replace(measurements, facts=stored_facts).to_bytes(),
                    idempotency_key=idempotency_key or plan.question_hash,
                    **vars(self.payer),
                    data_version=self.data.data_version,
                    policy_version=self.data.policy.version,
                    hold=hold,
                    after=None if facts.history is None else facts.history.head,
                )
            except HistoryMoved:
                continue
            return stored, plan
        raise StoreError(
            say(
                "Others released tables of {name} faster than this one could be decided. Ask "
                "again; nothing was stored.",
                name=self.data.name,
            )
        )

    def _shown(self, source: FittedFrom) -> Tables:
        """Fitted, judged by the rules on protected values, and arranged as the recipe wants."""
        treated = bool(self.recipe.treatment.settings)
        kept = judged(self.data, source, treated=treated)
        described, notes = self.data.description, self.data.notes
        return arranged(kept, self.recipe, described, notes, source.plan.counted)


def _charge(plan: Plan) -> Charge:
    if plan.charge is None:
        raise Bug(f"The method {plan.method} spends, and planned no charge.")
    return plan.charge
