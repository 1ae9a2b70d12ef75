"""How a table is shown, as a recipe says it: percentages, order, decimals, empty rows.

    percent: rows              # of rows, columns, layers or all
    sort: age:85+,down         # rows by the numbers of one column; or columns by one row
    sort: total,up             # by the total
    decimals: 2                # of percentages, 0 to 2
    empty: hide                # leave out rows and columns that hold nothing but 0

Everything is checked here, from public facts, so that nothing can go wrong once a table is charged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.description import Description
from ..core.domain import TOTAL, AxisRef
from ..core.names import find_axis, find_codes
from ..core.question import Layout, Sort, TableSpec
from ..errors import RecipeError
from ..languages import say

KEYS = ("percent", "sort", "decimals", "empty")
_PERCENT = {"row": "rows", "column": "columns", "layer": "layers", "total": "all", "table": "all"}
_NONE = {"", "none", "no", "false"}
_DIRECTIONS = {"down": True, "desc": True, "up": False, "asc": False}
_QUOTED = re.compile(r'(?P<name>[^"]*):"(?P<code>(?:[^"]|"")*)"', re.DOTALL)

Sides = Mapping[str, tuple[AxisRef, ...]]


def layout_of(
    table: Mapping[str, Any],
    of: str,
    sides: Sides,
    spec: TableSpec,
    description: Description,
    language: str,
) -> Layout:
    """The layout a table of a recipe asks for; `of` names the table in errors."""
    return Layout(
        **{side: tuple(map(str, refs)) for side, refs in sides.items()},
        language=language,
        percent=_percent(table.get("percent"), of, sides, spec.totals),
        sort=_sort(table.get("sort"), of, sides, spec, description),
        decimals=_decimals(table.get("decimals"), of),
        empty=_empty(table.get("empty"), of),
    )


def _none(value: Any) -> bool:
    return value is None or value is False or str(value).strip().casefold() in _NONE


def _percent(value: Any, of: str, sides: Sides, totals: bool) -> str:
    """What percentages are of, in one word; empty: none are wanted."""
    if _none(value):
        return ""
    text = str(value).strip().casefold()
    base = _PERCENT.get(text, text)
    if base not in _PERCENT.values():
        raise RecipeError(
            say(
                "{key} must be rows, columns, layers, all or none, got {value}.",
                key=f"percent{of}",
                value=repr(str(value)[:40]),
            )
        )
    if not totals:
        raise RecipeError(
            say(
                "{key} needs the totals it divides by, and totals are none. Ask for totals: all.",
                key=f"percent{of}",
            )
        )
    lacks = {"rows": "columns", "columns": "rows"}.get(base, "")
    if lacks and not sides[lacks]:
        raise RecipeError(
            say(
                "{key} needs variables in {side} to be parts of the total. Add some, or ask for "
                "percent: all.",
                key=f"percent: {base}{of}",
                side=lacks,
            )
        )
    if not any(sides.values()):
        raise RecipeError(
            say("{key} needs a variable: a grand total has no parts.", key=f"percent{of}")
        )
    return base


def _decimals(value: Any, of: str) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or str(value).strip() not in ("0", "1", "2"):
        raise RecipeError(
            say(
                "{key} must be 0, 1 or 2, got {value}.",
                key=f"decimals{of}",
                value=repr(str(value)[:40]),
            )
        )
    return int(str(value).strip())


def _empty(value: Any, of: str) -> str:
    if value is None:
        return ""
    text = str(value).strip().casefold()
    if text not in ("", "show", "hide"):
        raise RecipeError(
            say(
                "{key} must be show or hide, got {value}.",
                key=f"empty{of}",
                value=repr(str(value)[:40]),
            )
        )
    return "hide" if text == "hide" else ""


def _sort(
    value: Any, of: str, sides: Sides, spec: TableSpec, description: Description
) -> Sort | None:
    if _none(value):
        return None
    where, down = _direction(str(value), of)
    refs = [ref for side in sides.values() for ref in side]
    if where.casefold() in ("total", TOTAL.casefold()):
        sort = Sort("", "", down)
    else:
        sort = _by_category(where, of, refs, spec, description, down)
    turned = [ref for ref in _sorted_axes(sort, sides) if str(ref) != sort.level]
    if not turned:
        across = "columns" if sort.level in map(str, sides["rows"]) else "rows"
        raise RecipeError(
            say(
                "{key} puts {side} in order, and this table has none. Add a variable to {side}, or "
                "leave out sort.",
                key=f"sort{of}",
                side=across,
            )
        )
    needs_totals = len(refs) > (2 if sort.code else 1)
    if needs_totals and not spec.totals:
        raise RecipeError(
            say(
                "{key} needs the totals it sorts by, and totals are none. Ask for totals: all.",
                key=f"sort{of}",
            )
        )
    return sort


def _direction(text: str, of: str) -> tuple[str, bool]:
    """What to sort by, and whether the largest comes first, which it does where nothing is said."""
    where, comma, word = text.rpartition(",")
    known = word.strip().casefold()
    if comma and known in _DIRECTIONS:
        return where.strip(), _DIRECTIONS[known]
    if comma and not text.endswith('"'):
        raise RecipeError(
            say(
                "{key} ends with up or down, as in {example}; got {value}.",
                key=f"sort{of}",
                example="age:85+,down",
                value=repr(word.strip()[:40]),
            )
        )
    return text.strip(), True


def _by_category(
    where: str,
    of: str,
    refs: Sequence[AxisRef],
    spec: TableSpec,
    description: Description,
    down: bool,
) -> Sort:
    quoted = _QUOTED.fullmatch(where)
    name, colon, code = where.rpartition(":")
    if quoted:
        name, colon, code = quoted["name"], ":", quoted["code"].replace('""', '"')
    if not colon:
        raise RecipeError(
            say(
                "{key} must look like {example}; got {value}. Name a level and one of its "
                "categories.",
                key=f"sort{of}",
                example="age:85+,down",
                value=repr(where[:60]),
            )
        )
    ref = find_axis(description, name)
    if ref not in refs:
        raise RecipeError(
            say(
                "{key} names {level}, which the table does not have; it has {known}.",
                key=f"sort{of}",
                level=str(ref),
                known=", ".join(map(str, refs)),
            )
        )
    if code.strip() == TOTAL or code.strip().casefold() == "total":
        return Sort(str(ref), "", down)
    level = description.axis(ref).level
    (found,) = find_codes(level, [code])
    side = description.kept(spec.count)[spec.axes.index(ref)]
    if side is not None and not side[level.index[found]]:
        raise RecipeError(
            say(
                "{key} names {code} of {level}, which the filter leaves out. Sort by a category that "
                "is shown.",
                key=f"sort{of}",
                code=found,
                level=str(ref),
            )
        )
    return Sort(str(ref), found, down)


def _sorted_axes(sort: Sort, sides: Sides) -> tuple[AxisRef, ...]:
    """The axes whose categories are put in order: rows, or columns where a row is named."""
    down, across = sides["rows"], sides["columns"]
    if sort.level in map(str, down):
        return across
    return down if down or sort.level else across or sides["layers"]
