"""Saved tables as PxWebApi v2 shows them: shared, of one table, and free to read.

A table that would spend is not there. Numbers come through the same flow as everywhere; a variable
at another of its levels is another question, asked by the same flow and served only where that too
is allowed and costs nothing. Nothing is added up here.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import compress
from typing import Any

from fastapi import Request

from ...core.domain import TOTAL, Axis, AxisRef, Category, Count
from ...core.names import find_axis
from ...core.table import ProtectedTable
from ...core.table_titles import title_of
from ...errors import DiscreetError, InputError, did_you_mean
from ...formats import percent, reading
from ...formats.flat import column_names, measure_words
from ...formats.periods import periods
from ...languages import ENGLISH, say
from ...recipe import to_mapping
from ...store.catalogue import Saved
from .. import table_answers
from ..asking import Asking, Wish, understood
from ..auth import Asker
from ..negotiation import chosen_language
from ..problems import Problem, not_found
from ..service import Service
from .selection import named, variable_named
from .shapes import CONTENTS

_COLUMNS = frozenset(["count", "weighted count", "status", "noise_sd", "lower", "upper"])
"""Columns of files that have no variable's name."""


@dataclass(frozen=True)
class SharedTable:
    """A saved table that can be read here, with its data set open."""

    saved: Saved
    asking: Asking

    @property
    def updated(self) -> datetime:
        """When its figures changed last: with the data they are of, or when it was saved."""
        loaded = datetime.fromisoformat(self.asking.data.manifest.loaded)
        return max(datetime.fromtimestamp(self.saved.created, UTC), loaded)

    def language(self, asked: str) -> str:
        """The language of labels and totals where this one is asked for.

        English is asked for by whoever says nothing: it is no wish for English totals elsewhere.
        """
        description = self.asking.data.description
        alike = [name for name in description.languages if name.casefold() == asked.casefold()]
        if alike or asked.casefold() == ENGLISH:
            return alike[0] if alike else description.own_language or ENGLISH
        return chosen_language(None, asked, description) or ENGLISH

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Its variables at their levels, in the order of the table."""
        recipe = self.asking.recipe
        named = {str(ref): ref for ref in recipe.question.tables[0].axes}
        refs = [named.pop(name) for name in recipe.layouts[0].axes if name in named]
        return tuple(self.asking.data.description.axis(ref) for ref in (*refs, *named.values()))

    @cached_property
    def dimensions(self) -> dict[str, Axis]:
        """Its variables by the names they have here, each another, whatever they are called."""
        wanted = percent.NAMES if self.asking.recipe.layouts[0].percent else ()
        taken = {CONTENTS.casefold(), *_COLUMNS, *wanted}
        return dict(zip(column_names(self.axes, taken), self.axes, strict=True))

    def title(self, language: str) -> str:
        """What it is called: by who saved it, by its question, or after its variables and filters."""
        recipe = self.asking.recipe
        if given := self.saved.title or recipe.title:
            return given
        spec = recipe.layouts[0].as_titled(recipe.question.tables[0])
        counted = self.asking.asked.plan.counted
        return title_of(spec, self.asking.data.description, counted).says(language)

    @property
    def periods(self) -> list[str]:
        """The codes of its first variable of time, earliest first; none where it has none."""
        return next(iter(periods_of(self, {}).values()), [])

    def categories(self, name: str, level: str) -> list[Category]:
        """Those of a dimension at a level that the table's filters let records into."""
        variable = self.dimensions[name].variable
        where = self.asking.recipe.question.tables[0].where
        count = Count((AxisRef(variable.name, level),), where)
        (kept,) = self.asking.data.description.kept(count)
        categories = variable.level(level).categories
        return list(categories if kept is None else compress(categories, kept))

    @property
    def totals(self) -> bool:
        """Whether each of its variables has a published total."""
        return self.asking.recipe.question.tables[0].totals

    def at_levels(self, levels: Mapping[str, str]) -> SharedTable:
        """The same table with some dimensions at other levels; refused where that is not free."""
        if not levels:
            return self
        swapped = {self.dimensions[name].ref: level for name, level in levels.items()}
        asking = self._asking(swapped)
        if asking is None or not _readable(asking):
            raise InputError(
                f"This table cannot be read with {', '.join(sorted(levels.values()))} here: it "
                "would spend budget, has too many cells or is not allowed. Its metadata name the "
                "code lists that can be used."
            )
        return replace(self, asking=asking)

    def offers(self, axis: Axis, level: str) -> bool:
        """Whether the table can be read with a variable at this level."""
        if level == axis.level.name:
            return True
        with contextlib.suppress(DiscreetError):
            asking = self._asking({axis.ref: level})
            return asking is not None and _readable(asking)
        return False

    def _asking(self, levels: Mapping[AxisRef, str]) -> Asking | None:
        """The question with some axes at other levels; sorting, which names one, is left out."""
        description = self.asking.data.description
        mapping = to_mapping(self.asking.recipe)
        mapping.pop("sort", None)
        for side in ("layers", "rows", "columns"):
            refs = [find_axis(description, text) for text in mapping.get(side, ())]
            named = [AxisRef(ref.variable, levels.get(ref, ref.level)) for ref in refs]
            if named:
                mapping[side] = [f"{ref.variable}:{ref.level}" for ref in named]
        recipe = understood(self.asking.asker, self.asking.data, mapping)
        return self.asking.instead(recipe)


