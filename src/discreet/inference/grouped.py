"""Odds of an event in very many groups: the same fit as a dense one, each group's own size apart.

log μ = α_g for the cell of the others and α_g + z'b for the event's. The information of the α is
diagonal, so a Newton step costs one pass over the groups and a system as small as b: with weights w
of the two cells, b is solved from Z' diag(w_e w_o / (w_e + w_o)) Z, whose inverse is also its
covariance. One table at a time.

Without noise the sizes take nothing from b. With noise of variance v each group's own size does, a
little (Neyman and Scott 1948), and where groups are many that is soon more than chance: with
t = v/μ_e² + v/μ_o² by up to about 0.05 t min(t, 1), as simulated. `off` bounds it in standard errors.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from .channel import Reals
from .information import information
from .likelihood import Cells
from .maximum import EMPTY, GAIN

_STEPS, _HALVINGS, _LONGEST = 200, 40, 3.0
_STARTS = 4
_TAKEN = 0.05
"""What the size of a group takes from the coefficients at most where noise is as large as counts."""
_APART = 1e-6
"""Maxima whose log likelihoods differ by more are different ones."""


@dataclass(frozen=True)
class GroupedFit:
    """Coefficients, their covariance, and what is certain of the maximum."""

    coefficients: Reals
    covariance: Reals
    loglik: float
    certified: bool
    sizes: Reals
    """Of each group, the logarithm of the mean of its others."""
    boundary: bool = False
    off: float = 0.0
    """About how far off coefficients may be on average, in units of the least standard error."""
    starts: int = 1
    maxima: int = 1


@dataclass
class _State:
    sizes: Reals
    slopes: Reals
    means: Reals
    loglik: float
    expected: Reals
    variance: Reals


class _Ascent:
    """Newton's method with step halving, from one start."""

    def __init__(self, cells: Cells, terms: Reals) -> None:
        self.cells, self.terms = cells, terms
        self.noise = cells.variance.reshape(-1, 2)

    def at(self, sizes: Reals, slopes: Reals) -> _State:
        """Likelihood and moments at these parameters."""
        logs = np.stack([sizes + self.terms @ slopes, sizes], axis=1)
        means = np.exp(np.clip(logs, -60, 40))
        each, expected, variance = self.cells.moments(means.reshape(1, -1))
        pairs = expected.reshape(-1, 2), variance.reshape(-1, 2)
        return _State(sizes, slopes, means, float(each.sum()), *pairs)

    def direction(self, state: _State, floor: bool) -> tuple[Reals, Reals, float] | None:
        """Where to go in sizes and slopes, and the expected gain; None: it does not rise."""
        weights = state.means - state.variance
        if floor:
            least = 0.05 * state.means**2 / (state.means + self.noise)
            weights = np.maximum(weights, least)
        both, system = self.information(weights, state.means)
        if (both <= 0).any():
            return None
        off = state.expected - state.means
        steep = off.sum(axis=1)
        right = self.terms.T @ (off[:, 0] - weights[:, 0] * steep / both)
        try:
            slopes = np.linalg.solve(system, right)
        except np.linalg.LinAlgError:
            return None
        sizes = (steep - weights[:, 0] * (self.terms @ slopes)) / both
        gain = float(steep @ sizes + (self.terms.T @ off[:, 0]) @ slopes)
        return (sizes, slopes, gain) if gain >= 0 and np.isfinite(gain) else None

    def information(self, weights: Reals, means: Reals) -> tuple[Reals, Reals]:
        """Of each group's size, and of the slopes once sizes are fitted; empty groups say nothing."""
        empty = (means < EMPTY).all(axis=1)
        both = np.where(empty, 1.0, weights.sum(axis=1))
        part = np.where(empty, 0.0, weights[:, 0] * weights[:, 1] / np.where(both == 0, 1, both))
        return both, np.asarray((self.terms * part[:, None]).T @ self.terms)

    def run(self, sizes: Reals, slopes: Reals) -> GroupedFit:
        """The maximum reached from a start."""
        state, reached = self.at(sizes, slopes), False
        for number in range(_STEPS):
            found = None if number < 2 else self.direction(state, floor=False)
            found = found or self.direction(state, floor=True)
            if found is None or found[2] / 2 < GAIN:
                reached = found is not None
                break
            moved = self.step(state, *found)
            if moved is None:
                break
            state = moved
        both, system = self.information(state.means - state.variance, state.means)
        least = float(np.linalg.eigvalsh(system)[0]) if np.isfinite(system).all() else -1.0
        sound = reached and least > 0 and bool((both > 0).all())
        covariance, off = np.zeros_like(system), 0.0
        if sound:
            covariance = np.asarray(np.linalg.inv(system), dtype=np.float64)
            off = how_far_off(self.noise, state.means, state.variance, self.terms)
        empty = bool((state.means < EMPTY).any())
        return GroupedFit(state.slopes, covariance, state.loglik, sound, state.sizes, empty, off)

    def step(self, state: _State, sizes: Reals, slopes: Reals, gain: float) -> _State | None:
        """Move, halving steps that do not gain enough; None: no step does."""
        longest = max(float(np.abs(sizes + self.terms @ slopes).max()), float(np.abs(sizes).max()))
        length = min(1.0, _LONGEST / max(longest, 1e-300))
        slack = 1e-11 * abs(state.loglik) + 1e-12
        for _ in range(_HALVINGS):
            trial = self.at(state.sizes + length * sizes, state.slopes + length * slopes)
            if trial.loglik >= state.loglik + 1e-4 * length * gain - slack:
                return trial
            length /= 2
        return None


