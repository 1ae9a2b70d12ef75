"""The promise of a plan under differential privacy, in the words every such method uses."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ...core.description import Description
from ...core.guarantee import Guarantee, Kind, rho_in_words
from ...core.loss import ApproxLoss, Loss, PureLoss, ZcdpLoss
from ...core.neighbours import Neighbours
from ...core.odds import promise_in_words

_MORE = "Everything else published about the same people adds to it; the ledger keeps the sum."


def dp_guarantee(
    loss: Loss,
    description: Description,
    tables: int,
    *,
    exact: bool,
    invariants: Sequence[str] = (),
    caveats: Sequence[str] = (),
) -> Guarantee:
    """What a loss promises for so many tables together.

    `exact`: some pair of neighbours attains it. A declared number of records is an invariant
    besides those given; what a method has to say goes before the common caveats.
    """
    most = description.records_per_unit
    added = description.neighbours is Neighbours.ADD_REMOVE
    known = (
        () if description.records is None else (f"the number of records, {description.records:,}",)
    )
    said: tuple[str, ...] = (*caveats, _MORE)
    if isinstance(loss, ZcdpLoss):
        words, like = rho_in_words(loss)
        spent, said, odds = {"rho": loss.rho}, (*said, words), (like.epsilon, like.delta)
    else:
        delta = loss.delta if isinstance(loss, ApproxLoss) else Fraction(0)
        spent, odds = {"epsilon": loss.epsilon, "delta": delta}, (loss.epsilon, delta)
        exact = exact and isinstance(loss, PureLoss)
    return Guarantee(
        kind=Kind.DP,
        unit=description.unit if most == 1 else f"{description.unit} (up to {most} records)",
        neighbours=description.neighbours.words,
        exact=exact,
        scope="this table" if tables == 1 else f"these {tables} tables together",
        invariants=(*known, *invariants),
        caveats=said,
        odds=promise_in_words(*odds, description.unit, add_remove=added),
        **spent,
    )
