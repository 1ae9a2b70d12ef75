"""The most one question may spend, in whatever kind of loss it is counted; for every method.

A policy writes `epsilon_most`, `rho_most` or both. A limit written in one kind is never silently
absent for another: a pure loss of ε is within ρ = ε²/2 and is held to `rho_most` where that is all
there is; a loss in ρ is no finite ε at δ = 0, so where only `epsilon_most` is written it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..errors import Refusal
from ..languages import number, say, together
from .exact import plain, rounded_down
from .loss import ApproxLoss, Loss, PureLoss, ZcdpLoss, largest_epsilon

MOST_PER_QUESTION = "most-per-question"


@dataclass(frozen=True)
class Limits:
    """What a policy allows one question; None: not written.

    >>> Limits(epsilon=Fraction(1)).check(PureLoss("1"))
    >>> Limits(epsilon=Fraction(1)).check(ZcdpLoss("0.001"))
    Traceback (most recent call last):
    discreet.errors.Refusal: The policy limits a question to epsilon 1 and no rho is as strong as \
that (its delta is never 0), got rho 0.001.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None

    def check(self, loss: Loss, *, rho: Fraction | None = None, needed: bool = False) -> None:
        """Refuse a loss above what is allowed.

        `rho`: what the noise behind an (ε, δ) loss costs in ρ, where that is known. `needed`: the
        loss was not asked for but found to be needed for an accuracy.
        """
        if self.epsilon is None and self.rho is None:
            return
        if isinstance(loss, ZcdpLoss):
            self._check_rho(loss.rho, needed)
        elif self.epsilon is not None:
            _above("epsilon", loss.epsilon, self.epsilon, needed)
        elif isinstance(loss, PureLoss) and self.rho is not None:
            most = largest_epsilon(ZcdpLoss(self.rho))
            if loss.epsilon**2 / 2 > self.rho:
                _above("epsilon", loss.epsilon, most, needed, f"(rho {plain(self.rho)})")
        if isinstance(loss, ApproxLoss) and self.rho is not None:
            if rho is not None:
                self._check_rho(rho, needed)
            elif self.epsilon is None:
                raise Refusal(
                    say(
                        "The policy limits a question to rho {rho}, which an epsilon with a delta "
                        "cannot be held to, got {loss}.",
                        rho=number(plain(self.rho)),
                        loss=loss,
                    ),
                    rule=MOST_PER_QUESTION,
                    alternatives=(
                        say("Ask with rho, or with epsilon and delta 0."),
                        say("The custodian may write epsilon_most into the policy."),
                    ),
                )

    def _check_rho(self, rho: Fraction, needed: bool) -> None:
        if self.rho is not None:
            _above("rho", rho, self.rho, needed)
        elif self.epsilon is not None:
            raise Refusal(
                say(
                    "The policy limits a question to epsilon {epsilon} and no rho is as strong as "
                    "that (its delta is never 0), got rho {rho}.",
                    epsilon=number(plain(self.epsilon)),
                    rho=number(plain(rho)),
                ),
                rule=MOST_PER_QUESTION,
                alternatives=(
                    say("Ask with epsilon {epsilon} or less.", epsilon=number(plain(self.epsilon))),
                    say("The custodian may write rho_most into the policy."),
                ),
            )


def _above(name: str, value: Fraction, most: Fraction, needed: bool, why: str = "") -> None:
    if value <= most:
        return
    shown = number(plain(most) if not why else rounded_down(most, 6))
    allowed = together(shown, why)
    if needed:
        text = say(
            "The accuracy asked for needs {name} {value}, the policy allows {allowed} for "
            "one question.",
            name=name,
            value=number(plain(value)),
            allowed=allowed,
        )
        instead = say("Ask with {name} {shown}, or for a coarser table.", name=name, shown=shown)
    else:
        text = say(
            "The policy allows {name} up to {allowed} for one question, got {value}.",
            name=name,
            allowed=allowed,
            value=number(plain(value)),
        )
        instead = say("Ask with {name} {shown} or less.", name=name, shown=shown)
    raise Refusal(text, rule=MOST_PER_QUESTION, alternatives=(instead,))
