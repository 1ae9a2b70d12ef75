"""Every exception discreet raises on purpose, and the exit code each one means.

    DiscreetError                 something to tell the user in one sentence
    ├── InputError           (2)  bad input: what, the value got, what is allowed, what to do next
    │   ├── DescriptionError      a discreet.yaml that cannot be read as one
    │   ├── DataError             a file or database table that cannot be loaded
    │   ├── RecipeError           a question that cannot be understood
    │   ├── LawError              parameters of a law or a p-table that cannot be had
    │   ├── CannotConclude        nothing honest can be concluded from this table
    │   └── KeyReused             an idempotency key that came before with another request (409)
    ├── Refusal              (3)  a lawful no, decided from public facts; names its rule
    │   └── BudgetExceeded        the ledger has less left than was asked
    ├── EngineError          (4)  counting failed
    ├── StoreError           (5)  the workspace's own files cannot be read or written
    │   ├── HistoryMoved          something was released while this was decided; ask again (409)
    │   └── LedgerDamaged         chain, sums or anchors of a ledger disagree
    ├── Cancelled          (130)  stopped on request; nothing was lost
    └── Bug                 (70)  our mistake

No message ever holds a record, a key, a true count or SQL.
"""

from __future__ import annotations

import difflib
import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


class DiscreetError(Exception):
    """Something to tell the user in one sentence."""

    exit_code = 70

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InputError(DiscreetError):
    """Bad input: what is wrong, the value got, what is allowed, what to do next."""

    exit_code = 2


class DescriptionError(InputError):
    """A discreet.yaml that cannot be read as one; knows its line."""

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        where = "" if file is None else f"{file}, line {line}: " if line else f"{file}: "
        super().__init__(where + message)
        self.line = line


class DataError(InputError):
    """A file or database table that cannot be loaded."""


class RecipeError(InputError):
    """A question that cannot be understood."""


class LawError(InputError):
    """Parameters of a law or a p-table that cannot be had."""


class CannotConclude(InputError):
    """Nothing honest can be concluded from this table; the sentence says why, and what would work."""


class KeyReused(InputError):
    """An idempotency key that came before with another request; nothing is charged or answered."""


@dataclass(frozen=True)
class Alternative:
    """What would work instead of a refused question.

    `change` is what to change in its recipe: the method or settings by name, None for one to leave
    out. It is None itself where only the words can say what to do.
    """

    words: str
    change: Mapping[str, str | None] | None = None

    def __str__(self) -> str:
        return self.words


class Refusal(DiscreetError):
    """A lawful no, decided from public facts.

    `rule` names the rule; `alternatives` say what would work instead. Those given as text have
    words and no change.
    """

    exit_code = 3

    def __init__(
        self, message: str, *, rule: str, alternatives: Sequence[Alternative | str] = ()
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.alternatives = tuple(
            Alternative(each) if isinstance(each, str) else each for each in alternatives
        )


class BudgetExceeded(Refusal):
    """The ledger has less left than was asked."""


class EngineError(DiscreetError):
    """Counting failed."""

    exit_code = 4


class StoreError(DiscreetError):
    """The workspace's own files cannot be read or written."""

    exit_code = 5


class HistoryMoved(StoreError):
    """Something was released after the history this was decided on; nothing is stored."""


class LedgerDamaged(StoreError):
    """Chain, sums, indexes or anchors of a ledger disagree; nothing is served until that is settled."""


class Cancelled(DiscreetError):
    """Stopped on request; nothing was lost."""

    exit_code = 130


class Bug(DiscreetError):
    """Our mistake; the text asks the user to tell us."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message} This is a bug in discreet, please report it.")


_MANY_WORDS = 2_000
"""Among more only the likeliest by length, beginning and end are compared letter by letter."""
_LIKELIEST = 500
_NEAR = 0.6
"""How alike two words are that one may be meant by the other, from 0 to 1."""


def did_you_mean(wrong: str, known: Iterable[str], *, most: int = 3) -> str:
    """A sentence naming the nearest known words, or an empty string.

    >>> did_you_mean("regoin", ["region", "cause"])
    ' Did you mean region?'
    """
    near = nearest(wrong, known, most=most)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def nearest(wrong: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """The known words nearest to one that is not known."""
    words = list(dict.fromkeys(known))
    folded = {word.casefold(): word for word in reversed(words)}
    meant = wrong.casefold()
    among: Iterable[str] = folded
    if len(folded) > _MANY_WORDS:  # comparing letter by letter takes its time
        alike = (word for word in folded if abs(len(word) - len(meant)) <= 2)
        among = heapq.nlargest(_LIKELIEST, alike, key=lambda word: _same_ends(word, meant))
    compared = difflib.SequenceMatcher()
    compared.set_seq2(meant)
    scores = []
    for word in among:
        compared.set_seq1(word)
        if min(compared.real_quick_ratio(), compared.quick_ratio()) >= _NEAR:
            scores.append((compared.ratio(), _same_ends(word, meant), word))
    near = heapq.nlargest(most, (score for score in scores if score[0] >= _NEAR))
    return [folded[word] for _, _, word in near]


def _same_ends(word: str, other: str) -> int:
    """How many signs two words begin and end with alike: all but one where one was mistyped."""
    shorter = min(len(word), len(other))
    head = 0
    while head < shorter and word[head] == other[head]:
        head += 1
    tail = 0
    while tail < shorter - head and word[-1 - tail] == other[-1 - tail]:
        tail += 1
    return head + tail
