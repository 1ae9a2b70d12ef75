"""Exact numbers: how ε, δ and variances come in, and how they are shown.

Every number that ends in a charge or a claimed bound is a `Fraction` from the text the user
wrote: "0.1" is one tenth. A float is refused, because 0.1 as a float is something else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from ..errors import InputError, LawError
from ..languages import Sentence, listed, say, together

Exact: TypeAlias = str | int | Fraction | Decimal
"""What a caller may write for an exact number."""

_TEXT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?|[+-]?\d+/\d+")


def exact(
    value: object,
    name: str,
    *,
    above: int | None = None,
    least: int | None = None,
    below: int | None = None,
    most: int | None = None,
    error: Callable[[str], Exception] = InputError,
) -> Fraction:
    """Read `value` as an exact number within bounds, or raise `error` with one clear sentence.

    >>> exact("0.1", "epsilon", above=0)
    Fraction(1, 10)
    >>> exact("1e-6", "delta", above=0, below=1)
    Fraction(1, 1000000)
    """
    allowed = _allowed(above, least, below, most)
    if isinstance(value, bool) or not isinstance(value, str | int | Fraction | Decimal):
        if isinstance(value, float):
            raise error(
                say(
                    "{name} must be an exact number, got the float {value}. Write it as text: "
                    '{name}="{value}".',
                    name=name,
                    value=repr(value),
                )
            )
        raise error(_no_number(name, allowed, shown(value)))
    if isinstance(value, str):
        text = value.strip()
        if not _TEXT.fullmatch(text) or len(text) > 60:
            digits = say("Write digits such as 0.5, 1e-6 or 1/3.")
            raise error(together(_no_number(name, allowed, shown(value)), digits))
        try:
            number = Fraction(text)
        except ZeroDivisionError:
            got = say("{text} (a zero divisor)", text=text)
            raise error(_no_number(name, allowed, got)) from None
    elif isinstance(value, Decimal) and not value.is_finite():
        raise error(_no_number(name, allowed, str(value)))
    else:
        number = Fraction(value)
    outside = (
        (above is not None and number <= above)
        or (least is not None and number < least)
        or (below is not None and number >= below)
        or (most is not None and number > most)
    )
    if outside:
        words = say(
            "{name} must be {allowed}, got {got}.", name=name, allowed=allowed, got=shown(value)
        )
        raise error(words)
    return number


def _no_number(name: str, allowed: str, got: str) -> Sentence:
    if not allowed:
        return say("{name} must be a number, got {got}.", name=name, got=got)
    return say("{name} must be a number {allowed}, got {got}.", name=name, allowed=allowed, got=got)


def whole(
    value: object,
    name: str,
    least: int,
    most: int | None = None,
    *,
    hint: str = "",
    error: Callable[[str], Exception] = LawError,
) -> int:
    """A whole number within bounds, or `error` with one clear sentence."""
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and least <= value <= (value if most is None else most)
    ):
        return value
    allowed = f"≥ {least}"
    if most is not None:
        allowed = say("from {least} to {most}", least=str(least), most=str(most))
    words = say(
        "{name} must be a whole number {allowed}, got {value}.{hint}",
        name=name,
        allowed=allowed,
        value=str(value),
        hint=hint,
    )
    raise error(words)


def _allowed(above: int | None, least: int | None, below: int | None, most: int | None) -> str:
    parts = [
        f"{sign} {bound}"
        for sign, bound in ((">", above), ("≥", least), ("<", below), ("≤", most))
        if bound is not None
    ]
    return listed(parts)


def shown(value: object) -> str:
    """What was given, as a sentence may quote it: at most 40 characters."""
    text = str(value)
    return text if len(text) <= 40 else text[:37] + "…"


def float_up(value: Fraction) -> float:
    """The nearest float that is not below the number.

    >>> Fraction(float_up(Fraction(1, 3))) >= Fraction(1, 3)
    True
    """
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def rounded_up(value: Fraction, digits: int = 4) -> str:
    """The number in at most `digits` significant digits, never below it.

    >>> rounded_up(Fraction(1, 3))
    '0.3334'
    """
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: Fraction, digits: int = 4) -> str:
    """The number in at most `digits` significant digits, never above it.

    >>> rounded_down(Fraction(2, 3))
    '0.6666'
    """
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: Fraction, digits: int, rounding: str) -> str:
    if value == 0:
        return "0"
    context = Context(prec=digits, rounding=rounding)
    decimal = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return (
        f"{decimal.normalize():f}" if -6 < decimal.adjusted() < 15 else f"{decimal.normalize():e}"
    )


@lru_cache(maxsize=64)
def plain(value: Fraction) -> str:
    """An exact number as the shortest text that reads back to it: decimal where it ends, else a/b.

    >>> plain(Fraction(1, 10)), plain(Fraction(1, 3)), plain(Fraction(2))
    ('0.1', '1/3', '2')
    >>> Fraction(plain(Fraction(3, 2**64))) == Fraction(3, 2**64)
    True
    """
    denominator = value.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator != 1:
        return f"{value.numerator}/{value.denominator}"
    digits = len(str(value.denominator)) * 4 + len(str(abs(value.numerator))) + 4
    context = Context(prec=digits)  # `Decimal.normalize` alone would round to 28 digits
    decimal = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    small = decimal != 0 and decimal.adjusted() < -6
    return f"{context.normalize(decimal):{'e' if small else 'f'}}"
