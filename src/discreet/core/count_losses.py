"""The privacy losses of a law for each count: one pair of laws that tells as much as any two counts.

δ(ε) of such a law is the largest over all neighbouring counts, both ways, and as a largest of convex
functions of e^ε it is convex itself, so some pair of laws has just that δ(ε) and dominates every two
neighbours (Zhu, Dong and Wang 2022, Proposition 8). Here δ is computed at many ε and joined by
straight lines in e^ε, which are never below it: a pair whose losses are those ε.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .hellinger_law import HellingerLaw
from .noise_law import Floats

_HALF = 2048
"""Points to either side of a loss of 0."""


def worst_losses(law: HellingerLaw, most: float) -> tuple[float, Floats]:
    """The gap and the masses of losses most, most − gap, …, −most that dominate all neighbours."""
    losses = np.linspace(-most, most, 2 * _HALF + 1)
    factors = np.exp(losses)
    delta = np.zeros(len(losses))
    rows = [np.array(row.dense, dtype=np.float64) / row.total for row in law.rows]
    for one, two in pairwise(rows):
        for p, q in ((one, two), (two, one)):
            delta = np.maximum(delta, _hockey_stick(p, q, factors))
    delta = np.maximum(delta, np.maximum(1 - factors, 0.0))
    delta[-1] = 0.0  # `most` is the largest loss there is
    slopes = np.concatenate([[-1.0], np.diff(delta) / np.diff(factors), [0.0]])
    masses = np.maximum(np.diff(slopes), 0.0) * factors
    return float(losses[1] - losses[0]), masses[::-1]


def _hockey_stick(p: Floats, q: Floats, factors: Floats) -> Floats:
    """Σ max(0, p − αq) at rising α, from sums over the outcomes by their ratio."""
    order = np.argsort(p / q)
    ratios = (p / q)[order]
    above = [np.concatenate([np.cumsum(x[order][::-1])[::-1], [0.0]]) for x in (p, q)]
    place = np.searchsorted(ratios, factors, side="right")
    return np.asarray(np.maximum(above[0][place] - factors * above[1][place], 0.0))
