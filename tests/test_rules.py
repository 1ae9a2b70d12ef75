"""Rules are judged from public facts, and what a refusal offers works."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import recipe as recipes
from discreet import rules
from discreet.core.domain import AxisRef, Category, Level, Variable
from discreet.core.question import TableSpec
from discreet.errors import DescriptionError, Refusal
from discreet.offers import passing
from discreet.verdict import MOST_OFFERS

from .facts import people, policy

DESCRIPTION = people()


def with_population(description, sizes):
    """The same description with a public population for each area."""
    area, *rest = description.variables
    levels = []
    for level in area.levels:
        total = {}
        for i, size in enumerate(sizes):
            total[level.of_finest[i]] = total.get(level.of_finest[i], 0) + size
        categories = tuple(
            dataclasses.replace(category, population=total[i])
            for i, category in enumerate(level.categories)
        )
        levels.append(dataclasses.replace(level, categories=categories))
    return dataclasses.replace(
        description, variables=(dataclasses.replace(area, levels=tuple(levels)), *rest)
    )


def judged(rule_set, description=DESCRIPTION, **parts):
    made = policy(rules=rule_set)
    question = recipes.from_mapping({"rows": (), **parts}, description, made).question
    return rules.judge(question, description, made)


@pytest.mark.parametrize(
    ("rule_set", "parts", "rule"),
    [
        ({"max_variables": "2"}, {"rows": "area,age,sex"}, "max_variables"),
        ({"max_cells": "20"}, {"rows": "area", "columns": "age"}, "max_cells"),
        ({"at_most_one_of": [["area:area", "age"]]}, {"rows": "area,age"}, "at_most_one_of"),
        ({"mandatory": ["sex"]}, {"rows": "age"}, "mandatory"),
        ({"blocked_levels": ["area:area"]}, {"rows": "area"}, "blocked_levels"),
    ],
)
def test_each_rule_refuses_and_offers_what_works(rule_set, parts, rule):
    """A refusal names its rule; each alternative was judged and passes."""
    verdict = judged(rule_set, **parts)
    assert [breach.rule for breach in verdict.breaches] == [rule]
    assert verdict.alternatives
    with pytest.raises(Refusal) as caught:
        verdict.enforce()
    assert caught.value.rule == rule
    assert caught.value.exit_code == 3


def test_filters_do_not_dodge_a_rule():
    """The verdict on a filtered table is the verdict on the whole one."""
    rule_set = {"max_cells": "20", "blocked_levels": ["area:area"]}
    whole = judged(rule_set, rows="area", columns="age")
    filtered = judged(rule_set, rows="area", columns="age", where={"area": "a1", "age": "65"})
    assert whole.breaches == filtered.breaches


def test_populations_and_slivers():
    """Small public populations, and slivers between overlapping levels, are refused."""
    known = with_population(DESCRIPTION, [100, 5000, 5000, 5000, 5000, 5000])
    assert not judged({"least_population": "1000"}, known, rows="area").allowed
    assert judged({"least_population": "1000"}, known, rows="region").allowed
    area = known.variables[0]
    overlapping = dataclasses.replace(area.levels[1], name="zone", of_finest=(0, 1, 1, 1, 1, 1))
    crossed: Variable = dataclasses.replace(area, levels=(*area.levels, overlapping))
    both = dataclasses.replace(known, variables=(crossed, *known.variables[1:]))
    assert judged({"sliver_population": "1000"}, both, rows="region").allowed
    verdict = judged({"sliver_population": "6000"}, both, rows="zone")
    assert [b.rule for b in verdict.breaches] == ["sliver_population"]


def test_cells_per_record_needs_a_public_number():
    """Sparsity is judged against the declared number of records, never against the data."""
    parts = {"rows": "area", "columns": "age"}
    assert judged({"max_cells_per_record": "0.1"}, people(), **parts).allowed
    assert judged({"max_cells_per_record": "0.1"}, people(records=1000), **parts).allowed
    assert not judged({"max_cells_per_record": "0.1"}, people(records=100), **parts).allowed


def test_ten_to_the_twelve_cells_are_refused_at_once():
    """A giant table is refused from the description alone."""
    from discreet.core.domain import variable

    wide = tuple(variable(f"v{i}", [str(c) for c in range(1000)]) for i in range(4))
    description = people(variables=wide, structural_zeros=())
    verdict = judged({}, description, rows="v0,v1,v2,v3")
    assert verdict.cells == 1001**4
    assert not verdict.allowed


@pytest.mark.parametrize(
    ("rule_set", "words"),
    [
        ({"max_variable": "2"}, "Did you mean max_variables"),
        ({"max_cells": "many"}, "rules.max_cells"),
        ({"max_cells": "2.5"}, "whole number"),
        ({"mandatory": "sex"}, "must be a list"),
    ],
)
def test_bad_rules_get_one_sentence(rule_set, words):
    """A rule that cannot be read is named with its value."""
    with pytest.raises(DescriptionError) as caught:
        rules.check_rules(policy(rules=rule_set), DESCRIPTION)
    assert words in str(caught.value)


NAMES = ["area", "region", "country", "age", "sex", "work"]


@given(
    wanted=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True),
    most_variables=st.integers(1, 4),
    most_cells=st.integers(4, 400),
    blocked=st.lists(st.sampled_from(["area:area", "work", "age"]), max_size=2, unique=True),
)
def test_every_alternative_is_accepted_when_taken(wanted, most_variables, most_cells, blocked):
    """Each offered change, made as it says, passes every rule."""
    chosen = [n for n in wanted if n not in {"area", "region", "country"}]
    chosen += [n for n in wanted if n in {"area", "region", "country"}][:1]
    rule_set = {
        "max_variables": str(most_variables),
        "max_cells": str(most_cells),
        "blocked_levels": blocked,
    }
    verdict = judged(rule_set, rows=chosen)
    for words in verdict.alternatives:
        names = list(chosen)
        for step in words.split(" and "):
            if step.startswith("leave out "):
                names.remove(step.removeprefix("leave out "))
            elif step.startswith("add "):
                names.append(step.removeprefix("add "))
            else:
                new, old = step.removeprefix("use ").split(" instead of ")
                names[names.index(old)] = new
        assert judged(rule_set, rows=names).allowed


@given(
    wanted=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    filtered=st.sampled_from([{}, {"sex": "F"}, {"age": "0,65"}, {"area": "a1,a2"}]),
    most_variables=st.integers(1, 4),
    most_cells=st.integers(4, 400),
    mandatory=st.lists(st.sampled_from(["sex", "age", "area:country"]), max_size=2, unique=True),
    declared=st.sampled_from(["yes", "no"]),
)
def test_only_what_a_rule_wants_is_worth_adding(
    wanted, filtered, most_variables, most_cells, mandatory, declared
):
    """Of all variables of a description none but those that are tried to add makes a table pass."""
    areas = {"area", "region", "country"}
    chosen = [n for n in wanted if n not in areas] + [n for n in wanted if n in areas][:1]
    made = policy(
        rules={
            "max_variables": str(most_variables),
            "max_cells": str(most_cells),
            "mandatory": mandatory,
            "declared_groups": declared,
        }
    )
    question = recipes.from_mapping({"rows": chosen, "where": filtered}, DESCRIPTION, made).question
    (spec,) = question.tables

    def passes(table):
        return not rules.breaches(table, DESCRIPTION, made)

    verdict = rules.judge(question, DESCRIPTION, made)
    every = {variable.name for variable in DESCRIPTION.variables}
    found = passing(spec, DESCRIPTION, passes, every) if verdict.breaches else ()
    assert [offer.changes for offer in verdict.offers] == [changes for changes, _ in found]


def test_what_is_offered_for_very_many_tables_is_looked_for_late_and_in_few(monkeypatch):
    """A thousand refused tables are judged without a look for others, of which ten are enough."""
    made, looks = policy(rules={"max_variables": "2"}), []
    parts = {"rows": "age,sex", "where": {"area": "a1"}}
    question = recipes.from_mapping(parts, DESCRIPTION, made).question
    many = dataclasses.replace(question, tables=question.tables * 1000)
    monkeypatch.setattr(rules, "passing", lambda *all: looks.append(1) or passing(*all))
    verdict = rules.judge(many, DESCRIPTION, made)
    assert len(verdict.breaches) == 1000
    assert not looks
    assert len(verdict.offers) == MOST_OFFERS
    assert len(looks) <= MOST_OFFERS
    monkeypatch.setattr(rules, "passing", lambda *all: looks.append(1) or ())
    assert rules.judge(many, DESCRIPTION, made).offers == ()
    assert len(looks) <= 2 * MOST_OFFERS


def test_a_table_of_very_many_variables_is_refused_at_once():
    """Pairs of changes are not tried where hundreds of single ones could be made."""
    tried = []
    description = wide(400)
    refs = tuple(AxisRef(variable.name, variable.name) for variable in description.variables)
    spec = TableSpec(axes=refs)
    assert passing(spec, description, lambda table: bool(tried.append(table)), ()) == ()
    assert len(tried) == 400


def wide(count):
    """A description of so many variables of two categories."""
    two = (Category("a", "A"), Category("b", "B"))
    names = [f"v{i}" for i in range(count)]
    variables = [Variable(name, name, (Level(name, name, two, (0, 1)),)) for name in names]
    return dataclasses.replace(DESCRIPTION, variables=tuple(variables))
