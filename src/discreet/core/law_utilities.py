"""The exponential mechanism for a utility of true count and published value: rinott §4.2, Theorem 4.1.

A utility of the perturbation alone, Theorem 4.2, is `law_builders.exponential`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise

from ..errors import LawError
from .count_law import CountLaw
from .exact import Exact, exact, plain, whole
from .law import Law, check_key_bits
from .masses import exponent, mass
from .pure_laplace import read_epsilon
from .quantise import nearest_weights, reachable

CountUtility = Callable[[int, int], Exact] | Mapping[tuple[int, int], Exact]
_MOST_CELLS = 200_000


def exponential_counts(
    utility: CountUtility,
    epsilon: Exact,
    max_count: int,
    max_value: int,
    *,
    key_bits: int = 64,
) -> CountLaw:
    """One law for each true count: p(a, b) ∝ exp(ε u(a, b) / 2Δ), b = 0 … max_value.

    Δ is the largest change of u between neighbouring counts for one published value, rinott (4.7).
    Every count shares the range of values, so δ = 0 up to rounding, which `audit` tells.

    utility           a function of the true count and the published value
    epsilon           exact, as text: "0.5", "1/3"
    max_count         the largest true count served
    max_value         the largest number that can be published
    key_bits          weights are whole numbers over 2 to this power

    >>> rows = exponential_counts(lambda a, b: -abs(a - b), "1", 3, 20)
    >>> rows.row(2).start, rows.row(2).end, rows.row(2).mean > 0
    (-2, 18, True)
    """
    asked = read_epsilon(epsilon)
    bits = check_key_bits(key_bits)
    counts = range(whole(max_count, "max_count", 1, 10_000) + 1)
    values = range(whole(max_value, "max_value", max_count, 100_000) + 1)
    if len(counts) * len(values) > _MOST_CELLS:
        raise LawError(
            f"A utility is asked for at most {_MOST_CELLS:,} pairs of count and value, got "
            f"{len(counts) * len(values):,}. Lower max_count or max_value."
        )
    table = [[_read(utility, a, b) for b in values] for a in counts]
    widest = max(
        abs(one - other)
        for row, next_row in pairwise(table)
        for one, other in zip(row, next_row, strict=True)
    )
    if widest == 0:
        raise LawError(
            "The utility must differ between neighbouring counts, got one that does not: every "
            "count would be published alike."
        )
    rows = []
    for a, row in zip(counts, table, strict=True):
        best = max(row)
        masses = [mass(exponent(asked * (one - best) / (2 * widest))) for one in row]
        parameters = {"epsilon": plain(asked), "count": str(a), "max_value": str(max_value)}
        weights = reachable(nearest_weights(masses, bits))
        rows.append(Law("exponential", parameters, -a, weights, bits))
    given = {"epsilon": plain(asked), "max_count": str(max_count), "max_value": str(max_value)}
    return CountLaw.of_laws("exponential", given, rows, cycle=0)


def _read(utility: CountUtility, count: int, value: int) -> Fraction:
    if callable(utility):
        given = utility(count, value)
    elif (count, value) in utility:
        given = utility[count, value]
    else:
        raise LawError(
            f"The utility must give a number for every count and value, got none for count {count} "
            f"and value {value}. Add it, or lower max_count or max_value."
        )
    return exact(given, f"utility of {count} and {value}", error=LawError)
