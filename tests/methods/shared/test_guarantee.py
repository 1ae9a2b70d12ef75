"""One wording of a differentially private promise."""

from __future__ import annotations

from fractions import Fraction

from discreet.core.description import Description
from discreet.core.domain import Text, variable
from discreet.core.loss import ApproxLoss, PureLoss, ZcdpLoss
from discreet.methods.shared.guarantee import dp_guarantee

SEX = variable("sex", ["f", "m"])


def described(**facts) -> Description:
    return Description("made", Text.of("Made"), (SEX,), **facts)


def test_a_pure_loss_is_exact_where_it_is_attained():
    """ε as it is, δ = 0; an approximate one is a bound, whatever is attained."""
    pure = dp_guarantee(PureLoss("1/2"), described(), 1, exact=True)
    assert (pure.epsilon, pure.delta, pure.rho, pure.exact) == (Fraction(1, 2), 0, None, True)
    assert not dp_guarantee(PureLoss("1/2"), described(), 1, exact=False).exact
    near = dp_guarantee(ApproxLoss("1/2", "1e-6"), described(), 1, exact=True)
    assert (near.delta, near.exact) == (Fraction(1, 10**6), False)


def test_a_concentrated_loss_says_its_epsilon_too():
    """ρ is the promise; what it keeps in ε at a δ is said beside it, last."""
    made = dp_guarantee(ZcdpLoss("1/10"), described(), 3, exact=True, caveats=["First."])
    assert (made.epsilon, made.delta, made.rho) == (None, None, Fraction(1, 10))
    assert made.caveats[0] == "First."
    assert "ε" in made.caveats[-1]
    assert made.scope == "these 3 tables together"
    assert made.odds


def test_unit_and_invariants_come_from_the_description():
    """Records per unit and a declared number of records are part of the promise."""
    facts = described(unit="household", records_per_unit=4, records=1200)
    made = dp_guarantee(PureLoss(1), facts, 1, exact=True, invariants=["the margin sex"])
    assert made.unit == "household (up to 4 records)"
    assert made.neighbours == "replace one"
    assert made.invariants == ("the number of records, 1,200", "the margin sex")
