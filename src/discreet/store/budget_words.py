"""What is said where a budget does not have enough left."""

from __future__ import annotations

from ..core.exact import plain, rounded_down
from ..core.loss import Loss, ZcdpLoss, in_words, largest_epsilon, zero
from ..errors import Alternative, BudgetExceeded
from ..languages import number, say, together
from .base import DATASET, Standing


def exceeded(dataset: str, standing: Standing, cost: Loss) -> BudgetExceeded:
    """The refusal of what a budget has not enough left for, with what would fit."""
    whose: str = dataset
    if standing.scope != DATASET:
        name = standing.scope.replace(":", " ")
        whose = say("{dataset} for {name}", dataset=dataset, name=name)
    facts = {
        "dataset": whose,
        "cap": in_words(standing.cap),
        "spent": in_words(standing.spent),
        "asked": in_words(cost),
        "left": in_words(standing.left, left=True),
    }
    best = largest_epsilon(standing.left)
    shown = plain(best) if len(plain(best)) <= 12 else rounded_down(best, 8)
    words = say("ask with epsilon at most {epsilon}", epsilon=number(shown))
    if isinstance(standing.left, ZcdpLoss):
        rho = in_words(standing.left, left=True).removeprefix("rho = ")
        words = say(
            "ask with rho at most {rho}, or epsilon at most {epsilon}",
            rho=number(rho),
            epsilon=number(shown),
        )
    offer = Alternative(words, {"epsilon": shown, "rho": None})
    told = say(
        "The budget of {dataset} is {cap}: spent {spent}, asked {asked}, left {left}.", **facts
    )
    if standing.held != zero(standing.held.kind):
        told = say(
            "The budget of {dataset} is {cap}: spent {spent}, held {held}, asked {asked}, left "
            "{left}.",
            held=in_words(standing.held),
            **facts,
        )
    most = say("The largest epsilon that fits is {epsilon}.", epsilon=number(shown))
    return BudgetExceeded(together(told, most), rule="budget", alternatives=[offer] if best else [])
