"""Two neighbouring counts and what a law makes of each: the ground of audits and of composition."""

from __future__ import annotations

from ..errors import LawError
from .law import WholeWeights

ADD_REMOVE, REPLACE = "add or remove one", "replace one"
NEIGHBOURS = (ADD_REMOVE, REPLACE)
Pairs = list[tuple[int, int]]
"""Weights (P, Q) of one outcome under two neighbouring counts, over one total."""


def check_neighbours(neighbours: str) -> str:
    """One of the two kinds of neighbours, or `LawError`."""
    if neighbours not in NEIGHBOURS:
        raise LawError(
            f"neighbours must be {' or '.join(map(repr, NEIGHBOURS))}, got {neighbours!r}."
        )
    return neighbours


def pairs_of(law: WholeWeights, other: WholeWeights | None = None) -> tuple[Pairs, int]:
    """Weights of every outcome y under count n (P) and n + 1 (Q), and their total.

    `other` is the law of the count n + 1; the same law if left out. A law built for weighted
    counts is shifted by its sensitivity instead of 1.
    """
    shift = sensitivity_of(law)
    second = law if other is None else other
    if law.total != second.total:
        raise LawError(
            f"Rows of one p-table must share their keys, got {law.total} and {second.total}."
        )
    first, last = min(law.start, second.start + shift), max(law.end, second.end + shift)
    return [(law.weight(z), second.weight(z - shift)) for z in range(first, last + 1)], law.total


def sensitivity_of(law: WholeWeights) -> int:
    """How far one record moves a cell under this law: 1 unless it was built for weights."""
    return int(law.parameters.get("sensitivity", "1"))


def check_cells(cells: object) -> int:
    """A number of cells one person touches, or `LawError`."""
    good = isinstance(cells, int) and not isinstance(cells, bool)
    if not good or not 1 <= cells <= 1_000_000:  # type: ignore[operator]
        raise LawError(f"cells must be a whole number from 1 to 1000000, got {cells}.")
    return cells  # type: ignore[return-value]
