"""Least squares where residuals have no closed form: mixed levels, structural zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.domain import Flags
from ...core.product import Reals, Whole

MOST_DENSE = 2_500
"""Joint cells up to which the variances of estimates are worked out; it takes a second or two."""


def estimate_variances(
    size: int,
    readings: Sequence[tuple[Whole, int, float]],
    impossible: Flags | None,
    targets: Sequence[tuple[Whole, int]],
    *,
    total_known: bool,
) -> list[Reals] | None:
    """The variance of each estimate of `sparse_estimate`.

    None where the joint table is too large for it, or readings too unlike each other.

    A reading is here (address of each joint cell, how many cells, variance). What readings leave open
    has a weak prior, too weak to be seen in targets, which are sums of what was read. A known total
    takes away what estimates have in common with the estimate of the total.
    """
    from scipy.linalg import cho_factor, solve_triangular

    free = np.arange(size) if impossible is None else np.flatnonzero(~impossible.ravel())
    weights = [1 / variance for *_, variance in readings]
    weakest = max(1e-10 * min(weights), 1e-13 * len(free) * sum(weights))
    if len(free) > MOST_DENSE or weakest > 1e-6 * min(weights):
        return None
    information = np.zeros((len(free), len(free)))
    for address, _, variance in readings:
        information += (address[free][:, None] == address[free][None, :]) / variance
    information[np.diag_indices(len(free))] += weakest
    lower, _ = cho_factor(information, lower=True, overwrite_a=True, check_finite=False)
    spreads = []
    for address, cells in targets:
        sums = np.zeros((len(free), cells))
        sums[np.arange(len(free)), address[free]] = 1
        halves = solve_triangular(lower, sums, lower=True, check_finite=False)
        spread = (halves**2).sum(axis=0)
        if total_known:
            total = solve_triangular(lower, np.ones(len(free)), lower=True, check_finite=False)
            spread -= (total @ halves) ** 2 / (total @ total)
        spreads.append(np.asarray(np.maximum(spread, 0), dtype=np.float64))
    return spreads


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
