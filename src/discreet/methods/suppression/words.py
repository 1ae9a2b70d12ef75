"""What a suppression table promises, in words."""

from __future__ import annotations

from ...core.description import Description
from ...core.exact import rounded_up
from ...core.guarantee import Guarantee, Kind
from .public_people import PublicPeople
from .settings import Attribute, Settings

STAR = (
    "That a cell is withheld tells nothing about its count: it was decided without looking. Totals and "
    "other numbers may still bound it."
)


def counted(attribute: Attribute, description: Description) -> str:
    """What a table counts, in a phrase."""
    variable = description.variable(attribute.name)
    if attribute.integers:
        return f"sum of {variable.label} over all people"
    labels = [
        str(category.label) for category in variable.finest.categories
        if category.code in attribute.counts
    ]  # fmt: skip
    return f"number with {variable.label}: {' or '.join(labels)}"


def promise(
    settings: Settings, attribute: Attribute, people: PublicPeople, description: Description
) -> Guarantee:
    """The guarantee of everything ever released about one attribute."""
    prior = attribute.prior
    points = (
        ""
        if people.points == 1
        else f" It is an interval: the promise is computed at {people.points} points of it, in equal "
        "steps of the log odds of all types together."
    )
    related = (
        f" {', '.join(attribute.related)} and {attribute.name} share one δ."
        if attribute.related
        else ""
    )
    return Guarantee(
        Kind.SEMANTIC,
        description.unit,
        "not used",
        settings.epsilon,
        settings.delta,
        exact=False,
        scope=f"everything ever released about {attribute.name}",
        caveats=(
            "The promise is to each person against readers who hold the stated prior, take people as "
            "independent of one another and know nobody else's value: their belief about one "
            f"person's {attribute.name} moves by a factor between 1 − ε and 1 + ε. δ is the chance, "
            "over populations drawn from that prior, that something released moves one further. "
            "It says nothing about readers with another prior, members of one household known to be "
            "alike, insiders, or what attributes that are not declared related tell of this one.",
            f"Prior: {prior.source}.{points} Populations: {settings.populations.source}.{related}",
        ),
    )


def spent_words(spent: float, delta: float) -> str:
    """What was spent of δ, rounded up."""
    return f"{rounded_up_float(spent)} of δ = {rounded_up_float(delta)} is spent so far."


def rounded_up_float(number: float) -> str:
    """Four digits, rounded up."""
    from fractions import Fraction

    return rounded_up(Fraction(number), 4) if number else "0"
