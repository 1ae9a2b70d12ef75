"""The languages there are: sentences by their English, plural rule, numbers and dates of each.

English is the language the sentences are written in, so it has no file. A file is read once, when
the first sentence is said in its language.
"""

from __future__ import annotations

import datetime
import gettext
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from ..errors import InputError
from . import po_file

ENGLISH = "en"
FOLDER = Path(__file__).parent
HEADER = ("Language", "Plural-Forms", "X-Name", "X-Decimal", "X-Thousands", "X-Date", "X-Months")
"""The fields every language's file must have."""


@dataclass(frozen=True)
class Catalogue:
    """One language: what it calls itself, its sentences, and how it writes numbers and dates."""

    language: str
    name: str
    decimal: str = "."
    thousands: str = ","
    date: str = "{day} {month} {year}"
    months: tuple[str, ...] = ()
    noun_capitals: bool = False
    """Nouns begin with a capital wherever they stand."""
    sentences: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    form_of: Callable[[int], int] = lambda n: int(n != 1)
    """Which plural form a number takes."""

    def pattern(self, english: str, plural: str, n: int) -> str:
        """The sentence with its placeholders; English where it is not translated."""
        forms = self.sentences.get(english)
        if forms is None:
            return plural if plural and n != 1 else english
        return forms[self.form_of(abs(n))] if plural else forms[0]

    def number(self, written: str) -> str:
        """A number written the English way (`1,234.5`), written this language's way."""
        if self.decimal == "." and self.thousands == ",":
            return written
        return written.translate({44: self.thousands, 46: self.decimal})

    def day(self, day: datetime.date) -> str:
        """A date in words."""
        month = self.months[day.month - 1]
        parts = {"day": str(day.day), "month": month, "year": str(day.year)}
        return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], self.date)


_MONTHS = "January February March April May June July August September October November December"
IN_ENGLISH = Catalogue(ENGLISH, "English", months=tuple(_MONTHS.split()))


@cache
def known() -> tuple[str, ...]:
    """The languages sentences are there in, English first.

    >>> known()[:2]
    ('en', 'de')
    """
    return (ENGLISH, *sorted(path.stem for path in FOLDER.glob("*.po")))


@lru_cache(256)
def language_of(asked: str) -> str:
    """The language sentences are said in where `asked` is wished for: English where it is not there.

    >>> language_of("de-AT"), language_of("DE"), language_of("fr"), language_of("")
    ('de', 'de', 'en', 'en')
    """
    for code in (asked.casefold(), asked.casefold().partition("-")[0]):
        if code in known():
            return code
    return ENGLISH


def keeps_capitals(language: str) -> bool:
    """Whether a language writes nouns with a capital wherever they stand."""
    return catalogue(language_of(language)).noun_capitals


def named(language: str) -> str:
    """What a language calls itself."""
    return catalogue(language_of(language)).name


@cache
def catalogue(language: str) -> Catalogue:
    """A language of `known`."""
    if language == ENGLISH:
        return IN_ENGLISH
    return from_file(po_file.read(FOLDER / f"{language}.po"))


def from_file(written: po_file.PoFile) -> Catalogue:
    """What a language's file says; a field that is missing is named."""
    header = written.header
    for name in HEADER:
        if not header.get(name):
            raise InputError(
                f"{written.name}: the header has no {name}. It needs {', '.join(HEADER)}."
            )
    months = tuple(header["X-Months"].split())
    if len(months) != 12:
        raise InputError(f"{written.name}: X-Months must name 12 months, got {len(months)}.")
    forms, form_of = plural_rule(written)
    sentences = {
        english: tuple(entry.forms)
        for english, entry in written.entries.items()
        if entry.done and len(entry.forms) == (forms if entry.plural else 1)
    }
    return Catalogue(
        header["Language"],
        header["X-Name"],
        header["X-Decimal"],
        header["X-Thousands"].replace("space", "\u202f"),
        header["X-Date"],
        months,
        header.get("X-Nouns") == "capital",
        sentences,
        form_of,
    )


def plural_rule(written: po_file.PoFile) -> tuple[int, Callable[[int], int]]:
    """How many plural forms a language has, and which a number takes."""
    said = re.fullmatch(
        r"\s*nplurals\s*=\s*(\d)\s*;\s*plural\s*=\s*(.+?);?\s*", written.header["Plural-Forms"]
    )
    if said is not None:
        try:
            form_of: Callable[[int], int] = gettext.c2py(said[2])
            if all(0 <= form_of(n) < int(said[1]) for n in range(1000)):
                return int(said[1]), form_of
        except ValueError:
            pass
    raise InputError(
        f"{written.name}: Plural-Forms must be such as 'nplurals=2; plural=(n != 1);', got "
        f"{written.header['Plural-Forms'][:60]!r}."
    )
