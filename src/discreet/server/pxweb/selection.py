"""Selections as PxWebApi v2 writes them, and the part of a JSON-stat table they cut out.

    *  ?                  any characters, one character        A*,?1
    top(n)  bottom(n)     the first and the last n             top(3), or top(3,1) to leave one out
                          of a time variable the latest and the earliest
    from(a)  to(b)        from a on, up to b
    range(a,b)            from a to b; of periods in the order of time, however the table has them
    [ … ]                 a code or an expression with a comma [range(1,3)], [a,b]

A total is no first or last category, and what is unknown is no period. Names and codes may be in any
case where that leaves no doubt. A variable that is left out is read at its published total and goes
from the table; one that has no total must be selected. Nothing is ever added up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import translate
from functools import cached_property
from typing import Any

import numpy as np

from ...core.domain import TOTAL
from ...errors import InputError, did_you_mean
from ...formats.reading import codes_of
from ...languages import listed, say, together

_EXPRESSION = re.compile(r"(top|bottom|from|to|range)\((.*)\)", re.IGNORECASE)
_PARTS = re.compile(r"(?:\[\w+\(.*?\)\]|\[.*?\]|\w+\([^()]*\))(?=\s*(?:,|$))|[^,]+", re.DOTALL)
"""A call in brackets, a code in brackets, a call, or a code: each up to a comma or the end."""
_MOST_COMMAS = 20
_MOST_PATTERNS = 100
"""Each is held against every code of a variable."""


def split(text: str) -> list[str]:
    """The parts of a `valuecodes` parameter; commas inside brackets belong to a part.

    >>> split("A*,[b,c],range(1,3),x")
    ['A*', '[b,c]', 'range(1,3)', 'x']
    """
    return [part.strip() for part in _PARTS.findall(text) if part.strip()]


def select(
    parts: Sequence[str],
    codes: Sequence[str],
    variable: str,
    *,
    periods: Sequence[str] | None = None,
) -> list[int]:
    """The positions that a selection means, in the table's order, each once.

    `periods` are the codes of a variable of time in the order of time, without what is unknown: the
    top is what is latest.

    >>> select(["N*", "top(1)"], ["S1", "N1", "N2", "_T"], "region")
    [0, 1, 2]
    >>> select(["top(1)"], ["2021", "2020", "_T"], "year", periods=["2020", "2021"])
    [0]
    """
    named = _Codes(codes, variable, periods)
    for part in parts:
        named.choose(part)
    positions: list[int] = np.flatnonzero(named.chosen).tolist()
    if not positions:
        raise InputError(f"The selection of {variable} holds no code. Select one or more, or *.")
    return positions


class _Codes:
    """The codes of one variable, what expressions about them mean, and which were chosen."""

    def __init__(
        self, codes: Sequence[str], variable: str, periods: Sequence[str] | None = None
    ) -> None:
        self.codes = codes
        self.variable = variable
        self.time = periods is not None
        self.places = {code: i for i, code in enumerate(codes)}
        self.chosen = np.zeros(len(codes), dtype=bool)
        self.patterns = 0
        plain = [code for code in codes if code != TOTAL] if periods is None else periods
        places = [self.places[code] for code in plain if code in self.places]
        self.plain = np.array(places, np.int64)

    @cached_property
    def ranks(self) -> dict[int, int]:
        """Which of the plain codes stands at a place."""
        return {place: i for i, place in enumerate(self.plain.tolist())}

    @cached_property
    def folded(self) -> dict[str, list[int]]:
        """The places of codes that differ in case alone."""
        folded: dict[str, list[int]] = {}
        for i, code in enumerate(self.codes):
            folded.setdefault(code.casefold(), []).append(i)
        return folded

    def choose(self, part: str) -> None:
        """Take in what a code, an expression or a pattern means; in brackets or not."""
        inside = part[1:-1] if part.startswith("[") and part.endswith("]") else part
        for code in (part, inside):
            if code in self.places:
                self.chosen[self.places[code]] = True
                return
        called = _EXPRESSION.fullmatch(inside)
        if called is not None:
            self._call(called[1].lower(), called[2])
        elif "*" in inside or "?" in inside:
            self._match(inside)
        else:
            self.chosen[self._place(inside)] = True

    def _match(self, text: str) -> None:
        self.patterns += 1
        if self.patterns > _MOST_PATTERNS:
            raise InputError(
                f"{self.variable} is selected with more than {_MOST_PATTERNS} patterns. Use fewer, "
                "or name codes."
            )
        literal = text.replace("[", "[[]")  # brackets mean nothing here
        pattern = re.compile(translate(re.sub(r"\*+", "*", literal)), re.IGNORECASE)
        matched = [i for i, code in enumerate(self.codes) if pattern.match(code)]
        if not matched:
            raise InputError(f"No code of {self.variable} fits {text[:60]!r}.")
        self.chosen[matched] = True

    def _call(self, name: str, inside: str) -> None:
        if name in ("top", "bottom"):
            self.chosen[self._end(name, inside)] = True
        elif name == "range":
            self.chosen[self._between(*self._ends(inside))] = True
        elif name == "to":
            end = self._place(inside.strip())
            rank = self.ranks.get(end, -1)
            self.chosen[self.plain[: rank + 1] if rank >= 0 else slice(end + 1)] = True
        else:
            start = self._place(inside.strip())
            self.chosen[start] = True
            rank = self.ranks.get(start, -1)
            after = self.plain[rank:] if rank >= 0 else self.plain[self.plain > start]
            self.chosen[after] = True

    def _between(self, start: int, end: int) -> slice | np.ndarray[Any, np.dtype[np.int64]]:
        """What lies between two places, in the order of time where both are periods."""
        if start in self.ranks and end in self.ranks:
            first, last = sorted([self.ranks[start], self.ranks[end]])
            return self.plain[first : last + 1]
        return slice(min(start, end), max(start, end) + 1)

    def _ends(self, inside: str) -> tuple[int, int]:
        """The ends of a range: at the comma between two codes, which may hold commas too."""
        parts = inside.split(",", _MOST_COMMAS)
        if len(parts) == 1:
            raise InputError(f"range takes two codes, as in range(a,b), got {inside[:60]!r}.")
        for i in range(1, len(parts)):
            first, last = (",".join(some).strip() for some in (parts[:i], parts[i:]))
            start, end = self._found(first), self._found(last)
            if start is not None and end is not None:
                return start, end
        return self._place(parts[0].strip()), self._place(",".join(parts[1:]).strip())

    def _end(self, name: str, inside: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        numbers = [word.strip() for word in inside.split(",")]
        if not 1 <= len(numbers) <= 2 or not all(re.fullmatch(r"[0-9]{1,9}", n) for n in numbers):
            raise InputError(
                f"{name} takes a number of codes, as in {name}(3), got {inside[:40]!r}."
            )
        many, skipped = int(numbers[0]), int(numbers[1]) if len(numbers) == 2 else 0
        ordered = self.plain if (name == "top") != self.time else self.plain[::-1]
        return ordered[skipped : skipped + many]

    def _found(self, code: str) -> int | None:
        """The place of a code: as it is written, else of the only one that differs in case alone."""
        if code in self.places:
            return self.places[code]
        alike = self.folded.get(code.casefold(), [])
        return alike[0] if len(alike) == 1 else None

    def _place(self, code: str) -> int:
        place = self._found(code)
        if place is None:
            raise InputError(
                f"{self.variable} has no code {code[:60]!r} in this table."
                f"{did_you_mean(code[:60], self.codes)}"
            )
        return place


def named(wanted: str, names: Sequence[str]) -> str | None:
    """The name that is meant: as it is written, else the only one that differs in case alone.

    >>> named("SEX", ["sex", "age"]), named("a", ["A", "Á"]), named("x", ["X", "x"])
    ('sex', 'A', 'x')
    """
    if wanted in names:
        return wanted
    alike = [name for name in names if name.casefold() == wanted.casefold()]
    return alike[0] if len(alike) == 1 else None


def cut(
    dataset: Mapping[str, Any],
    selection: Mapping[str, Sequence[str]],
    periods: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """The part of a JSON-stat table that is selected; without a selection, all of it.

    `periods` holds the codes of periods in the order of time, by dimension; those it does not hold
    are taken to stand in that order.
    """
    names: list[str] = list(dataset["id"])
    roles = dataset.get("role", {})
    times = roles.get("time", [])
    wanted = {variable_named(name, names, times): parts for name, parts in selection.items()}
    if len(wanted) < len(selection):
        raise InputError(
            "A variable is selected twice, under names that differ in case. Once will do."
        )
    if not wanted:
        return dict(dataset)
    selected: list[list[int]] = []
    gone: list[str] = []
    for name in names:
        codes = codes_of(dataset, name)
        if wanted.get(name):
            known = (periods or {}).get(name)
            if known is None and name in times:
                known = [code for code in codes if code != TOTAL]
            selected.append(select(wanted[name], codes, name, periods=known))
        elif name in roles.get("metric", []):
            selected.append(list(range(len(codes))))
        elif codes[-1] == TOTAL:
            selected.append([len(codes) - 1])
            gone.append(name)
        else:
            raise InputError(
                f"The variable {name} has no total, so it cannot be left out. Select codes of it, "
                f"or all with {name}=*."
            )
    places = np.arange(int(np.prod(dataset["size"])), dtype=np.int64).reshape(dataset["size"])
    chosen: list[int] = places[np.ix_(*selected)].reshape(-1).tolist()
    return _part(dataset, dict(zip(names, selected, strict=True)), gone, chosen)


def variable_named(wanted: str, names: Sequence[str], times: Sequence[str]) -> str:
    """A variable of the table by its name; `time` is the one of time where there is one."""
    found = named(wanted, names)
    if found is None and wanted.casefold() == "time" and len(times) == 1:
        return times[0]
    if found is None:
        raise InputError(
            f"This table has no variable {wanted[:60]!r}; it has {', '.join(names) or 'none'}."
            f"{did_you_mean(wanted[:60], names)}"
        )
    return found


def _part(
    dataset: Mapping[str, Any],
    selected: Mapping[str, list[int]],
    gone: list[str],
    chosen: list[int],
) -> dict[str, Any]:
    part = dict(dataset)
    left = [name for name in dataset["id"] if name not in gone]
    if not left:
        left, gone = list(dataset["id"]), []  # a table needs a dimension: the totals stay
    part["id"] = left
    part["size"] = [len(selected[name]) for name in left]
    part["dimension"] = {}
    for name in left:
        dimension = dict(dataset["dimension"][name])
        codes = codes_of(dataset, name)
        labels = dimension["category"]["label"]
        some = [codes[i] for i in selected[name]]
        dimension["category"] = {
            **dimension["category"],
            "index": {code: i for i, code in enumerate(some)},
            "label": {code: labels[code] for code in some},
        }
        part["dimension"][name] = dimension
    if "role" in dataset:
        roles = {r: [n for n in names if n in left] for r, names in dataset["role"].items()}
        part["role"] = {role: names for role, names in roles.items() if names}
        if not part["role"]:
            del part["role"]
    part["value"] = [dataset["value"][i] for i in chosen]
    status = dataset.get("status", {})
    part["status"] = {
        str(new): status[str(old)] for new, old in enumerate(chosen) if str(old) in status
    }
    if not part["status"]:
        del part["status"]
    extension = dataset.get("extension", {})
    part["extension"] = _columns(extension, chosen)
    language = extension.get("px", {}).get("language", "")
    words = say("This is a part of a table; the notes speak of the whole table.")
    if gone:
        left_out = say("Left out and read at their published totals: {names}.", names=listed(gone))
        words = together(words, left_out)
    part["note"] = [words.says(language), *dataset.get("note", [])]
    return part


def _columns(extension: Mapping[str, Any], chosen: list[int]) -> dict[str, Any]:
    """Noise, percentages and further columns, cut like the values.

    The law names categories by their place in the whole table, so a part goes without it.
    """
    part = {name: value for name, value in extension.items() if name != "law"}
    for group in ("noise", "percent", "extra"):
        if group in part:
            part[group] = {
                name: [column[i] for i in chosen] if isinstance(column, list) else column
                for name, column in part[group].items()
            }
    return part
