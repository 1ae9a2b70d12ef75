"""Sentences that are made once and said later, in whichever language a reader has.

A `Sentence` is a text: it reads as English, compares and hashes as that text. It keeps the pattern
and the values it was made of, so `says("de")` says the same in German. Values are names (left as
they are), whole numbers and `number`s (written the language's way), dates, and anything that has a
`says` itself: other sentences, and labels in several languages.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ..errors import Bug, nearest
from .catalogue import IN_ENGLISH, Catalogue, catalogue, language_of

_PLACE = re.compile(r"\{(\w+)\}")


class Number(str):
    """A number as text, written the English way; other languages write it theirs."""

    __slots__ = ()

    def says(self, language: str = "") -> str:
        """The number as a language writes it.

        >>> number("1,234.5").says("de")
        '1.234,5'
        """
        return catalogue(language_of(language)).number(str(self))


class Sentence(str):
    """A text in English that can be said in other languages."""

    pattern: str
    plural: str
    values: Mapping[str, Any]

    def __new__(cls, pattern: str, plural: str, values: Mapping[str, Any]) -> Sentence:
        """A sentence of its pattern and values; `plural` is the pattern for more than one `n`."""
        made = super().__new__(cls, _said(IN_ENGLISH, pattern, plural, values))
        made.pattern, made.plural, made.values = pattern, plural, values
        return made

    def __reduce__(self) -> tuple[type[Sentence], tuple[str, str, Mapping[str, Any]]]:
        return Sentence, (self.pattern, self.plural, self.values)

    def says(self, language: str = "") -> str:
        """The sentence in a language; in English where that is not there.

        >>> say("Total").says("de")
        'Insgesamt'
        """
        if not language:
            return str(self)  # as it was made
        return _said(
            catalogue(language_of(language)), self.pattern, self.plural, self.values, language
        )


def say(sentence: str, /, **values: Any) -> Sentence:
    """A sentence, written out in English with its values as {names}.

    >>> say("{part} of {whole}", part=1234, whole=number("0.5"))
    '1,234 of 0.5'
    """
    return Sentence(sentence, "", values)


def counted(one: str, many: str, n: int, /, **values: Any) -> Sentence:
    """A sentence that counts something: for one, and for any other number `{n}`.

    >>> counted("{n} cell", "{n} cells", 1), counted("{n} cell", "{n} cells", 2000)
    ('1 cell', '2,000 cells')
    """
    return Sentence(one, many, {"n": n, **values})


def number(written: str | int) -> Number:
    """A number as text, written the English way.

    >>> number(1234567)
    '1,234,567'
    """
    return Number(written if isinstance(written, str) else f"{written:,}")


def says(words: object, language: str) -> str:
    """Anything in a language: sentences, numbers and labels in theirs, names as they are."""
    speaks = getattr(words, "says", None)
    return str(words) if speaks is None else str(speaks(language))


def together(*parts: object, between: str = " ") -> Sentence:
    """Several sentences as one text; those that are empty are left out.

    >>> together(say("Total"), "", "x", between=": ").says("de")
    'Insgesamt: x'
    """
    kept = [part for part in parts if part is not None and str(part)]
    values = {f"p{place}": part for place, part in enumerate(kept)}
    return Sentence(between.join(f"{{{name}}}" for name in values), "", values)


def listed(parts: Iterable[object]) -> str:
    """Several things in a row: "a, b and c".

    >>> listed(["a", "b", "c"]), listed(["a", "b"]).says("de")
    ('a, b and c', 'a und b')
    """
    *first, last = list(parts) or [""]
    if not first:
        return last if isinstance(last, str) else together(last)
    return say("{first} and {last}", first=together(*first, between=", "), last=last)


def one_of_several(parts: Iterable[object]) -> str:
    """Several things of which one is meant: "a, b or c".

    >>> one_of_several(["a", "b", "c"]), one_of_several(["a", "b"]).says("de")
    ('a, b or c', 'a oder b')
    """
    *first, last = list(parts) or [""]
    if not first:
        return last if isinstance(last, str) else together(last)
    return say("{first} or {last}", first=together(*first, between=", "), last=last)


def meant(wrong: str, known: Iterable[str]) -> str:
    """A sentence naming the nearest known words, with a space before it; or an empty text.

    >>> meant("regoin", ["region", "cause"]).says("de")
    ' Meinten Sie region?'
    """
    near = nearest(wrong, known)
    return say(" Did you mean {names}?", names=one_of_several(near)) if near else ""


def told(value: Any, language: str) -> Any:
    """Plain values (mappings, lists, texts) with every sentence in them said in a language.

    >>> told({"words": [say("Total"), 3]}, "de")
    {'words': ['Insgesamt', 3]}
    """
    if isinstance(value, Mapping):
        return {key: told(inner, language) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [told(inner, language) for inner in value]
    return value.says(language) if isinstance(value, Sentence | Number) else value


class Voice:
    """Says sentences in one language at once: what a page's template is given as `say`."""

    def __init__(self, language: str) -> None:
        self.language = language_of(language)

    def __call__(self, sentence: str, /, **values: Any) -> str:
        """A sentence in this language."""
        return say(sentence, **values).says(self.language)

    def counted(self, one: str, many: str, n: int, /, **values: Any) -> str:
        """A sentence that counts, in this language."""
        return counted(one, many, n, **values).says(self.language)

    def of(self, words: object) -> str:
        """A sentence, number or label made elsewhere, in this language."""
        return says(words, self.language)

    def number(self, written: str | int) -> str:
        """A number as this language writes it."""
        return number(written).says(self.language)

    def date(self, day: datetime.date) -> str:
        """A date in words."""
        return catalogue(self.language).day(day)


def speaker(language: str) -> Voice:
    """What says sentences in one language.

    >>> speaker("de")("Total")
    'Insgesamt'
    """
    return Voice(language)


def _said(
    spoken: Catalogue, pattern: str, plural: str, values: Mapping[str, Any], language: str = ""
) -> str:
    chosen = spoken.pattern(pattern, plural, values.get("n", 1))
    if "{" not in chosen:
        return chosen
    parts = list(_parts(chosen))
    parts[1::2] = [_value(spoken, name, values, language) for name in parts[1::2]]
    return "".join(parts)


@lru_cache(maxsize=4096)
def _parts(pattern: str) -> tuple[str, ...]:
    """A pattern's words and the names between them, in turn."""
    return tuple(_PLACE.split(pattern))


def _value(spoken: Catalogue, name: str, values: Mapping[str, Any], language: str) -> str:
    """A value as a language writes it; labels are asked for the very language a reader wants."""
    if name not in values:
        raise Bug(f"A sentence has no value for {{{name}}}; it has {', '.join(values)}.")
    value = values[name]
    if type(value) is str:
        return value
    if (speaks := getattr(value, "says", None)) is not None:
        return str(speaks(language))
    if isinstance(value, int):
        return spoken.number(f"{value:,}")
    if isinstance(value, datetime.date):
        return spoken.day(value)
    if isinstance(value, float | Fraction):
        kind = type(value).__name__
        raise Bug(f"A sentence got a {kind} for {{{name}}}: give text, a whole number or `number`.")
    return str(value)
