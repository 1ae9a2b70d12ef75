"""The data behind the figures of sadeghi: pictures, not claims, so floats will do.

Claims come from `audit`; here the paper's own formulas stand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, floor

import numpy as np

from .audit import audit
from .exact import Exact
from .law_builders import max_entropy_for
from .masses import gamma_for_variance
from .noise_law import Floats


def delta_by_formula(gamma: float, max_perturbation: int, epsilon: float) -> float:
    """δ of the unquantised law, sadeghi (21).

    >>> round(delta_by_formula(0.125, 11, 3.0), 9)
    5.4e-08
    """
    d = max_perturbation
    z = np.arange(-d, d + 1, dtype=np.float64)
    p = np.exp(-gamma * z * z)
    p /= p.sum()
    last = floor(0.5 - epsilon / (2 * gamma))
    extra = sum(
        float(p[k + d] - exp(epsilon) * p[k - 1 + d]) for k in range(1 - d, min(last, 0) + 1)
    )
    return float(p[0]) + extra


def plateau(max_perturbation: int, variance: Exact, epsilons: Sequence[float]) -> Floats:
    """δ over ε for one support and variance: Fig. 1, with its plateau at the boundary mass."""
    gamma = float(gamma_for_variance(max_perturbation, Fraction(str(variance))))
    return np.array([delta_by_formula(gamma, max_perturbation, e) for e in epsilons])


@dataclass(frozen=True)
class BestGamma:
    """The best γ on a grid beside the analytical one, for one ε (Fig. 2)."""

    epsilon: float
    best_gamma: float
    best_delta: float
    analytical_gamma: float
    analytical_delta: float
    analytical_variance: float


def best_gammas(
    max_perturbation: int,
    epsilons: Sequence[float],
    *,
    grid: Sequence[float] | Floats | None = None,
) -> list[BestGamma]:
    """Fig. 2: δ minimised over γ = 0.0001 … 0.3, beside (28) and (29)."""
    gammas = np.arange(1, 3001) * 1e-4 if grid is None else np.asarray(grid, dtype=np.float64)
    d = max_perturbation
    z = np.arange(-d, d + 1, dtype=np.float64)
    mass = np.exp(-gammas[:, None] * z * z)
    mass /= mass.sum(axis=1, keepdims=True)
    out = []
    for e in epsilons:
        excess = np.maximum(mass[:, 1:] - exp(e) * mass[:, :-1], 0.0).sum(axis=1) + mass[:, 0]
        best = int(np.argmin(excess))
        gamma = e / (2 * d - 1)
        p = np.exp(-gamma * z * z)
        p /= p.sum()
        variance = float((z * z * p).sum())
        out.append(
            BestGamma(
                float(e), float(gammas[best]), float(excess[best]), gamma, float(p[0]), variance
            )
        )
    return out


@dataclass(frozen=True)
class KeySize:
    """One ε of the study of key sizes (§V-C, Figs 4–5): the paper's figure and the two-sided truth."""

    epsilon: float
    key_bits: int
    bias: float
    variance_error: float
    epsilon_forward: float | None
    epsilon_both: float | None
    delta_boundary: float
    delta_at_epsilon: float
    unreachable: tuple[int, ...]


def key_size_study(
    max_perturbation: int = 10,
    epsilons: Sequence[Exact] | None = None,
    key_bits: Sequence[int] = (8, 16, 32),
    *,
    quantiser: str = "ceil",
) -> list[KeySize]:
    """What quantising to small keys does to a law: `epsilon_forward` is (45), `epsilon_both` holds."""
    grid = [Fraction(k, 10) for k in range(1, 26)] if epsilons is None else list(epsilons)
    out = []
    for e in grid:
        fine = max_entropy_for(e, max_perturbation)
        for bits in key_bits:
            law = max_entropy_for(e, max_perturbation, key_bits=bits, quantiser=quantiser)
            audited = audit(law)
            forward, both = audited.epsilon_forward, audited.epsilon
            out.append(
                KeySize(
                    float(audited.at_epsilon),
                    bits,
                    float(law.mean),
                    float((law.variance - fine.variance) / fine.variance),
                    None if forward is None else float(forward),
                    None if both is None else float(both),
                    float(audited.boundary_mass),
                    float(audited.delta),
                    law.unreachable,
                )
            )
    return out
