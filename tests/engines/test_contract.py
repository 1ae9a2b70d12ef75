"""The engine contract: every engine gives the same integers, and they are the right ones."""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.core.control import Control
from discreet.core.domain import AxisRef, Condition, Count, Variable, variable
from discreet.engines.base import Engine
from discreet.errors import Cancelled, InputError, RecipeError

from ..examples import examples
from ..servers.postgres import PASSWORD
from . import remote_people
from .people import People, towns, values

SPARK = [pytest.param(name, marks=pytest.mark.slow) for name in ("spark:coded", "spark:read-only")]
HERE = ("duckdb", "memory", "long_memory", "sharded", "numpy")
ENGINES = (*HERE, "postgres:coded", "postgres:read-only", *SPARK)

Opener = Callable[[str, People, Path], Engine]


@pytest.fixture(scope="module")
def opened(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Opens people on an engine by name; a server is started when it is first needed."""

    def on(name: str, people: People, folder: Path) -> Engine:
        kind, _, counting = name.partition(":")
        if kind == "numpy":
            return people.numpy()
        if not counting:
            made: Engine = getattr(people, kind)(folder)
            return made
        put = remote_people.on_postgres if kind == "postgres" else remote_people.on_spark
        source = put(request.getfixturevalue(kind), people)
        return remote_people.opened(replace(source, counting=counting), people, folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", PASSWORD)
        yield on


@pytest.fixture(params=ENGINES, scope="module")
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, opened: Opener
) -> Iterator[Engine]:
    made = opened(request.param, towns(), tmp_path_factory.mktemp("towns"))
    yield made
    made.close()


def every_count(people: People) -> list[Count]:
    """Every set of variables at every combination of levels."""
    sides = [[None, *(AxisRef(v.name, level.name) for level in v.levels)] for v in people.variables]
    return [
        Count(tuple(ref for ref in chosen if ref is not None))
        for chosen in itertools.product(*sides)
    ]


def test_every_margin_at_every_level_is_brute_force(engine: Engine) -> None:
    """Counts, both key sums and weight sums of each margin equal a loop over the records."""
    people = towns()
    for count in every_count(people):
        (table,) = engine.count([count], keys=True, weights=True)
        assert values(table) == people.brute_force(count)


def test_asked_together_or_alone_is_the_same(engine: Engine) -> None:
    """Margins asked for with their interior, which an engine may sum from it, do not change."""
    people = towns()
    counts = every_count(people)
    together = engine.count([*counts, counts[-1]], keys=True, weights=True)
    assert [values(table) for table in together] == [
        people.brute_force(count) for count in [*counts, counts[-1]]
    ]


def test_filters_pass_the_named_codes_only(engine: Engine) -> None:
    """Conditions on axes, on other variables, at coarser levels and on nobody."""
    people = towns()
    axes = (AxisRef("town", "town"), AxisRef("sex", "sex"))
    for where in (
        (Condition("age", "age", ("0", "3")),),
        (Condition("town", "region", ("S",)), Condition("sex", "sex", ("f",))),
        (Condition("town", "town", ("007",)),),
        (Condition("age", "age", ()),),
    ):
        count = Count(axes, where)
        (table,) = engine.count([count], keys=True)
        assert values(table) == {a: v[:3] for a, v in people.brute_force(count).items()}


def test_filters_are_not_shared_between_counts(engine: Engine) -> None:
    """A margin of some records is not summed from an interior of others."""
    people = towns()
    sex = (AxisRef("sex", "sex"),)
    both = (AxisRef("sex", "sex"), AxisRef("age", "age"))
    counts = [Count(both), Count(sex, (Condition("town", "region", ("N",)),)), Count(sex)]
    assert [values(t) for t in engine.count(counts)] == [
        {a: v[:1] for a, v in people.brute_force(count).items()} for count in counts
    ]


def test_the_grand_total_has_one_cell(engine: Engine) -> None:
    (table,) = engine.count([Count(())])
    assert values(table) == {0: (40,)}


def test_no_records_means_no_cells(engine: Engine) -> None:
    nobody = (Condition("town", "town", ("007",)),)
    tables = engine.count(
        [Count((), nobody), Count((AxisRef("sex", "sex"),), nobody)], keys=True, weights=True
    )
    assert [values(table) for table in tables] == [{}, {}]


def test_only_what_was_asked_is_summed(engine: Engine) -> None:
    from discreet.core.true_values import reveal

    (table,) = engine.count([Count((AxisRef("sex", "sex"),))])
    cells = reveal(table)
    assert cells.key_low is None
    assert cells.key_high is None
    assert cells.weights is None


def test_unknown_names_are_bad_input(engine: Engine) -> None:
    with pytest.raises(RecipeError, match="Did you mean town"):
        engine.count([Count((AxisRef("twon", "twon"),))])
    with pytest.raises(InputError):
        engine.count([Count((AxisRef("town", "country"),))])
    with pytest.raises(InputError):
        engine.count([Count((), (Condition("sex", "sex", ("x",)),))])


def test_a_stop_is_obeyed(engine: Engine) -> None:
    with pytest.raises(Cancelled):
        engine.count([Count(())], control=Control(cancelled=lambda: True))


def test_threads_may_count_at_once(engine: Engine) -> None:
    """Each thread asks for some tables of its own and for the largest, which all want."""
    people = towns()
    counts = every_count(people)
    wrong: list[object] = []

    def work(number: int) -> None:
        for count in (*counts[number::4], counts[-1]):
            (table,) = engine.count([count], keys=True, weights=True)
            if values(table) != people.brute_force(count):
                wrong.append(count)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("name", ENGINES)
def test_weights_must_exist(name: str, tmp_path: Path, opened: Opener) -> None:
    people = towns()
    people.weights = None
    engine = opened(name, people, tmp_path)
    with pytest.raises(InputError):
        engine.count([Count(())], weights=True)
    engine.close()


@st.composite
def a_variable(draw: st.DrawFn, name: str) -> Variable:
    codes = [f"{name}{i}" for i in range(draw(st.integers(1, 6)))]
    levels: dict[str, dict[str, str]] = {}
    below = codes
    for depth in range(draw(st.integers(0, 2))):
        parents = [f"{name}_{depth}_{draw(st.integers(0, 2))}" for _ in below]
        levels[f"{name}_{depth}"] = dict(zip(below, parents, strict=True))
        below = list(dict.fromkeys(parents))
    return variable(name, codes, levels=levels)


@st.composite
def some_people(draw: st.DrawFn) -> tuple[People, list[Count], list[int]]:
    variables = tuple(draw(a_variable(name)) for name in ("x", "y", "z")[: draw(st.integers(1, 3))])
    row = st.tuples(*(st.integers(0, len(v.finest) - 1) for v in variables))
    rows = draw(st.lists(row, min_size=1, max_size=30))
    weights = draw(st.none() | st.just([]))
    if weights is not None:
        weights = [draw(st.integers(0, 10**9)) for _ in rows]
    people = People(variables, rows, weights)
    counts = []
    for _ in range(draw(st.integers(1, 4))):
        axes = tuple(
            AxisRef(v.name, draw(st.sampled_from(v.levels)).name)
            for v in draw(st.permutations(variables))
            if draw(st.booleans())
        )
        where = tuple(
            Condition(
                v.name,
                level.name,
                tuple(sorted(draw(st.sets(st.sampled_from(level.codes), max_size=3)))),
            )
            for v in variables
            if draw(st.integers(0, 3)) == 0
            for level in [draw(st.sampled_from(v.levels))]
        )
        counts.append(Count(axes, where))
    return people, counts, draw(st.permutations(range(len(rows))))


def check(people: People, counts: list[Count], order: list[int]) -> None:
    expected = [people.brute_force(count) for count in counts]
    if people.weights is None:
        expected = [{a: v[:3] for a, v in cells.items()} for cells in expected]  # type: ignore[misc]
    weighted = people.weights is not None
    with tempfile.TemporaryDirectory() as folder:
        for engine in (people.numpy(), people.duckdb(Path(folder), order)):
            tables = engine.count(counts, keys=True, weights=weighted)
            engine.close()
            assert [values(table) for table in tables] == expected, engine.name


@examples(8, *HealthCheck)
@given(some_people())
def test_any_data_any_order_any_engine(drawn: tuple[People, list[Count], list[int]]) -> None:
    """Random variables, levels, filters and weights: both engines are brute force, in any order."""
    check(*drawn)


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(some_people())
def test_any_data_any_order_any_engine_at_length(
    drawn: tuple[People, list[Count], list[int]],
) -> None:
    check(*drawn)
