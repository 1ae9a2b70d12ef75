"""The promise of a plan under differential privacy, in the words every such method uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ...core.brackets import ceiling_to, exp_bracket, ln_bracket
from ...core.description import Description
from ...core.exact import plain, rounded_up
from ...core.guarantee import SAID_DELTA, Guarantee, Kind
from ...core.loss import ApproxLoss, Loss, PureLoss, ZcdpLoss
from ...core.neighbours import Neighbours
from ...core.odds import odds_of_plan
from ...core.plan_loss import FixedPlan, Moves

_MORE = "Everything else published about the same people adds to it; the ledger keeps the sum."
_USUAL_DELTA = Fraction(1, 10**6)
_SHOWN = 4
Point = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Exposure:
    """What one unit moves under a plan: the ways of which none is surpassed by another.

    `neighbours`: by being there or not, or by being replaced. `category`: by being in another
    category, of any variable but those that are `published`.
    """

    neighbours: tuple[Moves, ...]
    category: tuple[Moves, ...]
    published: tuple[str, ...] = ()
    number_is_public: bool = False
    """Whether the number of records is known from elsewhere: nobody then comes or goes."""


def dp_guarantee(
    loss: Loss,
    description: Description,
    tables: int,
    exposure: Exposure,
    *,
    exact: bool,
    neighbours: Neighbours | None = None,
    invariants: Sequence[str] = (),
    caveats: Sequence[str] = (),
) -> Guarantee:
    """What a loss promises for so many tables together.

    `exact`: some pair of neighbours attains it. A declared number of records is an invariant
    besides those given; what a method has to say goes before the common caveats.
    """
    most = description.records_per_unit
    alike = neighbours or description.neighbours
    known = (
        () if description.records is None else (f"the number of records, {description.records:,}",)
    )
    composition = _composition(loss, exposure.neighbours)
    spent: dict[str, Any]
    if isinstance(loss, ZcdpLoss):
        spent = {"rho": loss.rho}
        kept = composition[0]
    else:
        kept = loss.epsilon, loss.delta if isinstance(loss, ApproxLoss) else Fraction(0)
        spent = {"epsilon": kept[0], "delta": kept[1]}
        exact = exact and isinstance(loss, PureLoss)
    return Guarantee(
        kind=Kind.DP,
        unit=description.unit if most == 1 else f"{description.unit} (up to {most} records)",
        neighbours=alike.words,
        exact=exact,
        scope="this table" if tables == 1 else f"these {tables} tables together",
        invariants=(*known, *invariants),
        notices=description.counted,
        caveats=(
            *caveats,
            *_given(description),
            _MORE,
            *_of_a_sample(kept, description, alike),
        ),
        odds=_odds(exposure, description.unit, most, alike),
        composition=composition,
        **spent,
    )


def _given(description: Description) -> tuple[str, ...]:
    """What a published margin takes away from the promise."""
    if not description.published:
        return ()
    return (
        "Published margins fix the number of records, so the promise is for one "
        f"{description.protects} replaced by another; nothing is claimed that takes the margins "
        "as given.",
    )


def not_tiny(delta: Fraction, description: Description, remedy: str) -> list[str]:
    """A warning where δ is not tiny: not below one in all records, or above 0.000001."""
    records = description.records
    if records is not None and delta * records >= 1:
        return [
            f"delta is {rounded_up(delta, 3)}, not below 1 in {records:,} records: as many as one "
            f"of them may go unprotected. {remedy}"
        ]
    if delta > _USUAL_DELTA:
        return [f"delta is {rounded_up(delta, 3)}; 0.000001 or less is usual. {remedy}"]
    return []


@lru_cache(maxsize=256)
def _odds(exposure: Exposure, unit: str, records: int, alike: Neighbours) -> tuple[str, ...]:
    found = []
    if alike is Neighbours.ADD_REMOVE and not exposure.number_is_public:
        chances = odds_of_plan(exposure.neighbours)
        found += [chances.out_of_100(unit), chances.guess_meter("0.1", unit)]
    if exposure.category:
        chances = odds_of_plan(exposure.category)
        found.append(chances.of_category("0.1", unit, records, exposure.published))
    return tuple(found)


@lru_cache(maxsize=256)
def _composition(loss: Loss, plans: tuple[Moves, ...]) -> tuple[Point, ...]:
    """The (ε, δ) that a plan keeps when its draws are counted as one, where less than the loss."""
    if isinstance(loss, ZcdpLoss):
        most = _shown(loss.to_approximate(SAID_DELTA).epsilon)
        return ((_least_epsilon(plans, SAID_DELTA, most), SAID_DELTA),)
    if isinstance(loss, PureLoss):
        point = _least_epsilon(plans, SAID_DELTA, loss.epsilon), SAID_DELTA
        return (point,) if point[0] < loss.epsilon else ()
    found = []
    if (epsilon := _least_epsilon(plans, loss.delta, loss.epsilon)) < loss.epsilon:
        found.append((epsilon, loss.delta))
    delta = max(FixedPlan(moves).delta(loss.epsilon) for moves in plans)
    if _shown(delta) < loss.delta:
        found.append((loss.epsilon, _shown(delta)))
    return tuple(found)


def _least_epsilon(plans: Sequence[Moves], delta: Fraction, most: Fraction) -> Fraction:
    found = [FixedPlan(moves).epsilon(delta) for moves in plans]
    shown = _shown(max(most if one is None else one for one in found))
    return shown if shown < most else most


def _shown(number: Fraction) -> Fraction:
    return Fraction(rounded_up(number, _SHOWN))


def _of_a_sample(kept: Point, description: Description, alike: Neighbours) -> tuple[str, ...]:
    """What a secret random sample adds to the promise, with what it supposes; never charged.

    A unit of the population, drawn with probability q by a draw of its own, costs
    ln(1 + q(e^ε − 1)) and qδ (Balle, Barthe and Gaboardi 2018, Theorem 8: Poisson sampling, add or
    remove one). It does not hold for a replaced unit, so not where the number of records is public.
    """
    rate = description.sample_rate
    if rate is None:
        return ()
    unit = description.unit
    if alike is not Neighbours.ADD_REMOVE:
        return (
            f"That the data are a sample of {plain(rate)} of all is no further protection that can "
            "be counted here: the number of records is public.",
        )
    epsilon, delta = kept
    less = ceiling_to(ln_bracket(1 + rate * (exp_bracket(epsilon)[1] - 1))[1], 12)
    also = f", δ ≤ {rounded_up(rate * delta, _SHOWN)}" if delta else ""
    return (
        f"If each {unit} of the population came into the data by a draw of its own with "
        f"probability {plain(rate)}, and who was drawn stays secret, then for a {unit} of the "
        f"population this release keeps ε ≤ {rounded_up(less, _SHOWN)}{also}. Such figures of "
        "several releases from one sample do not add up, and nothing less is charged.",
    )
