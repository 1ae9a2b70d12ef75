"""The plan an answer was measured by, kept with it: one question has one answer, for ever.

Which plan is best may be judged otherwise one day, by other shares, another law or another search
for the least ε. What was measured stays as it was, so its margins, shares and laws are stored with
the measurements, and an old answer is fitted by those and not by what would be chosen today.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...core.domain import AxisRef, Condition
from ...core.exact import plain
from ...core.loss import ApproxLoss, PureLoss
from ...core.margins import Margin
from ...errors import Bug, RecipeError
from . import laws
from .planner import Measured, Planner, Scheme


def facts_of(scheme: Scheme) -> dict[str, Any]:
    """What is stored with the measurements of a scheme, as plain values."""
    return {
        "plan": scheme.name,
        "budget": plain(_spent(scheme)),
        "margins": [_margin_facts(part) for part in scheme.measured],
    }


def _spent(scheme: Scheme) -> Fraction:
    loss = scheme.loss
    return loss.epsilon if isinstance(loss, PureLoss | ApproxLoss) else loss.rho


def _margin_facts(part: Measured) -> dict[str, Any]:
    margin = part.margin
    return {
        "name": part.name,
        "margin": str(margin),
        "law": dict(laws.describe(part.law)),
        "axes": [[ref.variable, ref.level] for ref in margin.axes],
        "where": [[c.variable, c.level, list(c.codes)] for c in margin.where],
        "weighted": margin.weighted,
        "share": plain(part.share),
        "one_sided": plain(part.one_sided),
        "reach": part.reach,
        "delta": plain(part.delta),
    }


def same(scheme: Scheme, facts: Mapping[str, Any]) -> bool:
    """Whether measurements with these facts were made by this scheme.

    Computed parts of a law (its digest, digits of a ratio) may differ from one version to another.
    """
    stored = facts.get("margins")
    return stored is None or _asked(stored) == _asked(facts_of(scheme)["margins"])


def _asked(margins: Sequence[Mapping[str, Any]]) -> list[object]:
    return [(m["name"], m["margin"], laws.asked(m["law"])) for m in margins]


def scheme_of(planner: Planner, chosen: Scheme, facts: Mapping[str, Any]) -> Scheme:
    """The scheme these measurements were made by, where today `chosen` would be.

    What is spent is part of the question, so it cannot be another sum.
    """
    margins = facts.get("margins") or ()
    if "plan" not in facts or not all("axes" in margin for margin in margins):
        raise Bug("Stored measurements are of other margins or laws than the plan's.")
    budget = Fraction(facts["budget"])
    if budget != _spent(chosen):
        raise Bug("Stored measurements are of a question with another budget.")
    measured = [_measured(stored, planner) for stored in margins]
    try:
        return planner.worked_out(str(facts["plan"]), measured, budget)
    except RecipeError:
        raise Bug("Stored measurements are of another question.") from None


def _measured(stored: Mapping[str, Any], planner: Planner) -> Measured:
    margin = Margin(
        tuple(AxisRef(*axis) for axis in stored["axes"]),
        tuple(Condition(v, level, tuple(codes)) for v, level, codes in stored["where"]),
        bool(stored["weighted"]),
    )
    return Measured(
        name=stored["name"],
        margin=margin,
        share=Fraction(stored["share"]),
        reach=int(stored["reach"]),
        one_sided=Fraction(stored["one_sided"]),
        law=laws.made_again(stored["law"]),
        delta=Fraction(stored["delta"]),
        cells=planner.size(margin),
    )