def _readable(asking: Asking) -> bool:
    """Whether a question is one short table, allowed and free."""
    short = len(asking.recipe.question.tables) == 1 and not asking.must_be_job
    return short and asking.verdict.allowed and asking.costs_nothing


@contextmanager
def opened(service: Service, asker: Asker, saved: Saved) -> Iterator[SharedTable | None]:
    """A saved table that can be read for nothing; None where it cannot."""
    with service.dataset(asker, saved.dataset) as data:
        table = None
        with contextlib.suppress(DiscreetError):  # its description or policy may have changed since
            asking = Asking(service, asker, data, understood(asker, data, saved.recipe))
            if _readable(asking):
                table = SharedTable(saved, asking)
        yield table


@contextmanager
def found(service: Service, asker: Asker, identity: str) -> Iterator[SharedTable]:
    """The same, or 404; a table that is not shared is as if it were not there."""
    shared = [one for one in service.catalogue.saved(identity) if one.shared]
    if not shared or shared[0].dataset not in service.visible(asker):
        raise not_found("table")
    with opened(service, asker, shared[0]) as table:
        if table is None:
            raise Problem(
                404,
                "not-found",
                "This table cannot be read here: it would spend budget, has several tables or too "
                f"many cells, or is not allowed any more. See /api/v1/saved/{identity}.",
            )
        yield table


def levels_of(table: SharedTable, chosen: Mapping[str, str]) -> dict[str, str]:
    """Dimension → level, of code lists chosen by name; an empty one chooses nothing."""
    levels: dict[str, str] = {}
    names = list(table.dimensions)
    times = [name for name, axis in table.dimensions.items() if axis.variable.kind == "time"]
    for wanted, identity in chosen.items():
        if not identity:
            continue
        name = variable_named(wanted, names, times)
        if name in levels:
            raise InputError(f"{name} has two code lists. Choose one.")
        axis = table.dimensions[name]
        known = {code_list_id(table, name, level.name): level for level in axis.variable.levels}
        meant = named(identity, list(known))
        if meant is None:
            raise InputError(
                f"{name} has no code list {identity[:60]!r}."
                f"{did_you_mean(identity[:60], list(known))} Its metadata name those it has."
            )
        levels[name] = known[meant].name
    return {
        name: level for name, level in levels.items() if level != table.dimensions[name].level.name
    }


def periods_of(table: SharedTable, levels: Mapping[str, str]) -> dict[str, list[str]]:
    """Dimension of time → its codes at the level it is read at, earliest first.

    What is unknown is no period. Neither a description nor a sorted table need have them in this
    order; codes that nobody can place in time are taken as the description lists them.
    """
    return {
        name: _in_time(table.categories(name, levels.get(name, axis.level.name)))
        for name, axis in table.dimensions.items()
        if axis.variable.kind == "time"
    }


def _in_time(categories: Sequence[Category]) -> list[str]:
    codes = [category.code for category in categories if not category.missing]
    found = periods(codes)
    if found is None:
        return codes
    return [code for _, code in sorted(zip(found[1], codes, strict=True))]


def code_list_id(table: SharedTable, name: str, level: str) -> str:
    """What the code list of a level is called for a dimension of a table."""
    return f"{table.saved.id}:{name}:{level}"


