"""The maximum-entropy law of one row, by a primal–dual interior-point method.

Minimise Σ p ln p subject to Σ p = 1, Σ p·v = 0, Σ p·v² ≤ V (or = V), p(0) ≥ p_stay, and, where
asked, p rising towards 0 on the negative side; every p ≥ 1e-8. This is what R ptable solves with a
general solver. The problem is strictly convex, so there is one answer; it is found to about 1e-12.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ...core.product import Reals

FLOOR = 1e-8
"""No outcome of a row is less likely than this before it is cut into keys (R ptable's bound)."""

_TOLERANCE = 1e-14
_ENOUGH = 1e-10
_MOST_STEPS = 120


def maximum_entropy(
    perturbations: Sequence[int],
    variance: float,
    *,
    exact_variance: bool = False,
    monotone: bool = True,
    p_stay: float | None = None,
) -> Reals | None:
    """The probabilities of these perturbations, or None where the constraints leave none.

    >>> p = maximum_entropy([-1, 0, 1, 2, 3], 1.0)
    >>> [round(float(x), 6) for x in p]
    [0.369882, 0.369882, 0.17106, 0.068704, 0.020471]
    """
    v = np.array(perturbations, dtype=np.float64)
    far = max(1.0, float(np.abs(v).max()))
    square, limit = v * v / far**2, variance / far**2
    equal = [np.ones_like(v), v / far]
    sides = [1.0, 0.0]
    if exact_variance:
        equal.append(square)
        sides.append(limit)
    rows = [*np.eye(len(v))]
    least = [FLOOR] * len(v)
    if not exact_variance:
        rows.append(-square)
        least.append(-limit)
    if monotone:
        chain = [i for i, x in enumerate(perturbations) if x <= 0]
        for outer, inner in itertools.pairwise(chain):
            step = np.zeros_like(v)
            step[inner], step[outer] = 1.0, -1.0
            rows.append(step)
            least.append(0.0)
    if p_stay is not None and 0 in perturbations:
        stay = np.zeros_like(v)
        stay[list(perturbations).index(0)] = 1.0
        rows.append(stay)
        least.append(p_stay)
    return _interior_point(np.array(equal), np.array(sides), np.array(rows), np.array(least))


def _interior_point(a: Reals, b: Reals, g: Reals, h: Reals) -> Reals | None:
    """Minimise Σ x ln x with a·x = b and g·x ≥ h, by Mehrotra's predictor and corrector."""
    n, m = a.shape[1], len(h)
    x = np.full(n, 1.0 / n)
    s = np.maximum(g @ x - h, 1.0 / n)
    z = np.full(m, 1.0)
    y = np.zeros(len(b))
    best: tuple[float, Reals] | None = None
    for _ in range(_MOST_STEPS):
        gap = float(s @ z) / m
        dual = np.log(x) + 1.0 - a.T @ y - g.T @ z
        primal = a @ x - b
        slack = g @ x - s - h
        off = max(float(np.abs(primal).max()), float(np.abs(slack).max()), gap)
        worst = max(off, float(np.abs(dual * x).max()))  # ln x is only as good as x is
        if best is None or worst < best[0]:
            best = (worst, x)
        if worst < _TOLERANCE:
            break
        system = _system(a, g, x, s, z)
        if system is None:
            break
        try:
            _, ds, dz, _ = _newton(system, a, g, s, z, dual, primal, slack, s * z)
            length = min(1.0, _room(s, ds), _room(z, dz))
            ahead = float((s + length * ds) @ (z + length * dz)) / m
            sigma = min(1.0, max(1e-4, (ahead / gap) ** 3))
            centre = s * z + ds * dz * length**2 - sigma * gap
            dx, ds, dz, dy = _newton(system, a, g, s, z, dual, primal, slack, centre)
        except np.linalg.LinAlgError:
            break
        length = min(1.0, 0.95 * min(_room(x, dx), _room(s, ds), _room(z, dz)))
        x, s, z, y = x + length * dx, s + length * ds, z + length * dz, y + length * dy
        if length < 1e-10 or not np.isfinite(x).all():
            break
    return best[1] if best is not None and best[0] < _ENOUGH else None


def _system(a: Reals, g: Reals, x: Reals, s: Reals, z: Reals) -> Reals | None:
    n, k = len(x), a.shape[0]
    matrix = np.zeros((n + k, n + k))
    matrix[:n, :n] = np.diag(1.0 / x) + g.T @ ((z / s)[:, None] * g)
    matrix[:n, n:] = -a.T
    matrix[n:, :n] = a
    return matrix if np.isfinite(matrix).all() else None


def _newton(
    system: Reals,
    a: Reals,
    g: Reals,
    s: Reals,
    z: Reals,
    dual: Reals,
    primal: Reals,
    slack: Reals,
    centre: Reals,
) -> tuple[Reals, Reals, Reals, Reals]:
    n = a.shape[1]
    right = np.concatenate([-dual - g.T @ ((centre + z * slack) / s), -primal])
    solved = np.linalg.solve(system, right)
    dx, dy = solved[:n], solved[n:]
    ds = g @ dx + slack
    dz = -(centre + z * ds) / s
    return dx, ds, dz, dy


def _room(values: Reals, step: Reals) -> float:
    shrinking = step < 0
    return float((-values[shrinking] / step[shrinking]).min()) if shrinking.any() else 2.0
