"""From probabilities to whole numbers of keys, keeping the mean of a row.

`core.quantise` keeps laws that are symmetric by definition exactly unbiased. The rows of a p-table
are not symmetric for small counts, so their mean is mended here: units move between neighbouring
perturbations, where that distorts least, until the mean is exactly what it was. Two perturbations
that do not stand next to each other (−1 and 2, say) may not allow it; the table then reports its
bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil, floor, lcm

from ...core.quantise import ceil_weights, nearest_weights

QUANTISERS = ("unbiased", "cumulative", "ceil")
_ONE_BY_ONE = 64


def quantised(
    perturbations: Sequence[int],
    shares: Sequence[Fraction],
    keys: int,
    quantiser: str,
    mean: Fraction | None = None,
) -> list[int]:
    """Whole keys for each perturbation, `keys` in all.

    `mean` is the mean to keep where the shares hold it only to the last digits of a float.

    >>> quantised([-1, 0, 1], [Fraction(1, 3)] * 3, 256, "unbiased")
    [85, 86, 85]
    """
    total = sum(shares, Fraction(0))
    bits = keys.bit_length() - 1
    if quantiser == "ceil" and 1 << bits == keys:
        return list(ceil_weights(_masses(shares), bits))
    if quantiser != "unbiased":
        bounds = [c / total * keys for c in accumulate(shares)]
        cuts = [ceil(b) if quantiser == "ceil" else floor(b + Fraction(1, 2)) for b in bounds]
        return [b - a for a, b in pairwise([0, *cuts])]
    weights = _nearest([share / total for share in shares], keys, bits)
    if mean is None:
        mean = sum((v * s for v, s in zip(perturbations, shares, strict=True)), Fraction(0)) / total
    ideal = [share / total * keys for share in shares]
    return _unbiased(list(perturbations), ideal, weights, round(mean * keys))


def _masses(shares: Sequence[Fraction]) -> list[int]:
    """Whole numbers in the proportions of the shares."""
    common = lcm(*(share.denominator for share in shares))
    return [int(share * common) for share in shares]


def _nearest(shares: list[Fraction], keys: int, bits: int) -> list[int]:
    if 1 << bits == keys:
        return list(nearest_weights(_masses(shares), bits))
    ideal = [share * keys for share in shares]
    weights = [int(x) for x in ideal]
    order = sorted(range(len(ideal)), key=lambda i: (weights[i] - ideal[i], i))
    for index in order[: keys - sum(weights)]:
        weights[index] += 1
    return weights


def _unbiased(
    perturbations: list[int], ideal: list[Fraction], weights: list[int], wanted: int
) -> list[int]:
    """Move units until Σ v·w is `wanted`, where steps between perturbations allow it.

    Each unit moves where no weight ends up further than a key from its ideal if there is such a
    place, and among those where the variance stays nearest.
    """
    off = sum(v * w for v, w in zip(perturbations, weights, strict=True)) - wanted
    if abs(off) > _ONE_BY_ONE:  # many keys: one move of all units between the two fullest
        off = _bulk(perturbations, weights, off)
    square = Fraction(0)
    for v, w, x in zip(perturbations, weights, ideal, strict=True):
        square += v * v * (w - x)
    while off:
        moves = []
        for source, a in enumerate(perturbations):
            if weights[source] <= 1:  # never take the last key of an outcome
                continue
            far = weights[source] - 1 < ideal[source] - 1
            for sink, b in enumerate(perturbations):
                step = a - b
                if step * off <= 0 or abs(step) > abs(off):
                    continue
                strays = far or weights[sink] + 1 > ideal[sink] + 1
                moves.append((strays, abs(square + b * b - a * a), abs(step), source, sink))
        if not moves:
            return weights
        *_, source, sink = min(moves)
        weights[source] -= 1
        weights[sink] += 1
        square += perturbations[sink] ** 2 - perturbations[source] ** 2
        off -= perturbations[source] - perturbations[sink]
    return weights


def _bulk(perturbations: list[int], weights: list[int], off: int) -> int:
    pairs = [
        (min(weights[i], weights[i + 1]), i)
        for i in range(len(perturbations) - 1)
        if perturbations[i + 1] - perturbations[i] == 1
    ]
    if not pairs:
        return off
    room, low = max(pairs)
    units = min(abs(off), room // 2)
    sign = 1 if off > 0 else -1
    weights[low] += sign * units
    weights[low + 1] -= sign * units
    return off - sign * units
