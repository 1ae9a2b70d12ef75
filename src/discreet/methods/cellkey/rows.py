"""A row of a p-table: a law in whole keys, and what two rows tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import sqrt

from ...core.audit import Audit
from ...core.brackets import ceiling_to, exp_bracket, ln_bracket
from ...core.exact import Exact, exact
from ...errors import Bug, LawError


@dataclass(frozen=True)
class Row:
    """One row: interval k holds the keys from `uppers[k − 1]` up to, not including, `uppers[k]`."""

    perturbations: tuple[int, ...]
    uppers: tuple[int, ...]

    @classmethod
    def of(cls, weights: Sequence[tuple[int, int]]) -> Row:
        """A row of (perturbation, number of keys) in key order; empty intervals vanish.

        >>> Row.of([(-1, 64), (0, 128), (1, 64)])
        Row(perturbations=(-1, 0, 1), uppers=(64, 192, 256))
        """
        perturbations: list[int] = []
        uppers: list[int] = []
        at = 0
        for perturbation, width in weights:
            if width < 0:
                raise Bug(f"A p-table interval has {width} keys.")
            at += width
            if not width:
                continue
            if perturbations and perturbations[-1] == perturbation:
                uppers[-1] = at
            else:
                perturbations.append(perturbation)
                uppers.append(at)
        return cls(tuple(perturbations), tuple(uppers))

    @property
    def keys(self) -> int:
        """How many keys the row cuts up."""
        return self.uppers[-1]

    @cached_property
    def intervals(self) -> tuple[tuple[int, int, int], ...]:
        """(perturbation, first key, first key beyond) in key order."""
        return tuple(zip(self.perturbations, (0, *self.uppers), self.uppers, strict=False))

    @cached_property
    def weights(self) -> dict[int, int]:
        """Keys of each perturbation that can happen, in rising order."""
        found: dict[int, int] = {}
        for perturbation, low, high in self.intervals:
            found[perturbation] = found.get(perturbation, 0) + high - low
        return dict(sorted(found.items()))

    @cached_property
    def pmf(self) -> dict[int, Fraction]:
        """The exact probability of each perturbation that can happen."""
        return {v: Fraction(w, self.keys) for v, w in self.weights.items()}

    @cached_property
    def mean(self) -> Fraction:
        """The exact mean."""
        return Fraction(sum(v * w for v, w in self.weights.items()), self.keys)

    @cached_property
    def variance(self) -> Fraction:
        """The exact variance."""
        return Fraction(sum(v * v * w for v, w in self.weights.items()), self.keys) - self.mean**2

    @cached_property
    def error(self) -> float:
        """Root mean square of the perturbation: the sd of an unbiased row, and no less for others."""
        return sqrt(float(self.variance + self.mean**2))

    @property
    def rising(self) -> bool:
        """Whether larger keys mean larger perturbations, as in a designed table."""
        return all(a < b for a, b in pairwise(self.perturbations))

    @property
    def fixed(self) -> bool:
        """Whether the count is left as it is."""
        return self.perturbations == (0,)

    def at(self, key: int) -> int:
        """The perturbation of one key; the plain definition, for tests and single cells."""
        for perturbation, low, high in self.intervals:
            if low <= key < high:
                return perturbation
        raise Bug("A cell key lies beyond the keys of its p-table.")


def audit_pairs(
    neighbours: Sequence[tuple[Row, Row, int]], keys: int, epsilon: Exact | None
) -> Audit:
    """The audit of core, for rows of any number of keys and counts any distance apart."""
    pairs = []
    for row, other, shift in neighbours:
        outcomes = set(row.weights) | {v + shift for v in other.weights}
        pairs.append([(row.weights.get(y, 0), other.weights.get(y - shift, 0)) for y in outcomes])
    turned = [[(q, p) for p, q in pair] for pair in pairs]
    steep: list[Fraction | None] = []
    for side in (pairs, turned):
        ratios = [Fraction(p, q) for pair in side for p, q in pair if p and q]
        up = max(Fraction(0), ceiling_to(ln_bracket(max(ratios))[1], 30)) if ratios else None
        steep.append(up)
    known = [e for e in steep if e is not None]
    largest = max(known) if known else None
    boundary = max(Fraction(sum(p for p, q in pair if not q), keys) for pair in (*pairs, *turned))
    asked = None if epsilon is None else exact(epsilon, "epsilon", least=0, error=LawError)
    at = asked if asked is not None else largest or Fraction(0)
    low = exp_bracket(at)[0]
    delta = max(
        sum((max(Fraction(0), p - low * q) for p, q in pair), Fraction(0)) / keys
        for pair in (*pairs, *turned)
    )
    return Audit(largest, steep[0], steep[1], delta, at, boundary)
