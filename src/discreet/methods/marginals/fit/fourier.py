"""The Fourier basis over binary variables (barak §2.2), in whole numbers.

A coefficient here is Σ over records of ±1, the sign being the parity of the record's bits in a
mask: 2^(k/2) times the paper's ⟨f, x⟩. Bit i of an address is binary variable i. The fast
Walsh–Hadamard transform does all 2^k of them at once, and prices all 2^k cells at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ....core.product import Margin, Reals, Rows, Whole

_RADIX = 6


@lru_cache(maxsize=8)
def _hadamard(bits: int) -> Reals:
    matrix: Reals = np.ones((1, 1))
    for _ in range(bits):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def transform(values: npt.NDArray[np.generic]) -> Reals:
    """The unnormalised Walsh–Hadamard transform of 2^k numbers, by blocked matrix products.

    >>> transform(np.array([3, 1, 0, 2])).tolist()
    [6.0, 0.0, 2.0, 4.0]
    """
    out = np.asarray(values, dtype=np.float64).reshape(-1)
    left = out.size.bit_length() - 1
    while left:
        bits = min(_RADIX, left)
        # transforms the last bits and brings them to the front; all of them once round
        out = np.asarray((out.reshape(-1, 1 << bits) @ _hadamard(bits)).T.reshape(-1), np.float64)
        left -= bits
    return out


def masks_of(margins: Iterable[Margin]) -> Whole:
    """Margins over binary variables as bit masks."""
    return np.array([sum(1 << axis for axis in m) for m in margins], dtype=np.int64)


def parity(masks: Whole, addresses: Whole) -> Reals:
    """The ±1 matrix: one row for each mask, one column for each cell."""
    both = np.bitwise_and.outer(masks, addresses)
    return np.asarray(1.0 - 2.0 * (np.bitwise_count(both) & 1), dtype=np.float64)


def addresses_of(rows: Rows) -> Whole:
    """Addresses of cells given as rows of bits."""
    return rows @ (np.int64(1) << np.arange(rows.shape[1], dtype=np.int64))


def rows_of(addresses: Whole, bits: int) -> Rows:
    """Rows of bits of cells given by address."""
    return (addresses[:, None] >> np.arange(bits, dtype=np.int64)) & 1


def order_of(masks: Whole) -> Whole:
    """How many variables each coefficient uses."""
    return np.bitwise_count(masks).astype(np.int64)
