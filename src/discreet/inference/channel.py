"""One cell as a reader meets it: P(what was released | true count).

A `Channel` is made from the law of a cell and what was done to its value afterwards: nothing,
negatives or small values shown as 0, small values hidden or called low. A released symbol is a whole
number, or `HIDDEN` or `LOW` for a cell without one. Everything else in this room takes channels only,
so a new law or treatment works everywhere at once.

Masses are floats made from the exact law: whole weights, or an untruncated law until its
probabilities fall below 10^-18.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..core.count_law import CountLaw
from ..core.hellinger_law import HellingerLaw
from ..core.law_kinds import PrivateLaw
from ..core.noise_law import AnyLaw, NoiseLaw
from ..core.pure_laplace import PureLaplace
from ..errors import CannotConclude
from ..languages import number, say
from .treatment import AS_DRAWN, HIDDEN, LOW, Reals, Treatment, Whole

_LEAST = 1e-18
MOST_WIDE = 200_000
"""The widest law, in possible values, that is summed over."""
__all__ = ["AS_DRAWN", "HIDDEN", "LOW", "Channel", "Reals", "Treatment", "Whole", "channel"]


class Channel(ABC):
    """P(released symbol | true count) of one kind of cell."""

    treatment: Treatment
    variance: float
    """Of the noise in a large count."""
    fourth: float
    """The fourth cumulant of the noise in a large count."""
    most: int | None = None
    """The largest true count that has a law of its own; None: all have."""
    ratio: float | None = None
    """Of one draw of the untruncated Laplace law; else None."""

    @property
    def sd(self) -> float:
        """The standard deviation of the noise in a large count."""
        return float(np.sqrt(self.variance))

    @property
    @abstractmethod
    def ends(self) -> tuple[int, int]:
        """The least and the largest perturbation."""

    @abstractmethod
    def mass(self, counts: Whole, noise: Whole) -> Reals:
        """P(this perturbation | true count), element by element."""

    @abstractmethod
    def below(self, counts: Whole, noise: Whole) -> Reals:
        """P(this perturbation or a smaller one | true count), element by element."""

    @abstractmethod
    def perturb(self, counts: Whole, random: np.random.Generator) -> Whole:
        """True counts with drawn noise, before any treatment."""

    def require(self, symbol: int) -> None:
        """Refuse a symbol that no true count can be released as."""
        ranges = self.treatment.behind(symbol)
        if not ranges or max(high for _, high in ranges) < self.ends[0]:
            raise impossible(symbol, self)

    def weights(self, symbol: int) -> tuple[int, Reals]:
        """(first, w) with w[k] = P(symbol | true count first + k), zeros cut off at both ends."""
        low_end, high_end = self.ends
        ranges = self.treatment.behind(symbol)
        if not ranges:
            raise impossible(symbol, self)
        last = max(high - low_end for _, high in ranges)
        starts = [0 if low is None else max(low - high_end, 0) for low, _ in ranges]
        first, last = min(starts), min(last, last if self.most is None else self.most)
        if last - first > MOST_WIDE:
            raise too_wide(self)
        counts = np.arange(first, last + 1, dtype=np.int64)
        total = np.zeros(len(counts))
        for low, high in ranges:
            if low is None:
                total += self.below(counts, high - counts)
            else:
                for value in range(low, high + 1):
                    total += self.mass(counts, value - counts)
        (there,) = np.nonzero(total > 0)
        if not len(there):
            raise impossible(symbol, self)
        return first + int(there[0]), total[there[0] : there[-1] + 1]

    def row(self, count: int) -> tuple[Whole, Reals]:
        """Every symbol a true count may be released as, in order, and its probability."""
        low, high = self.ends
        noise = np.arange(low, high + 1, dtype=np.int64)
        masses = self.mass(np.full(len(noise), count, dtype=np.int64), noise)
        held = masses > 0
        return gathered(self.treatment.symbols(count + noise[held]), masses[held])

    def release(self, counts: Whole, random: np.random.Generator) -> Whole:
        """Symbols drawn for true counts."""
        return self.treatment.symbols(self.perturb(counts, random))

    @abstractmethod
    def mixture(self, first: int, shares: Reals) -> tuple[int, Reals]:
        """Of true counts first, first + 1, … with these shares: the first value before treatment,
        and the probability of each from it on."""

    @abstractmethod
    def joint(self, first: int, shares: Reals) -> tuple[int, Reals, Reals]:
        """Of true counts first, first + 1, … with these shares: the values before treatment.

        The first value, the probability of each from it on, and probability times mean count.
        """


class Additive(Channel):
    """A value is its true count plus one draw of a law, or the sum of several."""

    def __init__(self, start: int, masses: Reals, treatment: Treatment = AS_DRAWN) -> None:
        self.start, self.masses, self.treatment = start, masses, treatment
        self.noise = np.arange(start, start + len(masses))
        total = masses.sum()
        self.mean = float(self.noise @ masses / total)
        self.variance = float((self.noise - self.mean) ** 2 @ masses / total)
        fourth = float((self.noise - self.mean) ** 4 @ masses / total)
        self.fourth = fourth - 3 * self.variance**2

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest perturbation."""
        return self.start, self.start + len(self.masses) - 1

    @cached_property
    def _cumulated(self) -> Reals:
        return np.concatenate([[0.0], np.cumsum(self.masses)])

    def mass(self, counts: Whole, noise: Whole) -> Reals:
        """P(this perturbation), whatever the count."""
        place = noise - self.start
        inside = (place >= 0) & (place < len(self.masses))
        return np.where(inside, self.masses[np.clip(place, 0, len(self.masses) - 1)], 0.0)

    def below(self, counts: Whole, noise: Whole) -> Reals:
        """P(this perturbation or a smaller one), whatever the count."""
        return np.asarray(
            self._cumulated[np.clip(noise - self.start + 1, 0, len(self.masses))], dtype=np.float64
        )

    def perturb(self, counts: Whole, random: np.random.Generator) -> Whole:
        """True counts with drawn noise."""
        place = np.searchsorted(
            self._cumulated[1:-1] / self._cumulated[-1], random.random(counts.shape), side="right"
        )
        return np.asarray(counts + place + self.start, dtype=np.int64)

    def mixture(self, first: int, shares: Reals) -> tuple[int, Reals]:
        """A convolution."""
        return first + self.start, np.convolve(shares, self.masses)

    def joint(self, first: int, shares: Reals) -> tuple[int, Reals, Reals]:
        """A convolution."""
        counts = np.arange(first, first + len(shares))
        return (
            first + self.start,
            np.convolve(shares, self.masses),
            np.convolve(shares * counts, self.masses),
        )


