"""A law as bars of text: which perturbations are worth a bar, and how long each is."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ..errors import InputError

TAIL = Fraction(1, 10_000)
"""Ends that weigh less than this together are not drawn."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_MOST_RANGES = 41


def law_bars(pmf: Mapping[int, Fraction], width: int = 60) -> list[str]:
    """The law as lines of text, a bar for each perturbation; a wide law in about 41 ranges.

    >>> for line in law_bars({-1: Fraction(1, 4), 0: Fraction(1, 2), 1: Fraction(1, 4)}, 24):
    ...     print(line)
    -1   25.0 %  █████▌
     0   50.0 %  ███████████
    +1   25.0 %  █████▌
    """
    names, masses, left = law_ranges(pmf)
    room = max(map(len, names))
    space = max(width - room - 11, 4)
    highest = max(masses)
    lines = []
    for name, mass in zip(names, masses, strict=True):
        eighths = int(mass / highest * space * 8)
        bar = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
        lines.append(f"{name:>{room}}  {percent(mass):>7}  {bar or ('▏' if mass else '')}")
    if left > 0:
        lines.append(f"{'…':>{room}}  {percent(left):>7}  further out")
    return [line.rstrip() for line in lines]


def law_ranges(pmf: Mapping[int, Fraction]) -> tuple[list[str], list[Fraction], Fraction]:
    """The perturbations of a picture by name, the probability of each, and what lies further out."""
    shown, zero = trimmed(pmf, Fraction(1, 1000)), Fraction(0)
    first, last = min(pmf), max(pmf)
    names, masses = [], []
    for low, high in _ranges(shown):
        masses.append(sum((pmf.get(z, zero) for z in range(low, high + 1)), zero))
        ends = _signed(max(low, first)), _signed(min(high, last))
        names.append("…".join(dict.fromkeys(ends)))
    return names, masses, 1 - sum(masses, zero)


def trimmed(pmf: Mapping[int, Fraction], tail: Fraction = TAIL) -> dict[int, Fraction]:
    """The perturbations worth drawing: ends that together weigh at most `tail` are left out.

    >>> list(trimmed({-9: Fraction(1, 10**6), -1: Fraction(1, 4), 0: Fraction(3, 4)}))
    [-1, 0]
    """
    check(pmf)
    low, high, cut = min(pmf), max(pmf), Fraction(0)
    zero = Fraction(0)
    while high - low > 1:
        left, right = pmf.get(low, zero), pmf.get(high, zero)
        # Ends of equal weight go together, so that a symmetric law stays so.
        off = left + right if left == right else min(left, right)
        if cut + off > tail:
            break
        cut += off
        low, high = low + (left <= right), high - (right <= left)
    return {z: pmf.get(z, zero) for z in range(low, high + 1)}


def _ranges(pmf: Mapping[int, Fraction]) -> list[tuple[int, int]]:
    """At most about 41 ranges of equal odd length, one of them centred on zero."""
    length = -(-len(pmf) // _MOST_RANGES) | 1
    half = length // 2
    first, last = (min(pmf) + half) // length, (max(pmf) + half) // length
    return [(k * length - half, k * length + half) for k in range(first, last + 1)]


def check(pmf: Mapping[int, Fraction]) -> None:
    """Refuse what no picture can show."""
    if not pmf or not any(pmf.values()):
        raise InputError(
            "A law needs at least one perturbation of positive probability to be drawn."
        )


def _signed(z: int) -> str:
    return f"{z:+d}" if z else "0"


def percent(share: Fraction) -> str:
    """A share in percent, to one decimal."""
    hundred = float(share * 100)
    if hundred and hundred < 0.05:
        return "<0.1 %"
    return f"{hundred:.1f} %"
