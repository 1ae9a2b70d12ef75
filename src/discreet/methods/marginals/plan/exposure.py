"""How far one unit moves what a plan measures: the ways of which none is surpassed; public facts only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....core.description import Description
from ....core.neighbours import Neighbours
from ....core.plan_loss import Move, Moves, moves_of, worst_rows
from ....core.product import Margin, Whole
from ...shared.guarantee import Exposure
from ..measured_tables import Measured, flips, symmetric_orders

if TYPE_CHECKING:
    from ..design import Design

_MOST_AXES = 12


def exposure(design: Design, description: Description) -> Exposure:
    """What one unit moves by being there, by being replaced, and by being in another category."""
    measured, records = design.allocation.measured, description.records_per_unit
    margins = () if design.published is None else design.published.margins
    refs = design.workload.refs
    published = tuple(dict.fromkeys(refs[axis].variable for m in margins for axis in m))
    every = tuple(range(len(design.shape)))
    free = every if not published else tuple(i for i in every if refs[i].variable not in published)
    added = moves_of((Move(m.law, 1, records), 1) for m in measured)
    alone = description.neighbours is Neighbours.ADD_REMOVE
    return Exposure(
        (added,) if alone else replaced(measured, every, len(every), records),
        replaced(measured, free, len(every), records),
        published,
        number_is_public=design.total is not None,
    )


def replaced(
    measured: Sequence[Measured], free: Margin, axes: int, records: int
) -> tuple[Moves, ...]:
    """What a unit moves whose records change their place on some of the `free` axes.

    A table of cells is left in one and entered in another; of a contrast one number is turned from
    1 to −1, where an odd number of its axes changes. Where too many sets of axes would have to be
    looked at, every table is moved as far as it can be: a bound.
    """
    laws = list(dict.fromkeys(m.law for m in measured))
    rows = _cells_and_turned(measured, [laws.index(m.law) for m in measured], free, axes)
    ways = [Move(law, step, records) for step in (1, 2) for law in laws]
    found = (
        moves_of((way, int(times)) for way, times in zip(ways, row, strict=True))
        for row in worst_rows([tuple(row) for row in rows.tolist()])
    )
    return tuple(moves for moves in found if moves)


def _cells_and_turned(
    measured: Sequence[Measured], law: Sequence[int], free: Margin, axes: int
) -> Whole:
    """For sets of changed axes, how many cells of each law are moved by 1, and how many by 2."""
    laws = max(law) + 1
    orders = symmetric_orders([m for m in measured if m.margin], axes)
    if orders is not None and len(free) == axes:
        rates, order = orders
        of_order = {len(m.margin): i for m, i in zip(measured, law, strict=True)}
        out = np.zeros((axes, 2 * laws), dtype=np.int64)
        for number, turned in enumerate(flips(axes, order)):
            for r in rates:
                out[number, laws + of_order[r]] += turned[r]
        return out
    bits = {axis: 1 << place for place, axis in enumerate(free)}
    every = (1 << len(free)) - 1
    if not any(m.contrast for m in measured):
        changed = np.array([every], dtype=np.int64)
    elif len(free) <= _MOST_AXES:
        changed = np.arange(every + 1, dtype=np.int64)
    else:
        changed = np.zeros(0, dtype=np.int64)
    out = np.zeros((max(1, len(changed)), 2 * laws), dtype=np.int64)
    for m, i in zip(measured, law, strict=True):
        cells = sum(bits.get(axis, 0) for axis in m.cells)
        contrast = sum(bits.get(axis, 0) for axis in m.contrast)
        if not len(changed):
            out[0, laws + i if contrast else i] += 1 if contrast else 2 * bool(cells)
            continue
        left = (changed & cells) != 0
        out[:, i] += 2 * left
        out[:, laws + i] += ~left & (np.bitwise_count(changed & contrast) % 2 == 1)
    return out