class Pure(Additive):
    """One draw of the untruncated Laplace law: what is shown as it is has a likelihood in closed form."""

    def __init__(self, start: int, masses: Reals, treatment: Treatment, ratio: float) -> None:
        super().__init__(start, masses, treatment)
        self.ratio = ratio


class ByCount(Channel):
    """A law for each true count: the rows of a p-table."""

    def __init__(self, law: CountLaw, treatment: Treatment = AS_DRAWN) -> None:
        self.law, self.treatment = law, treatment
        self.reach = law.max_perturbation
        rows = np.zeros((len(law.rows), 2 * self.reach + 1))
        for count, row in enumerate(law.rows):
            for perturbation, weight in row.weights.items():
                rows[count, perturbation + self.reach] = weight / row.keys
        self.rows, self.cumulated = rows, np.cumsum(rows, axis=1)
        large = rows[-max(law.cycle, 1) :]
        noise = np.arange(-self.reach, self.reach + 1)
        away = noise - (large @ noise)[:, None]
        self.variance = float((large * away**2).sum(1).mean())
        self.fourth = float((large * away**4).sum(1).mean()) - 3 * self.variance**2
        self.most = None if law.cycle else law.max_count

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest perturbation of any row."""
        return -self.reach, self.reach

    def row_numbers(self, counts: Whole) -> Whole:
        """Which row each true count is perturbed by."""
        last, cycle = self.law.max_count, max(self.law.cycle, 1)
        beyond = last - cycle + 1 + (counts - last - 1) % cycle
        return np.where(counts <= last, np.maximum(counts, 0), beyond)

    def mass(self, counts: Whole, noise: Whole) -> Reals:
        """P(this perturbation | true count)."""
        inside = np.abs(noise) <= self.reach
        place = np.clip(noise, -self.reach, self.reach) + self.reach
        return np.where(inside, self.rows[self.row_numbers(counts), place], 0.0)

    def below(self, counts: Whole, noise: Whole) -> Reals:
        """P(this perturbation or a smaller one | true count)."""
        place = np.clip(noise, -self.reach, self.reach) + self.reach
        return np.where(noise < -self.reach, 0.0, self.cumulated[self.row_numbers(counts), place])

    def perturb(self, counts: Whole, random: np.random.Generator) -> Whole:
        """True counts with drawn perturbations."""
        cumulated = self.cumulated[self.row_numbers(counts)]
        drawn = random.random(counts.shape)[..., None] * cumulated[..., -1:]
        return np.asarray(counts + (drawn >= cumulated).sum(axis=-1) - self.reach, dtype=np.int64)

    def mixture(self, first: int, shares: Reals) -> tuple[int, Reals]:
        """Each count's row, weighted by its share; every value's parts are added by rising count."""
        rows = self.row_numbers(np.arange(first, first + len(shares), dtype=np.int64))
        alike = bool((rows == rows[0]).all()) if len(rows) else False
        width = 2 * self.reach + 1
        out = np.zeros(len(shares) + width - 1)
        columns = self.rows[rows[0]] if alike else self.rows.T
        for place in range(width - 1, -1, -1):
            masses = columns[place] if alike else columns[place][rows]
            if np.any(masses):
                out[place : place + len(shares)] += masses * shares
        return first - self.reach, out

    @cached_property
    def summed(self) -> Reals:
        """`cumulated` with a 0 before each row."""
        return np.concatenate([np.zeros((len(self.rows), 1)), self.cumulated], axis=1)

    def joint(self, first: int, shares: Reals) -> tuple[int, Reals, Reals]:
        """Each count's row, weighted by its share."""
        counts = np.arange(first, first + len(shares), dtype=np.int64)
        masses = self.rows[self.row_numbers(counts)] * shares[:, None]
        places = (counts - first)[:, None] + np.arange(2 * self.reach + 1)
        size = len(shares) + 2 * self.reach
        flat = places.ravel()
        return (
            first - self.reach,
            np.bincount(flat, masses.ravel(), size).astype(np.float64),
            np.bincount(flat, (masses * counts[:, None]).ravel(), size).astype(np.float64),
        )


