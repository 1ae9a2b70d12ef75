"""What methods that measure a whole question under one ε or ρ read alike from policy and question."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any

from ...core.charge import Charge
from ...core.description import Description
from ...core.exact import plain
from ...core.limits import Limits
from ...core.question import Question
from ...errors import InputError, RecipeError
from ...languages import Number, say
from ..declaration import Declaration, Fails
from .drawn_noise import QuestionLoss

_BUDGETS = ("epsilon", "rho")


def asked_of_policy(
    declaration: Declaration,
    policy: Mapping[str, Any],
    question: Question,
    mode: str,
    only: Collection[str],
) -> dict[str, str]:
    """What is asked before what the policy says; settings of `mode` only where it is that mode."""
    asked = dict(question.settings)
    if question.resolved:
        asked.pop("published", None)  # its digest: the policy has the numbers
        return asked
    written = declaration.read_policy(policy, InputError)
    own = any(name in asked for name in _BUDGETS)
    base = {name: said for name, said in written.items() if not (own and name in _BUDGETS)}
    if asked.get("mode", base.get("mode", "modern")) != mode:
        base = {name: said for name, said in base.items() if name not in only}
    return {**base, **asked}


def check_mode(said: Mapping[str, str], mode: str, only: Collection[str], fails: Fails) -> None:
    """Refuse settings of one mode in another."""
    for name in only:
        if name in said and said.get("mode", "modern") != mode:
            raise fails(
                say(
                    "{name} is for mode {mode} only. Set mode: {mode}, or leave it out.",
                    name=name,
                    mode=mode,
                )
            )


def number(said: Mapping[str, str], name: str) -> Fraction | None:
    """A setting as an exact number; None where it is not said."""
    return Fraction(said[name]) if name in said else None


def budgets(said: Mapping[str, str], fails: Fails) -> tuple[Fraction | None, Fraction | None]:
    """ε and ρ, of which a question has one."""
    epsilon, rho = number(said, "epsilon"), number(said, "rho")
    if epsilon is not None and rho is not None:
        raise fails(
            say(
                "A question has epsilon or rho, got both ({epsilon} and {rho}). Leave one out.",
                epsilon=Number(plain(epsilon)),
                rho=Number(plain(rho)),
            )
        )
    return epsilon, rho


def check_budget(
    settings: QuestionLoss, epsilon_most: Fraction | None, rho_most: Fraction | None
) -> None:
    """Refuse a question that says no ε and no ρ, or more than the policy lets one question cost."""
    if settings.epsilon is None and settings.rho is None:
        raise RecipeError(
            say(
                "This question has no epsilon and no rho. Set epsilon: 1, say; it pays for all "
                "its tables together."
            )
        )
    Limits(epsilon_most, rho_most).check(settings.loss)


def whole_charge(
    method: str,
    settings: QuestionLoss,
    facts: Mapping[str, str],
    measured: int,
    description: Description,
    digest: str,
) -> Charge:
    """A whole plan of so many measured tables as one charge; `facts` say how it was made."""
    each = description.neighbours.moved * description.records_per_unit
    return Charge(
        method,
        {
            ("epsilon" if settings.rho is None else "rho"): plain(settings.amount),
            **facts,
            "tables measured": str(measured),
            "records_per_unit": str(description.records_per_unit),
        },
        cells=max(1, measured * each),
        neighbours=description.neighbours,
        question=digest,
        loss=settings.loss,
    )
