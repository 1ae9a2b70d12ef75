"""One question, however it is written: one hash, one charge, the same numbers, for every method.

Every method that is registered is asked random questions. Each is asked again in other words: other
spellings of every setting, settings said or left at their defaults, tables and axes in another order,
filters by other names; and with other treatments and layouts. What was measured and charged stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import discreet as dc
from discreet import release as flow
from discreet.core.table import ProtectedTable
from discreet.errors import InputError, Refusal
from discreet.file_names import CACHE
from discreet.methods import registry
from discreet.methods.base import Plan
from discreet.methods.declaration import Part, Spends
from discreet.recipe import from_mapping
from discreet.workspace import DataSet

from . import wordings
from .attacks.people import make, records
from .examples import examples
from .wordings import Draw, reworded, said_default, spellings, values_of

VARIABLES = {
    "area": {
        "status": "declared",
        "levels": {
            "ward": {
                "column": "area",
                "categories": {
                    f"a{i}": {"label": f"Ward {i}", "parent": "n" if i < 2 else "s"}
                    for i in range(5)
                },
            },
            "region": {"categories": {"n": "North", "s": "South"}},
        },
    },
    "sex": {"status": "declared", "column": "sex", "categories": {"f": "Women", "m": "Men"}},
    "job": {
        "status": "declared",
        "column": "job",
        "categories": {"x": "Cook", "y": "Tailor", "z": "None"},
    },
}
ZEROS = [{"where": {"region": ["n"], "job": ["z"]}, "reason": "no such work there"}]
WEIGHT = {"column": "w", "decimals": "0", "bound": "14"}
APPROXIMATE = {"epsilon": "1000000", "delta": "1/2"}
WORLDS: dict[str, dict[str, Any]] = {
    "pure": {
        "budget": APPROXIMATE,
        "methods": {
            "noise": {"epsilon": "0.5"},
            "marginals": {"epsilon": "1"},
            "topdown": {"epsilon": "1"},
        },
        "weight": WEIGHT,
        "structural_zeros": ZEROS,
    },
    "concentrated": {
        "budget": {"rho": "1000000"},
        "methods": {
            "noise": {"law": "gaussian", "rho": "1/20"},
            "marginals": {"rho": "0.1"},
            "topdown": {"rho": "0.1"},
        },
    },
}
"""Policies of family dp: what is asked by default, and what may be spent."""
METHODS = [
    (world, name)
    for name, declared in registry.METHODS.items()
    if declared.spends is not Spends.RECORD  # refuses what overlaps: tests/methods/suppression
    for world in (WORLDS if declared.spends is Spends.LOSS else [str(declared.family)])
]


every_method = pytest.mark.parametrize(("world", "method"), METHODS)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, DataSet]]:
    """A data set of each family, and for each kind of budget, opened."""
    base = tmp_path_factory.mktemp("worlds")
    folders = {
        name: make(base / name, "dp", records(300), variables=VARIABLES, **changes)
        for name, changes in WORLDS.items()
    }
    keyed = {"variables": VARIABLES, "structural_zeros": ZEROS}
    folders["cell-key"] = make(base / "keys", "cell-key", records(300), **keyed)
    with DataSet.open(folders["pure"]) as data:
        ask(data, {"method": "marginals", "epsilon": "5", "workload": "all 2-way"}).release()
    folders["synthetic"] = dc.synthetic(folders["pure"], base / "open")
    opened = {name: DataSet.open(folder) for name, folder in folders.items()}
    yield opened
    for data in opened.values():
        data.close()


def ask(data: DataSet, said: Mapping[str, Any]) -> flow.Asked:
    """What is known of a recipe before anything is spent."""
    return flow.ask(data, from_mapping(said, data.description, data.policy))


def may_be(data: DataSet, said: Mapping[str, Any]) -> flow.Asked | None:
    """As `ask`; None where it is refused."""
    with suppress(InputError, Refusal):
        asked = ask(data, said)
        if asked.standing != "refused":
            return asked
    return None


def some_question(draw: Draw, data: DataSet, method: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A question that can be had, in plain words, and a treatment that goes with it."""
    question = {"method": method, "tables": wordings.tables(draw, data.description)}
    assume(may_be(data, question) is not None)
    chosen: dict[Part, dict[str, Any]] = {part: {} for part in Part}
    for setting in draw(st.permutations(registry.declaration(method).asked())):
        if draw(st.booleans()):
            value = draw(st.sampled_from(values_of(setting)))
            tried = {**chosen[Part.MEASURED], **chosen[Part.TREATED], setting.name: value}
            if may_be(data, {**question, **tried}):
                chosen[setting.part][setting.name] = value
    return {**question, **chosen[Part.MEASURED]}, chosen[Part.TREATED]


