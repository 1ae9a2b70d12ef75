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
from ...core.guarantee import SAID_DELTA, Guarantee, Kind, unit_words
from ...core.loss import ApproxLoss, Loss, PureLoss, ZcdpLoss
from ...core.neighbours import Neighbours
from ...core.odds import odds_of_plan
from ...core.plan_loss import FixedPlan, Moves
from ...languages import number, say, together

_MORE = say("Everything else published about the same people adds to it; the ledger keeps the sum.")
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
        ()
        if description.records is None
        else (say("the number of records, {records}", records=description.records),)
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
        unit=description.unit
        if most == 1
        else say("{unit} (up to {most} records)", unit=unit_words(description.unit), most=most),
        neighbours=alike.words,
        exact=exact,
        scope=say("this table")
        if tables == 1
        else say("these {tables} tables together", tables=tables),
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
        say(
            "Published margins fix the number of records, so the promise is for one "
            "{protects} replaced by another; nothing is claimed that takes the margins as "
            "given.",
            protects=unit_words(description.protects),
        ),
    )


def not_tiny(delta: Fraction, description: Description, remedy: str) -> list[str]:
    """A warning where δ is not tiny: not below one in all records, or above 0.000001."""
    records = description.records
    if records is not None and delta * records >= 1:
        return [
            say(
                "delta is {delta}, not below 1 in {records} records: as many as one of them "
                "may go unprotected. {remedy}",
                delta=number(rounded_up(delta, 3)),
                records=records,
                remedy=remedy,
            )
        ]
    if delta > _USUAL_DELTA:
        return [
            say(
                "delta is {delta}; 0.000001 or less is usual. {remedy}",
                delta=number(rounded_up(delta, 3)),
                remedy=remedy,
            )
        ]
    return []


def _odds(exposure: Exposure, unit: str, records: int, alike: Neighbours) -> tuple[str, ...]:
    found = []
    if alike is Neighbours.ADD_REMOVE and not exposure.number_is_public:
        chances = _chances(exposure.neighbours)
        found += [chances.out_of_100(unit), chances.guess_meter("0.1", unit)]
    if exposure.category:
        chances = _chances(exposure.category)
        found.append(chances.of_category("0.1", unit, records, exposure.published))
    return tuple(found)


_chances = lru_cache(maxsize=256)(odds_of_plan)


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
    unit = unit_words(description.unit)
    if alike is not Neighbours.ADD_REMOVE:
        return (
            say(
                "That the data are a sample of {rate} of all is no further protection that can "
                "be counted here: the number of records is public.",
                rate=number(plain(rate)),
            ),
        )
    epsilon, delta = kept
    less = ceiling_to(ln_bracket(1 + rate * (exp_bracket(epsilon)[1] - 1))[1], 12)
    kept_words = together("ε ≤", number(rounded_up(less, _SHOWN)))
    if delta:
        also = together("δ ≤", number(rounded_up(rate * delta, _SHOWN)))
        kept_words = together(kept_words, also, between=", ")
    return (
        say(
            "If each {unit} of the population came into the data by a draw of its own with "
            "probability {rate}, and who was drawn stays secret, then for a {unit} of the "
            "population this release keeps {kept_words}. Such figures of several releases "
            "from one sample do not add up, and nothing less is charged.",
            unit=unit,
            rate=number(plain(rate)),
            kept_words=kept_words,
        ),
    )
