"""Looking for variables, categories and ready tables by words, in what an asker is told of.

Every word must be in a text, whatever its case or accents. What begins with the words comes first,
then what has a word that begins with them. Nothing here has seen a record: lists of categories are
public before they are searched.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.description import Description
from ..core.domain import Level, Variable
from ..core.text import Text

LIMIT = 50
MOST = 1000
_NEAR_AMONG = 20_000


def folded(text: str) -> str:
    """A text without case and accents.

    >>> folded("Décès à Zürich")
    'deces a zurich'
    """
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


@dataclass(frozen=True)
class Query:
    """Words to look for."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Query:
        """The words of a text, folded."""
        return cls(tuple(folded(text).split()))

    def __bool__(self) -> bool:
        return bool(self.words)

    def rank(self, text: str) -> int | None:
        """How well a folded text meets the words, 0 being best; None where one is not in it."""
        if not all(word in text for word in self.words):
            return None
        if text.startswith(self.words[0] if self.words else ""):
            return 0
        starts = text.split()
        return 1 if all(any(s.startswith(w) for s in starts) for w in self.words) else 2


@dataclass(frozen=True)
class Match:
    """A category that was found."""

    variable: str
    level: str
    code: str
    label: str
    parents: dict[str, str]
    rank: int

    def to_json(self) -> dict[str, Any]:
        """As clients see it."""
        return {
            "level": self.level,
            "code": self.code,
            "label": self.label,
            "parents": self.parents,
        }


def texts_of(*texts: Text) -> str:
    """Some texts in all their languages, folded."""
    return folded(" ".join(words for text in texts for _, words in text.by_language))


def variable_rank(variable: Variable, query: Query) -> int | None:
    """How well a variable itself, its note, its group or one of its levels meets the words."""
    levels = [level.name for level in variable.levels]
    labels = [variable.label, variable.group, *(level.label for level in variable.levels)]
    text = f"{texts_of(*labels)} {folded(' '.join([variable.name, variable.note, *levels]))}"
    return query.rank(text)


def matches(variable: Variable, query: Query, language: str) -> list[Match]:
    """The categories of a variable that meet the words, best first."""
    if not query:
        return []
    found: list[Match] = []
    for level in variable.levels:
        ranks = [(i, query.rank(text)) for i, text in enumerate(_texts(variable, level))]
        hits = [(i, rank) for i, rank in ranks if rank is not None]
        parents = parents_of(variable, level) if hits else {}
        for i, rank in hits:
            category = level.categories[i]
            above = {name: codes[i] for name, codes in parents.items() if codes[i]}
            label = category.label.says(language)
            found.append(Match(variable.name, level.name, category.code, label, above, rank))
    return sorted(found, key=lambda match: match.rank)


def _texts(variable: Variable, level: Level) -> list[str]:
    """Labels, short labels and codes of a level, folded; made once for each variable."""
    key = ("search", level.name)
    if key not in variable.kept:
        variable.kept[key] = [
            f"{texts_of(c.label, *([c.short] if c.short else []))} {folded(c.code)}"
            for c in level.categories
        ]
    texts: list[str] = variable.kept[key]
    return texts


def parents_of(variable: Variable, level: Level) -> dict[str, list[str]]:
    """For each coarser level, the one category that holds each category here, if it is one."""
    key = ("parents", level.name)
    if key not in variable.kept:
        here = [known.name for known in variable.levels].index(level.name)
        variable.kept[key] = {
            coarser.name: [coarser.codes[at] if at >= 0 else "" for at in level.holders(coarser)]
            for coarser in variable.levels[here + 1 :]
        }
    parents: dict[str, list[str]] = variable.kept[key]
    return parents


def near(text: str, descriptions: Iterable[Description], language: str) -> list[str]:
    """Labels spelled much like a text that was not found."""
    labels = {folded(label): label for label in _labels(descriptions, language)}
    found = difflib.get_close_matches(folded(text), list(labels)[:_NEAR_AMONG], n=3, cutoff=0.7)
    return [labels[one] for one in found]


def _labels(descriptions: Iterable[Description], language: str) -> Iterator[str]:
    for description in descriptions:
        for variable in description.variables:
            yield variable.label.says(language)
            for level in variable.levels:
                yield from (category.label.says(language) for category in level.categories)


def cut(found: Sequence[Any], limit: int) -> tuple[list[Any], int]:
    """The first of some, and how many more there are."""
    return list(found[:limit]), max(0, len(found) - limit)


def chosen_places(variable: Variable, level: Level, query: Query, parent: str) -> list[int]:
    """The places of a level's categories that meet the words and lie in a coarser one.

    A parent is a code, of whichever coarser level has it, or `level:code`.
    """
    places = list(range(len(level)))
    if query:
        texts = _texts(variable, level)
        places = [i for i in places if query.rank(texts[i]) is not None]
    if parent.strip():
        name, colon, code = parent.strip().rpartition(":")
        above = parents_of(variable, level)
        lists = [above[name]] if colon and name in above else list(above.values())
        wanted = {code, parent.strip()} if not colon or name in above else {parent.strip()}
        places = [i for i in places if any(codes[i] in wanted for codes in lists)]
    return places
