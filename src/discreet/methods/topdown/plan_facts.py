"""What a plan tells: guarantee, charge, expected error, alternatives, warnings; public facts only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core.charge import Charge
from ...core.description import Description
from ...core.guarantee import Guarantee
from ...core.neighbours import Neighbours
from ...core.plan_loss import Move, moves_of
from ...core.product import Reals, Whole, size
from ...languages import Number, Sentence, number, say, together
from ..base import ExpectedError
from ..shared.assembly import WIDTH, part_at, shortened, totals_by_name
from ..shared.guarantee import Exposure, dp_guarantee
from ..shared.question_settings import whole_charge
from .design import Asked, Design
from .fit.top_down import MOST_OF_WHOLE, most_sweeps
from .measured_tables import Measured
from .planner import DIFFER, Allocation, predicted

_MODERN = say(
    "Of the unbiased estimate, whatever the data are; the fitted counts are "
    "usually closer, by how much depends on the data."
)
_PILOT = say(
    "Of the unbiased estimate; the pilot's own counts are farther off: small "
    "categories come out too large, by how much depends on the data."
)
_HARDLY = 0.99
"""Where more than this share of cells stays as it is, a plan is warned of."""


def guarantee(design: Design, description: Description, *, exact: bool) -> Guarantee:
    """The promise of a whole plan: ε or ρ; not `exact` where the measurements cost less than it."""
    return dp_guarantee(
        design.settings.loss,
        description,
        len(design.tables),
        _exposure(design, description),
        exact=exact,
        invariants=_known(design),
        caveats=(
            say(
                "Every table, margin and record made from the synthetic table is covered at no "
                "further cost."
            ),
        ),
    )


def _known(design: Design) -> list[str]:
    tables = {} if design.invariants is None else design.invariants.tables
    return [
        say("the margin {level}", level=design.words(level, margin))
        for level, margin in sorted(tables)
    ]


def _exposure(design: Design, description: Description) -> Exposure:
    """What one unit moves by being there, by being replaced, and by being in another category."""
    records, measured = description.records_per_unit, design.allocation.measured
    added = moves_of((Move(m.worst_law, 1, records), 1) for m in measured)
    wide = [m for m in measured if m.cells(design.tree, design.shape) > 1]
    replaced = moves_of((Move(m.worst_law, 1, records), 2) for m in wide)
    secret = [m for m in wide if _has_secret(design, description, m)]
    elsewhere = moves_of((Move(m.worst_law, 1, records), 2) for m in secret)
    alone = description.neighbours is Neighbours.ADD_REMOVE
    return Exposure(
        (added if alone else replaced,),
        (elsewhere,) if elsewhere else (),
        description.published,
        number_is_public=design.total is not None,
    )


def _has_secret(design: Design, description: Description, m: Measured) -> bool:
    """Whether a table has a variable that no published margin speaks of."""
    axes = [*m.margin, *([design.tree.axis] if m.level else [])]
    return any(design.workload.refs[axis].variable not in description.published for axis in axes)


def charge(design: Design, description: Description, digest: str) -> Charge:
    """The whole plan as one charge."""
    allocation = design.allocation
    facts = {"mode": design.settings.mode, "plan": allocation.name}
    measured = len(allocation.measured)
    return whole_charge("topdown", design.settings, facts, measured, description, digest)


def variances(design: Design, asked: Asked, *, totals: bool) -> Reals:
    """The variance of every published cell of the unbiased estimate, totals last on each axis."""
    wanted, tree = asked.at_level, design.tree
    sizes = wanted.group_sizes(totals)
    if asked.level:
        position = wanted.margin.index(tree.axis)
        parts = [
            design.known.sum_variance(
                asked.level, asked.margin, groups, [s for i, s in enumerate(sizes) if i != position]
            )
            for groups in _groups(asked, position, totals)
        ]
        found = np.moveaxis(np.concatenate(parts, axis=0), 0, position)
    else:
        one = np.zeros(1, dtype=np.int64), 1
        found = design.known.sum_variance(0, asked.margin, one, sizes)[0]
    keep = list(wanted.axes)
    gone = tuple(i for i, axis in enumerate(wanted.margin) if axis not in keep)
    found = found.sum(axis=gone)
    left = [axis for axis in wanted.margin if axis in keep]
    return np.asarray(found.transpose([left.index(axis) for axis in keep]))


def _groups(asked: Asked, position: int, totals: bool) -> list[tuple[Whole, int]]:
    """The places of a level's nodes in a table, and in its total; −1 for those left out."""
    wanted = asked.at_level
    allowed, sides = wanted.allowed[position], dict(wanted.projection.sides)
    every = np.where(allowed, 0, -1).astype(np.int64)
    if position not in sides:
        return [(every, 1)]
    places = sides[position]
    into = np.arange(len(allowed)) if places is None else places
    length = wanted.shape[wanted.axes.index(wanted.margin[position])]
    groups = [(np.where(allowed, into, -1).astype(np.int64), length)]
    return [*groups, (every, 1)] if totals else groups


