"""Selections as PxWebApi v2 writes them, and the part of a JSON-stat table they cut out.

    *  ?                  any characters, one character        A*,?1
    top(n)  bottom(n)     the first and the last n             top(3), or top(3,1) to leave one out
                          of a time variable the latest and the earliest
    from(a)  to(b)        from a on, up to b
    range(a,b)            from a to b
    [ … ]                 a code or an expression with a comma [range(1,3)], [a,b]

Names and codes may be in any case where that leaves no doubt. A variable that is left out is read at
its published total and goes from the table; one that has no total must be selected. Nothing is ever
added up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import translate
from typing import Any

import numpy as np

from ...core.domain import TOTAL
from ...errors import InputError, did_you_mean
from ...formats.reading import codes_of

_EXPRESSION = re.compile(r"(top|bottom|from|to|range)\((.*)\)", re.IGNORECASE)
_PARTS = re.compile(r"\[[^\]]*\]|\w+\([^()]*\)|[^,]+")


def split(text: str) -> list[str]:
    """The parts of a `valuecodes` parameter; commas inside brackets belong to a part.

    >>> split("A*,[b,c],range(1,3),x")
    ['A*', '[b,c]', 'range(1,3)', 'x']
    """
    return [part.strip() for part in _PARTS.findall(text) if part.strip()]


def select(
    parts: Sequence[str], codes: Sequence[str], variable: str, *, time: bool = False
) -> list[int]:
    """The positions that a selection means, in the table's order, each once.

    Of a variable of time the top is what is latest.

    >>> select(["N*", "top(1)"], ["S1", "N1", "N2", "_T"], "region")
    [0, 1, 2]
    """
    positions: set[int] = set()
    named = _Codes(codes, variable, time)
    for part in parts:
        positions |= set(named.meant(part))
    if not positions:
        raise InputError(f"The selection of {variable} holds no code. Select one or more, or *.")
    return sorted(positions)


class _Codes:
    """The codes of one variable, and what expressions about them mean."""

    def __init__(self, codes: Sequence[str], variable: str, time: bool) -> None:
        self.codes = codes
        self.variable = variable
        self.time = time
        self.places = {code: i for i, code in enumerate(codes)}

    def meant(self, part: str) -> Sequence[int]:
        """The positions of a code, an expression or a pattern; in brackets or not."""
        if part in self.places:
            return [self.places[part]]
        if part.startswith("[") and part.endswith("]"):
            part = part[1:-1]
            if part in self.places:
                return [self.places[part]]
        called = _EXPRESSION.fullmatch(part)
        if called is not None:
            return self._called(called[1].lower(), called[2])
        if "*" in part or "?" in part:
            literal = part.replace("[", "[[]")  # brackets mean nothing here
            pattern = re.compile(translate(re.sub(r"\*+", "*", literal)), re.IGNORECASE)
            matched = [i for i, code in enumerate(self.codes) if pattern.match(code)]
            if not matched:
                raise InputError(f"No code of {self.variable} fits {part[:60]!r}.")
            return matched
        return [self._place(part)]

    def _called(self, name: str, inside: str) -> Sequence[int]:
        if name in ("top", "bottom"):
            return self._end(name, inside)
        if name == "range":
            first, comma, last = inside.partition(",")
            if not comma:
                raise InputError(f"range takes two codes, as in range(a,b), got {inside[:60]!r}.")
            start, end = self._place(first.strip()), self._place(last.strip())
            return range(min(start, end), max(start, end) + 1)
        at = self._place(inside.strip())
        end = len(self.codes) - (self.codes[-1] == TOTAL)
        return range(at, max(end, at + 1)) if name == "from" else range(at + 1)

    def _end(self, name: str, inside: str) -> Sequence[int]:
        numbers = [word.strip() for word in inside.split(",")]
        if not 1 <= len(numbers) <= 2 or not all(re.fullmatch(r"[0-9]{1,9}", n) for n in numbers):
            raise InputError(
                f"{name} takes a number of codes, as in {name}(3), got {inside[:40]!r}."
            )
        many, skipped = int(numbers[0]), int(numbers[1]) if len(numbers) == 2 else 0
        # a total is no first or last category
        plain = [i for i, code in enumerate(self.codes) if code != TOTAL]
        ordered = plain if (name == "top") != self.time else plain[::-1]
        return ordered[skipped : skipped + many]

    def _place(self, code: str) -> int:
        found = named(code, self.codes)
        if found is None:
            raise InputError(
                f"{self.variable} has no code {code[:60]!r} in this table."
                f"{did_you_mean(code[:60], self.codes)}"
            )
        return self.places[found]


def named(wanted: str, names: Sequence[str]) -> str | None:
    """The name that is meant: as it is written, else the only one that differs in case alone.

    >>> named("SEX", ["sex", "age"]), named("a", ["A", "Á"]), named("x", ["X", "x"])
    ('sex', 'A', 'x')
    """
    if wanted in names:
        return wanted
    alike = [name for name in names if name.casefold() == wanted.casefold()]
    return alike[0] if len(alike) == 1 else None


def cut(dataset: Mapping[str, Any], selection: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The part of a JSON-stat table that is selected; without a selection, all of it."""
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
        if name in wanted:
            selected.append(select(wanted[name], codes, name, time=name in times))
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
            f"This table has no variable {wanted[:60]!r}; it has {', '.join(names)}."
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
    part["extension"] = _columns(dataset.get("extension", {}), chosen)
    words = "This is a part of a table; the notes speak of the whole table."
    if gone:
        words += f" Left out and read at their published totals: {', '.join(gone)}."
    part["note"] = [words, *dataset.get("note", [])]
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
