"""What the rules say of a question, with what would work where it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from .errors import Refusal
from .languages import say, together
from .offers import Offer

MOST_OFFERS = 10
"""How many changes are offered for all tables of a question, and of how many tables at most."""


@dataclass(frozen=True)
class Breach:
    """One rule a table breaks, in a sentence."""

    rule: str
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """What the rules say of a question: allowed, or which rules it breaks and what would work."""

    cells: int
    breaches: tuple[Breach, ...] = ()
    look: Callable[[], Iterator[Offer]] = field(default=lambda: iter(()), repr=False, compare=False)
    """What looks for changes that pass, which takes longer than to judge."""

    @cached_property
    def offers(self) -> tuple[Offer, ...]:
        """What would work, looked for when it is first asked for."""
        return tuple(islice(self.look(), MOST_OFFERS))

    @property
    def alternatives(self) -> tuple[str, ...]:
        """What would work, in words."""
        return tuple(offer.words for offer in self.offers)

    @property
    def allowed(self) -> bool:
        """Whether no rule is broken."""
        return not self.breaches

    def enforce(self) -> None:
        """Raise the refusal, if there is one."""
        if self.breaches:
            first = self.breaches[0]
            shown = together(*self.alternatives[:3], between="; ")
            tail: str = ""
            if len(self.alternatives) > 1:
                tail = say("These work: {shown}.", shown=shown)
            elif self.alternatives:
                tail = say("This works: {shown}.", shown=shown)
            words = together(first.sentence, tail)
            raise Refusal(words, rule=first.rule, alternatives=self.alternatives)
