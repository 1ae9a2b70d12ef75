"""The exact (ε, δ) of a law, from the very weights that are drawn.

δ(ε) is the definition itself: the sum of max(0, P − e^ε Q) over outcomes, the larger of both
directions, over every pair of neighbouring counts. e^ε is replaced by a rational just below it, so
δ is exact to more than 50 digits and never rounded down. `epsilon` is the smallest ε at which only
outcomes impossible under the neighbour are left (the ends of a truncated law), forward for
p(z)/p(z − 1) and backward for p(z − 1)/p(z); sadeghi eq. 45 looks forward only.

Neighbours: *add or remove one* record moves one cell by 1; *replace one* moves two cells by 1 in
opposite directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

from ..errors import LawError
from .brackets import ceiling_to, exp_bracket, ln_bracket
from .composition import Pairs, check_cells, delta_of_cells, pairs_of
from .count_law import CountLaw
from .exact import Exact, exact, float_up, plain, rounded_up
from .gaussian import DiscreteGaussian
from .law import Law, WholeWeights
from .neighbours import Neighbours
from .portrait import Portrait, Portrayed
from .pure_laplace import PureLaplace

_EPSILON_DIGITS = 30
AuditedLaw = Law | PureLaplace | CountLaw


@runtime_checkable
class Audited(Protocol):
    """Something that was made with a law, as a design."""

    law: Law
    audit: Audit


@dataclass(frozen=True, repr=False)
class Audit(Portrayed):
    """What the weights of a law say.

    `delta` is δ at `at_epsilon`; `epsilon` is where only the boundary mass is left, and
    `boundary_mass` is that δ. `exact` is False where a figure is an upper bound.
    """

    epsilon: Fraction | None
    epsilon_forward: Fraction | None
    epsilon_backward: Fraction | None
    delta: Fraction
    at_epsilon: Fraction
    boundary_mass: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    cells: int = 1
    exact: bool = True
    unreachable: tuple[int, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether ε holds at `at_epsilon` up to the boundary mass alone."""
        return self.delta <= self.boundary_mass

    def to_dict(self) -> dict[str, Any]:
        """Plain data: numbers rounded up to the next float, and the exact texts beside them."""
        return {
            "at_epsilon": _float_at(self.at_epsilon),
            "cells": self.cells,
            "delta": float_up(self.delta),
            "delta_text": rounded_up(self.delta, 12),
            "epsilon": _float_or_none(self.epsilon),
            "epsilon_backward": _float_or_none(self.epsilon_backward),
            "epsilon_forward": _float_or_none(self.epsilon_forward),
            "exact": self.exact,
            "neighbours": self.neighbours.words,
            "unreachable": list(self.unreachable),
        }

    def portrait(self) -> Portrait:
        """The figures, none rounded down."""
        kind = "exact" if self.exact else "an upper bound"
        facts = [
            ("delta", f"{rounded_up(self.delta)} at epsilon {_short(self.at_epsilon)}, {kind}"),
        ]
        if self.epsilon is None and not self.exact:
            facts.append(("epsilon", "no single one: each has a delta of its own"))
        else:
            least = "none is finite" if self.epsilon is None else _short(self.epsilon)
            facts.append(("epsilon", least))
            facts.append(("beyond it", f"delta {rounded_up(self.boundary_mass)}"))
        if self.epsilon is not None:
            ways = (self.epsilon_forward or self.epsilon, self.epsilon_backward or self.epsilon)
            facts.append(("two directions", " and ".join(map(_short, ways))))
        facts.append(("neighbours", self.neighbours.words))
        facts += [("cells", str(self.cells))] if self.cells > 1 else []
        if self.unreachable:
            facts.append(("unreachable", f"{list(self.unreachable)[:8]}: too few key bits"))
        return Portrait("Audit of the weights that are drawn", facts)

    def __str__(self) -> str:
        """The audit in one line, nothing rounded down."""
        kind = "exact" if self.exact else "upper bound"
        text = f"epsilon {_short(self.at_epsilon)} with delta {rounded_up(self.delta)} ({kind}"
        where = f", {self.cells} cells" if self.cells > 1 else ""
        return f"{text}{where}; neighbours: {self.neighbours.words})"


def _short(epsilon: Fraction) -> str:
    """An ε as it is where that is short, else rounded up: δ at a larger ε is no larger."""
    text = plain(epsilon)
    return text if len(text) <= 15 else rounded_up(epsilon, 10)