def gathered(symbols: Whole, *weights: Reals) -> tuple[Any, ...]:
    """Different symbols in order, and for each the sum of every weight."""
    found, place = np.unique(symbols, return_inverse=True)
    sums = (np.bincount(place.ravel(), weight.ravel(), len(found)) for weight in weights)
    return (found, *sums)


def channel(
    law: AnyLaw | None, summed: int = 1, treatment: Treatment = AS_DRAWN, *, cut: bool = False
) -> Channel:
    """The channel of a cell with so many draws of a law; None: nothing was added.

    `cut`: its reader minds that counts beyond `most` may be published as `most` is.
    """
    if isinstance(law, PrivateLaw):
        raise CannotConclude(
            say(
                "The {name} law of this table is kept by the custodian, so nothing can be "
                "computed from it. Ask for a table whose law is published.",
                name=law.name,
            )
        )
    if isinstance(law, HellingerLaw) and not cut:
        raise CannotConclude(
            say(
                "In this table a count above {most} is published as if it were {most}, so nothing "
                "can be concluded from it but noise intervals. Use a table with law laplace.",
                most=law.max_count,
            )
        )
    if isinstance(law, CountLaw):
        if summed != 1:
            raise CannotConclude(say("Sums of cells of a p-table have no law that was published."))
        return _by_count(law, treatment)
    if law is None or summed == 0:
        return Additive(0, np.ones(1), treatment)
    assert isinstance(law, NoiseLaw)
    return _additive(law, summed, treatment)


@lru_cache(maxsize=128)
def _by_count(law: CountLaw, treatment: Treatment) -> ByCount:
    return ByCount(law, treatment)


@lru_cache(maxsize=128)
def _additive(law: NoiseLaw, summed: int, treatment: Treatment) -> Additive:
    start, masses = sum_masses(law, summed)
    if isinstance(law, PureLaplace) and summed == 1:
        return Pure(start, masses, treatment, float(law.ratio))
    return Additive(start, masses, treatment)


@lru_cache(maxsize=128)
def sum_masses(law: NoiseLaw, summed: int) -> tuple[int, Reals]:
    """First value and masses of the sum of so many draws; no mass is lost to cancellation."""
    if float(law.variance) * summed > (MOST_WIDE / 40) ** 2:
        raise too_wide(float(law.variance * summed) ** 0.5)
    square: tuple[int, Reals] = trimmed(*law.masses())
    total: tuple[int, Reals] = (0, np.ones(1))
    left = summed
    while left:
        if left & 1:
            total = trimmed(total[0] + square[0], np.convolve(total[1], square[1]))
        left >>= 1
        if left:
            square = trimmed(2 * square[0], np.convolve(square[1], square[1]))
    return total


def trimmed(start: int, masses: Reals) -> tuple[int, Reals]:
    """Without what is below 10^-18 at either end."""
    (held,) = np.nonzero(masses > _LEAST)
    return start + int(held[0]), masses[held[0] : held[-1] + 1]


def too_wide(channel: Channel | float) -> CannotConclude:
    """The error for noise that drowns everything."""
    sd = channel if isinstance(channel, float) else channel.sd
    return CannotConclude(
        say(
            "The noise of this table has a standard deviation of {sd}: nothing can be concluded "
            "from single cells. Ask for a table with less noise or fewer, larger cells.",
            sd=number(f"{sd:,.0f}"),
        )
    )


def impossible(symbol: int, channel: Channel) -> CannotConclude:
    """The error for a released symbol that no true count can be released as."""
    low, high = channel.ends
    what = {HIDDEN: say("a hidden cell"), LOW: say("a cell shown as low")}.get(
        symbol, number(symbol)
    )
    return CannotConclude(
        say(
            "The table shows {what}, which its law cannot give: noise lies between {low} and "
            "{high} and true counts are not below 0. The law does not belong to this table, or "
            "the table was changed.",
            what=what,
            low=low,
            high=high,
        )
    )


def kinds_of(channels: Sequence[Channel]) -> str:
    """The different standard deviations of noise, for a sentence."""
    sds = sorted({f"{one.sd:.3g}" for one in channels}, key=float)
    return sds[0] if len(sds) == 1 else f"{sds[0]} to {sds[-1]}"
