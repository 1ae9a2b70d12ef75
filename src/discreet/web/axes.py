"""Chips on their axes and the list of variables: what may be changed, each change as a link."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from urllib.parse import quote

from ..core.description import Description
from ..core.domain import Level, Variable
from ..languages import say, together
from .address import SIDES, Place

FEW = 16
"""Up to so many categories are listed in a chip's own menu."""

PRIVATE = "private"


@dataclass(frozen=True)
class Option:
    """One line of a menu: where it leads, and whether that is here."""

    words: str
    address: str
    beside: str = ""
    key: str = ""
    current: bool = False
    rule: bool = False
    """Whether a line is drawn above it."""
    barred: str = ""
    """The rule that would refuse it, as a sentence."""


@dataclass(frozen=True)
class Chip:
    """A variable on an axis, or a filter; its menu."""

    words: str
    many: str
    options: tuple[Option, ...]
    name: str
    last: bool = False


@dataclass(frozen=True)
class Axis:
    """One side of the table with its chips."""

    name: str
    words: str
    nothing: str
    chips: tuple[Chip, ...]


@dataclass(frozen=True)
class Shelved:
    """A variable in the list beside the table."""

    name: str
    label: str
    note: str
    many: str
    used: str
    levels: tuple[Option, ...]
    sends: tuple[Option, ...]
    open: bool
    found: bool = False


