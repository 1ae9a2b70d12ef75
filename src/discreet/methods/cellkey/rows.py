"""What rows of a p-table tell apart: the audit of core for any number of keys."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ...core.audit import Audit
from ...core.brackets import ceiling_to, exp_bracket, ln_bracket
from ...core.count_law import Row
from ...core.exact import Exact, exact
from ...errors import LawError


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
