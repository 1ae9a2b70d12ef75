"""What a cell-key policy promises and what it does not, in sentences; from public facts only."""

from __future__ import annotations

from fractions import Fraction

from ...core.description import Description
from ...core.exact import rounded_up
from ...core.guarantee import Guarantee, Kind
from ...core.question import Question
from ...errors import RecipeError, Refusal
from ...languages import Sentence, counted, number, say, together
from ..shared.guarantee import not_tiny
from .ptable import PTable
from .risk import SAMENESS, Risk, real_three
from .settings import Settings

NEGLIGIBLE = Fraction(1, 100)
"""A δ above one in a hundred promises nothing: the guarantee then says there is no finite ε."""


def law_of_a_cell(settings: Settings, numbers: Risk, records: int = 1) -> Guarantee:
    """The law of one cell, asked once; exact, over every pair of neighbouring counts.

    Add or remove one and replace one say the same of a single cell: its count moves by one, or by
    all the `records` that one unit may have.
    """
    table = settings.table
    wanted = settings.epsilon if records == 1 else None  # ε was asked for one record
    found = table.audit(wanted, records=records)
    caveats = []
    if records > 1:
        caveats.append(
            say(
                "One unit may have {records} records in a cell; the figures hold for all of "
                "them together.",
                records=records,
            )
        )
    asked = wanted is not None
    epsilon, delta = found.at_epsilon if asked else found.epsilon, found.delta
    finite = epsilon is not None and delta <= NEGLIGIBLE
    if not finite:
        caveats.append(_why_infinite(table, wanted, records))
    if settings.sameness == SAMENESS[0]:
        caveats.append(say("The same people give the same perturbation."))
    else:
        caveats.append(
            say("The same people give the same perturbation under the same description.")
        )
    moved = round(100 * (1 - table.large.pmf.get(0, Fraction(0))))
    return Guarantee(
        kind=Kind.LAW,
        unit="person",
        neighbours="add or remove one",
        epsilon=epsilon if finite else None,
        delta=delta if finite else None,
        exact=True,
        scope=say("one cell, asked once"),
        caveats=tuple(caveats),
        risks=numbers.sentences(),
        odds=(
            real_three(table, settings.prior),
            say("Of 100 large cells, about {moved} are published as another number.", moved=moved),
        ),
    )


def _why_infinite(table: PTable, wanted: Fraction | None, records: int) -> Sentence:
    """Why no finite ε covers a cell, and what holds between counts of 1 and more."""
    positive = table.audit(wanted, least_count=1, records=records)
    if table.zeros_kept and positive.epsilon is not None and positive.delta <= NEGLIGIBLE:
        return say(
            "Empty cells stay 0, so no finite ε covers a cell that may be empty; between "
            "counts of 1 and more ε = {at_epsilon} with δ = {delta}.",
            at_epsilon=number(rounded_up(positive.at_epsilon, 4)),
            delta=number(rounded_up(positive.delta, 3)),
        )
    return say(
        "Some published numbers are possible for one count and impossible for the next, so no "
        "finite ε covers a cell."
    )


def large_delta(promise: Guarantee, description: Description) -> list[str]:
    """A warning where the δ of one cell is not tiny."""
    remedy = say("A p-table with a larger max_perturbation has a smaller delta.")
    return not_tiny(promise.delta or Fraction(0), description, remedy)


def earlier(laws: int, settings: Settings) -> tuple[str, ...]:
    """What it means that tables of these data were made under other laws before."""
    if not laws:
        return ()
    told = counted(
        "Tables of these data were made under {n} other law before: a cell may have been answered "
        "{times} times.",
        "Tables of these data were made under {n} other laws before: a cell may have been answered "
        "{times} times.",
        laws,
        times=laws + 1,
    )
    if settings.scheme is None:
        return (
            together(told, say("Each answer has noise of its own, and what they tell adds up.")),
        )
    return (
        together(
            told,
            say(
                "All come from one classical key: its values together narrow that key down and "
                "can give the count away."
            ),
        ),
    )


def found_categories(question: Question, description: Description) -> tuple[str, ...]:
    """Categories taken from the data are told without noise, whatever the counts say."""
    names = [name for name in description.undeclared if name in question.variables]
    if not names:
        return ()
    return (
        say(
            "The categories of {names} were found in the data and are not declared: that "
            "one is listed tells that somebody has it.",
            names=", ".join(names),
        ),
    )


def check_weighted(question: Question, description: Description, settings: Settings) -> None:
    """Refuse weighted counts that cannot be had, or that would give counts away.

    A count c with its weighted count excludes some true counts below c. Where the same people have
    another c under each description, a few pairs leave one true count only.
    """
    if not any(spec.weighted for spec in question.tables):
        return
    if description.weight is None:
        raise RecipeError(
            say("{name} has no weight, so no weighted counts.", name=description.name)
        )
    if settings.sameness != SAMENESS[0]:
        raise Refusal(
            say(
                "Weighted counts are not given where sameness is {sameness}: the same people "
                "have another count under each description, and a few of them beside their "
                "weighted counts can give the true count away.",
                sameness=settings.sameness,
            ),
            rule="weighted-sameness",
            alternatives=(
                say("ask for counts without weights"),
                say("the custodian sets sameness: {sameness}", sameness=SAMENESS[0]),
            ),
        )


def whole_weights(question: Question, description: Description) -> tuple[str, ...]:
    """Whole weights have mean weights of few values, and two published numbers may tell which."""
    weight = description.weight
    if weight is None or weight.scale > 1 or not any(spec.weighted for spec in question.tables):
        return ()
    return (
        say(
            "Weights are whole numbers: a weighted count beside the count of the same cell "
            "excludes some true counts below the published one. Weights with decimals "
            "exclude next to none."
        ),
    )


def warnings(settings: Settings) -> tuple[str, ...]:
    """What a custodian should know about the policy, in sentences."""
    table = settings.table
    found = list(settings.notes)
    lost = len(table.unreachable)
    if lost:
        found.append(
            say(
                "{keys} keys are too few for the p-table: {lost} designed outcomes never happen.",
                keys=table.keys,
                lost=lost,
            )
        )
    if table.bias and table.name == "maximum entropy":
        found.append(
            say(
                "A row of the p-table has a bias of {bias}.", bias=number(rounded_up(table.bias, 3))
            )
        )
    if settings.scheme is not None:
        found.append(
            say(
                "Classical keys: the noise of a total can be predicted from that of its parts, "
                "and whoever has the key column can take the noise away. Use strong keys "
                "unless published tables must be reproduced."
            )
        )
    return tuple(found)
