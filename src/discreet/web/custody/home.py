"""A custodian's home: what waits, what people have learnt, what they asked and did not get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from ... import api, rule_words
from ...core.limits import MOST_PER_QUESTION
from ...core.text import Text
from ...errors import DiscreetError
from ...languages import Sentence, number, say
from ...methods.declaration import Spends
from ...protected_rules import SPARSE
from ...quality.epsilon_scale import Unit, reach
from ...recipe import from_mapping
from ...rules import DEFAULT_MOST_CELLS
from ...server import charges_so_far, decisions, ledger_lines, proposed_changes
from ...server.auth import Asker
from ...server.ledger_lines import LedgerLine
from ...server.routes.custody import page_of
from ...server.routes.oversight import more_tables
from ...server.service import Service
from ...workspace import DataSet
from ..amounts import amount
from ..front import FAMILIES
from .gauge import Gauge, gauge

LATEST = 8
_WANTED = 2
"""So many refused questions are shown for each rule."""

_RULES: dict[str, Sentence] = {
    "budget": say("more than is left of the budget"),
    "public-budget": say("spending without an account"),
    MOST_PER_QUESTION: say("more than one question may spend"),
    SPARSE: say("protected numbers too sparse"),
    "declared-domain": say("variables that are not declared"),
    "declared-unit": say("a unit that is not decided"),
    "embargo": say("waits for its publication"),
    "one-family": say("a method of another family"),
    "treatment": say("a treatment the policy does not allow"),
    "private-attribute": say("a private attribute"),
    "table-size": say("larger than the method can do"),
    "two-way": say("more than two variables"),
    "with-totals": say("a table without its totals"),
    "overlapping-table": say("people of an earlier table"),
    "delta-spent": say("a δ that is spent already"),
    "unsafe-totals": say("totals that would tell too much"),
    "unknown-population": say("people whose number is not public"),
}


@dataclass(frozen=True)
class Budget:
    """What was spent on one data set, as its card shows it."""

    name: str
    title: Text
    cap: str
    spent: str
    left: str
    charges: int
    gauge: Gauge
    more: tuple[tuple[str, int, int], ...]
    """ε a table, how many more of them, and within ± what 95 of 100 cells then are."""
    worst: str
    guesser: str


@dataclass(frozen=True)
class RefusedRule:
    """A rule that refused, how often, and what people wanted."""

    dataset: str
    rule: str
    times: int
    wanted: tuple[str, ...]


def facts(service: Service, asker: Asker) -> dict[str, Any]:
    """Everything the page shows."""
    budgets, latest, listed = [], [], []
    refused = service.audit.refusals()
    wanted = []
    for name, data in service.readable(asker):
        listed.append(_standing(service, name, data))
        if data.policy.budget is not None and data.spends is Spends.LOSS:
            budgets.append(budget_of(name, data))
        if data.spends is not Spends.NOTHING:
            lines, _ = page_of(data, data.described.description, kind="charge", most=LATEST)
            latest += [(name, line) for line in lines]
        wanted += _wanted(service, name, data, refused)
    latest.sort(key=lambda pair: pair[1].time, reverse=True)
    wanted.sort(key=lambda one: -one.times)
    return {
        "decisions": [
            (one, proposed_changes.edition(one.changes))
            for one in decisions.waiting(service, asker)
        ],
        "budgets": budgets,
        "latest": [shown(name, line) for name, line in latest[:LATEST]],
        "several": len({name for name, _ in latest}) > 1,
        "refused": wanted[:LATEST],
        "datasets": listed,
    }


def shown(dataset: str, line: LedgerLine) -> dict[str, Any]:
    """An entry of a ledger as a row: times short, losses in signs."""
    moment = datetime.fromisoformat(line.time)
    loss = ledger_lines.loss_of(line)
    return {
        "dataset": dataset,
        "line": line,
        "day": moment.date(),
        "time": moment.strftime("%H:%M"),
        "today": moment.date() == datetime.now(UTC).date(),
        "amount": "" if loss is None else amount(loss),
    }


def _standing(service: Service, name: str, data: DataSet) -> dict[str, Any]:
    return {
        "name": name,
        "title": data.description.title,
        "family": FAMILIES.get(str(data.policy.family), str(data.policy.family)),
        "public": service.settings.is_public(name),
        "charges": data.spends is not Spends.NOTHING,
    }


def budget_of(name: str, data: DataSet) -> Budget:
    """The card of one budget."""
    ledger = data.ledger()
    standing = ledger.standing()[0]
    parts = charges_so_far.segments(ledger, standing.cap)
    about = data.description
    unit = Unit(about.unit, about.records_per_unit, about.neighbours)
    more = [
        (one["epsilon"], one["tables"], reach_of(one["epsilon"], unit))
        for one in more_tables(standing.left)
        if one["tables"]
    ]
    return Budget(
        name,
        about.title,
        amount(standing.cap, left=True),
        amount(standing.spent),
        amount(standing.left, left=True),
        sum(one.charges for one in parts),
        gauge(parts, standing.cap),
        tuple(more[:2]),
        api.DataSet(data).worst_case,
        charges_so_far.best_guesser(data),
    )


def reach_of(epsilon: str, unit: Unit) -> int:
    """Within ± what 95 of 100 cells are, with Laplace noise at this ε a table."""
    return reach(Fraction(epsilon), unit=unit)


def _wanted(
    service: Service, name: str, data: DataSet, refused: Sequence[dict[str, Any]]
) -> list[RefusedRule]:
    found = []
    for one in refused:
        if one["dataset"] != name:
            continue
        asked = service.inbox.refused(dataset=name, rule=one["rule"], most=_WANTED)
        wanted = [words for question in asked if (words := title_of(data, question.recipe))]
        found.append(
            RefusedRule(name, rule_in_words(data, one["rule"]), one["times"], tuple(wanted))
        )
    return found


def rule_in_words(data: DataSet, rule: str) -> str:
    """A rule as its policy has it; one of a method by its name."""
    if rule in data.policy.rules and rule != SPARSE:
        return rule_words.in_words(rule, data.policy.rules[rule])
    if rule == "max_cells":
        return rule_words.in_words(rule, DEFAULT_MOST_CELLS)
    return _RULES.get(rule, rule)


def title_of(data: DataSet, recipe: Any) -> str:
    """What somebody wanted, in words; nothing where it cannot be read any more."""
    description = data.described.description
    try:
        asked = from_mapping(recipe, description, data.policy).question
        words = ledger_lines.title(description, asked)
    except DiscreetError:
        return ""
    epsilon = asked.settings.get("epsilon")
    if epsilon is None:
        return words
    return say("{table} at ε {epsilon}", table=words, epsilon=number(str(epsilon)))
