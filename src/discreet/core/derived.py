"""Derived values: a category from a text by a declared public rule.

A date becomes its month, a number its band, a code its group or chapter. A rule is exact, sees one
text at a time and knows no data, so its categories are public before anything is loaded and every
engine gets the same ones. Two answers are no category: `OUTSIDE`, a value for which there is none,
and `UNREADABLE`, a text that is no such value at all.
"""

from __future__ import annotations

import bisect
import datetime
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .domain import Indices

OUTSIDE, UNREADABLE = -1, -2

UNITS = ("day", "month", "quarter", "year", "weekday")
"""What a date can become; all but weekday need a first and a last."""
_COARSER = {
    "day": ("day", "month", "quarter", "year", "weekday"),
    "month": ("month", "quarter", "year"),
    "quarter": ("quarter", "year"),
    "year": ("year",),
    "weekday": ("weekday",),
}
FORMATS = ("Y-M-D", "D.M.Y", "D/M/Y", "D-M-Y", "M/D/Y", "Y/M/D", "Y.M.D", "YMD")
_MOST_DIGITS = 300
_TIME = r"(?:[ T][0-9:.,]+ ?(?:Z|[-+][0-9:]+)?)?"
_PLAIN_SIGNS = frozenset("0123456789.-")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")


class Rule(Protocol):
    """How texts become places in a list of categories."""

    @property
    def words(self) -> str:
        """What a text must be, for a sentence: "date written D.M.Y"."""

    def places(self, texts: Sequence[str]) -> Indices:
        """For each canonical text the place of its category, `OUTSIDE` or `UNREADABLE`."""

    def facts(self) -> list[Any]:
        """All that decides a place, for a digest."""


@dataclass(frozen=True)
class Dates:
    """Dates by day, month, quarter or year between two days, or by weekday."""

    unit: str
    first: datetime.date
    last: datetime.date
    format: str = FORMATS[0]

    @property
    def words(self) -> str:
        """As a sentence names them."""
        return f"date written {self.format}"

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """Every category between the first and the last, in order; of weekdays all seven."""
        if self.unit == "weekday":
            return tuple(str(number) for number in range(1, 8))
        days = (self.last - self.first).days + 1
        every = (self.first + datetime.timedelta(n) for n in range(days))
        return tuple(dict.fromkeys(part_of_date(day, self.unit) for day in every))

    def coarser(self, unit: str) -> tuple[list[str], list[int]]:
        """The codes of a coarser unit, and the place of each of these codes among them."""
        of = [part_of_date(self._one_day(code), unit) for code in self.codes]
        codes = [str(n) for n in range(1, 8)] if unit == "weekday" else list(dict.fromkeys(of))
        index = {code: place for place, code in enumerate(codes)}
        return codes, [index[code] for code in of]

    def _one_day(self, code: str) -> datetime.date:
        if self.unit == "day":
            return datetime.date.fromisoformat(code)
        year, _, rest = code.partition("-")
        month = 1 if not rest else 3 * int(rest[1:]) - 2 if rest[0] == "Q" else int(rest)
        return datetime.date(int(year), month, 1)

    def places(self, texts: Sequence[str]) -> Indices:
        """A text is looked at once; what is no day of the calendar is unreadable."""
        index = {code: place for place, code in enumerate(self.codes)}
        out = np.full(len(texts), UNREADABLE, dtype=np.int64)
        for place, text in enumerate(texts):
            day = self.read(text)
            if day is not None:
                inside = self.unit == "weekday" or self.first <= day <= self.last
                out[place] = index[part_of_date(day, self.unit)] if inside else OUTSIDE
        return out

    def read(self, text: str) -> datetime.date | None:
        """The day a text means; None where it is none."""
        match = self._pattern.fullmatch(text)
        if match is None:
            return None
        try:
            return datetime.date(*(int(match[part]) for part in "YMD"))
        except ValueError:
            return None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # months and days may lack their leading zero where a sign parts them from the rest
        two = r"(?P<{}>[0-9]{{2}})" if self.format == "YMD" else r"(?P<{}>[0-9]{{1,2}})"
        parts = [
            r"(?P<Y>[0-9]{4})"
            if sign == "Y"
            else two.format(sign)
            if sign in "MD"
            else re.escape(sign)
            for sign in self.format
        ]
        return re.compile("".join(parts) + _TIME)

    def facts(self) -> list[Any]:
        """All that decides a place."""
        ends = [] if self.unit == "weekday" else [str(self.first), str(self.last)]
        return ["dates", self.unit, self.format, *ends]


def part_of_date(day: datetime.date, unit: str) -> str:
    """The code of the category a day lies in.

    >>> [part_of_date(datetime.date(2020, 2, 29), unit) for unit in UNITS]
    ['2020-02-29', '2020-02', '2020-Q1', '2020', '6']
    """
    if unit == "weekday":
        return str(day.isoweekday())
    if unit == "quarter":
        return f"{day.year:04}-Q{(day.month + 2) // 3}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[unit]]


def coarser_units(unit: str) -> tuple[str, ...]:
    """The units a date's unit can be summed to, itself first."""
    return _COARSER[unit]


