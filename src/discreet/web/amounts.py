"""Losses and budgets as a reader sees them: ε 0.25, ρ 0.01, rounded against the spender; and bytes."""

from __future__ import annotations

from fractions import Fraction

from ..core.exact import plain, rounded_down, rounded_up
from ..core.loss import Loss
from ..languages import Sentence, number, say, together
from ..store.base import Standing as Budget

_SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
_LONG = 8


def amount(loss: Loss, *, left: bool = False) -> Sentence:
    """A loss in signs; long numbers in four digits, rounded up, or down for what is left."""
    parts = [
        together(_SIGNS[name], number(_short(part, left)))
        for name, part in loss.parts.items()
        if part or name != "delta"
    ]
    return together(*parts, between=", ")


def of_cap(part: Loss, cap: Loss) -> Sentence:
    """So much of the budget, in one expression: ε 8 of 10."""
    whole = together(*(number(_short(n, True)) for n in cap.parts.values() if n), between=", ")
    return say("{left} of {cap}", left=amount(part, left=True), cap=whole)


def file_size(count: int) -> Sentence:
    """A length in bytes as people say it, rounded down.

    >>> file_size(2**31), file_size(999)
    ('2.1 GB', '999 bytes')
    """
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if count >= 10**power:
            tenths = count * 10 // 10**power
            return together(number(plain(Fraction(tenths, 10))), unit)
    return say("{n} bytes", n=count)


def filled(budget: Budget) -> Fraction:
    """The part of a budget that is left, of its first figure."""
    cap, left = (next(iter(loss.parts.values())) for loss in (budget.cap, budget.left))
    return left / cap if cap else Fraction(0)


def _short(part: Fraction, left: bool) -> str:
    text = plain(part)
    if len(text) <= _LONG:
        return text
    return rounded_down(part, 4) if left else rounded_up(part, 4)
