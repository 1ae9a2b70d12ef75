"""What would happen to a question, as plain values: standing, price, error, other accuracies.

The same on the command line, in Python and over HTTP, from public facts and the ledger only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .core.exact import plain, rounded_down
from .core.loss import Loss, ZcdpLoss, largest_epsilon, loss_to_json
from .errors import Refusal
from .methods.base import ExpectedError
from .methods.declaration import LOSS_LIMITS, Spends

if TYPE_CHECKING:
    from .release import Asked

LADDER = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""Multiples of what a question spends that are shown beside it."""


class Standing(StrEnum):
    """Where a question stands before it is released."""

    ANSWERED = "answered"
    """It was charged before: asking again costs nothing."""
    FREE = "free"
    """Its method spends nothing."""
    AFFORDABLE = "affordable"
    """It would be charged, and the budget has enough left."""
    REFUSED = "refused"
    """A rule or the budget says no."""


@dataclass(frozen=True)
class Rung:
    """The same question at another accuracy; error figures are one for each of its tables."""

    setting: str
    value: str
    cost: str
    standing: Standing
    affordable: bool
    """Whether it could be had now, for this price or for nothing."""
    noise_sd: tuple[float, ...]
    half_width: tuple[int, ...]
    within_95: int
    """95 % of the cells are within ± this, in the table where it is largest."""
    share_unchanged: tuple[float | None, ...]
    figures: Mapping[str, str]
    """The price as figures."""


def ladder(asked: Asked) -> tuple[Rung, ...]:
    """The same question at other accuracies; empty where accuracy cannot be bought."""
    said = asked.plan.question.settings
    name = next((s.name for s in asked.declaration.settings if s.amount and s.name in said), "")
    if asked.declaration.spends is not Spends.LOSS or not name:
        return ()
    rungs = []
    for factor in LADDER:
        value = plain(Fraction(said[name]) * factor)
        question = replace(asked.recipe.question, settings={**said, name: value})
        other = type(asked)(
            asked.data, replace(asked.recipe, question=question), asked.payer, without=asked.without
        )
        try:
            rungs.append(_rung(other, name, value))
        except Refusal:
            continue  # more than the policy allows for one question
    return tuple(rungs)


def _rung(other: Asked, name: str, value: str) -> Rung:
    plan, standing = other.plan, other.standing
    widths = tuple(error.half_width for error in plan.errors)
    charge = plan.charge
    return Rung(
        name,
        value,
        "" if charge is None else charge.in_words(),
        standing,
        standing is not Standing.REFUSED,
        tuple(error.noise_sd for error in plan.errors),
        widths,
        max(widths, default=0),
        tuple(error.share_unchanged for error in plan.errors),
        figures(None if charge is None else charge.loss) or {},
    )


def figures(loss: Loss | None) -> dict[str, str] | None:
    """A loss as exact figures by name; None where there is none."""
    return None if loss is None else loss_to_json(loss)


def largest(asked: Asked) -> str | None:
    """The largest ε this asker could still spend on one question; None where no ε is spent.

    The least of what the budget and its shares have left and of what the policy allows at once,
    rounded down.
    """
    if asked.declaration.spends is not Spends.LOSS:
        return None
    left = asked.data.ledger().left(**vars(asked.payer))
    if left is None:
        return None
    written = asked.data.policy.parameters(asked.declaration.name)
    epsilon_most, rho_most = (written.get(limit.name) for limit in LOSS_LIMITS)
    most = [largest_epsilon(left)]
    if epsilon_most is not None:
        most.append(Fraction(str(epsilon_most)))
    elif rho_most is not None:
        most.append(largest_epsilon(ZcdpLoss(str(rho_most))))
    shown = plain(min(most))
    return shown if len(shown) <= 12 else rounded_down(min(most), 6)


def to_json(asked: Asked, *, look_back: bool = True) -> dict[str, Any]:
    """What would happen, as plain values: the same on the command line and over HTTP.

    With `look_back`, the whole ledger is read for the same question on other data.
    """
    plan, charge = asked.plan, asked.plan.charge
    spends_loss = asked.declaration.spends is Spends.LOSS
    left = asked.data.ledger().left(**vars(asked.payer)) if spends_loss else None
    return {
        "standing": str(asked.standing),
        "allowed": asked.verdict.allowed,
        "affordable": asked.affordable,
        "breaches": [asdict(breach) for breach in asked.verdict.breaches],
        "alternatives": list(asked.verdict.alternatives),
        "cells": asked.verdict.cells,
        "method": plan.method,
        "settings": {
            setting.name: plan.question.settings[setting.name]
            for setting in asked.declaration.asked()
            if setting.name in plan.question.settings
        },
        "treatment": dict(plan.treatment),
        "cost": None if charge is None else str(charge),
        "answered_before": asked.answered,
        "follows_from": asked.follows_from,
        "left": asked.left,
        "largest_epsilon": largest(asked),
        "figures": {
            "cost": figures(None if charge is None else charge.loss),
            "left": figures(left),
        },
        "guarantee": plan.guarantee.to_json(),
        "errors": [error_to_json(error) for error in plan.errors],
        "plans": [dict(other) for other in plan.alternatives],
        "warnings": list(asked.warnings if look_back else plan.warnings),
    }


def error_to_json(error: ExpectedError) -> dict[str, Any]:
    """The error to expect in one table; totals by the levels they keep, '' the grand total."""
    return {
        "axes": [str(ref) for ref in error.table.axes],
        "cells": error.cells,
        "noise_sd": error.noise_sd,
        "within_95": error.half_width,
        "totals_sd": dict(error.totals_sd),
        "totals_within_95": dict(error.totals_half_width),
        "share_unchanged": error.share_unchanged,
        "note": error.note,
    }
