"""The share of cells that noise leaves alone, as ons prints it for three laws."""

from __future__ import annotations

import math
from fractions import Fraction


def unchanged_rounded_laplace(epsilon: Fraction) -> float:
    """The share of cells that continuous Laplace noise, rounded, leaves alone: ons Table 1.

    1 − e^(−ε/2); the print has the two row labels exchanged.

    >>> round(unchanged_rounded_laplace(Fraction(1)), 4)
    0.3935
    """
    return -math.expm1(-float(epsilon) / 2)


def unchanged_geometric(epsilon: Fraction) -> float:
    """The share of cells that the discrete Laplace leaves alone: ons Table 3.

    (1 − e^−ε) / (1 + e^−ε), the probability of 0 under rinott (5.1).

    >>> round(unchanged_geometric(Fraction(1)), 4)
    0.4621
    """
    return math.tanh(float(epsilon) / 2)


def unchanged_rounded_gaussian(epsilon: Fraction, delta: Fraction = Fraction(5, 100)) -> float:
    """The share of cells that Gaussian noise, rounded, leaves alone: ons Table 2.

    σ = √(2 ln(1.25/δ)) / ε; the print does not say δ, its figures are those of δ = 0.05.

    >>> round(unchanged_rounded_gaussian(Fraction(1)), 4)
    0.1562
    """
    sigma = math.sqrt(2 * math.log(1.25 / float(delta))) / float(epsilon)
    return math.erf(0.5 / sigma / math.sqrt(2))
