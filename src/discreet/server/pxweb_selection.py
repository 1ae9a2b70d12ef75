"""Selections as PxWebApi v2 writes them, and the part of a JSON-stat table they cut out.

    *  ?                  any characters, one character        A*,?1
    top(n)  bottom(n)     the first and the last n             top(3), or top(3,1) to leave one out
    from(a)  to(b)        from a on, up to b
    range(a,b)            from a to b
    [a,b]                 one code that holds a comma or an asterisk

A variable that is left out is read at its published total and goes from the table; one that has
no total must be selected. Nothing is ever added up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import translate
from typing import Any

import numpy as np

from ..core.domain import TOTAL
from ..errors import InputError, did_you_mean
from ..formats.reading import codes_of

_EXPRESSION = re.compile(r"(top|bottom|from|to|range)\((.*)\)", re.IGNORECASE)
_PARTS = re.compile(r"\[[^\]]*\]|\w+\([^()]*\)|[^,]+")


def split(text: str) -> list[str]:
    """The parts of a `valuecodes` parameter; commas inside brackets belong to a part.

    >>> split("A*,[b,c],range(1,3),x")
    ['A*', '[b,c]', 'range(1,3)', 'x']
    """
    return [part.strip() for part in _PARTS.findall(text) if part.strip()]


def select(parts: Sequence[str], codes: Sequence[str], variable: str) -> list[int]:
    """The positions that a selection means, in the table's order, each once.

    >>> select(["N*", "top(1)"], ["S1", "N1", "N2", "_T"], "region")
    [0, 1, 2]
    """
    positions: set[int] = set()
    place = {code: i for i, code in enumerate(codes)}
    for part in parts:
        positions |= set(_meant(part, codes, place, variable))
    if not positions:
        raise InputError(f"The selection of {variable} holds no code. Select one or more, or *.")
    return sorted(positions)


def _meant(
    part: str, codes: Sequence[str], place: Mapping[str, int], variable: str
) -> Sequence[int]:
    if part in place:
        return [place[part]]
    if part.startswith("[") and part.endswith("]"):
        return [_place(part[1:-1], place, variable)]
    called = _EXPRESSION.fullmatch(part)
    if called is not None:
        return _called(called[1].lower(), called[2], codes, place, variable)
    if "*" in part or "?" in part:
        literal = part.replace("[", "[[]")  # brackets mean nothing here
        pattern = re.compile(translate(re.sub(r"\*+", "*", literal)))
        matched = [i for i, code in enumerate(codes) if pattern.match(code)]
        if not matched:
            raise InputError(f"No code of {variable} fits {part[:60]!r}.")
        return matched
    return [_place(part, place, variable)]


def _called(
    name: str, inside: str, codes: Sequence[str], place: Mapping[str, int], variable: str
) -> Sequence[int]:
    if name in ("top", "bottom"):
        numbers = [word.strip() for word in inside.split(",")]
        if not 1 <= len(numbers) <= 2 or not all(re.fullmatch(r"[0-9]{1,9}", n) for n in numbers):
            raise InputError(
                f"{name} takes a number of codes, as in {name}(3), got {inside[:40]!r}."
            )
        many, skipped = int(numbers[0]), int(numbers[1]) if len(numbers) == 2 else 0
        # a total is no first or last category
        plain = [i for i, code in enumerate(codes) if code != TOTAL]
        ordered = plain if name == "top" else plain[::-1]
        return ordered[skipped : skipped + many]
    if name == "range":
        first, comma, last = inside.partition(",")
        if not comma:
            raise InputError(f"range takes two codes, as in range(a,b), got {inside[:60]!r}.")
        start, end = _place(first.strip(), place, variable), _place(last.strip(), place, variable)
        return range(min(start, end), max(start, end) + 1)
    at = _place(inside.strip(), place, variable)
    end = len(codes) - (codes[-1] == TOTAL)
    return range(at, max(end, at + 1)) if name == "from" else range(at + 1)


def _place(code: str, place: Mapping[str, int], variable: str) -> int:
    if code not in place:
        raise InputError(
            f"{variable} has no code {code[:60]!r} in this table.{did_you_mean(code[:60], place)}"
        )
    return place[code]


def cut(dataset: Mapping[str, Any], selection: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The part of a JSON-stat table that is selected; without a selection, all of it."""
    names: list[str] = list(dataset["id"])
    for name in selection:
        if name not in names:
            raise InputError(
                f"This table has no variable {name[:60]!r}; it has {', '.join(names)}."
                f"{did_you_mean(name[:60], names)}"
            )
    if not selection:
        return dict(dataset)
    selected: list[list[int]] = []
    gone: list[str] = []
    for name in names:
        codes = codes_of(dataset, name)
        if name in selection:
            selected.append(select(selection[name], codes, name))
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
    """Noise, percentages and further columns, cut like the values."""
    part = dict(extension)
    for group in ("noise", "percent", "extra"):
        if group in part:
            part[group] = {
                name: [column[i] for i in chosen] if isinstance(column, list) else column
                for name, column in part[group].items()
            }
    return part
