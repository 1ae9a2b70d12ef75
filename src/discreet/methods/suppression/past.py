"""What was released about a private attribute before, and whether a new question can stand on it.

All releases about one attribute and those declared related to it are one history with one δ. A new
table may be about people none of these was about, or be the very table of one of them, with more of it
to decide. What cannot be conditioned on exactly is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...core.description import Description
from ...core.question import TableSpec
from ...errors import Refusal
from ...languages import number, say
from ..base import Answered, Facts
from .groups import Groups
from .public_people import PublicPeople
from .settings import Settings, joined_groups

OUT, SUPPRESSED = (1, 2), 3
"""What `Decided` calls cells that are out, and stars."""
FIXED = ("epsilon", "order", "rule", "model", "priorities")
"""What must be as it was when something was released."""


@dataclass(frozen=True)
class Split:
    """One axis of an earlier table is split further: for each category the earlier one it is in."""

    axis: int
    of: tuple[int, ...]


@dataclass(frozen=True)
class Earlier:
    """An earlier release of the very table that is asked for, or of one that it splits further."""

    values: npt.NDArray[np.int64] = field(repr=False)
    decided: npt.NDArray[np.int64] = field(repr=False)
    cells: bool
    """Whether its cells were decided, or its totals alone."""
    split: Split | None = None
    """How the table asked for splits it; None where it is the same."""
    bins: Groups = ()
    """The bins its categories were joined to; they stay."""


@dataclass(frozen=True)
class Past:
    """What a new decision stands on."""

    spent: tuple[float, ...]
    """Of δ, by point of the prior."""
    earlier: Earlier | None = None


def past(
    spec: TableSpec,
    attribute: str,
    noted: dict[str, str],
    people: PublicPeople,
    settings: Settings,
    facts: Facts,
    own_hash: str,
) -> Past:
    """The history a table is decided on; refused where it cannot be conditioned on."""
    spent = [0.0] * people.points
    same: Earlier | None = None
    mine = people.inside(spec, facts.description)
    for answer in _of_attribute(attribute, settings, facts):
        told = answer.measurements.facts["suppression"]
        if answer.question_hash == own_hash:
            break  # asked again: decided on what was there before it
        its_model = settings.fingerprints.get(told["attribute"], told["model"])
        _unchanged(told, {**noted, "model": its_model}, facts)
        charged = [float(text) for text in told["charged"]]
        if told["attribute"] != attribute:  # its prior may have other points: the worst for all
            charged = [max(charged)] * len(spent)
        spent = [a + b for a, b in zip(spent, charged, strict=True)]
        other = answer.question.tables[0]
        if told["attribute"] == attribute and _stands_on(other, told, spec, noted, facts):
            arrays = answer.measurements.arrays
            split = _split(other, spec, facts.description)
            bins = tuple(tuple(of) for of in told.get("binned", ()))
            same = Earlier(arrays["values"], arrays["decided"], told["cells"] == "yes", split, bins)
            continue
        _disjoint(other, mine, told["attribute"], attribute, people, facts)
    if same is not None:
        _can_follow(same, spec, facts.description)
    _within_delta(max(spent), noted["delta"], attribute)
    return Past(tuple(spent), same)


def _of_attribute(attribute: str, settings: Settings, facts: Facts) -> Sequence[Answered]:
    """Everything released about an attribute or one related to it, of these people."""
    if facts.history is None:
        return ()
    answers = [one for one in facts.history.answers if "suppression" in one.measurements.facts]
    every = [answer.measurements.facts["suppression"] for answer in answers]
    # what was declared related when something came out stays so
    groups = [(told["attribute"], *told.get("related", ())) for told in every]
    groups += [(name, *one.related) for name, one in settings.attributes.items()]
    related = joined_groups({attribute}, groups)
    found = []
    for answer, told in zip(answers, every, strict=True):
        if told["attribute"] not in related:
            continue
        version = told["data_version"]
        if version == facts.data_version:  # of these people, whatever is declared
            found.append(answer)
        elif version not in settings.other_people:
            raise Refusal(
                f"Tables about {told['attribute']} were released from another version of these data, "
                "and what the two versions tell together cannot be worked out: nothing more is "
                "released about it.",
                rule="history-closed",
                alternatives=(
                    "If the people of the earlier version are all others, its custodian declares "
                    f"it: `methods: suppression: other_people: [{version}]`.",
                ),
            )
    return found


def _within_delta(spent: float, delta: str, attribute: str) -> None:
    """Refuse a δ that earlier releases are above already: no table may be said to keep it."""
    if spent > float(delta):
        raise Refusal(
            say(
                "Earlier tables of {name} have spent {spent} of δ, and δ = {delta} is less: nothing "
                "that comes out now could keep it. Set δ back to what it was, or higher.",
                name=attribute,
                spent=number(f"{spent:.3g}"),
                delta=number(delta),
            ),
            rule="delta-spent",
        )


def _unchanged(told: dict[str, str], noted: dict[str, str], facts: Facts) -> None:
    for name in FIXED:
        if told[name] != noted[name]:
            words = {"model": "The prior or the populations", "order": "The order of cells"}
            raise Refusal(
                f"{words.get(name, name)} of {facts.description.name} changed after tables about "
                f"{told['attribute']} were released: what they were decided on no longer holds, so "
                "nothing more is released. Set it back as it was.",
                rule="history-changed",
            )


def _stands_on(
    other: TableSpec, told: dict[str, str], spec: TableSpec, noted: dict[str, str], facts: Facts
) -> bool:
    """Whether an earlier table is the one asked for, with the same bins, or one that it splits."""
    if "bins" in told or "bins" in noted:
        same = other.axes == spec.axes and other.where == spec.where
        return same and told.get("bins") == noted.get("bins")
    return _coarser(other, spec, facts.description)


def _coarser(one: TableSpec, two: TableSpec, description: Description) -> bool:
    """Whether the first table is the second, or has its categories joined to larger ones."""
    if one.where != two.where or len(one.axes) != len(two.axes):
        return False
    return all(
        a.variable == b.variable
        and description.variable(a.variable).level_map(b.level, a.level) is not None
        for a, b in zip(one.axes, two.axes, strict=True)
    )


def _split(one: TableSpec, two: TableSpec, description: Description) -> Split | None:
    """How the second table splits the first along one axis; None where they are the same.

    Two axes at once are the last one's: `_can_follow` refuses it, since its places do not fit.
    """
    found = None
    for axis, (a, b) in enumerate(zip(one.axes, two.axes, strict=True)):
        if a != b:
            places = description.variable(a.variable).level_map(b.level, a.level)
            assert places is not None
            found = Split(axis if found is None else -1, tuple(int(k) for k in places))
    return found


def _can_follow(earlier: Earlier, spec: TableSpec, description: Description) -> None:
    """Refuse to go on from a table whose totals are not all out, or whose split cells are."""
    axes = len(spec.axes)
    inner = tuple(slice(0, -1) for _ in range(axes)) if axes else ()
    totals = np.ones(earlier.decided.shape, dtype=bool)
    totals[inner] = False
    why = ""
    if (earlier.decided[totals] == SUPPRESSED).any():
        why = "some of its totals are stars"
    split = earlier.split
    if split is not None and (split.axis < 0 or axes < 2):
        why = "it would have to be split along both sides at once"
    elif split is not None:
        children = np.bincount([k for k in split.of if k >= 0])
        shared = np.flatnonzero(children > 1)
        out = np.isin(earlier.decided[inner], OUT).take(shared, axis=split.axis)
        if out.any():
            why = "cells of what would be split further are out"
    if why:
        raise Refusal(
            "This table cannot be decided on the earlier one of the same people: "
            f"{why}, and what the two tell together cannot be worked out exactly.",
            rule="overlapping-table",
            alternatives=("ask again for the table that is out",),
        )


def _disjoint(
    other: TableSpec,
    mine: npt.NDArray[np.int64],
    its: str,
    attribute: str,
    people: PublicPeople,
    facts: Facts,
) -> None:
    theirs = people.inside(other, facts.description)
    if not len(np.intersect1d(mine, theirs)):
        return
    by = " × ".join(ref.level for ref in other.axes) or "no variable"
    if its != attribute:
        why = (
            f"{its} and {attribute} are declared related, and a table of {its} about some of these "
            "people is out: what the two tell together cannot be worked out"
        )
    else:
        why = (
            f"a table of {its} by {by} about some of these people is out: what it and this one tell "
            "together cannot be worked out exactly"
        )
    raise Refusal(
        f"This table cannot be decided: {why}.",
        rule="overlapping-table",
        alternatives=(
            "ask for people that no earlier table was about, by a filter on a public variable",
            "ask again for the table that is out",
        ),
    )