def expected(design: Design) -> tuple[ExpectedError, ...]:
    """What to expect of every wanted table, before anything is spent."""
    return tuple(_expected(design, asked) for asked in design.tables)


def _expected(design: Design, asked: Asked) -> ExpectedError:
    spec, wanted = asked.wanted.spec, asked.wanted
    found = variances(design, asked, totals=True)
    cells = math.prod(n + spec.totals for n in wanted.shape)
    inside = asked.at_level.inside(found)
    if not np.isfinite(inside).all():
        if design.source is not None:
            return ExpectedError(spec, cells, math.inf, 0, note=say("Follows from the fit only."))
        mean = (design.records or 0) / max(1, size(design.shape, wanted.margin))
        return ExpectedError(
            spec,
            cells,
            mean,
            math.ceil(2 * mean),
            note=_with(
                say(
                    "Too thin for its noise at this level: measured for larger areas and shared "
                    "out as they are; the error said is the mean cell, and the true one depends on "
                    "how far areas differ."
                ),
                design,
                asked,
            ),
        )
    sd = math.sqrt(float(inside.mean()))
    sds = totals_by_name(spec, lambda kept: math.sqrt(found[part_at(kept, wanted.shape)].mean()))
    return ExpectedError(
        spec,
        cells,
        sd,
        math.ceil(WIDTH[design.settings.noise] * sd),
        sds,
        {name: math.ceil(WIDTH[design.settings.noise] * sd) for name, sd in sds.items()},
        share_unchanged=_unchanged(design, asked),
        note=_PILOT if design.settings.mode == "pilot" else _with(_MODERN, design, asked),
    )


def _with(said: Sentence, design: Design, asked: Asked) -> Sentence:
    """The same, and what is usual of the fitted counts, which depends on the data."""
    if design.records is None or design.allocation.name != "tables":
        return said
    key = asked.level, asked.margin
    alike, apart = (
        math.sqrt(predicted(design.known, design.records, key, differ)) for differ in (0.0, DIFFER)
    )
    usual = (
        say(
            "For the fitted counts a root mean square error of about {apart} is usual; it is no "
            "promise.",
            apart=_short(apart),
        )
        if alike > 0.9 * apart
        else say(
            "For the fitted counts a root mean square error of about {alike} is usual where areas "
            "resemble the larger ones they lie in, {apart} where they differ by a fifth; it is no "
            "promise.",
            alike=_short(alike),
            apart=_short(apart),
        )
    )
    return together(said, usual)


def _short(value: float) -> Number:
    return number(f"{value:,.0f}" if value >= 10 else f"{value:.2g}")


def _unchanged(design: Design, asked: Asked) -> float | None:
    """The share of cells whose noise is 0, where a table was measured as it is asked for."""
    for m in design.allocation.measured:
        if (m.level, m.margin) == (asked.level, asked.margin):
            return float(m.law.probability(0))
    return None


