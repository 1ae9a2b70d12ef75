"""A limit on what one question may spend holds for every kind of loss, converted only soundly."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.core.limits import Limits
from discreet.core.loss import ApproxLoss, Loss, PureLoss, ZcdpLoss
from discreet.errors import Refusal

ONE = Fraction(1)


@pytest.mark.parametrize(
    ("limits", "loss", "rho"),
    [
        (Limits(), ZcdpLoss(100), None),
        (Limits(epsilon=ONE), PureLoss(1), None),
        (Limits(epsilon=ONE), ApproxLoss(1, "1e-6"), Fraction(1, 50)),
        (Limits(rho=ONE), ZcdpLoss(1), None),
        (Limits(rho=Fraction(1, 2)), PureLoss(1), None),
        (Limits(rho=Fraction(1, 50)), ApproxLoss(1, "1e-6"), Fraction(1, 50)),
        (Limits(epsilon=ONE, rho=Fraction(1, 10)), ZcdpLoss("0.1"), None),
        (Limits(epsilon=ONE, rho=Fraction(1, 10)), PureLoss(1), None),
    ],
)
def test_what_is_within_passes(limits: Limits, loss: Loss, rho: Fraction | None) -> None:
    """At the limit exactly, in its own kind or by a sound conversion."""
    limits.check(loss, rho=rho)


@pytest.mark.parametrize(
    ("limits", "loss", "rho", "words"),
    [
        (Limits(epsilon=ONE), PureLoss("1.000001"), None, "epsilon up to 1 for one"),
        (Limits(epsilon=ONE), ZcdpLoss("1e-9"), None, "no rho is as strong"),
        (Limits(epsilon=ONE), ApproxLoss("1.1", "1e-6"), None, "epsilon up to 1 for one"),
        (Limits(rho=ONE), ZcdpLoss("1.000001"), None, "rho up to 1 for one"),
        (Limits(rho=Fraction(1, 2)), PureLoss("1.000001"), None, r"up to 1 \(rho 0.5\)"),
        (Limits(rho=Fraction(1, 3)), PureLoss("0.8165"), None, r"up to 0.816496 \(rho 1/3\)"),
        (Limits(rho=Fraction(1, 50)), ApproxLoss(1, "1e-6"), Fraction(1, 49), "rho up to 0.02"),
        (Limits(rho=ONE), ApproxLoss("0.1", "1e-6"), None, "cannot be held to"),
        (Limits(epsilon=ONE, rho=ONE), ApproxLoss(1, "1e-6"), Fraction(2), "rho up to 1"),
        (Limits(epsilon=ONE, rho=ONE), ZcdpLoss("1.1"), None, "rho up to 1"),
    ],
)
def test_what_is_above_is_refused(
    limits: Limits, loss: Loss, rho: Fraction | None, words: str
) -> None:
    """One clear sentence with the limit and what was got, and what to ask instead."""
    with pytest.raises(Refusal, match=words) as caught:
        limits.check(loss, rho=rho)
    assert caught.value.rule == "most-per-question"
    assert caught.value.alternatives
    with pytest.raises(Refusal):
        limits.check(loss, rho=rho, needed=True)
