"""A regression in words: what goes with what, how surely, and what could have been seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..languages import number, say, together
from .answer import Answer, p_text
from .channel import Reals
from .grouped import GroupedFit
from .maximum import Fit
from .verdict import LEVEL, naive_words

_SEEN = float(ndtri(0.975) + ndtri(0.8))
"""Standard errors of an effect that a test at 5 % sees with 80 % chance."""


def answer_of(
    names: Sequence[str],
    estimates: Reals,
    errors: Reals,
    fit: Fit | GroupedFit,
    tested: dict[str, Any],
    level: float,
    *,
    odds: bool,
) -> Answer:
    """The answer: estimates and standard errors, intercept first; `tested`, all effects together."""
    coefficients = _coefficients(names, estimates, errors, level)
    if len(names) == 1:  # one effect has one p-value
        coefficients[names[0]]["p"] = tested["p"]
    what = "odds" if odds else "rate"
    said: list[str] = []
    for name in names:
        one = coefficients[name]
        said.append(_effect(name, one, odds=odds, first=not said))
    starts, maxima = (int(np.max(found)) for found in (fit.starts, fit.maxima))
    certificate = {
        "converged": True,
        "boundary": bool(np.any(fit.boundary)),
        "starts": starts,
        "maxima": maxima,
    }
    numbers = {
        **tested,
        "coefficients": coefficients,
        "level": level,
        "of": what,
        "kind": "sampling",
        "certificate": certificate,
    }
    return Answer(
        say(
            "{effects} (sampling intervals, noise and chance).",
            effects=together(*said, between="; "),
        ),
        numbers,
        (
            *_together(names, tested),
            *(naive_words(tested) if "naive_p" in tested else ()),
            say(
                "An ordinary regression of the published numbers would give intervals that are "
                "too short."
            ),
            _smallest(names, coefficients, what),
            say("An association between groups need not hold for the people in them."),
        ),
    )


def _coefficients(
    names: Sequence[str], estimates: Reals, errors: Reals, level: float
) -> dict[str, dict[str, float]]:
    """Each effect with its interval, its own p-value and the least that would have been seen."""
    width = float(ndtri((1 + level) / 2))
    coefficients = {}
    for place, name in enumerate(["intercept", *names]):
        value, error = float(estimates[place]), float(errors[place])
        coefficients[name] = {
            "estimate": value,
            "se": error,
            "lower": value - width * error,
            "upper": value + width * error,
            "p": float(2 * ndtr(-abs(value / error))) if error > 0 else 0.0,
            "smallest_seen": _SEEN * error,
        }
    return coefficients


def _together(names: Sequence[str], tested: Mapping[str, Any]) -> list[str]:
    """The test of all effects, where there are several."""
    if len(names) < 2:
        return []
    if tested["p"] <= LEVEL:
        return [say("Together the covariates matter ({p}).", p=p_text(tested["p"]))]
    return [say("Together the covariates need not matter ({p}).", p=p_text(tested["p"]))]


def _smallest(names: Sequence[str], found: Mapping[str, Mapping[str, float]], what: str) -> str:
    """The least effect of each covariate that would have been seen."""
    least = [
        together(name, number(f"{np.exp(min(found[name]['smallest_seen'], 600.0)):.3g}"))
        for name in names
    ]
    listed = together(*least, between=", ")
    if what == "odds":
        return say(
            "The smallest effects that would have been seen with 80 % chance, as times the odds: "
            "{listed}.",
            listed=listed,
        )
    return say(
        "The smallest effects that would have been seen with 80 % chance, as times the rate: "
        "{listed}.",
        listed=listed,
    )


def _effect(name: str, one: Mapping[str, float], *, odds: bool, first: bool) -> str:
    """What one more of a covariate goes with, in words."""
    ends = {key: number(f"{np.exp(one[key]):.4g}") for key in ("estimate", "lower", "upper")}
    values = {"name": name, "p": p_text(one["p"]), **ends}
    if odds and first:
        return say(
            "One more of {name} goes with {estimate} times the odds ({lower} to {upper}; {p})",
            **values,
        )
    if odds:
        return say(
            "one more of {name} goes with {estimate} times the odds ({lower} to {upper}; {p})",
            **values,
        )
    if first:
        return say(
            "One more of {name} goes with {estimate} times the rate ({lower} to {upper}; {p})",
            **values,
        )
    return say(
        "one more of {name} goes with {estimate} times the rate ({lower} to {upper}; {p})", **values
    )
