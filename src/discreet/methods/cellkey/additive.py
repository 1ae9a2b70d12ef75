"""An additive view of a perturbed table: whole numbers near it whose margins are sums.

Least squares first: the interior that lies nearest to all perturbed cells and margins at once, in
closed form axis by axis. Then negative numbers are cut at 0, the rest is scaled to the fitted
total, and largest remainders make whole numbers. A view for readers who need sums: another release
of the same numbers, not a better one, and different tables need not agree in it.
"""

from __future__ import annotations

import numpy as np

from ...core.domain import Flags
from ...core.product import Whole
from ...core.true_values import add_totals
from ..shared.rounding import largest_remainder


def additive_view(values: Whole, zeros: Flags | None = None) -> Whole:
    """Whole numbers ≥ 0 with margins that add up; every axis of `values` has its total last.

    >>> additive_view(np.array([[3, 1, 5], [2, 2, 4], [6, 3, 8]]))
    array([[3, 1, 4],
           [2, 2, 4],
           [5, 3, 8]])
    """
    if not values.ndim:
        return np.maximum(values, 0)
    fitted = values.astype(np.float64)
    for axis in range(values.ndim):
        length = values.shape[axis] - 1
        inner = np.take(fitted, range(length), axis=axis)
        total = np.take(fitted, [length], axis=axis)
        # Normal equations of (interior, total): (I + J)⁻¹ = I − J / (length + 1).
        seen = inner.sum(axis=axis, keepdims=True)
        fitted = inner + total - (seen + length * total) / (length + 1)
    wanted = max(0, round(float(fitted.sum())))
    if zeros is not None:
        fitted[zeros[tuple(slice(0, n) for n in fitted.shape)]] = 0.0
    positive = np.maximum(fitted, 0.0)
    mass = float(positive.sum())
    if mass <= 0.0:
        return add_totals(np.zeros(fitted.shape, dtype=np.int64))
    scaled = (positive * (wanted / mass)).ravel()
    inside = np.flatnonzero(scaled)
    whole = np.zeros(scaled.size, dtype=np.int64)
    whole[inside] = largest_remainder(scaled[inside], wanted)
    return add_totals(whole.reshape(fitted.shape))
