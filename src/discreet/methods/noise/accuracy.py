"""The least ε, or ρ, that brings the cells of a question as near to the truth as was asked."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ...core.margins import Margin
from ...errors import LawError, RecipeError
from ...languages import number, say

if TYPE_CHECKING:
    from .planner import Planner


def least_budget(planner: Planner, within: int, level: Fraction) -> Fraction:
    """The least in thousandths with which `level` of the wanted cells are within ± `within`."""
    name = planner.choose(planner.schemes(Fraction(1)), Fraction(1))[0].name
    margins = dict(planner.candidates())[name]
    low, high = 0, 100_000 if planner.settings.law != "gaussian" else 1_000_000
    while high - low > 1:
        middle = (low + high) // 2
        if _is_within(planner, name, margins, Fraction(middle, 1000), within, level):
            high = middle
        else:
            low = middle
    if not _is_within(planner, name, margins, Fraction(high, 1000), within, level):
        raise RecipeError(
            say(
                "No epsilon up to {high} brings {level} of cells within ± {within}. Ask for a "
                "coarser table or allow more.",
                high=high // 1000,
                level=number(f"{float(level):.0%}"),
                within=within,
            )
        )
    return Fraction(high, 1000)


def _is_within(
    planner: Planner,
    name: str,
    margins: Sequence[Margin],
    budget: Fraction,
    within: int,
    level: Fraction,
) -> bool:
    try:
        scheme = planner.scheme(name, margins, budget)
    except LawError:  # beyond what a law can do: too much noise for a small budget, or none
        return budget >= 1
    return all(planner.half_width(scheme, margin, level) <= within for margin in planner.wanted)
