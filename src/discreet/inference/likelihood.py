"""The likelihood of released cells for Poisson means, many tables at once.

With w_a = P(released | true count a), a cell of mean μ has f(μ) = Σ_a w_a e^−μ μ^a / a!, and

    d log f / d log μ     = E[a | released] − μ
    d² log f / d(log μ)²  = Var[a | released] − μ

so conditional mean and variance of the true count are all that a fit needs. Sums run over the window
where w is above 0, by Horner's rule in μ divided by a middle mean (all terms positive, nothing
cancels); where powers could overflow, by logarithms; the untruncated Laplace law has a closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln

from .channel import HIDDEN, LOW, Channel, Reals, Whole

_CHUNK = 1 << 15
_CLOSED_FROM = 100
"""Windows wider than this are left for the closed form where there is one."""
_SMALLEST = 1e-300
_ONE_BY_ONE = 8
"""So few cells are summed one by one: arrays of a few numbers cost more than the numbers."""
Moments = tuple[Reals, Reals, Reals]
"""log f, conditional mean and conditional variance of the true count."""


class Symbols:
    """Different released symbols, each with its window of weights over true counts."""

    def __init__(
        self,
        channels: Sequence[Channel],
        pairs: Sequence[tuple[int, int]],
        *,
        summed: bool = False,
    ) -> None:
        """`summed`: by windows, also where there is a closed form."""
        self.channels, self.pairs = channels, pairs
        windows = [channels[kind].weights(symbol) for kind, symbol in pairs]
        self.width = max((len(weights) for _, weights in windows), default=1)
        self.first = np.array([first for first, _ in windows], dtype=np.float64)
        self.last = np.array([first + len(weights) - 1 for first, weights in windows])
        numbers = [0 if symbol in (HIDDEN, LOW) else symbol for _, symbol in pairs]
        self.numbers = np.array(numbers, dtype=np.float64)
        self.ratios = np.zeros(len(pairs))
        if self.width > _CLOSED_FROM and not summed:
            self.ratios = np.array([_ratio(channels[kind], symbol) for kind, symbol in pairs])
        self._apart: Symbols | None = None
        self._held = np.zeros(0, dtype=np.int64)
        if not self.ratios.any():
            self._prepare([weights for _, weights in windows])

    def _prepare(self, windows: Sequence[Reals]) -> None:
        """What sums over windows need, one row a symbol."""
        self.weights = np.zeros((len(windows), self.width))
        for place, weights in enumerate(windows):
            self.weights[place, : len(weights)] = weights
        self.counts = self.first[:, None] + np.arange(self.width)
        with np.errstate(divide="ignore"):
            self.logs = np.log(self.weights) - gammaln(self.counts + 1)
        middle = (self.weights * self.counts).sum(1) / self.weights.sum(1)
        self.middle = np.maximum(middle, 0.25)
        scaled = self.logs + self.counts * np.log(self.middle)[:, None]
        self.shift = scaled.max(1)
        self.coefficients = np.ascontiguousarray(np.exp(scaled - self.shift[:, None]).T)

    def moments(self, which: Whole, means: Reals) -> Moments:
        """log f, E and Var for symbols by place and the means beside them."""
        means = np.maximum(means, _SMALLEST)
        if not self.ratios.any():
            return self._by_window(which, means)
        closed = self.ratios[which] > 0
        found = tuple(np.empty(len(means)) for _ in range(3))
        if closed.any():
            values = self._closed(which[closed], means[closed])
            for target, value in zip(found, values, strict=True):
                target[closed] = value
        summed = ~closed | ~np.isfinite(found[0])
        if summed.any():
            values = self._by_window_apart(which[summed], means[summed])
            for target, value in zip(found, values, strict=True):
                target[summed] = value
        return found[0], found[1], found[2]

    def _by_window_apart(self, which: Whole, means: Reals) -> Moments:
        """Sums over windows that are kept only for symbols that were found to need them."""
        needed = np.unique(which)
        if self._apart is None or not np.isin(needed, self._held).all():
            self._held = np.union1d(self._held, needed)
            pairs = [self.pairs[place] for place in self._held.tolist()]
            self._apart = Symbols(self.channels, pairs, summed=True)
        return self._apart.moments(np.searchsorted(self._held, which), means)

    def _by_window(self, which: Whole, means: Reals) -> Moments:
        ratio = means / self.middle[which]
        far = np.abs(np.log(ratio)) * self.width > 300.0
        if not far.any():
            return self._horner(which, means, ratio)
        found = tuple(np.empty(len(means)) for _ in range(3))
        near = ~far
        parts = [(far, self._by_logs(which[far], means[far]))]
        if near.any():
            parts.append((near, self._horner(which[near], means[near], ratio[near])))
        for where, values in parts:
            for target, value in zip(found, values, strict=True):
                target[where] = value
        return found[0], found[1], found[2]

    def _horner(self, which: Whole, means: Reals, ratio: Reals) -> Moments:
        logs, mean, variance = (np.empty(len(means)) for _ in range(3))
        for start in range(0, len(means), _CHUNK):
            part = slice(start, start + _CHUNK)
            r, terms = ratio[part], self.coefficients[:, which[part]]
            if len(r) <= _ONE_BY_ONE:
                value, slope, bend = _powers_one_by_one(r, terms)
            else:
                value, slope, bend = _powers(r, terms)
            first = r * slope / value
            mean[part] = self.first[which[part]] + first
            variance[part] = np.maximum(2 * r * r * bend / value + first - first * first, 0.0)
            logs[part] = np.log(value)
        logs += self.shift[which] + self.first[which] * np.log(ratio) - means
        return logs, mean, variance

    def _by_logs(self, which: Whole, means: Reals) -> Moments:
        logs, mean, variance = (np.empty(len(means)) for _ in range(3))
        step = max(1, (1 << 21) // self.width)
        for start in range(0, len(means), step):
            part = slice(start, start + step)
            counts = self.counts[which[part]]
            terms = self.logs[which[part]] + counts * np.log(means[part])[:, None]
            top = terms.max(1)
            shares = np.exp(terms - top[:, None])
            total = shares.sum(1)
            shares /= total[:, None]
            mean[part] = (shares * counts).sum(1)
            variance[part] = (shares * (counts - mean[part][:, None]) ** 2).sum(1)
            logs[part] = top + np.log(total) - means[part]
        return logs, mean, variance

    def _closed(self, which: Whole, means: Reals) -> Moments:
        """The untruncated Laplace law: two incomplete gamma functions; nan where either underflows.

        f = c {e^(−εx + μ(ρ − 1)) Q(x + 1, μρ) + e^(εx + μ(1/ρ − 1)) P(x + 1, μ/ρ)}, ρ = e^ε; for
        x < 0 the second part alone, with P = 1.
        """
        x, fall = self.numbers[which], self.ratios[which]
        negative, size = x < 0, np.maximum(x, 0.0)
        up, down, decay = means / fall, means * fall, -np.log(fall)
        lowest = gammaln(size + 1)
        above = np.where(negative, 0.0, gammaincc(size + 1, up))
        under = np.where(negative, 1.0, gammainc(size + 1, down))
        at_up = np.where(negative, 0.0, np.exp(size * np.log(up) - up - lowest))
        at_down = np.where(negative, 0.0, np.exp(size * np.log(down) - down - lowest))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            left = -decay * x + means * (1 / fall - 1) + np.log(above)
            right = decay * x + means * (fall - 1) + np.log(under)
            top = np.maximum(left, right)
            share_up, share_down = np.exp(left - top), np.exp(right - top)
            edge_up = np.where(above > 0, at_up / np.maximum(above, 1e-308), 0.0)
            edge_down = np.where(under > 0, at_down / np.maximum(under, 1e-308), 0.0)
            total = share_up + share_down
            first = share_up * up * np.maximum(1 - edge_up, 0) + share_down * down * (1 + edge_down)
            second = share_up * up**2 * np.maximum(1 - edge_up * (1 + size / up), 0)
            second += share_down * down**2 * (1 + edge_down * (1 + size / down))
            mean = first / total
            variance = np.maximum(second / total + mean - mean * mean, 0.0)
            logs = top + np.log(total) + np.log((1 - fall) / (1 + fall))
        lost = ((above < 1e-250) & ~negative) | (under < 1e-250)
        lost |= ~np.isfinite(mean) | ~np.isfinite(variance)
        return np.where(lost, np.nan, logs), mean, variance

    @cached_property
    def saturated(self) -> tuple[Reals, Reals]:
        """For each symbol the mean of largest likelihood, and log f there.

        A grid, since a p-table's likelihood may have several maxima, then bisection on E − μ.
        """
        many = len(self.pairs)
        places, low = np.arange(many), np.maximum(self.first, 0.0)
        steps = np.linspace(0.0, 1.0, 161)
        grid = low[:, None] + (self.last + 1.0 - low)[:, None] * steps
        grid = np.concatenate([np.full((many, 1), 1e-14), np.maximum(grid, 1e-14)], axis=1)
        each = np.repeat(places, grid.shape[1])
        logs = self.moments(each, grid.ravel())[0].reshape(grid.shape)
        best = logs.argmax(1)
        left = grid[places, np.maximum(best - 1, 0)]
        right = grid[places, np.minimum(best + 1, grid.shape[1] - 1)]
        for _ in range(60):
            middle = (left + right) / 2
            rising = self.moments(places, middle)[1] > middle
            left, right = np.where(rising, middle, left), np.where(rising, right, middle)
        found = np.maximum((left + right) / 2, 1e-14)
        there = self.moments(places, found)[0]
        from_grid = logs.max(1)
        return (
            np.where(from_grid > there, grid[places, best], found),
            np.maximum(from_grid, there),
        )


def _ratio(channel: Channel, symbol: int) -> float:
    """Of the untruncated Laplace law behind a symbol that is shown as it is; else 0."""
    if channel.ratio is None or channel.treatment.behind(symbol) != [(symbol, symbol)]:
        return 0.0
    return channel.ratio


def _powers(ratio: Reals, terms: Reals) -> tuple[Reals, Reals, Reals]:
    """Horner's rule: Σ c_k r^k, its derivative and half its second, a column each."""
    value = terms[-1].copy()
    slope, bend = np.zeros_like(value), np.zeros_like(value)
    for term in terms[-2::-1]:
        bend *= ratio
        bend += slope
        slope *= ratio
        slope += value
        value *= ratio
        value += term
    return value, slope, bend


