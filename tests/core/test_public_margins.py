"""A margin that a policy publishes fixes the number of records, for every method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from discreet.core.description import Description, Policy
from discreet.core.domain import variable
from discreet.core.family import Family
from discreet.core.loss import PureLoss
from discreet.core.neighbours import Neighbours
from discreet.core.public_margins import under
from discreet.core.text import Text
from discreet.methods import registry
from discreet.methods.base import Facts, Plan
from discreet.recipe import from_mapping

PUBLISHED = {"sex × area": {"f": {"a": 100, "b": 200}, "m": {"a": 300, "b": "150"}}}
ASKED: dict[str, dict[str, Any]] = {
    "noise": {"rows": ["job"], "columns": ["sex"], "epsilon": "1"},
    "marginals": {"tables": [{"rows": ["job", "sex"]}, {"rows": ["job", "area"]}], "epsilon": "1"},
}


def people(**changes: Any) -> Description:
    variables = (
        variable("sex", ["f", "m"]),
        variable("area", ["a", "b"]),
        variable("job", ["x", "y", "z"]),
    )
    return Description(**({"name": "p", "title": Text.of("P"), "variables": variables} | changes))


def policy(published: Any) -> Policy:
    marginals = {} if published is None else {"published": published}
    return Policy(Family.DP, "noise", {"marginals": marginals}, budget=PureLoss(10))


def plan(method: str, description: Description, published: Any = None) -> Plan:
    made = policy(published)
    recipe = from_mapping({**ASKED[method], "method": method}, description, made)
    facts = Facts(description, made, "v", "p")
    return registry.get(method).plan(recipe.question, recipe.treatment, facts)


@pytest.mark.parametrize("method", ASKED)
def test_neighbours_noise_and_charge_are_those_of_a_declared_number(method: str) -> None:
    """Replace one; the noise of the same question with `records` declared; and twice the rate is
    charged to no one: the loss is the ε that was asked for, stated for these neighbours."""
    private = plan(method, people())
    public, declared = plan(method, people(), PUBLISHED), plan(method, people(records=750))
    assert private.guarantee.neighbours == Neighbours.ADD_REMOVE.words
    assert public.guarantee.neighbours == Neighbours.REPLACE_ONE.words
    assert public.charge is not None
    assert public.charge.neighbours is Neighbours.REPLACE_ONE
    assert public.charge.loss == PureLoss(1)
    assert "the number of records, 750" in public.guarantee.sentence()
    if method == "noise":  # marginals measures less where a margin is known
        sds = [[error.noise_sd for error in one.errors] for one in (public, declared, private)]
        assert sds[0] == sds[1]
        assert sds[0][0] > sds[2][0]


@pytest.mark.parametrize("method", ASKED)
def test_the_question_is_another_than_without_it(method: str) -> None:
    """An answer under *add or remove one* is never taken for one under *replace one*."""
    hashes = {plan(method, people(), given).question_hash for given in (None, PUBLISHED)}
    assert len(hashes) == 2


@pytest.mark.parametrize("method", ASKED)
def test_no_odds_are_given_of_what_is_published(method: str) -> None:
    """Not of being in the data, and of a category only apart from the published variables."""
    made = plan(method, people(), PUBLISHED).guarantee
    assert not any("in the data" in words for words in made.odds)
    assert all("other than" in words and "sex" in words for words in made.odds)
    assert any("takes the margins as given" in words for words in made.caveats)


def test_none_at_all_where_every_variable_asked_for_is_published() -> None:
    """Noise on a published margin: nothing is said of how sure a guess becomes."""
    made = policy(PUBLISHED)
    asked = {"rows": ["sex"], "method": "noise", "epsilon": "1"}
    recipe = from_mapping(asked, people(), made)
    facts = Facts(people(), made, "v", "p")
    found = registry.get("noise").plan(recipe.question, recipe.treatment, facts)
    assert found.guarantee.odds == ()


def test_what_cannot_be_read_is_no_fact() -> None:
    """A broken margin is refused where it is used; a declared number is never put aside."""
    for broken in ({"sex": {"f": "x", "m": 1}}, {"nothing": {"f": 1}}, ["sex"], {"sex": {"f": -1}}):
        assert under(policy(broken), people()).neighbours is Neighbours.ADD_REMOVE
    known = under(policy(PUBLISHED), people(records=7))
    assert known == replace(people(records=7), published=("area", "sex"))
    assert under(policy(PUBLISHED), known) is known
    assert under(policy(None), people()) == people()
