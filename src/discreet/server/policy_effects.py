"""What another policy would do to what was answered already: refuse it, or have it asked anew.

A question keeps its answer under any policy that measures the same. One that measures otherwise makes
it another question, which costs again; a rule that forbids its table makes the answer that was paid
for unreachable. Both are said before anybody proposes such a policy.
"""

from __future__ import annotations

from dataclasses import dataclass

from .. import earlier, rules
from ..core.limits import MOST_PER_QUESTION
from ..errors import DiscreetError, Refusal
from ..languages import Sentence, counted, say, together
from ..methods import registry
from ..methods.base import remembers
from ..methods.declaration import Spends
from ..workspace import DataSet
from . import ledger_lines

MOST_LOOKED_AT = 300
"""So many of the last answers are looked at."""
_SHOWN = 3


@dataclass(frozen=True)
class Effects:
    """Answered questions that another policy would take away, by their titles."""

    refused: tuple[Sentence, ...] = ()
    """A rule would forbid them."""
    anew: tuple[Sentence, ...] = ()
    """They would be other questions, and cost again."""
    looked_at: int = 0
    answers: int = 0

    def sentences(self) -> list[Sentence]:
        """What to know before proposing; nothing where nothing is lost."""
        said = []
        if self.refused:
            said.append(
                counted(
                    "{n} answered question would be refused by these rules, paid for as it is: {which}.",
                    "{n} answered questions would be refused by these rules, paid for as they are: "
                    "{which}.",
                    len(self.refused),
                    which=_named(self.refused),
                )
            )
        if self.anew:
            said.append(
                counted(
                    "{n} answered question would be another one, and cost again: {which}.",
                    "{n} answered questions would be other ones, and cost again: {which}.",
                    len(self.anew),
                    which=_named(self.anew),
                )
            )
        if self.looked_at < self.answers:
            said.append(
                say(
                    "The last {looked} of {all} answers were looked at.",
                    looked=self.looked_at,
                    all=self.answers,
                )
            )
        return said


def _named(titles: tuple[Sentence, ...]) -> Sentence:
    more = len(titles) - _SHOWN
    shown = together(*titles[:_SHOWN], between="; ")
    return shown if more <= 0 else say("{labels} and {n} more", labels=shown, n=more)


def effects(data: DataSet, draft: DataSet) -> Effects:
    """What a drafted policy does to the answers on the data that are served."""
    if data.spends is Spends.NOTHING:
        return Effects()
    names = data.ledger().questions(data.data_version)
    refused, anew = [], []
    for name in names[:MOST_LOOKED_AT]:
        asked = earlier.question_named(data, name)
        if asked is None:
            continue
        recipe = ledger_lines.recipe_of(asked)
        try:
            title = ledger_lines.title(data.description, asked)
            verdict = rules.judge(recipe.question, draft.description, draft.policy)
            method = registry.get(asked.method)
            if not verdict.allowed:
                refused.append(title)
            elif registry.declaration(asked.method).family is not draft.policy.family:
                anew.append(title)
            elif not remembers(method):
                plan = method.plan(recipe.question, recipe.treatment, draft.facts)
                if plan.question_hash != name:
                    anew.append(title)
        except Refusal as problem:
            if problem.rule != MOST_PER_QUESTION:  # a lower limit leaves what was answered
                refused.append(title)
        except DiscreetError:
            continue
    return Effects(tuple(refused), tuple(anew), min(len(names), MOST_LOOKED_AT), len(names))
