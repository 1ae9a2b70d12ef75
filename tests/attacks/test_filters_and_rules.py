"""A filter cannot dodge a rule: what is refused whole is refused one slice at a time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from discreet import recipe as recipes
from discreet import rules
from discreet.errors import Refusal
from discreet.workspace import DataSet

from ..facts import people, policy
from .people import ask, change, make


def with_small_areas():
    """People with a public population for every area, two of them small."""
    description = people(records=1000)
    area, *rest = description.variables
    sizes = [400, 400, 5, 95, 60, 40]
    finest = dataclasses.replace(
        area.finest,
        categories=tuple(
            dataclasses.replace(c, population=n)
            for c, n in zip(area.finest.categories, sizes, strict=True)
        ),
    )
    made = dataclasses.replace(area, levels=(finest, *area.levels[1:]))
    return dataclasses.replace(description, variables=(made, *rest))


DESCRIPTION = with_small_areas()


def broken(rule_set, **parts):
    """The rules a table breaks, every alternative having been tried."""
    made = policy(rules=rule_set)
    question = recipes.from_mapping({"rows": (), **parts}, DESCRIPTION, made).question
    verdict = rules.judge(question, DESCRIPTION, made)
    for offer in verdict.offers:
        tables = list(question.tables)
        tables[offer.table] = offer.spec
        again = rules.judge(dataclasses.replace(question, tables=tuple(tables)), DESCRIPTION, made)
        assert again.allowed, offer.words
    return [breach.rule for breach in verdict.breaches]


@pytest.mark.parametrize(
    ("rule_set", "whole", "slices"),
    [
        (
            {"blocked_levels": ["area:area"]},
            {"rows": "area,sex"},
            [
                {"rows": "sex", "where": {"area": "a1"}},
                {"rows": "sex", "where": {"area": "a1,a3"}},
                {"rows": "region", "where": {"area": "a1"}},
            ],
        ),
        (
            {"max_variables": "2"},
            {"rows": "area,age,sex"},
            [
                {"rows": "area,age", "where": {"sex": "F"}},
                {"where": {"sex": "F", "age": "0", "area": "a1"}},
            ],
        ),
        (
            {"at_most_one_of": [["area:area", "age"]]},
            {"rows": "area,age"},
            [{"rows": "area", "where": {"age": "65"}}, {"rows": "age", "where": {"area": "a1"}}],
        ),
        (
            {"least_population": "50"},
            {"rows": "area"},
            [{"rows": "sex", "where": {"area": "a3"}}, {"rows": "region", "where": {"area": "a3"}}],
        ),
        (
            {"max_cells_per_record": "0.01"},
            {"rows": "area,sex"},
            [
                {"rows": "area", "where": {"sex": "F"}},
                {"rows": "region,sex", "where": {"area": "a1"}},
            ],
        ),
    ],
)
def test_a_refused_table_is_refused_in_slices(rule_set, whole, slices):
    """Each slice names the rule that the whole table breaks."""
    (rule,) = rule_set
    assert broken(rule_set, **whole) == [rule]
    for parts in slices:
        assert broken(rule_set, **parts) == [rule], parts


def test_filters_by_what_the_table_may_show_pass():
    """A filter at a level that may be published is no breach."""
    assert broken({"blocked_levels": ["area:area"]}, rows="sex", where={"region": "north"}) == []
    assert broken({"max_variables": "2"}, rows="area,age", where={"area": "a1"}) == []


def test_groups_put_together_at_will_can_be_refused():
    """With `declared_groups` a filter names one category; what only narrows a table passes."""
    rule = {"declared_groups": True}
    assert broken(rule, rows="sex", where={"area": "a1,a3"}) == ["declared_groups"]
    assert broken(rule, rows="area", where={"area": "a1,a3"}) == ["declared_groups"]
    assert broken(rule, rows="region", where={"area": "a1,a3"}, totals=False) == ["declared_groups"]
    assert broken(rule, rows="area", where={"area": "a1,a3"}, totals=False) == []
    assert broken(rule, rows="sex", where={"area": "a1,a2"}) == []  # that is the region north
    assert broken({"declared_groups": False}, rows="sex", where={"area": "a1,a3"}) == []


@pytest.mark.slow
def test_splits_at_will_recover_a_cell_and_declared_groups_stop_it(tmp_path):
    """The attack the rule is for: 2^11 ways to part twelve months, each a fresh estimate for free."""
    lines = ["id,area,month"]
    lines += [f"{i},{'north' if i < 37 else 'south'},m{i * 7 % 12:02}" for i in range(400)]
    folder = make(tmp_path, "cell-key", lines)
    rng = np.random.default_rng(11)
    months = sorted({line.split(",")[2] for line in lines[1:]})
    splits = [rng.permutation(months)[: rng.integers(1, len(months))] for _ in range(120)]

    def estimates(data):
        for chosen in splits:
            rest = sorted(set(months) - set(chosen))
            parts = (ask(data, rows="area", where={"month": list(p)}) for p in (chosen, rest))
            yield sum(int(part.tables[0].values[0]) for part in parts)

    with DataSet.open(folder) as data:
        average = np.mean(list(estimates(data)))
    # What an attacker learns where nothing stops him: n = 120 sums of two perturbations of variance
    # ≤ 2, so the average has sd ≤ 0.19; 1.1 is 5.8 of them (false alarms below 1e-8).
    assert abs(average - 37) < 1.1
    change(folder, rules={"declared_groups": True})
    with DataSet.open(folder) as data, pytest.raises(Refusal) as refused:
        list(estimates(data))
    assert refused.value.rule == "declared_groups"
