"""What is said where a plan cannot be had: too many cells, or a δ that protects nobody."""

from __future__ import annotations

from fractions import Fraction

from ...errors import RecipeError, Refusal
from ...languages import number, say


def too_many_cells(cells: int, most: int) -> Refusal:
    """More cells than one question may measure."""
    return Refusal(
        say(
            "These tables have {cells} cells, one question may measure {most_measured}.",
            cells=cells,
            most_measured=most,
        ),
        rule="table-size",
        alternatives=(say("Use coarser levels or fewer variables."), say("Ask in parts.")),
    )


def no_protection(cut: str) -> RecipeError:
    """A law cut so short that δ is 1."""
    return RecipeError(
        say(
            "With {cut} this question has delta ≥ 1 and no protection. Allow larger "
            "perturbations, or use law laplace, which has delta = 0.",
            cut=cut,
        )
    )


def too_much_delta(cut: str, delta: Fraction, allowed: Fraction) -> RecipeError:
    """A law cut so short that δ is more than was asked for."""
    return RecipeError(
        say(
            "With {cut} this question has delta {delta}, more than the {delta_2} allowed. "
            "Allow larger perturbations, or raise delta.",
            cut=cut,
            delta=number(f"{float(delta):.3g}"),
            delta_2=number(f"{float(allowed):.3g}"),
        )
    )
