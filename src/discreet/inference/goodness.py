"""Goodness of fit: do counts follow given proportions? rinott §6.2 by enumeration, and k cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import gammaln, xlogy

from ..core.exact import Exact, exact, plain
from ..core.table import ProtectedTable
from ..errors import CannotConclude, InputError
from ..languages import number, say
from . import chi_square
from .answer import Answer, capital, p_text, percent
from .channel import LOW, Channel, Reals, Whole
from .evidence import Evidence, Place, Reading, require_counts
from .independence import axis_places
from .intervals import Cell
from .statistics import Model
from .verdict import LEVEL, POWER, judged, naive_words, said

_MOST_RECORDS = 20_000


@dataclass(frozen=True)
class Binomial:
    """The test that a noisy count is of N records with share p, for every symbol it may show."""

    records: int
    symbols: Whole
    transition: Reals
    """P(symbol | true count), one row a count 0 … N."""
    statistic: Reals
    probability: Reals
    """Of each symbol if the share is p."""
    best: Reals
    """The share of largest likelihood."""

    def p_value(self, symbol: int) -> float:
        """P(a statistic as large), exact."""
        (place,) = np.flatnonzero(self.symbols == symbol)
        as_large = self.statistic >= self.statistic[place] - 1e-9
        return float(self.probability[as_large].sum())

    def cumulative(self, statistic: float) -> float:
        """P(the statistic is this or smaller)."""
        return float(self.probability[self.statistic <= statistic + 1e-9].sum())

    def critical(self, level: float = LEVEL) -> tuple[float, float]:
        """The least statistic above which no more than `level` lies, and how much lies there."""
        for value in np.unique(np.round(self.statistic, 9)):
            beyond = 1 - self.cumulative(float(value))
            if beyond <= level + 1e-12:
                return float(value), float(max(beyond, 0.0))
        return float("inf"), 0.0

    def power(self, share: float, above: float) -> float:
        """P(the statistic is larger than this) if the share is another."""
        laws = np.exp(_log_binomial(self.records, np.array([share]))) @ self.transition
        return float(laws[0][self.statistic > above + 1e-9].sum())

    def seen(self, share: float, above: float) -> tuple[float | None, float | None]:
        """The nearest shares below and above that are told from `share` with 80 % chance, by enumeration."""
        found: list[float | None] = []
        for end in (0.0, 1.0):
            near, far = share, end
            if self.power(end, above) < POWER:
                found.append(None)
                continue
            for _ in range(40):
                middle = (near + far) / 2
                told = self.power(middle, above) >= POWER
                near, far = (near, middle) if told else (middle, far)
            found.append(far)
        return found[0], found[1]

    def ordinary(self, share: float) -> Reals:
        """By symbol, the p-value of an ordinary test that takes it for a count (likelihood ratio, χ²)."""
        counts = np.clip(np.where(self.symbols <= LOW, 0, self.symbols), 0, self.records)
        rest = self.records - counts
        expected = self.records * share
        ratio = xlogy(counts, counts / expected) + xlogy(rest, rest / (self.records - expected))
        return chi_square.tail(2 * ratio, 1)


def binomial(channel: Channel, records: int, share: float) -> Binomial:
    """Every symbol with its likelihood-ratio statistic and its exact probability."""
    symbols, transition = _transition(channel, records)
    probability = np.exp(_log_binomial(records, np.array([share])))[0] @ transition
    likelihood, best = _best_share(transition, records)
    with np.errstate(divide="ignore"):
        statistic = 2 * (np.log(likelihood) - np.log(probability))
    statistic = np.maximum(np.where(probability > 0, statistic, np.inf), 0.0)
    return Binomial(records, symbols, transition, statistic, probability, best)


def _transition(channel: Channel, records: int) -> tuple[Whole, Reals]:
    rows = [channel.row(count) for count in range(records + 1)]
    symbols = np.unique(np.concatenate([found for found, _ in rows]))
    transition = np.zeros((records + 1, len(symbols)))
    for count, (found, masses) in enumerate(rows):
        transition[count, np.searchsorted(symbols, found)] = masses
    return symbols, transition


def _log_binomial(records: int, shares: Reals) -> Reals:
    counts = np.arange(records + 1)
    ways = gammaln(records + 1) - gammaln(counts + 1) - gammaln(records - counts + 1)
    some = xlogy(counts, shares[:, None]) + xlogy(records - counts, 1 - shares[:, None])
    return np.asarray(ways + some)


def _best_share(transition: Reals, records: int) -> tuple[Reals, Reals]:
    """The largest likelihood of each symbol and its share: a grid, bisection, and both ends."""
    points = 400
    grid = (np.arange(points) + 0.5) / points
    likelihood = np.exp(_log_binomial(records, grid)) @ transition
    start = grid[likelihood.argmax(0)]
    low, high = np.maximum(start - 1 / points, 0.0), np.minimum(start + 1 / points, 1.0)
    counts = np.arange(records + 1)
    for _ in range(50):
        middle = (low + high) / 2
        joint = np.exp(_log_binomial(records, middle)) * transition.T
        mean = joint @ counts / np.maximum(joint.sum(1), 1e-300)
        rising = mean > records * middle
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    middle = (low + high) / 2
    inside = (np.exp(_log_binomial(records, middle)) * transition.T).sum(1)
    found = np.stack([inside, likelihood.max(0), transition[0], transition[-1]])
    shares = np.stack([middle, start, np.zeros_like(middle), np.ones_like(middle)])
    best = found.argmax(0)
    return found.max(0), np.take_along_axis(shares, best[None], 0)[0]


def goodness_of_fit(
    table: ProtectedTable,
    proportions: Mapping[str, Exact],
    axis: str = "",
    cell: Cell | None = None,
    records: int | None = None,
) -> Answer:
    """Do the categories of an axis follow these proportions?

    All categories with proportions that add up to 1; or one category with the public number of
    `records`, which is tested exactly by enumeration.
    """
    require_counts(table)
    reading = Reading(table)
    position = _axis(reading, axis)
    name = reading.axes[position]
    wanted = {}
    for code, share in proportions.items():
        place = reading.place({**(cell or {}), name: code})
        if place[position] is None:
            raise InputError(
                say(
                    "{code} is the total of {name}; proportions are of its categories.",
                    code=repr(code),
                    name=name,
                )
            )
        wanted[place] = exact(share, f"the proportion of {code}", above=0, below=1)
    if records is not None:
        return _one_category(reading, wanted, records)
    _require_all(wanted, reading.shape[position], name)
    channels = [reading.channel(place) for place in wanted]
    different = list(dict.fromkeys(channels))
    evidence = Evidence(
        np.array([reading.symbol(place) for place in wanted], dtype=np.int64),
        np.array([different.index(one) for one in channels], dtype=np.int64),
        tuple(different),
        np.ones(len(wanted), dtype=bool),
        (len(wanted),),
    )
    logs = np.log([float(share) for share in wanted.values()])
    tested = judged(evidence, Model(np.ones((len(wanted), 1)), logs), effect=say("departure"))
    sentence = said(
        tested,
        say("No sign that {name} departs from the proportions given", name=name),
        say("{name} does not follow the proportions given", name=capital(name)),
    )
    return Answer(sentence, tested.numbers, tested.caveats)


def _require_all(wanted: Mapping[Place, Fraction], categories: int, name: str) -> None:
    """Refuse proportions that are not one for each category, adding up to 1."""
    if len(wanted) != categories:
        raise InputError(
            say(
                "Give a proportion for each of the {shape} categories of {name}, got {many}; or "
                "one, with the public number of records.",
                shape=categories,
                name=name,
                many=len(wanted),
            )
        )
    if sum(wanted.values()) != 1:
        raise InputError(
            say("Proportions must add up to 1, got {plain}.", plain=plain(sum(wanted.values())))
        )


def _axis(reading: Reading, axis: str) -> int:
    if axis:
        return axis_places(reading, axis)[0]
    if len(reading.axes) != 1:
        raise InputError(
            say("Say which axis the proportions are of: {names}.", names=", ".join(reading.axes))
        )
    return 0


def _one_category(reading: Reading, wanted: Mapping[Any, Any], records: int) -> Answer:
    if len(wanted) != 1 or records < 1:
        raise InputError(
            say("With a number of records (1 or more), give the proportion of one category.")
        )
    if records > _MOST_RECORDS:
        raise CannotConclude(
            say(
                "Enumeration goes up to {most} records, got {records}. Give the "
                "proportions of all categories instead.",
                most=_MOST_RECORDS,
                records=records,
            )
        )
    ((place, share),) = wanted.items()
    channel, symbol = reading.channel(place), reading.symbol(place)
    channel.require(symbol)
    found = binomial(channel, records, float(share))
    if symbol not in found.symbols:
        raise CannotConclude(
            say(
                "The table shows {symbol}, which {records} records cannot give under its law.",
                symbol=symbol,
                records=records,
            )
        )
    return _exact_answer(found, symbol, share, reading.cell_label(place))


def _exact_answer(found: Binomial, symbol: int, share: Fraction, label: str) -> Answer:
    """What the exact test says of one symbol."""
    p, records = found.p_value(symbol), found.records
    critical, attained = found.critical()
    ordinary = found.ordinary(float(share))
    wrong = float(found.probability[ordinary <= LEVEL].sum())
    below, above = found.seen(float(share), critical)
    values = {"label": label, "records": records, "share": number(plain(share)), "p": p_text(p)}
    sentence = (
        say("The share of {label} among {records} differs from {share} ({p}, exact).", **values)
        if p <= LEVEL
        else say("The share of {label} among {records} may be {share} ({p}, exact).", **values)
    )
    numbers = {
        "p": p,
        "p_by": "enumeration",
        "statistic": float(found.statistic[found.symbols == symbol][0]),
        "critical": critical,
        "attained_level": attained,
        "best_share": float(found.best[found.symbols == symbol][0]),
        "records": records,
        "naive_p": float(ordinary[found.symbols == symbol][0]),
        "naive_level": wrong,
        "smallest_seen": [below, above],
    }
    return Answer(
        sentence,
        numbers,
        (
            say(
                "An exact test at 5 % attains a level of {share} here.",
                share=percent(attained, 1),
            ),
            *naive_words(numbers),
            _nearest_seen(below, above),
        ),
    )


def _nearest_seen(below: float | None, above: float | None) -> str:
    """Which other shares could have been told apart, in a sentence."""
    shares = [number(f"{share:.3g}") for share in (below, above) if share is not None]
    if len(shares) == 2:
        return say(
            "Shares below {low} or above {high} would have been told apart with 80 % chance.",
            low=shares[0],
            high=shares[1],
        )
    if below is not None:
        return say("Shares below {low} would have been told apart with 80 % chance.", low=shares[0])
    if above is not None:
        return say(
            "Shares above {high} would have been told apart with 80 % chance.", high=shares[0]
        )
    return say("No other share could have been told apart with 80 % chance through this noise.")
