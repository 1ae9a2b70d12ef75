"""What is said where a plan cannot be had: too many cells, a δ that protects nobody, a law too odd."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ...core.exact import plain
from ...core.question import TableSpec
from ...errors import RecipeError, Refusal
from ...languages import number, say
from .settings import Settings, Treatment


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


def needs_a_sum(margin: object) -> RecipeError:
    """A total that would be a sum of cells whose noise depends on their counts."""
    return RecipeError(
        say(
            "With law hellinger every table has noise of its own, and {margin} would be a sum of "
            "others. Choose plan: everything, or leave totals out.",
            margin=str(margin),
        )
    )


def by_count_only(settings: Settings, treatment: Treatment, tables: Sequence[TableSpec]) -> None:
    """Refuse with law hellinger, or with a variance, what has no honest figures there."""
    if not settings.audited:
        return
    asked = (
        say("law hellinger")
        if settings.variance is None
        else say("variance {variance}", variance=number(plain(settings.variance)))
    )
    if any(table.weighted for table in tables):
        raise RecipeError(
            say(
                "A weighted table cannot be had with {asked}: it is for counts. Leave out weighted, "
                "or use law laplace.",
                asked=asked,
            )
        )
    if settings.variance is not None and any(table.share is not None for table in tables):
        raise RecipeError(
            say(
                "With {asked} every table has the same noise, so there is nothing to share out. "
                "Leave the shares out, or give epsilon instead.",
                asked=asked,
            )
        )
    if settings.variance is None and (
        treatment.consistency != "none" or treatment.negatives == "balance"
    ):
        raise RecipeError(
            say(
                "With {asked} values are not right on average and their error depends on the count, "
                "so tables cannot be brought into agreement. Set consistency: none and negatives: "
                "keep, clip or threshold.",
                asked=asked,
            )
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
