"""Least squares where residuals have no closed form: mixed levels, structural zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ...core.domain import Flags
from ...core.product import Reals, Whole

MOST_DENSE = 2_500
"""Numbers for which a dense system is solved; it takes a few seconds."""
_MOST_WORK = 2 * 10**10
"""Multiplications that the variances of one target may take."""
_WEAK = 1e-10
"""The weight, beside the largest, of what stands for no information; seen in the fifth digit at most."""

Groups = tuple[Whole, int]
"""The address of each joint cell in a margin, and how many cells that has."""


def estimate_variances(
    size: int,
    readings: Sequence[tuple[Whole, int, float]],
    impossible: Flags | None,
    targets: Sequence[Groups],
    *,
    total_known: bool,
) -> list[Reals | None]:
    """The variance of each estimate of `sparse_estimate`; None where that would take too long.

    A reading is here (address of each joint cell, how many cells, variance). Exact up to float
    precision where one reading sees every joint cell by itself: the others then change its
    covariance by a term of small rank, however large the joint table is. Elsewhere it is the
    projection onto what readings can say, to five digits: in the space of joint cells where they are
    few, in that of readings where these are. A known total takes away what estimates have in common
    with the estimate of the total.
    """
    free = np.arange(size) if impossible is None else np.flatnonzero(~impossible.ravel())
    seen = [_Reading(address[free], cells, variance) for address, cells, variance in readings]
    wanted = [_Reading(address[free], cells, 1.0) for address, cells in targets]
    alone = next((one for one in seen if one.cells <= size and one.tells_apart), None)
    system: _Covariance
    if alone is not None and sum(one.cells for one in seen) - alone.cells <= MOST_DENSE:
        system = _LowRank(alone, [one for one in seen if one is not alone])
    elif len(free) <= MOST_DENSE and _alike(seen, len(free)):
        system = _OfCells(seen, len(free))
    elif sum(one.cells for one in seen) <= MOST_DENSE:
        system = _OfReadings(seen)
    else:
        return [None] * len(targets)
    whole = _Reading(np.zeros(len(free), dtype=np.int64), 1, 1.0)
    return [system.variances(one, whole if total_known else None) for one in wanted]


@dataclass(frozen=True)
class _Reading:
    """Sums of joint cells: the address of each, how many sums, the variance of one."""

    address: Whole
    cells: int
    variance: float

    @cached_property
    def counts(self) -> Reals:
        """How many joint cells each sum has."""
        return np.bincount(self.address, minlength=self.cells).astype(np.float64)

    @property
    def tells_apart(self) -> bool:
        """Whether every joint cell is a sum of its own."""
        return bool((self.counts <= 1).all())

    @cached_property
    def matrix(self) -> Any:
        """One row a sum, one column a joint cell."""
        from scipy.sparse import csr_array

        many = len(self.address)
        places = (self.address, np.arange(many))
        return csr_array((np.ones(many), places), shape=(self.cells, many))  # type: ignore[no-untyped-call]


class _Covariance(Protocol):
    def variances(self, target: _Reading, total: _Reading | None) -> Reals | None:
        """The variance of each cell of a target, given the total where there is one."""


def _given_total(spread: Reals, common: Reals, total: float) -> Reals:
    """Variances once the total is known: without what each has in common with it."""
    less = spread - common**2 / total if total > 0 else spread
    return np.asarray(np.maximum(less, 0.0), dtype=np.float64)


class _LowRank:
    """A reading v of every cell by itself, and others A: v − v² Aᵀ(V + v A Aᵀ)⁻¹A (Woodbury)."""

    def __init__(self, alone: _Reading, others: Sequence[_Reading]) -> None:
        from scipy.linalg import cho_factor, cho_solve
        from scipy.sparse import vstack

        self.variance = alone.variance
        self.rest: Any = None
        if others:
            self.rest = vstack([one.matrix for one in others]).tocsr()  # type: ignore[no-untyped-call]
            own = np.concatenate([np.full(one.cells, one.variance) for one in others])
            system = self.variance * (self.rest @ self.rest.T).toarray() + np.diag(own)
            factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
            self.inverse = cho_solve(factor, np.eye(len(own)), check_finite=False)  # type: ignore[no-untyped-call]

    def variances(self, target: _Reading, total: _Reading | None) -> Reals | None:
        """Exactly; None where a target's cells meet too many readings."""
        spread = self.variance * target.counts
        common, whole = spread, float(spread.sum())
        if self.rest is not None:
            meets = (target.matrix @ self.rest.T).tocsr()
            gain = self._quadratic(meets)
            if gain is None:
                return None
            spread = spread - self.variance**2 * gain
            every = self.inverse @ np.asarray(self.rest.sum(axis=1)).ravel()
            common = common - self.variance**2 * (meets @ every)
            whole -= self.variance**2 * float(np.asarray(self.rest.sum(axis=1)).ravel() @ every)
        return np.maximum(spread, 0.0) if total is None else _given_total(spread, common, whole)

    def _quadratic(self, meets: Any) -> Reals | None:
        """For each row u of a sparse matrix, uᵀ S⁻¹ u."""
        lengths = np.diff(meets.indptr)
        if meets.shape[0] * self.inverse.size <= _MOST_WORK:
            step = max(1, 10**7 // self.inverse.shape[0])
            parts = [meets[at : at + step] for at in range(0, meets.shape[0], step)]
            found = [np.asarray(p.multiply(p @ self.inverse).sum(axis=1)).ravel() for p in parts]
            return np.concatenate(found)
        if float((lengths.astype(np.float64) ** 2).sum()) > _MOST_WORK / 20:
            return None
        out = np.zeros(meets.shape[0])
        for length in np.unique(lengths[lengths > 0]).tolist():
            rows = np.flatnonzero(lengths == length)
            places = meets.indptr[rows][:, None] + np.arange(length)
            columns, numbers = meets.indices[places], meets.data[places]
            for one in range(length):
                for two in range(length):
                    pair = self.inverse[columns[:, one], columns[:, two]]
                    out[rows] += numbers[:, one] * numbers[:, two] * pair
        return out


class _OfReadings:
    """In the space of readings: the projection onto what a joint table can say there."""

    def __init__(self, seen: Sequence[_Reading]) -> None:
        from scipy.linalg import cholesky
        from scipy.sparse import vstack

        self.seen = seen
        self.sd = np.sqrt(np.concatenate([np.full(one.cells, one.variance) for one in seen]))
        every: Any = vstack([one.matrix for one in seen]).tocsr()  # type: ignore[no-untyped-call]
        gram = (every @ every.T).toarray() / np.outer(self.sd, self.sd)
        self.weak = _WEAK * float(gram.diagonal().max())
        gram[np.diag_indices(len(gram))] += self.weak
        self.lower = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)

    def variances(self, target: _Reading, total: _Reading | None) -> Reals | None:
        """None where no single reading gives the target."""
        sums = self._from_reading(target)
        if sums is None:
            return None
        halves, squares = self._half(sums), (sums**2).sum(axis=0)
        spread = squares - self.weak * (halves**2).sum(axis=0)
        if total is None:
            return np.asarray(np.maximum(spread, 0.0), dtype=np.float64)
        whole = self._from_reading(total)
        assert whole is not None
        half = self._half(whole)
        common = (whole.T @ sums - self.weak * half.T @ halves).ravel()
        alone = float((whole**2).sum() - self.weak * (half**2).sum())
        return _given_total(spread, common, alone)

    def _half(self, sums: Reals) -> Reals:
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.lower, sums, lower=True, check_finite=False))

    def _from_reading(self, target: _Reading) -> Reals | None:
        """The target as sums of one reading's numbers in units of their sd; the least noisy one."""
        found: Reals | None = None
        start = 0
        for one in self.seen:
            here = slice(start, start + one.cells)
            start += one.cells
            first = np.full(one.cells, -1, dtype=np.int64)
            first[one.address] = target.address
            if not (first[one.address] == target.address).all():
                continue
            held = np.flatnonzero(first >= 0)
            sums = np.zeros((len(self.sd), target.cells))
            sums[here][held, first[held]] = self.sd[here][held]
            if found is None or (sums**2).sum() < (found**2).sum():
                found = sums
        return found


