"""Whether the settings of a question go together; else one sentence on the first that do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...core.exact import plain
from ...languages import number, say
from ..declaration import Fails

if TYPE_CHECKING:
    from .settings import Settings


def agreeing(settings: Settings, said: Mapping[str, str], fails: Fails) -> Settings:
    """The settings, if they go together; else one sentence on the first two that do not."""
    law = settings.law
    wrong = ""
    if settings.rho is not None and law != "gaussian":
        wrong = say(
            "rho is for law gaussian, got rho {rho} with law {law}. Set law: gaussian, or "
            "give epsilon instead.",
            rho=number(plain(settings.rho)),
            law=law,
        )
    elif settings.rho is not None and settings.epsilon is not None:
        wrong = say(
            "A question has epsilon or rho, got both ({epsilon} and {rho}). Leave one out.",
            epsilon=number(plain(settings.epsilon)),
            rho=number(plain(settings.rho)),
        )
    elif settings.rho is not None and settings.delta is not None:
        wrong = say(
            "With rho there is no delta to set; it is chosen when rho is read as (epsilon, "
            "delta). Leave delta out."
        )
    elif settings.within is not None:
        wrong = _within_alone(settings)
    elif "of" in said:
        wrong = say("of goes with within (within: 5, of: 95%), got of alone. Add within.")
    wrong = wrong or _by_variance(settings) or _by_count(settings) or _truncation(settings)
    if wrong:
        raise fails(wrong)
    return settings


def _within_alone(settings: Settings) -> str:
    if settings.epsilon or settings.rho:
        return say(
            "within asks for the epsilon that an accuracy needs, got an epsilon or rho as "
            "well. Leave one out."
        )
    if settings.law == "gaussian" and settings.delta is not None:
        return say("within with law gaussian finds rho, which has no delta. Leave delta out.")
    return ""


def _by_variance(settings: Settings) -> str:
    """What is wrong with a variance that was asked for."""
    if settings.variance is None:
        return ""
    if settings.law != "max-entropy":
        return say(
            "variance is for law max-entropy, got it with law {law}. Set law: max-entropy, or give "
            "epsilon instead.",
            law=settings.law,
        )
    if settings.epsilon is not None or settings.within is not None:
        return say(
            "A variance says how much is spent, got an epsilon or an accuracy as well. Leave one out."
        )
    if settings.max_perturbation is None:
        return say(
            "A max-entropy law with a variance needs max_perturbation too, got none. Set "
            "max_perturbation: 20, say."
        )
    return ""


def _by_count(settings: Settings) -> str:
    """What is wrong with law hellinger as it was asked for, or with its settings elsewhere."""
    if settings.law != "hellinger":
        said = settings.max_count is not None or settings.max_value is not None
        return (
            say(
                "max_count and max_value are for law hellinger, got them with law {law}. Leave them "
                "out.",
                law=settings.law,
            )
            if said
            else ""
        )
    if settings.delta is not None or settings.max_perturbation is not None:
        return say(
            "Law hellinger has delta 0 and ends at max_value, got a delta or max_perturbation. "
            "Leave it out."
        )
    if settings.within is not None:
        return say(
            "The error of law hellinger depends on the count, so no epsilon is found for an "
            "accuracy. Give epsilon instead of within."
        )
    if settings.max_count is None:
        return say(
            "Law hellinger needs the largest count that is told from larger ones. Set "
            "max_count: 50, say."
        )
    if settings.counts[1] >= settings.max_count:
        return ""
    return say(
        "max_value must be at least max_count = {max_count}, so that every count can come out as "
        "itself, got {max_value}. Raise it.",
        max_count=settings.max_count,
        max_value=settings.counts[1],
    )


def _truncation(settings: Settings) -> str:
    if settings.law == "gaussian" and settings.max_perturbation is not None:
        return say(
            "Law gaussian is not truncated, got max_perturbation {max_perturbation}. Leave "
            "it out, or use law normal.",
            max_perturbation=settings.max_perturbation,
        )
    cut_as_told = settings.delta is not None or settings.max_perturbation is not None
    if settings.law in ("normal", "max-entropy") and not cut_as_told:
        return say(
            "Law {law} is truncated and has a delta, got neither. Set delta: 1e-6, say, or "
            "max_perturbation.",
            law=settings.law,
        )
    return _utility(settings)


def _utility(settings: Settings) -> str:
    if settings.law != "exponential":
        return (
            ""
            if settings.utility is None
            else say(
                "utility is for law exponential, got it with law {law}. Leave one out.",
                law=settings.law,
            )
        )
    if settings.utility is None:
        return say(
            "Law exponential needs a utility: what a perturbation of 0, ±1, ±2 and so on "
            "is worth. Set utility: 0 -1 -4 -9, say."
        )
    if settings.max_perturbation is not None:
        return say(
            "The largest perturbation of law exponential is the last one its utility has, "
            "got max_perturbation {max_perturbation} as well. Leave it out.",
            max_perturbation=settings.max_perturbation,
        )
    return ""
