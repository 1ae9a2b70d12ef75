"""The share of cells that noise leaves alone, by the three laws of ons §3.

The discrete Laplace is drawn as it is. Continuous Laplace and Gaussian noise are rounded to the
nearest whole number: a cell stays as it is if its noise lies within ± ½. discreet draws neither;
they are here to compare with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ..errors import LawError
from .exact import Exact, exact
from .pure_laplace import PureLaplace, read_epsilon


@dataclass(frozen=True)
class Unchanged:
    """Shares of the cells of one table, by the law of its noise."""

    epsilon: Fraction
    rounded_laplace: float
    rounded_gaussian: float
    discrete_laplace: float


def unchanged(epsilon: Exact, *, gaussian_delta: Exact = "0.05") -> Unchanged:
    """The share of cells that noise of this ε leaves alone: ons Tables 1, 2 and 3.

    1 − e^(−ε/2) for rounded Laplace noise (the print has its row labels exchanged); for rounded
    Gaussian noise σ = √(2 ln(1.25/δ)) / ε, where the print does not say δ and its figures are those
    of 0.05; (1 − e^−ε) / (1 + e^−ε) for the discrete Laplace, rinott (5.1).

    epsilon           exact, as text: "0.5", "1/3"
    gaussian_delta    the δ of the Gaussian noise

    >>> found = unchanged("1")
    >>> [round(x, 4) for x in (found.rounded_laplace, found.rounded_gaussian, found.discrete_laplace)]
    [0.3935, 0.1562, 0.4621]
    """
    number = read_epsilon(epsilon)
    delta = exact(gaussian_delta, "gaussian_delta", above=0, below=1, error=LawError)
    rate = float(number)
    sigma = math.sqrt(2 * math.log(1.25 / float(delta))) / rate
    return Unchanged(
        number,
        -math.expm1(-rate / 2),
        math.erf(0.5 / sigma / math.sqrt(2)),
        float(PureLaplace.of(number).probability(0)),
    )
