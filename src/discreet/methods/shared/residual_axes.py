"""The axes of a table's law: how the cells of its margin are summed to its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.residual_law import ResidualAxis
from .workload import Wanted


def residual_axes(
    wanted: Wanted, names: Sequence[str], own: Mapping[int, str]
) -> tuple[ResidualAxis, ...] | None:
    """An axis for each of the table's margin; None where its cells are no product of categories.

    `names` are the table's axes in order; `own` names axes of the product that it only filters by.
    """
    sides = {
        position: (name, places)
        for name, (position, places) in zip(names, wanted.projection.sides, strict=True)
    }
    if len(sides) < len(names):
        return None
    axes = []
    lengths = wanted.projection.whole.shape
    for position, (axis, length) in enumerate(zip(wanted.margin, lengths, strict=True)):
        passing = wanted.allowed[position]
        name, found = sides.get(position, (own[axis], np.zeros(length, np.int64)))
        places = np.arange(length) if found is None else found
        plain = position in sides and found is None and bool(passing.all())
        groups = None if plain else tuple(np.where(passing, places, -1).tolist())
        axes.append(ResidualAxis(name, length, groups, position not in sides))
    return tuple(axes)
