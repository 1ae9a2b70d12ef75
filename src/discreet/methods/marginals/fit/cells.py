"""Cells as rows of coordinates: what all fits do with them."""

from __future__ import annotations

import numpy as np

from ....core.product import Reals, Rows, Shape, Whole


def rows_at(addresses: Whole, shape: Shape) -> Rows:
    """Rows of coordinates of cells given by address."""
    return np.stack(np.unravel_index(addresses, shape), axis=1).astype(np.int64)


def least(values: Reals, many: int) -> Whole:
    """Where the smallest numbers are, smallest first."""
    found = np.argpartition(values, many - 1)[:many] if many < len(values) else np.arange(many)
    return found[np.argsort(values[found], kind="stable")]


def unseen(new: Rows, rows: Rows) -> Rows:
    """Those of the new rows that are not among the others."""
    known = {row.tobytes() for row in np.ascontiguousarray(rows)}
    return new[[row.tobytes() not in known for row in np.ascontiguousarray(new)]]


def summed(rows: Rows, weights: Reals) -> tuple[Rows, Reals]:
    """Every row once, with the sum of its weights."""
    found, which = np.unique(rows, axis=0, return_inverse=True)
    return found, np.bincount(which.reshape(-1), weights=weights).astype(np.float64)
