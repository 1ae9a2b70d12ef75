"""Recipes are understood as people write them and have one canonical form."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import recipe as recipes
from discreet.core.domain import AxisRef, Condition
from discreet.errors import RecipeError

from ..facts import people, policy

FACTS = people(), policy()


def made_of(**parts):
    return recipes.from_mapping({"rows": (), **parts}, *FACTS)


def question(**parts):
    return made_of(**parts).question


def test_order_side_and_layout_do_not_change_the_hash():
    """The hash is the same for every way to lay out one table."""
    hashes = set()
    for order in itertools.permutations(["area", "age", "sex"]):
        for cut in range(4):
            asked = question(rows=order[:cut], columns=order[cut:], epsilon="0.5")
            hashes.add(asked.hash(data_version="1", policy_version="1"))
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"rows": "region"}, {"rows": "area:region"}),
        ({"rows": "REGION"}, {"rows": "reg"}),
        ({"rows": "sex", "where": {"age": "65"}}, {"rows": "sex", "where": {"age": "65 and over"}}),
        ({"rows": "sex", "where": {"age": ["0", "65"]}}, {"rows": "sex", "where": {"age": "65,0"}}),
        (
            {"rows": "sex", "where": {"area": "a1,a2"}},
            {"rows": "sex", "where": {"region": "north"}},
        ),
        ({"rows": "sex", "where": {"sex": "F,M"}}, {"rows": "sex"}),
        ({"rows": "sex", "epsilon": "0.5"}, {"rows": "sex", "epsilon": "1/2"}),
        ({"rows": "sex", "epsilon": "0.10"}, {"rows": "sex", "epsilon": "1e-1"}),
    ],
)
def test_aliases_have_one_hash(one, other):
    """Labels, codes, prefixes, levels and spellings of a number mean the same question."""
    assert question(**one).hash() == question(**other).hash()


def test_what_changes_a_number_changes_the_hash():
    """ε, method, level, filter, totals, data and policy version are all in the hash."""
    asked = question(rows="region", epsilon="0.5")
    others = [
        question(rows="region", epsilon="0.6"),
        question(rows="area", epsilon="0.5"),
        question(rows="region", epsilon="0.5", where={"sex": "F"}),
        question(rows="region", epsilon="0.5", totals=False),
        question(rows="region", epsilon="0.5", method="marginals"),
    ]
    hashes = {q.hash() for q in (asked, *others)}
    hashes |= {asked.hash(data_version="2"), asked.hash(policy_version="2")}
    assert len(hashes) == 8


@given(st.permutations(["a1", "a2", "a3", "a4", "a5", "a6"]), st.integers(1, 6))
def test_conditions_are_canonical(codes, many):
    """A filter is said at the coarsest level that can say it, whatever it was written as."""
    asked = question(rows="sex", where={"area": codes[:many]})
    chosen = set(codes[:many])
    if many == 6:
        assert asked.tables[0].where == ()
    elif chosen == {"a1", "a2"}:
        assert asked.tables[0].where == (Condition("area", "region", ("north",)),)
    elif chosen == {"a3", "a4", "a5", "a6"}:
        assert asked.tables[0].where == (Condition("area", "region", ("south",)),)
    else:
        assert asked.tables[0].where == (Condition("area", "area", tuple(sorted(chosen))),)


def test_query_string_reads_back():
    """The short form of a recipe is the same recipe."""
    made = made_of(
        rows="region", columns="age", where={"sex": "F", "area": "a1,a3"}, epsilon="0.25"
    )
    again = recipes.from_query(recipes.to_query(made), *FACTS)
    assert again.question == made.question
    assert again.layouts == made.layouts


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"rows": "regoin"}, "Did you mean region?"),
        ({"rows": "mean(age)"}, "counts only"),
        ({"rows": "sum of ages"}, "counts only"),
        ({"rows": "a"}, "could mean"),
        ({"rows": "area", "columns": "region"}, "used twice"),
        ({"rows": "sex", "where": {"age": "66"}}, "is no category of age"),
        ({"rows": "sex", "epsilon": "0"}, "epsilon must be > 0"),
        ({"rows": "sex", "epsilon": "nan"}, "epsilon must be a number"),
        ({"rows": "sex", "epsilon": "1e400"}, "epsilon must be > 0 and ≤ 100"),
        ({"rows": "sex", "epsilon": 0.1}, 'epsilon="0.1"'),
        ({"rows": "sex", "totals": "some"}, "totals must be all or none"),
        ({"rows": "sex", "weighted": True}, "no weights"),
        ({"rows": "sex", "where": {"area": "a1", "region": "south"}}, "lets nothing pass"),
    ],
)
def test_bad_recipes_get_one_sentence(parts, words):
    """What is wrong, what was got, what to do next."""
    with pytest.raises(RecipeError) as caught:
        question(**parts)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({"row": ["sex"]}, "Did you mean rows"),
        ({"rows": ["sex"], "mean": "age"}, "counts only"),
        ({"tables": []}, "at least one table"),
        ({"rows": ["sex"], "tables": [{"rows": ["age"]}]}, "has both"),
        ({"tables": [{"rows": ["sex"], "share": "0.5"}, {"rows": ["age"]}]}, "Give one to each"),
        (
            {"tables": [{"rows": ["sex"], "share": "0.5"}, {"rows": ["age"], "share": "0.4"}]},
            "add up to 0.9",
        ),
        ({"dataset": "other", "rows": ["sex"]}, "is for 'other'"),
        ({"rows": [["sex"]]}, "list of variable names"),
    ],
)
def test_bad_mappings_get_one_sentence(mapping, words):
    """Typos, contradictions and shares that do not add up are named."""
    with pytest.raises(RecipeError) as caught:
        recipes.from_mapping(mapping, *FACTS)
    assert words in str(caught.value)


def test_a_variable_alone_means_its_finest_level():
    """`area` is the finest level, `region` the coarser one."""
    assert recipes.find_axis(FACTS[0], "area") == AxisRef("area", "area")
    assert recipes.find_axis(FACTS[0], "region") == AxisRef("area", "region")


def test_percent_is_layout():
    """It changes no question, reads back from the short form, and takes the words people use."""
    plain = made_of(rows="sex", columns="age")
    asked = made_of(rows="sex", columns="age", percent="row")
    assert asked.question.hash() == plain.question.hash()
    assert asked.layouts[0].percent == "rows"
    assert recipes.from_query(recipes.to_query(asked), *FACTS).layouts == asked.layouts
    assert made_of(rows="sex", percent="total").layouts[0].percent == "all"
    assert made_of(rows="sex", percent="none").layouts[0].percent == ""


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"rows": "sex", "percent": "mean"}, "rows, columns, layers, all or none, got 'mean'"),
        ({"rows": "sex", "percent": "all", "totals": "none"}, "Ask for totals: all"),
        ({"rows": "sex", "percent": "rows"}, "needs variables in columns"),
        ({"columns": "sex", "percent": "columns"}, "needs variables in rows"),
        ({"percent": "all"}, "a grand total has no parts"),
    ],
)
def test_percent_that_makes_no_sense_is_said(parts, words):
    """One sentence, with what would work."""
    with pytest.raises(RecipeError, match=words):
        made_of(**parts)


def test_an_empty_name_in_a_list_is_a_slip_not_a_grand_total():
    """It would cost a grand total; an empty field of a form names nothing."""
    with pytest.raises(RecipeError, match="rows has an empty name"):
        made_of(rows=[""])
    assert made_of(rows="sex", columns="").layouts[0].columns == ()
