"""barak §4.3: margins straight from noisy coefficients, without a program to solve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.core.exact import plain
from discreet.core.product import Margin, subsets
from discreet.errors import InputError

LEAST_T = 3


def simple_shift(closure_size: int, epsilon: Fraction, t: Fraction) -> Fraction:
    """Corollary 1: how many records to spread evenly over all cells, 4t|B|²/ε; t ≥ 3.

    It depends on public numbers only: the true norm of the noise is never used. For t below about
    one half the corollary's e^−t fails, so t < 3 is refused.

    >>> simple_shift(37, Fraction(1), Fraction(3))
    Fraction(16428, 1)
    """
    if t < LEAST_T:
        raise InputError(
            f"t must be ≥ {LEAST_T}, got {plain(t)}: for small t the bound e^−t does not hold."
        )
    return 4 * t * closure_size**2 / epsilon


def simple_nonnegative(
    coefficients: Mapping[Margin, int],
    workload: Sequence[Margin],
    epsilon: Fraction,
    t: Fraction = Fraction(LEAST_T),
) -> dict[Margin, list[Fraction]]:
    """§4.3: margins straight from noisy coefficients plus a public shift, no program to solve.

    Exact fractions, consistent, and ≥ 0 with probability at least 1 − e^−t. Cells are in mask
    order (first variable fastest).
    """
    shifted = {kept: Fraction(value) for kept, value in coefficients.items()}
    shifted[()] += simple_shift(len(coefficients), epsilon, t)
    out = {}
    for margin in workload:
        cells = []
        for address in range(1 << len(margin)):
            bits = {axis for place, axis in enumerate(margin) if address >> place & 1}
            total = sum((-1) ** len(bits & set(kept)) * shifted[kept] for kept in subsets(margin))
            cells.append(total / 2 ** len(margin))
        out[margin] = cells
    return out
