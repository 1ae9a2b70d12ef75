"""e^x and ln x between two rationals, so that every claim can round to its unsafe end.

`decimal` rounds `exp` and `ln` correctly; one unit in the last place on each side, and an argument
rounded outwards, make a bracket that holds. Its ends agree to more than 70 digits.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

DIGITS = 80
_LIMIT = 999_999


def context(rounding: str, digits: int = DIGITS) -> Context:
    """A decimal context of `digits` digits with one direction of rounding and no narrow range."""
    return Context(prec=digits, rounding=rounding, Emin=-_LIMIT, Emax=_LIMIT, traps=[])


_DOWN, _UP = context(ROUND_FLOOR), context(ROUND_CEILING)


def decimal_of(value: Fraction, *, up: bool) -> Decimal:
    """The nearest decimal of 80 digits that is not below (`up`) or not above the number."""
    chosen = _UP if up else _DOWN
    return chosen.divide(Decimal(value.numerator), Decimal(value.denominator))


def exp_bracket(power: Fraction) -> tuple[Fraction, Fraction]:
    """Two rationals with e^power between them.

    >>> low, high = exp_bracket(Fraction(1))
    >>> low < high, float(low)
    (True, 2.718281828459045)
    """
    if power == 0:
        return Fraction(1), Fraction(1)
    low = _DOWN.next_minus(_DOWN.exp(decimal_of(power, up=False)))
    high = _UP.next_plus(_UP.exp(decimal_of(power, up=True)))
    return Fraction(low), Fraction(high)


def ln_bracket(ratio: Fraction) -> tuple[Fraction, Fraction]:
    """Two rationals with ln(ratio) between them; the ratio must be > 0.

    >>> low, high = ln_bracket(Fraction(11, 6))
    >>> low < high, float(high)
    (True, 0.6061358035703155)
    """
    if ratio == 1:
        return Fraction(0), Fraction(0)
    low = _DOWN.next_minus(_DOWN.ln(decimal_of(ratio, up=False)))
    high = _UP.next_plus(_UP.ln(decimal_of(ratio, up=True)))
    return Fraction(low), Fraction(high)


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
