"""Studies of laws: δ over ε, laws that promise alike, the variance with the least δ, enough keys.

rinott §5.6.2; sadeghi III with Figs 1 and 2, and V-C with Figs 4 and 5. A search runs on floats; every δ and ε that is
reported is the exact audit of a law that can be drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np

from ..errors import LawError
from .audit import AuditedLaw, audit
from .exact import Exact, exact, plain, rounded_up, whole
from .law import Law
from .law_builders import MAX_PERTURBATION_MOST, discrete_normal, max_entropy_for, normal
from .noise_law import Floats
from .pure_laplace import read_epsilon

_MOST_SEARCHED = 2000


def delta_curve(
    law: AuditedLaw | Sequence[Law], epsilons: Sequence[Exact]
) -> list[tuple[Fraction, Fraction]]:
    """(ε, δ(ε)) for every ε given, one cell, never rounded down: sadeghi Fig. 1.

    law               a law, or laws of counts 0, 1, …
    epsilons          exact, as text: ["0.5", "1"]

    >>> from discreet.core.law_builders import laplace
    >>> [round(float(delta), 4) for _, delta in delta_curve(laplace("1", 5), ["0.5", "1"])]
    [0.2899, 0.0031]
    """
    return [(audited.at_epsilon, audited.delta) for audited in (audit(law, e) for e in epsilons)]


def matching_normal(law: Law, epsilon: Exact | None = None, *, most: int = _MOST_SEARCHED) -> Law:
    """The normal law (rinott 5.3) with the smallest m whose δ is no larger than that of `law`.

    law               the law to match
    epsilon           where δ is measured, exact, as text; None: the law's own ε
    most              the largest m tried

    >>> from discreet.core.law_builders import laplace
    >>> matching_normal(laplace("0.5", 7)).max_perturbation
    11
    """
    target = audit(law, epsilon)
    for m in range(1, most + 1):
        candidate = normal(target.at_epsilon, m, key_bits=law.key_bits)
        if audit(candidate, target.at_epsilon).delta <= target.delta:
            return candidate
    raise LawError(
        f"No normal law with m up to {most} has delta ≤ {rounded_up(target.delta)} at epsilon "
        f"{plain(target.at_epsilon)}. Use a Laplace law."
    )


@dataclass(frozen=True)
class LeastDelta:
    """For one ε and one support: the γ with the least δ, beside the γ of sadeghi's rule.

    γ is that of p(z) ∝ exp(−γ z²); variances and δ are those of the laws' own weights.
    """

    epsilon: Fraction
    max_perturbation: int
    gamma: Fraction
    law: Law
    delta: Fraction
    rule_gamma: Fraction
    rule_law: Law
    rule_delta: Fraction

    @property
    def variance(self) -> Fraction:
        """V of the law with the least δ."""
        return self.law.variance

    @property
    def rule_variance(self) -> Fraction:
        """V of the law that the rule gives: sadeghi (28)."""
        return self.rule_law.variance


def least_delta(epsilon: Exact, max_perturbation: int, *, key_bits: int = 64) -> LeastDelta:
    """The variance whose δ at ε is least for this support: sadeghi Fig. 2, without its grid.

    sadeghi's rule is γ = ε/(2D − 1), with δ as in (29). δ falls with γ until one more outcome has a
    ratio above e^ε, which happens at γ = ε/(2j − 1) for j = D, …, 1; the least δ is at one of these
    (no γ of a fine scan does better, for any D up to 80 and ε from 0.01 to 8).

    epsilon           exact, as text: "0.5", "1/3"
    max_perturbation  D: no number moves further than this
    key_bits          weights are whole numbers over 2 to this power

    >>> found = least_delta("1", 11)
    >>> found.gamma, found.rule_gamma, round(float(found.delta / found.rule_delta), 3)
    (Fraction(1, 19), Fraction(1, 21), 0.746)
    """
    asked = read_epsilon(epsilon)
    support = whole(max_perturbation, "max_perturbation", 1, _MOST_SEARCHED)
    kinks = [asked / (2 * j - 1) for j in range(support, 0, -1)]
    deltas = deltas_by_formula(np.array([float(g) for g in kinks]), support, float(asked))
    best = int(np.argmin(deltas))

    def audited(gamma: Fraction) -> tuple[Fraction, Law, Fraction]:
        law = discrete_normal(1 / (2 * gamma), support, key_bits=key_bits)
        return gamma, law, audit(law, asked).delta

    rule = audited(kinks[0])
    tried = [rule, *(audited(gamma) for gamma in kinks[max(best - 1, 1) : best + 2])]
    return LeastDelta(asked, support, *min(tried, key=lambda one: one[2]), *rule)


def deltas_by_formula(gammas: Floats, max_perturbation: int, epsilon: float) -> Floats:
    """δ of the unquantised laws p(z) ∝ exp(−γ z²) on ±D, sadeghi (21); to float precision."""
    z = np.arange(-max_perturbation, max_perturbation + 1, dtype=np.float64)
    mass = np.exp(-gammas[:, None] * z * z)
    mass /= mass.sum(axis=1, keepdims=True)
    excess = np.maximum(mass[:, 1:] - exp(epsilon) * mass[:, :-1], 0.0)
    return np.asarray(mass[:, 0] + excess.sum(axis=1))


@dataclass(frozen=True)
class KeySize:
    """One ε and one key size of sadeghi V-C: what quantising did to the law that was asked for.

    `epsilon_forward` is sadeghi's (45), which looks one way; `epsilon_both` holds both ways. Where
    perturbations are `unreachable`, neither says anything of them. `boundary_mass` is (46).
    """

    epsilon: Fraction
    key_bits: int
    law: Law
    designed_delta: Fraction
    delta: Fraction
    boundary_mass: Fraction
    epsilon_forward: Fraction | None
    epsilon_both: Fraction | None
    bias: Fraction
    variance_error: Fraction
    """(V after − V before) / V before."""

    @property
    def unreachable(self) -> tuple[int, ...]:
        """Perturbations that were designed and can never happen."""
        return self.law.unreachable

    @property
    def enough(self) -> bool:
        """Whether every perturbation can happen and ε holds both ways, up to the boundary mass."""
        both = self.epsilon_both
        return not self.unreachable and both is not None and both <= self.epsilon


def key_sizes(
    max_perturbation: int = 10,
    epsilons: Sequence[Exact] | None = None,
    key_bits: Sequence[int] = (8, 16, 32),
    *,
    quantiser: str = "ceil",
    iota_share: Exact = "1/10",
) -> list[KeySize]:
    """What cutting a law to few cell keys does to it: sadeghi V-C, by default its own experiment.

    max_perturbation  the support of every law
    epsilons          exact, as text; None: those of the paper
    key_bits          sizes of keys to try: weights over 2 to this power
    quantiser         ceil (as the paper rounds) or symmetric
    iota_share        as in `max_entropy_for`

    >>> rows = key_sizes(10, ["0.6", "0.7"], [8])
    >>> [bool(row.unreachable) for row in rows], float(rows[0].bias)
    ([False, True], -0.0390625)
    """
    support = whole(max_perturbation, "max_perturbation", 1, MAX_PERTURBATION_MOST)
    asked = [Fraction(k, 10) for k in range(1, 26)] if epsilons is None else list(epsilons)
    share = exact(iota_share, "iota_share", least=0, most=1)
    rows = []
    for e in map(read_epsilon, asked):
        fine = max_entropy_for(e, support, iota_share=share)
        designed = audit(fine).delta
        for bits in key_bits:
            law = max_entropy_for(e, support, iota_share=share, key_bits=bits, quantiser=quantiser)
            found = audit(law)
            rows.append(
                KeySize(
                    e,
                    bits,
                    law,
                    designed,
                    found.delta,
                    found.boundary_mass,
                    found.epsilon_forward,
                    found.epsilon,
                    law.mean,
                    (law.variance - fine.variance) / fine.variance,
                )
            )
    return rows