def as_json_stat(
    shown: SharedTable, asked: str, request: Request, levels: Mapping[str, str]
) -> dict[str, Any]:
    """The whole table as JSON-stat, with what PxWeb's readers look for.

    A dimension keeps its name at whatever level it is read.
    """
    table = shown.at_levels(levels)
    asking, lang = table.asking, table.language(asked)
    asking = replace(asking, wish=Wish(language=lang))
    answer = table_answers.respond(asking)
    request.state.notes.update(asking.notes)
    whole: dict[str, Any] = renamed(json.loads(bytes(answer.body)), list(shown.dimensions))
    whole["label"] = table.saved.title or whole["label"]
    contents = say("contents").says(lang)
    labels = [whole["dimension"][name]["label"] for name in whole["id"]]
    for name, label in zip(whole["id"], told_apart(labels, whole["id"], contents), strict=True):
        dimension = whole["dimension"][name]
        dimension["label"] = label
        codes = dimension["category"]["index"]
        dimension["category"]["index"] = {code: i for i, code in enumerate(codes)}
        total = codes[-1] == TOTAL
        dimension["extension"] = {
            "elimination": total,
            **({"eliminationValueCode": TOTAL} if total else {}),
            "show": "value",
        }
    if not shown.dimensions:  # a grand total: what it counts is its only dimension
        whole |= {"id": [], "size": [], "dimension": {}}
    _add_contents(whole, contents, lang)
    sides = whole["extension"]["layout"]
    stub = [*sides["layers"], *sides["rows"]]
    whole["extension"]["px"] = {
        "tableid": table.saved.id,
        "decimals": 0,
        "aggregallowed": False,
        "contents": measure_words(whole["extension"]["measure"], lang),
        "language": lang,
        "subject-code": table.saved.dataset,
        "stub": stub,
        "heading": [name for name in whole["id"] if name not in stub],
    }
    return whole


def told_apart(labels: Sequence[str], names: Sequence[str], contents: str) -> list[str]:
    """Labels of dimensions such that no two are alike, nor like that of the contents or the numbers.

    Readers name their columns by them, and that of the numbers `value`.

    >>> told_apart(["Sex", "value", "Sex"], ["sex", "v", "sex_2"], "contents")
    ['Sex (sex)', 'value (v)', 'Sex (sex_2)']
    """
    taken = Counter([*labels, contents, "value"])
    return [
        f"{label} ({name})" if taken[label] > 1 else label
        for label, name in zip(labels, names, strict=True)
    ]


def renamed(whole: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The table under the names its dimensions have here, in their order; measures keep theirs."""
    measures = whole["id"][len(names) :]
    other = dict(zip(whole["id"], [*names, *measures], strict=True))
    if list(other) == list(other.values()):
        return whole

    def back(listed: list[str]) -> list[str]:
        return [other[name] for name in listed]

    whole["id"] = back(whole["id"])
    whole["dimension"] = {other[name]: part for name, part in whole["dimension"].items()}
    whole["role"] = {role: back(listed) for role, listed in whole.get("role", {}).items()}
    whole["extension"].pop("law", None)  # it speaks of dimensions by their other names
    sides = whole["extension"]["layout"]
    whole["extension"]["layout"] = {
        **sides,
        **{side: back(sides[side]) for side in ("layers", "rows", "columns")},
    }
    return whole


def _add_contents(whole: dict[str, Any], label: str, lang: str) -> None:
    measure = measure_words(whole["extension"]["measure"], lang)
    whole["id"] = [*whole["id"], CONTENTS]
    whole["size"] = [*whole["size"], 1]
    whole["role"] = {**whole.get("role", {}), "metric": [CONTENTS]}
    whole["dimension"][CONTENTS] = {
        "label": label,
        "category": {
            "index": {"count": 0},
            "label": {"count": measure},
            "unit": {"count": {"base": measure, "decimals": 0}},
        },
        "extension": {"elimination": True, "show": "value"},
    }


def as_table(part: dict[str, Any]) -> ProtectedTable:
    """The same as a table that any format writes."""
    left = [name for name in part["id"] if name != CONTENTS]
    plain = {**part, "id": left, "size": part["size"][: len(left)]}
    if part["role"].get("metric") == [CONTENTS]:
        plain["role"] = {role: names for role, names in part["role"].items() if role != "metric"}
    sides = part["extension"]["layout"]
    kept = {side: [n for n in sides[side] if n in left] for side in ("layers", "rows", "columns")}
    plain["extension"] = {**part["extension"], "layout": {**sides, **kept}}
    (table,) = reading.tables(plain)
    return table
