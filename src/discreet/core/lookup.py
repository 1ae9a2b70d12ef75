"""From cell keys to perturbations: the z with c(z − 1) ≤ key < c(z), sadeghi eq. 40.

The top 16 bits of a key decide nearly always; the rest is a search among the exact thresholds.
Keys are whole numbers below 2^key_bits, of any unsigned type.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..errors import LawError
from .law import CountLaw, Law

_OPEN = np.iinfo(np.int32).min


class RowLookup:
    """The perturbations of many laws that share one key size, by row and key."""

    def __init__(self, laws: Sequence[Law]) -> None:
        bits = {law.key_bits for law in laws}
        if len(bits) != 1:
            raise LawError(
                f"The rows of one look-up must share key_bits, got {sorted(bits) or 'no rows'}."
            )
        self.key_bits = bits.pop()
        self.guide_bits = min(self.key_bits, 16)
        self.laws = tuple(laws)
        self.inner = [np.array(law.thresholds[:-1], dtype=np.uint64) for law in laws]
        self.table = np.stack([self._row(i) for i in range(len(laws))]).reshape(-1)

    def _row(self, row: int) -> NDArray[np.int32]:
        rest = self.key_bits - self.guide_bits
        first = np.arange(1 << self.guide_bits, dtype=np.uint64) << np.uint64(rest)
        last = first + np.uint64((1 << rest) - 1)
        low, high = self._search(row, first), self._search(row, last)
        return np.where(low == high, low, _OPEN).astype(np.int32)

    def _search(self, row: int, keys: NDArray[np.unsignedinteger]) -> NDArray[np.int64]:
        law = self.laws[row]
        found = np.searchsorted(self.inner[row], keys.astype(np.uint64), side="right")
        return np.asarray(found, dtype=np.int64) + law.start

    def __call__(
        self, rows: NDArray[np.integer], keys: NDArray[np.unsignedinteger]
    ) -> NDArray[np.int32]:
        """The perturbation of each key under the law of its row."""
        keys = check_keys(keys, self.key_bits)
        rows = np.asarray(rows)
        if rows.shape != keys.shape:
            raise LawError(
                f"rows and keys must be of one shape, got {rows.shape} and {keys.shape}."
            )
        if rows.size and not 0 <= int(rows.min()) <= int(rows.max()) < len(self.laws):
            raise LawError(
                f"A row must be from 0 to {len(self.laws) - 1}. "
                "Let the last row serve larger counts before looking up."
            )
        top = keys >> keys.dtype.type(self.key_bits - self.guide_bits)
        out = self.table[(rows.astype(np.int64) << self.guide_bits) + top.astype(np.int64)]
        open_at = np.flatnonzero(out.reshape(-1) == _OPEN)
        if open_at.size:
            flat, all_rows, all_keys = out.reshape(-1), rows.reshape(-1), keys.reshape(-1)
            for row in np.unique(all_rows[open_at]):
                at = open_at[all_rows[open_at] == row]
                flat[at] = self._search(int(row), all_keys[at])
            out = flat.reshape(out.shape)
        return np.asarray(out, dtype=np.int32)


def lookup(law: Law, keys: NDArray[np.unsignedinteger]) -> NDArray[np.int32]:
    """The perturbation of each cell key.

    >>> law = Law("coin", {}, -1, (64, 128, 64), 8)
    >>> lookup(law, np.array([0, 63, 64, 191, 192, 255], dtype=np.uint8)).tolist()
    [-1, -1, 0, 0, 1, 1]
    """
    keys = np.asarray(keys)
    return _cached((law,))(np.zeros(keys.shape, dtype=np.int8), keys)


def lookup_rows(
    laws: Sequence[Law] | CountLaw,
    rows: NDArray[np.integer],
    keys: NDArray[np.unsignedinteger],
) -> NDArray[np.int32]:
    """The perturbation of each cell key under the law of its own row."""
    chosen = laws.rows if isinstance(laws, CountLaw) else tuple(laws)
    return _cached(chosen)(rows, keys)


@lru_cache(maxsize=32)
def _cached(laws: tuple[Law, ...]) -> RowLookup:
    return RowLookup(laws)


def check_keys(keys: NDArray[np.unsignedinteger], key_bits: int) -> NDArray[np.unsignedinteger]:
    """Keys of an unsigned type, all below 2^key_bits, or `LawError` that shows none of them."""
    keys = np.asarray(keys)
    if keys.dtype.kind != "u":
        raise LawError(
            f"Cell keys must be unsigned integers, got {keys.dtype}. "
            "Cast them with astype(numpy.uint64)."
        )
    width = keys.dtype.itemsize * 8
    if width < key_bits:
        keys = keys.astype(np.uint64)
    elif width > key_bits and keys.size and int(keys.max()) >> key_bits:
        raise LawError(
            f"A cell key is not below 2^{key_bits}, the key size of this law. "
            f"Use a law with more key_bits, or reduce the keys modulo 2^{key_bits}."
        )
    return keys
