"""Shares of a budget.

With Laplace noise the variance of a margin is proportional to 1/ε². Minimising Σ aᵢ/εᵢ² under
Σ εᵢ = ε gives shares proportional to the cube root of aᵢ; with ρ, where it goes as 1/ρ, to the
square root. Roots are taken in whole numbers, so a plan is the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ...core.exact import plain
from ...core.question import TableSpec
from ...errors import RecipeError

_UNITS = 10_000


def best_shares(burdens: Sequence[Fraction], *, root: int) -> tuple[Fraction, ...]:
    """Shares that minimise the summed variance; whole ten-thousandths that add up to 1.

    `burdens[i]` is how many draws of margin i, squared weights counted, the wanted tables need.

    >>> best_shares([Fraction(8), Fraction(1)], root=3)
    (Fraction(6667, 10000), Fraction(3333, 10000))
    """
    roots = [_root(max(burden, Fraction(1, 1000)), root) for burden in burdens]
    total = sum(roots)
    if len(set(roots)) == 1:
        return (Fraction(1, len(roots)),) * len(roots)
    units = [max(1, value * _UNITS // total) for value in roots]
    order = sorted(range(len(units)), key=lambda i: (units[i] * total - roots[i] * _UNITS, i))
    scale = max(_UNITS, sum(units))
    for i in order[: max(0, scale - sum(units))]:
        units[i] += 1
    units[order[0]] += scale - sum(units)
    return tuple(Fraction(unit, scale) for unit in units)


def _root(value: Fraction, root: int) -> int:
    """The root of value · 10^(6·root), rounded down, as a whole number."""
    scaled = value.numerator * 10 ** (6 * root) // value.denominator
    if root == 2:
        return math.isqrt(scaled)
    low, high = 0, 1 << (scaled.bit_length() // root + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**root <= scaled else (low, middle)
    return low


def given_shares(tables: Sequence[TableSpec]) -> tuple[Fraction, ...] | None:
    """The shares the tables ask for, which must add up to 1; None where none asks."""
    shares = [table.share for table in tables]
    if all(share is None for share in shares):
        return None
    missing = sum(share is None for share in shares)
    if missing:
        raise RecipeError(
            f"{missing} of {len(shares)} tables have no share. Give every table a share, or none."
        )
    found = tuple(share for share in shares if share is not None)
    if any(share <= 0 for share in found):
        raise RecipeError(
            f"A table's share must be > 0, got {plain(min(found))}. Leave out a table that gets none."
        )
    if sum(found) != 1:
        raise RecipeError(
            f"The tables' shares must add up to 1, got {plain(sum(found, Fraction(0)))}. "
            "Change one of them; thirds are written 1/3."
        )
    return found
