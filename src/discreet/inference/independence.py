"""Are the variables of a table independent of each other? rinott §6.1, with a score statistic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.table import ProtectedTable
from ..errors import CannotConclude, InputError
from ..languages import counted, listed, meant, say
from .answer import Answer, capital
from .channel import Reals
from .correlated import Estimates, evidence_of, is_fitted, judged_together
from .design_matrix import hierarchical, independent_columns
from .evidence import Evidence, Reading
from .statistics import Model
from .verdict import Tested, judged, said


def independence_test(table: ProtectedTable, given: Sequence[str] | str = ()) -> Answer:
    """Test whether the axes of a table are independent, or independent within each `given` group.

    Totals are not used: their noise, their own or shared, adds nothing to this test.
    """
    reading = Reading(table)
    conditions = axis_places(reading, given)
    tested_axes = [axis for axis in range(len(reading.shape)) if axis not in conditions]
    _require_axes(reading, tested_axes)
    terms = [(*conditions, axis) for axis in tested_axes]
    found, evidence = tested(reading, terms, effect=say("dependence"))
    axes = [reading.axes[axis] for axis in tested_axes]
    values = {"names": listed(axes), "capital": listed([capital(axes[0]), *axes[1:]])}
    within = " × ".join(reading.axes[axis] for axis in conditions)
    nothing = say("No sign that {names} depend on each other", **values)
    something = say("{capital} depend on each other", **values)
    question = f"independence of {' and '.join(axes)}"
    if within:
        values["within"] = within
        nothing = say("No sign that {names} depend on each other within each {within}", **values)
        something = say("{capital} depend on each other within each {within}", **values)
        question += f" within each {within}"
    sentence = said(found, nothing, something)
    numbers = {"question": question} | found.numbers
    return Answer(sentence, numbers, (*found.caveats, *_empty(reading, evidence)))


def tested(
    reading: Reading, terms: Sequence[Sequence[int]], *, effect: str
) -> tuple[Tested, Evidence]:
    """Test the log-linear model with these terms: by cells, or by the covariance of a fit."""
    if is_fitted(reading):
        estimates = Estimates(reading)
        evidence = evidence_of(estimates)
        model = Model(used_design(evidence, terms))
        return judged_together(estimates, evidence.used, model, effect=effect), evidence
    evidence = reading.evidence()
    return judged(evidence, Model(used_design(evidence, terms)), effect=effect), evidence


def used_design(evidence: Evidence, terms: Sequence[Sequence[int]]) -> Reals:
    """The design of the cells that count, without columns that follow from others."""
    design = hierarchical(evidence.shape, terms)[evidence.used]
    return independent_columns(design[:, (design != 0).any(0)])


def axis_places(reading: Reading, names: Sequence[str] | str) -> list[int]:
    """Axes by name."""
    wanted = [names] if isinstance(names, str) and names else list(names)
    known = {name.casefold(): place for place, name in enumerate(reading.axes)}
    places = []
    for name in wanted:
        place = known.get(str(name).strip().casefold())
        if place is None:
            raise InputError(
                say(
                    "The table has no axis {value}; it has {names}.{meant}",
                    value=repr(str(name)[:60]),
                    names=", ".join(reading.axes),
                    meant=meant(str(name), reading.axes),
                )
            )
        places.append(place)
    return places


def _require_axes(reading: Reading, tested: Sequence[int]) -> None:
    if len(tested) < 2:
        have = ", ".join(reading.axes) or "no axis"
        raise CannotConclude(
            say(
                "A test of independence needs two variables, and this table leaves {many} of "
                "{have}. Use goodness of fit for one variable.",
                many=len(tested),
                have=have,
            )
        )
    for axis in tested:
        if reading.shape[axis] < 2:
            raise CannotConclude(
                say(
                    "{axes} has one category in this table, so there is nothing it could depend "
                    "on. Ask for a table with two or more.",
                    axes=reading.axes[axis],
                )
            )


def _empty(reading: Reading, evidence: Evidence) -> list[str]:
    """Rows and columns that show nothing above 0."""
    if not len(evidence.released):
        return []
    shown = np.zeros(evidence.used.shape, dtype=np.int64)
    shown[evidence.used] = evidence.released
    above = (shown > 0).reshape(evidence.shape)
    named = []
    for axis in range(len(evidence.shape)):
        others = tuple(i for i in range(len(evidence.shape)) if i != axis)
        for place in np.flatnonzero(~above.any(axis=others)).tolist():
            named.append(f"{reading.axes[axis]} {reading.label(axis, place)}")
    if not named:
        return []
    empty = ", ".join(named[:5]) + (" …" if len(named) > 5 else "")
    return [
        counted(
            "{listed} shows nothing above 0 and adds next to nothing to the test.",
            "{listed} show nothing above 0 and add next to nothing to the test.",
            len(named),
            listed=empty,
        )
    ]
