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
from ..languages import number, say, together
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
        raise CannotConclude(
            say("{axis} has one category in this table: there is nothing to rank.", axis=axis)
        )
    codes = table.domain.axes[position].level.codes
    places = [reading.place({**(cell or {}), axis: code}) for code in codes]
    symbols = np.array([reading.symbol(place) for place in places])
    channels = [reading.channel(place) for place in places]
    for one, symbol in zip(channels, symbols.tolist(), strict=True):
        one.require(symbol)
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
    first = None if symbols.max() <= LOW else reading.label(axis, order[0])
    surely = bool(worst[order[0]] == 1)
    sentence = _sentence(reading.axes[axis], first, surely, sure, rows)
    caveats: list[str] = []
    if swaps:
        caveats.append(
            say(
                "These neighbours may be the other way round: {listed}{more}.",
                listed=together(*map(_pair, swaps[:_MOST_LISTED]), between="; "),
                more=" …" if len(swaps) > _MOST_LISTED else "",
            )
        )
    if gap is not None:
        caveats.append(
            say(
                "Rows whose numbers differ by more than {gap} are in the right order, all of them "
                "together in at least {value} % of releases.",
                gap=gap,
                value=number(f"{100 * level:.6g}"),
            )
        )
    caveats.append(say("Ranks are of what was counted; the noise alone is considered, not chance."))
    return Answer(sentence, numbers, tuple(caveats))


def _pair(names: list[str]) -> str:
    return say("{first} and {last}", first=names[0], last=names[1])


def _sentence(axis: str, first: str | None, surely: bool, sure: int, rows: int) -> str:
    """Who shows the most, if anybody shows a number, and how many ranks are sure."""
    values = {"axis": axis, "first": first or "", "sure": sure, "rows": rows}
    if first is None:
        return say(
            "No category of {axis} shows a number; {sure} of {rows} ranks of {axis} are sure.",
            **values,
        )
    if surely:
        return say(
            "{first} shows the most, and surely has the most; {sure} of {rows} ranks of {axis} are "
            "sure.",
            **values,
        )
    return say(
        "{first} shows the most, but need not have the most; {sure} of {rows} ranks of {axis} are "
        "sure.",
        **values,
    )