def _powers_one_by_one(ratio: Reals, terms: Reals) -> tuple[Reals, Reals, Reals]:
    """The same numbers, to the last bit, without arrays."""
    found = []
    for r, column in zip(ratio.tolist(), terms.T.tolist(), strict=True):
        value, slope, bend = column[-1], 0.0, 0.0
        for term in column[-2::-1]:
            bend = bend * r + slope
            slope = slope * r + value
            value = value * r + term
        found.append((value, slope, bend))
    value, slope, bend = np.array(found).T
    return value, slope, bend


class Cells:
    """Released cells of many tables, one a row: which symbol each shows, by its kind of cell."""

    def __init__(self, channels: Sequence[Channel], kinds: Whole, released: Whole) -> None:
        self.channels, self.kinds = tuple(channels), np.asarray(kinds, dtype=np.int64)
        self.released = np.atleast_2d(np.asarray(released, dtype=np.int64))
        self.which = np.empty(self.released.shape, dtype=np.int64)
        pairs: list[tuple[int, int]] = []
        for kind in np.unique(self.kinds).tolist():
            columns = self.kinds == kind
            found, place = np.unique(self.released[:, columns], return_inverse=True)
            self.which[:, columns] = len(pairs) + place.reshape(len(self.released), -1)
            pairs += [(kind, symbol) for symbol in found.tolist()]
        self.symbols = Symbols(self.channels, pairs)
        variances = np.array([channel.variance for channel in self.channels])
        self.variance: Reals = variances[self.kinds]

    @property
    def shape(self) -> tuple[int, int]:
        """Tables, cells of each."""
        return len(self.which), len(self.kinds)

    def take(self, rows: Whole) -> Cells:
        """Some of the tables."""
        other = object.__new__(Cells)
        other.__dict__.update(self.__dict__)
        other.which, other.released = self.which[rows], self.released[rows]
        return other

    def moments(self, means: Reals) -> Moments:
        """log f, E and Var of every cell at these means."""
        found = self.symbols.moments(self.which.ravel(), np.ascontiguousarray(means).ravel())
        logs, mean, variance = (part.reshape(self.which.shape) for part in found)
        return logs, mean, variance

    def saturated_loglik(self) -> Reals:
        """The largest log likelihood of each table with a mean of its own in every cell."""
        return np.asarray(self.symbols.saturated[1][self.which].sum(1))

    def guesses(self) -> Reals:
        """A rough mean for each cell, above 0: where the fit starts."""
        shown = np.where(self.released <= LOW, 0, self.released)
        cut = np.array([channel.treatment.cut for channel in self.channels])[self.kinds]
        hidden = (self.released <= LOW) | ((self.released == 0) & (cut > 0))
        numbers = np.where(hidden, cut / 3.0, np.maximum(shown, 0))
        return numbers + 0.5 + 0.25 * np.sqrt(self.variance)
