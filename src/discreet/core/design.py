"""From what is wanted to a law: sadeghi III-D, and what accuracy or risk ask of ε.

Everything found is audited from its own weights before it is handed out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np

from ..errors import LawError
from .audit import Audit, audit
from .brackets import floor_to, ln_bracket
from .composition import check_cells
from .exact import Exact, exact, plain, rounded_up, whole
from .law import Law
from .law_builders import MAX_PERTURBATION_MOST, max_entropy_for
from .masses import gamma_for_epsilon
from .pure_laplace import EPSILON_LEAST, EPSILON_MOST, PureLaplace, read_epsilon

_TRIES = 4


@dataclass(frozen=True)
class Design:
    """A law found for (ε, δ): its support D, its exact variance V, and its audit."""

    epsilon: Fraction
    delta: Fraction
    law: Law
    audit: Audit

    @property
    def max_perturbation(self) -> int:
        """D."""
        return self.law.max_perturbation

    @property
    def variance(self) -> Fraction:
        """V, of the weights."""
        return self.law.variance


def design(
    epsilon: Exact,
    delta: Exact,
    *,
    iota_share: Exact = "1/10",
    key_bits: int = 64,
    quantiser: str = "symmetric",
) -> Design:
    """The maximum-entropy law with the smallest support that keeps (ε, δ): sadeghi III-D.

    >>> found = design(epsilon="0.5", delta="1e-4")
    >>> found.max_perturbation, round(float(found.variance), 4), rounded_up(found.audit.delta, 6)
    (25, 49.0022, '0.0000991299')
    """
    e = read_epsilon(epsilon)
    d = exact(delta, "delta", above=0, below=1, error=LawError)
    share = exact(iota_share, "iota_share", least=0, most=1, error=LawError)

    def build(support: int) -> tuple[Law, Audit]:
        law = max_entropy_for(e, support, iota_share=share, key_bits=key_bits, quantiser=quantiser)
        return law, audit(law, e)

    start = _first_support(e, float(d), float(share))
    if start > 1 and build(start - 1)[1].delta <= d:
        start -= 1
    for support in range(start, min(start + _TRIES, MAX_PERTURBATION_MOST + 1)):
        law, found = build(support)
        if found.delta <= d:
            return Design(e, d, law, found)
    raise LawError(
        f"No law over 2^{key_bits} keeps epsilon {plain(e)} with delta {rounded_up(d)}: at "
        f"max_perturbation {support} delta is {rounded_up(found.delta)}. "
        "Use more key_bits or a larger delta."
    )


def _first_support(epsilon: Fraction, delta: float, share: float) -> int:
    """The smallest D with (32) ≤ δ, by floats; the caller checks it and its neighbours exactly."""
    low, high = 0, 1
    while _asymptotic_delta(epsilon, high, share) > delta:
        low, high = high, high * 2
        if low > MAX_PERTURBATION_MOST:
            raise LawError(
                f"epsilon {plain(epsilon)} with this delta needs a max_perturbation above "
                f"{MAX_PERTURBATION_MOST}. Raise epsilon or delta."
            )
    return bisect_left(
        range(high), True, low + 1, key=lambda d: _asymptotic_delta(epsilon, d, share) <= delta
    )


def _asymptotic_delta(epsilon: Fraction, d: int, share: float) -> float:
    gamma = float(gamma_for_epsilon(epsilon, d, Fraction(share)))
    z = np.arange(1, d + 1, dtype=np.float64)
    return exp(-gamma * d * d) / (1 + 2 * float(np.exp(-gamma * z * z).sum()))


def epsilon_for_accuracy(
    half_width_wanted: int, level: Exact = "0.95", *, cells: int = 1, digits: int = 3
) -> Fraction:
    """The least ε, rounded up, whose untruncated Laplace keeps a sum of `cells` within ±h.

    >>> epsilon_for_accuracy(5, "0.95", digits=2)
    Fraction(27, 50)
    """
    whole(half_width_wanted, "The half width", 0)
    check_cells(cells)
    unit = Fraction(1, 10**digits)
    high = int(EPSILON_MOST / unit)

    def enough(steps: int) -> bool:
        e = steps * unit
        return (
            e >= EPSILON_LEAST and PureLaplace.of(e).half_width(level, cells) <= half_width_wanted
        )

    if not enough(high):
        raise LawError(
            f"No epsilon up to {EPSILON_MOST} keeps {cells} cells within ±{half_width_wanted} at "
            f"level {level}. Allow a wider interval."
        )
    return bisect_left(range(high), True, key=enough) * unit


def epsilon_for_risk(profile: Sequence[tuple[Exact, Exact]]) -> Fraction:
    """The largest ε, rounded down, under which no prior π rises above its q; neighbours: add/remove.

    ε ≤ ln[q(1 − π) / (π(1 − q))] for every row (π, q) of the profile.

    >>> float(epsilon_for_risk([("0.1", "0.25")]))
    1.098612288668
    """
    if not profile:
        raise LawError("A risk profile needs at least one pair (prior, posterior), got none.")
    ceilings = []
    for prior_text, posterior_text in profile:
        prior = exact(prior_text, "prior", above=0, below=1, error=LawError)
        posterior = exact(posterior_text, "posterior", above=0, below=1, error=LawError)
        if posterior <= prior:
            raise LawError(
                f"The posterior allowed must be above the prior {plain(prior)}, got "
                f"{plain(posterior)}. No noise makes a reader less sure than before."
            )
        odds = posterior * (1 - prior) / (prior * (1 - posterior))
        ceilings.append(floor_to(ln_bracket(odds)[0], 12))
    return min(ceilings)
