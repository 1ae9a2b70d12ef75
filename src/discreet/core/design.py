"""From what is wanted to a law: from (ε, δ) by search or by sadeghi III-D, and what accuracy or risk ask of ε.

Everything found is audited from its own weights before it is handed out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np

from ..errors import LawError, did_you_mean
from .audit import Audit, audit
from .brackets import floor_to, ln_bracket
from .composition import check_cells
from .exact import Exact, exact, plain, rounded_up, whole
from .law import Law, check_key_bits
from .law_builders import MAX_PERTURBATION_MOST, max_entropy, max_entropy_for
from .least_support import GRID, proposed_variances, smallest_support
from .masses import gamma_for_epsilon
from .portrait import Portrait, Portrayed
from .pure_laplace import EPSILON_LEAST, EPSILON_MOST, PureLaplace, read_epsilon

RULES = ("smallest", "sadeghi")
_TRIES = 4
_FINE_BITS = 56
"""With fewer key bits rounding moves δ by more than a step of the variance may."""
_REACH = 1 << 18
_SCANNED = 60


@dataclass(frozen=True, repr=False)
class Design(Portrayed):
    """A law found for (ε, δ): its support D, its exact variance V, and its audit."""

    epsilon: Fraction
    delta: Fraction
    law: Law
    audit: Audit

    def portrait(self) -> Portrait:
        """What was wanted, the law found, and its audit."""
        law = self.law.portrait()
        wanted = ("wanted", f"epsilon {plain(self.epsilon)}, delta {plain(self.delta)}")
        return Portrait(law.title, [wanted, ("audit", str(self.audit)), *law.facts], law.pmf)

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
    rule: str = "smallest",
    iota_share: Exact | None = None,
    key_bits: int = 64,
    quantiser: str = "symmetric",
) -> Design:
    """The maximum-entropy law with the smallest support, then the least variance, that keeps (ε, δ).

    *smallest* searches every law p(z) ∝ exp(−γ z²) on ±D whose variance is a whole number of
    millionths, as quantised over 2^key_bits; the exact audit decides. With fewer than 56 key bits
    rounding decides too, and of the variances far from a crossing 60 are tried for each D. With rule *sadeghi* the
    variance follows from ε and D (30) and only D is looked for, as sadeghi III-D does;
    `iota_share` belongs to it.

    epsilon, delta    what must be kept, exact, as text: "0.5", "1e-4"
    rule              smallest or sadeghi
    key_bits          weights are whole numbers over 2 to this power
    quantiser         symmetric (mean exactly 0) or ceil (as sadeghi rounds)

    >>> found = design(epsilon="0.9", delta="1e-7")
    >>> found.max_perturbation, round(float(found.variance), 3), rounded_up(found.audit.delta, 4)
    (29, 26.944, '1e-7')
    >>> found = design(epsilon="0.5", delta="1e-4", rule="sadeghi")
    >>> found.max_perturbation, round(float(found.variance), 4), rounded_up(found.audit.delta, 6)
    (25, 49.0022, '0.0000991299')
    """
    e = read_epsilon(epsilon)
    d = exact(delta, "delta", above=0, below=1, error=LawError)
    if rule not in RULES:
        raise LawError(f"rule must be {' or '.join(RULES)}, got {rule}.{did_you_mean(rule, RULES)}")
    if rule == "smallest":
        if iota_share is not None:
            raise LawError("iota_share belongs to rule sadeghi. Leave it out, or use that rule.")
        return _smallest(e, d, check_key_bits(key_bits), quantiser)
    share = exact("1/10" if iota_share is None else iota_share, "iota_share", least=0, most=1)
    return _by_rule(e, d, share, key_bits, quantiser)


def _smallest(e: Fraction, d: Fraction, key_bits: int, quantiser: str) -> Design:
    """The search: floats propose D and V, whole weights decide both and their neighbours below."""
    unit = Fraction(1, 1 << key_bits)
    # the outermost perturbation that can happen has one key at least, and nothing beside it
    last = _first_support(e, float(d), 0.1) if d >= unit else 0
    slack = float(unit) * (1 + exp(float(e)))
    first = smallest_support(e, float(d), last, slack) if last else 1
    for support in range(first, min(last + _TRIES, MAX_PERTURBATION_MOST) + 1):
        found = _least_variance(e, d, support, key_bits, quantiser)
        if found is not None:
            return found
    raise LawError(
        f"No law over 2^{key_bits} keeps epsilon {plain(e)} with delta {rounded_up(d)}. "
        "Use more key_bits or a larger delta."
    )


def _least_variance(
    e: Fraction, d: Fraction, support: int, key_bits: int, quantiser: str
) -> Design | None:
    """The law on ±D with the least variance that keeps (ε, δ); None where there is none."""
    most = Fraction(support * (support + 1), 3)

    def kept(variance: Fraction) -> Design | None:
        if not 0 < variance < most:
            return None
        law = max_entropy(support, variance, key_bits=key_bits, quantiser=quantiser)
        found = audit(law, e)
        return Design(e, d, law, found) if found.delta <= d else None

    found: Design | None = None
    for variance in proposed_variances(e, float(d), support):
        found = _first_kept(kept, int(variance * GRID), 1 if key_bits >= _FINE_BITS else _REACH)
        if found is not None:
            break
    if key_bits < _FINE_BITS:
        top = most if found is None else Fraction(found.law.parameters["variance"])
        scan = (Fraction(int(top * k * GRID / _SCANNED), GRID) for k in range(1, _SCANNED))
        found = next(filter(None, map(kept, scan)), found)
    return found


def _first_kept(kept: Callable[[Fraction], Design | None], start: int, reach: int) -> Design | None:
    """The first variance on the grid that is kept near `start`: rounding moves where δ is crossed."""
    failed, offset = -1, 0
    best = kept(Fraction(start, GRID))
    while best is None and offset < reach:
        failed, offset = offset, offset * 2 or 1
        best = kept(Fraction(start + offset, GRID))
    if best is None:
        return None
    if offset == 0:
        while reach == 1 and (smaller := kept(Fraction(start - 1, GRID))) is not None:
            best, start = smaller, start - 1
        return best
    while offset - failed > 1:
        middle = (failed + offset) // 2
        nearer = kept(Fraction(start + middle, GRID))
        if nearer is None:
            failed = middle
        else:
            best, offset = nearer, middle
    return best


def _by_rule(e: Fraction, d: Fraction, share: Fraction, key_bits: int, quantiser: str) -> Design:
    """The smallest D whose law by sadeghi (30) keeps (ε, δ)."""

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
    half_width_wanted: int,
    level: Exact = "0.95",
    *,
    cells: int = 1,
    digits: int = 3,
    sensitivity: int = 1,
    moved: int = 1,
) -> Fraction:
    """The least ε, rounded up, whose untruncated Laplace keeps a sum of `cells` within ±h.

    One unit moves `moved` cells of the table by up to `sensitivity` each.

    >>> epsilon_for_accuracy(5, "0.95", digits=2)
    Fraction(27, 50)
    """
    whole(half_width_wanted, "The half width", 0)
    check_cells(cells)
    unit = Fraction(1, 10**digits)
    high = int(EPSILON_MOST / unit)

    def enough(steps: int) -> bool:
        e = steps * unit / moved
        if e < EPSILON_LEAST * sensitivity:
            return False
        return PureLaplace.of(e, sensitivity).half_width(level, cells) <= half_width_wanted

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
