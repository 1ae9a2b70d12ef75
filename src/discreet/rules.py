"""Rules: sentences a policy sets about which tables may be asked for, judged from public facts.

Rules on protected values, after the fit, are in `protected_rules`.

Every rule is a pure function of question and public facts; the verdict is the same on two data
sets that differ in one record (rule 2). A filter cannot dodge a rule: a table is judged as if it
were not filtered, and what it is filtered by counts as if it were in the table, because the
filtered tables together are that table. Only `max_cells` and `mandatory` look at the table itself.
A refusal offers alternatives, each of which was judged and passes.

    rules:
      max_variables: 4
      max_cells: 2000000
      at_most_one_of: [[area:ccg, month]]
      mandatory: [sex]
      blocked_levels: [area:ccg]
      least_population: 5000          # smallest public population of a category that may be shown
      max_cells_per_record: 0.5       # declared cells ÷ public number of records
      sliver_population: 1000         # between overlapping levels of one variable
      declared_groups: yes            # no total over a group that is no category of a level
      sparse: {least_mean: 5}         # judged on protected numbers: `protected_rules`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from . import rule_words
from .core.description import Description, Policy
from .core.domain import AxisRef, Condition, Variable
from .core.exact import exact, plain
from .core.names import find_axis
from .core.question import Question, TableSpec
from .errors import DescriptionError, did_you_mean
from .languages import listed, number, say, together
from .offers import Offer, passing
from .protected_rules import Sparseness
from .verdict import MOST_OFFERS, Breach, Verdict

DEFAULT_MOST_CELLS = 2_000_000
_YES, _NO = ("yes", "true"), ("no", "false")


Rule = Callable[[TableSpec, Description, Any], str | None]


def cells_of(spec: TableSpec, description: Description) -> int:
    """How many cells a table publishes, totals included, as an exact integer."""
    cells = 1
    for ref in spec.axes:
        cells *= len(description.axis(ref)) + spec.totals
    return cells


def _refs(spec: TableSpec) -> tuple[AxisRef, ...]:
    """What a table is by and what it is filtered by, each once."""
    filters = (AxisRef(part.variable, part.level) for part in spec.where)
    return tuple(dict.fromkeys((*spec.axes, *filters)))


def _max_variables(spec: TableSpec, description: Description, most: Any) -> str | None:
    most = _whole(most, "rules.max_variables")
    used = len({ref.variable for ref in _refs(spec)})
    if used <= most:
        return None
    if used > len(spec.axes):
        return say(
            "A table may use at most {most} variables, this one uses {used}, filters included.",
            most=most,
            used=used,
        )
    return say(
        "A table may use at most {most} variables, this one uses {used}.", most=most, used=used
    )


def _max_cells(spec: TableSpec, description: Description, most: Any) -> str | None:
    most = _whole(most, "rules.max_cells")
    cells = cells_of(spec, description)
    if cells <= most:
        return None
    return say(
        "A table may have at most {most} cells, this one has {cells}.", most=most, cells=cells
    )


def _at_most_one_of(spec: TableSpec, description: Description, groups: Any) -> str | None:
    for group in _lists(groups, "rules.at_most_one_of"):
        used = [name for name in group if _uses(_refs(spec), description, name)]
        if len(used) > 1:
            return say(
                "At most one of {names} may be in a table, this one has {used}.",
                names=", ".join(group),
                used=listed(used),
            )
    return None


def _mandatory(spec: TableSpec, description: Description, names: Any) -> str | None:
    absent = [n for n in _list(names, "rules.mandatory") if not _uses(spec.axes, description, n)]
    return say("Every table must have {absent}.", absent=listed(absent)) if absent else None


def _blocked_levels(spec: TableSpec, description: Description, names: Any) -> str | None:
    for name in _list(names, "rules.blocked_levels"):
        blocked = find_axis(description, name)
        if blocked in _refs(spec):
            return say("{blocked} is not published at this level.", blocked=blocked)
    return None


def _least_population(spec: TableSpec, description: Description, least: Any) -> str | None:
    least = _whole(least, "rules.least_population")
    for ref in _refs(spec):
        small = _small(description.variable(ref.variable), ref.level, least)
        if small:
            codes = ", ".join(small[:3]) + (" …" if len(small) > 3 else "")
            return say(
                "{ref} has categories with a public population below {least} ({codes}).",
                ref=str(ref),
                least=least,
                codes=codes,
            )
    return None


def _small(variable: Variable, name: str, least: int) -> list[str]:
    """The categories of a level with a public population below `least`; looked for once."""
    codes: list[str] | None = variable.kept.get(("small", name, least))
    if codes is None:
        categories = variable.level(name).categories
        codes = [c.code for c in categories if c.population is not None and c.population < least]
        variable.kept["small", name, least] = codes
    return codes


def _max_cells_per_record(spec: TableSpec, description: Description, most: Any) -> str | None:
    limit = exact(most, "rules.max_cells_per_record", above=0, error=DescriptionError)
    if description.records is None:
        return None
    sizes: dict[str, int] = {}
    for ref in _refs(spec):
        sizes[ref.variable] = max(sizes.get(ref.variable, 1), len(description.axis(ref)))
    cells = prod(sizes.values())
    if cells <= limit * description.records:
        return None
    if set(_refs(spec)) - set(spec.axes):
        return say(
            "A table may have at most {limit} cells for each of the {records} records, "
            "this one has {cells} cells, filters included.",
            limit=number(plain(limit)),
            records=description.records,
            cells=cells,
        )
    return say(
        "A table may have at most {limit} cells for each of the {records} records, "
        "this one has {cells} cells.",
        limit=number(plain(limit)),
        records=description.records,
        cells=cells,
    )


def _sliver_population(spec: TableSpec, description: Description, least: Any) -> str | None:
    least = _whole(least, "rules.sliver_population")
    for ref in _refs(spec):
        variable = description.variable(ref.variable)
        key = ("sliver", ref.level, least)
        if key not in variable.kept:  # looked for once
            variable.kept[key] = _sliver(variable, ref.level, least)
        other = variable.kept[key]
        if other:
            return say(
                "{ref} and {other} overlap in slivers with a public population below {least}; "
                "tables by {other} are published, so tables by {ref} are not.",
                ref=str(ref),
                other=other,
                least=least,
            )
    return None


def _sliver(variable: Variable, name: str, least: int) -> str | None:
    """An earlier level of the same variable with which this one makes a sliver too small."""
    finest = variable.finest
    populations = [category.population for category in finest.categories]
    if any(population is None for population in populations):
        return None
    sizes = np.array([population or 0 for population in populations], dtype=np.int64)
    mine = variable.level(name)
    for other in variable.levels:
        if other.name == name:
            return None
        ways = (name, other.name), (other.name, name)
        if any(variable.level_map(*way) is not None for way in ways):
            continue
        _, piece = np.unique(mine.places * len(other) + other.places, return_inverse=True)
        if (np.bincount(piece, weights=sizes) < least).any():
            return f"{variable.name}:{other.name}"
    return None


def _declared_groups(spec: TableSpec, description: Description, wanted: Any) -> str | None:
    """Groups put together at will split a cell in ever new ways, and the noise averages out."""
    text = str(wanted).strip().casefold()
    if text not in (*_YES, *_NO):
        raise DescriptionError(f"rules.declared_groups must be yes or no, got {str(wanted)[:40]}.")
    for part in spec.where if text in _YES else ():
        if len(part.codes) > 1 and not _only_narrows(spec, part, description):
            return say(
                "A filter may name one category of a level, this one joins {many} of {level}.",
                many=len(part.codes),
                level=part.level,
            )
    return None


def _only_narrows(spec: TableSpec, part: Condition, description: Description) -> bool:
    """Whether a filter does no more than leave out whole categories of a table without totals."""
    axes = [ref for ref in spec.axes if ref.variable == part.variable]
    if spec.totals or not axes:
        return False
    variable = description.variable(part.variable)
    passes = variable.level(part.level).within(part.codes)
    return variable.level(axes[0].level).joined(passes) is not None


def _sparse(spec: TableSpec, description: Description, limits: Any) -> str | None:
    """Judged after the fit; here only that it can be read."""
    Sparseness.read(limits)
    return None


RULES: Mapping[str, Rule] = {
    "max_variables": _max_variables,
    "max_cells": _max_cells,
    "at_most_one_of": _at_most_one_of,
    "mandatory": _mandatory,
    "blocked_levels": _blocked_levels,
    "least_population": _least_population,
    "max_cells_per_record": _max_cells_per_record,
    "sliver_population": _sliver_population,
    "declared_groups": _declared_groups,
    "sparse": _sparse,
}


def in_words(policy: Policy) -> list[str]:
    """The rules of a policy as sentences for people."""
    rules = {"max_cells": DEFAULT_MOST_CELLS, **policy.rules}
    off = {n for n, value in rules.items() if str(value).strip().casefold() in _NO}
    in_force = {n: value for n, value in rules.items() if n in RULES and n not in off}
    return [rule_words.in_words(n, value) for n, value in in_force.items()]


def check_rules(policy: Policy, description: Description) -> None:
    """Raise if a policy names an unknown rule or gives one a value it cannot use."""
    _breaches(TableSpec(axes=()), description, policy.rules)


def judge(question: Question, description: Description, policy: Policy) -> Verdict:
    """The verdict on a question, from public facts alone, with alternatives that pass."""
    cells = sum(cells_of(spec, description) for spec in question.tables)
    broken = {
        place: here
        for place, spec in enumerate(question.tables)
        if (here := breaches(spec, description, policy))
    }

    def which(place: int) -> str:
        return say("Table {n}", n=str(place + 1)) if len(question.tables) > 1 else ""

    def look() -> Iterator[Offer]:
        public = description.public(policy.family)
        for place in islice(broken, MOST_OFFERS):
            spec = question.tables[place]
            lacking = _lacking(spec, description, policy)
            for changes, changed in passing(
                spec, public, lambda table: not breaches(table, description, policy), lacking
            ):
                words = together(which(place), listed(c.words for c in changes), between=": ")
                yield Offer(words, place, changed, changes)

    said = (
        replace(one, sentence=together(which(place), one.sentence, between=": "))
        for place, here in broken.items()
        for one in here
    )
    return Verdict(cells, tuple(said), look)


def _lacking(spec: TableSpec, description: Description, policy: Policy) -> set[str]:
    """The variables that a rule may want to be in a table; with others more no rule holds sooner."""
    wanted = _list(policy.rules.get("mandatory", ()), "rules.mandatory")
    named = {find_axis(description, name).variable for name in wanted}
    return named | {part.variable for part in spec.where}


def breaches(spec: TableSpec, description: Description, policy: Policy) -> list[Breach]:
    """The rules of a policy that one table breaks; a limit on cells is always there."""
    rules = {"max_cells": DEFAULT_MOST_CELLS, **policy.rules}
    return [*_counted(spec, description, policy), *_breaches(spec, description, rules)]


def _counted(spec: TableSpec, description: Description, policy: Policy) -> list[Breach]:
    """What suppression counts is no variable of a table: its categories are what must not be learnt."""
    asked = {variable.name for variable in description.askable(policy.family).variables}
    return [
        Breach(
            "private-attribute",
            f"{name} is a private attribute: a table by it, or filtered by it, would tell what must "
            "not be learnt. It is what tables count here.",
        )
        for name in dict.fromkeys(ref.variable for ref in _refs(spec))
        if name not in asked
    ]


def _breaches(spec: TableSpec, description: Description, rules: Mapping[str, Any]) -> list[Breach]:
    breaches = []
    for name, value in rules.items():
        if name not in RULES:
            raise DescriptionError(
                say("rules.{name} is no rule.{name_2}", name=name, name_2=did_you_mean(name, RULES))
            )
        sentence = RULES[name](spec, description, value)
        if sentence:
            breaches.append(Breach(name, sentence))
    return breaches


def _uses(refs: Sequence[AxisRef], description: Description, name: str) -> bool:
    axis = find_axis(description, name)
    if ":" in name or axis.level != description.variable(axis.variable).finest.name:
        return axis in refs
    return any(ref.variable == axis.variable for ref in refs)


def _whole(value: Any, name: str) -> int:
    read = _read_whole if isinstance(value, str) else _read_whole.__wrapped__
    return read(value, name)


@lru_cache(maxsize=64)  # a policy's limits are read for every question
def _read_whole(value: Any, name: str) -> int:
    number = exact(value, name, least=0, error=DescriptionError)
    if number.denominator != 1:
        raise DescriptionError(f"{name} must be a whole number, got {value}.")
    return int(number)


def _list(value: Any, name: str) -> Sequence[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise DescriptionError(f"{name} must be a list of variables or levels.")
    return value


def _lists(value: Any, name: str) -> Sequence[Sequence[str]]:
    if not isinstance(value, list | tuple):
        raise DescriptionError(f"{name} must be a list of lists of variables.")
    return [_list(item, name) for item in value]
