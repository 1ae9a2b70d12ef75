"""What the pilot measures: the total, and all cells of all variables at every level (ons §5)."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from ...core.exact import plain
from ...core.product import size
from ...errors import InputError, RecipeError
from .measured_tables import Measured
from .planner import Aim, Allocation, Key
from .settings import Settings

DECIMALS = 1000
"""Laplace noise is drawn in parts of this."""
_OF_TOTAL = Fraction(1, 100)


def pilot_allocation(aim: Aim, settings: Settings) -> tuple[Settings, Allocation]:
    """The levels of the pilot with their shares of the budget, and the settings that say so."""
    if aim.invariants is not None:
        raise RecipeError("Mode pilot keeps no published margin. Use mode modern.")
    if aim.total is not None:
        raise RecipeError(
            "Mode pilot perturbs the number of records, which is public here. Use mode modern."
        )
    depth, others = aim.tree.depth, aim.others
    if size(aim.shape, others) < 2:
        raise RecipeError(
            "Mode pilot needs a variable besides the tree, with two or more categories. Name one, or "
            "use mode modern."
        )
    if settings.first == "variables":
        keys: list[Key] = [(0, ()), *((level, others) for level in range(depth + 1))]
    else:
        keys = [*((level, ()) for level in range(depth + 1)), (depth, others)]
    shares = _shares(aim, keys, settings.level_shares)
    unit = 1 if settings.pilot_noise == "geometric" or settings.rho is not None else DECIMALS
    low = min(shares) * aim.budget
    if unit > 1 and low < Fraction(DECIMALS, 10**6):
        raise InputError(
            f"The smallest level gets {plain(low)} of epsilon; Laplace noise to three decimals needs "
            "0.001 at least. Use pilot_noise: geometric, other level_shares, or a larger epsilon."
        )
    measured = tuple(
        replace(one, unit=unit) for one in aim.scaled(dict(zip(keys, shares, strict=True)))
    )
    said = ", ".join(plain(share) for share in shares)
    first = settings.first if depth else "variables"
    return replace(settings, level_shares=said, first=first), Allocation(
        f"pilot, {first} first", _in_order(measured, keys), math.inf, {}
    )


def _in_order(measured: tuple[Measured, ...], keys: list[Key]) -> tuple[Measured, ...]:
    return tuple(sorted(measured, key=lambda one: keys.index((one.level, one.margin))))


def _shares(aim: Aim, keys: list[Key], said: str) -> list[Fraction]:
    """A share for each level; by square roots 0.01 is the total's, the others' as ons §5 has them."""
    if said == "equal":
        return [Fraction(1, len(keys))] * len(keys)
    if said in ("square root", "top heavy"):
        roots = [Fraction(math.isqrt(aim.cells(key) * 10**8)) for key in keys[1:]]
        rest = [(1 - _OF_TOTAL) * root / sum(roots) for root in roots]
        return [_OF_TOTAL, *(rest if said == "square root" else rest[::-1])]
    shares = [Fraction(part) for part in said.split(", ")]
    if len(shares) != len(keys):
        names = ["total", *(f"{aim.tree.names[level]} cells" for level, _ in keys[1:])]
        raise RecipeError(
            f"level_shares has {len(shares)} numbers, and the pilot measures {len(keys)} levels "
            f"({', '.join(names)}). Give one share for each."
        )
    return shares
