"""How far the fitted table is from what was measured, checked and said (barak, Theorem 7).

With probability 0.95 no noise goes beyond its bound, all numbers at once. If the synthetic table is
within the same bounds of what was measured, then every such number is within twice its bound of the
truth. A table that was measured wider than any asked for is held to this in the margins asked for:
their noise is a sum of draws, bounded by its moments (Chernoff).

A fit beyond a bound is mixed with the table of the linear program that is nearest to all of them,
just enough to be within, up to `MOST_IN_PROGRAM` numbers. What holds in the end is checked on the whole numbers that are published,
and said in every release; where the bound does not hold, that is said instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from ....core.control import Control
from ....core.product import Margin, Reals, Rows, Whole, closure, margin_of_rows, maximal
from ....languages import say, together
from ...shared.invariants.public_margins import forbidden_with
from ...shared.synthetic_table import SyntheticTable
from ..fit.cells import summed
from ..fit.classic import Features, solve_program
from ..measured_tables import Measured, farthest

if TYPE_CHECKING:
    from ..design import Design

BOX_DELTA = 0.05
"""With probability 1 − this, no noise is larger than its bound (barak, proof of Theorem 7)."""
_WITHIN = 0.95
_NEARLY = 0.99
MOST_IN_PROGRAM = 1000
"""With more numbers than this the program takes too long, and the fit stands as it is."""


@dataclass(frozen=True)
class Held:
    """Numbers held to a bound: a measured table, or a margin of one, and how many draws each sums."""

    measured: Measured
    noisy: Whole
    draws: int


def held_numbers(design: Design, tables: Sequence[Whole]) -> list[Held]:
    """All measured numbers of margins asked for, summed where the table is wider."""
    asked = set(closure(design.margins))
    out: list[Held] = []
    for m, noisy in zip(design.allocation.measured, tables, strict=True):
        if m.margin in asked:
            out.append(Held(m, noisy, 1))
            continue
        for kept in maximal([k for k in asked if set(k) < set(m.margin)]):
            if set(m.contrast) <= set(kept):  # a difference cannot be summed away
                gone = tuple(i for i, axis in enumerate(m.margin) if axis not in kept)
                summed = np.asarray(noisy.sum(axis=gone), dtype=np.int64)
                draws = noisy.size // max(1, summed.size)
                out.append(Held(Measured(kept, m.contrast, m.rate, m.noise), summed, draws))
    return out


def box(held: Sequence[Held]) -> list[float]:
    """How far noise goes in each table, at most, with probability 1 − BOX_DELTA for all at once.

    Never less than one half (a fit in fractions cannot be nearer to whole numbers than that).
    """
    count = sum(h.noisy.size for h in held)
    return [max(0.5, farthest(h.measured, BOX_DELTA / count, h.draws)) for h in held]


def tables_beyond(design: Design, tables: Sequence[Whole], rows: Rows, mass: Reals) -> set[Margin]:
    """The margins with a number beyond its bound; none where they are too many for the program."""
    held = held_numbers(design, tables)
    if sum(h.noisy.size for h in held) > MOST_IN_PROGRAM:
        return set()
    found = set()
    for h, reach in zip(held, box(held), strict=True):
        margin = margin_of_rows(rows, design.shape, h.measured.margin, mass)
        off = h.measured.of(cast(Whole, margin)) - h.noisy
        if np.abs(off).max(initial=0.0) > _NEARLY * reach:
            found.add(h.measured.margin)
    return found


def within_bounds(
    design: Design, tables: Sequence[Whole], rows: Rows, mass: Reals, control: Control
) -> tuple[Rows, Reals]:
    """The fit if every number is within its bound, else moved as little as brings it there.

    The true table is within them with probability 1 − BOX_DELTA, so then the program finds one; but
    such a table is far from many numbers at once. So the fit and the program's table are mixed with
    the least share of the latter that is within all bounds; Theorem 7's argument holds for any.
    """
    held = held_numbers(design, tables)
    if not held:
        return rows, mass
    forbidden = forbidden_with(design.workload.forbidden, design.published)
    features = Features(design.shape, [h.measured for h in held], forbidden)
    target = np.concatenate([h.noisy.ravel() for h in held]).astype(np.float64)
    reach = np.repeat(box(held), np.diff(features.starts))
    off = _said(features, rows, mass) - target
    outside = float((np.abs(off) / reach)[features.touched].max(initial=0.0))
    if outside <= 1 or features.count > MOST_IN_PROGRAM:
        return rows, mass
    program = solve_program(features, target, "largest", scales=reach, start=rows, control=control)
    if program.value > 1:
        return rows, mass
    there = _said(features, program.rows, program.weights) - target
    share = _least_share(off[features.touched], there[features.touched], reach[features.touched])
    both = np.concatenate([rows, program.rows])
    cells, weights = summed(both, np.concatenate([(1 - share) * mass, share * program.weights]))
    support = np.flatnonzero(weights > 0)
    return cells[support], weights[support]


def _said(features: Features, rows: Rows, mass: Reals) -> Reals:
    """What a sparse table says of every number."""
    said = np.zeros(features.count)
    for at in range(0, len(rows), 500):
        said += features.columns(rows[at : at + 500]) @ mass[at : at + 500]
    return said


def _least_share(here: Reals, there: Reals, reach: Reals) -> float:
    """The least share of `there`, mixed into `here`, with which every number is within its reach.

    A little nearer where `there` is, so that rounding does not carry it out again.

    >>> round(_least_share(np.array([3.0, 0.0]), np.array([1.0, 1.0]), np.array([2.0, 2.0])), 3)
    0.55
    """
    most = np.maximum(_WITHIN * reach, np.minimum(np.abs(there), reach))
    beyond = np.abs(here) > most
    lacks = np.abs(here[beyond]) - most[beyond]
    gained = np.abs(here[beyond]) - np.sign(here[beyond]) * there[beyond]
    return float(np.clip(lacks / gained, 0.0, 1.0).max(initial=0.0))


def farthest_out(
    design: Design, tables: Sequence[Whole], table: SyntheticTable
) -> tuple[int, int, float]:
    """How many numbers are held to a bound, how many are beyond it, the farthest in its units."""
    held = held_numbers(design, tables)
    most, outside = 0.0, 0
    for h, reach in zip(held, box(held), strict=True):
        off = np.abs(h.measured.of(table.margin(h.measured.margin)) - h.noisy) / reach
        most = max(most, float(off.max()))
        outside += int((off > 1).sum())
    return sum(h.noisy.size for h in held), outside, most


def bound_in_words(design: Design, tables: Sequence[Whole], table: SyntheticTable) -> str:
    """Whether the bound holds for the published whole numbers, as a note for readers."""
    count, outside, most = farthest_out(design, tables, table)
    if count == 0:
        return say(
            "No measured number is held to a bound of its noise: none is of a table asked for."
        )
    if outside == 0:
        return say(
            "All {count} numbers measured of margins asked for are within the bound of "
            "their noise (95 % for all at once), the farthest at {value} % of it: with "
            "probability 0.95 none is farther from the truth than twice its bound.",
            count=count,
            value=math.ceil(100 * most),
        )
    text = say(
        "{outside} of the {count} numbers measured of margins asked for are beyond the "
        "bound of their noise (95 % for all at once), the farthest at {value} % of it: "
        "no bound on the largest error is claimed.",
        outside=outside,
        count=count,
        value=math.ceil(100 * most),
    )
    if count > MOST_IN_PROGRAM:
        more = say(
            "The program that would bring them within it is tried for up to "
            "{most_in_program} numbers only.",
            most_in_program=MOST_IN_PROGRAM,
        )
        text = together(text, more)
    return text
