"""Kept interiors: what is summed from them is what a new count gives, and nobody else can read them."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.domain import AxisRef, Condition, Count
from discreet.core.true_values import Cells, reveal
from discreet.engines.interiors import KeptInteriors
from discreet.errors import EngineError, InputError

from .people import People, towns, values


class Counting:
    """An engine that remembers what it was asked."""

    name = "counting"

    def __init__(self, people: People) -> None:
        self.engine = people.numpy()
        self.asked: list[Count] = []

    def count(self, counts, **how):  # type: ignore[no-untyped-def]
        self.asked += counts
        return self.engine.count(counts, **how)

    def close(self) -> None:
        self.asked.append(Count(()))


def kept(most_bytes: int = 1 << 20, widest: int = 0) -> tuple[KeptInteriors, Counting, People]:
    people = towns()
    below = Counting(people)
    return KeptInteriors(below, people.description, most_bytes, widest), below, people


PEOPLE = towns()
SIDES = [[None, *(AxisRef(v.name, level.name) for level in v.levels)] for v in PEOPLE.variables]
COUNTS = [tuple(ref for ref in chosen if ref is not None) for chosen in itertools.product(*SIDES)]
CONDITIONS = [
    Condition(v.name, level.name, codes)
    for v in PEOPLE.variables
    for level in v.levels
    for codes in (level.codes[:1], level.codes[1:], ())
]
asked = st.builds(
    Count,
    st.sampled_from(COUNTS),
    st.lists(st.sampled_from(CONDITIONS), max_size=2, unique=True).map(tuple),
)


@given(st.lists(st.lists(asked, min_size=1, max_size=4), min_size=1, max_size=8), st.booleans(), st.sampled_from([0, 600, 1 << 20]), st.sampled_from([0, 30, 1 << 16]))  # fmt: skip
def test_whatever_was_asked_before_the_sums_are_those_of_a_count(
    questions: list[list[Count]], weights: bool, room: int, widest: int
) -> None:
    """Any tables in any order, with filters, levels and little room: brute force, cell by cell."""
    engine, _, people = kept(room, widest)
    for number, counts in enumerate(questions):
        heavy = weights and number % 2 == 1
        tables = engine.count(counts, keys=True, weights=heavy)
        for count, table in zip(counts, tables, strict=True):
            width = 4 if heavy else 3
            wanted = {a: v[:width] for a, v in people.brute_force(count).items()}
            assert values(table) == wanted


def test_margins_levels_and_filters_need_no_count() -> None:
    """One interior of all variables at their finest: after it nothing is read again."""
    engine, below, people = kept()
    finest = Count(tuple(AxisRef(v.name, v.finest.name) for v in people.variables))
    engine.count([finest], keys=True, weights=True)
    before = len(below.asked)
    for axes in COUNTS:
        for where in ((), (CONDITIONS[0],), (CONDITIONS[1], CONDITIONS[-1])):
            engine.count([Count(axes, where)], keys=True)
    assert len(below.asked) == before
    engine.count([Count(())])  # only keyed tables are had from what is kept
    assert len(below.asked) == before + 1


def test_another_filter_on_the_same_variables_needs_no_count() -> None:
    """The first question counts its filters' variables as axes, where they are few; an unknown code is refused."""
    sex, age = Count((AxisRef("sex", "sex"),)), next(v for v in PEOPLE.variables if v.name == "age")
    towns_of = next(v for v in PEOPLE.variables if v.name == "town")
    filters = [
        (Condition("age", "age", (code,)), Condition("town", level.name, level.codes[at:]))
        for code in age.finest.codes
        for level in towns_of.levels[:1]
        for at in range(len(level.codes))
    ]
    for widest, counted in ((1 << 16, 1), (0, len(filters))):
        engine, below, people = kept(widest=widest)
        for where in filters:
            (table,) = engine.count([Count(sex.axes, where)], keys=True)
            cells = people.brute_force(Count(sex.axes, where))
            assert values(table) == {a: v[:3] for a, v in cells.items()}
        assert len(below.asked) == counted
        with pytest.raises((InputError, KeyError)):
            engine.count([Count(sex.axes, (Condition("age", "age", ("nobody",)),))], keys=True)