def how_far_off(noise: Reals, means: Reals, variance: Reals, terms: Reals) -> float:
    """How far off coefficients may be on average, in units of the least standard error.

    Groups by what each tells; noise, fitted means and conditional variances of their two cells.
    """
    weights = np.maximum(means - variance, 0.0)
    held = (means >= EMPTY).all(axis=1) & (weights > 0).all(axis=1)
    if not held.any():
        return 0.0
    means, weights, terms = means[held], weights[held], terms[held]
    told = weights.prod(axis=1) / weights.sum(axis=1)
    noisy = (noise[held] / means**2).sum(axis=1)
    bias = float((told * _TAKEN * noisy * np.minimum(noisy, 1.0)).sum() / told.sum())
    covariance = np.linalg.pinv((terms * told[:, None]).T @ terms)
    return bias / max(float(np.sqrt(np.diag(covariance).min())), 1e-300)


def fit_odds(cells: Cells, terms: Reals) -> GroupedFit:
    """The best of several starts; cells in pairs, the event's first, `terms` a row a group."""
    ascent = _Ascent(cells, terms)
    guesses = np.maximum(cells.guesses().reshape(-1, 2), 0.25)
    logs = np.log(guesses)
    weights = 1 / (1 / guesses + ascent.noise / guesses**2).sum(axis=1)
    odds = logs[:, 0] - logs[:, 1]
    ridge = 1e-10 * np.eye(terms.shape[1])
    first = np.linalg.solve(
        (terms * weights[:, None]).T @ terms + ridge, (terms * weights[:, None]).T @ odds
    )
    random = np.random.default_rng(0)
    starts = [first, np.zeros_like(first)]
    starts += [first + random.normal(0, 0.5, len(first)) for _ in range(_STARTS - 2)]
    total = np.log(guesses.sum(axis=1))
    fits = [
        ascent.run(total - np.log1p(np.exp(np.clip(terms @ slopes, -30, 30))), slopes)
        for slopes in starts
    ]
    best = max(fits, key=lambda fit: (fit.certified, fit.loglik))
    certified = sorted(fit.loglik for fit in fits if fit.certified)
    maxima = 1 + sum(b - a > _APART for a, b in itertools.pairwise(certified))
    better = any(fit.loglik > best.loglik + _APART for fit in fits)
    return GroupedFit(
        best.coefficients,
        best.covariance,
        best.loglik,
        best.certified and not better,
        best.sizes,
        best.boundary,
        best.off,
        len(fits),
        maxima,
    )


def null_score(cells: Cells, terms: Reals) -> tuple[float, float]:
    """The score statistic of all slopes but the first at the fit without them, and its log likelihood."""
    null = fit_odds(cells, terms[:, :1])
    ascent = _Ascent(cells, terms)
    slopes = np.concatenate([null.coefficients, np.zeros(terms.shape[1] - 1)])
    state = ascent.at(null.sizes, slopes)
    known = information(cells.channels, cells.kinds, state.means.reshape(1, -1))
    _, system = ascent.information(known.reshape(-1, 2), state.means)
    slope = terms.T @ (state.expected - state.means)[:, 0]
    return float(slope @ np.linalg.solve(system, slope)), null.loglik