def alternatives(design: Design, others: Sequence[Allocation]) -> tuple[Mapping[str, Any], ...]:
    """The plans compared: name, cost, predicted error; the same keys as the other DP methods."""
    return tuple(
        {
            "name": one.name,
            "d": len(one.measured),
            "margins": len(one.measured),
            "dropped": len(one.moved),
            "cells": sum(m.cells(design.tree, design.shape) for m in one.measured),
            "loss": str(design.settings.loss),
            "sd": {design.words(m.level, m.margin): math.sqrt(m.variance) for m in one.measured},
            "totals_sd": {},
            "rms": one.error if one.error < 1e8 else None,
            "recommended": one is design.allocation,
            "chosen": one is design.allocation,
        }
        for one in (design.allocation, *others)
    )


def warnings(design: Design, description: Description) -> tuple[str, ...]:
    """What a custodian or asker should know before spending."""
    found = [*_hardly_changed(design)]
    if design.settings.mode == "pilot":
        found.append(
            say(
                "Mode pilot is the article as written, for comparison: rare categories come "
                "out far too large. Use mode modern for numbers to be published."
            )
        )
    if design.workload.mixed:
        names = [name for name in design.workload.mixed if name != design.tree.variable]
        if names:
            found.append(
                say(
                    "{names} is asked for at several levels and measured at the finest of them.",
                    names=", ".join(names),
                )
            )
    if design.records is None and design.settings.mode == "modern":
        found.append(
            say(
                "Whether a table is too thin for its noise cannot be told: no number of "
                "records is public. Say roughly how many there are in records_about."
            )
        )
    for (level, margin), now in sorted(design.allocation.moved.items())[:12]:
        words = design.words(level, margin)
        if now < 0:
            found.append(
                say("{words} is too thin for its noise and is not measured at all.", words=words)
            )
            continue
        found.append(
            say(
                "{words} is too thin for its noise and is measured for {names} instead.",
                words=words,
                names=design.tree.names[now],
            )
        )
    found.append(_measured_in_words(design))
    if design.settings.mode == "modern" and design.allocation.name == "tables":
        found.append(
            say(
                "Rounding to whole numbers keeps every sum up the tree; how far it moves each table "
                "at most is printed with the release."
            )
        )
    took = seconds(design)
    found.append(
        say(
            "Fitting takes about {took} s on one core.",
            took=number(f"{took:{'.0f' if took >= 10 else '.1g'}}"),
        )
    )
    return tuple(found)


def _hardly_changed(design: Design) -> list[str]:
    """A plain word where ε is so large that most numbers are the true ones."""
    said: list[str] = []
    for m in design.allocation.measured:
        same = float(m.law.probability(0))
        cells = m.cells(design.tree, design.shape)
        if same > _HARDLY and cells > 1:
            changed = (1 - same) * cells
            said.append(
                say(
                    "Hardly a number changes: of the {cells} cells of {level} about {changed} get "
                    "any noise at all, the others are published as they were counted. That is "
                    "practically no protection; ask for a smaller epsilon.",
                    cells=cells,
                    level=design.words(m.level, m.margin),
                    changed=number(f"{changed:,.0f}"),
                )
            )
    return said[:3]


def _measured_in_words(design: Design) -> str:
    """Which tables will be measured, by name, with the noise of each."""
    names = [
        say(
            "{level} (±{variance})",
            level=design.words(m.level, m.margin),
            variance=number(f"{math.sqrt(m.variance):.3g}"),
        )
        for m in design.allocation.measured
    ]
    return say("Measured: {names}.", names=shortened(names, 30))


def seconds(design: Design) -> float:
    """Roughly how long the fit takes on one core."""
    tree, cells = design.tree, size(design.shape, design.others)
    held = min(cells * tree.sizes[-1], 40 * (design.records or cells * tree.sizes[-1]))
    many = 1 + len(design.allocation.measured)
    if design.allocation.name == "all cells":
        return 0.05 + 4e-7 * cells * tree.sizes[-1]
    if design.settings.mode == "pilot":
        return 0.05 + 2e-7 * cells * tree.sizes[-1]
    return (
        0.05
        + 6e-8 * many * held
        + 1e-8 * many * cells * most_sweeps(cells, MOST_OF_WHOLE)
        + 2e-5 * min(held, cells * tree.sizes[-2 if tree.depth else -1])
    )
