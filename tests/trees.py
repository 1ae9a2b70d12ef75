"""Random variables of every shape a hierarchy can have, and counting records by hand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from hypothesis import strategies as st

from discreet.core.description import Description, StructuralZero
from discreet.core.domain import AxisRef, Category, Condition, Count, Level, Variable
from discreet.core.text import Text

Record = tuple[int, ...]


@st.composite
def variables(draw, name: str, most: int = 5, levels: int = 3) -> Variable:
    """A variable whose levels nest, repeat, overlap, stop early in some branches or hold nothing."""
    size = draw(st.integers(1, most))
    codes = tuple(Category.of(f"{name}.{i}") for i in range(size))
    made = [Level(name, Text.of(name), codes, tuple(range(size)))]
    for number in range(draw(st.integers(0, levels))):
        below = draw(st.sampled_from(made))
        kind = draw(st.sampled_from(["nested", "same", "overlapping", "ragged"]))
        if kind == "overlapping":
            groups = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
        else:
            up = {
                place: place
                if kind == "same" or (kind == "ragged" and draw(st.booleans()))
                else 100 + draw(st.integers(0, 2))
                for place in sorted(set(below.of_finest))
            }
            groups = [up[place] for place in below.of_finest]
        made.append(_level(draw, f"{name}{number}", groups, draw(st.integers(0, 2))))
    return Variable(name, Text.of(name), tuple(made), declared=True)


def hollow() -> Variable:
    """Five areas in two regions of one country; a third region and a second country hold nothing."""
    finest = tuple(Category.of(code) for code in "12345")
    regions = tuple(Category.of(code) for code in ("e", "n", "s"))
    countries = tuple(Category.of(code) for code in ("one", "none"))
    levels = (
        Level("area", Text.of("Area"), finest, (0, 1, 2, 3, 4)),
        Level("region", Text.of("Region"), regions, (1, 1, 2, 2, 2)),
        Level("country", Text.of("Country"), countries, (0, 0, 0, 0, 0)),
    )
    return Variable("area", Text.of("Area"), levels, declared=True)


def _level(draw, level: str, groups: Sequence[int], empty: int) -> Level:
    """The level with these groups as categories, in any order, some empty ones among them."""
    own = [*dict.fromkeys(groups), *(-1 - i for i in range(empty))]
    order = draw(st.permutations(own))
    codes = tuple(Category.of(f"{level}.{i}") for i in range(len(order)))
    return Level(level, Text.of(level), codes, tuple(order.index(group) for group in groups))


@st.composite
def conditions(draw, variable: Variable) -> Condition:
    """Some categories of some level, those that hold nothing included."""
    level = draw(st.sampled_from(variable.levels))
    codes = draw(st.sets(st.sampled_from(level.codes), min_size=1))
    return Condition(variable.name, level.name, tuple(sorted(codes)))


@st.composite
def descriptions(draw, rules: bool = True, most: int = 4) -> Description:
    """Two or three small variables, with structural zeros that may overlap or contradict."""
    made = tuple(draw(variables(name, most, 2)) for name in "abc"[: draw(st.integers(1, 3))])
    zeros = []
    for _ in range(draw(st.integers(0, 3)) if rules else 0):
        named = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3))
        zeros.append(StructuralZero(tuple(draw(conditions(one)) for one in named)))
    return Description("made", Text.of("Made"), made, structural_zeros=tuple(zeros))


def axes_of(description: Description, unique: bool = False) -> st.SearchStrategy:
    """Up to three axes at any levels; of one variable twice too, unless `unique`."""
    refs = [AxisRef(v.name, level.name) for v in description.variables for level in v.levels]
    by = (lambda ref: ref.variable) if unique else (lambda ref: ref)
    return st.lists(st.sampled_from(refs), max_size=3, unique_by=by).map(tuple)


def records_of(description: Description) -> st.SearchStrategy:
    """Records as places along each variable's finest level."""
    sides = [st.integers(0, len(v.finest) - 1) for v in description.variables]
    return st.lists(st.tuples(*sides), max_size=12)


def every_record(description: Description) -> Iterator[Record]:
    """Each combination of finest categories once."""
    return itertools.product(*(range(len(v.finest)) for v in description.variables))


def place(description: Description, name: str, level: str, record: Record) -> int:
    """Where a record is at a level of a variable."""
    position = [v.name for v in description.variables].index(name)
    return description.variables[position].level(level).of_finest[record[position]]


def meets(description: Description, where: Sequence[Condition], record: Record) -> bool:
    """Whether a record meets all conditions."""
    return all(
        description.variable(part.variable)
        .level(part.level)
        .codes[place(description, part.variable, part.level, record)]
        in part.codes
        for part in where
    )


def cell(description: Description, axes: Sequence[AxisRef], record: Record) -> tuple[int, ...]:
    """The cell a record falls in."""
    return tuple(place(description, ref.variable, ref.level, record) for ref in axes)


def counted(description: Description, count: Count, records: Sequence[Record]) -> np.ndarray:
    """The table, one record at a time."""
    out = np.zeros(description.domain(count.axes).shape, dtype=np.int64)
    for record in records:
        if meets(description, count.where, record):
            out[cell(description, count.axes, record)] += 1
    return out
