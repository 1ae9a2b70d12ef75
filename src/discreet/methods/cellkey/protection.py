"""From a sealed true table to perturbed values: the only place where both are seen.

The cube of counts and the cube of key sums are filled and summed along every axis; one hash over
all cells, one lookup. Sums of record keys are kept mod 2^64: 64-bit integers wrap just so.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...core.domain import Flags
from ...core.product import Whole
from ...core.question import TableSpec
from ...core.table import TrueTable
from ...core.true_values import Cells, cube, cubes, reveal
from ...errors import DataError
from .cell_descriptions import CellTexts
from .keys import Classical, Keys, StrongKeys, sum_of_halves, top_bits
from .lookup import Lookup
from .risk import SAMENESS

_BLOCK = 16384
_NOTHING = np.zeros(1, dtype=np.uint64)


class Protector:
    """A policy with its secret, for the time of one measurement."""

    __slots__ = ("_keys", "_lookup", "_named", "_scheme")

    def __init__(
        self, lookup: Lookup, scheme: Classical | None, sameness: str, secret: bytes
    ) -> None:
        self._lookup = lookup
        self._scheme = scheme
        self._named = sameness != SAMENESS[0]
        self._keys = StrongKeys(secret)

    def __repr__(self) -> str:
        return "<cell-key protector; secret sealed>"

    def protect(
        self,
        table: TrueTable,
        texts: CellTexts,
        zeros: Flags | None,
        spec: TableSpec,
        scale: int = 1,
        everybody: TrueTable | None = None,
    ) -> Whole:
        """The perturbed values, dense with totals where the question wants them.

        A weighted table needs `everybody`: the count and weight of all records, whatever its
        filter.
        """
        cells = reveal(table)
        if cells.key_low is None or cells.key_high is None:
            raise DataError(
                "The records of this data set have no record keys, which cell-key tables need. "
                "Load the data again with an id column, or let keys be drawn."
            )
        shape = table.domain.shape
        columns = [cells.counts, self._sums(cells).view(np.int64)]
        counts, sums = cubes(shape, cells.addresses, columns, spec.totals)
        keys = sums.view(np.uint64).ravel()
        noise = self.perturbations(counts.ravel(), keys, texts).reshape(counts.shape)
        if spec.weighted:
            values = self._weighted(cells, counts, noise, spec, shape, scale, everybody)
        else:
            values = np.add(counts, noise, out=counts)
        if zeros is not None:
            values[zeros] = 0
        return values

    def perturbations(self, counts: Whole, sums: Keys, texts: CellTexts) -> npt.NDArray[np.int16]:
        """The perturbation of every cell of flat arrays.

        Block by block: what a block needs stays in the processor's cache.
        """
        names = self._descriptions(texts)
        found = np.empty(counts.size, dtype=np.int16)
        for start in range(0, counts.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            keys = self.cell_keys(counts[part], sums[part], names if names is None else names[part])
            found[part] = self._lookup(counts[part], keys)
        return found

    def _sums(self, cells: Cells) -> Keys:
        assert cells.key_low is not None
        assert cells.key_high is not None
        if self._scheme is None:
            return sum_of_halves(cells.key_low, cells.key_high)
        return cells.key_low.view(np.uint64)

    def _descriptions(self, texts: CellTexts) -> Keys | None:
        """The description of every cell, or None where no key depends on it."""
        if self._lookup.table.zeros_kept and not self._named:
            return None  # an empty cell stays 0 whatever its key
        return texts.numbers(self._keys).reshape(-1)

    def cell_keys(self, counts: Whole, sums: Keys, names: Keys | None) -> Keys:
        """The cell key of every cell, below the keys of the p-table."""
        table = self._lookup.table
        if self._scheme is None:
            keys = self._keys.cell_keys(sums, counts, self._in_key(counts, names))
            return top_bits(keys, table.key_bits or 64)
        keys = self._scheme.cell_keys(sums)
        if names is not None:
            empty = np.flatnonzero(counts == 0)
            nothing = np.zeros(empty.size, dtype=np.uint64)
            full = self._keys.cell_keys(nothing, nothing.view(np.int64), names[empty])
            keys[empty] = full % np.uint64(table.keys)
        return keys

    def _in_key(self, counts: Whole, names: Keys | None) -> Keys:
        """What of the descriptions is part of the key: all, those of empty cells, or nothing."""
        if names is None:
            return _NOTHING
        if self._named:
            return names
        only: Keys = np.multiply(names, counts == 0)
        return only

    def _weighted(
        self,
        cells: Cells,
        counts: Whole,
        perturbations: npt.NDArray[np.int16],
        spec: TableSpec,
        domain_shape: tuple[int, ...],
        scale: int,
        everybody: TrueTable | None,
    ) -> Whole:
        whole = None if everybody is None else reveal(everybody)
        if cells.weights is None or whole is None or whole.weights is None:
            raise DataError(
                "The records of this data set have no weights. Name a weight in its description."
            )
        weights = cube(domain_shape, cells.addresses, cells.weights, spec.totals)
        of_all = (int(whole.counts.sum()), int(whole.weights.sum()))
        return weighted_values(counts, perturbations, weights, scale, of_all)


def weighted_values(
    counts: Whole,
    perturbations: npt.NDArray[np.int16],
    weights: Whole,
    scale: int,
    whole: tuple[int, int],
) -> Whole:
    """(n + v) × mean weight, rounded to whole numbers, half up; exact.

    `weights` are sums in units of 1/scale. An empty cell has no mean weight and takes that of all
    records (`whole`: their count and weight sum): one number for every question, or a cell that
    changes with the filter would show that it is empty.

    >>> weighted_values(np.array([4, 0]), np.array([1, 2], np.int16), np.array([1000, 0]), 100, (4, 1000))
    array([13,  5])
    """
    empty = counts == 0
    n = np.where(empty, max(whole[0], 1), counts)
    w = np.where(empty, whole[1] if whole[0] else scale, weights)
    moved = np.where(empty, perturbations - n, perturbations)  # so that n + moved = v
    most = int(np.abs(w).max(initial=0)) * int(np.abs(moved).max(initial=1) + 1)
    if max(most, int(n.max(initial=0)) * scale) >= 1 << 60:
        n, w, moved = (array.astype(object) for array in (n, w, moved))
    # (n + v)·w / (n·scale) = w/scale + v·w/(n·scale), which stays far below 2^63.
    units, rest = w // scale, w % scale
    part = (2 * (rest * n + moved * w) + n * scale) // (2 * n * scale)
    return np.asarray(units + part, dtype=np.int64)
