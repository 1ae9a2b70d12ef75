"""Variables, categories, levels, domains and margins: the small algebra under every table.

A `Variable` has one or more `Level`s, finest first; each coarser level is a map of the finest
one (a region of a ccg, a ten-year band of an age), so that every level sorts all records into its
categories. Levels need not nest, a category may come from any depth of a tree (a branch that stops
early is its own category further down), and one may hold nothing. A `Domain` is the product of variables at
chosen levels; its cells have mixed-radix addresses. Everything here is public: nothing in this
module has seen a record.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from .text import Text

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

TOTAL = "_T"
"""The code of a total, as in SDMX; no category may use it."""

MOST_CELLS = 1 << 62
"""Addresses are 64-bit; a domain beyond this cannot be counted by anything."""


@dataclass(frozen=True, slots=True)
class Category:
    """One value a variable can take: a code and its label."""

    code: str
    label: Text
    missing: bool = False
    population: int | None = None
    """How many units the category holds by a public count; rules use it, never the data."""
    stands_in: bool = False
    """At this level there is no such category: it stands for what lies directly under a coarser one."""
    short: Text | None = None
    tile: tuple[int, int] | None = None
    """Where a place lies on a grid of tiles: columns from the left, rows from the top, from 0."""

    def brief(self, language: str = "") -> str:
        """The short label, for heads, charts and narrow screens, where there is one."""
        return (self.short or self.label).says(language)

    @classmethod
    def of(cls, code: str, label: str | dict[str, str] | Text = "") -> Category:
        """A category; without a label its code is shown."""
        return cls(code, Text.of(label or code))


@dataclass(frozen=True)
class Level:
    """One resolution of a variable: its categories, and where each finest category goes.

    `of_finest[i]` is the index here of the finest level's category i; the finest level maps
    to itself.
    """

    name: str
    label: Text
    categories: tuple[Category, ...]
    of_finest: tuple[int, ...] = field(repr=False)

    @cached_property
    def index(self) -> dict[str, int]:
        """Code → position."""
        return {category.code: i for i, category in enumerate(self.categories)}

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """The codes in order."""
        return tuple(category.code for category in self.categories)

    @cached_property
    def places(self) -> Indices:
        """`of_finest` as an array; not to be written to."""
        places = np.array(self.of_finest, dtype=np.int64)
        places.flags.writeable = False
        return places

    def within(self, codes: Iterable[str]) -> Flags:
        """For each finest category, whether it lies in one of these of this level."""
        inside = np.zeros(len(self.categories) + 1, dtype=bool)  # the last for those of no category
        inside[[self.index[code] for code in codes]] = True
        return inside[self.places]

    @cached_property
    def held(self) -> Flags:
        """Which categories hold a finest one; no record can be in one that holds none."""
        flags = np.zeros(len(self.categories) + 1, dtype=bool)
        flags[self.places] = True
        flags.flags.writeable = False
        return flags[:-1]

    def joined(self, finest: Flags) -> Indices | None:
        """The categories that together are this set of finest ones; None where one would split."""
        chosen = np.zeros(len(self.categories) + 1, dtype=bool)
        chosen[self.places[finest]] = True
        chosen[-1] = False
        return np.flatnonzero(chosen) if np.array_equal(chosen[self.places], finest) else None

    def holders(self, other: Level) -> Indices:
        """For each category the one of another level that holds all of it.

        −1 where several share it, and where it holds nothing itself.
        """
        places = np.full(len(self.categories) + 1, -1, dtype=np.int64)
        places[self.places] = other.places
        places[self.places[places[self.places] != other.places]] = -1
        return places[:-1]

    def map_to(self, other: Level) -> Indices | None:
        """Where each category goes in another level; None where one would split.

        A category that holds no finest one goes nowhere (−1): it is empty, and nothing is lost.
        """
        if id(other) not in self._maps:
            places = self.holders(other)
            places.flags.writeable = False
            self._maps[id(other)] = other, None if (places[self.held] < 0).any() else places
        return self._maps[id(other)][1]

    @cached_property
    def _maps(self) -> dict[int, tuple[Level, Indices | None]]:
        return {}

    @cached_property
    def compact(self) -> Level:
        """The same level without the categories that hold nothing."""
        if self.held.all():
            return self
        at = np.cumsum(self.held) - 1
        left = tuple(c for c, held in zip(self.categories, self.held, strict=True) if held)
        return Level(self.name, self.label, left, tuple(int(at[i]) for i in self.of_finest))

    def labels(self, language: str = "") -> tuple[str, ...]:
        """The labels in order, in a language."""
        if language not in self._labels:
            self._labels[language] = tuple(c.label.says(language) for c in self.categories)
        return self._labels[language]

    @cached_property
    def _labels(self) -> dict[str, tuple[str, ...]]:
        return {}

    def __len__(self) -> int:
        return len(self.categories)


@dataclass(frozen=True)
class Variable:
    """A variable with its levels, finest first.

    `declared` says that the custodian vouches for categories and hierarchy as public facts;
    until then they were *found* in the data, and knowing them is knowing something about people.
    `role` is nabar's: a *public* attribute may be known to a reader, a *private* one is what
    must not be learnt.
    """

    name: str
    label: Text
    levels: tuple[Level, ...]
    role: str = "public"
    declared: bool = False
    kind: str = "classification"
    note: str = ""
    group: Text = field(default_factory=lambda: Text(()))

    @property
    def finest(self) -> Level:
        """The level the data are coded at."""
        return self.levels[0]

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """What others make of this variable alone, by names of their own; lives as long as it."""
        return {}

    def level(self, name: str) -> Level:
        """The level of that name."""
        for level in self.levels:
            if level.name == name:
                return level
        raise InputError(
            f"{self.name} has no level {name!r}; it has {', '.join(v.name for v in self.levels)}."
        )

    def level_map(self, fine: str, coarse: str) -> Indices | None:
        """Where each category of one level goes in another; None where one would split.

        >>> age = variable("age", ["0", "1", "2"], levels={"band": {"0": "a", "1": "a", "2": "b"}})
        >>> age.level_map("age", "band")
        array([0, 0, 1])
        >>> age.level_map("band", "age") is None
        True
        """
        return self.level(fine).map_to(self.level(coarse))

    def refining(self, levels: Iterable[str]) -> Level:
        """The coarsest level from which all these can be summed; the finest always serves."""
        names = tuple(levels)
        for level in reversed(self.levels):
            if all(self.level_map(level.name, name) is not None for name in names):
                return level
        return self.finest


@dataclass(frozen=True, slots=True, order=True)
class AxisRef:
    """A variable at one of its levels, by name: what a question asks for."""

    variable: str
    level: str

    def __str__(self) -> str:
        return self.variable if self.variable == self.level else f"{self.variable}:{self.level}"


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """Only records whose variable, at a level, is one of these codes (sorted)."""

    variable: str
    level: str
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """What an engine is asked to count: the interior over `axes` of the records that pass `where`."""

    axes: tuple[AxisRef, ...]
    where: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class Axis:
    """A variable at one level, with its categories: one side of a domain."""

    variable: Variable
    level: Level

    @property
    def ref(self) -> AxisRef:
        """Its name in a question."""
        return AxisRef(self.variable.name, self.level.name)

    @property
    def name(self) -> str:
        """The column name in every format: the level's name."""
        return self.level.name

    def __len__(self) -> int:
        return len(self.level)