def audit(
    law: AuditedLaw | DiscreteGaussian | Audited | Sequence[Law],
    epsilon: Exact | None = None,
    *,
    neighbours: str = Neighbours.ADD_REMOVE,
    cells: int = 1,
) -> Audit:
    """The exact (ε, δ) of a law; of a p-table, over every pair (n, n + 1); of a design, of its law.

    Gaussian noise is held against the `epsilon` given, and its δ is an upper bound.

    Without `epsilon`, the law is held against the one it was asked for; a law that was not built
    from one is measured where only its boundary mass is left. `cells` is how many cells one person
    touches: a finite law is then still measured at its own ε (what one cell's figure hides), an
    untruncated Laplace at the sum of its ε, where δ is 0.

    law               a law, a p-table, a design, Gaussian noise, or laws of counts 0, 1, …
    epsilon           δ is measured at this ε, exact, as text
    neighbours        "add-remove" or "replace-one"
    cells             how many cells one person touches

    >>> from discreet.core.law_builders import laplace
    >>> found = audit(laplace(epsilon="0.5", max_perturbation=7))
    >>> rounded_up(found.delta, 6), found.epsilon <= Fraction(1, 2)
    ('0.00756848', True)
    """
    alike = Neighbours.read(neighbours)
    check_cells(cells)
    asked = None if epsilon is None else _epsilon(epsilon)
    touched = cells * alike.moved
    if isinstance(law, Audited):
        wanted = getattr(law, "epsilon", None)
        asked = wanted if asked is None else asked
        law = law.law
    if isinstance(law, DiscreteGaussian):
        return _gaussian(law, asked, cells, alike)
    laws = _laws(law)
    if isinstance(law, PureLaplace):
        one = min(_ln_up(1 / law.ratio) * law.sensitivity, law.epsilon)
        at = law.epsilon * touched if asked is None else asked
        single = Audit(one, one, one, _pure_delta(law, at), at, Fraction(0))
    else:
        single = audit_pairs(_as_rows(law), asked if asked is not None else _asked_of(law))
        at = single.at_epsilon
    if touched == 1:
        figure, is_exact = single.delta, True
    elif len(laws) == 1:
        bracket = delta_of_cells(laws[0], at, cells, neighbours=alike)
        figure, is_exact = bracket.high, bracket.exact
    else:
        figure, is_exact = min(delta(law, at / touched) * touched, Fraction(1)), False
    missing = tuple(sorted({z for row in laws for z in row.unreachable}))
    return replace(
        single, delta=figure, neighbours=alike, cells=cells, exact=is_exact, unreachable=missing
    )


def _gaussian(
    law: DiscreteGaussian, epsilon: Fraction | None, cells: int, alike: Neighbours
) -> Audit:
    """δ of Gaussian noise at an ε: no ε bounds it, and every δ is a bound."""
    if epsilon is None:
        raise LawError(
            "Gaussian noise has a delta for every epsilon: say which, as in audit(law, '1')."
        )
    from .gaussian_delta import delta_bound

    found = Fraction(delta_bound(epsilon, [(law.sigma2, cells * alike.moved)]))
    return Audit(None, None, None, found, epsilon, Fraction(0), alike, cells, exact=False)


def audit_pairs(rows: Sequence[tuple[Pairs, int]], epsilon: Fraction | None) -> Audit:
    """The audit of one cell, from the weights under every two neighbouring counts."""
    up = [None if ratio is None else _ln_up(ratio) for ratio in _steepest(rows)]
    largest = max((steep for steep in up if steep is not None), default=None)
    at = epsilon if epsilon is not None else largest or Fraction(0)
    return Audit(largest, up[0], up[1], _delta_rows(rows, at), at, _boundary(rows))


def delta(law: AuditedLaw | Sequence[Law], epsilon: Exact) -> Fraction:
    """δ(ε) for one cell, both directions, never rounded down; neighbours: add or remove one.

    law               a law, or laws of counts 0, 1, …
    epsilon           exact, as text: "0.5", "1/3"

    >>> from discreet.core.law_builders import laplace
    >>> float(delta(laplace("1", 10), "1"))
    2.0980598824578878e-05
    """
    asked = _epsilon(epsilon)
    if isinstance(law, PureLaplace):
        return _pure_delta(law, asked)
    return _delta_rows(_as_rows(law), asked)


def probabilistic_delta(law: Law | CountLaw | Sequence[Law], epsilon: Exact) -> Fraction:
    """The chance that a likelihood ratio exceeds e^ε: probabilistic DP, rinott (4.5), Lemma 1.

    Never smaller than `delta`. Where a ratio lies within 10^-70 of e^ε it counts as exceeding.

    law               a law, a p-table, or laws of counts 0, 1, …
    epsilon           exact, as text: "0.5", "1/3"

    >>> from discreet.core.law_builders import laplace
    >>> float(probabilistic_delta(laplace("1", 10), "1"))
    2.0980598824578878e-05
    """
    low = exp_bracket(_epsilon(epsilon))[0]
    return max(
        Fraction(sum(p for p, q in pairs if p * low.denominator > low.numerator * q), total)
        for pairs, total in _both(_as_rows(law))
    )