def test_a_thousand_small_questions_leave_few_to_look_through() -> None:
    """What is kept is bounded in number too: a new question costs no more after many others."""
    engine, _, people = kept()
    many = [
        (Condition("town", "town", codes), Condition("age", "age", (age,)))
        for size in range(1, 4)
        for codes in itertools.combinations(people.variables[0].finest.codes, size)
        for age in next(v for v in people.variables if v.name == "age").finest.codes
    ]
    assert len(many) > 64
    for where in many:
        engine.count([Count((AxisRef("sex", "sex"),), where)], keys=True)
    assert 0 < len(engine._kept) <= 64


def test_what_cannot_be_had_is_counted() -> None:
    """Finer levels, other variables, a filter on a variable that is gone, codes that are not there."""
    engine, below, people = kept()
    region = AxisRef("town", "region")
    engine.count([Count((region,))], keys=True)
    for count in (
        Count((AxisRef("town", "town"),)),
        Count((AxisRef("sex", "sex"),)),
        Count((region,), (Condition("age", "age", ("0",)),)),
        Count((region,), (Condition("town", "town", (people.variables[0].finest.codes[0],)),)),
    ):
        before = len(below.asked)
        fresh, _, _ = kept()
        assert values(engine.count([count], keys=True)[0]) == values(
            fresh.count([count], keys=True)[0]
        )
        assert len(below.asked) == before + 1
        engine, below, _ = kept()
        engine.count([Count((region,))], keys=True)
    duck_like = Count((region,), (Condition("town", "region", ("nowhere",)),))
    with pytest.raises((InputError, KeyError)):
        engine.count([duck_like], keys=True)


def test_nobody_else_reads_or_changes_what_is_kept() -> None:
    """Not in its repr, not pickled; whoever writes to a table he was given changes no later one."""
    engine, _, people = kept()
    count = Count((AxisRef("sex", "sex"),))
    for _ in range(2):
        (table,) = engine.count([count], keys=True)
        cells: Cells = reveal(table)
        assert values(table) == {a: v[:3] for a, v in people.brute_force(count).items()}
        cells.counts[:] = 0
    assert repr(engine) == "<engine counting of people; interiors sealed>"
    assert "Cells" not in repr(vars(engine)["_kept"]) or "sealed" in repr(vars(engine)["_kept"])
    with pytest.raises(TypeError):
        pickle.dumps(engine)


def test_the_least_recently_used_goes_first() -> None:
    """Room for two interiors of three; one that is larger than its share is not kept."""
    engine, below, _ = kept(4 * 600)
    counts = [Count((AxisRef(name, name),)) for name in ("town", "sex", "age")]
    for count in counts:
        engine.count([count], keys=True)
    assert engine._bytes == sum(one.bytes for one in engine._kept.values()) <= 4 * 600
    engine.close()
    assert (len(engine._kept), engine._bytes) == (0, 0)
    small, below, _ = kept(40)
    for _ in range(2):
        small.count(counts[:1], keys=True)
    assert len(below.asked) == 2


def test_nothing_is_kept_of_a_count_that_ends_after_closing() -> None:
    """Not even an interior without cells, which takes no room."""
    engine, below, people = kept()
    count = Count((AxisRef("sex", "sex"),), (Condition("age", "age", ()),))
    while_open = below.count

    def closed_meanwhile(counts, **how):  # type: ignore[no-untyped-def]
        engine.close()
        return while_open(counts, **how)

    below.count = closed_meanwhile  # type: ignore[method-assign]
    for one in (count, Count(count.axes)):
        (table,) = engine.count([one], keys=True)
        assert values(table) == {a: v[:3] for a, v in people.brute_force(one).items()}
        assert (len(engine._kept), engine._bytes) == (0, 0)


def test_records_that_changed_are_not_told_from_memory(tmp_path: Path) -> None:
    """An engine that may not count any more is asked first."""
    engine, below, _ = kept()
    engine.count([Count((AxisRef("sex", "sex"),))], keys=True)

    def check_served() -> None:
        raise EngineError("The data set is unavailable.")

    below.check_served = check_served  # type: ignore[attr-defined]
    with pytest.raises(EngineError, match="unavailable"):
        engine.count([Count(())], keys=True)
