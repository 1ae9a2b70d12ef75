"""A ledger in words: what each entry was about, how exact its answer is, and what all of it tells.

Everything here comes from the ledger's own rows and from plans, which are made of public facts; no
number of a table is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from .. import earlier, release, rules
from ..core.charge import Charge
from ..core.description import Description
from ..core.loss import Loss, loss_from_json, loss_to_json, read_as
from ..core.question import Layout, Question, Recipe
from ..core.table_titles import short_title_of
from ..errors import DiscreetError, InputError
from ..languages import Sentence, counted, listed, say
from ..methods import registry
from ..methods.base import Plan
from ..store.base import Entry
from ..workspace import DataSet

KINDS = ("charge", "cap", "rehearsal", "open", "restore")


@dataclass(frozen=True)
class LedgerLine:
    """One entry of a ledger, as a custodian reads it."""

    number: int
    time: str
    kind: str
    who: str
    scope: str
    words: str
    """What was asked, or what was changed."""
    question: str
    cells: int | None
    within: int | None
    """95 of 100 cells of its first table are within ± this of the truth."""
    loss: Mapping[str, str] | None
    reason: str
    hash: str


def recipe_of(asked: Question) -> Recipe:
    """A question that was stored, as a recipe that can be asked again."""
    kept = {setting.name for setting in registry.declaration(asked.method).asked()}
    settings = {key: value for key, value in asked.settings.items() if key in kept}
    layouts = tuple(_layout([str(ref) for ref in table.axes]) for table in asked.tables)
    return Recipe(replace(asked, settings=settings), layouts)


def _layout(axes: list[str]) -> Layout:
    if len(axes) < 2:
        return Layout(rows=tuple(axes))
    return Layout(rows=tuple(axes[:-1]), columns=(axes[-1],))


def title(description: Description, asked: Question) -> Sentence:
    """The tables of a question, the first three by name."""
    titles = [short_title_of(table, description) for table in asked.tables[:3]]
    more = len(asked.tables) - len(titles)
    if not more:
        return say("{tables}", tables=listed(titles))
    return counted(
        "{tables} and {n} more table", "{tables} and {n} more tables", more, tables=listed(titles)
    )


def plan_of(data: DataSet, question: str, asked: Question) -> Plan | None:
    """The plan that a stored question had; None where today's policy would plan another one."""
    try:
        plan = release.ask(data, recipe_of(asked), release.Payer()).plan
    except DiscreetError:
        return None
    return plan if plan.question_hash == question else None


def lines(data: DataSet, description: Description, entries: Iterable[Entry]) -> list[LedgerLine]:
    """Entries in words, with the variables that `description` may name."""
    return [_line(data, description, entry) for entry in entries]


def _line(data: DataSet, description: Description, entry: Entry) -> LedgerLine:
    body = entry.body
    words, cells, within = _about(data, description, entry)
    return LedgerLine(
        entry.seq,
        entry.at,
        entry.kind,
        str(body.get("user") or body.get("who") or ""),
        _scope(body),
        words,
        str(body.get("question", "")),
        cells,
        within,
        _loss(entry),
        str(body.get("reason", "")),
        entry.hash,
    )


def _scope(body: Mapping[str, Any]) -> str:
    scope = str(body.get("scope") or "")
    if scope:
        return "" if scope == "dataset" else scope
    return f"project:{body['project']}" if body.get("project") else ""


def _loss(entry: Entry) -> dict[str, str] | None:
    if budget := entry.body.get("budget"):
        return loss_to_json(loss_from_json(budget))
    losses = [charge.loss for charge in entry.charges if charge.loss is not None]
    total = total_of(entry.charges, losses[0].kind) if losses else None
    return None if total is None else loss_to_json(total)


def loss_of(line: LedgerLine) -> Loss | None:
    """What an entry cost, or the budget it set."""
    return None if line.loss is None else loss_from_json(line.loss)


def total_of(charges: Sequence[Charge], kind: str) -> Loss | None:
    """What charges of one entry cost together, read as a kind; None where nothing is lost."""
    losses = [charge.loss for charge in charges if charge.loss is not None]
    try:
        read = [read_as(loss, kind) for loss in losses]
    except InputError:  # charged while the budget was of another kind
        return None
    total = read[0] if read else None
    for loss in read[1:]:
        total = total + loss if total is not None else loss
    return total


def _about(
    data: DataSet, description: Description, entry: Entry
) -> tuple[str, int | None, int | None]:
    if entry.kind == "open":
        return say("The ledger was opened."), None, None
    if entry.kind == "rehearsal":
        about = str(entry.body.get("about", ""))
        return say("Tried on the true records: {about}", about=about), None, None
    if entry.kind == "cap":
        return _cap_words(entry.body), None, None
    question = str(entry.body.get("question", ""))
    try:
        asked = earlier.question_named(data, question) if question else None
        if asked is None:
            return say("A question of an earlier form"), None, None
        words = title(description, asked)
        cells = sum(rules.cells_of(table, description) for table in asked.tables)
    except DiscreetError:  # of a variable that is not there any more
        return say("A question about variables that are not there any more"), None, None
    plan = plan_of(data, question, asked)
    return words, cells, None if plan is None else _within(plan)


def _cap_words(body: Mapping[str, Any]) -> Sentence:
    scope = _scope(body)
    if not scope:
        return say("The budget was set.")
    if body.get("budget") is None:
        return say("The share of {scope} was taken away.", scope=scope)
    return say("A share was given to {scope}.", scope=scope)


def _within(plan: Plan) -> int | None:
    """Within ± what the first table's cells are, where noise is drawn and its law says so."""
    if not plan.errors or plan.errors[0].note or not isfinite(plan.errors[0].noise_sd):
        return None
    return int(plan.errors[0].half_width) if plan.errors[0].noise_sd else None