@dataclass(frozen=True)
class Domain:
    """The product of some axes; cells have mixed-radix addresses, last axis fastest.

    >>> sex = variable("sex", ["f", "m"]); age = variable("age", ["0-14", "15-64", "65+"])
    >>> d = Domain((Axis(age, age.finest), Axis(sex, sex.finest)))
    >>> d.shape, d.size
    ((3, 2), 6)
    >>> d.address(np.array([[2, 1]]))
    array([5])
    """

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Categories along each axis."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def size(self) -> int:
        """How many cells; an exact Python integer, however large."""
        return math.prod(self.shape)

    @property
    def held(self) -> int:
        """How many cells have no category that is empty by the hierarchy."""
        return math.prod(int(axis.level.held.sum()) for axis in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """Level names in order."""
        return tuple(axis.name for axis in self.axes)

    @property
    def strides(self) -> tuple[int, ...]:
        """What one step along each axis adds to an address."""
        strides, stride = [], 1
        for length in reversed(self.shape):
            strides.append(stride)
            stride *= length
        return tuple(reversed(strides))

    def address(self, coordinates: npt.NDArray[np.integer]) -> Indices:
        """Addresses of cells given as rows of coordinates."""
        if self.size > MOST_CELLS:
            raise InputError(
                f"A table of {self.size:,} cells cannot be addressed; most is {MOST_CELLS:,}."
            )
        strides = np.array(self.strides, dtype=np.int64)
        return np.asarray(coordinates, dtype=np.int64) @ strides

    def coordinates(self, addresses: Indices) -> Indices:
        """Rows of coordinates of cells given by address."""
        if not self.axes:
            return np.zeros((len(addresses), 0), dtype=np.int64)
        return np.stack(np.unravel_index(addresses, self.shape), axis=1).astype(np.int64)

    def project(self, positions: Sequence[int]) -> Domain:
        """The domain of a margin: only these axes, in this domain's order."""
        return Domain(tuple(self.axes[i] for i in sorted(positions)))


def margins(axes: int, *, least: int = 0) -> Iterator[tuple[int, ...]]:
    """Every margin of a table of so many axes as positions kept, the interior first, the total last.

    >>> list(margins(2))
    [(0, 1), (0,), (1,), ()]
    """
    for kept in range(axes, least - 1, -1):
        yield from itertools.combinations(range(axes), kept)


def variable(
    name: str,
    codes: Iterable[str | tuple[str, str]],
    *,
    label: str = "",
    levels: dict[str, dict[str, str]] | None = None,
    declared: bool = True,
) -> Variable:
    """A variable from plain codes, with coarser levels as child → parent maps; for tests and docs.

    >>> age = variable("age", ["0", "1", "2"], levels={"band": {"0": "young", "1": "young", "2": "old"}})
    >>> [len(level) for level in age.levels]
    [3, 2]
    """
    categories = tuple(
        Category.of(code) if isinstance(code, str) else Category.of(*code) for code in codes
    )
    built = [Level(name, Text.of(label or name), categories, tuple(range(len(categories))))]
    for level_name, mapping in (levels or {}).items():
        below = built[-1]
        parents = [mapping[category.code] for category in below.categories]
        coarse = tuple(dict.fromkeys(parents))
        up = [coarse.index(parent) for parent in parents]
        built.append(
            Level(
                level_name,
                Text.of(level_name),
                tuple(Category.of(code) for code in coarse),
                tuple(up[i] for i in below.of_finest),
            )
        )
    return Variable(name, Text.of(label or name), tuple(built), declared=declared)
