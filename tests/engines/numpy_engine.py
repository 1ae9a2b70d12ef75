"""A second engine, small and plain, for the contract suite: numpy arrays held in memory.

It shares nothing with the DuckDB engine but the protocol: coarser levels are looked up at every
count, cells are found by sorting, and nothing is summed from anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.core.control import Control
from discreet.core.description import Description
from discreet.core.domain import Count
from discreet.core.table import TrueTable
from discreet.core.true_values import Cells, seal
from discreet.errors import InputError


class NumpyEngine:
    """Counts records given as one array of finest-level indices for each variable."""

    name = "numpy"

    def __init__(
        self,
        description: Description,
        codes: Mapping[str, np.ndarray],
        key_low: np.ndarray,
        key_high: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> None:
        self._description = description
        self._codes = codes
        self._key_low = key_low.astype(np.int64)
        self._key_high = key_high.astype(np.int64)
        self._weights = None if weights is None else weights.astype(np.int64)

    def count(
        self,
        counts: Sequence[Count],
        *,
        keys: bool = False,
        weights: bool = False,
        control: Control | None = None,
    ) -> list[TrueTable]:
        if weights and self._weights is None:
            raise InputError("There are no weights.")
        tables = []
        for count in counts:
            if control is not None:
                control.step(0.0, "counting")
            tables.append(self._count(count, keys, weights))
        return tables

    def close(self) -> None:
        self._codes = {}

    def _at(self, variable: str, level: str) -> np.ndarray:
        of_finest = self._description.variable(variable).level(level).of_finest
        return np.array(of_finest, dtype=np.int64)[self._codes[variable]]

    def _count(self, count: Count, keys: bool, weights: bool) -> TrueTable:
        domain = self._description.domain(count.axes)
        passes = np.ones(len(self._key_low), dtype=bool)
        for condition in count.where:
            level = self._description.variable(condition.variable).level(condition.level)
            try:
                wanted = [level.index[code] for code in condition.codes]
            except KeyError:
                raise InputError("There is no such category.") from None
            passes &= np.isin(self._at(condition.variable, condition.level), wanted)
        sides = [self._at(ref.variable, ref.level)[passes] for ref in count.axes]
        rows = np.stack(sides, axis=1) if sides else np.zeros((int(passes.sum()), 0), np.int64)
        held, inverse = np.unique(domain.address(rows), return_inverse=True)

        def summed(values: np.ndarray) -> np.ndarray:
            sums = np.zeros(len(held), dtype=np.int64)
            np.add.at(sums, inverse, values[passes])
            return sums

        return seal(
            domain,
            Cells(
                held,
                summed(np.ones(len(passes), dtype=np.int64)),
                summed(self._key_low) if keys else None,
                summed(self._key_high) if keys else None,
                summed(self._weights) if weights and self._weights is not None else None,
            ),
        )