def _weakest(seen: Sequence[_Reading], size: int) -> float:
    weights = [1 / one.variance for one in seen]
    return max(_WEAK * min(weights), 1e-13 * size * sum(weights))


def _alike(seen: Sequence[_Reading], size: int) -> bool:
    """Whether float precision is enough for readings as different as these."""
    return _weakest(seen, size) <= 1e-6 / max(one.variance for one in seen)


class _OfCells:
    """In the space of joint cells, what readings leave open having a weak prior."""

    def __init__(self, seen: Sequence[_Reading], size: int) -> None:
        from scipy.linalg import cholesky

        information = np.zeros((size, size))
        for one in seen:
            information += (one.address[:, None] == one.address[None, :]) / one.variance
        information[np.diag_indices(size)] += _weakest(seen, size)
        self.lower = cholesky(information, lower=True, overwrite_a=True, check_finite=False)

    def variances(self, target: _Reading, total: _Reading | None) -> Reals | None:
        """Up to the weak prior, which is not seen in sums of what was read."""
        from scipy.linalg import solve_triangular

        sums = target.matrix.toarray().T
        halves = solve_triangular(self.lower, sums, lower=True, check_finite=False)
        spread = np.asarray((halves**2).sum(axis=0), dtype=np.float64)
        if total is None:
            return spread
        ones = np.ones(len(self.lower))
        half = solve_triangular(self.lower, ones, lower=True, check_finite=False)
        return _given_total(spread, half @ halves, float(half @ half))


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