def _epsilon(epsilon: Exact) -> Fraction:
    return exact(epsilon, "epsilon", least=0, most=10**6, error=LawError)


def _laws(law: AuditedLaw | Sequence[Law]) -> tuple[WholeWeights | PureLaplace, ...]:
    if isinstance(law, Law | PureLaplace):
        return (law,)
    if not isinstance(law, CountLaw | Sequence) or isinstance(law, str):
        raise LawError(
            f"An audit needs a law, a p-table or a list of laws, got {type(law).__name__}."
        )
    return law.rows if isinstance(law, CountLaw) else tuple(law)


def _as_rows(law: Law | CountLaw | Sequence[Law]) -> list[tuple[Pairs, int]]:
    laws = [row for row in _laws(law) if isinstance(row, WholeWeights)]
    if not laws or len(laws) < len(_laws(law)):
        raise LawError("A p-table to audit must be a list of laws, one for each count, got none.")
    rows = [pairs_of(a, b) for a, b in pairwise(laws)]
    closed = isinstance(law, CountLaw) and not law.cycle
    if not closed:  # the last row serves every larger count, so it is its own neighbour
        rows.append(pairs_of(laws[-1]))
    return rows or [([(laws[0].total, laws[0].total)], laws[0].total)]


def _asked_of(law: Law | CountLaw | Sequence[Law]) -> Fraction | None:
    parameters = getattr(law, "parameters", {})
    return Fraction(parameters["epsilon"]) if "epsilon" in parameters else None


def _delta_rows(rows: Sequence[tuple[Pairs, int]], epsilon: Fraction) -> Fraction:
    low = exp_bracket(epsilon)[0]
    return max(_hockey_stick(turned, total, low) for turned, total in _both(rows))


def _both(rows: Sequence[tuple[Pairs, int]]) -> Iterator[tuple[Pairs, int]]:
    for pairs, total in rows:
        yield pairs, total
        yield [(q, p) for p, q in pairs], total


def _hockey_stick(pairs: Pairs, total: int, factor: Fraction) -> Fraction:
    up, down = factor.numerator, factor.denominator
    over = sum(excess for p, q in pairs if (excess := p * down - q * up) > 0)
    return Fraction(over, total * down)


def _steepest(rows: Sequence[tuple[Pairs, int]]) -> tuple[Fraction | None, Fraction | None]:
    """The largest P/Q and Q/P over outcomes possible under both; None if there are none."""
    forward: Fraction | None = None
    backward: Fraction | None = None
    for pairs, _ in rows:
        for p, q in pairs:
            if p and q:
                if forward is None or p * forward.denominator > q * forward.numerator:
                    forward = Fraction(p, q)
                if backward is None or q * backward.denominator > p * backward.numerator:
                    backward = Fraction(q, p)
    return forward, backward


def _boundary(rows: Sequence[tuple[Pairs, int]]) -> Fraction:
    return max(Fraction(sum(p for p, q in pairs if not q), total) for pairs, total in _both(rows))


def _ln_up(ratio: Fraction) -> Fraction:
    return max(Fraction(0), ceiling_to(ln_bracket(ratio)[1], _EPSILON_DIGITS))


def _pure_delta(law: PureLaplace, epsilon: Fraction) -> Fraction:
    """δ(ε) of the untruncated law: 0 from its own ε on, and a finite sum below it.

    With a shift of s, the ratio is r^−s for z ≤ 0 and steps of r² in between.
    """
    if epsilon >= law.epsilon:
        return Fraction(0)
    low = exp_bracket(epsilon)[0]
    s = law.sensitivity
    below = 1 / (1 + law.ratio)  # P(Z ≤ 0)
    worst = max(Fraction(0), below - low * below * law.ratio**s)
    for z in range(1, s + 1):
        excess = law.probability(z) - low * law.probability(z - s)
        worst += max(Fraction(0), excess)
    return worst


def _float_at(epsilon: Fraction) -> float:
    """An ε as it was asked; one that was found, and has no short form, not rounded down."""
    return float(epsilon) if len(plain(epsilon)) <= 15 else float_up(epsilon)


def _float_or_none(value: Fraction | None) -> float | None:
    return None if value is None else float_up(value)
