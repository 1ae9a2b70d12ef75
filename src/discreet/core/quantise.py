"""From probabilities to whole weights over 2^key_bits.

Two quantisers. *symmetric* (the default) gives each pair ±z the same weight, by largest
remainders: the mean of a law symmetric by definition stays exactly 0. *ceil* rounds the cumulative
distribution up (sadeghi eq. 39), to reproduce published tables. Both take masses proportional to
the probabilities as whole numbers of one small unit, and always hand out exactly 2^key_bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from ..errors import LawError, did_you_mean
from .brackets import exp_bracket

QUANTISERS = ("symmetric", "ceil")
_HAIR_BITS = 20


def check_quantiser(quantiser: str) -> str:
    """A known quantiser, or `LawError`."""
    if quantiser not in QUANTISERS:
        raise LawError(
            f"quantiser must be {' or '.join(QUANTISERS)}, got {quantiser}."
            f"{did_you_mean(str(quantiser), QUANTISERS)}"
        )
    return quantiser


def ceil_weights(masses: Sequence[int], key_bits: int) -> tuple[int, ...]:
    """Round the cumulative distribution up: sadeghi eq. 39 and 42.

    >>> ceil_weights([1, 2, 1], 8)
    (64, 128, 64)
    """
    total = sum(masses)
    upper = [-((-c << key_bits) // total) for c in accumulate(masses)]
    return tuple(b - a for a, b in zip([0, *upper[:-1]], upper, strict=True))


def nearest_weights(masses: Sequence[int], key_bits: int) -> tuple[int, ...]:
    """Largest remainders; symmetric masses −D … D give exactly symmetric weights.

    >>> nearest_weights([1, 1, 1], 8)
    (85, 86, 85)
    """
    masses = list(masses)
    if len(masses) % 2 == 0 or masses != masses[::-1]:
        return tuple(_largest_remainders(masses, 1 << key_bits))
    # Half of the middle and one of each pair share half of the total, so pairs stay equal and
    # the middle takes an even weight.
    middle = len(masses) // 2
    outer = [2 * mass for mass in masses[middle + 1 :]]
    half = _largest_remainders([masses[middle], *outer], 1 << (key_bits - 1))
    return (*half[:0:-1], 2 * half[0], *half[1:])


def _largest_remainders(masses: Sequence[int], units: int) -> list[int]:
    total = sum(masses)
    shares = [divmod(mass * units, total) for mass in masses]
    weights = [share for share, _ in shares]
    order = sorted(range(len(shares)), key=lambda i: (-shares[i][1], i))
    for index in order[: units - sum(weights)]:
        weights[index] += 1
    return weights


def within_epsilon(weights: tuple[int, ...], epsilon: Fraction) -> tuple[int, ...]:
    """Move a hair of mass outwards so that no step of a symmetric law exceeds ε.

    Rounding leaves a step of e^ε a little too steep. Each weight is raised to the least whole
    number that keeps the step, and the middle pays, or all of a flat top. If that would move more
    than 2^-20 of the mass the weights are returned as they were: there are too few key bits, and
    the audit says so.

    >>> within_epsilon((1, 254, 1), Fraction(1))
    (1, 254, 1)
    """
    step = 1 / exp_bracket(epsilon)[0]  # not below e^-ε: raising by it is enough
    middle = len(weights) // 2
    side = list(weights[middle:])
    for index in range(1, len(side)):
        least = -((-side[index - 1] * step.numerator) // step.denominator)
        side[index] = max(side[index], least)
    moved = sum(side[1:]) - sum(weights[middle + 1 :])
    valley = side[0] + 2 < weights[middle + 1]  # not by rounding alone, then
    if 2 * moved << _HAIR_BITS > sum(weights) or valley:
        return weights
    side[0] -= 2 * moved
    _level(side)
    return (*side[:0:-1], *side)


def _level(side: list[int]) -> None:
    """Let a flat top pay together where its middle, paying alone, would fall below the rest."""
    top = side[0]
    for place in range(1, len(side)):
        pairs = place - 1
        each = top // (2 * pairs + 1)
        if each >= side[place]:
            break
        top += 2 * side[place]
    else:
        pairs, each = len(side) - 1, top // (2 * len(side) - 1)
    side[1 : pairs + 1] = [each] * pairs
    side[0] = top - 2 * pairs * each


def reachable(weights: tuple[int, ...]) -> tuple[int, ...]:
    """Give every value of a common range at least one unit, the largest weight paying.

    Where 64 bits round a far value to 0 this keeps a count from being ruled out for certain.

    >>> reachable((0, 250, 6))
    (1, 249, 6)
    """
    lifted = [max(w, 1) for w in weights]
    paid = sum(lifted) - sum(weights)
    top = max(range(len(lifted)), key=lambda i: lifted[i])
    if lifted[top] <= paid:
        return weights
    lifted[top] -= paid
    return tuple(lifted)
