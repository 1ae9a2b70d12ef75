"""Design matrices of log-linear models: which cells each parameter moves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.linalg import qr

from .channel import Reals


def hierarchical(shape: Sequence[int], terms: Iterable[Sequence[int]]) -> Reals:
    """The model with these terms and all they contain, one row a cell, first categories as base.

    >>> hierarchical((2, 2), [(0,), (1,)]).astype(int).tolist()
    [[1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]
    """
    places = np.indices(tuple(shape)).reshape(len(shape), -1)
    columns = [np.ones(places.shape[1])]
    for term in sorted(_closed(terms), key=lambda one: (len(one), one)):
        block = [np.ones(places.shape[1])]
        for axis in term:
            block = [b * (places[axis] == v) for b in block for v in range(1, shape[axis])]
        columns += block if term else []
    return np.stack(columns, axis=1)


def _closed(terms: Iterable[Sequence[int]]) -> set[tuple[int, ...]]:
    """The terms and every part of them."""
    closed: set[tuple[int, ...]] = set()
    for term in terms:
        for mask in range(1 << len(term)):
            closed.add(tuple(sorted(axis for i, axis in enumerate(term) if mask >> i & 1)))
    return closed


class Informed:
    """X' diag(w) X for many weights at once, by the way that its size allows."""

    def __init__(self, design: Reals) -> None:
        self.design = design
        count, size = design.shape
        self._pairs = None
        if count * size * size <= 4_000_000:
            pairs = design[:, :, None] * design[:, None, :]
            self._pairs = pairs.reshape(count, size * size)

    def __call__(self, weights: Reals) -> Reals:
        """One matrix for each row of weights."""
        size = self.design.shape[1]
        if self._pairs is not None:
            return np.asarray((weights @ self._pairs).reshape(-1, size, size))
        return np.stack([self.design.T @ (one[:, None] * self.design) for one in weights])


def independent_columns(design: Reals) -> Reals:
    """Without columns that follow from others, the first of them kept; their space is the same."""
    if design.shape[1] == 0:
        return design
    kept: list[int] = []
    _, triangle, order = qr(design, mode="economic", pivoting=True)
    size = np.abs(np.diag(triangle))
    rank = int((size > 1e-9 * max(size[0], 1e-300)).sum())
    if rank == design.shape[1]:
        return design
    kept = sorted(order[:rank].tolist())
    return design[:, kept]
