"""e^x and ln x between two rationals, so that every claim can round to its unsafe end.

`decimal` rounds `exp` and `ln` correctly; one unit in the last place on each side, and an argument
rounded outwards, make a bracket that holds. Its ends agree to more than 70 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

DIGITS = 80
_LIMIT = 999_999


def context(rounding: str, digits: int = DIGITS) -> Context:
    """A decimal context of `digits` digits with one direction of rounding and no narrow range."""
    return Context(prec=digits, rounding=rounding, Emin=-_LIMIT, Emax=_LIMIT, traps=[])


_DOWN, _UP = context(ROUND_FLOOR), context(ROUND_CEILING)


def _bracket(
    grows: Callable[[Context, Decimal], Decimal], at: Fraction
) -> tuple[Fraction, Fraction]:
    """A growing function between its values at two decimals of 80 digits around `at`."""
    low, high = (way.divide(at.numerator, at.denominator) for way in (_DOWN, _UP))
    return (
        Fraction(_DOWN.next_minus(grows(_DOWN, low))),
        Fraction(_UP.next_plus(grows(_UP, high))),
    )


def exp_bracket(power: Fraction) -> tuple[Fraction, Fraction]:
    """Two rationals with e^power between them.

    >>> low, high = exp_bracket(Fraction(1))
    >>> low < high, float(low)
    (True, 2.718281828459045)
    """
    return (Fraction(1),) * 2 if power == 0 else _bracket(Context.exp, power)


def ln_bracket(ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Two rationals with ln(ratio) between them; the ratio must be > 0.

    >>> low, high = ln_bracket(Fraction(11, 6))
    >>> low < high, float(high)
    (True, 0.6061358035703155)
    """
    return (Fraction(0),) * 2 if ratio == 1 else _bracket(Context.ln, ratio)


def ceiling_to(value: Fraction, digits: int) -> Fraction:
    """The number rounded up to so many digits after the point.

    >>> ceiling_to(Fraction(1, 3), 2)
    Fraction(17, 50)
    """
    scale = 10**digits
    return Fraction(-((-value.numerator * scale) // value.denominator), scale)


def floor_to(value: Fraction, digits: int) -> Fraction:
    """The number rounded down to so many digits after the point.

    >>> floor_to(Fraction(1, 3), 2)
    Fraction(33, 100)
    """
    scale = 10**digits
    return Fraction((value.numerator * scale) // value.denominator, scale)


def power_bracket(ratio: Fraction, power: int, bits: int) -> tuple[int, int]:
    """Whole numbers with ratio^power · 2^bits between them; ratio in [0, 1], power ≥ 0.

    The two are equal when so many bits hold the power exactly.

    >>> power_bracket(Fraction(1, 2), 3, 8)
    (32, 32)
    """
    one = 1 << bits
    low, high = one, one
    base_low = ratio.numerator * one // ratio.denominator
    base_high = -(-ratio.numerator * one // ratio.denominator)
    for digit in bin(power)[2:]:
        low, high = low * low >> bits, -(-high * high >> bits)
        if digit == "1":
            low, high = low * base_low >> bits, -(-high * base_high >> bits)
    return low, high
