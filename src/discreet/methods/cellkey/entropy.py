"""The maximum-entropy law of one row, by a primal–dual interior-point method.

Minimise Σ p ln p subject to Σ p = 1, Σ p·v = 0, Σ p·v² ≤ V (or = V), p(0) ≥ p_stay, and, where
asked, p rising towards 0 on the negative side; every p ≥ 1e-8. This is what R ptable solves with a
general solver. The problem is strictly convex, so there is one answer; it is found to about 1e-12.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FLOOR = 1e-8
"""No outcome of a row is less likely than this before it is cut into keys (R ptable's bound)."""

_TOLERANCE = 1e-13
_MOST_STEPS = 400


def maximum_entropy(
    perturbations: Sequence[int],
    variance: float,
    *,
    exact_variance: bool = False,
    monotone: bool = True,
    p_stay: float | None = None,
) -> Floats | None:
    """The probabilities of these perturbations, or None where the constraints leave none.

    >>> p = maximum_entropy([-1, 0, 1, 2, 3], 1.0)
    >>> [round(float(x), 6) for x in p]
    [0.369882, 0.369882, 0.17106, 0.068704, 0.020471]
    """
    v = np.array(perturbations, dtype=np.float64)
    square = v * v / variance
    equal = [np.ones_like(v), v / max(1.0, float(np.abs(v).max()))]
    sides = [1.0, 0.0]
    if exact_variance:
        equal.append(square)
        sides.append(1.0)
    rows = [*np.eye(len(v))]
    least = [FLOOR] * len(v)
    if not exact_variance:
        rows.append(-square)
        least.append(-1.0)
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


def _interior_point(a: Floats, b: Floats, g: Floats, h: Floats) -> Floats | None:
    """Minimise Σ x ln x with a·x = b and g·x ≥ h."""
    n, m = a.shape[1], len(h)
    x = np.full(n, 1.0 / n)
    s = np.maximum(g @ x - h, 0.1)
    z = np.full(m, 0.1)
    y = np.zeros(len(b))
    for _ in range(_MOST_STEPS):
        gap = float(s @ z) / m
        dual = np.log(x) + 1.0 - a.T @ y - g.T @ z
        primal = a @ x - b
        slack = g @ x - s - h
        worst = max(
            float(np.abs(dual).max()), float(np.abs(primal).max()), float(np.abs(slack).max())
        )
        if gap < _TOLERANCE and worst < 1e-10:
            return x
        step = _newton(a, g, x, s, z, dual, primal, slack, s * z - 0.1 * gap)
        if step is None:
            return None
        dx, ds, dz, dy = step
        up = min(_room(x, dx), _room(s, ds))
        down = _room(z, dz)
        length = min(1.0, 0.99 * min(up, down))
        x, s, z, y = x + length * dx, s + length * ds, z + length * dz, y + length * dy
        if length < 1e-12 or not np.isfinite(x).all():
            break
    # The last digits of the gap may stall on badly scaled rows; feasible and near is enough.
    close = float(np.abs(a @ x - b).max()) < 1e-10 and float((g @ x - h).min()) > -1e-10
    return x if close and float(s @ z) / m < 1e-10 else None


def _newton(
    a: Floats,
    g: Floats,
    x: Floats,
    s: Floats,
    z: Floats,
    dual: Floats,
    primal: Floats,
    slack: Floats,
    centre: Floats,
) -> tuple[Floats, Floats, Floats, Floats] | None:
    n, k = len(x), a.shape[0]
    ratio = z / s
    matrix = np.zeros((n + k, n + k))
    matrix[:n, :n] = np.diag(1.0 / x) + g.T @ (ratio[:, None] * g)
    matrix[:n, n:] = -a.T
    matrix[n:, :n] = a
    right = np.concatenate([-dual - g.T @ ((centre + z * slack) / s), -primal])
    try:
        solved = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return None
    dx, dy = solved[:n], solved[n:]
    ds = g @ dx + slack
    dz = -(centre + z * ds) / s
    return dx, ds, dz, dy


def _room(values: Floats, step: Floats) -> float:
    shrinking = step < 0
    return float((-values[shrinking] / step[shrinking]).min()) if shrinking.any() else 2.0