@dataclass
class Axes:
    """All of it for one place; labels in one language."""

    place: Place
    description: Description
    language: str = ""
    shows_found: bool = True
    barred: Mapping[str, str] = field(default_factory=dict)
    """Levels that a rule would refuse in this table, by name, and its sentence."""
    _names: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def names_of(self, variable: Variable) -> tuple[str, ...]:
        """The short names of a variable's levels, finest first."""
        if variable.name not in self._names:
            short = self.place.names
            self._names[variable.name] = tuple(
                short[f"{variable.name}:{level.name}"] for level in variable.levels
            )
        return self._names[variable.name]

    def found(self, name: str) -> tuple[Variable, Level]:
        """The variable and level a name of this place means."""
        for variable in self.description.variables:
            for short, level in zip(self.names_of(variable), variable.levels, strict=True):
                if short == name:
                    return variable, level
        raise KeyError(name)

    # -- axes -------------------------------------------------------------------------------

    @property
    def axes(self) -> list[Axis]:
        """Rows, columns, layers and filters."""
        words = {"rows": say("Rows"), "columns": say("Columns"), "layers": say("Layers")}
        last = self._last
        sides = [
            Axis(
                side,
                words[side],
                say("none"),
                tuple(
                    self._chip(side, at, name, name == last)
                    for at, name in enumerate(self.place.sides[side])
                ),
            )
            for side in SIDES
        ]
        filters = tuple(self._filter(name) for name in self.place.where)
        return [*sides, Axis("only", say("Only"), say("everybody"), filters)]

    @property
    def _last(self) -> str:
        named = [name for side in SIDES for name in self.place.sides[side]]
        return named[-1] if named else ""

    def _chip(self, side: str, at: int, name: str, last: bool) -> Chip:
        variable, level = self.found(name)
        place, names = self.place, self.names_of(variable)
        options = [
            Option(
                self._label(variable, other),
                place.at_level(short, names).address,
                f"{len(other):,}",
                current=short == name,
            )
            for short, other in zip(names, variable.levels, strict=True)
        ]
        finer, coarser = self._beside(names, name)
        for there, key in ((finer, "+"), (coarser, "−")):
            if there:
                at_level = place.at_level(there, names).address
                options = [
                    replace(one, key=key) if one.address == at_level else one for one in options
                ]
        options.append(Option(say("Choose…"), self.pick(name), rule=True, key="O"))
        moves = (
            ("rows", say("Move to rows"), "R"),
            ("columns", say("Move to columns"), "C"),
            ("layers", say("Move to layers"), "L"),
        )
        options += [
            Option(words, place.moved(name, other, names).address, key=key)
            for other, words, key in moves
            if other != side
        ]
        if at > 0:
            options.append(Option(say("Earlier"), place.shifted(side, at, -1).address, key="←"))
        if at < len(place.sides[side]) - 1:
            options.append(Option(say("Later"), place.shifted(side, at, 1).address, key="→"))
        options.append(Option(say("Remove"), place.without(names).address, key="Del"))
        words = brief(self._label(variable, level))
        return Chip(words, f"{len(level):,}", tuple(options), name, last)

    @staticmethod
    def _beside(names: Sequence[str], name: str) -> tuple[str, str]:
        """The next finer and the next coarser level; empty where there is none."""
        at = names.index(name)
        return names[at - 1] if at else "", names[at + 1] if at + 1 < len(names) else ""

    def _filter(self, name: str) -> Chip:
        variable, level = self.found(name)
        chosen, names = self.place.where[name], self.names_of(variable)
        if len(chosen) == 1:
            what = level.categories[level.index[chosen[0]]].brief(self.language)
        else:
            what = say("{chosen} of {all}", chosen=len(chosen), all=len(level))
        words = say(
            "{variable}: {categories}",
            variable=brief(self._label(variable, level)),
            categories=what,
        )
        options = [
            *self.categories(name),
            Option(say("Choose…"), self.pick(name), rule=True, key="O"),
        ]
        options.append(Option(say("Remove"), self.place.only(name, (), names).address, key="Del"))
        return Chip(words, "", tuple(options), name)

    def categories(self, name: str) -> list[Option]:
        """A link to each category of a short level alone."""
        variable, level = self.found(name)
        if len(level) > FEW:
            return []
        chosen = self.place.where.get(name, ())
        return [
            Option(
                category.label.says(self.language),
                self.place.only(name, (category.code,), self.names_of(variable)).address,
                current=chosen == (category.code,),
            )
            for category in level.categories
        ]

    def pick(self, name: str) -> str:
        """The page on which categories of a level are chosen."""
        query = self.place.query
        path = f"/build/{quote(self.place.dataset)}/pick/{quote(name, safe='')}"
        return f"{path}?{query}" if query else path

    def _label(self, variable: Variable, level: Level) -> str:
        if len(variable.levels) == 1:
            return variable.label.says(self.language) or variable.name
        return level.label.says(self.language) or level.name

    # -- the list ---------------------------------------------------------------------------

    @cached_property
    def shelf(self) -> list[Shelved]:
        """Every variable one may ask for, with its levels and where it can be sent."""
        return [
            self._shelved(variable)
            for variable in self.description.variables
            if variable.role != PRIVATE
        ]

    @property
    def private(self) -> list[str]:
        """What must not be learnt of a person: counted by tables, never on an axis."""
        variables = (v for v in self.description.variables if v.role == PRIVATE)
        return [variable.label.says(self.language) or variable.name for variable in variables]

    def _shelved(self, variable: Variable) -> Shelved:
        place, names = self.place, self.names_of(variable)
        stands = place.side_of(names)
        if stands:
            current = place.sides[stands[0]][stands[1]]
            levels = self._levels(variable, lambda short: place.at_level(short, names), current)
        else:
            side = self._next_side
            levels = self._levels(variable, lambda short: place.moved(short, side, names), "")
        target = current if stands else names[-1]
        sends = (
            (say("rows"), "rows"),
            (say("columns"), "columns"),
            (say("layers"), "layers"),
        )
        options = [
            Option(words, place.moved(target, side, names).address)
            for words, side in sends
            if not stands or stands[0] != side
        ]
        options.append(Option(say("only some…"), self.pick(target), key="O"))
        if stands:
            options.append(Option(say("remove"), place.without(names).address))
        many = (
            f"{len(variable.finest):,}"
            if len(names) == 1
            else say("{levels} levels", levels=len(names))
        )
        return Shelved(
            variable.name,
            variable.label.says(self.language) or variable.name,
            variable.note,
            many,
            self._used(variable, stands),
            tuple(levels),
            tuple(options),
            open=bool(stands) and len(names) > 1,
            found=not (variable.declared or self.shows_found),
        )

    @property
    def _next_side(self) -> str:
        """Where a variable goes that is simply taken: rows first, then columns."""
        sides = self.place.sides
        if not sides["rows"]:
            return "rows"
        return "rows" if sides["columns"] else "columns"

    def _levels(self, variable: Variable, to: Callable[[str], Place], current: str) -> list[Option]:
        return [
            Option(
                self._label(variable, level),
                to(short).address,
                f"{len(level):,}",
                current=short == current,
                barred="" if short == current else self.barred.get(short, ""),
            )
            for short, level in zip(self.names_of(variable), variable.levels, strict=True)
        ]

    def _used(self, variable: Variable, stands: tuple[str, int] | None) -> str:
        words = {
            "rows": say("in rows"),
            "columns": say("in columns"),
            "layers": say("in layers"),
        }
        used = [words[stands[0]]] if stands else []
        for name in self.names_of(variable):
            if chosen := self.place.where.get(name):
                _, level = self.found(name)
                used.append(say("filter: {chosen} of {all}", chosen=len(chosen), all=len(level)))
        return together(*used, between=" · ")


def brief(label: str) -> str:
    """A label without what it says in brackets, where room is short.

    >>> brief("Underlying cause of death (ICD-10 chapter)"), brief("(none)")
    ('Underlying cause of death', '(none)')
    """
    short, bracket, rest = label.partition(" (")
    return short if bracket and rest.endswith(")") else label