@dataclass(frozen=True)
class Bands:
    """Numbers by bands: each holds its lower end and goes up to the next."""

    cuts: tuple[Fraction, ...]
    below: bool = False
    """There is a band for everything under the first cut."""
    above: bool = True
    """There is a band for everything from the last cut on."""
    mark: str = "."

    @property
    def words(self) -> str:
        """As a sentence names them."""
        return "number" if self.mark == "." else f"number with the decimal mark {self.mark!r}"

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """`0-4`, `90+`, `<0`; with cuts that are no whole numbers `0-<0.5`."""
        whole = all(cut.denominator == 1 for cut in self.cuts)
        inner = [
            _band(low, high, whole) for low, high in zip(self.cuts, self.cuts[1:], strict=False)
        ]
        first = [f"<{number_text(self.cuts[0])}"] if self.below else []
        last = [f"{number_text(self.cuts[-1])}+"] if self.above else []
        return (*first, *inner, *last)

    def coarser(self, other: Bands) -> list[int] | None:
        """The place of each of these bands among wider ones; None where one would be cut."""
        if not set(other.cuts) <= set(self.cuts) or self.cuts[0] != other.cuts[0]:
            return None
        if (self.below, self.above, self.cuts[-1]) != (other.below, other.above, other.cuts[-1]):
            return None
        starts = ([self.cuts[0] - 1] if self.below else []) + list(self.cuts)
        starts = starts if self.above else starts[:-1]
        return [other._place(start) for start in starts]

    def _place(self, number: Fraction) -> int:
        at = bisect.bisect_right(self.cuts, number)
        if (at == 0 and not self.below) or (at == len(self.cuts) and not self.above):
            return OUTSIDE
        return at - (not self.below)

    def places(self, texts: Sequence[str]) -> Indices:
        """By binary fractions where these decide, exactly where a number is as near as a cut."""
        if self.mark != ".":
            texts = [text.replace(".", "x").replace(self.mark, ".") for text in texts]
        chosen, numbers = _numbers(texts)
        out = np.full(len(texts), UNREADABLE, dtype=np.int64)
        if not len(chosen):
            return out
        cuts = np.array([float(cut) for cut in self.cuts])
        at: Indices = np.searchsorted(cuts, numbers, side="right").astype(np.int64)
        # rounding keeps order, so only a number that rounds to a cut itself is in doubt
        doubtful = np.flatnonzero(np.isin(numbers, cuts) | ~np.isfinite(numbers))
        for place in doubtful.tolist():
            at[place] = bisect.bisect_right(self.cuts, Fraction(texts[int(chosen[place])]))
        places = at - (0 if self.below else 1)
        places[(at == 0) & (not self.below)] = OUTSIDE
        places[(at == len(cuts)) & (not self.above)] = OUTSIDE
        out[chosen] = places
        return out

    def facts(self) -> list[Any]:
        """All that decides a place."""
        return ["bands", [str(cut) for cut in self.cuts], self.below, self.above, self.mark]


def _numbers(texts: Sequence[str]) -> tuple[Indices, npt.NDArray[np.float64]]:
    """Which texts are numbers, by place, and the nearest binary fraction of each.

    Where there is nothing but digits, points and minus signs, what Python reads is a number.
    """
    plain = (
        _PLAIN_SIGNS.issuperset("".join(texts)) and max(map(len, texts), default=0) <= _MOST_DIGITS
    )
    if plain:
        with suppress(ValueError):
            return np.arange(len(texts)), np.array(list(map(float, texts)), dtype=np.float64)
    chosen = [
        place
        for place, text in enumerate(texts)
        if len(text) <= _MOST_DIGITS and _NUMBER.fullmatch(text)
    ]
    numbers = [float(texts[place]) for place in chosen]
    return np.array(chosen, dtype=np.int64), np.array(numbers, dtype=np.float64)


def number_text(number: Fraction) -> str:
    """A number as a code shows it.

    >>> number_text(Fraction(1, 2)), number_text(Fraction(-3)), number_text(Fraction(1, 3))
    ('0.5', '-3', '1/3')
    """
    if number.denominator == 1:
        return str(number.numerator)
    places = 0
    scaled = number
    while scaled.denominator != 1 and places < 12:
        scaled *= 10
        places += 1
    if scaled.denominator != 1:
        return str(number)
    digits = f"{abs(scaled.numerator):0{places + 1}d}"
    return f"{'-' if number < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _band(low: Fraction, high: Fraction, whole: bool) -> str:
    if not whole:
        return f"{number_text(low)}-<{number_text(high)}"
    return str(low) if high - low == 1 else f"{low}-{high - 1}"


@dataclass(frozen=True)
class Groups:
    """Texts by a list: each belongs to one category, named by its place."""

    texts: Mapping[str, int]
    words: str = "text of the list"

    def places(self, texts: Sequence[str]) -> Indices:
        """A text that is not listed is outside."""
        return np.array([self.texts.get(text, OUTSIDE) for text in texts], dtype=np.int64)

    def facts(self) -> list[Any]:
        """All that decides a place."""
        return ["groups", sorted(self.texts.items())]


@dataclass(frozen=True)
class Prefixes:
    """Texts by how they begin: the longest beginning that is listed decides."""

    beginnings: Mapping[str, int]
    words: str = "text that begins as listed"

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({len(beginning) for beginning in self.beginnings}, reverse=True)

    def places(self, texts: Sequence[str]) -> Indices:
        """A text that begins like none is outside."""
        return np.array([self._place(text) for text in texts], dtype=np.int64)

    def _place(self, text: str) -> int:
        for length in self._lengths:
            place = self.beginnings.get(text[:length]) if len(text) >= length else None
            if place is not None:
                return place
        return OUTSIDE

    def facts(self) -> list[Any]:
        """All that decides a place."""
        return ["prefix", sorted(self.beginnings.items())]
