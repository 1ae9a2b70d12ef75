"""Which rows are surely in the right order, and which may swap: all pairs at once.

Where every row has its own draws of one additive law, the range of k independent draws has an exact
law: rows whose numbers differ by more than its quantile are in the right order, all of them
together. Elsewhere simultaneous exact intervals of the rows decide. Ranks are of true counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.exact import Exact
from ..core.table import ProtectedTable
from ..errors import CannotConclude
from .answer import Answer
from .cell_sets import cell_range
from .channel import LOW, Additive, Channel, Reals
from .evidence import Place, Reading, require_counts
from .independence import axis_places
from .intervals import Cell, read_level

_MOST_LISTED = 12


def range_quantile(masses: Reals, rows: int, level: float) -> int:
    """Least r with P(max − min ≤ r) ≥ level for so many independent draws, exact.

    Σ_m [F(m + r) − F(m − 1)]^k − [F(m + r) − F(m)]^k.
    """
    total = np.concatenate([[0.0], np.cumsum(masses / masses.sum())])
    many = len(masses)
    places = np.arange(many)

    def inside(gap: int) -> float:
        top = total[np.minimum(places + gap + 1, many)]
        return float(((top - total[:-1]) ** rows - (top - total[1:]) ** rows).sum())

    low, high = -1, many - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if inside(middle) >= level - 1e-12 else (middle, high)
    return high


def ranking(
    table: ProtectedTable, axis: str, cell: Cell | None = None, level: Exact = "0.95"
) -> Answer:
    """Rank the categories of an axis at the totals of the others, or at the categories of `cell`."""
    wanted = read_level(level)
    require_counts(table)
    reading = Reading(table)
    (position,) = axis_places(reading, axis)
    rows = reading.shape[position]
    if rows < 2:
        raise CannotConclude(f"{axis} has one category in this table: there is nothing to rank.")
    codes = table.domain.axes[position].level.codes
    places = [reading.place({**(cell or {}), axis: code}) for code in codes]
    symbols = np.array([reading.symbol(place) for place in places])
    channels = [reading.channel(place) for place in places]
    above, gap = _surely_above(channels, symbols, wanted)
    return _answer(reading, position, places, symbols, above, gap, wanted)


def _surely_above(channels: list[Channel], symbols: Any, level: float) -> tuple[Any, int | None]:
    """above[i, j]: whether row j is surely larger than row i; and the gap that is sure, if one is."""
    first = channels[0]
    alike = all(one is first for one in channels) and first.treatment.plain
    if alike and isinstance(first, Additive):
        gap = range_quantile(first.masses, len(channels), level)
        return symbols[None, :] - symbols[:, None] > gap, gap
    each = level ** (1 / len(channels))
    ranges = [
        cell_range(one, int(symbol), each) for one, symbol in zip(channels, symbols, strict=True)
    ]
    lower = np.array([one.lower for one in ranges])
    upper = np.array([one.upper for one in ranges])
    return lower[None, :] > upper[:, None], None


def _answer(
    reading: Reading,
    axis: int,
    places: list[Place],
    symbols: Any,
    above: Any,
    gap: int | None,
    level: float,
) -> Answer:
    rows = len(symbols)
    best, worst = 1 + above.sum(1), rows - above.sum(0)
    order = sorted(range(rows), key=lambda row: (-int(symbols[row]), row))
    ranked = [
        {
            "category": reading.label(axis, row),
            "released": int(symbols[row]) if symbols[row] > LOW else None,
            "ranks": [int(best[row]), int(worst[row])],
        }
        for row in order
    ]
    swaps = [
        [reading.label(axis, order[i]), reading.label(axis, order[i + 1])]
        for i in range(rows - 1)
        if not above[order[i + 1], order[i]]
    ]
    sure = int(sum(low == high for low, high in zip(best, worst, strict=True)))
    numbers = {
        "axis": reading.axes[axis],
        "level": level,
        "sure_gap": gap,
        "ranking": ranked,
        "may_swap": swaps,
        "sure_ranks": sure,
    }
    listed = "; ".join(" and ".join(pair) for pair in swaps[:_MOST_LISTED])
    more = " …" if len(swaps) > _MOST_LISTED else ""
    head = f"{reading.label(axis, order[0])} shows the most"
    head += ", and surely has the most" if worst[order[0]] == 1 else ", but need not have the most"
    if symbols.max() <= LOW:
        head = f"No category of {reading.axes[axis]} shows a number"
    sentence = f"{head}; {sure} of {rows} ranks of {reading.axes[axis]} are sure."
    caveats = [f"These neighbours may be the other way round: {listed}{more}."] if swaps else []
    if gap is not None:
        caveats.append(
            f"Rows whose numbers differ by more than {gap:,} are in the right order, all of them "
            f"together in at least {100 * level:.6g} % of releases."
        )
    caveats.append("Ranks are of what was counted; the noise alone is considered, not chance.")
    return Answer(sentence, numbers, tuple(caveats))