def some_treatment(draw: Draw, data: DataSet, question: Mapping[str, Any]) -> dict[str, Any]:
    """Any treatment that goes with a question."""
    found: dict[str, Any] = {}
    for setting in draw(
        st.permutations(registry.declaration(question["method"]).asked(Part.TREATED))
    ):
        value = draw(st.sampled_from(values_of(setting)))
        if may_be(data, {**question, **found, setting.name: value}):
            found[setting.name] = value
    return found


def in_other_words(draw: Draw, data: DataSet, said: Mapping[str, Any]) -> dict[str, Any]:
    """The same recipe as somebody else would write it."""
    declared = registry.declaration(said["method"])
    tables = [reworded(draw, table, data.description) for table in said["tables"]]
    other: dict[str, Any] = {"tables": draw(st.permutations(tables))}
    if len(tables) == 1 and draw(st.booleans()):
        other = tables[0]
    if said["method"] != data.policy.method or draw(st.booleans()):
        other["method"] = said["method"]
    for name, value in said.items():
        if name not in ("method", "tables"):
            other[name] = draw(st.sampled_from(spellings(declared.by_name[name], value)))
    written = data.policy.parameters(said["method"])
    for setting in declared.asked():
        default = None if setting.name in written else said_default(setting)
        if setting.name not in said and default is not None and draw(st.booleans()):
            tried = {**other, setting.name: draw(st.sampled_from(spellings(setting, default)))}
            other = tried if may_be(data, tried) else other
    return other


def cells(table: ProtectedTable) -> dict[frozenset[tuple[str, str]], tuple[int, int]]:
    """Value and status by category, whatever the order of axes."""
    sides = [
        [*axis.level.codes, *(["_T"] if total else [])]
        for axis, total in zip(table.domain.axes, table.totals, strict=True)
    ]
    names = [axis.name for axis in table.domain.axes]
    return {
        frozenset((name, side[i]) for name, side, i in zip(names, sides, place, strict=True)): (
            int(table.values[place]),
            int(table.status[place]),
        )
        for place in np.ndindex(table.values.shape)
    }


def numbers(made: flow.Release) -> list[list[Any]]:
    """The numbers of all tables, in an order that does not depend on theirs."""
    return sorted(sorted((sorted(k), v) for k, v in cells(table).items()) for table in made.tables)


def forget(data: DataSet) -> None:
    """Drop everything that could be kept of a fit: it must come out the same again."""
    for suffix in ("", "-wal", "-shm"):
        (data.folder / f"{CACHE}{suffix}").unlink(missing_ok=True)
    registry._loaded.cache_clear()


def spent(data: DataSet) -> str:
    return "" if data.policy.budget is None else str(data.ledger().spent())


@every_method
@examples(6, HealthCheck.filter_too_much)
@given(data=st.data())
@pytest.mark.slow
def test_other_words_are_the_same_question(
    worlds: dict[str, DataSet], world: str, method: str, data: st.DataObject
):
    """Spelling, defaults said or left out, order and filters: one hash, one charge, one answer."""
    people = worlds[world]
    question, treatment = some_question(data.draw, people, method)
    first = ask(people, {**question, **treatment})
    made = first.release()
    after = spent(people)
    for _ in range(2):
        said = in_other_words(data.draw, people, {**question, **treatment})
        again = ask(people, said)
        assert again.plan.question.canonical() == first.plan.question.canonical(), said
        assert again.plan.question_hash == first.plan.question_hash, said
        assert again.plan.treatment == first.plan.treatment, said
        forget(people)
        remade = again.release()
        assert not remade.charged
        assert numbers(remade) == numbers(made), said
        assert spent(people) == after, said


@every_method
@examples(6, HealthCheck.filter_too_much)
@given(data=st.data())
@pytest.mark.slow
def test_a_treatment_is_free_and_changes_nothing_that_is_measured(
    worlds: dict[str, DataSet], world: str, method: str, data: st.DataObject
):
    """Under every treatment the same is planned, measured and charged; afterwards each is free."""
    people = worlds[world]
    question, _ = some_question(data.draw, people, method)
    plain = ask(people, question)
    treatments = [some_treatment(data.draw, people, question) for _ in range(3)]
    planned = [ask(people, {**question, **treatment}).plan for treatment in treatments]
    for plan in planned:
        assert plan.question.canonical() == plain.plan.question.canonical()
        assert plan.question_hash == plain.plan.question_hash
        assert (plan.counts, plan.charge) == (plain.plan.counts, plain.plan.charge)
    ask(people, {**question, **treatments[0]}).release()
    after = spent(people)
    for treatment in treatments:
        said = in_other_words(data.draw, people, {**question, **treatment})
        again = ask(people, said)
        assert again.standing in ("answered", "free"), said
        made = again.release()
        assert not made.charged
        assert spent(people) == after, said
        forget(people)
        assert numbers(made) == numbers(ask(people, {**question, **treatment}).release())


