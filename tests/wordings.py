"""One question in many words: random tables and settings, and the ways people write them.

What settings there are and which words they take comes from the declarations of the methods, so a
new setting or a new method is drawn here without a change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from discreet.core.description import Description
from discreet.core.domain import AxisRef, Level
from discreet.core.exact import plain
from discreet.errors import InputError
from discreet.methods.declaration import Setting

Draw = Callable[[st.SearchStrategy[Any]], Any]
NUMBERS = ("0.5", "1/4", "1", "3", "20", "40", "0.9", "1e-6", "300")
"""Tried for every setting that takes numbers; each keeps those it takes."""


# Settings


def values_of(setting: Setting) -> list[str]:
    """Values a setting takes, in canonical text, found by trying."""
    tried = [*NUMBERS, *setting.words, "gene", "0 -1 -2 -4 -6 -9 -12", "0 0 -1 -1 -3"]
    tried += [f"{word} {more}" for word in setting.words for more in ("4", "in margins")]
    taken = []
    for text in tried:
        with suppress(InputError):
            taken.append(setting.read(text, setting.name, InputError))
    return list(dict.fromkeys(taken))


def spellings(setting: Setting, value: str) -> list[Any]:
    """Ways to write a value: each must be read as the same canonical text."""
    with suppress(ValueError, ZeroDivisionError):
        return [*_numbers(Fraction(value)), *_percent(setting, value)]
    spaced = "  ".join(value.split(" "))
    ways = [value, value.upper(), value.title(), f" {spaced} "]
    if value.replace(" ", "").isalpha():
        ways.append(value.replace(" ", "-"))
    return ways


def _numbers(number: Fraction) -> list[Any]:
    text = plain(number)
    ways: list[Any] = [text, f" {text}", f"+{text}", f"{number.numerator}/{number.denominator}"]
    ways.append(f"{3 * number.numerator}/{3 * number.denominator}")
    if set(text) <= set("0123456789."):
        whole, _, part = text.partition(".")
        ways += [
            f"{whole}.{part}00",
            f"{whole}{part}e-{len(part)}",
            f"{whole}{part}00E-{len(part) + 2}",
        ]
    if number.denominator == 1:
        ways.append(int(number))
    return ways


def _percent(setting: Setting, value: str) -> list[str]:
    """Per cent, where the setting takes them."""
    ways = [f"{plain(Fraction(value) * 100)}{sign}" for sign in ("%", " %")]
    try:
        return [way for way in ways if setting.read(way, setting.name, InputError) == value]
    except InputError:
        return []


def said_default(setting: Setting) -> str | None:
    """A setting's default in canonical text, where it can be said."""
    try:
        return setting.read(setting.default, setting.name, InputError)
    except InputError:
        return None


# Tables


def tables(draw: Draw, description: Description) -> list[dict[str, Any]]:
    """One to three tables in plain words: axes as `variable:level`, filters by codes."""
    many = draw(st.sampled_from([1, 1, 2, 3]))
    found = [_table(draw, description) for _ in range(many)]
    if many > 1 and draw(st.integers(0, 3)) == 0:
        parts = [draw(st.integers(1, 4)) for _ in found]
        for table, part in zip(found, parts, strict=True):
            table["share"] = plain(Fraction(part, sum(parts)))
    return found


def _table(draw: Draw, description: Description) -> dict[str, Any]:
    refs = [
        AxisRef(variable.name, draw(st.sampled_from(variable.levels)).name)
        for variable in description.variables
    ]
    axes = draw(st.permutations(refs))[: draw(st.integers(1, 3))]
    table: dict[str, Any] = {"rows": [str_of(ref) for ref in axes], "where": {}}
    if draw(st.booleans()):
        variable = draw(st.sampled_from(description.variables))
        level = draw(st.sampled_from(variable.levels))
        codes = draw(st.lists(st.sampled_from(level.codes), min_size=1, unique=True))
        if len(codes) < len(level):
            table["where"] = {f"{variable.name}:{level.name}": codes}
    table["totals"] = draw(st.booleans())
    if description.weight is not None:
        table["weighted"] = draw(st.integers(0, 4)) == 0
    return table


def str_of(ref: AxisRef) -> str:
    """An axis without any doubt."""
    return f"{ref.variable}:{ref.level}"


def reworded(draw: Draw, table: Mapping[str, Any], description: Description) -> dict[str, Any]:
    """The same table in other words, on other sides."""
    names = [_axis_name(draw, name, description) for name in draw(st.permutations(table["rows"]))]
    sides: dict[str, list[str]] = {"rows": [], "columns": [], "layers": []}
    for name in names:
        sides[draw(st.sampled_from(list(sides)))].append(name)
    other: dict[str, Any] = {
        side: draw(st.sampled_from([found, ", ".join(found)])) for side, found in sides.items()
    }
    if table["where"] or draw(st.booleans()):
        other["where"] = _filter(draw, table["where"], description)
    yes, no = [True, "all", "yes", "TRUE"], [False, "none", "no", "False"]
    for key, default in (("totals", True), ("weighted", False)):
        wanted = table.get(key, default)
        if wanted != default or draw(st.booleans()):
            other[key] = draw(st.sampled_from(yes if wanted else no))
    if table["totals"] and draw(st.booleans()):
        other["percent"] = draw(st.sampled_from(["all", "Total", "none"]))
    if "share" in table:
        other["share"] = draw(st.sampled_from(_numbers(Fraction(table["share"]))))
    return other


def _axis_name(draw: Draw, name: str, description: Description) -> str:
    variable = description.variable(name.partition(":")[0])
    level = variable.level(name.partition(":")[2])
    ways = [name, level.name, level.name.upper(), f"{variable.name} : {level.name}"]
    if level is variable.finest:
        ways.append(variable.name)
    return str(draw(st.sampled_from(ways)))


def _filter(draw: Draw, where: Mapping[str, Iterable[str]], description: Description) -> Any:
    """The same filter by labels, at a finer level, in another order; or one that filters nothing."""
    if not where:
        variable = draw(st.sampled_from(description.variables))
        return draw(st.sampled_from([None, {}, {variable.name: list(variable.finest.codes)}]))
    ((name, codes),) = where.items()
    variable = description.variable(name.partition(":")[0])
    level = variable.level(name.partition(":")[2])
    chosen = list(codes)
    if draw(st.booleans()):
        within = level.within(tuple(chosen))
        chosen = [code for code, here in zip(variable.finest.codes, within, strict=True) if here]
        level = variable.finest
    words = [_category_name(draw, level, code) for code in draw(st.permutations(chosen))]
    return {f"{variable.name}:{level.name}": draw(st.sampled_from([words, ",".join(words)]))}


def _category_name(draw: Draw, level: Level, code: str) -> str:
    label = str(level.categories[level.index[code]].label)
    return str(draw(st.sampled_from([code, label, label.upper()])))
