"""The χ² law: tails, points, and the departure that a test would see."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc, chdtri, chndtr

from .channel import Reals


def tail(statistic: Reals | float, df: Reals | float) -> Reals:
    """P(χ² > statistic).

    >>> round(float(tail(3.841458820694124, 1)), 6)
    0.05
    """
    return np.asarray(chdtrc(df, np.maximum(statistic, 0.0)), dtype=np.float64)


def point(share: float, df: float) -> float:
    """The statistic that χ² exceeds with this probability."""
    return float(chdtri(df, share))


def needed_size(df: int, level: float, power: float) -> float:
    """The noncentrality at which a test at this level rejects with this power.

    >>> round(needed_size(1, 0.05, 0.8), 3)
    7.849
    """
    critical, low, high = point(level, df), 0.0, 1.0
    while 1 - chndtr(critical, df, high) < power:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 - chndtr(critical, df, middle) < power else (low, middle)
    return high
