"""A cubic spline through a few points: scipy's takes longer to load than a small table to decide."""

from __future__ import annotations

import numpy as np

from .cell_weights import Floats


def through(at: Floats, values: Floats, wanted: Floats) -> Floats:
    """Values at `wanted` of the curve through four points or more.

    It is twice differentiable, and one cubic over both first and both last gaps. `at` grows; all of
    `wanted` lies between its ends.

    >>> at = np.array([0.0, 1.0, 2.0, 4.0, 7.0])
    >>> through(at, at**3 - at, np.array([0.5, 3.0, 6.0])).round(12).tolist()
    [-0.375, 24.0, 210.0]
    """
    gaps = np.diff(at)
    rise = np.diff(values) / gaps
    matrix, right = np.zeros((len(at), len(at))), np.zeros(len(at))
    inside = np.arange(1, len(at) - 1)
    matrix[inside, inside - 1] = gaps[1:]
    matrix[inside, inside] = 2 * (gaps[:-1] + gaps[1:])
    matrix[inside, inside + 1] = gaps[:-1]
    right[inside] = 3 * (gaps[1:] * rise[:-1] + gaps[:-1] * rise[1:])
    for end, (one, two), (rise_one, rise_two) in (
        (0, gaps[:2], rise[:2]),
        (-1, gaps[:-3:-1], rise[:-3:-1]),
    ):
        both = one + two
        matrix[end, end], matrix[end, 1 if end == 0 else -2] = two, both
        right[end] = ((one + 2 * both) * two * rise_one + one**2 * rise_two) / both
    slopes = np.linalg.solve(matrix, right)
    place = np.clip(np.searchsorted(at, wanted, side="right") - 1, 0, len(gaps) - 1)
    gap, part = gaps[place], (wanted - at[place]) / gaps[place]
    below, above = slopes[place] - rise[place], slopes[place + 1] - rise[place]
    line = values[place] * (1 - part) + values[place + 1] * part
    curve: Floats = line + gap * part * (1 - part) * (below * (1 - part) - above * part)
    return curve
