"""Agreement between margins noised separately: weighted least squares, and integers that add up.

Where the measured margins are over the same levels and no cell is impossible, the answer has a
closed form. A table splits into components, one for each set S of axes: what varies along the axes
of S and along no other. Each measured margin that has the axes of S holds an unbiased reading of
that component with variance v · (cells summed); the readings are averaged by inverse variance, and
any margin is put together again from the components it needs. This is the least-squares estimate,
because the components are orthogonal and the noise of a margin has one variance.

Otherwise (mixed levels, structural zeros) a sparse least-squares solver is used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...errors import Bug
from ..shared.rounding import controlled
from .margins import Integers

Floats = npt.NDArray[np.float64]
Axes = tuple[int, ...]
"""Positions of axes in the joint table of a group."""


def subsets(axes: Axes) -> Iterator[Axes]:
    """Every subset, the empty one first."""
    for size in range(len(axes) + 1):
        yield from itertools.combinations(axes, size)


@dataclass(frozen=True)
class Components:
    """The closed form for margins of one joint table of shape `lengths`.

    `measured` has the axes and the variance of a draw of each measured margin; `total_known` says
    that the grand total is known exactly.

    >>> two = Components((2, 3), (((0, 1), 1.0), ((0,), 1.0)), total_known=False)
    >>> round(two.variance((0,)), 4)      # alone 1, from the interior 3
    0.75
    """

    lengths: tuple[int, ...]
    measured: tuple[tuple[Axes, float], ...]
    total_known: bool = False

    def cells(self, axes: Axes) -> int:
        """How many cells a margin over these axes has."""
        return math.prod(self.lengths[axis] for axis in axes)

    def component_variance(self, part: Axes) -> float:
        """The variance of the averaged reading of a component; infinite where nobody read it."""
        if not part and self.total_known:
            return 0.0
        precision = sum(
            1 / (variance * self.cells(tuple(set(axes) - set(part))))
            for axes, variance in self.measured
            if set(part) <= set(axes)
        )
        return 1 / precision if precision else math.inf

    def variance(self, target: Axes) -> float:
        """The variance of a cell of the least-squares estimate of a margin."""
        total = 0.0
        for part in subsets(target):
            shape = math.prod(1 - 1 / self.lengths[axis] for axis in part)
            if shape:
                spread = self.cells(tuple(set(target) - set(part)))
                total += self.component_variance(part) * shape / spread**2
        return total

    def estimate(
        self, values: Sequence[Integers], targets: Sequence[Axes], total: int | None = None
    ) -> dict[Axes, Floats]:
        """The least-squares estimates of the targets from the measured margins' values.

        Axes of values and targets are in the joint table's order.
        """
        found: dict[Axes, Floats] = {}
        for part in {part for target in targets for part in subsets(target)}:
            found[part] = self._component(part, values, total)
        out: dict[Axes, Floats] = {}
        for target in targets:
            whole = np.zeros(tuple(self.lengths[axis] for axis in target))
            for part in subsets(target):
                shape = tuple(self.lengths[axis] if axis in part else 1 for axis in target)
                spread = self.cells(tuple(set(target) - set(part)))
                whole += found[part].reshape(shape) / spread
            out[target] = whole
        return out

    def _component(self, part: Axes, values: Sequence[Integers], total: int | None) -> Floats:
        if not part and self.total_known:
            if total is None:
                raise Bug("A known total was not given to the least-squares fit.")
            return np.array(float(total))
        weighted: Floats | float = 0.0
        precision = 0.0
        for (axes, variance), value in zip(self.measured, values, strict=True):
            if not set(part) <= set(axes):
                continue
            dropped = tuple(i for i, axis in enumerate(axes) if axis not in part)
            reading = value.sum(axis=dropped).astype(np.float64)
            for i in range(reading.ndim):
                reading -= reading.mean(axis=i, keepdims=True)
            weight = 1 / (variance * self.cells(tuple(axes[i] for i in dropped)))
            weighted = weighted + weight * reading
            precision += weight
        if not precision:
            raise Bug("A wanted margin cannot be had from the measured ones.")
        return np.asarray(weighted / precision)


def sparse_estimate(
    size: int,
    readings: Sequence[tuple[Integers, Integers, float]],
    impossible: npt.NDArray[np.bool_] | None,
    targets: Mapping[int, tuple[Integers, int]],
) -> dict[int, Floats]:
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
    return {
        key: np.asarray(np.bincount(address[free], weights=joint, minlength=cells), np.float64)
        for key, (address, cells) in targets.items()
    }


def whole_numbers(values: Floats, total: int | None = None) -> Integers:
    """Whole numbers near the values whose sums are near the values' sums.

    Two axes: every cell, row, column and the total goes to one of its two nearest integers.
    Otherwise running sums are rounded instead of cells, so that the error of one cell is carried
    to the next: a cell moves by at most 1, and so does every sum over the last axes and the total.
    A `total` that is known is met exactly if the values add up to it.

    >>> whole_numbers(np.array([0.4, 0.4, 0.4, 0.8]))
    array([0, 1, 0, 1])
    """
    if values.ndim == 2:
        rounded = controlled(values)
        if total is None or int(rounded.sum()) == total:
            return rounded
    running = np.cumsum(values.reshape(-1), dtype=np.longdouble)
    steps: Integers = np.floor(running + 0.5).astype(np.int64)
    return np.asarray(np.diff(steps, prepend=np.int64(0)).reshape(values.shape), np.int64)
