"""Brute force over every data set of a few people: what the method computes cleverly, done plainly.

Nothing here uses the method's own weights or solvers. A data set is a value for each person; its
probability is the product of the persons' own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from discreet.methods.suppression.cell_weights import CellPeople

TIE = 1e-12


class DataSets:
    """Every data set of the people of some cells, with its probability."""

    def __init__(self, cells: Sequence[CellPeople]) -> None:
        laws, place = [], []
        for cell, people in enumerate(cells):
            for law, many in zip(people.laws, people.counts, strict=True):
                laws += [law] * many
                place += [cell] * many
        self.laws, self.place = laws, np.array(place)
        self.values = np.array(list(itertools.product(*(range(len(law)) for law in laws))))
        self.chance = np.ones(len(self.values))
        for person, law in enumerate(laws):
            self.chance *= np.array(law)[self.values[:, person]]
        possible = self.chance > 0  # whose value is certain has no other
        self.values, self.chance = self.values[possible], self.chance[possible]
        self.tables = np.stack(
            [self.values[:, self.place == cell].sum(axis=1) for cell in range(len(cells))], axis=1
        )

    def law(self, cell: int, given: np.ndarray, size: int) -> np.ndarray:
        """The law of a cell's sum among the data sets given."""
        found = np.bincount(self.tables[given, cell], self.chance[given], minlength=size)
        return found / self.chance[given].sum()

    def off(self, given: np.ndarray) -> float:
        """The largest |1 − posterior/prior| of anybody and any value, given these data sets."""
        mass = self.chance[given].sum()
        worst = 0.0
        for person, law in enumerate(self.laws):
            for value, prior in enumerate(law):
                if 0 < prior < 1:
                    posterior = self.chance[given & (self.values[:, person] == value)].sum() / mass
                    worst = max(worst, abs(1 - posterior / prior))
        return worst

    def same(self, sums: Sequence[Sequence[int]], table: np.ndarray) -> np.ndarray:
        """The data sets whose sums over these sets of cells are those of a table."""
        given = np.ones(len(self.tables), dtype=bool)
        for cells in sums:
            given &= self.tables[:, list(cells)].sum(axis=1) == table[list(cells)].sum()
        return given


def lines(shape: tuple[int, int]) -> list[list[int]]:
    """The cells of each row and each column."""
    cells = np.arange(shape[0] * shape[1]).reshape(shape)
    return [*cells.tolist(), *cells.T.tolist()]