@every_method
@examples(6, HealthCheck.filter_too_much)
@given(data=st.data())
@pytest.mark.slow
def test_a_resolved_question_said_in_full_is_the_same(
    worlds: dict[str, DataSet], world: str, method: str, data: st.DataObject
):
    """What a plan filled in (defaults, the best plan, ε for an accuracy) may be said outright."""
    people = worlds[world]
    question, _ = some_question(data.draw, people, method)
    first = ask(people, question)
    sayable = {setting.name for setting in registry.declaration(method).asked(Part.MEASURED)}
    full = {key: question[key] for key in ("method", "tables")}
    full |= {k: v for k, v in first.plan.question.settings.items() if k in sayable}
    again = ask(people, in_other_words(data.draw, people, full))
    assert again.plan.question_hash == first.plan.question_hash, full
    assert again.plan.charge == first.plan.charge


@pytest.mark.slow
@examples(60)
@given(data=st.data())
def test_the_order_of_tables_changes_no_fit(worlds: dict[str, DataSet], data: st.DataObject):
    """Programs with several best tables among them: the same one is taken whatever the order."""
    people = worlds["pure"]
    area = data.draw(st.sampled_from(["ward", "region"]))
    margin = st.lists(st.sampled_from([area, "sex", "job"]), min_size=1, max_size=3, unique=True)
    tables = data.draw(
        st.lists(margin, min_size=2, max_size=3, unique_by=lambda m: tuple(sorted(m)))
    )
    objective = data.draw(st.sampled_from(["largest", "total", "hybrid"]))
    said = {
        "method": "marginals",
        "mode": "classic",
        "epsilon": data.draw(st.sampled_from(["0.3", "1", "10"])),
        "objective": objective + data.draw(st.sampled_from(["", " in margins"])),
    }
    first, *others = [
        {**said, "tables": [{"rows": table} for table in data.draw(st.permutations(tables))]}
        for _ in range(3)
    ]
    made = numbers(ask(people, first).release())
    for other in others:
        forget(people)
        assert numbers(ask(people, other).release()) == made


def measured_facts(plan: Plan) -> Any:
    """Everything a plan tells of its measurements, apart from the question's name."""
    charge = None if plan.charge is None else {**plan.charge.to_json(), "question": ""}
    return plan.counts, charge, [(e.noise_sd, e.half_width, e.totals_sd) for e in plan.errors]


@every_method
@examples(6, HealthCheck.filter_too_much)
@given(data=st.data())
@pytest.mark.slow
def test_what_is_measured_alike_is_one_question(
    worlds: dict[str, DataSet], world: str, method: str, data: st.DataObject
):
    """A word that changes nothing (the plan that is best anyway, say) does not change the hash."""
    people = worlds[world]
    question, _ = some_question(data.draw, people, method)
    first = ask(people, question)
    for setting in registry.declaration(method).asked(Part.MEASURED):
        for word in setting.words:
            other = may_be(people, {**question, setting.name: word})
            if other and measured_facts(other.plan) == measured_facts(first.plan):
                assert other.plan.question_hash == first.plan.question_hash, (setting.name, word)


@pytest.mark.parametrize("method", registry.names())
def test_every_spelling_is_read_alike(method: str):
    """Each value of each setting, in each way to write it, has one canonical text."""
    for setting in registry.declaration(method).asked():
        values = values_of(setting)
        assert values, f"{method} {setting.name} takes none of the values tried"
        for value in values:
            for spelling in spellings(setting, value):
                assert setting.read(spelling, setting.name, InputError) == value, spelling


@pytest.mark.slow
@every_method
@examples(30, HealthCheck.filter_too_much)
@given(data=st.data())
def test_many_questions_of_all_kinds(
    worlds: dict[str, DataSet], world: str, method: str, data: st.DataObject
):
    """The claims above, for many more questions."""
    checks = (
        test_other_words_are_the_same_question,
        test_a_treatment_is_free_and_changes_nothing_that_is_measured,
        test_a_resolved_question_said_in_full_is_the_same,
        test_what_is_measured_alike_is_one_question,
    )
    check = data.draw(st.sampled_from(checks))
    check.hypothesis.inner_test(worlds, world, method, data)
