"""Masses and exponents to 80 digits and more, and the γ of a maximum-entropy law.

Decimal arithmetic with 100 digits; a mass leaves here as a whole number of 10^-100, because whole
numbers add and compare fast and exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from math import exp

from ..errors import LawError
from .brackets import DIGITS, context
from .exact import plain

NEAR = context(ROUND_HALF_EVEN, DIGITS + 20)


def gamma_for_epsilon(epsilon: Fraction, max_perturbation: int, iota_share: Fraction) -> Fraction:
    """γ of sadeghi (30), with the sign of the errata: ε/(2D − 1) − share · 2ε/(4D² − 1)."""
    d = max_perturbation
    return epsilon / (2 * d - 1) - iota_share * 2 * epsilon / (4 * d * d - 1)


def gamma_for_variance(max_perturbation: int, variance: Fraction) -> Decimal:
    """γ > 0 with variance V on ±D, solved to 80 digits: sadeghi (9)–(10).

    >>> round(float(gamma_for_variance(11, Fraction(10))), 4)
    0.0498
    """
    d = max_perturbation
    target = _decimal(variance)
    gamma = Decimal(_float_gamma(d, float(variance)))
    near = NEAR.multiply(target, NEAR.power(Decimal(10), Decimal(-DIGITS)))
    for _ in range(100):
        step = NEAR.exp(gamma.copy_negate())
        masses = decimal_powers(step, (z * z for z in range(d + 1)))
        whole = _dot(masses, lambda z: 1)
        second = NEAR.divide(_dot(masses, lambda z: z * z), whole)
        fourth = NEAR.divide(_dot(masses, lambda z: z**4), whole)
        excess = NEAR.subtract(second, target)
        if excess.copy_abs() <= near:
            return gamma
        slope = NEAR.subtract(fourth, NEAR.multiply(second, second))
        moved = NEAR.add(gamma, NEAR.divide(excess, slope))
        # a step past the uniform law: halve instead
        gamma = moved if moved > 0 else NEAR.divide(gamma, Decimal(2))
    raise LawError(
        f"No law on ±{d} with variance {plain(variance)} was found to 80 digits. "
        "Move the variance away from 0 and from D(D + 1)/3."
    )


def _float_gamma(d: int, variance: float) -> float:
    low, high = 0.0, 750.0
    for _ in range(200):
        gamma = (low + high) / 2
        masses = [exp(-gamma * z * z) for z in range(1, d + 1)]
        reached = 2 * sum(z * z * p for z, p in enumerate(masses, 1)) / (1 + 2 * sum(masses))
        low, high = (gamma, high) if reached > variance else (low, gamma)
    return high


def _dot(masses: Sequence[Decimal], weigh: Callable[[int], int]) -> Decimal:
    total = Decimal(0)
    for z, mass in enumerate(masses):
        total = NEAR.add(total, NEAR.multiply(mass, Decimal(weigh(z) * (2 if z else 1))))
    return total


def _decimal(value: Fraction) -> Decimal:
    return NEAR.divide(Decimal(value.numerator), Decimal(value.denominator))


def exponent(power: Fraction) -> Decimal:
    """e^power to 100 digits."""
    return NEAR.exp(_decimal(power))


def decimal_powers(step: Decimal, exponents: Iterable[int]) -> list[Decimal]:
    """step^k for the growing exponents given, to about 80 digits."""
    out, value, at = [], Decimal(1), 0
    for exponent in exponents:
        value = NEAR.multiply(value, NEAR.power(step, Decimal(exponent - at)))
        at = exponent
        out.append(value)
    return out


def powers(step: Decimal, exponents: Iterable[int]) -> list[int]:
    """step^k for the growing exponents given, as whole masses."""
    return [mass(value) for value in decimal_powers(step, exponents)]


def mass(value: Decimal) -> int:
    """A mass in [0, 1] as a whole number of 10^-100: whole numbers add and compare fast.

    A mass above 0 stays above 0: rounding a cumulative distribution up (sadeghi eq. 39) gives the
    first perturbation a key however unlikely it is.
    """
    return max(int(NEAR.scaleb(value, DIGITS + 20)), int(value > 0))
