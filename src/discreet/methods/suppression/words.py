"""What a suppression table promises, in words."""

from __future__ import annotations

from ...core.description import Description
from ...core.exact import rounded_up
from ...core.guarantee import Guarantee, Kind
from ...languages import number, one_of_several, say, together
from .public_people import PublicPeople
from .settings import Attribute, Settings

STAR = say(
    "That a cell is withheld tells nothing about its count: it was decided without "
    "looking. Totals and other numbers may still bound it."
)


CHOICES = {
    str(one): one for one in (say("smallest risk"), say("rows"), say("spending"), say("share"))
}
"""Orders and rules of decisions, as readers see them."""


def counted(attribute: Attribute, description: Description) -> str:
    """What a table counts, in a phrase."""
    variable = description.variable(attribute.name)
    if attribute.integers:
        return say("sum of {label} over all people", label=variable.label)
    labels = [
        category.label for category in variable.finest.categories
        if category.code in attribute.counts
    ]  # fmt: skip
    either = one_of_several(labels)
    return say("number with {label}: {either}", label=variable.label, either=either)


def promise(
    settings: Settings, attribute: Attribute, people: PublicPeople, description: Description
) -> Guarantee:
    """The guarantee of everything ever released about one attribute."""
    prior = attribute.prior
    assumed = [say("Prior: {source}.", source=prior.source)]
    if people.points > 1:
        assumed.append(
            say(
                "It is an interval: the promise is computed at {points} points of it, in equal "
                "steps of the log odds of all types together.",
                points=people.points,
            )
        )
    assumed.append(say("Populations: {source}.", source=settings.populations.source))
    if attribute.related:
        assumed.append(
            say(
                "{names} and {name} share one δ.",
                names=", ".join(attribute.related),
                name=attribute.name,
            )
        )
    return Guarantee(
        Kind.SEMANTIC,
        description.unit,
        "not used",
        settings.epsilon,
        settings.delta,
        exact=False,
        scope=say("everything ever released about {name}", name=attribute.name),
        notices=description.counted,
        caveats=(
            say(
                "The promise is to each person against readers who hold the stated prior, take "
                "people as independent of one another and know nobody else's value: their "
                "belief about one person's {name} moves by a factor between 1 − ε and 1 + ε. δ "
                "is the chance, over populations drawn from that prior, that something "
                "released moves one further. It says nothing about readers with another prior, "
                "members of one household known to be alike, insiders, or what attributes that "
                "are not declared related tell of this one.",
                name=attribute.name,
            ),
            together(*assumed),
        ),
    )


def spent_words(spent: float, delta: float) -> str:
    """What was spent of δ, rounded up."""
    return say(
        "{spent} of δ = {delta} is spent so far.",
        spent=number(rounded_up_float(spent)),
        delta=number(rounded_up_float(delta)),
    )


def rounded_up_float(number: float) -> str:
    """Four digits, rounded up."""
    from fractions import Fraction

    return rounded_up(Fraction(number), 4) if number else "0"
