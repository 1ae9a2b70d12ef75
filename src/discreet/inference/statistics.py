"""Statistics of a log-linear null against a mean of its own in every cell, for many tables at once.

The likelihood ratio is rinott's (§6.1). The score statistic, Σ (E[a | released] − μ̂)² / i(μ̂), is
what Pearson's becomes when cells are noisy: at the fitted null the parameters' slopes vanish, so no
matrix is needed. Its χ² law holds in far sparser tables; verdicts rest on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from . import chi_square
from .channel import LOW, Channel, Reals, Whole
from .design_matrix import Informed
from .information import information
from .likelihood import Cells
from .maximum import GAIN, Fit
from .starts import STARTS, maximise_globally

BOOTSTRAPS = 999
_WINDOWS = 5_000_000
ROUGHLY = 1e-6
"""How near to their maximum drawn tables are fitted; their statistic is right to about as much."""


@dataclass(frozen=True)
class Model:
    """A log-linear null over the cells of a table: log μ = offset + X b, X of full column rank."""

    design: Reals
    offset: Reals | None = None

    @property
    def df(self) -> int:
        """Degrees of freedom against a mean of its own in every cell."""
        return int(self.design.shape[0] - self.design.shape[1])


@dataclass(frozen=True)
class Statistics:
    """One entry a table."""

    df: int
    lr: Reals
    score: Reals
    information: Reals
    fit: Fit

    @property
    def p_lr(self) -> Reals:
        """The likelihood ratio by χ²; safe only where counts dwarf the noise."""
        return chi_square.tail(self.lr, self.df)

    @property
    def p_score(self) -> Reals:
        """The score statistic by χ²."""
        return chi_square.tail(self.score, self.df)


def statistics(
    channels: Sequence[Channel],
    kinds: Whole,
    released: Whole,
    model: Model,
    starts: int = STARTS,
    gain: float = GAIN,
) -> Statistics:
    """Both statistics of every table; `released` has one row a table."""
    cells = Cells(channels, kinds, released)
    fit = maximise_globally(cells, model.design, model.offset, starts, gain=gain)
    lr = np.maximum(2 * (cells.saturated_loglik() - fit.loglik), 0.0)
    known = information(cells.channels, cells.kinds, fit.means)
    slope = fit.expected - fit.means
    score = (slope * slope / np.maximum(known, 1e-300)).sum(1)
    return Statistics(model.df, lr, score, known, fit)


def naive_statistic(released: Whole, model: Model, rounds: int = 200) -> Reals:
    """The ordinary likelihood-ratio statistic G², by a reader who takes the numbers for counts.

    Numbers below 0 and hidden ones count as 0, as such a reader would have it.
    """
    counts = np.maximum(np.where(released <= LOW, 0, released), 0).astype(np.float64)
    means = _poisson_fit(counts, model, rounds)
    return np.asarray(2 * (xlogy(counts, counts) - xlogy(counts, np.maximum(means, 1e-300))).sum(1))


def _poisson_fit(counts: Reals, model: Model, rounds: int) -> Reals:
    """Means of the ordinary Poisson fit by Newton's method, for many tables."""
    design = model.design
    offset = np.zeros((1, counts.shape[1])) if model.offset is None else np.atleast_2d(model.offset)
    logs = np.log(counts + 0.5) - offset
    information = Informed(design)
    ridge = 1e-9 * np.eye(design.shape[1])
    weights = counts + 0.5
    right = ((weights * logs) @ design)[..., None]
    parameters = np.linalg.solve(information(weights) + ridge, right)[..., 0]
    for _ in range(rounds):
        means = np.exp(np.clip(parameters @ design.T + offset, -30, 40))
        slope = (counts - means) @ design
        step = np.linalg.solve(information(means) + ridge, slope[..., None])[..., 0]
        longest = np.abs(step @ design.T).max(1)
        parameters = parameters + step * np.minimum(1, 2 / np.maximum(longest, 1e-300))[:, None]
        if float(np.abs((slope * step).sum(1)).max()) < 1e-10:
            break
    return np.asarray(np.exp(np.clip(parameters @ design.T + offset, -30, 40)))


def naive_level(
    channels: Sequence[Channel], kinds: Whole, means: Reals, df: int, level: float = 0.05
) -> Reals:
    """How often an ordinary test at `level` would reject a true null with these means and noise.

    Noise makes the ordinary statistic about 1 + mean(σ²/μ) times as large. Its mean and variance are
    worked out from the cells' first four cumulants, and a scaled χ² law with the same two is used.
    """
    mu = np.maximum(means, 0.05)
    noise = np.array([channel.variance for channel in channels])[kinds]
    fourth = np.array([channel.fourth for channel in channels])[kinds]
    spread = mu + noise
    size = spread / mu + np.clip(
        (3 * spread**2 + mu + fourth) / (6 * mu**3) - 1 / (3 * mu), 0.0, 0.5 * spread / mu
    )
    width = np.maximum((2 * spread**2 + mu + fourth) / mu**2, 0.5 * size**2)
    mean, variance = df * size.mean(-1), df * width.mean(-1)
    critical = chi_square.point(level, df)
    return chi_square.tail(critical * 2 * mean / variance, 2 * mean**2 / variance)


def drawn(channels: Sequence[Channel], kinds: Whole, means: Reals, seed: int, times: int) -> Whole:
    """Tables released from these means, one a row; the same seed gives the same tables."""
    random = np.random.default_rng(seed)
    counts = random.poisson(np.broadcast_to(means, (times, len(means))))
    released = np.empty_like(counts)
    for kind in np.unique(kinds).tolist():
        columns = kinds == kind
        released[:, columns] = channels[kind].release(counts[:, columns], random)
    return released


def bootstrap(
    channels: Sequence[Channel],
    kinds: Whole,
    model: Model,
    means: Reals,
    score: float,
    seed: int,
    times: int = BOOTSTRAPS,
) -> float:
    """The share of tables drawn from the fitted null whose score statistic is as large."""
    released = drawn(channels, kinds, means, seed, times)
    scores = [
        statistics(channels, kinds, part, model, 1, ROUGHLY).score
        for part in np.array_split(released, batches(channels, released, model))
    ]
    return float((1 + (np.concatenate(scores) >= score - 1e-9).sum()) / (times + 1))


def batches(channels: Sequence[Channel], released: Whole, model: Model) -> int:
    """In how many parts so many tables are fitted, so that their arrays take at most 200 MB or so.

    Matrices of a table are as large as its parameters; symbols have windows as wide as the noise.
    """
    cells, parameters = model.design.shape
    widths = [high - low + 1 for low, high in (channel.ends for channel in channels)]
    windows: int = len(np.unique(released)) * max(widths)
    sizes = len(released) * (parameters**2 * 3 + cells * 8) / 25_000_000, windows / _WINDOWS
    parts = max(math.ceil(size) for size in sizes)
    return min(max(1, parts), max(1, len(released)))
