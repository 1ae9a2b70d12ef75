"""Which category each text of a column is: decided here, once, for every engine.

An engine gives the distinct texts of a column with their numbers of records, and gets a place among
the finest categories for each. Canonical text, what is missing, what is other, derived values and
levels are the same everywhere because no engine has a say in them. A text without a place stops the
load with one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from ..core.derived import OUTSIDE, UNREADABLE
from ..core.domain import Indices, Level, Variable
from ..errors import DataError
from .coding import Columns

_MISSING = -3
_BLANKS = " \t\n\r\x0b\x0c\xa0"
_MAY_CHANGE = frozenset(f"0{_BLANKS}")
"""What a text ends in that `canonical` may change."""
_WHOLE = re.compile(r"([-+]?[0-9]+)\.0+")


def canonical(text: str) -> str:
    """How a value of any column type is compared with a declared code.

    It is trimmed, and a whole number loses its `.0`: 1, 1.0 and " 1" are one code, 007 and 7 are two.

    >>> [canonical(value) for value in (" 1.0", "007", "1.50", "-3.000")]
    ['1', '007', '1.50', '-3']
    """
    trimmed = text.strip(_BLANKS)
    whole = _WHOLE.fullmatch(trimmed)
    return whole.group(1) if whole else trimmed


def canonical_texts(texts: Sequence[str | None]) -> list[str]:
    """Many texts at once, None as an empty one; most end in a way that nothing can change."""
    return [
        text
        if text and text[-1] not in _MAY_CHANGE and text[0] not in _BLANKS
        else canonical(text or "")
        for text in texts
    ]


class CodeMap:
    """The places of a variable's texts; what was met on the way is counted and told."""

    def __init__(self, variable: Variable, columns: Columns, source: str) -> None:
        self.variable, self.columns, self.source = variable, columns, source
        self._codes = {} if columns.rule else _by_text(variable)
        self._gone = {canonical(value) for value in columns.missing_values} | {""}
        self._missing_place = self._place_of(columns.missing)
        self._other_place = self._place_of(columns.other)
        self.missing = self.other = 0
        """Records that went to the missing and the other category."""
        self._odd: dict[int, tuple[int, str]] = {}
        """Of texts without a place: how many, and the first in order."""

    def _place_of(self, code: str | None) -> int:
        return -1 if code is None else self.variable.finest.index[code]

    def places(self, texts: Sequence[str | None], records: Sequence[int]) -> Indices:
        """For each text, met in so many records, the place of its finest category."""
        read = canonical_texts(texts)
        places = self._known(read)
        counts = np.asarray(records, dtype=np.int64)
        gone, odd = places == _MISSING, (places == OUTSIDE) | (places == UNREADABLE)
        self.missing += int(counts[gone].sum())
        self.other += int(counts[odd].sum())
        for kind in (OUTSIDE, UNREADABLE):
            some = [read[place] for place in np.flatnonzero(places == kind)]
            if some:
                known, first = self._odd.get(kind, (0, some[0]))
                self._odd[kind] = known + len(some), min(first, *some)
        places[gone], places[odd] = self._missing_place, self._other_place
        return places

    def _known(self, texts: Sequence[str]) -> Indices:
        rule = self.columns.rule
        if rule is not None:
            places = np.full(len(texts), _MISSING, dtype=np.int64)
            given = [place for place, text in enumerate(texts) if text not in self._gone]
            places[given] = rule.places([texts[place] for place in given])
            return places
        # a declared code wins over the list of missing texts: "-1" may be both
        return np.array(
            [
                self._codes.get(text, _MISSING if text in self._gone else OUTSIDE)
                if text
                else _MISSING
                for text in texts
            ],
            dtype=np.int64,
        )

    def check(self) -> None:
        """Refuse what has no place, in one sentence."""
        column, name = self.columns.finest, self.variable.name
        if self.missing and self.columns.missing is None:
            raise DataError(
                f"{self.missing:,} records of {self.source} have no value in column {column!r}, and "
                f"{name} has no category for missing. Declare one in discreet.yaml."
            )
        if self.columns.other is not None or not self._odd:
            return
        rule = self.columns.rule
        kinds, example = self._odd.get(UNREADABLE, self._odd.get(OUTSIDE, (0, "")))
        if rule is None:
            raise DataError(
                f"Column {column!r} of {self.source} holds {kinds:,} "
                f"{'codes' if kinds > 1 else 'code'} that {name} does not declare, for example "
                f"{shown(example)}. Add them to the categories, or name a category for `other`."
            )
        several = kinds > 1
        what = f"{name} has no place for"
        if UNREADABLE in self._odd:
            what = f"that {'are' if several else 'is'} no {rule.words}"
        raise DataError(
            f"Column {column!r} of {self.source} holds {kinds:,} {'texts' if several else 'text'} "
            f"{what}, for example {shown(example)}. Mend the data or the rule under `derive`, or name "
            "a category for `other`."
        )


def _by_text(variable: Variable) -> dict[str, int]:
    codes: dict[str, int] = {}
    for index, code in enumerate(variable.finest.codes):
        if codes.setdefault(canonical(code), index) != index:
            raise DataError(
                f"{variable.name} has two codes that read as {canonical(code)!r}. Codes are "
                "compared without blanks at their ends and without `.0`; keep one of them."
            )
    codes.pop("", None)
    return codes


def check_parents(
    variable: Variable, level: Level, columns: Columns, pairs: Iterable[tuple[int, str | None]]
) -> None:
    """Every record's parent, where a level has a column of its own, is the declared one.

    `pairs` are a finest place and what the column says beside it. A missing child has no parent to
    check; a value sent to other brings its own parent along; where a category stands in, the column
    is empty or has the code of the one it stands in for.
    """
    finest = variable.finest
    free = {finest.index[code] for code in (columns.missing, columns.other) if code is not None}
    codes = {canonical(code): place for place, code in enumerate(level.codes)}
    gone = {canonical(value) for value in columns.missing_values} | {""}
    wrong = set()
    for place, text in pairs:
        declared, said = level.of_finest[place], "" if text is None else canonical(text)
        absent = level.categories[declared].stands_in and said in gone
        if place not in free and codes.get(said) != declared and not absent:
            wrong.add(place)
    if not wrong:
        return
    first = min(wrong)
    column, several = columns.levels[level.name], len(wrong) > 1
    raise DataError(
        f"{len(wrong):,} {'categories' if several else 'category'} of {variable.name} "
        f"{'stand' if several else 'stands'} in column {column!r} under another {level.name} than "
        f"declared, for example {shown(finest.codes[first])}, declared under "
        f"{shown(level.codes[level.of_finest[first]])}. Each has one parent: mend the data or the "
        "hierarchy."
    )


def shown(code: object) -> str:
    """A code as an example: quoted, and cut where it is too long to be one."""
    text = str(code)
    return repr(text if len(text) <= 40 else text[:40] + "…")
