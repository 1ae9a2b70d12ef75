"""Log-linear models of tables with several axes: does a model with these terms fit?"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.table import ProtectedTable
from ..errors import InputError
from ..languages import say
from .answer import Answer
from .evidence import Reading
from .independence import axis_places, tested
from .verdict import said


def loglinear(table: ProtectedTable, terms: Sequence[Sequence[str] | str]) -> Answer:
    """Test the hierarchical model with these terms, each one or several axes, against all others.

    [("sex",), ("cause",), ("region",)] is mutual independence, [("sex", "cause"), ("region",)] joint,
    [("sex", "region"), ("cause", "region")] conditional on region; all pairs: no three-way term.
    """
    reading = Reading(table)
    if not terms:
        raise InputError(say("A model needs terms, such as sex,cause and region."))
    places = [sorted(set(axis_places(reading, term))) for term in terms]
    missing = set(range(len(reading.axes))) - {axis for term in places for axis in term}
    if missing:
        names = ", ".join(reading.axes[axis] for axis in sorted(missing))
        raise InputError(
            say(
                "The model leaves out {names}: give it a term of its own, or ask for a table "
                "without it.",
                names=names,
            )
        )
    found, _ = tested(reading, places, effect=say("departure"))
    model = " ".join(f"[{' '.join(reading.axes[axis] for axis in term)}]" for term in places)
    sentence = said(
        found,
        say("The model {model} fits: no sign of further dependence", model=model),
        say("The model {model} does not fit: there is more dependence than it allows", model=model),
    )
    return Answer(sentence, {"model": model} | found.numbers, found.caveats)
