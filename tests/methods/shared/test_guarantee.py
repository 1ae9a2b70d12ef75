"""One wording of a differentially private promise."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.core.description import Description
from discreet.core.domain import variable
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss, ZcdpLoss
from discreet.core.plan_loss import Move
from discreet.core.pure_laplace import PureLaplace
from discreet.core.text import Text
from discreet.methods.shared.guarantee import Exposure, dp_guarantee, not_tiny

SEX = variable("sex", ["f", "m"])


def described(**facts) -> Description:
    return Description("made", Text.of("Made"), (SEX,), **facts)


def exposed(law=None, **facts) -> Exposure:
    move = Move(law or PureLaplace.of("1/2"))
    return Exposure((((move, 1),),), (((move, 2),),), **facts)


def test_a_pure_loss_is_exact_where_it_is_attained():
    """ε as it is, δ = 0; an approximate one is a bound, whatever is attained."""
    pure = dp_guarantee(PureLoss("1/2"), described(), 1, exposed(), exact=True)
    assert (pure.epsilon, pure.delta, pure.rho, pure.exact) == (Fraction(1, 2), 0, None, True)
    assert not dp_guarantee(PureLoss("1/2"), described(), 1, exposed(), exact=False).exact
    near = dp_guarantee(ApproxLoss("1/2", "1e-6"), described(), 1, exposed(), exact=True)
    assert (near.delta, near.exact) == (Fraction(1, 10**6), False)


def test_a_concentrated_loss_says_its_epsilon_too():
    """ρ is the promise; what this plan keeps in ε at a δ is said beside it, in one sentence."""
    law = DiscreteGaussian.of(5)
    loss = ZcdpLoss("1/10")
    made = dp_guarantee(loss, described(), 3, exposed(law), exact=True, caveats=["First."])
    assert (made.epsilon, made.delta, made.rho) == (None, None, Fraction(1, 10))
    assert made.caveats[0] == "First."
    assert "ρ = 0.1, so ε ≤ 2.009 with δ = 0.000001 (" in made.sentence()
    assert made.scope == "these 3 tables together"
    assert "except in 1 of every 1,000,000 releases, where it may become surer" in made.odds[1]


def test_unit_and_invariants_come_from_the_description():
    """Records per unit and a declared number of records are part of the promise."""
    facts = described(unit="household", records_per_unit=4, records=1200)
    known = ["the margin sex"]
    made = dp_guarantee(PureLoss(1), facts, 1, exposed(), exact=True, invariants=known)
    assert made.unit == "household (up to 4 records)"
    assert made.neighbours == "replace one"
    assert made.invariants == ("the number of records, 1,200", "the margin sex")
    assert [words.partition(":")[0] for words in made.odds] == [
        "Which category all records of one household are in"
    ]


def test_no_odds_of_what_is_published():
    """A public number of records: nobody comes or goes. A published variable: no guess about it."""
    some = exposed(published=("sex",), number_is_public=True)
    (said,) = dp_guarantee(PureLoss(1), described(), 1, some, exact=True).odds
    assert said.startswith("Which category you are in (of a variable other than sex): at best")
    none = Exposure(some.neighbours, (), ("sex",), number_is_public=True)
    assert dp_guarantee(PureLoss(1), described(), 1, none, exact=True).odds == ()


@pytest.mark.parametrize("loss", [PureLoss("1/2"), ApproxLoss("1/2", "0.00001"), ZcdpLoss("1/8")])
def test_a_guarantee_is_read_back_whole(loss):
    """What is stored says all of it again; one stored before it knew a composition is read too."""
    law = DiscreteGaussian.of(4) if isinstance(loss, ZcdpLoss) else PureLaplace.of("1/4")
    ways = (((Move(law), 2),),)
    made = dp_guarantee(loss, described(), 1, Exposure(ways, ways), exact=True)
    stored = made.to_json()
    assert Guarantee.from_json(stored) == made
    del stored["composition"]
    assert Guarantee.from_json(stored).composition == ()


def test_a_secret_sample_is_told_and_not_charged():
    """ln(1 + q(e^ε − 1)) = 0.1586 at ε = 1, q = 0.1; none where records are replaced."""
    drawn = described(sample_rate=Fraction(1, 10))
    made = dp_guarantee(PureLoss(1), drawn, 1, exposed(), exact=True)
    assert made.epsilon == 1
    (said,) = [words for words in made.caveats if "of the population" in words]
    assert said.startswith(
        "If each person of the population came into the data by a draw of its own with probability "
        "0.1, and who was drawn stays secret, then for a person of the population this release "
        "keeps ε ≤ 0.1586."
    )
    near = dp_guarantee(ApproxLoss(1, "0.0001"), drawn, 1, exposed(), exact=True)
    assert any("ε ≤ 0.1586, δ ≤ 0.00001." in words for words in near.caveats)
    fixed = described(sample_rate=Fraction(1, 10), records=100)
    (said,) = [
        words
        for words in dp_guarantee(PureLoss(1), fixed, 1, exposed(), exact=True).caveats
        if "sample" in words
    ]
    assert "no further protection that can be counted here" in said


def test_a_delta_that_is_not_tiny_is_warned_of():
    """Above 0.000001, or not below one in all records where their number is public."""
    assert not_tiny(Fraction(1, 10**6), described(), "Do.") == []
    (usual,) = not_tiny(Fraction(2, 10**6), described(), "Do.")
    assert usual == "delta is 2e-6; 0.000001 or less is usual. Do."
    (large,) = not_tiny(Fraction(1, 10**6), described(records=10**6), "Do.")
    assert "not below 1 in 1,000,000 records" in large
