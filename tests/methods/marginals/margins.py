"""Margins that many tests ask for."""

from __future__ import annotations

import itertools


def all_ways(axes: int, order: int) -> list[tuple[int, ...]]:
    """All margins of so many axes: "all 2-way"."""
    return list(itertools.combinations(range(axes), order))
