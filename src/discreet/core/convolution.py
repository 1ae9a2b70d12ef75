"""Sums of independent whole numbers, exactly: polynomial products inside one big integer.

Coefficients are weights over 2^scale. Products are exact until coefficients pass `cap_bits`; then
they are cut *down*, so a result is exact or a lower bound for every coefficient, and what was
cut is at most one minus their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Masses:
    """Masses coefficient / 2^scale of start, start + 1, …; `exact` or lower bounds."""

    start: int
    coefficients: tuple[int, ...]
    scale: int
    exact: bool = True

    @property
    def total(self) -> Fraction:
        """The mass kept."""
        return Fraction(sum(self.coefficients), 1 << self.scale)

    def times(self, other: Masses, cap_bits: int) -> Masses:
        """The masses of the sum of two independent numbers."""
        values = multiply(self.coefficients, other.coefficients)
        scale = self.scale + other.scale
        cut = max(0, scale - cap_bits)
        exact = self.exact and other.exact
        if cut:
            short = [value >> cut for value in values]
            exact = exact and all(v == s << cut for v, s in zip(values, short, strict=True))
            values, scale = short, scale - cut
        return Masses(self.start + other.start, tuple(values), scale, exact)

    def power(self, count: int, cap_bits: int = 1 << 62) -> Masses:
        """The masses of the sum of `count` independent copies.

        >>> Masses(0, (1, 1), 1).power(3).coefficients
        (1, 3, 3, 1)
        """
        result = Masses(0, (1,), 0)
        square = self
        while count:
            if count & 1:
                result = result.times(square, cap_bits)
            count >>= 1
            if count:
                square = square.times(square, cap_bits)
        return result


def multiply(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """The product of two polynomials with coefficients ≥ 0.

    >>> multiply([1, 2], [3, 4])
    [3, 10, 8]
    """
    length = len(left) + len(right) - 1
    terms = min(len(left), len(right))
    bits = max(left).bit_length() + max(right).bit_length() + terms.bit_length()
    width = bits // 8 + 1

    def packed(values: Sequence[int]) -> int:
        return int.from_bytes(b"".join(c.to_bytes(width, "little") for c in values), "little")

    one = packed(left)
    whole = (one * (one if right is left else packed(right))).to_bytes(length * width, "little")
    return [int.from_bytes(whole[i : i + width], "little") for i in range(0, len(whole), width)]
