"""Least squares where residuals have no closed form: mixed levels, structural zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.domain import Flags
from ...core.product import Reals, Whole


def sparse_estimate(
    size: int,
    readings: Sequence[tuple[Whole, Whole, float]],
    impossible: Flags | None,
    targets: Sequence[tuple[Whole, int]],
) -> list[Reals]:
    """Least squares over a joint table of `size` cells, by a sparse solver.

    A reading is (address in the margin of each joint cell, the margin's values, variance);
    a target is (address of each joint cell, how many cells). Impossible joint cells are 0.
    """
    from scipy.sparse import csr_array, vstack
    from scipy.sparse.linalg import lsmr

    free = np.arange(size) if impossible is None else np.flatnonzero(~impossible.ravel())
    blocks, right = [], []
    for address, values, variance in readings:
        ones = np.full(len(free), 1 / math.sqrt(variance))
        shape = (values.size, len(free))
        places = (address[free], np.arange(len(free)))
        blocks.append(csr_array((ones, places), shape=shape))  # type: ignore[no-untyped-call]
        right.append(values.ravel() / math.sqrt(variance))
    system = vstack(blocks)  # type: ignore[no-untyped-call]
    solved = lsmr(  # type: ignore[no-untyped-call]
        system, np.concatenate(right), atol=1e-12, btol=1e-12, maxiter=10_000
    )
    joint = np.asarray(solved[0], dtype=np.float64)
    return [
        np.asarray(np.bincount(address[free], weights=joint, minlength=cells), np.float64)
        for address, cells in targets
    ]
